"""The marks on and below the bars of the table are explained in words below it, and only those that are drawn."""

import pytest

from page.live_records import RECORDS, document
from page.test_live_drawn import picture

# Of each mark in the key whether one like it is drawn in the table.
DRAWN = {
    ".equal-mark": ".barred .equal",
    ".boxes-mark": ".boxes",
    ".zero-mark": ".track .zero",
    ".pale-mark": "td.noise",
}


def key_of(page):
    return page.locator(".bar-key > span").all_inner_texts()


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


def test_the_key_says_what_the_marks_mean(live):
    page = live(document(RECORDS["labels"](), query=2))
    assert [each.strip() for each in key_of(page)] == [
        "The line across the bars is what equal weights would be: 20% each.",
        "The boxes below a bar are the weights of heads 1 to 3: the stronger the colour, the larger.",
        "Orange bars begin at the line of no change: those to its left lower NOUN, those to its right raise it.",
    ]
    # A mark of the key looks like the one in the table.
    colour = "(each) => getComputedStyle(each).borderLeftColor"
    for mark, drawn in ((".equal-mark", ".barred .equal"), (".zero-mark", ".track .zero")):
        marks = page.locator(f".bar-key {mark}"), page.locator(f".compared {drawn}").first
        assert len({each.evaluate(colour) for each in marks}) == 1
