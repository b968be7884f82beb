"""The scale of weights in a legend: what is written in its middle, or marked, is the weight of the colour there."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

from page.live_records import document
from page.test_live_colours import weight_of
from page.test_live_drawn import picture
from regard.inspection import LayerRecord, Outcomes, Place, Record
from regard.page.numbers import percent

PLACES = """
(legend) => {
  const halves = [...legend.querySelectorAll(".scale")].map((each) => each.getBoundingClientRect().toJSON());
  const mark = legend.querySelector(".equal")?.getBoundingClientRect();
  return { halves, mark: mark && mark.left + mark.width / 2, wide: document.documentElement.scrollWidth - innerWidth };
}
"""


def words(high, count=9):
    """Words that give one of them most, and the others the rest."""
    weights = torch.full((1, count, count), (1 - high) / (count - 1))
    weights[0, :, 2] = high
    places = tuple(Place(f"w{number}", number, "X", 0.9) for number in range(count))
    layer = LayerRecord.of_weights("layer 1", weights, "softmax")
    return Record(
        tuple(each.name for each in places),
        layers=(layer,),
        model="toy",
        noun="word",
        outcomes=Outcomes("labels", "item", places),
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1180, 390])
@pytest.mark.parametrize(("high", "full"), [(0.69, 0.69), (0.2, 4 / 9)])
def test_the_middle_of_the_scale_is_labelled_with_its_weight(live, high, full, width, scheme):
    """The full colour is that of four times the equal weights at least."""
    page = live(document(words(high)), width=width, color_scheme=scheme)
    legend = page.locator(".map-part .legend")
    legend.scroll_into_view_if_needed()
    found = legend.evaluate(PLACES)
    image = np.array(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)
    (lower, upper), wide = found["halves"], found["wide"]

    def weight(x, half):
        return weight_of(image[int(half["top"] + half["height"] / 2), int(x)], full, scheme)

    assert weight(lower["left"] + lower["width"] - 3, lower) == pytest.approx(full / 4, abs=0.04 * full)
    assert weight(upper["left"] + 3, upper) == pytest.approx(full / 4, abs=0.04 * full)
    assert weight(upper["left"] + upper["width"] - 3, upper) == pytest.approx(full, abs=0.08 * full)
    said = legend.inner_text()
    assert " ".join(said.split()).startswith(f"weight 0% {percent(full / 4)} {percent(full)} · equal weights: 11%")
    # All of it stands on one line, and the second half on the right of the first.
    assert lower["top"] == upper["top"]
    assert lower["left"] + lower["width"] + 12 < upper["left"]
    assert wide <= 0
    if full == pytest.approx(4 / 9):
        # Equal weights have half of the colour.
        assert found["mark"] == pytest.approx(lower["left"] + lower["width"], abs=2)
    else:
        before, after = (weight(found["mark"] + by, lower) for by in (-4, 4))
        assert before is not None
        assert after is not None
        assert before < 1 / 9 < after


def test_a_drawing_has_the_same_scale(live):
    page = live(document(picture([-0.6, 0.0, -0.3, 0.0, 0.0, 0.0])))
    assert "weight 0% 17% 67%" in " ".join(page.locator(".drawn .legend").inner_text().split())
