"""The page of two records: the numbers are NumPy's, the colours those of the legend, and one cursor moves in both."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from page.browser import axe
from page.live_records import LABELS, WORDS, layers, outcomes, seen, whole
from page.test_live import HOSTILE
from page.test_live_colours import PIXELS, colours, image_of
from regard.inspection import DrawnPicture, Outcomes, Place, Record, comparison, comparison_of, live_page
from regard.inspection.views.comparison import difference_sentence
from regard.inspection.views.comparison_page import difference_table
from regard.page import as_text
from regard.page.modules import style
from regard.page.numbers import in_points, percent, percent_change, probability

FIRST = ("I", "saw", "a", "saw", ".")
SECOND = ("I", "saw", "a", "big", "cat", ".")
# The pairs of both, by hand; "a big cat" is longer than "a saw", so neither "saw" nor "big cat" has a partner.
PAIRS = [(0, 0), (1, 1), (2, 2), (3, None), (None, 3), (None, 4), (4, 5)]
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def made(items, seed, heads=(2, 3), kind="labels", model="toy"):
    """A record of random weights and effects."""
    torch.manual_seed(seed)
    scores = [0.5 + 0.1 * (seed + place) % 0.5 for place in range(len(items))]
    names = [LABELS[(place + seed) % 3] for place in range(len(items))]
    places = [Place(*each) for each in zip(items, range(len(items)), names, scores, strict=True)]
    made_layers = layers(len(items), heads=heads)
    found = outcomes(kind, "item", places, len(items), heads)
    return Record(items, tuple(names), tuple(scores), made_layers, model, noun="word", outcomes=found)


@pytest.fixture(scope="module")
def records():
    return made(FIRST, 1), made(SECOND, 2)


@pytest.fixture(scope="module")
def text(records):
    return live_page(records[0], ("one", "other"), against=records[1])


@pytest.fixture(scope="module")
def twins():
    """Two models on one input, of as many items."""
    return made(FIRST, 1), made(FIRST, 3)


@pytest.fixture(scope="module")
def twins_text(twins):
    return live_page(twins[0], ("one", "other"), against=twins[1])


READ = """
(hashes) => hashes.map((hash) => {
  history.replaceState(null, "", hash);
  dispatchEvent(new Event("popstate"));
  const text = (each) => each.textContent, all = (root, query) => [...root.querySelectorAll(query)];
  return {
    sentence: text(document.querySelector(".sentence")),
    rows: all(document, ".compared tbody tr").map((row) => all(row, "th, td").map((cell) => {
      const lines = all(cell, ".side-line").map(text);
      return lines.length ? lines : text(cell);
    })),
    gaps: Object.fromEntries(all(document, ".heads .tile").map((each) =>
      [each.dataset.id, text(each.querySelector(".gap"))])),
  };
})
"""


def weights_of(record, layer, head, query):
    found = record.layers[(layer or len(record.layers)) - 1].weights().double().numpy()
    return (found.mean(0) if head is None else found[head - 1])[query]


def signed(value, kind="weights"):
    """A difference or a change as the page writes it."""
    size = f"{abs(value):.4g}" if kind == "numbers" else percent(abs(value))
    return size if value == 0 else f"{'−' if value < 0 else '+'}{size}"


def changed(place, outcome):
    """A change of a probability as the page writes it."""
    before, after = probability(place.score), probability(place.score + outcome.change)
    if before != after:
        return f"{before} → {after}"
    # Another answer is a change, however little the probability of this one changes.
    return "unchanged" if outcome.label == place.label else f"<1 {'lower' if outcome.change < 0 else 'higher'}"


def test_effects_are_said_to_be_of_the_answer_of_each_side(live, twins, twins_text):
    one, other = (record.labels[1] for record in twins)
    assert one != other
    head = live(twins_text, "#place=2").locator(".compared thead")
    assert f"mattered: A {one}, B {other}" in head.inner_text()


@pytest.mark.parametrize("width", [320, 390, 700])
def test_each_head_is_within_a_narrow_page(live, width):
    records = [made(FIRST, seed, heads=(4, 4)) for seed in (1, 3)]
    page = live(live_page(records[0], ("one", "other"), against=records[1]), width=width)
    assert page.locator(".rows-of-heads .tile").count() == 10
    assert page.locator(".rows-of-heads").evaluate("each => each.scrollWidth - each.clientWidth") == 0


@pytest.mark.parametrize("name", ["records", "twins"])
def test_each_view_has_the_numbers_of_numpy(live, request, name):
    both = request.getfixturevalue(name)
    pairs = PAIRS if name == "records" else [(place, place) for place in range(5)]
    page = live(request.getfixturevalue("text" if name == "records" else "twins_text"))
    partner = dict(pair for pair in pairs if None not in pair)
    chosen = [(1, None), (1, 2), (2, None), (2, 3)]
    views = [(query, *chosen[(query + number) % 4]) for query in partner for number in range(1 + (name == "records"))]
    hashes = [f"#record=1&place={q + 1}&layer={la}&head={h or 'all'}&key=all&lang=en" for q, la, h in views]
    for (query, layer, head), found in zip(views, page.evaluate(READ, hashes), strict=True):
        told = comparison_of(*both, layer=layer, head=head, query=query + 1)
        assert found["sentence"].replace("−", "-") == told.sentence
        rows = [weights_of(each, layer, head, row) for each, row in zip(both, (query, partner[query]), strict=True)]
        assert len(found["rows"]) == len(pairs)
        for (a, b), (_, attended, gap, mattered, without) in zip(pairs, found["rows"], strict=True):
            sides = [(0, "A", a), (1, "B", b)]
            there = [(side, letter, number) for side, letter, number in sides if number is not None]
            assert attended == [f"{letter}{percent(rows[side][number])}" for side, letter, number in there]
            told_gap = "" if None in (a, b) else in_points(percent_change(rows[0][a], rows[1][b]))
            assert gap == told_gap.replace("-", "−")
            outcome = [both[side].outcomes.hidden[number][(query, partner[query])[side]] for side, _, number in there]
            before = [both[side].outcomes.places[(query, partner[query])[side]] for side, *_ in there]
            assert mattered == [
                letter + changed(place, one) for (_, letter, _), place, one in zip(there, before, outcome, strict=True)
            ]
            assert [each[1:].split()[0] for each in without] == [one.label for one in outcome]
    # The sentence in the other language.
    in_chinese = page.evaluate(READ, [each.replace("lang=en", "lang=zh") for each in hashes])
    for (query, layer, head), found_in_chinese in zip(views, in_chinese, strict=True):
        told = comparison_of(*both, layer=layer, head=head, query=query + 1)
        expected = difference_sentence(told.records, told.places, told.items, "zh", equal=told.equal)
        assert found_in_chinese["sentence"].replace("−", "-") == expected
    # Of each head, half the sum of the differences of a row, and all of what has no partner.
    weights = [each.layers[1].weights().double().numpy() for each in both]
    kept = [(a, b) for a, b in pairs if a is not None and b is not None]
    rows = [each[:, [pair[side] for pair in kept]] for side, each in enumerate(weights)]
    inner = [each[:, :, [pair[side] for pair in kept]] for side, each in enumerate(rows)]
    alone = sum(each.sum(-1) - one.sum(-1) for each, one in zip(rows, inner, strict=True))
    expected = ((np.abs(inner[0] - inner[1]).sum(-1) + alone) / 2).mean(-1)
    assert [found["gaps"][f"head 1 {head}"] for head in range(3)] == [percent(each) for each in expected]


def ends(scheme):
    """The three colours of the legend of differences."""
    parts = re.findall(r":root \{(.*?)\}", style("both.css"), re.DOTALL)
    found = dict(re.findall(r"--([a-z-]+): #([0-9a-f]{6})", parts[["light", "dark"].index(scheme)]))
    own = {name: np.array([int(code[at : at + 2], 16) for at in (0, 2, 4)]) for name, code in found.items()}
    return own["less"], colours(scheme)["weight-low"], own["more"]


def difference_of(pixel, high, scheme):
    """The difference of a colour: on one of two straight lines from the middle."""
    less, middle, more = ends(scheme)
    for end, sign in ((less, -1), (more, 1)):
        span = end - middle
        share = float((pixel - middle) @ span / (span @ span))
        if share >= -0.01 and np.abs(middle + share * span - pixel).max() <= 1:
            return sign * share * high
    raise AssertionError(f"{pixel} is none of the scale")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colour_of_a_difference_maps_back_through_the_legend(live, records, text, scheme):
    page = live(text, color_scheme=scheme)
    both = [pair for pair in PAIRS if None not in pair]
    weights = [each.layers[-1].weights().double().numpy().mean(0) for each in records]
    a, b = (each[np.ix_(*[[pair[side] for pair in both]] * 2)] for side, each in enumerate(weights))
    high = np.abs(b - a).max()
    legend = page.locator(".map-part .legend").nth(2).inner_text()
    points = percent(high).removesuffix("%")
    assert f"−{points} " in legend
    assert f" +{points} points" in legend
    assert re.search("smaller in B.*larger in B", legend)
    found = page.evaluate(PIXELS, [6, '[data-id="difference"]'])
    assert len(found) == len(both) ** 2
    for (said, pixel), one, other in zip(found, a.ravel(), b.ravel(), strict=True):
        gap = in_points(percent_change(one, other)).replace("-", "−")
        assert said.endswith(f": {percent(one)} in A, {percent(other)} in B, {gap}")
        assert difference_of(np.array(pixel), high, scheme) == pytest.approx(other - one, abs=0.008)


def test_pixels_of_joined_differences_are_those_of_their_sums(live):
    """A map of 300 x 300 pairs in cells of 2 x 2, both computed away from the page's own thread."""
    torch.manual_seed(0)
    items = tuple(map(str, range(300)))
    both = [Record(items, layers=layers(300, heads=(1,)), noun="word") for _ in range(2)]
    page = live(live_page(both[0], against=both[1]))
    first, second = (
        each.layers[0].weights()[0].double().numpy().reshape(150, 2, 150, 2).sum(3).mean(1) for each in both
    )
    high = np.abs(second - first).max()
    page.wait_for_function(
        "(text) => document.querySelectorAll('.map-part .legend')[2].textContent.includes(text)",
        arg=f"+{percent(high).removesuffix('%')} points",
    )
    image = image_of(page, '[data-id="difference"]')
    side = (image.shape[1] - 46 - 24) / 150
    largest = np.argwhere(np.abs(second - first) > 0.5 * high).tolist()
    assert len(largest) > 10
    for row, column in largest:
        if row < 5:
            # The chosen row has a frame.
            continue
        x, y = (int(before + (each + 0.5) * side) for before, each in ((46, column), (22, row)))
        assert difference_of(image[y, x], high, "light") == pytest.approx(
            (second - first)[row, column], abs=0.03 * high
        )


