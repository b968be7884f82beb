"""The scale of weights in a legend: what is written at its end, or marked, is the weight of the colour there."""

import io
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from page.live_records import document
from page.test_live_colours import colours, image_of, weight_of
from page.test_live_drawn import picture
from regard.inspection import LayerRecord, Outcomes, Place, Record
from regard.page.numbers import percent

PLACES = """
(legend) => {
  const scales = [...legend.querySelectorAll(".scale")].map((each) => each.getBoundingClientRect().toJSON());
  const mark = legend.querySelector(".equal")?.getBoundingClientRect();
  return { scales, mark: mark && mark.left + mark.width / 2, wide: document.documentElement.scrollWidth - innerWidth };
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
def test_the_scale_ends_with_the_largest_weight_and_says_what_it_means(live, high, full, width, scheme):
    """The full colour is that of four times the equal weights at least, so that about equal weights stay pale."""
    page = live(document(words(high)), width=width, color_scheme=scheme)
    legend = page.locator(".map-part .legend")
    legend.scroll_into_view_if_needed()
    found = legend.evaluate(PLACES)
    image = np.array(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)
    (scale,) = found["scales"]

    def weight(share):
        x = scale["left"] + 1 + share * (scale["width"] - 2)
        return weight_of(image[int(scale["top"] + scale["height"] / 2), int(x)], full, scheme)

    # The weight grows evenly along the scale.
    for share in (0.02, 0.25, 0.75, 0.98):
        assert weight(share) == pytest.approx(share * high, abs=0.03 * high)
    assert (found["mark"] - scale["left"]) / scale["width"] == pytest.approx(1 / 9 / high, abs=0.02)
    means = "the stronger the colour, the larger · the line marks equal weights: 11% each"
    more = "" if full == high else f" · the full colour would be {percent(full)}"
    assert " ".join(legend.inner_text().split()) == f"weight 0% {percent(high)} · {means}{more}"
    assert found["wide"] <= 0


def test_a_drawing_has_the_scale_of_the_map_beside_it(live):
    """The chosen row has 30% at most, and another one 90%: the same weight has the same colour in both."""
    drawn = picture([-0.6, 0.0, -0.3, 0.0, 0.0, 0.0])
    weights = torch.full((1, 6, 6), 0.14)
    weights[..., 0] = 0.3
    weights[0, 5] = torch.tensor([0.02, 0.02, 0.02, 0.02, 0.02, 0.9])
    layer = LayerRecord.of_weights("layer 1", weights, "softmax")
    places = (Place("1,1", 0, "good", 0.9), Place("3,2", 5, "good", 0.9))
    outcomes = Outcomes("labels", "item", places)
    page = live(document(replace(drawn, layers=(layer,), outcomes=outcomes)))
    legends = [" ".join(page.locator(f"{part} .legend").inner_text().split()) for part in (".drawn", ".map-part")]
    over = " · shown over black (above) and over white (below)"
    assert legends[0].startswith(f"weight 0% 90% · the stronger the colour, the larger{over} · the line marks")
    assert legends[0].replace(over, "").split(" · ")[:3] == legends[1].split(" · ")[:3]
    # 30% of 90% hide a third of the picture, by the square root.
    image = image_of(page, '[data-id="picture"]')
    high, wide = image.shape[0] / 3, image.shape[1] / 2
    patch = image[int(0.8 * high), int(0.8 * wide)]
    blue = colours("light")["weight-high"]
    share = 0.72 * (0.3 / 0.9) ** 0.5
    assert np.abs(patch - (255 + share * (blue - 255))).max() <= 2
    # The scale below the picture has its colours over black and over white.
    page.locator(".drawn .legend").scroll_into_view_if_needed()
    (scale,) = page.locator(".drawn .legend").evaluate(PLACES)["scales"]
    screen = np.array(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)
    for below, paper in ((0.25, 0), (0.75, 255)):
        for place, cover in ((1 / 3, share), (0.99, 0.72)):
            at = int(scale["top"] + below * scale["height"]), int(scale["left"] + 1 + place * (scale["width"] - 2))
            assert np.abs(screen[at] - (paper + cover * (blue - paper))).max() <= 6


def test_weights_that_are_all_zero_have_a_scale(live):
    weights = torch.zeros(1, 3, 3)
    layer = LayerRecord.of_weights("layer 1", weights, "softmax")
    page = live(document(replace(words(0.5, 3), layers=(layer,))))
    assert "weight 0%" in page.locator(".map-part .legend").inner_text()
    assert "NaN" not in page.locator("main").inner_text()
