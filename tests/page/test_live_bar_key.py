"""The marks on and below the bars of the table are explained in words below it, and only those that are drawn."""

from dataclasses import replace

import pytest

from page.live_records import RECORDS, document
from page.test_live_drawn import picture
from regard.inspection import Outcome, story
from regard.page import as_text

# Of each mark in the key whether one like it is drawn in the table.
DRAWN = {
    ".equal-mark": ".barred .equal",
    ".boxes-mark": ".boxes",
    ".zero-mark": ".track .zero",
    ".pale-mark": "td.noise",
}


def key_of(page):
    return page.locator(".bar-key > span").all_inner_texts()


def noisy_record(floors):
    """Hiding the first or the second item, or removing either head, changes the answer as much, beside other floors."""
    made = picture([-0.2, -0.2, -0.6, 0.0, 0.0, 0.0], floors=[*floors, 0.1, 0.5, 0.1, 0.1], score=0.8)
    heads = tuple((Outcome("good", 0.6, -0.2, floor),) for floor in floors)
    return replace(made, outcomes=replace(made.outcomes, removed=(heads,)))


def test_of_two_that_read_the_same_the_floors_say_why_one_is_noise(live):
    record = noisy_record((0.24, 0.12))
    told = as_text(story(record), width=10**4)
    means = next(line for line in told.splitlines() if line.startswith("(noise):"))
    assert means.endswith("24 points for row 1, column 1, 12 points for row 1, column 2.")
    page = live(document(record))
    assert page.locator(".bar-key", has=page.locator(".pale-mark")).inner_text().strip() == means
    titles = page.locator(".compared td:has(.track)").evaluate_all("(all) => all.map(({ title }) => title)")
    assert titles == [f"noise floor: {each} points" for each in (24, 12, 10, 50, 10, 10)]
    # Of heads it is said what the italics are, and each has its floor.
    tiles = page.locator(".tile[data-id^='head 0']").evaluate_all("(all) => all.map(({ title }) => title)")
    assert tiles == ["average", "1.1 · noise floor: 24 points", "1.2 · noise floor: 12 points"]
    assert page.locator(".heads-key").inner_text().endswith("What is in italics can't be told from noise.")
    # What is unchanged is no effect, and so no noise.
    assert page.locator(".compared td.noise").count() == page.locator(".tile.noise").count() == 1


def test_floors_are_not_told_where_no_two_read_the_same(live):
    page = live(document(noisy_record((0.24, 0.23))))
    assert "noise floor of its own" not in page.locator("main").inner_text()
    page = live(document(noisy_record((0.12, 0.11))))
    assert "noise" not in page.locator("main").inner_text()


@pytest.mark.parametrize("name", [*RECORDS, "noise"])
def test_each_mark_that_is_drawn_has_a_key(live, name):
    noisy = picture([-0.6, 0.0, 0.3, 0.0, 0.0, 0.0], floors=[0.1, 0.1, 0.4, 0.1, 0.1, 0.1])
    page = live(document(noisy if name == "noise" else RECORDS[name]()))
    for lang in ("en", "zh"):
        page.evaluate(f"location.hash = '#lang={lang}'")
        page.wait_for_function(f"document.documentElement.lang.startsWith('{lang}')")
        for mark, drawn in DRAWN.items():
            assert page.locator(f".bar-key {mark}").count() == min(1, page.locator(f".compared {drawn}").count()), mark
        assert all(text.strip() for text in key_of(page))


def lengths(page, kind):
    """Of each bar of a kind its length, as a share of that of a full one."""
    bars = page.locator(f".compared .bar.{kind}")
    widths = bars.evaluate_all("(all) => all.map((each) => parseFloat(each.style.width))")
    # Those of a track are a share of it, others of their cell, of which a full one has 60%.
    return [each / (100 if page.locator(".track").count() and kind == "effect" else 60) for each in widths]


def test_the_key_says_what_a_full_bar_is(live):
    """Of a row each bar is as long as its number says beside that of a full one."""
    page = live(document(picture([-0.6, 0.0, 0.3, 0.0, 0.0, 0.0])))
    said = page.locator(".full-bars").inner_text()
    assert said == "The columns of bars are as wide as a weight of 33% and a change of 90 points."
    assert lengths(page, "weight") == pytest.approx([0.5] * 6, abs=0.01)
    assert lengths(page, "effect") == pytest.approx([0.6 / 0.9, 0.3 / 0.9], abs=0.01)
    # Small changes have short bars, and the key says it.
    page = live(document(picture([-0.04, 0.0, 0.0, 0.0, 0.0, 0.0])))
    assert "a change of 50 points" in page.locator(".full-bars").inner_text()
    assert lengths(page, "effect") == pytest.approx([0.08], abs=0.01)


@pytest.mark.parametrize("name", RECORDS)
def test_the_key_says_a_full_bar_of_every_kind(live, name):
    page = live(document(RECORDS[name]()))
    for lang in ("en", "zh"):
        page.evaluate(f"location.hash = '#lang={lang}'")
        page.wait_for_function(f"document.documentElement.lang.startsWith('{lang}')")
        said = page.locator(".full-bars").inner_text()
        assert not [each for each in ("undefined", "NaN", "{") if each in said]
        assert ("bars are as wide as a weight" in said or "bars is as wide as a weight" in said) == (lang == "en")


def test_the_key_says_what_the_marks_mean(live):
    page = live(document(RECORDS["labels"](), query=2))
    assert [each.strip() for each in key_of(page)] == [
        "The line across the bars is what equal weights would be: 20% each.",
        "The boxes below a bar are the weights of heads 1 to 3: the stronger the colour, the larger.",
        'Orange bars begin at the line of no change: those to its left lower the probability of "NOUN", '
        "those to its right raise it.",
    ]
    # A mark of the key looks like the one in the table.
    colour = "(each) => getComputedStyle(each).borderLeftColor"
    for mark, drawn in ((".equal-mark", ".barred .equal"), (".zero-mark", ".track .zero")):
        marks = page.locator(f".bar-key {mark}"), page.locator(f".compared {drawn}").first
        assert len({each.evaluate(colour) for each in marks}) == 1
