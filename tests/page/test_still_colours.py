"""The heat map of a page without a script: the same blue as the live map, with numbers that can be read on it."""

import math
import re

import pytest

from regard.page import HeatMap, Page, as_html
from regard.page.modules import style

# Of each cell what it says, and its colours as the browser has computed them.
CELLS = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const painted = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  return [...document.querySelectorAll(".map tbody td")].map((cell) => {
    const { backgroundColor, backgroundImage, color } = getComputedStyle(cell);
    return [cell.innerText, painted(backgroundColor).slice(0, 3), backgroundImage, painted(color).slice(0, 3)];
  });
}
"""


def luminance(colour) -> float:
    """Source: WCAG 2.2, relative luminance."""
    parts = [each / 255 / 12.92 if each <= 10 else ((each / 255 + 0.055) / 1.055) ** 2.4 for each in colour]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def contrast(one, other) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def ends(scheme: str) -> list[list[int]]:
    """The two ends of the live map's scale."""
    block = re.findall(r":root \{(.*?)\}", style("page.css"), re.DOTALL)[scheme == "dark"]
    codes = [re.search(rf"--weight-{end}: #([0-9a-f]{{6}})", block)[1] for end in ("low", "high")]
    return [[int(code[at : at + 2], 16) for at in (0, 2, 4)] for code in codes]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_cells_are_as_blue_as_on_the_live_map_and_can_be_read(context, tmp_path, scheme):
    shares = [step / 100 for step in range(1, 101)]
    values = (*(share**2 for share in shares), 0.0, None, math.nan)
    names = tuple(map(str, range(len(values))))
    path = tmp_path / "still.html"
    # Five maps, since a wide one is joined.
    blocks = [HeatMap("t", ("row",), names[at : at + 21], (values[at : at + 21],)) for at in range(0, 103, 21)]
    path.write_text(as_html(Page("still", tuple(blocks))), encoding="utf-8")
    page = context(color_scheme=scheme).new_page()
    page.goto(path.as_uri())
    cells = page.evaluate(CELLS)
    assert len(cells) == len(values)
    low, high = ends(scheme)
    for share, (_, colour, _, ink) in zip(shares, cells, strict=False):
        expected = [start + share * (end - start) for start, end in zip(low, high, strict=True)]
        assert colour == pytest.approx(expected, abs=1.01), share
        assert contrast(colour, ink) >= 4.5, share
    zero, masked, broken = cells[100:]
    assert [each[0] for each in (zero, masked, broken)] == ["0%", "masked", "NaN"]
    assert zero[1] == page.evaluate(CELLS.replace(".map tbody td", "body"))[0][1]
    assert "repeating-linear-gradient" in masked[2]
    assert contrast(zero[1], zero[3]) >= 4.5
    assert contrast(broken[1], broken[3]) >= 4.5
    assert all(broken[1] != cell[1] for cell in cells[:101])
