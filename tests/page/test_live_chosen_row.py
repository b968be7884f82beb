"""A cell of the map of an average of rows has its own steps: those of its row, which the address names."""

from dataclasses import replace

import pytest
import torch

from page.live_records import document, labels, record_of_calls, whole
from regard.attention import Dot
from regard.inspection import LayerRecord, Outcomes, Place, live_page
from regard.inspection.record.seen_layer import SeenLayer
from regard.page.numbers import percent

STEPS = """() => [...document.querySelectorAll(".steps > div")].map((each) =>
  [each.querySelector("dt").textContent, each.querySelector("dd").textContent])"""
COUNT, HEADS = 4, 2


def averaged(seed=0):
    """One answer for the whole, and a layer whose queries and keys are known."""
    torch.manual_seed(seed)
    query, key = 2 * torch.randn(2, 1, HEADS, COUNT, 3)
    parts = Dot(), "softmax", None, None, 0.0, torch.arange(0), key[:, :, :, :0]
    layer = LayerRecord("layer 1", (SeenLayer("", "a call", query, key, key, *parts),))
    made = replace(record_of_calls(layer), outcomes=Outcomes("labels", "item", (Place("the whole", None, "x", 0.5),)))
    return made, layer.weights().double()


def note_of(page):
    return page.locator(".steps-part .title .quiet").inner_text()


def go(page, hash):
    page.evaluate("(hash) => { history.replaceState(null, '', hash); dispatchEvent(new Event('popstate')); }", hash)


def cell(page, row, column, count=COUNT):
    """The middle of a cell of the map, from the corner of the canvas; rows and columns count from 1."""
    wide, high = page.locator(".map").evaluate("(map) => [map.offsetWidth, map.offsetHeight]")
    # Cells have at most 44 pixels, their names 92 on the left and 26 above, and 4 stay on the right and below.
    assert (wide, high) == (92 + 44 * count + 4, 26 + 44 * count + 4)
    return {"x": 92 + 44 * (column - 0.5), "y": 26 + 44 * (row - 0.5)}


def test_a_click_on_a_cell_shows_the_steps_of_its_row(live):
    record, weights = averaged()
    page, names = live(document(record), "#key=1&lang=en"), record.items
    assert note_of(page).startswith("average of all rows → ")
    for row, column in ((3, 2), (1, 2), (4, 4)):
        page.click(".map", position=cell(page, row, column))
        own = weights[:, row - 1, column - 1]
        is_largest = int(weights.mean(0)[row - 1].argmax()) == column - 1
        why = "the largest weight" if is_largest else "as chosen"
        assert note_of(page) == f"{names[row - 1]} → {names[column - 1]}, {why}"
        assert page.inner_text(".steps-part h2") == f"How the {percent(float(own.mean()))} came about"
        told = page.evaluate(STEPS)
        assert told[0][0] == f"head {int(own.argmax()) + 1} of {HEADS}"
        assert dict(told)[f"softmax over {COUNT}"].endswith(f"= {percent(float(own.max()))}")
        assert told[-1][0] == "average of heads"
        assert told[-1][1].endswith(f"→ {percent(float(own.mean()))}")
        assert f"key={column}&row={row}&" in page.evaluate("location.hash")
        # The answer and what it attended to are still those of the whole.
        assert "average over all 4" in page.inner_text(".where")


def test_enter_on_a_cell_shows_the_steps_of_its_row_and_frames_it(live):
    record, _ = averaged()
    page = live(document(record), "#key=1&lang=en")
    picture = page.locator(".map")
    plain = picture.screenshot()
    picture.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert "key=2&row=3&" in page.evaluate("location.hash")
    names = record.items
    assert note_of(page).startswith(f"{names[2]} → {names[1]}, ")
    picture.blur()
    framed = picture.screenshot()
    assert framed != plain
    # Another row has its frame elsewhere, and the average none.
    go(page, "#key=2&row=2&lang=en")
    assert picture.screenshot() not in (plain, framed)
    go(page, "#key=2&lang=en")
    assert picture.screenshot() == plain


def test_one_head_has_the_steps_of_the_row_alone(live):
    record, weights = averaged()
    page = live(document(record), "#layer=1&head=2&key=1&row=4&lang=en")
    told = page.evaluate(STEPS)
    assert told[0][0] == "q · k"
    assert told[-1][0] == f"softmax over {COUNT}"
    assert told[-1][1].endswith(f"= {percent(float(weights[1, 3, 0]))}")


@pytest.mark.parametrize(
    "press",
    [
        lambda page: page.click('[data-id="key 1"]'),
        lambda page: page.click('[data-id="head 0 1"]'),
        lambda page: page.keyboard.press("ArrowDown"),
        lambda page: page.keyboard.press("."),
        lambda page: page.keyboard.press("["),
    ],
    ids=["an item", "a head", "the next item", "the next head", "a layer"],
)
def test_another_choice_goes_back_to_the_average(live, press):
    page = live(document(averaged()[0]), "#key=1&row=3&lang=en")
    assert "average" not in note_of(page)
    press(page)
    assert note_of(page).startswith("average of all rows → ")
    assert "row=" not in page.evaluate("location.hash")


def test_a_row_stays_while_the_language_changes(live):
    page = live(document(averaged()[0]), "#key=1&row=3&lang=en")
    page.click('.languages [lang="zh"]')
    assert "key=1&row=3&" in page.evaluate("location.hash")
    assert "所有行的平均" not in note_of(page)


def test_an_address_of_no_row_shows_the_average(live):
    page = live(document(averaged()[0]))
    for row in ("0", "5", "99999999999999999999", "1e0", "-1", "", "all", "1&key=all", "%31", "constructor"):
        go(page, f"#key=1&row={row}&lang=en")
        assert note_of(page).startswith("average of all rows → "), row


@pytest.mark.parametrize(
    ("make", "start"),
    [(labels, ""), (lambda: whole("labels", True), "pooling → ")],
    ids=["an item has its row", "a pooling has one row"],
)
def test_what_is_no_average_has_no_row_of_it(live, make, start):
    page = live(document(make()), "#key=1&lang=en")
    before = note_of(page)
    go(page, "#key=1&row=3&lang=en")
    assert note_of(page) == before
    assert before.startswith(start)


def test_both_records_show_the_steps_of_the_chosen_row(live):
    (one, first), (other, second) = averaged(1), averaged(2)
    page = live(live_page(one, ("one", "other"), against=other), "#key=2&row=3&lang=en")
    name = f"{one.items[2]} → {one.items[1]}, "
    titles = page.locator(".steps-part h3").all_inner_texts()
    assert all(name in each for each in titles)
    for side, weights in enumerate((first, second)):
        told = page.locator(f".steps-part [data-side='{side}'] dd").all_inner_texts()
        assert told[-1].endswith(f"→ {percent(float(weights[:, 2, 1].mean()))}")
    # The head is the same: the one with the largest weight in both together.
    head = int((first + second)[:, 2, 1].argmax()) + 1
    heads = page.locator(".steps-part dl").all_inner_texts()
    assert [f"head {head} of {HEADS}" in each for each in heads] == [True, True]
    page.click('[data-id="row 0"]')
    assert all("average of all rows" in each for each in page.locator(".steps-part h3").all_inner_texts())
    page.locator(".maps .map").nth(1).focus()
    for key in ("ArrowDown", "Enter"):
        page.keyboard.press(key)
    assert "row=2" in page.evaluate("location.hash")