def test_the_difference_shows_the_part_of_the_maps(live, text, twins_text):
    """Of the first four items of A three have a partner in B; of twins all have."""
    page = live(text, "#map=1-4,1-4")
    assert len(page.evaluate(PIXELS, [6, '[data-id="difference"]'])) == 9
    page = live(twins_text, "#map=2-4,1-5")
    assert [said.partition(" attends")[0] for said, _ in page.evaluate(PIXELS, [6, '[data-id="difference"]'])][::5] == [
        "saw (2)",
        "a",
        "saw (4)",
    ]


def test_two_maps_have_one_scale(live, records, text):
    page = live(text)
    high = max(float(each.layers[-1].weights().double().mean(0).max()) for each in records)
    legends = page.locator(".map-part .legend").all_inner_texts()
    # The fewer items have the larger share of equal weights.
    full = max(high, *(min(1.0, 4 / len(each.items)) for each in records))
    assert all((f"the full colour would be {percent(full)}" in each) == (full > high) for each in legends[:2])
    assert [each.split(" · ")[0].split()[-1] for each in legends[:2]] == [percent(high)] * 2
    bars = page.evaluate("""() => [...document.querySelectorAll(".compared .bar")].map((each) =>
      [each.classList[1], parseFloat(each.style.width), each.closest(".side-line").textContent.slice(1)])""")
    # A bar is as long for A as for B if the number is the same.
    shares = [(width, float(text[:-1])) for kind, width, text in bars if kind == "weight" and "<" not in text]
    most = max(number for _, number in shares)
    for width, number in shares:
        assert width == pytest.approx(60 * number / most, abs=60 * 1.2 / most)
    changes = [
        (width, 0.0 if text == "unchanged" else abs(float(text.split("%")[0]) - float(text.split(" ")[-1][:-1])))
        for kind, width, text in bars
        if kind == "effect" and not {"<", ">"} & {*text}
    ]
    longest, most = max(changes, key=lambda each: each[1])
    for width, number in changes:
        assert width == pytest.approx(longest * number / most, abs=longest * 2.4 / most)


