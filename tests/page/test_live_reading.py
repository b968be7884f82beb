"""What makes the live page quick to read: sizes that fit the input, and nothing that hides a number."""

import re
from dataclasses import replace

import pytest
import torch

from page.live_records import WORDS, document, labels, layers, record_of_calls, seen, whole
from regard.inspection import LayerRecord, Outcome, Outcomes, Place, Record
from regard.page.numbers import percent

TEXT = "the old man who lives in the house near the river saw a saw that his friend had left there last week ."
LONG = tuple(TEXT.split())

SHOWN = """() => {
  const box = (each) => each.getBoundingClientRect();
  const items = [...document.querySelectorAll(".chips li")], chips = items.map(box);
  const numbers = [...document.querySelectorAll(".arcs text, .chips .share")];
  const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return {
    size: parseFloat(getComputedStyle(document.querySelector(".chips .text")).fontSize),
    lines: new Set(chips.map((each) => Math.round(each.top))).size,
    covered: numbers.filter((each) => items.some((item) => !item.contains(each) && over(box(each), box(item))))
      .map((each) => each.textContent),
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


def test_the_map_is_drawn_for_the_width_there_is(live):
    text, sizes = document(labels(items=LONG[:19])), []
    page = live(text, width=360)
    size = "(({ clientWidth, clientHeight }) => [clientWidth, clientHeight])(document.querySelector('.map'))"
    for width in (360, 1180, 360):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        sizes.append(page.evaluate(size))
    assert sizes[1] == live(text, width=1180).evaluate(size)
    assert sizes[1][0] > sizes[0][0]
    assert sizes[2] == sizes[0]


@pytest.mark.parametrize("kind", ["labels", "numbers", "vectors"])
def test_items_that_neither_got_weight_nor_mattered_have_no_row(live, kind):
    page = live(document(long_record(kind=kind)), "#record=1&place=9&layer=1&head=1&key=all&lang=en")
    rows = page.evaluate(ROWS)
    names = [each["name"] for each in rows]
    # All weights but one are 1.8 %, no more than equal ones: the least number of rows is shown.
    assert len(names) == 3
    page = live(document(long_record(0.9, kind=kind)), "#record=1&place=9&layer=1&head=1&key=all&lang=en")
    names = [each["name"] for each in page.evaluate(ROWS)]
    assert names[:3] == ["the (1)", "old", "man"]
    assert len(names) == 3
    # A change of a probability by a thousandth is written as none.
    effects = {"labels": "leaves the answer unchanged", "numbers": "changes the answer by 5e-05 at most"}
    effect = effects.get(kind, "changes the answer by 1% at most")
    said = f"20 others have 1% at most; hiding one of them {effect}."
    assert page.inner_text(".compared-part p") == said
    # The item whose steps are shown has one.
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert [each["name"] for each in page.evaluate(ROWS)] == ["the (1)", "old", "man", "who"]


def test_the_bar_of_a_small_change_is_short(live):
    page = live(document(long_record(0.9, 0.01)), "#record=1&place=9&layer=1&head=1&key=all&lang=en")
    bars = {each["name"]: each["bars"] for each in page.evaluate(ROWS)}
    assert bars["old"][0] == 60
    # A track of which all is fifty points.
    assert bars["man"][1] == pytest.approx(2, abs=0.1)


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


def many_heads(layers: int, heads: int) -> Record:
    """Random heads, of which one after another matters more."""
    torch.manual_seed(0)
    places = (Place("a", 0, "DET", 0.9), Place("b", 1, "DET", 0.9))
    made = tuple(
        LayerRecord.of_weights(f"layer {number}", (3 * torch.eye(2) + torch.randn(heads, 2, 2)).softmax(-1), "softmax")
        for number in range(1, layers + 1)
    )
    same = tuple(Outcome("DET", 0.9, 0.0) for _ in places)
    removed = tuple(
        tuple(tuple(Outcome("DET", 0.9 - head / 20, -head / 20) for _ in places) for head in range(heads))
        for _ in range(layers)
    )
    found = Outcomes("labels", "item", places, (same, same), removed)
    return Record(("a", "b"), ("DET", "DET"), (0.9, 0.9), made, "toy", noun="word", outcomes=found)


TILES = """() => [...document.querySelectorAll(".tile")].map((each) => {
  const { width, height, top, bottom } = each.getBoundingClientRect();
  return { width, height, top, bottom, bar: parseFloat(getComputedStyle(each, "::after").width) };
})"""


@pytest.mark.parametrize(("layers", "heads"), [(12, 12), (6, 8)])
def test_all_of_many_heads_are_seen_at_once(live, layers, heads):
    page = live(document(many_heads(layers, heads)))
    tiles = page.evaluate(TILES)
    assert len(tiles) == layers * (heads + 1)
    assert len({round(each["top"]) for each in tiles}) == layers
    assert min(each["width"] for each in tiles) >= 24
    assert min(each["height"] for each in tiles) >= 24
    assert (
        page.evaluate(
            "(() => { const box = document.querySelector('.heads');return box.scrollHeight - box.clientHeight; })()"
        )
        <= 0
    )
    bars = [each["bar"] for each in tiles[1 : heads + 1]]
    full = max(bars) / (heads - 1)
    assert full > 1
    assert bars == pytest.approx([full * head for head in range(heads)], abs=0.5)


def test_of_many_heads_one_is_told_in_words(live):
    page = live(document(many_heads(12, 12)))
    line = page.locator(".heads .line")
    assert line.inner_text() == "layer 12, average of its heads"
    page.locator('[data-id="head 3 6"]').hover()
    assert line.inner_text() == "4.7 · same · 60%"
    page.locator('[data-id="head 3 7"]').click()
    page.locator("h2").first.hover()
    assert line.inner_text() == "4.8 · same · 55%"
    # All have their words for a screen reader.
    assert page.get_by_role("button", name="4.7 same 60%").count() == 1


@pytest.mark.parametrize(("width", "layers", "heads"), [(1180, 3, 24), (390, 3, 24), (1180, 12, 12), (390, 12, 12)])
def test_each_of_many_heads_has_its_number_below_its_picture(live, width, layers, heads):
    page = live(document(many_heads(layers, heads)), width=width)
    shown = """(tiles) => tiles.map((tile) => {
      const texts = [...tile.querySelectorAll(".under > span:first-child, .brief")];
      const text = texts.filter((each) => each.offsetWidth).at(-1);
      const [own, box] = [text, tile].map((each) => each.getBoundingClientRect());
      return [text.innerText.trim(), own.left >= box.left && own.right <= box.right && own.bottom <= box.bottom];
    })"""
    found = page.locator(".tile").evaluate_all(shown)
    numbers = [f"{layer}.{head}" for layer in range(layers, 0, -1) for head in range(heads + 1)]
    assert [text for text, _ in found] == [re.sub(r"\d+\.0$", "avg.", each) for each in numbers]
    assert all(fits for _, fits in found)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_of_many_heads_those_without_which_the_answer_changes_most_come_first(live):
    record = many_heads(1, 9)
    # The change of the last head is noise, and the first one changes nothing.
    (heads,) = record.outcomes.removed
    noise = tuple(each._replace(noise_floor=1.0) for each in heads[8])
    removed = ((*heads[:3], *heads[5:8], *heads[3:5], noise),)
    page = live(document(replace(record, outcomes=replace(record.outcomes, removed=removed))))
    named = page.locator(".heads-part .named")
    told = ["1.6 90% → 55%", "1.5 90% → 60%", "1.4 90% → 65%", "1.8 90% → 70%"]
    assert named.inner_text().startswith("The answer changes most without:")
    assert [each.inner_text() for each in named.locator("button").all()] == told
    named.locator("button").nth(3).click()
    assert page.locator('[data-id="head 0 7"]').get_attribute("aria-pressed") == "true"
    # Where nothing changes, no head is named.
    same = tuple(tuple(each._replace(score=0.9, change=0.0) for each in head) for head in heads)
    page = live(document(replace(record, outcomes=replace(record.outcomes, removed=(same,)))))
    assert page.locator(".heads-part .named").is_hidden()


DARKEST = """() => [...document.querySelectorAll(".tile canvas")].map((each) =>
  Math.min(...each.getContext("2d").getImageData(0, 0, each.width, each.height).data.filter((_, i) => i % 4 === 0)))"""


def test_heads_share_one_scale(live):
    weights = torch.stack([torch.eye(4), torch.full((4, 4), 0.25)])
    places = tuple(Place(word, number, "DET", 0.9) for number, word in enumerate("abcd"))
    layer = LayerRecord.of_weights("layer 1", weights, "softmax")
    record = Record(
        tuple("abcd"), ("DET",) * 4, (0.9,) * 4, (layer,), "toy", outcomes=Outcomes("labels", "item", places)
    )
    page = live(document(record))
    average, sharp, uniform = page.evaluate(DARKEST)
    assert sharp < average < uniform
    said = "The pictures of heads share one scale of colours: the full colour is a weight of 100%."
    assert page.locator(".heads-colours").inner_text() == said


def test_pictures_of_heads_whose_pixels_join_weights_have_no_weight_of_the_full_colour(live):
    assert live(document(record_of_calls(*layers(150)))).locator(".heads-colours").inner_text() == ""


TERMS = """() => [...document.querySelectorAll(".terms tr")].map((row) =>
  [...row.querySelectorAll("th, td")].map((each) => Number(each.textContent.replace("−", "-"))))"""


def test_the_product_of_a_query_and_a_key_is_told_by_its_largest_terms(live):
    record = seen()
    page = live(document(record), "#record=1&place=3&layer=2&head=2&key=5&lang=en")
    call = record.layers[1].calls[0]
    query, key = call.query[0, 1, 2].double(), call.key[0, 1, 4].double()
    rows = torch.tensor([[row[0], row[1], row[3], row[5]] for row in page.evaluate(TERMS)]).double()
    order = rows[:, 0].long() - 1
    assert sorted(order.tolist()) == list(range(len(query)))
    torch.testing.assert_close(rows[:, 1:].T, torch.stack([query, key, query * key])[:, order], atol=1e-4, rtol=1e-3)
    sizes = (query * key)[order].abs()
    assert (sizes[:-1] >= sizes[1:]).all()


def test_the_mouse_shows_an_item_and_a_click_keeps_it(live):
    page = live(document(labels()), "#record=1&place=4&layer=2&head=all&key=all&lang=en")
    framed, sentence = page.locator(".chips .selected"), page.locator(".sentence")
    at_first = sentence.inner_text()
    history, hash = page.evaluate("history.length"), page.evaluate("location.hash")
    page.locator('[data-id="item 0"]').hover()
    assert framed.inner_text().startswith("a\n")
    shown = sentence.inner_text()
    assert shown.startswith('"a"')
    page.locator('[data-id="item 2"]').hover()
    assert sentence.inner_text().startswith('"film"')
    assert page.evaluate("location.hash") == hash
    assert page.evaluate("history.length") == history
    page.locator("h2").first.hover()
    assert sentence.inner_text() == at_first
    page.locator('[data-id="item 0"]').click()
    page.locator("h2").first.hover()
    assert sentence.inner_text() == shown
    assert "place=1" in page.evaluate("location.hash")


def test_a_mouse_that_rests_leaves_the_keys_alone(live):
    page = live(document(labels()), "#record=1&place=4&layer=2&head=all&key=all&lang=en")
    page.locator('[data-id="item 0"]').hover()
    for place in (4, 3, 2):
        page.keyboard.press("ArrowLeft")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert (
            page.evaluate(
                "[...document.querySelectorAll('.chips li')].findIndex((each) =>each.classList.contains('selected'))"
            )
            == place - 2
        )


def test_of_a_long_text_the_mouse_moves_nothing(live):
    words = tuple(f"word{number}" for number in range(90))
    page = live(document(labels(items=words)), "#record=1&place=20&layer=2&head=all&key=all&lang=en")
    sentence = page.inner_text(".sentence")
    page.locator('[data-id="item 22"]').hover()
    assert page.inner_text(".sentence") == sentence


DRAWN = """() => {
  const map = document.querySelector("canvas.map"), own = CanvasRenderingContext2D.prototype.fillText, found = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
    const { a, b } = this.getTransform();
    found.push({ text, size: parseFloat(this.font), turned: Math.round(Math.atan2(b, a) * 180 / Math.PI) });
    own.call(this, text, ...where);
  };
  map.dispatchEvent(new Event("blur"));
  CanvasRenderingContext2D.prototype.fillText = own;
  return found;
}"""


def test_the_map_of_forty_words_names_them(live):
    words = [f"word{number}" for number in range(40)]
    found = live(document(labels(items=tuple(words)))).evaluate(DRAWN)
    assert [each["text"] for each in found] == 2 * words
    # Rows lie and columns stand, in letters that are no larger than a cell, so that neighbours don't touch.
    assert [each["turned"] for each in found] == [0] * 40 + [-90] * 40
    assert {each["size"] for each in found} == {11}


@pytest.mark.parametrize(("words", "width"), [(48, 1280), (40, 360)])
def test_a_map_that_is_too_narrow_for_names_has_numbers(live, words, width):
    page = live(document(labels(items=tuple(f"word{number}" for number in range(words)))), width=width)
    texts = [each["text"] for each in page.evaluate(DRAWN)]
    assert len(texts) > 5
    assert all(each.isdecimal() for each in texts)


def test_a_head_that_follows_a_pattern_keeps_its_number(live):
    weights = torch.eye(5).roll(1, 1).expand(2, 5, 5).clone()
    places = tuple(Place(word, number, "DET", 0.9) for number, word in enumerate(WORDS))
    layer = LayerRecord.of_weights("layer 1", weights, "softmax")
    record = Record(WORDS, ("DET",) * 5, (0.9,) * 5, (layer,), "toy", outcomes=Outcomes("labels", "item", places))
    page = live(document(record))
    for head in (0, 1):
        under = page.locator(f'[data-id="head 0 {head}"] .under')
        number, pattern = (under.get_by_text(text, exact=True) for text in (f"1.{head + 1}", "next"))
        above, below = number.bounding_box(), pattern.bounding_box()
        assert above["width"] > 10
        assert above["y"] + above["height"] <= below["y"] + 1
        assert above["x"] == pytest.approx(below["x"], abs=1)


@pytest.mark.parametrize(("width", "beside"), [(1180, True), (920, True), (860, False), (360, False)])
def test_the_heads_stand_beside_the_table_where_both_have_room(live, width, beside):
    page = live(document(labels()), width=width)
    table, heads = (page.locator(each).bounding_box() for each in (".compared-part", ".heads-part"))
    assert (heads["x"] >= table["x"] + table["width"]) == beside
    assert (heads["y"] >= table["y"] + table["height"]) == (not beside)


@pytest.mark.parametrize("width", [1180, 390])
def test_the_pooling_is_as_wide_as_a_row_of_heads(live, width):
    page = live(document(whole("labels", True)), width=width)
    pooling, first, last = (
        page.locator(f'[data-id="{each}"]').bounding_box() for each in ("pooling", "head 1 null", "head 1 2")
    )
    assert pooling["x"] == pytest.approx(first["x"], abs=1)
    assert pooling["x"] + pooling["width"] == pytest.approx(last["x"] + last["width"], abs=3 if width == 1180 else 24)
    assert pooling["height"] < first["height"]


@pytest.mark.parametrize("width", [1180, 390])
def test_columns_are_read_in_one_order_whether_they_stand_in_a_line_or_in_two(live, width):
    page = live(document(labels()), width=width)
    for row in ("thead tr", "tbody tr:first-child"):
        cells = page.locator(f".compared {row} > *").evaluate_all(
            "(all) => all.map((each) => [each.offsetTop, each.offsetLeft])"
        )
        assert len(cells) == 4
        lines = [cells] if width == 1180 else [cells[:2], cells[2:]]
        for line in lines:
            assert [left for _, left in line] == sorted(left for _, left in line)
        if width == 390:
            assert max(top for top, _ in lines[0]) < min(top for top, _ in lines[1])
