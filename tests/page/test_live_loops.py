"""The weight of a word on itself, which a loop draws: above its chip, with a number that stands free."""

import pytest
import torch

from page.live_records import document
from page.test_live_reading import LONG
from regard.inspection import LayerRecord, Outcomes, Place, Record
from regard.page.numbers import percent

# The loop, its number and all that the number may not lie on: other numbers, and chips; and what lies on it: the lines.
LOOP = """
(own) => {
  const all = (query) => [...document.querySelectorAll(query)];
  const box = (each) => each.getBoundingClientRect().toJSON();
  const [number] = all(`.arcs text[data-key="${own}"]`);
  const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return {
    loops: all(`.arcs path[data-key="${own}"]`).map((each) =>
      ({ ...box(each), thick: +each.getAttribute("stroke-width") })),
    chip: box(document.querySelector(".chips .selected")),
    text: number?.textContent, number: number && box(number),
    covered: all(".arcs text, .chips li").filter((each) => each !== number && over(box(each), box(number))).length,
    lines: document.querySelector(".items").classList.contains("lines"), isLast: number?.nextElementSibling === null,
  };
}
"""


def giving(own, count, query, beside=(1, -1, 4)):
    """A word that gives itself this weight, and the rest to some words near it."""
    near = [query + each for each in beside if 0 <= query + each < count]
    weights = torch.full((1, count, count), 1 / count)
    weights[0, query] = 0
    weights[0, query, near] = (1 - own) / len(near)
    weights[0, query, query] = own
    items = tuple(LONG[number % len(LONG)] for number in range(count))
    places = tuple(Place(item, number, "X", 0.9) for number, item in enumerate(items))
    layer = LayerRecord.of_weights("layer 1", weights, "softmax")
    return Record(items, layers=(layer,), model="toy", noun="word", outcomes=Outcomes("labels", "item", places))


@pytest.mark.parametrize("own", [0.03, 0.32, 0.95])
@pytest.mark.parametrize(
    ("width", "count", "query", "lines"),
    [(1180, 9, 4, False), (1180, 9, 0, False), (1180, 23, 16, True), (500, 9, 4, True), (560, 10, 7, True)],
)
def test_a_loop_draws_the_weight_of_a_word_on_itself(live, own, width, count, query, lines):
    record = giving(own, count, query)
    found = live(document(record, query=query + 1), width=width).evaluate(LOOP, query)
    assert found["lines"] == lines
    assert found["text"] == percent(own)
    (loop,), chip, number = found["loops"], found["chip"], found["number"]
    assert loop["thick"] == pytest.approx(1.5 + 9 * own, abs=0.01)
    assert loop["bottom"] == pytest.approx(chip["top"], abs=1)
    assert 8 <= loop["bottom"] - loop["top"] <= 24
    assert (loop["left"] + loop["right"]) / 2 == pytest.approx((chip["left"] + chip["right"]) / 2, abs=1)
    assert loop["right"] - loop["left"] > loop["thick"] + 4
    assert number["bottom"] <= chip["top"] + 1
    assert max(chip["left"] - number["right"], number["left"] - chip["right"]) < 24
    assert found["covered"] == 0
    assert found["isLast"]


def test_a_weight_that_no_arc_would_have_has_no_loop(live):
    page = live(document(giving(0.01, 9, 4), query=5))
    assert page.locator('.arcs path[data-key="4"], .arcs text[data-key="4"]').count() == 0
    assert page.locator(".arcs path").count() >= 2


@pytest.mark.parametrize("own", [0.03, 0.32, 0.95, 0.999])
@pytest.mark.parametrize(("count", "query"), [(23, 9), (160, 80)])
def test_in_many_rows_the_weight_of_a_word_on_itself_is_on_its_chip(live, own, count, query):
    page = live(document(giving(own, count, query), query=query + 1), width=390)
    assert page.locator(".arcs path, .arcs text").count() == 0
    assert page.locator(".chips .selected .share").all_inner_texts() == [percent(own)]