def hash_of(page):
    return page.evaluate("location.hash")


def selected(page):
    """The chosen item of each record, and the chosen heads."""
    return page.evaluate("""() => ({
      items: [0, 1].map((side) =>
        document.querySelector(`.side[data-side="${side}"] .selected .text`)?.textContent ?? null),
      heads: [...document.querySelectorAll('.heads .tile[aria-pressed="true"]')].map((each) => each.dataset.id),
      names: [...document.querySelectorAll(".side-name")].map((each) => each.textContent),
    })""")


def reset(page):
    page.evaluate("history.replaceState(null, '', '#place=1'); dispatchEvent(new Event('popstate'))")


CHOICES = {
    "an item of A": ('.side[data-side="0"] [data-id="item 2"]', ["ArrowRight"] * 2, ["a", "a"]),
    "its partner in B": ('.side[data-side="1"] [data-id="item 2"]', ["ArrowRight"] * 2, ["a", "a"]),
    "the last item of B": ('.side[data-side="1"] [data-id="item 5"]', ["ArrowLeft"], [".", "."]),
    "only in A": ('.side[data-side="0"] [data-id="item 3"]', ["ArrowRight"] * 3, ["saw", None]),
    "only in B": ('.side[data-side="1"] [data-id="item 4"]', ["ArrowRight"] * 5, [None, "cat"]),
    "a head": ('[data-id="head 1 1"]', [".", "."], ["I", "I"]),
    "a layer": ('[data-id="head 0 null"]', ["["], ["I", "I"]),
}


