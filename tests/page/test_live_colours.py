"""The canvas of the live page: each cell has the colour of its weight, and what is hidden, broken or 0 has its own.

The colours are turned back into weights by a rule of this file: a straight line between two colours of the style sheet,
along the square root of the weight.
"""

import base64
import io
import re

import numpy as np
import pytest
import torch
from PIL import Image

from page.live_records import document, layers, record_of_calls
from regard.attention import Bias, Causal, Dot
from regard.inspection import LayerRecord
from regard.inspection.capture.by_hand.rules import AsScores
from regard.inspection.record.seen_layer import SeenLayer
from regard.page.modules import style

# The corners of rows and columns of a map, by what it says along its lower and right edge. Then the pointer
# leaves, and each cell's colour is read a few pixels inside of its corner, beside the number and the hatching.
PIXELS = """
([inside, name]) => {
  const map = document.querySelector(name), line = map.parentElement.querySelector(".line");
  const box = map.getBoundingClientRect(), rows = new Map(), columns = new Map();
  const said = (x, y) => {
    map.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y, bubbles: true }));
    return /^(.+) attends to (.+): /.exec(line.textContent) ?? ["", null, null];
  };
  for (let x = 0; x < box.width; x++) {
    const column = said(x, box.height - 12)[2];
    if (column !== null && !columns.has(column)) columns.set(column, x);
  }
  for (let y = 0; y < box.height; y++) {
    const row = said(box.width - 12, y)[1];
    if (row !== null && !rows.has(row)) rows.set(row, y);
  }
  const points = [];
  for (const y of rows.values()) for (const x of columns.values()) {
    said(x + inside, y + inside);
    points.push([line.textContent, x + inside, y + inside]);
  }
  map.dispatchEvent(new PointerEvent("pointerleave"));
  const { data, width } = map.getContext("2d").getImageData(0, 0, map.width, map.height);
  return points.map(([name, x, y]) => [name, [...data.slice(4 * (y * width + x), 4 * (y * width + x) + 3)]]);
}
"""


def image_of(page, name):
    """All pixels of a canvas, (row, column, colour)."""
    data = page.evaluate("(name) => document.querySelector(name).toDataURL()", name)
    return np.array(Image.open(io.BytesIO(base64.b64decode(data.partition(",")[2]))).convert("RGB")).astype(int)


def colours(scheme):
    """The style sheet's colours in light or dark."""
    parts = dict(zip(("light", "dark"), re.findall(r":root \{(.*?)\}", style("page.css"), re.DOTALL), strict=False))
    found = dict(re.findall(r"--([a-z-]+): #([0-9a-f]{6})", parts[scheme]))
    return {name: np.array([int(code[at : at + 2], 16) for at in (0, 2, 4)]) for name, code in found.items()}


def weight_of(pixel, high, scheme):
    """The weight of a colour, None if the mask hides it, NaN if it isn't a number."""
    known = colours(scheme)
    if (pixel == known["masked"]).all():
        return None
    if (pixel == known["broken"]).all():
        return np.nan
    low, span = known["weight-low"], known["weight-high"] - known["weight-low"]
    share = float((pixel - low) @ span / (span @ span))
    assert np.abs(low + share * span - pixel).max() <= 1, "the colour is none of the scale"
    return high * share**2


def masked_layer(weights):
    """A layer of known weights under a causal mask."""
    heads, queries, keys = weights.shape
    query, key, value = (torch.zeros(1, heads, size, 1) for size in (queries, keys, keys))
    nothing = torch.arange(0), value[:, :, :0]
    parts = Dot(), AsScores("softmax"), Causal(), Bias(weights[None])
    return LayerRecord("layer 1", (SeenLayer("", "a table", query, key, value, *parts, 0.0, *nothing),))


@pytest.fixture
def known():
    weights = torch.rand(1, 5, 5).tril()
    weights[0, 1] = torch.tensor([0.0, 1.0, 0, 0, 0])
    weights[0, 2, :3] = torch.tensor([0.25, torch.nan, 0.75])
    return weights


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colour_of_a_cell_is_that_of_its_weight(live, known, scheme):
    page = live(document(record_of_calls(masked_layer(known))), color_scheme=scheme)
    found = {name: np.array(pixel) for name, pixel in page.evaluate(PIXELS, [6, "canvas.map"])}
    assert len(found) == 25
    for name, pixel in found.items():
        row, column, said = re.fullmatch(r"(\d) attends to (\d): (.*)", name).groups()
        expected, weight = float(known[0, int(row) - 1, int(column) - 1]), weight_of(pixel, 1.0, scheme)
        if column > row:
            assert (weight, said) == (None, "hidden by the mask")
        elif np.isnan(expected):
            assert np.isnan(weight)
            assert said == "NaN"
        else:
            assert weight == pytest.approx(expected, abs=0.015)
    three = [found["2 attends to 1: 0%"], found["1 attends to 2: hidden by the mask"], found["3 attends to 2: NaN"]]
    assert len({tuple(pixel) for pixel in three}) == 3
    assert (three[0] == colours(scheme)["weight-low"]).all()
    assert "hidden by the mask" in page.locator(".legend").inner_text()


def test_pixels_of_joined_cells_are_those_of_their_sums(live):
    """A map of 300 x 300 pairs in cells of 2 x 2: summed over keys, averaged over queries."""
    torch.manual_seed(0)
    layer = layers(300, heads=(1,))[0]
    page = live(document(record_of_calls(layer)))
    weights = layer.weights()[0].double().numpy()
    sums = weights.reshape(150, 2, 150, 2).sum(3).mean(1)
    high = float(sums.max())
    image = image_of(page, "canvas.map")
    # The cells fill the canvas but for the rulers above and on the left, and a margin of 24 px on the right; the chosen
    # row, the first, has a frame.
    side = (image.shape[1] - 46 - 24) / 150
    large = [cell for cell in np.argwhere(sums > 0.2 * high).tolist() if cell[0] > 2][:40]
    assert len(large) == 40
    for row, column in [(149, 149), (3, 140), *large]:
        x, y = (int(before + (each + 0.5) * side) for before, each in ((46, column), (22, row)))
        found = weight_of(image[y, x], high, "light")
        assert found == pytest.approx(sums[row, column], abs=0.02 * high)


def test_an_overview_marks_what_is_hidden(live):
    """The thumbnail of a head, and a map that is too large to be computed at once."""
    torch.manual_seed(0)
    layer = masked_layer(torch.rand(1, 300, 300).tril())
    page = live(document(record_of_calls(layer)))
    image = image_of(page, "canvas.head")
    assert (image[0, -1] == colours("light")["masked"]).all()
    assert (image[-1, 0] != colours("light")["masked"]).any()
