"""Patching and noise floors are drawn as they were measured: in a terminal, on the page of one record, and of two."""

from dataclasses import replace

import pytest
import torch

from page.live_records import document
from regard.inspection import comparison_of, live_page, see, story_of
from regard.inspection.explain.effect import Effect
from regard.inspection.explain.head_changes import RemoveHead
from regard.inspection.explain.patched_cases import patch_cases
from regard.inspection.explain.patching import Patching
from regard.inspection.views.comparison_page import comparison_page
from regard.inspection.views.outcome_text import is_shown_noise
from regard.inspection.views.patched import Patched, patched_of
from regard.inspection.views.story import story
from regard.page import as_text
from regard.tasks import load
from regard.tasks.recording import case_of

A, B = ["I", "saw", "a", "saw", "."], ["I", "saw", "you", "saw", "."]
SHARES = """() => [...document.querySelectorAll(".shares")].map((table) => [...table.querySelectorAll("tbody tr")]
  .map((row) => [...row.querySelectorAll("td")].map((each) => each.textContent)))"""


@pytest.fixture(scope="module")
def cases():
    model = load("english-pos")
    return case_of(model, A), case_of(model, B)


@pytest.fixture(scope="module")
def records(cases):
    return tuple(see(each) for each in cases)


def written(shares: torch.Tensor) -> list[list[str]]:
    return [[f"{round(100 * each) + 0}%" for each in row] for row in shares.tolist()]


def test_the_page_has_the_shares_of_the_patches(live, cases, records):
    found = comparison_of(*records, query=4)
    patched = patched_of(found, *cases)
    assert (patched.name, patched.noun, patched.items[3]) == ("saw (4)", "word", "saw (4)")
    own = patch_cases(*cases, place=3)
    page = live(live_page(records[0], ("A", "B"), against=records[1], patched=patched, query=4))
    # The last layer stands above the first.
    heads, positions = page.evaluate(SHARES)
    assert heads == [[each.replace("-", "−") for each in row] for row in written(own.head_shares)[::-1]]
    assert positions == [[each.replace("-", "−") for each in row] for row in written(own.position_shares)[::-1]]
    assert "the answer for saw (4) from that of B to that of A" in page.inner_text(".patched-part")
    text = as_text(comparison_page(found, ("A", "B"), patched=patched), width=100)
    for row in (*written(own.head_shares), *written(own.position_shares.T)):
        assert any(line.split()[-len(row) :] == row for line in text.splitlines())


def test_the_only_head_has_no_table_of_its_own(live, records):
    """With the values of the other run it brings back what the layer does."""
    effect = Effect(RemoveHead(1, 1), -1.0, 0.5)
    patching = Patching("denoising", -1.0, 2.0, ("a",), ((effect,),), ((effect,) * 5,))
    patched = Patched(patching, "saw", tuple(B), "word")
    page = live(live_page(records[0], ("A", "B"), against=records[1], patched=patched, query=4))
    assert page.evaluate(SHARES) == [[["50%"] * 5]]
    told = page.inner_text(".patched-part")
    assert "Each head" not in told
    assert "The stronger the colour, the further the answer moves." in told
    text = as_text(comparison_page(comparison_of(*records, query=4), ("A", "B"), patched=patched), width=100)
    assert "Each head" not in text
    assert "All heads of a layer, at one position" in " ".join(text.split())


def test_there_is_nothing_to_patch(cases, records):
    model = load("english-pos")
    found = comparison_of(*records, query=4)
    other = case_of(model, A)
    assert patched_of(found, cases[0], other) is None
    longer = case_of(load("english-pos"), [*A, "!"])
    assert patched_of(comparison_of(records[0], see(longer), query=4), cases[0], longer) is None
    # Of nearly the same answers every share would be large.
    assert patched_of(comparison_of(*records, query=1), *cases) is None


def test_without_patches_there_is_no_part(live, records):
    page = live(live_page(records[0], ("A", "B"), against=records[1]))
    assert page.locator(".patched-part").count() == 0


