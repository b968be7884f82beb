"""Figures for papers: what is written and drawn in the files are the weights of the record, whatever the items are.

The files are read here with readers of their own: XML, pixels, and bytes of PDF.
"""

import base64
import io
import re
import shutil
import subprocess
import sys
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image

from regard.errors import ArgumentError, MissingExtraError, RecordWarning, UnknownNameError
from regard.inspection import (
    FIGURE_VIEWS,
    DrawnGraph,
    DrawnMolecule,
    DrawnPicture,
    DrawnSound,
    DrawnTable,
    LayerRecord,
    Outcome,
    Outcomes,
    Place,
    Record,
    figure,
    save_figure,
    watch,
)
from regard.inspection.figures import colours, fonts

SVG = "{http://www.w3.org/2000/svg}"
WORDS = ("I", "saw", "a", "saw", ".")
LABELS = ("PRON", "VERB", "DET", "NOUN", "PUNCT")
# What the page draws weights with, from 0 to the largest.
LOW, HIGH = (0xF7, 0xF9, 0xFC), (0x1F, 0x5F, 0xBF)


def softmax(*shape: int, spread: float = 1.5, seed: int = 0) -> np.ndarray:
    scores = np.exp(spread * np.random.default_rng(seed).normal(size=shape))
    return (scores / scores.sum(-1, keepdims=True)).astype(np.float32)


def made(weights: np.ndarray, items: tuple[str, ...] = (), **more) -> Record:
    """A record of weights (layer, head, query, key)."""
    items = items or tuple(f"item{number}" for number in range(1, weights.shape[3] + 1))
    layers = tuple(
        LayerRecord.of_weights(f"layer {number}", torch.from_numpy(each), "softmax")
        for number, each in enumerate(weights, start=1)
    )
    return Record(items, layers=layers, model="toy", **{"noun": "word", **more})


def measured(weights: np.ndarray) -> Record:
    """The five words, with what hiding and removing changes."""
    places = tuple(Place(word, number, LABELS[number], 0.8) for number, word in enumerate(WORDS))
    changes = np.random.default_rng(5).uniform(-0.7, 0.1, (5 + weights.shape[0] * weights.shape[1], 5))
    rows = [tuple(Outcome(LABELS[place], 0.8 + each, each) for place, each in enumerate(row)) for row in changes]
    # Hiding "a" makes a verb of the second "saw".
    rows[2] = (*rows[2][:3], Outcome("VERB", 0.55, -0.76), rows[2][4])
    heads = [tuple(rows[5 + at : 5 + at + weights.shape[1]]) for at in range(0, len(rows) - 5, weights.shape[1])]
    outcomes = Outcomes("labels", "item", places, tuple(rows[:5]), tuple(heads), chosen=3)
    return made(weights, WORDS, labels=LABELS, scores=(0.8,) * 5, outcomes=outcomes)


WEIGHTS = softmax(2, 3, 5, 5)
SAW = measured(WEIGHTS)


class Text(NamedTuple):
    x: float
    y: float
    text: str


class Drawing:
    """An SVG file, read."""

    def __init__(self, content: str):
        self.content = content
        self.root = ElementTree.fromstring(content)
        self.texts = [
            Text(float(each.get("x", 0)), float(each.get("y", 0)), each.text or "")
            for each in self.root.iter(f"{SVG}text")
        ]
        self.words = [each.text for each in self.texts]

    def group(self, name: str) -> list[dict[str, str]]:
        """The styles of the paths in a group."""
        (found,) = [each for each in self.root.iter(f"{SVG}g") if each.get("id") == name]
        return [
            dict(part.split(": ") for part in each.get("style", "").split("; ") if part) | {"d": each.get("d", "")}
            for each in found.iter(f"{SVG}path")
        ]

    def groups(self, begin: str) -> dict[int, dict[str, str]]:
        """The styles of what has a number, by its number."""
        names = [each.get("id", "") for each in self.root.iter(f"{SVG}g")]
        return {int(name.removeprefix(begin)): self.group(name)[0] for name in names if name.startswith(begin)}

    def fills(self, name: str) -> np.ndarray:
        return np.array([rgb(each["fill"]) for each in self.group(name)])

    def images(self) -> list[np.ndarray]:
        link = "{http://www.w3.org/1999/xlink}href"
        data = [each.get(link, "").split("base64,")[1] for each in self.root.iter(f"{SVG}image")]
        return [np.asarray(Image.open(io.BytesIO(base64.b64decode(each))).convert("RGB")) for each in data]


