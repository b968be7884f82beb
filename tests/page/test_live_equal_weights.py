"""Where weights are about equal, as the sentence says, none is marked as the largest; what the sentence names is."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from page.live_records import document
from page.test_live_drawn import aspirin, picture, record, ring_of
from regard.inspection import DrawnGraph, DrawnTable, LayerRecord, Outcome, Outcomes, Place, live_page

FEW = [0.0, -0.02, -0.06, -0.03]


def graph(changes=FEW, **more):
    positions = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    return record(changes, DrawnGraph(np.array([[0, 1, 2], [1, 2, 3]], np.int32), positions), "node", **more)


def words(changes=FEW, **more):
    return record(changes, None, "word", **more)


def table(changes=FEW, **more):
    return record(changes, DrawnTable(np.ones((4, 2), np.float32), ("a", "b")), "row", **more)


def marked(page):
    """What is marked as attended to: items, rows of the table beside the drawing, and weights that are written."""
    items = page.locator("circle.key, .rows tr.key, .chips .key").count()
    return items, page.locator(".compared tr.key").count(), page.locator(".nodes text.number").count()


def rings(page):
    return [int(each.get_attribute("data-item")) for each in page.locator("circle.ring").all()]


def choose(page, key):
    page.evaluate(
        "(key) => { history.replaceState(null, '', `#key=${key}&lang=en`); dispatchEvent(new Event('popstate')); }", key
    )


@pytest.mark.parametrize("made", [aspirin, graph, words, table])
def test_the_largest_of_equal_weights_has_no_mark_until_an_item_is_chosen(live, made):
    page = live(document(made()))
    assert "about equally" in page.inner_text(".sentence")
    assert marked(page) == (0, 0, 0)
    choose(page, 2)
    written = 1 if made in (aspirin, graph) else 0
    assert marked(page) == (1, 1, written)
    # Of other weights it is marked as ever.
    page = live(document(made(first=9)))
    assert "attended most to" in page.inner_text(".sentence")
    assert marked(page)[:2] == (1, 1)
    assert marked(page)[2] == (0 if not written else 8 if made is aspirin else 4)


@pytest.mark.parametrize("made", [aspirin, graph])
def test_what_the_sentence_names_is_ringed_however_little_it_matters(live, made):
    page = live(document(made([0.0, -0.02, -0.06, -0.03])))
    name = page.locator(".sentence .effect").first.inner_text().strip('"')
    assert "changes the answer little" in page.inner_text(".sentence")
    assert rings(page) == [2]
    assert name == ("O3" if made is aspirin else "C3")
    # The line below tells of the same item.
    assert page.inner_text(".drawn .line").startswith(name)
    assert "effects below 6 points have none" in page.inner_text(".drawn .legend")
    choose(page, 2)
    assert rings(page) == [2]
    assert not page.inner_text(".drawn .line").startswith(name)
    # Where another item has most of the weight, a ring says what matters much, as ever.
    assert rings(live(document(made([0.0, -0.02, -0.06, -0.03], first=9)))) == []


def test_a_patch_that_the_sentence_names_is_ringed(live):
    page = live(document(picture([0.0, -0.06, 0.0, 0.0, 0.0, 0.0])))
    assert [ring_of(page, patch) > 0 for patch in range(6)] == [False, True, False, False, False, False]


@pytest.mark.parametrize(
    "changes",
    [
        [0.0] * 13,
        # As many as the sentence counts, and doesn't name.
        [-0.06] * 5,
        [1e-9] * 13,
    ],
    ids=["no change", "five of the same", "next to nothing"],
)
def test_what_the_sentence_does_not_name_has_no_ring(live, changes):
    page = live(document(aspirin(changes)))
    assert rings(page) == []
    assert page.locator(".ring-key").count() == 0
    assert page.inner_text(".drawn .line") == ""


def test_noise_has_no_ring(live):
    page = live(document(aspirin([-0.06] * 13, floors=[0.2] * 13)))
    assert "noise" in page.inner_text(".sentence")
    assert rings(page) == []


def test_two_that_the_sentence_names_are_ringed_both(live):
    page = live(document(aspirin([0.0, -0.06, -0.06])))
    assert sorted(rings(page)) == [1, 2]
    assert page.inner_text(".drawn .line") == ""


def test_a_number_within_the_error_that_the_sentence_names_is_ringed(live):
    hidden = tuple((Outcome(f"{2 + change:.3f}", None, change),) for change in (0.0, 0.07, *[0.01] * 11))
    outcomes = Outcomes("numbers", "item", (Place("the whole", None, "2.000", None),), hidden, error=0.81)
    page = live(document(replace(aspirin(), outcomes=outcomes)))
    assert "less than the error" in page.inner_text(".sentence")
    assert rings(page) == [1]
    assert "effects below 0.07 have none" in page.inner_text(".drawn .legend")


def test_both_records_are_marked_alike(live):
    page = live(live_page(graph(), ("one", "other"), against=graph([0.0, -0.06, -0.02, 0.0])))
    assert page.locator("circle.key").count() == 0
    assert page.locator(".nodes text.number").count() == 0
    assert rings(page) == [2, 1]
    choose(page, 2)
    assert page.locator("circle.key").count() == 2
    assert page.locator(".nodes text.number").count() == 2


def test_what_is_chosen_in_one_record_marks_nothing_in_another_that_has_no_such_item(live):
    other = words([0.0, 0.0, -0.03], names=("x", "y", "z"))
    page = live(live_page(words(names=("a", "b", "c", "d")), ("one", "other"), against=other))
    assert page.locator(".chips .key").count() == 0
    choose(page, 2)
    assert page.locator(".chips .key").all_inner_texts() == ["b"]


def test_the_chance_that_the_sentence_speaks_of_is_explained(live):
    """Of weights that are no more uneven than by chance, and of no others."""
    layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.32, 0.3, 0.2, 0.18]] * 4]), "softmax")
    page = live(document(replace(words(), layers=(layer,))))
    assert "no more unevenly than by chance (18% to 32% each), and hiding" in page.inner_text(".sentence")
    meaning = "by chance: as the softmax of random scores with a standard deviation of 0.32 varies"
    assert page.inner_text(".glossary") == meaning
    assert live(document(words())).locator(".glossary").is_hidden()


def test_nodes_of_equal_weights_keep_their_names_in_a_narrow_window(live):
    count = 40
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    positions = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    edges = np.stack([np.arange(count), np.roll(np.arange(count), 1)]).astype(np.int32)
    page = live(document(record([0.0] * count, DrawnGraph(edges, positions), "node")), width=390)
    assert page.locator(".nodes text.number").count() == 0
    assert page.locator(".nodes text.name").count() >= 4
