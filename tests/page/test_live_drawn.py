"""What drawings of the page add to the weights: rings around what mattered, rows and columns, names that stay apart."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
import torch

from page.live_records import document
from page.test_live_colours import image_of
from regard.inspection import (
    DrawnGraph,
    DrawnMolecule,
    DrawnPicture,
    LayerRecord,
    Outcome,
    Outcomes,
    Place,
    Record,
)
from regard.page.modules import joined, style

EFFECT = np.array([180, 80, 10])


def record(changes, drawn, noun, names=None, score=0.9, floors=None, first=1.0):
    """One answer for the whole: hiding each item changes its probability by so much.

    The first item has `first` times the weight of another one.
    """
    count = len(changes)
    weights = torch.ones(2, count, count)
    weights[..., 0] = first
    weights = weights / weights.sum(-1, keepdim=True)
    names = tuple(f"C{number}" for number in range(1, count + 1)) if names is None else names
    floors = [None] * count if floors is None else floors
    hidden = tuple(
        (Outcome("good", score + change, change, floor),) for change, floor in zip(changes, floors, strict=True)
    )
    outcomes = Outcomes("labels", "item", (Place("the whole", None, "good", score),), hidden)
    layer = LayerRecord.of_weights("layer 1", weights, "softmax")
    return Record(names, layers=(layer,), model="toy", noun=noun, outcomes=outcomes, input=drawn)


def picture(changes, rows=3, columns=2, **more):
    pixels = np.full((12 * rows, 12 * columns, 1), 255, np.uint8)
    names = tuple(f"{row},{column}" for row in range(1, rows + 1) for column in range(1, columns + 1))
    return record(changes, DrawnPicture(pixels, (rows, columns)), "patch", names, **more)


def ring_of(page, patch, rows=3, columns=2):
    """How many pixels of the colour of effects there are along a line from the left edge of a patch to its middle."""
    image = image_of(page, '[data-id="picture"]')
    high, wide = image.shape[0] / rows, image.shape[1] / columns
    row, column = divmod(patch, columns)
    line = image[int((row + 0.5) * high), int(column * wide) : int((column + 0.5) * wide)]
    return int((np.abs(line - EFFECT).max(-1) < 12).sum())


def ringless(page):
    """Whether the key says nothing of rings."""
    return page.locator(".ring-key").count() == 0 and "ring" not in legend(page)


@pytest.mark.parametrize(("size", "ringed"), [(0.11, True), (0.09, False)])
def test_what_the_sentence_calls_little_has_no_ring(live, size, ringed):
    page = live(document(picture([0.0, -size, 0.0, 0.0, 0.0, 0.0], first=9)))
    assert ("changes the answer little" in page.locator(".sentence").inner_text()) == (not ringed)
    assert (ring_of(page, 1) > 0) == ringed
    assert ringless(page) == (not ringed)


@pytest.mark.parametrize(("size", "ringed"), [(0.9, True), (0.7, False)])
def test_of_numbers_what_is_within_the_error_has_no_ring(live, size, ringed):
    hidden = tuple((Outcome(f"{2 + change:.3f}", None, change),) for change in (0.0, -size, *[0.0] * 4))
    outcomes = Outcomes("numbers", "item", (Place("the whole", None, "2.000", None),), hidden, error=0.81)
    page = live(document(replace(picture([0.0] * 6, first=9), outcomes=outcomes)))
    assert ("less than the error" in page.locator(".sentence").inner_text()) == (not ringed)
    assert (ring_of(page, 1) > 0) == ringed
    assert ringless(page) == (not ringed)
    assert ("effects below 0.81 have none" in legend(page)) == ringed


def test_the_patches_that_mattered_are_ringed_the_wider_the_more(live):
    page = live(document(picture([-0.6, 0.0, -0.3, 0.005, -0.02, 0.0])))
    rings = [ring_of(page, patch) for patch in range(6)]
    assert rings[0] > rings[2] > 0
    # Neither what can't be seen in a percentage nor a thirtieth of the largest effect.
    assert [rings[patch] for patch in (1, 3, 4, 5)] == [0, 0, 0, 0]
    key = page.locator(".ring-key")
    assert key.all_inner_texts() == [' hiding it lowers the probability of "good"']
    assert "the wider a ring, the larger the effect; effects below 10 points have none" in legend(page)
    assert key.locator(".ring").evaluate("(each) => getComputedStyle(each).borderTopColor") == "rgb(180, 80, 10)"
    page.evaluate("location.hash = '#lang=zh'")
    page.wait_for_function("document.querySelector('.drawn .legend').textContent.includes('圈')")


def legend(page):
    return page.locator(".drawn .legend").inner_text()


@pytest.mark.parametrize("made", [picture([-0.6, 0.0, 0.3, 0.0, 0.0, 0.0]), None], ids=["picture", "molecule"])
def test_rings_of_items_that_raise_the_answer_when_hidden_are_dashed(live, made):
    page = live(document(made or aspirin(changes=[-0.6, 0.3])))
    keys = page.locator(".ring-key")
    told = [f'hiding it {way} the probability of "good"' for way in ("lowers", "raises")]
    assert [each.strip() for each in keys.all_inner_texts()] == told
    styles = [each.evaluate("(each) => getComputedStyle(each).borderTopStyle") for each in keys.locator(".ring").all()]
    assert styles == ["solid", "dashed"]
    # In the key they have the form that they have in the drawing.
    corners = {each.evaluate("(each) => getComputedStyle(each).borderRadius") for each in keys.locator(".ring").all()}
    assert corners == ({"1px"} if made else {"50%"})
    if made is None:
        dashes = "(each) => getComputedStyle(each).strokeDasharray"
        rings = {each.get_attribute("data-item"): each.evaluate(dashes) for each in page.locator("circle.ring").all()}
        assert rings["0"] == "none"
        assert rings["1"] != "none"


@pytest.mark.parametrize(
    "made",
    [
        picture([0.001] * 6),
        picture([-0.6] * 6, floors=[0.7] * 6),
        record(
            [0.004] * 3,
            DrawnMolecule(np.eye(3, 2, dtype=np.float32), np.array([[0, 1, 1]], np.int32), ("", "", "")),
            "atom",
        ),
    ],
    ids=["small", "noise", "molecule"],
)
def test_without_an_effect_that_can_be_told_there_is_no_ring(live, made):
    page = live(document(made))
    assert page.locator(".ring-key").count() == page.locator("circle.ring").count() == 0
    if made.noun == "patch":
        assert [ring_of(page, patch) for patch in range(6)] == [0] * 6


@pytest.mark.parametrize(("rows", "columns"), [(3, 2), (24, 30)])
def test_rows_and_columns_of_a_picture_have_their_numbers(live, rows, columns):
    changes = [0.0] * (rows * columns)
    changes[columns] = -0.5
    page = live(document(picture(changes, rows, columns)))
    box = page.locator('[data-id="picture"]').bounding_box()
    for side, count, start, size in (("rows", rows, "y", "height"), ("columns", columns, "x", "width")):
        spans = page.locator(f".edge-{side} > span")
        texts = spans.all_inner_texts()
        assert texts == list(map(str, range(1, count + 1))) or (count > 20 and 5 <= len(texts) < count)
        found = [each.bounding_box() for each in spans.all()]
        for text, each in zip(texts, found, strict=True):
            middle = box[start] + (int(text) - 0.5) * box[size] / count
            assert each[start] + each[size] / 2 == pytest.approx(middle, abs=1.5)
        # They don't touch, and stand outside of the picture.
        assert all(a[start] + a[size] <= b[start] for a, b in pairwise(found))
        other = {"x": "y", "y": "x"}[start]
        across = {"y": "height", "x": "width"}[other]
        assert all(each[other] + each[across] <= box[other] + 1 for each in found)
    page.mouse.move(box["x"] + 1.5 * box["width"] / columns, box["y"] + 0.5 * box["height"] / rows)
    assert page.locator(".drawn .line").inner_text().startswith("row 1, column 2 · ")
    assert page.locator(".compared thead th").first.inner_text() == "patch (row, column)"
    assert "hiding row 2, column 1 changes the answer most" in page.locator(".sentence").inner_text()


def test_a_narrow_picture_keeps_its_numbers_on_the_page(live):
    page = live(document(picture([-0.6] * 6)), width=340)
    assert page.evaluate("document.documentElement.scrollWidth") <= 340


def aspirin(changes=tuple(-0.05 * number for number in range(13)), **more):
    pytest.importorskip("rdkit")
    from rdkit import Chem
    from rdkit.Chem import rdDepictor

    molecule = Chem.MolFromSmiles("CC(=O)Oc1ccccc1C(=O)O")
    rdDepictor.Compute2DCoords(molecule)
    positions = molecule.GetConformer().GetPositions()[:, :2] * [1, -1]
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx(), int(b.GetBondTypeAsDouble())) for b in molecule.GetBonds()]
    symbols = tuple("" if a.GetSymbol() == "C" else "HO" if a.GetIdx() == 12 else "O" for a in molecule.GetAtoms())
    drawn = DrawnMolecule(positions.astype(np.float32), np.array(bonds, np.int32), symbols)
    names = tuple(f"{each.GetSymbol()}{each.GetIdx() + 1}" for each in molecule.GetAtoms())
    changes = [*changes, *[0.0] * (13 - len(changes))]
    return record(changes, drawn, "atom", names, **more)


BOXES = """
(name) => [...document.querySelectorAll(name)].map((each) => {
  const { left, right, top, bottom } = each.getBoundingClientRect();
  return [left, right, top, bottom];
})
"""


def overlap(a, b):
    """By how many pixels two boxes overlap, of which letters fill the middle two thirds."""
    (la, ra, ta, ba), (lb, rb, tb, bb) = a, b
    down = min(ba, bb) - max(ta, tb) - (ba - ta + bb - tb) / 6
    return min(min(ra, rb) - max(la, lb), down)


@pytest.mark.parametrize("width", [1180, 390])
def test_the_atoms_that_mattered_are_ringed_and_their_names_stay_apart(live, width):
    page = live(document(aspirin(first=9)), width=width)
    rings = page.evaluate(
        "[...document.querySelectorAll('circle.ring')].map((each) => "
        "[Number(each.dataset.item), Number(each.getAttribute('stroke-width'))])"
    )
    assert [item for item, _ in rings] == list(range(12, 4, -1))
    assert [wide for _, wide in rings] == sorted((wide for _, wide in rings), reverse=True)
    assert page.locator(".ring-key").count() == 1
    atoms, symbols, numbers = (page.evaluate(BOXES, f".nodes .{name}") for name in ("atom", "symbol", "number"))
    assert (len(atoms), len(symbols)) == (13, 4)
    for one, others in ((atoms, symbols), (numbers, symbols), (numbers, atoms)):
        assert max(overlap(a, b) for a in one for b in others) <= 1


def test_the_map_of_all_edges_is_small_and_below_the_drawing(live):
    count = 300
    edges = np.array([[a, a + 1] for a in range(count - 1)] + [[a + 1, a] for a in range(count - 1)], np.int32).T
    page = live(document(record([0.0] * count, DrawnGraph(edges), "node")))
    drawing, legend, edges = (page.locator(each).bounding_box() for each in (".nodes", ".drawn .legend", ".adjacency"))
    assert edges["width"] <= drawing["width"] / 3
    assert drawing["y"] + drawing["height"] <= legend["y"]
    assert legend["y"] + legend["height"] <= edges["y"]
    assert "All edges" in page.locator(".below").inner_text()


def test_a_small_graph_has_no_map_of_all_edges(live):
    edges = np.array([[0, 1, 2], [1, 2, 0]], np.int32)
    positions = np.array([[0, 0], [1, 0], [0.5, 1]], np.float32)
    page = live(document(record([-0.5, 0.0, 0.0], DrawnGraph(edges, positions), "node")))
    assert not page.locator(".adjacency").is_visible()
    assert page.locator("circle.ring").get_attribute("data-item") == "0"
    assert "--effect: #b4500a" in style("page.css")


@pytest.mark.parametrize(
    ("names", "first"),
    [
        (["0", "1", "2"], 0),  # the nodes of a graph
        ([None, None, "7", "8"], 5),  # those of a window
        (["1", "2", "3"], 1),
        (["1", "3"], 1),
        (["the", "fox"], 1),
        (["0", "fox"], 1),
        (["", "1"], 1),
        ([], 1),
    ],
)
def test_a_map_without_room_for_names_counts_items_as_they_are_named(script, names, first):
    assert script(joined("map_drawing.js"), "firstNumber(x.map((each) => each ?? undefined))", names) == first


def test_the_caption_of_an_item_says_what_is_left_without_it(live):
    page = live(document(picture([-0.6, 0.002, -0.3, 0.0, 0.0, 0.0])))
    said = {}
    for number in (1, 2, 4):
        page.evaluate(f"location.hash = '#key={number}&lang=en'")
        page.wait_for_function(f"document.querySelectorAll('.compared tbody tr')[{number - 1}].className === 'key'")
        said[number] = page.locator(".drawn .line").inner_text().rpartition(" · ")[2]
    assert said == {1: "without it 90% → 30%", 2: "without it unchanged", 4: "without it unchanged"}
    page.evaluate("location.hash = '#key=2&lang=zh'")
    page.wait_for_function("document.querySelector('.drawn .line').textContent.endsWith('没有它 不变')")


# The ends of each name above the map, as it is drawn again.
NAMES = """
async () => {
  const spans = [], drawing = CanvasRenderingContext2D.prototype, { fillText } = drawing;
  drawing.fillText = function (text, x, y, most = Infinity) {
    const { b, e } = this.getTransform(), ratio = devicePixelRatio, size = Math.min(most, this.measureText(text).width);
    if (this.textAlign === "center" && this.textBaseline === "bottom" && b === 0) {
      spans.push([e / ratio + x - size / 2, e / ratio + x + size / 2]);
    }
    return fillText.call(this, text, x, y, most);
  };
  location.hash = "#layer=1&head=2&lang=en";
  for (let waited = 0; waited < 100 && !spans.length; waited++) await new Promise((go) => setTimeout(go, 20));
  drawing.fillText = fillText;
  return spans;
}
"""


def test_names_above_the_columns_of_a_map_do_not_touch(live):
    sound = record([0.0] * 4, None, "frame", tuple(f"{0.04 * number:.2f} s" for number in range(4)))
    spans = live(document(sound)).evaluate(NAMES)[:4]
    assert len(spans) == 4
    assert all(after[0] - before[1] >= 5 for before, after in pairwise(spans))


@pytest.mark.parametrize("noun", ["atom", "node"])
def test_a_frame_around_the_whole_drawing_shows_for_the_keyboard_only(live, noun):
    edges = np.array([[0, 1], [1, 2]], np.int32).T
    positions = np.array([[0, 0], [1.5, 0], [3, 0.5]], np.float32)
    drawn = {
        "atom": DrawnMolecule(positions, np.array([[0, 1, 1], [1, 2, 1]], np.int32), ("", "", "O")),
        "node": DrawnGraph(edges, positions / 3),
    }
    page = live(document(record([-0.5, -0.3, 0.0], drawn[noun], noun)))
    sheet = page.locator(".nodes")
    outline = "(each) => [getComputedStyle(each).outlineStyle, getComputedStyle(each).outlineWidth]"
    box = page.locator('circle.node[data-item="1"]').bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 4)
    page.wait_for_function("location.hash.includes('key=2')")
    assert sheet.evaluate("(each) => each === document.activeElement")
    assert sheet.evaluate(outline)[0] == "none"
    # What was chosen has a line of its own, up to the ring around it.
    line, ring = page.evaluate("""() => ["circle.key", 'circle.ring[data-item="1"]'].map((each) => {
      const found = document.querySelector(each), wide = parseFloat(getComputedStyle(found).strokeWidth) / 2;
      return { wide: 2 * wide, inner: found.r.baseVal.value - wide, outer: found.r.baseVal.value + wide };
    })""")
    assert line["wide"] >= 2.5
    assert line["outer"] <= ring["inner"] + 0.1
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert sheet.evaluate("(each) => each === document.activeElement")
    assert sheet.evaluate(outline) == ["solid", "3px"]


LABELS = """() => [...document.querySelectorAll(".nodes text")].map((each) => {
  const { x, y, width, height } = each.getBBox(), item = Number(each.dataset.item);
  return { item, kind: each.className.baseVal, box: [x, y, x + width, y + height] };
})"""


@pytest.mark.parametrize("width", [1180, 390])
def test_names_and_weights_of_a_graph_stand_apart_and_at_their_nodes(live, width):
    count = 16
    rng = np.random.default_rng(0)
    positions = rng.random((count, 2)).astype(np.float32)
    # Three nodes that all but touch.
    positions[:3] = [[0.5, 0.5], [0.56, 0.5], [0.53, 0.56]]
    edges = np.array([[a, b] for a in range(count) for b in range(3) if a != b], np.int32).T
    made = record([0.0] * count, DrawnGraph(edges, positions), "node", tuple(map(str, range(count))))
    found = live(document(made), width=width).evaluate(LABELS)
    assert len({(each["kind"], each["item"]) for each in found}) == len(found) >= 8
    for one, other in combinations(found, 2):
        (left, top, right, bottom), (its_left, its_top, its_right, its_bottom) = one["box"], other["box"]
        apart = left >= its_right or its_left >= right or top >= its_bottom or its_top >= bottom
        assert apart, (one, other)
