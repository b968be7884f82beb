"""Where effects weren't measured, no part of the page asks what mattered, and small print says how to measure it."""

import dataclasses

import pytest

from page.live_records import document, generated, labels, not_measured, whole
from regard.inspection import story
from regard.page import as_text

MEASURING = "To measure what mattered: regard see --effects, or see(..., effects=True)."


def without_effects(record):
    return dataclasses.replace(record, outcomes=dataclasses.replace(record.outcomes, hidden=(), removed=()))


def titles(page):
    return ": ".join(page.locator(".compared-part .title > *").all_inner_texts())


RECORDS = {
    "items": (labels, "Pick a word: what did it attend to?", ", and what mattered?"),
    "the whole": (
        lambda: whole("labels", False),
        "Pick a word: how much did the model attend to it?",
        ", and what changes without it?",
    ),
    "written": (generated, "Pick a part of the output: what did it attend to?", ", and what mattered?"),
}


@pytest.mark.parametrize("name", RECORDS)
def test_the_page_asks_for_what_it_shows(live, name):
    made, asked, also = RECORDS[name]
    page = live(document(made()))
    assert page.inner_text(".ask") == asked.replace("?", also)
    assert titles(page) == "Attended beside mattered: the weight, and what hiding it changes"
    assert MEASURING not in page.inner_text("main")
    page = live(document(without_effects(made())))
    assert page.inner_text(".ask") == asked
    assert titles(page) == "Attended: the weight of each"
    assert page.inner_text(".sentence").endswith(". What mattered wasn't measured.")
    assert page.inner_text("main").count(MEASURING) == 1
    assert "mattered" not in page.inner_text(".compared-part table")


def test_the_terminal_says_it_once_too():
    told = " ".join(as_text(story(not_measured())).split())
    assert told.count(MEASURING) == 1
    assert told.count("What mattered wasn't measured.") == 1
    assert MEASURING not in " ".join(as_text(story(labels())).split())


def test_a_command_is_never_broken_between_its_words(live):
    page = live(document(not_measured()), width=320)
    boxes = "(all) => all.map((each) => [each.textContent, each.getClientRects().length])"
    found = page.locator(".compared-part code").evaluate_all(boxes)
    assert found == [["regard see --effects", 1], ["see(..., effects=True)", 1]]