def test_mouse_and_keyboard_reach_the_same_state_in_both(live, text):
    page = live(text)
    for name, (click, keys, items) in CHOICES.items():
        reach(page, name, click, keys, items)


def reach(page, name, click, keys, items):
    reset(page)
    page.click(click)
    page.mouse.move(5, 5)
    by_mouse, found = hash_of(page), selected(page)
    assert found["items"] == items
    reset(page)
    for key in keys:
        page.keyboard.press(key)
    assert (hash_of(page), selected(page)) == (by_mouse, found)
    # The address alone shows the same.
    reset(page)
    page.evaluate(f"location.hash = {by_mouse!r}")
    page.wait_for_function("(hash) => location.hash === hash", arg=by_mouse)
    assert selected(page) == found
    if name == "a head":
        assert found["heads"] == ["head 1 1"]
        assert all("head 2 of 3" in each for each in found["names"])
    sentence = page.locator(".sentence").inner_text()
    alone = {"only in A": "A has no partner in B", "only in B": "B has no partner in A"}.get(name)
    assert (f"The chosen item of {alone}." == sentence) == (alone is not None)


def test_one_cursor_in_the_maps_and_in_the_table(live, text):
    page = live(text)
    reset(page)
    page.focus('.map-part [data-side="1"] canvas')
    for key in ("ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    said = page.locator(".map-part .line").all_inner_texts()
    assert [re.split(": ", each)[0] for each in said] == [said[0].partition(": ")[0]] * 3
    assert said[0].startswith("a attends to ")
    page.keyboard.press("Enter")
    by_keys = hash_of(page)
    assert "record=1&place=3" in by_keys
    assert selected(page)["items"] == ["a", "a"]
    # A key of the table is that of both: its cell is framed, and its steps are shown.
    page.click('[data-id="row 6"]')
    assert "key=5" in hash_of(page)
    page.click('[data-id="row 5"]')
    assert "record=2" in hash_of(page)
    assert "key=5" in hash_of(page)
    assert "The chosen word has no partner in A." in page.locator(".steps-part").inner_text()


def test_a_head_that_only_one_has(live):
    both = made(FIRST, 1, heads=(2, 3)), made(FIRST, 2, heads=(2, 4, 1))
    page = live(live_page(both[0], against=both[1]))
    page.click('[data-id="head 1 3"]')
    assert "record=2" in hash_of(page)
    assert "A has no such layer or head." in page.locator(".side").first.inner_text()
    assert "A has 2 layers and B 3." in page.locator("footer").inner_text()
    assert not page.locator('[data-id="difference"]').is_visible()
    page.keyboard.press("[")
    assert "record=1" in hash_of(page)
    assert page.locator('[data-id="difference"]').is_visible()


@pytest.mark.parametrize("heads", [(2, 3), (2, 4, 1)])
def test_what_is_left_out_is_said_in_the_terminal_as_on_the_page(live, heads):
    both = made(FIRST, 1), made(SECOND, 2, heads=heads)
    notes = live(live_page(both[0], against=both[1])).locator("footer p").all_inner_texts()
    told = comparison_of(*both).left_out
    assert len(told) == (1 if heads == (2, 3) else 2)
    assert notes[-len(told) :] == list(told)


def test_beside_a_pooling_a_part_of_the_map_is_all_of_it(live):
    record = whole("labels", True)
    for text in (live_page(record), live_page(record, ("one", "other"), against=record)):
        page = live(text, "#map=1-4,1-4")
        assert {page.evaluate("(each) => each.height", each) for each in page.query_selector_all("canvas.map")} != {0}
        # The names of the heads are those of one record.
        assert page.locator('.heads [data-id="pooling"] .under span').first.inner_text() == "pooling"
        page.focus("canvas.map")
        for key in ("ArrowRight", "Enter"):
            page.keyboard.press(key)


def picture():
    torch.manual_seed(4)
    drawn = DrawnPicture(np.random.default_rng(0).integers(0, 255, (12, 12, 3), np.uint8), (2, 2))
    found = outcomes("labels", "item", [Place("the whole", None, "cat", 0.75)], 4, (2, 3))
    names = tuple(f"{row}, {column}" for row in (1, 2) for column in (1, 2))
    return Record(names, layers=layers(4), model="pixels", grid=(2, 2), noun="patch", outcomes=found, input=drawn)


def test_a_picture_and_a_text(live):
    page = live(live_page(picture(), against=made(FIRST, 1)))
    said = page.locator("main").inner_text()
    assert "A is a picture and B a text, so no item of one has a partner in the other" in said
    assert re.match("A gives cat 75% for the whole input, B gives ", page.locator(".sentence").inner_text())
    assert "These weights have no partners, so there is no difference to draw." in said
    assert page.locator(".side").first.locator("canvas").is_visible()
    for key in ("ArrowRight", "ArrowDown", ".", "]", "a", "["):
        page.keyboard.press(key)
    assert axe(page) == []


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "lang"), [("light", "en"), ("dark", "zh")])
def test_axe_finds_nothing(live, text, scheme, lang):
    page = live(text, f"#lang={lang}", color_scheme=scheme)
    if scheme == "light":
        assert axe(page) == []
    page.focus('[data-id="difference"]')
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.id") == "difference"
    # An item that only one of both has.
    page.click('.side[data-side="1"] [data-id="item 3"]')
    assert axe(page) == []


