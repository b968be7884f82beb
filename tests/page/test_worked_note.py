"""Beside what the note prints, the page says why its numbers differ: the note rounds, or other numbers were chosen."""

import pytest

from regard.inspection.steps import EXAMPLES, live_steps

ROUNDED = "The note rounds its weights to the nearest half before it multiplies by the values. Its output therefore "
NOT_THE_NOTE = "The note's numbers belong to its own example."


def test_the_page_says_what_the_terminal_says_until_something_is_changed(live):
    page = live(live_steps(EXAMPLES["000"]))
    why = page.locator("section.printed p")
    assert why.inner_text() == f"{ROUNDED}differs by up to 0.3169."
    field = page.locator("input").first
    before = field.input_value()
    field.fill("3")
    field.press("Tab")
    assert why.inner_text().startswith(NOT_THE_NOTE)
    page.locator("input").first.fill(before)
    page.locator("input").first.press("Tab")
    assert why.inner_text().startswith(ROUNDED)


@pytest.mark.parametrize(
    ("parts", "language", "said"),
    [
        ({}, "zh", "笔记先把权重舍入到 0.5 的倍数"),
        ({"temperature": 8.0}, "en", NOT_THE_NOTE),
        ({"weights": "relu"}, "en", NOT_THE_NOTE),
        ({"mask": "causal"}, "zh", "笔记的数字属于它的例题"),
    ],
)
def test_other_parts_from_the_start_are_none_of_the_note(live, parts, language, said):
    page = live(live_steps(EXAMPLES["000"], language=language, **parts))
    assert page.locator("section.printed p").inner_text().startswith(said)


def test_an_example_without_printed_numbers_has_no_such_part(live):
    assert live(live_steps(EXAMPLES["002"])).locator("section.printed").count() == 0