def rgb(text: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(text.removeprefix("#")))


def drawn(record: Record, folder: Path, view: str | None = None, **options) -> Drawing:
    path = folder / "figure.svg"
    save_figure(record, path, view, **options)
    return Drawing(path.read_text(encoding="utf-8"))


def percents(weights: np.ndarray) -> list[str]:
    """As they are to be written, by rules of their own."""
    found = []
    for weight in np.asarray(weights, np.float64).ravel():
        rounded = np.format_float_positional(100 * weight, precision=0, trim="-")
        found.append("<1" if 0 < weight < 0.005 else ">99" if 0.995 <= weight < 1 - 1e-6 else rounded)
    return found


def weights_of(pixels: np.ndarray, high: float) -> np.ndarray:
    """The weights of colours (..., RGB): how far they are from the paper to the blue, squared."""
    low, full = np.array(LOW, float), np.array(HIGH, float)
    share = ((pixels - low) @ (full - low)) / ((full - low) @ (full - low))
    return high * share**2


def in_grid(texts: list[Text], rows: int) -> list[list[str]]:
    ordered = sorted(texts, key=lambda each: each.y)
    size = len(texts) // rows
    lines = [ordered[at : at + size] for at in range(0, len(ordered), size)]
    return [[each.text for each in sorted(line)] for line in lines]


def test_the_numbers_of_a_map_are_the_weights(tmp_path):
    seen = drawn(SAW, tmp_path, "map", layer=1, head=2)
    cells = [each for each in seen.texts if re.fullmatch(r"[<>]?\d+", each.text)]
    assert np.array(in_grid(cells, 5)).ravel().tolist() == percents(WEIGHTS[0, 1])
    assert "Layer 1 of 2, head 2 of 3" in seen.words
    assert [each for each in seen.words if each.startswith("saw")] == 2 * ["saw (2)", "saw (4)"]


@pytest.mark.parametrize("head", [None, 1])
def test_the_colours_of_a_map_lead_through_the_legend_to_the_weights(tmp_path, head):
    seen = drawn(SAW, tmp_path, "map", head=head)
    weights = WEIGHTS[1].mean(0) if head is None else WEIGHTS[1, 0]
    legend = seen.fills("legend")
    # What is written below the legend: its ends, and its middle.
    low, middle, high = (float(each.rstrip("%")) for each in seen.words if re.fullmatch(r"\d+%", each))
    assert low == 0
    # Five equal weights would have half of the full colour.
    most = max(weights.max(), 4 / 5)
    assert high == round(100 * most)
    assert middle == pytest.approx(high / 4, abs=0.6)
    # Half a step, and what rounding three channels of nine a step may add.
    within = (0.5 + 1.5 / 9) / len(legend)
    for colour, weight in zip(seen.fills("map"), weights.ravel(), strict=True):
        step = np.abs(legend - colour).sum(-1).argmin()
        share = (step + 0.5) / len(legend)
        assert np.sqrt(weight / most) == pytest.approx(share, abs=within)


def test_a_row_that_was_asked_for_is_framed(tmp_path):
    stroke = f"stroke: {colours.WEIGHT_INK}"
    plain, framed = (drawn(SAW, tmp_path, "map", query=query).content for query in (None, 4))
    assert [each.count(stroke) for each in (plain, framed)] == [0, 1]
    assert f"{stroke}; stroke-width: 1.4;" in framed


