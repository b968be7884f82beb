"""What makes the live page quick to read: sizes that fit the input, and nothing that hides a number."""

import pytest
import torch

from page.live_records import document, labels, seen, whole
from regard.inspection import LayerRecord, Outcome, Outcomes, Place, Record
from regard.page.numbers import percent

TEXT = "the old man who lives in the house near the river saw a saw that his friend had left there last week ."
LONG = tuple(TEXT.split())

SHOWN = """() => {
  const box = (each) => each.getBoundingClientRect();
  const chips = [...document.querySelectorAll(".chips li")].map(box);
  const numbers = [...document.querySelectorAll(".arcs text")].map((each) => [each.textContent, box(each)]);
  const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return {
    size: parseFloat(getComputedStyle(document.querySelector(".chips .text")).fontSize),
    lines: new Set(chips.map((each) => Math.round(each.top))).size,
    covered: numbers.filter(([, each]) => chips.some((chip) => over(each, chip))).map(([text]) => text),
    numbers: numbers.length,
    wide: document.documentElement.scrollWidth - innerWidth,
  };
}"""


@pytest.mark.parametrize(
    ("width", "items", "size", "lines"),
    [(1180, 5, 40, 1), (1180, 9, 28, 1), (1180, 23, 20, 2), (360, 23, 20, 8)],
)
def test_an_input_is_as_large_as_fits(live, width, items, size, lines):
    page = live(document(labels(items=LONG[:items])), width=width)
    found = page.evaluate(SHOWN)
    assert found["size"] >= size
    assert found["lines"] <= lines
    assert found["wide"] <= 0
    assert found["numbers"] > 0
    assert found["covered"] == []


def test_an_input_fits_anew_when_the_window_changes(live):
    page = live(document(labels()))
    sizes = []
    for width in (1180, 420, 1180):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        sizes.append(page.evaluate(SHOWN)["size"])
    assert sizes[1] < 40 == sizes[0] == sizes[2]


def long_record(weight: float = 0.6, change: float = 0.5, kind: str = "labels") -> Record:
    """A long text whose second word is attended to, and whose third matters."""
    count = len(LONG)
    weights = torch.full((2, count, count), (1 - weight) / (count - 1))
    weights[:, :, 1] = weight
    places = [Place(word, number, "4", 0.9) for number, word in enumerate(LONG)]
    same = [tuple(Outcome("4", 0.9, change / 1e4) for _ in places) for _ in LONG]
    same[2] = tuple(Outcome("4", 0.4, -change) for _ in places)
    layer = LayerRecord.of_weights("layer 1", torch.cat([weights, weights.roll(1, -1)]), "softmax")
    found = Outcomes(kind, "item", tuple(places), tuple(same))
    return Record(LONG, ("4",) * count, (0.9,) * count, (layer,), "toy", noun="word", outcomes=found)


ROWS = """() => [...document.querySelectorAll(".compared tbody tr")].map((each) => ({
  name: each.querySelector("th").textContent,
  bars: [...each.querySelectorAll(".bar")].map((bar) => parseFloat(bar.style.width)),
}))"""


@pytest.mark.parametrize("kind", ["labels", "numbers", "vectors"])
def test_items_that_neither_got_weight_nor_mattered_have_no_row(live, kind):
    page = live(document(long_record(kind=kind)), "#record=1&place=9&layer=1&head=1&key=all&lang=en")
    rows = page.evaluate(ROWS)
    names = [each["name"] for each in rows]
    # All weights but one are 1.8 %, so that the table is full.
    assert len(names) == 12
    page = live(document(long_record(0.9, kind=kind)), "#record=1&place=9&layer=1&head=1&key=all&lang=en")
    names = [each["name"] for each in page.evaluate(ROWS)]
    assert names[:3] == ["the (1)", "old", "man"]
    assert len(names) == 3
    assert page.inner_text(".compared-part p") == "20 others are lower in both."
    # The item whose steps are shown has one.
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert [each["name"] for each in page.evaluate(ROWS)] == ["the (1)", "old", "man", "who"]


def test_the_bar_of_a_small_change_is_short(live):
    page = live(document(long_record(0.9, 0.01)), "#record=1&place=9&layer=1&head=1&key=all&lang=en")
    bars = {each["name"]: each["bars"] for each in page.evaluate(ROWS)}
    assert bars["old"][0] == 60
    assert bars["man"][1] == pytest.approx(6, abs=0.1)


BOXES = """() => [...document.querySelectorAll(".compared tbody .boxes")].map((row) =>
  [row.title, [...row.children].map((each) => parseFloat(each.style.getPropertyValue("--weight-value")))])"""


@pytest.mark.parametrize("record", [labels(), seen()], ids=["table", "vectors"])
def test_each_row_shows_the_weight_of_each_head(live, record):
    page = live(document(record), "#record=1&place=3&layer=1&head=all&key=all&lang=en")
    weights = record.layers[0].weights()[:, 2].T.double()
    found = page.evaluate(BOXES)
    assert [title for title, _ in found] == [
        ", ".join(f"{head}: {percent(weight)}" for head, weight in enumerate(row.tolist(), start=1)) for row in weights
    ]
    torch.testing.assert_close(torch.tensor([dark for _, dark in found]).double(), weights.sqrt(), atol=1e-3, rtol=0)


def test_an_average_over_rows_has_no_boxes(live):
    assert live(document(whole("labels", False))).evaluate(BOXES) == []