def test_a_narrow_page_scrolls_in_one_direction(live, text):
    page = live(text, width=360, height=640)
    assert page.evaluate(WIDE) == 0
    assert page.locator('[data-id="difference"]').bounding_box()["width"] <= 360
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate(WIDE) == 0


def test_an_item_is_found_in_either(live, text):
    page = live(text)
    page.keyboard.press("/")
    page.keyboard.type("cat")
    page.keyboard.press("Enter")
    assert selected(page)["items"] == [None, "cat"]
    assert "record=2&place=5" in hash_of(page)


def test_hostile_texts_make_nothing_but_text(live):
    attack = tuple(filter(None, HOSTILE))
    counts = []
    for texts in (tuple(f"word {number}" for number in range(len(attack))), attack):
        torch.manual_seed(0)
        one, other = (
            Record(texts, layers=layers(len(texts), heads=(2,)), model=texts[0], noun=texts[1],
                   outcomes=Outcomes("labels", "item", tuple(Place(each, i, each, 0.5) for i, each in enumerate(texts)),
                                     note=texts[0]))
            for _ in range(2)
        )  # fmt: skip
        page = live(live_page(one, (texts[0], texts[2]), against=other))
        page.keyboard.press("ArrowRight")
        counts.append(page.locator("main *").count())
        tags = page.evaluate("[...new Set([...document.querySelectorAll('main *')].map((each) => each.localName))]")
        assert not {"img", "script", "iframe", "object", "embed", "link", "style"} & set(tags)
        assert page.evaluate("window.hit") is None
        assert page.evaluate(WIDE) == 0
    assert counts[0] == counts[1]