def test_what_the_mask_hides_is_struck_out(tmp_path):
    module = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    mask = torch.nn.Transformer.generate_square_subsequent_mask(5)
    with watch(module) as found, torch.no_grad():
        module(*3 * [torch.randn(1, 5, 8, generator=torch.Generator().manual_seed(0))], attn_mask=mask, is_causal=True)
    record = Record(WORDS, layers=(LayerRecord("layer 1", (found[0],)),), model="toy")
    seen = drawn(record, tmp_path, "map")
    weights = record.layers[0].weights().mean(0).numpy()
    written = [each.text for each in seen.texts if re.fullmatch(r"[<>]?\d+", each.text)]
    assert sorted(written) == sorted(percents(weights[np.tril_indices(5)]))
    # Ten pairs, and the one of the legend.
    assert seen.content.count(f"fill: {colours.MASKED}") == 11
    assert "hidden by the mask" in seen.words


def test_arcs_are_as_wide_as_the_weights_on_them(tmp_path):
    seen = drawn(SAW, tmp_path, "arcs", query=2, head=3)
    row = WEIGHTS[1, 2, 1]
    arcs = seen.groups("arc-")
    assert set(arcs) == {item + 1 for item in range(5) if row[item] >= 0.02}
    for item, arc in arcs.items():
        if item != 2:
            assert float(arc["stroke-width"]) == pytest.approx(0.8 + 5 * row[item - 1], abs=1e-3)
    written = [each.removesuffix("%") for each in seen.words if re.fullmatch(r"[<>]?\d+%", each)]
    assert sorted(written) == sorted(percents(row[row >= 0.02]))
    assert [each for each in seen.words if each in WORDS] == list(WORDS)
    assert [each for each in seen.words if each.split()[0] in LABELS] == [f"{label} 80%" for label in LABELS]


def test_arcs_from_what_was_written_to_what_was_read(tmp_path):
    weights = softmax(1, 1, 3, 4)
    places = tuple(Place(word, number, word, 0.9) for number, word in enumerate(("a", "red", "shirt")))
    outcomes = Outcomes("labels", "generated", places)
    record = made(weights, ("ein", "rotes", "Hemd", "."), queries=("a", "red", "shirt"), outcomes=outcomes)
    seen = drawn(record, tmp_path, query=2)
    place = {each.text: each for each in seen.texts}
    assert place["ein"].y < place["red"].y
    assert place["a"].y == pytest.approx(place["shirt"].y, abs=2)
    for item, arc in seen.groups("arc-").items():
        ends = [float(each) for each in re.findall(r"[\d.]+", arc["d"])]
        assert ends[0] == pytest.approx(place["red"].x, abs=0.01)
        assert ends[-2] == pytest.approx(place[record.items[item - 1]].x, abs=0.01)


def test_a_pooled_answer_has_arcs_of_its_own(tmp_path):
    pooling = LayerRecord.of_weights("pooling", torch.from_numpy(softmax(1, 1, 3)))
    record = Record(("a", "fine", "film"), pooling=pooling, answer=("positive", 0.75))
    seen = drawn(record, tmp_path)
    assert {"positive", "75%", "Pooling"} <= set(seen.words)
    assert len(seen.groups("arc-")) == 3
    assert "the whole" in drawn(record, tmp_path, "map").words


