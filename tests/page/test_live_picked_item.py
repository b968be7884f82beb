"""The line above the input asks to pick an item: a click on one shows what the line promises of it."""

from dataclasses import replace

import pytest
import torch

from page.live_records import document, generated, whole
from page.test_live_reading import LONG
from regard.inspection import LayerRecord, Outcome, Outcomes, Place, Record, live_page
from regard.inspection.views.outcome_text import without_text
from regard.page.numbers import percent


def film(count):
    """An answer for a whole text, of which one word has nearly all of the weight."""
    items = tuple(LONG[number % len(LONG)] for number in range(count))
    weights = torch.full((1, 1, count), 0.1 / (count - 1))
    weights[0, 0, 1] = 0.9
    place = Place("the whole", None, "good", 0.9)
    hidden = tuple((Outcome("good", 0.9 - change, -change),) for change in (0.0, 0.5, *[0.001] * (count - 2)))
    pooling = LayerRecord.of_weights("pooling", weights, "softmax")
    return Record(
        items, model="toy", pooling=pooling, noun="word", outcomes=Outcomes("labels", "item", (place,), hidden)
    )


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("count", [len(LONG), 160])
def test_a_click_on_a_word_tells_its_weight_and_what_changes_without_it(live, width, count):
    record = film(count)
    page = live(document(record), width=width)
    assert page.locator(".ask").inner_text().startswith("Pick a word: how much did the model attend to it")
    assert page.locator('.chips:not(.written) [aria-pressed="true"]').count() == 0
    before = page.locator(".compared tbody tr").count()
    page.click('[data-id="item 20"]')
    page.locator('[data-id="item 20"][aria-pressed="true"]').wait_for()
    assert page.locator(".compared tbody tr").count() == before + 1
    row = page.locator(".compared tbody tr.key")
    assert row.locator("th").inner_text().startswith(LONG[20])
    assert row.locator(".number").first.inner_text() == percent(float(record.pooling.weights()[0, 0, 20]))
    assert page.locator(".steps-part .title").inner_text().count(LONG[20]) == 1
    # The click leaves the focus where it is, and the keyboard picks the next word.
    assert page.evaluate("document.activeElement.dataset.id") == "item 20"
    page.keyboard.press("ArrowDown")
    page.locator('[data-id="item 21"][aria-pressed="true"]').wait_for()
    assert page.locator('.chips:not(.written) [aria-pressed="true"]').count() == 1


def test_of_several_answers_the_chosen_one_keeps_its_frame(live):
    page = live(document(replace(whole("labels", True, 3), noun="word")))
    page.click('[data-id="answer 1"]')
    page.click('[data-id="item 3"]')
    page.locator('[data-id="item 3"][aria-pressed="true"]').wait_for()
    assert page.locator(".written .selected [data-id]").get_attribute("data-id") == "answer 1"
    assert page.locator(".compared tbody tr.key th").inner_text().startswith("saw")


def test_of_a_text_that_was_written_its_pieces_are_picked_and_not_what_was_read(live):
    page = live(document(generated()))
    assert page.locator(".ask").inner_text().startswith("Pick a part of the output")
    assert page.locator(".chips:not(.written) button").count() == 0
    sentence = page.locator(".sentence").inner_text()
    page.click('[data-id="written 0"]')
    page.locator('[data-id="written 0"][aria-pressed="true"]').wait_for()
    assert page.locator(".sentence").inner_text() != sentence


def test_of_a_piece_that_is_not_the_likeliest_the_table_names_only_what_changes(live):
    """As `without_text` of Python: that another piece stays the likeliest doesn't predict the one that was written."""
    record = generated()
    assert record.outcomes is not None
    page = live(document(record), hash="#record=1&place=2&lang=en")
    hidden = [row[1] for row in record.outcomes.hidden]
    expected = [without_text(outcome, "labels", record.outcomes.places[1]) for outcome in hidden]
    assert page.locator(".compared tbody td.said").all_inner_texts() == expected
    same = tuple((*row[:1], Outcome(" Mann", 0.5, -0.1), *row[2:]) for row in record.outcomes.hidden)
    page = live(
        document(replace(record, outcomes=replace(record.outcomes, hidden=same))), hash="#record=1&place=2&lang=en"
    )
    assert page.locator(".compared thead th").all_inner_texts()[-1].startswith("mattered")
    page.click('[data-id="written 0"]')
    page.locator('[data-id="written 0"][aria-pressed="true"]').wait_for()
    assert page.locator(".compared thead th").all_inner_texts()[-1] == "without it"


def test_of_two_texts_no_word_is_framed_before_one_is_picked(live):
    """The largest weight of A has a partner in B, which nobody chose."""
    page = live(live_page(film(len(LONG)), ("A", "B"), against=film(len(LONG))))
    framed = page.locator('.chips:not(.written) [aria-pressed="true"]')
    assert framed.count() == 0
    page.locator('[data-id="item 20"]').first.click()
    page.locator('[data-id="item 20"][aria-pressed="true"]').nth(1).wait_for()
    assert framed.count() == 2
