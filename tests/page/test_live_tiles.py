"""The live page's tiles: from queries and keys as from the weights themselves, whatever hides and shifts the scores.

The page's own modules run in a browser; NumPy pools the weights that the record computes.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

from page.live_records import document, record_of_calls
from regard.attention import Alibi, Causal, Edges, Lengths, Relative, Rotary, ScaledDot, Window
from regard.attention.masks import KeyRange
from regard.inspection import LayerRecord
from regard.inspection.record.seen_layer import SeenLayer
from regard.inspection.views.page_data import page_data
from regard.page.modules import joined
from regard.page.numbers import percent

# The cells of some windows, from the form that the page would take, or from vectors alone.
CELLS = """
const form = (layer, alone) => alone ? { ...layer, table: null } : layer;
const cellsOf = async ([values, packed, asked]) => {
  const all = await unpacked(JSON.parse(values), packed);
  return asked.map(([layer, heads, window, most, alone]) => {
    const found = cells(form(all.records[0].layers[layer], alone), heads, window, most, most);
    return { ...found, sums: [...found.sums], most: [...found.most] };
  });
};
"""
HIDDEN = -np.inf
SIZE = 13
EDGES = [(0, 1), (1, 1), (2, 4), (7, 4), (12, 12), (3, 0)]


@dataclass
class Form:
    """Attention, what the page keeps of it beside queries and keys, and which pairs may be seen."""

    parts: Callable[[int], dict[str, Any]] = lambda size: {}
    bias: set[str] = field(default_factory=set)
    mask: set[str] = field(default_factory=set)
    allows: Callable[[int, int], bool] = lambda query, key: True
    key_heads: int = 4
    queries: int = SIZE
    real: int | None = None


INTERVAL = {"start", "stop"}


def before(query: int, key: int) -> bool:
    return key <= query


FORMS = {
    "plain": Form(),
    "causal": Form(lambda size: {"mask": Causal()}, mask=INTERVAL, allows=before),
    "window": Form(lambda size: {"mask": Window(2, 1)}, mask=INTERVAL, allows=lambda i, j: -2 <= j - i <= 1),
    "a range of keys": Form(
        lambda size: {"mask": KeyRange(*torch.tensor([[3], [9]]))},
        mask=INTERVAL,
        allows=lambda _, j: 3 <= j < 9,
    ),
    "padding": Form(lambda size: {"mask": Causal() & Lengths([9])}, mask=INTERVAL, allows=before, real=9),
    "edges": Form(
        lambda size: {"mask": Edges(torch.tensor(EDGES).T)},
        mask={"pair"},
        allows=lambda i, j: (j, i) in EDGES,
    ),
    "alibi": Form(
        lambda size: {"mask": Causal(), "position": Alibi(4)},
        {"distance", "first"},
        INTERVAL,
        before,
    ),
    "cross": Form(lambda size: {"position": Alibi(4)}, {"distance", "first"}, queries=7),
    "relative keys": Form(lambda size: {"position": Relative(size, 2, 4)}, {"near", "reach"}),
    "relative keys and values": Form(lambda size: {"position": Relative(size, 2, on="both")}, {"near", "reach"}),
    "rotary": Form(lambda size: {"position": Rotary(size)}),
    "rotary and a distance": Form(lambda size: {"position": Rotary(4) + Alibi(4)}, {"pair"}),
    "grouped heads": Form(lambda size: {"mask": Causal()}, mask=INTERVAL, allows=before, key_heads=2),
}


def layer_of(form: Form, keys: int = SIZE, feature: int = 8, strength: float = 1.0) -> LayerRecord:
    torch.manual_seed(0)
    made = form.parts(feature)
    queries = keys if form.queries == SIZE else form.queries
    query = strength * torch.randn(1, 4, queries, feature)
    key, value = torch.randn(2, 1, form.key_heads, keys, feature)
    rows = torch.arange(0)
    parts = made.get("mask"), made.get("position")
    call = SeenLayer("", "by hand", query, key, value, ScaledDot(), "softmax", *parts, 0.0, rows, query[:, :, :0])
    return LayerRecord("layer 1", (call,), queries=form.real, keys=form.real)


def pooled(weights: np.ndarray, allowed: np.ndarray, heads: list[int], window: dict[str, int], most: int) -> np.ndarray:
    """Summed over the keys of a cell, averaged over its queries and the heads; HIDDEN where nothing may be seen."""
    rows, columns = slice(window["top"], window["bottom"]), slice(window["left"], window["right"])
    part, seen = weights[heads].mean(0)[rows, columns], allowed[rows, columns]
    tall, wide = (-(-size // most) for size in part.shape)
    tops, lefts = (range(0, size, step) for size, step in zip(part.shape, (tall, wide), strict=True))
    cell = [(slice(top, top + tall), slice(left, left + wide)) for top in tops for left in lefts]
    found = [part[each].sum(1).mean() if seen[each].any() else HIDDEN for each in cell]
    return np.array(found).reshape(len(tops), len(lefts))


def asked_of(layer: LayerRecord) -> Iterator[list[Any]]:
    """Windows at several zoom levels, of the average and of one head, from either form."""
    queries, keys = layer.shape
    whole = {"top": 0, "bottom": queries, "left": 0, "right": keys}
    part = {"top": queries // 3, "bottom": queries, "left": 1, "right": keys - 2}
    for window in (whole, part):
        for most in (256, 6, 3, 1):
            for heads in ([0, 1, 2, 3], [2]):
                for alone in (False, True):
                    yield [0, heads, window, most, alone]


def asked_of_long(layer: LayerRecord) -> Iterator[list[Any]]:
    queries, keys = layer.shape
    for most in (256, 64, 7):
        yield [0, [2], {"top": 0, "bottom": queries, "left": 0, "right": keys}, most, False]
    yield [0, [0, 1, 2, 3], {"top": 200, "bottom": 240, "left": 190, "right": 230}, 256, False]


def compare(
    script: Callable[..., Any], layer: LayerRecord, form: Form, asked: list[list[Any]], tolerance: float
) -> dict[str, Any]:
    """Compare cells with NumPy's; what the page holds of the layer."""
    data, arrays = page_data([record_of_calls(layer)])
    source = joined("data.js") + joined("tiles.js") + CELLS
    found = script(source, "await cellsOf(x)", [json.dumps(data), arrays.packed(), asked])
    weights = layer.weights().double().numpy()
    queries, keys = layer.shape
    allowed = np.array([[form.allows(query, key) for key in range(keys)] for query in range(queries)])
    for got, (_, heads, window, most, _) in zip(found, asked, strict=True):
        expected = pooled(weights, allowed, heads, window, most)
        sums = np.array(got["sums"]).reshape(got["rows"], got["columns"])
        np.testing.assert_array_equal(np.isneginf(sums), np.isneginf(expected))
        np.testing.assert_allclose(sums, expected, atol=tolerance, rtol=0)
        if window["bottom"] == queries and window["left"] == 0:
            rows = np.where(np.isneginf(sums), 0, sums).sum(1)
            tall = -(-queries // most)
            whole = [allowed[top : top + tall].any(1).mean() for top in range(0, queries, tall)]
            np.testing.assert_allclose(rows, whole, atol=1e-3)
        part = weights[heads][:, window["top"] : window["bottom"], window["left"] : window["right"]]
        assert max(got["most"]) == pytest.approx(part.max(), abs=tolerance)
    return data["records"][0]["layers"][0]


@pytest.mark.parametrize("name", FORMS)
def test_tiles_from_vectors_are_those_of_the_weights(script, name):
    form = FORMS[name]
    made = layer_of(form)
    layer = compare(script, made, form, list(asked_of(made)), 1e-6)
    assert {"table", "vectors"} <= set(layer)
    assert set(layer["vectors"]["bias"]) == form.bias
    assert set(layer["mask"]) == form.mask
    assert layer["vectors"]["query"]["kind"] == "f32"


@pytest.mark.parametrize("name", ["causal", "alibi", "relative keys", "rotary"])
def test_of_long_inputs_vectors_of_16_bits_are_kept_instead_of_weights(script, name):
    made = layer_of(FORMS[name], 530, 32)
    layer = compare(script, made, FORMS[name], list(asked_of_long(made)), 1e-3)
    assert "table" not in layer
    assert layer["vectors"]["query"]["kind"] == "f16"
    assert {"overview", "largest"} <= set(layer)


def test_a_worker_computes_the_tiles_of_a_long_input(live):
    """The overview joins 4 x 4 pairs; a closer look joins 2 x 2, which the page's worker computes from the vectors."""
    layer = layer_of(FORMS["causal"], 530, 32)
    page = live(document(record_of_calls(layer)), "#map=1-400,1-400")
    page.locator(".map-part p", has_text="A cell joins 2 × 2").wait_for()
    page.focus("canvas.map")
    for key in [*["Shift+ArrowUp", "Shift+ArrowLeft"] * 40, *["Shift+ArrowDown"] * 15, "ArrowRight"]:
        page.keyboard.press(key)
    weights = layer.weights(range(300, 302)).double().mean(0)
    found = percent(float(weights[:, 2:4].sum(1).mean()))
    most = percent(float(layer.weights(range(300, 302))[:, :, 2:4].max()))
    said = f"301 … 302 attends to 3 … 4: {found}, of which the largest weight is {most}"
    assert page.locator(".line").text_content() == said
    for key in ("+", "-", "0"):
        page.keyboard.press(key)
    assert "map=" not in page.evaluate("location.hash")


def test_a_weight_of_1_is_written_as_one_however_large_the_scores(live):
    """Each head's first rows, of which the first has a single key, so that nothing else could have weight."""
    layer = layer_of(FORMS["causal"], 530, 32, strength=30)
    page = live(document(record_of_calls(layer)))
    largest = layer.weights(range(8)).double().amax(2).tolist()
    asked = {f"#place={row}&head={head}": percent(largest[head - 1][row - 1]) for head in (1, 2) for row in range(1, 9)}
    said = page.evaluate(
        """(hashes) => hashes.map((hash) => {
          history.replaceState(null, "", hash);
          dispatchEvent(new Event("popstate"));
          return document.querySelector(".sentence .weight").nextSibling.textContent;
        })""",
        list(asked),
    )
    assert said == [" alone" if "place=1&" in hash else f" ({each})" for hash, each in asked.items()]
    assert [*asked.values()].count("100%") > 2