def test_bars_are_as_long_as_weights_and_effects(tmp_path):
    seen = drawn(SAW, tmp_path, "compared")
    row = WEIGHTS[1].mean(0)[3]
    changes = np.array([row[3].change for row in SAW.outcomes.hidden])
    longest = []
    for name, sizes, colour in (("attended-", row, colours.WEIGHT), ("mattered-", abs(changes), colours.EFFECT)):
        bars = seen.groups(name)
        corners = [re.findall(r"[ML] ([\d.]+)", bars[number]["d"]) for number in range(1, 6)]
        found = np.array([np.ptp(np.array(each, float)) for each in corners])
        longest.append(found.max())
        # The shortest bars can still be seen.
        sizes, found = (np.maximum(each / each.max(), 0.01) for each in (sizes, found))
        np.testing.assert_allclose(found, sizes, atol=2e-3)
        assert {each["fill"] for each in bars.values()} == {colour}
    # Of changes both ways the longest bar is a part of all the room.
    assert longest[1] == pytest.approx(longest[0] * abs(changes).max() / np.ptp([*changes, 0.0]), abs=2e-2)
    for text in (*(f"{each}%" for each in percents(row)), "80% → 4%", "VERB 55%", "saw (4): NOUN 80%"):
        assert text in seen.words
    # The new answer alone is orange and bold.
    (told,) = [each for each in seen.root.iter(f"{SVG}text") if colours.EFFECT_INK in each.get("style", "")]
    assert told.text == "VERB 55%"


def test_heads_are_small_maps_on_one_scale(tmp_path):
    seen = drawn(SAW, tmp_path, "heads")
    for layer, head in np.ndindex(2, 3):
        cells = seen.fills(f"head-{layer + 1}.{head + 1}").astype(float)
        weights = WEIGHTS[layer, head].ravel()
        np.testing.assert_allclose(np.sqrt(weights_of(cells, WEIGHTS.max())), np.sqrt(weights), atol=0.01)
    # The last layer comes first.
    names = [each for each in seen.words if re.fullmatch(r"\d\.\d", each)]
    assert names == ["2.1", "2.2", "2.3", "1.1", "1.2", "1.3"]
    left = [row[3].score for layer in reversed(SAW.outcomes.removed) for row in layer]
    assert [each for each in seen.words if each.startswith("NOUN")] == [f"NOUN {each}%" for each in percents(left)]


