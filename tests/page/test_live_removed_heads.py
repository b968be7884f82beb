"""A head that the model ran without is shown as removed: it computes weights, but nothing is taken by them."""

import pytest
import torch

from page.live_records import LABELS, WORDS, Toy, document
from regard.errors import ArgumentError
from regard.inspection import (
    Case,
    LayerRecord,
    Outcomes,
    Place,
    Record,
    RemoveHead,
    comparison,
    comparison_of,
    live_page,
    load_record,
    save_record,
    see,
)
from regard.inspection.views.comparison import difference_sentence
from regard.page import as_text


@pytest.fixture(scope="module")
def records():
    """A record of a module, and one of the same without head 2 of layer 1 and without layer 2."""
    torch.manual_seed(6)
    model, vectors = Toy().eval(), 3 * torch.randn(1, 5, 8)
    places = tuple((word, number) for number, word in enumerate(WORDS))
    softmax = torch.nn.Softmax(-1)
    case = Case("toy", model, vectors, model, softmax, "labels", WORDS, places, LABELS.__getitem__, noun="word")
    return see(case), see(case, changes=[RemoveHead(1, 2), RemoveHead("layers.1", None)])


def test_a_record_names_the_heads_that_it_is_without(records, tmp_path):
    one, other = records
    assert one.without == ()
    assert other.without == ((1, 2), (2, 1), (2, 2))
    save_record(other, tmp_path / "other.safetensors")
    assert load_record(tmp_path / "other.safetensors").without == other.without
    with pytest.raises(ArgumentError, match="`without` must name heads of `layers`"):
        Record(("a",), without=((1, 1),))


def test_a_removed_head_is_crossed_out_and_has_no_map(records, live):
    page = live(live_page(records[0], ("one", "other"), against=records[1]), "#record=1&place=1&layer=1&head=2&lang=en")
    tile = page.locator('[data-id="head 0 1"]')
    assert [tile.locator(each).count() for each in ("canvas", ".head.removed")] == [1, 1]
    assert "removed in B" in tile.inner_text()
    assert "%" not in tile.inner_text()
    assert page.locator(".head.removed").count() == 3
    why = "This head was removed from B: it computes weights, but nothing is taken by them."
    assert page.locator('[data-side="1"] .where, [data-side="1"] .side-name').first.inner_text().endswith("(removed)")
    assert page.get_by_text(why).count() == 2
    assert [page.locator(f'.map-part [data-side="{side}"]').is_visible() for side in (0, 1)] == [True, False]
    page.evaluate("location.hash = '#record=1&place=1&layer=1&head=1&lang=zh'")
    page.locator("html[lang^=zh]").wait_for()
    assert page.locator('.map-part [data-side="1"]').is_visible()
    assert "在 B 中已移除" in page.locator('[data-id="head 0 1"]').inner_text()


def test_the_page_of_one_record_and_the_terminal_say_so_too(records, live):
    page = live(document(records[1]))
    assert page.locator(".head.removed").count() == 3
    assert "removed" in page.locator('[data-id="head 0 1"]').inner_text()
    rows = [line.split() for line in as_text(comparison(*records), width=100).splitlines()]
    assert [row[-1] for row in rows if row and row[0] in ("1.2", "2.1", "2.2")] == ["removed"] * 3


def answering(model, label, score, without=(), name="saw", query=1):
    layer = LayerRecord.of_weights("layer 1", torch.full((6, 2, 2), 0.5))
    places = (Place(name, query, label, score),)
    outcomes = Outcomes("labels", "item", places)
    return Record(("a", "saw"), layers=(layer,), model=model, noun="word", outcomes=outcomes, without=without)


WHOLE = {"name": "the whole", "query": None}


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (
            answering("m", "positive", 0.88, **WHOLE),
            answering("m, remove head 2 of layer 1", "negative", 0.71, ((1, 2),), **WHOLE),
            "The answer without head 1.2 is negative 71% instead of positive 88%.",
        ),
        (
            answering("m", "NOUN", 0.8),
            answering("m, remove heads", "VERB", 0.6, tuple((1, head) for head in range(1, 7))),
            'For "saw", the answer without heads 1.1, 1.2, 1.3, 1.4, ... is VERB 60% instead of NOUN 80%.',
        ),
        (
            answering("m", "NOUN", 0.8),
            answering("m, remove head 2 of layer 1", "NOUN", 0.6, ((1, 2),)),
            'For "saw", both give NOUN: 80% in A, 60% in B.',
        ),
        (
            answering("m, remove head 2 of layer 1", "VERB", 0.6, ((1, 2),)),
            answering("m", "NOUN", 0.8),
            'For "saw", A gives VERB 60%, B gives NOUN 80%.',
        ),
        (
            answering("m", "NOUN", 0.8),
            answering("n, remove head 2 of layer 1", "VERB", 0.6, ((1, 2),)),
            'For "saw", A gives NOUN 80%, B gives VERB 60%.',
        ),
    ],
)
def test_the_first_sentence_says_another_answer_and_what_was_removed(live, first, second, said):
    assert comparison_of(first, second).sentence.startswith(f"{said} ")
    page = live(live_page(first, ("m", "m without some"), against=second))
    assert page.locator(".sentence").inner_text().startswith(f"{said} ")
    page.evaluate("location.hash = '#lang=zh'")
    page.locator("html[lang^=zh]").wait_for()
    found = comparison_of(first, second)
    chinese = difference_sentence((first, second), found.places, found.items, "zh", equal=found.equal)
    assert page.locator(".sentence").inner_text() == chinese
    assert ("instead of" in said) == ("而不是" in chinese)


def test_a_side_says_once_what_was_removed(live):
    first, second = answering("m", "NOUN", 0.8), answering("m, remove head 2 of layer 1", "VERB", 0.6, ((1, 2),))
    page = live(live_page(first, ("m", "m without 1.2"), against=second))
    assert "remove head" not in page.locator("main").inner_text()
    assert page.locator(".side-name").nth(1).inner_text().startswith("B m without 1.2 · layer 1 of 1")
    # A title that doesn't name the model leaves its name there, and heads of one model are comparable.
    page = live(live_page(first, ("one", "other"), against=second))
    assert "m, remove head 2 of layer 1" in page.locator(".side-name").nth(1).inner_text()
    assert "trained apart" not in page.locator("main").inner_text()
