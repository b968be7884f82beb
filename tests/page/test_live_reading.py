"""What makes the live page quick to read: sizes that fit the input, and nothing that hides a number."""

import pytest

from page.live_records import document, labels

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