@pytest.mark.parametrize("turned", [False, True], ids=["items first", "the whole first"])
def test_labels_of_items_and_a_label_of_the_whole(live, turned):
    """No prediction has a partner: each is shown with what it attended to, and there is no difference of the two."""
    both = [made(WORDS, 1), whole("labels", True)]
    both = both[::-1] if turned else both
    told = comparison_of(*both)
    page = live(live_page(both[0], ("one", "other"), against=both[1]))
    said = page.locator(".sentence").inner_text()
    assert said.replace("−", "-") == told.sentence
    sides = ["good 62% for the whole input", r'(DET|NOUN|VERB) \d+% for ".+?"']
    first, second = sides if turned else sides[::-1]
    assert re.match(f"A gives {first}, B gives {second}\\. These are answers to different questions, ", said)
    assert "B − A" not in page.locator(".compared thead").inner_text()
    assert page.locator(".compared tbody tr").first.locator("td").first.locator(".side-line").count() == 2
    assert "has no partner" not in page.locator("main").inner_text()
    assert None not in told.stories
    # Nor of their heads and maps, and the steps of each are those of its own head.
    assert page.locator(".heads .named").is_hidden()
    assert set(page.locator(".heads .gap").all_inner_texts()) == {""}
    assert "These weights belong to answers to different questions" in page.locator(".map-part").inner_text()
    assert page.locator('[data-id="difference"]').is_hidden()
    assert "in A and B together" not in page.locator(".steps-part").inner_text()
    assert all(math.isnan(each.difference) for each in told.heads)
    assert "weight that is on other items" not in as_text(comparison(both[0], both[1]))
    assert not [*difference_table(told, None, None)]


def test_without_layers_no_heads_are_compared(live):
    one, other = made(WORDS, 1), replace(whole("labels", True), layers=())
    for both, side in (((one, other), "B"), ((other, one), "A")):
        note = f"{side} has no layers of attention beside its pooling, so no heads are compared."
        assert note in comparison_of(*both).left_out
        assert note in live(live_page(both[0], against=both[1])).locator("main").inner_text()


def test_without_a_script_there_are_both_and_the_difference(context, tmp_path, records, text):
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    page = context(java_script_enabled=False).new_page()
    page.goto(path.as_uri())
    said = page.locator("main").inner_text()
    told = comparison_of(*records)
    assert told.sentence in said
    assert "A: one" in said
    assert "B: other" in said
    weights = [each.layers[-1].weights().double().numpy().mean(0) for each in records]
    cells = page.locator("tr", has=page.locator("th", has_text=re.compile(r"^a$"))).all()
    gap = signed(weights[1][2, 2] - weights[0][2, 2]).replace("−", "-").removesuffix("%")
    assert any(gap in each.inner_text().split() for each in cells)


def test_the_page_is_no_larger_than_both(records, text):
    alone = sum(len(live_page(each).encode()) for each in records)
    assert len(text.encode()) <= alone + 30_000
    # What draws differences is in no other page.
    assert "divergingScale" not in live_page(records[0])


def test_of_vectors_the_steps_of_both_are_there(live):
    page = live(live_page(seen(), against=seen()))
    assert "The weights are the same." in page.locator(".sentence").inner_text()
    steps = page.locator(".steps-part .steps")
    assert steps.count() == 2
    assert steps.first.inner_text() == steps.last.inner_text()
    assert page.locator('.heads [data-id="head 0 0"] .gap').inner_text() == "0%"
    page.click('.steps-part [data-side="1"] summary')
    for key in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(key)


def test_a_head_and_a_word_that_only_the_second_has_are_told(live):
    """In a layer that the first lacks, a word that has no partner there: no sentence has a hole."""
    first, second = made(FIRST, 1, heads=(2,)), made(SECOND, 2, heads=(2, 3))
    page = live(live_page(first, ("one", "other"), against=second))
    page.evaluate("location.hash = '#record=2&place=4&layer=2&head=2'")
    page.wait_for_function("() => location.hash.includes('head=2')")
    assert page.locator(".sentence").inner_text() == "The chosen item of B has no partner in A."
