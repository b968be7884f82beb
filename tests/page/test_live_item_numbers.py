"""Numbers beside items are read as those of their own item: next to it, and on its chip where items fill many rows."""

import pytest
import torch

import regard
from page.live_records import document
from page.test_live_loops import giving
from page.test_live_paper import windowed
from page.test_live_reading import LONG
from page.test_live_words import contrast, rgb
from regard.inspection import LayerRecord, Outcomes, Place, Record
from regard.page.numbers import percent

FILM = (
    "the film is not a masterpiece , but its slow and careful first half , which many will find dull , leads to an "
    "ending that is funny , warm and wholly earned , so that i left with the feeling of having been in good company "
    "for two hours , and would gladly go again"
)
# Of each number its item, how far it is from the chip of this item, and from the nearest other chip.
NUMBERS = """
() => {
  const items = [...document.querySelectorAll(".chips:not(.written) > li:not(.edge)")];
  const first = Number(document.querySelector(".chips .chip[data-id^='item ']")?.dataset.id.slice(5) ?? 0);
  const boxOf = (each) => {
    const range = document.createRange();
    range.selectNodeContents(each);
    return range.getBoundingClientRect();
  };
  const apart = (a, b) => Math.hypot(Math.max(a.left - b.right, b.left - a.right, 0),
    Math.max(a.top - b.bottom, b.top - a.bottom, 0));
  const rows = new Set(items.map((each) => Math.round(each.getBoundingClientRect().top))).size;
  const numbers = [...document.querySelectorAll(".arcs text, .chips .share")].map((each) => {
    const own = each.dataset.key === undefined ? items.indexOf(each.closest("li")) : Number(each.dataset.key) - first;
    const gaps = items.map((item) => apart(boxOf(each), item.getBoundingClientRect()));
    return { key: own + first, text: each.textContent, own: gaps[own],
      other: Math.min(...gaps.filter((_, i) => i !== own)), onChip: each.matches(".share") };
  });
  return { rows, numbers, lines: document.querySelectorAll(".arcs path").length };
}
"""
GO = """
(hash) => {
  history.replaceState(null, "", hash);
  dispatchEvent(new Event("popstate"));
}
"""
PLACES = """
() => [...document.querySelectorAll(".chips > li")].map((each) => Object.values(each.getBoundingClientRect().toJSON()))
"""


def drawn(row):
    """The weights that have numbers, by their items: the largest eight of those that have two percent."""
    most = sorted(enumerate(row), key=lambda each: -each[1])[:8]
    return {key: percent(weight) for key, weight in most if weight >= 0.02}


@pytest.fixture(scope="module")
def film():
    return regard.load("english-sentiment").see(FILM, effects=False)


@pytest.mark.parametrize("width", [1280, 760, 390, 320])
def test_the_numbers_of_a_long_text_stand_on_their_own_chips(live, film, width):
    found = live(document(film), width=width).evaluate(NUMBERS)
    assert found["rows"] > 2
    assert found["lines"] == 0
    assert {each["key"]: each["text"] for each in found["numbers"]} == drawn(film.pooling.weights()[0, 0].tolist())
    for each in found["numbers"]:
        assert each["onChip"]
        assert each["own"] == 0
        assert each["other"] > 4


@pytest.mark.parametrize(("count", "width", "rows"), [(16, 1180, 1), (24, 1280, 2), (8, 390, 2), (8, 760, 1)])
def test_the_numbers_of_a_short_text_are_nearer_to_their_own_words_than_to_others(live, count, width, rows):
    record = regard.load("english-sentiment").see(FILM.split()[:count], effects=False)
    found = live(document(record), width=width).evaluate(NUMBERS)
    assert found["rows"] == rows
    assert found["lines"] == len(found["numbers"]) > 3
    for each in found["numbers"]:
        assert not each["onChip"]
        assert each["own"] < each["other"]