def test_effects_below_the_floor_are_noise_everywhere(live, cases):
    record = see(cases[0], noise=19)
    told = story_of(record, query=4)
    marked = [is_shown_noise(each, "labels", told.place) for each in told.hidden]
    assert set(marked) == {False, True}
    assert told.hidden[told.mattered].above_noise
    rows = next(each for each in story(record, query=4).blocks if hasattr(each, "rows")).rows
    assert [each.written.endswith(" (noise)") for each in rows] == marked
    text = as_text(story(record, query=4))
    assert "More than 5% of changes of the same size in random directions" in " ".join(text.split())
    page = live(document(record, query=4))
    assert page.inner_text(".sentence") == told.sentence
    drawn = page.locator(".compared tbody tr td:nth-of-type(2)")
    assert [each.endswith(" (noise)") for each in drawn.all_inner_texts()] == marked
    pale = drawn.evaluate_all('(all) => all.map((each) => getComputedStyle(each.querySelector(".bar")).opacity)')
    assert [float(each) < 1 for each in pale] == marked
    tiles = page.locator(".tile.noise").count()
    assert tiles == sum(is_shown_noise(each.outcome, "labels", told.place) for each in told.removed)


def test_if_all_is_noise_the_sentence_says_so(live, cases):
    record = see(cases[0])
    outcomes = record.outcomes
    hidden = tuple(tuple(each._replace(noise_floor=1.0) for each in row) for row in outcomes.hidden)
    record = replace(record, outcomes=replace(outcomes, hidden=hidden))
    sentence = story_of(record, query=4).sentence
    assert sentence.endswith("but hiding any one word can't be told from noise.")
    assert live(document(record, query=4)).inner_text(".sentence") == sentence


def test_all_lines_are_those_of_every_row(live, records):
    page = live(document(records[0], query=4))
    own = page.locator(".arcs path").count()
    page.get_by_role("button", name="all lines").click()
    weights = records[0].layers[-1].weights().double().mean(0)
    pairs = {(query, key) for query in range(5) for key in range(5) if weights[query, key] >= 0.02}
    drawn = page.locator(".arcs path").evaluate_all("(all) => all.map((e) => [+e.dataset.query, +e.dataset.key])")
    assert {tuple(each) for each in drawn} == pairs
    assert len(drawn) == len(pairs) > own
    widths = page.locator(".arcs path").evaluate_all("(all) => all.map((e) => +e.getAttribute('stroke-width'))")
    expected = [1 + 5 * float(weights[query, key]) for query, key in drawn]
    assert widths == pytest.approx(expected, abs=1e-4)
    page.get_by_role("button", name="all lines").click()
    assert page.locator(".arcs path").count() == own


def test_bars_of_effects_begin_at_zero_and_go_both_ways(live, records):
    record = records[0]
    page = live(document(record, query=4))
    changes = [row[3].change for row in record.outcomes.hidden]
    assert min(changes) < 0 < max(changes)
    drawn = page.locator(".compared tbody .track").evaluate_all(
        """(all) => all.map((track) => ["zero", "bar"].map((name) => track.querySelector(`.${name}`).style)
          .map(({ left, width }) => [parseFloat(left), parseFloat(width)]))"""
    )
    span = max(changes) - min(changes)
    for change, ((zero, _), (left, width)) in zip(changes, drawn, strict=True):
        assert zero == pytest.approx(100 * -min(changes) / span, abs=0.1)
        assert width == pytest.approx(100 * abs(change) / span, abs=0.11)
        assert (left + width if change < 0 else left) == pytest.approx(zero, abs=0.21)


def test_what_replaces_everything_is_no_finding(live, records):
    """One head at one position: with the other run's values the answer is that of the other run."""
    effect = Effect(RemoveHead(1, 1), -1.0, 0.5)
    patching = Patching("denoising", -1.0, 2.0, ("a",), ((effect,),), ((effect,),))
    patched = Patched(patching, "saw", ("1",), "position")
    page = live(live_page(records[0], ("A", "B"), against=records[1], patched=patched, query=4))
    assert page.locator(".patched-part").count() == 0
    assert patched.blocks() == []