def test_heads_of_many_cells_are_images(tmp_path):
    weights = softmax(1, 2, 64, 64)
    images = drawn(made(weights), tmp_path, "heads").images()
    assert len(images) == 2
    for image, head in zip(images, weights[0], strict=True):
        side = image.shape[0] // 64
        cells = image[side // 2 :: side, side // 2 :: side].astype(float)
        np.testing.assert_allclose(np.sqrt(weights_of(cells, weights.max())), np.sqrt(head), atol=0.01)


def test_two_thousand_items_are_joined(tmp_path):
    weights = softmax(1, 1, 2000, 2000, spread=3.0)
    seen = drawn(made(weights), tmp_path, "map")
    (image,) = seen.images()
    cells = weights[0, 0].reshape(250, 8, 250, 8).astype(np.float64).sum(3).mean(1)
    side = image.shape[0] // 250
    pixels = image[side // 2 :: side, side // 2 :: side].astype(float)
    np.testing.assert_allclose(np.sqrt(weights_of(pixels, cells.max())), np.sqrt(cells), atol=0.01)
    assert f"{percents(cells.max())[0]}%" in seen.words
    assert any(each.startswith("A cell joins 8 × 8") for each in seen.words)
    # A single weight of nearly 1 that its cell, an average of eight rows, hides.
    most = percents(weights.max())[0]
    assert f"a single weight, of up to {most}%, that the colour of its cell hides" in seen.words
    around = drawn(made(weights), tmp_path, "arcs", query=1000)
    assert "967 words before" in " ".join(around.words)


@pytest.mark.parametrize("view", ["arcs", "map", "heads"])
def test_one_item(tmp_path, view):
    seen = drawn(made(softmax(1, 1, 1, 1), ("a",)), tmp_path, view)
    assert {"100%", "100"} & set(seen.words)


def picture() -> Record:
    pixels = np.random.default_rng(0).integers(0, 255, (28, 28, 3), np.uint8)
    items = ("[CLS]", "1,1", "1,2", "2,1", "2,2")
    return made(softmax(1, 2, 5, 5), items, input=DrawnPicture(pixels, (2, 2), 1), noun="patch")


def sound() -> Record:
    wave = (8000 * np.sin(np.arange(800) / 9)).astype(np.int16)
    bands = np.random.default_rng(0).integers(0, 255, (20, 8), np.uint8)
    return made(softmax(1, 2, 5, 5), input=DrawnSound(wave, 8000, 0.02, bands), noun="frame")


def molecule() -> Record:
    positions = np.array([[0, 0], [1.5, 0], [2.2, 1.3], [3.7, 1.3], [1.4, 2.6]], np.float32)
    bonds = np.array([[0, 1, 1], [1, 2, 2], [2, 3, 3], [2, 4, 0]], np.int32)
    return made(softmax(1, 2, 5, 5), input=DrawnMolecule(positions, bonds, ("OH", "", "", "N", "$")), noun="atom")


def graph(layout: bool = True) -> Record:
    edges = np.array([[0, 1, 2, 3, 1], [1, 2, 3, 4, 4]], np.int32)
    positions = np.random.default_rng(0).random((5, 2)).astype(np.float32)
    return made(softmax(1, 2, 5, 5), input=DrawnGraph(edges, *([positions] if layout else [])), noun="node")


def table() -> Record:
    values = np.random.default_rng(0).normal(size=(5, 40)).astype(np.float32)
    return made(softmax(1, 2, 5, 5), input=DrawnTable(values), noun="vector")


def test_patches_are_as_blue_as_their_weights(tmp_path):
    seen = drawn(picture(), tmp_path, query=1)
    row = softmax(1, 2, 5, 5)[0].mean(0)[0]
    found = {number: float(each["opacity"]) for number, each in seen.groups("patch-").items()}
    assert found == {
        n: pytest.approx(0.72 * np.sqrt(row[n - 1] / max(row.max(), 4 / 5)), abs=1e-4) for n in (2, 3, 4, 5)
    }
    assert f"besides: [CLS] {percents(row[0])[0]}%" in seen.words
    np.testing.assert_array_equal(seen.images()[0][::24, ::24][:28, :28].shape, (28, 28, 3))


def test_frames_of_a_sound_are_as_blue_as_their_weights(tmp_path):
    seen = drawn(sound(), tmp_path, query=2)
    row = softmax(1, 2, 5, 5)[0].mean(0)[1]
    found = [float(each["opacity"]) for each in seen.groups("frame-").values()]
    np.testing.assert_allclose(found, 0.62 * np.sqrt(row / max(row.max(), 4 / 5)), atol=1e-4)
    assert {"0 s", "0.1 s"} <= set(seen.words)


@pytest.mark.parametrize("make", [molecule, graph])
def test_atoms_and_nodes_are_as_blue_as_their_weights(tmp_path, make):
    seen = drawn(make(), tmp_path, query=3)
    row = softmax(1, 2, 5, 5)[0].mean(0)[2]
    pixels = np.array([rgb(seen.groups("item-")[number]["fill"]) for number in range(1, 6)], float)
    mixed = (255 - pixels[:, 0]) / (255 - HIGH[0]) / 0.7
    share = mixed if make is molecule else np.sqrt(weights_of(pixels, 1.0))
    np.testing.assert_allclose(share, np.sqrt(row / max(row.max(), 4 / 5)), atol=0.02)
    legend = seen.fills("legend").astype(int)
    steps = np.abs(legend - pixels[:, None]).sum(-1).argmin(1)
    np.testing.assert_allclose((steps + 0.5) / len(legend), np.sqrt(row / max(row.max(), 4 / 5)), atol=0.03)
    for text in percents(row[row >= 0.02]):
        assert f"{text}%" in seen.words


@pytest.mark.parametrize("make", [molecule, graph])
def test_weights_that_are_about_equal_are_not_written_beside_their_items(tmp_path, make):
    def written(row):
        weights = np.broadcast_to(np.array(row, np.float32), (1, 2, 5, 5)).copy()
        words = drawn(replace(make(), layers=made(weights).layers), tmp_path, query=3).words
        return [each for each in words if re.fullmatch(r"\d+%", each)]

    # The legend's alone.
    assert written([0.2] * 5) == ["0%", "20%", "80%"]
    # One that stands out is written, and so are two among five, of which any could have had the weight.
    assert {"60%", "10%"} <= set(written([0.1, 0.6, 0.1, 0.1, 0.1]))
    assert written([0.5, 0.5, 0, 0, 0]).count("50%") >= 2


def test_vectors_are_rows_with_their_weights(tmp_path):
    record = table()
    seen = drawn(record, tmp_path, query=1)
    row = softmax(1, 2, 5, 5)[0].mean(0)[0]
    written = [each for each in seen.words if re.fullmatch(r"[<>]?\d+%", each)]
    assert written[:5] == [f"{each}%" for each in percents(row)]
    assert f"{record.input.values[2, 1]:.3g}" in seen.words
    assert any(re.fullmatch(r"\d+ more columns", each) for each in seen.words)


@pytest.mark.parametrize("make", [picture, sound, molecule, graph, table])
@pytest.mark.parametrize("view", ["map", "heads"])
def test_every_input_has_a_map_and_heads(tmp_path, make, view):
    assert "weight" in drawn(make(), tmp_path, view).words


def test_what_cannot_be_drawn_is_refused_with_what_can(tmp_path):
    with pytest.raises(ArgumentError, match=r"which are map, heads, but is arcs: a graph of 5 nodes has no layout"):
        drawn(graph(layout=False), tmp_path, "arcs")
    with pytest.raises(ArgumentError, match=r"which are arcs, map, heads, but is compared: what mattered wasn't"):
        drawn(table(), tmp_path, "compared")
    assert "Layer 1 of 1, average of heads 1-2" in drawn(graph(layout=False), tmp_path).words
    assert list(tmp_path.iterdir()) == [tmp_path / "figure.svg"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"view": "arc"}, UnknownNameError, "`view` must be one of arcs, map, heads, compared, but is 'arc'. Did you"),
        ({"layer": 3}, ArgumentError, "`layer` must be from 1 to 2, but is 3"),
        ({"head": 0}, ArgumentError, "`head` must be from 1 to 3 in layer 2, but is 0"),
        ({"query": 6}, ArgumentError, "`query` must be from 1 to 5, but is 6. The last is '.'"),
        ({"width": 0.5}, ArgumentError, "`width` must be from 2.5 to 40 inches, but is 0.5"),
        ({"width": float("nan")}, ArgumentError, "`width` must be"),
        ({"font": "Nosuch Sans"}, ArgumentError, "`font` must be the name of a font that matplotlib finds, but"),
    ],
)
def test_bad_arguments(options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        figure(SAW, **options)


def test_records_without_attention_or_items():
    with pytest.raises(ArgumentError, match="`record` must hold the weights of a layer or of the pooling"):
        figure(Record(("a",)))
    with pytest.raises(ArgumentError, match="`record` must hold an item or more"):
        figure(made(np.zeros((1, 1, 0, 0), np.float32)))


def test_an_unknown_ending_writes_nothing(tmp_path):
    for name in ("saw.jpg", "saw", "saw.svg.gz"):
        with pytest.raises(ArgumentError, match=r"`path` must end in .png, .svg or .pdf, but is"):
            save_figure(SAW, tmp_path / name)
    assert not list(tmp_path.iterdir())


HOSTILE = ("$x^2$", "\\frac{a}{b}", "a\nb\rc", "\x1b[31m\0", "\u202eabc\u2066", "\ud800<b>&\"'")


@pytest.mark.parametrize("view", ["arcs", "map", "heads"])
def test_hostile_tokens_change_nothing(tmp_path, view):
    weights, labels = softmax(1, 2, 6, 6), ("$", "{", "\u200f", "\ufeff", "%s", "_^")
    hostile = made(weights, HOSTILE, labels=labels)
    plain, seen = (drawn(each, tmp_path, view) for each in (made(weights, ("a", "b", "c", "d", "e", "f")), hostile))
    numbers = [[each for each in drawing.words if re.fullmatch(r"[<>]?\d+%?", each)] for drawing in (plain, seen)]
    assert sorted(numbers[0]) == sorted(numbers[1])
    assert not [each for each in "".join(seen.words) if unicodedata.category(each) in ("Cc", "Cf", "Cs")]
    if view == "map":
        np.testing.assert_array_equal(plain.fills("map"), seen.fills("map"))
    if view == "arcs":
        shown = ("$x^2$", "\\frac{a}{b}", "a\\nb\\rc", "\\x1b[31m\\x00", "\\u202eabc\\u2066", "\\ud800<b>&\"'")
        assert [each for each in seen.words if each in shown] == list(shown)
    save_figure(hostile, tmp_path / "hostile.png", view)


def test_weights_that_are_no_numbers(tmp_path):
    weights = softmax(1, 1, 3, 3)
    weights[0, 0, 1] = (np.nan, np.inf, 0.5)
    for view in ("arcs", "map", "heads"):
        seen = drawn(made(weights, ("a", "b", "c")), tmp_path, view, query=2)
    seen = drawn(made(weights, ("a", "b", "c")), tmp_path, "map")
    assert {"NaN", "inf", "50"} <= set(seen.words)
    assert rgb(colours.BROKEN) in map(tuple, seen.fills("map"))


@pytest.fixture
def fresh_fonts():
    for each in (fonts._names, fonts._family_of, fonts._characters):
        each.cache_clear()
    yield
    for each in (fonts._names, fonts._family_of, fonts._characters):
        each.cache_clear()


def test_a_character_that_no_font_has_is_told_and_never_a_box(tmp_path, monkeypatch, fresh_fonts):
    monkeypatch.setattr(fonts, "_names", lambda: {fonts.DEFAULT_FONT: None})
    monkeypatch.setattr(fonts._names, "cache_clear", lambda: None, raising=False)
    with pytest.warns(RecordWarning, match=r"no installed font has the characters 我 \(\\u6211\).*Noto Sans CJK has"):
        seen = drawn(made(softmax(1, 1, 2, 2), ("我", "b")), tmp_path)
    assert "\\u6211" in seen.words
    assert "我" not in seen.content


def test_chinese_has_a_font_that_has_it(tmp_path):
    if fonts._family_of("我", fonts.DEFAULT_FONT, False) is None:
        pytest.skip("no installed font has Chinese characters")
    seen = drawn(made(softmax(1, 1, 2, 2), ("我", "看见")), tmp_path)
    (told,) = [each for each in seen.root.iter(f"{SVG}text") if each.text == "看见"]
    families = re.search(r"font-family: ([^;]+)", told.get("style", ""))[1].split(", ")
    assert families[0] == f"'{fonts.DEFAULT_FONT}'"
    found = matplotlib.font_manager.findfont(families[1].strip("'"), fallback_to_default=False)
    assert ord("看") in matplotlib.font_manager.get_font(found).get_charmap()
    assert families[-1] == "sans-serif"


def test_a_pdf_has_its_fonts_inside_and_is_no_blank_page(tmp_path):
    save_figure(SAW, tmp_path / "saw.pdf", "compared")
    content = (tmp_path / "saw.pdf").read_bytes()
    fonts_inside = content.count(b"/Type /FontDescriptor")
    assert fonts_inside == content.count(b"/FontFile2") == content.count(b"/Subtype /CIDFontType2") >= 2
    assert b"/Type3" not in content
    if shutil.which("pdftoppm") is None:
        pytest.skip("pdftoppm, of poppler-utils, isn't installed")
    subprocess.run(["pdftoppm", "-png", "-r", "100", "-singlefile", "saw.pdf", "page"], cwd=tmp_path, check=True)
    page = np.asarray(Image.open(tmp_path / "page.png").convert("RGB")).reshape(-1, 3)
    found = {tuple(each) for each in page.tolist()}
    assert {(255, 255, 255), rgb(colours.WEIGHT), rgb(colours.EFFECT)} <= found


def test_a_png_is_as_large_as_it_says(tmp_path):
    save_figure(SAW, tmp_path / "saw.png", "map", width=3.0)
    found = Image.open(tmp_path / "saw.png")
    assert found.info["dpi"] == pytest.approx((300, 300), abs=0.1)
    assert found.width <= 3.0 * 300
    assert found.getpixel((2, 2))[:3] == (255, 255, 255)
    darkest = colours.weight_pixels(WEIGHTS[1].mean(0).max(), 4 / 5)
    assert tuple(darkest) in {each[1][:3] for each in found.getcolors(2**16)}


@pytest.mark.parametrize("view", FIGURE_VIEWS)
@pytest.mark.parametrize("width", [2.5, 8.0])
def test_no_figure_is_wider_than_asked_for(view, width):
    is_as_wide_as_asked_for(figure(SAW, view, width=width), width)


@pytest.mark.parametrize("make", [picture, sound, molecule, graph, table])
def test_no_input_is_drawn_wider_than_asked_for(make):
    is_as_wide_as_asked_for(figure(make(), "map", width=2.5), 2.5)


def is_as_wide_as_asked_for(made_of, width):
    assert isinstance(made_of, Figure)
    assert made_of.get_size_inches()[0] <= width + 1e-9
    # Nothing is cut off.
    box = made_of.get_tightbbox(made_of.canvas.get_renderer())
    assert box.x0 >= -0.05
    assert box.x1 <= made_of.get_size_inches()[0] + 0.05


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_the_same_record_gives_the_same_bytes_whatever_the_settings(tmp_path, monkeypatch, ending):
    # pyplot keeps figures of its own, and opens windows.
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    save_figure(SAW, tmp_path / f"one.{ending}", "map")
    settings = {"text.usetex": True, "savefig.bbox": "tight", "svg.fonttype": "path", "pdf.fonttype": 3}
    with matplotlib.rc_context({**settings, "font.size": 30, "text.parse_math": True, "axes.grid": True}):
        save_figure(SAW, tmp_path / f"two.{ending}", "map")
        assert matplotlib.rcParams["pdf.fonttype"] == 3
    assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()


def test_an_svg_loads_nothing_and_has_no_date(tmp_path):
    seen = drawn(SAW, tmp_path, "compared")
    for allowed in ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"):
        seen.content = seen.content.replace(allowed, "")
    assert "://" not in seen.content
    ids = re.findall(r'id="([^"]+)"', seen.content)
    assert len(ids) == len(set(ids))


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"`matplotlib` is not installed.*pip install '\.\[figures\]'"):
        figure(SAW)


def test_the_colours_are_those_of_the_page_in_the_light():
    import regard.page

    style = (Path(regard.page.__file__).parent / "web" / "page.css").read_text(encoding="utf-8")
    light = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", style.split("@media")[0]))
    names = "INK QUIET PAPER RAISED LINE WEIGHT WEIGHT_INK EFFECT EFFECT_INK MASKED BROKEN"
    for name in names.split():
        assert getattr(colours, name) == light[name.lower().replace("_", "-")]
    assert (rgb(light["weight-low"]), rgb(light["weight-high"])) == (LOW, HIGH)