@pytest.mark.parametrize("own", [0.03, 0.32, 0.95])
@pytest.mark.parametrize(("width", "count", "query"), [(500, 9, 8), (1180, 23, 18)])
def test_the_number_of_a_loop_in_the_second_row_is_nearer_to_its_own_word(live, own, width, count, query):
    found = live(document(giving(own, count, query), query=query + 1), width=width).evaluate(NUMBERS)
    assert found["rows"] == 2
    (loop,) = (each for each in found["numbers"] if each["key"] == query)
    assert loop["text"] == percent(own)
    assert loop["own"] < loop["other"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_on_chips_can_be_read(live, film, scheme):
    page = live(document(film), width=1280, color_scheme=scheme)
    page.wait_for_timeout(200)
    colours = page.locator(".chips .share").evaluate_all(
        """(all) => all.map((each) => [each, each.closest("li")].map((one, i) =>
          getComputedStyle(one)[i ? "backgroundColor" : "color"]))"""
    )
    assert len(colours) == 8
    assert min(contrast(*map(rgb, each)) for each in colours) >= 4.5


def test_words_stay_where_they_are_whichever_is_chosen(live):
    record = giving(0.3, 23, 9)
    page = live(document(record, query=10), width=390)
    assert page.evaluate(NUMBERS)["rows"] > 2
    before, numbers = page.evaluate(PLACES), set()
    for place in range(1, 24):
        page.evaluate(GO, f"#place={place}")
        assert page.evaluate(PLACES) == before
        numbers |= {(each["key"], each["text"]) for each in page.evaluate(NUMBERS)["numbers"]}
    assert len(numbers) > 3


HOSTILE = [",", "", " ", "\u200b", "i", "\u202eabc", "\u05d0", "<b>x</b>", "W" * 70, "\U0001f600", "\u4e2d"]


def test_the_narrowest_chips_hold_the_widest_numbers(live):
    items = tuple(HOSTILE) * 3
    weights = torch.eye(len(items)).roll(1, 1)[None] * (1 - 1e-4) + 1e-4 / len(items)
    places = tuple(Place(item, number, "X", 0.9) for number, item in enumerate(items))
    layer = LayerRecord.of_weights("layer 1", weights, "softmax")
    record = Record(items, layers=(layer,), model="toy", noun="word", outcomes=Outcomes("labels", "item", places))
    page = live(document(record), width=390)
    for place in range(1, len(items) + 1):
        page.evaluate(GO, f"#place={place}")
        (found,) = page.evaluate(NUMBERS)["numbers"]
        assert (found["key"], found["text"], found["own"]) == (place % len(items), ">99%", 0)
        assert found["other"] > 4


def test_a_window_has_the_numbers_on_its_chips_and_at_its_edges(live):
    record = windowed()
    found = live(document(record, query=80, layer=2, head=2)).evaluate(NUMBERS)
    expected = drawn(record.layers[1].weights()[1, 79].tolist())
    assert found["lines"] == 0
    shown = {key: text for key, text in expected.items() if 9 <= key < 149}
    assert {each["key"]: each["text"] for each in found["numbers"]} == shown
    assert len(shown) > 3
    assert all(each["own"] == 0 for each in found["numbers"])


def test_arcs_come_back_where_there_is_room(live):
    page = live(document(giving(0.3, 12, 5), query=6), width=1280)
    seen = []
    for width in (1280, 320, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        found = page.evaluate(NUMBERS)
        seen.append((found["lines"], sorted((each["key"], each["text"], each["onChip"]) for each in found["numbers"])))
    assert seen[0] == seen[2]
    assert seen[0][0] == 4
    assert seen[1] == (0, [(*each[:2], True) for each in seen[0][1]])


def test_all_lines_are_drawn_where_they_are_asked_for(live):
    record = giving(0.3, len(LONG), 9)
    page = live(document(record, query=10), width=390)
    button = page.get_by_role("button", name="all lines")
    button.click()
    rows = record.layers[0].weights()[0].tolist()
    assert page.locator(".arcs path").count() == sum(len(drawn(row)) for row in rows)
    button.click()
    assert page.locator(".arcs path").count() == 0
