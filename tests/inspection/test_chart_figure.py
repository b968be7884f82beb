"""Charts as figures for papers: the marks stand where the numbers on the axes say, and files are always the same."""

import math
import re
from xml.etree import ElementTree

import pytest
from PIL import Image

from regard.errors import ArgumentError
from regard.inspection import chart_figure, save_chart
from regard.inspection.figures import is_own_figure
from regard.page import Chart, Page, Point, Series, as_html
from regard.page.charts.series_style import COLOURS

SVG = "{http://www.w3.org/2000/svg}"
LINES = Chart(
    "Long texts",
    "length (words)",
    "accuracy",
    (
        Series("softmax", (Point(512, 0.93, 0.91, 0.94), Point(1024, 0.9, 0.87, 0.92), Point(4096, 0.86, 0.8, 0.9))),
        Series("window", (Point(512, 0.88), Point(2048, 0.74), Point(4096, 0.65))),
        Series("average", (Point(1024, 0.7, 0.65, 0.8),)),
    ),
    log_x=True,
    share=True,
)
DISCS = Chart(
    "",
    "time (ms)",
    "accuracy",
    (
        Series("dot", (Point(2.5, 0.75, 0.7, 0.8, size=64),)),
        Series("additive", (Point(40, 0.875, size=16),)),
    ),
    size="memory (MiB)",
)


def saved(block: Chart, folder, **options) -> ElementTree.Element:
    save_chart(block, folder / "chart.svg", **options)
    return ElementTree.fromstring((folder / "chart.svg").read_text(encoding="utf-8"))


def path(root: ElementTree.Element, name: str) -> ElementTree.Element:
    (group,) = [each for each in root.iter(f"{SVG}g") if each.get("id") == name]
    (found,) = group.iter(f"{SVG}path")
    return found


def corners(element: ElementTree.Element) -> list[tuple[float, float]]:
    found = re.findall(r"[ML] (-?[\d.]+) (-?[\d.]+)", element.get("d", ""))
    return [(float(x), float(y)) for x, y in found]


def box(element: ElementTree.Element) -> tuple[float, float, float, float]:
    found = [float(each) for each in re.findall(r"-?\d+\.?\d*", element.get("d", ""))]
    return min(found[::2]), min(found[1::2]), max(found[::2]), max(found[1::2])


def straight(numbers: dict[float, float], log: bool = False):
    """From places to numbers, through the two that are farthest apart."""
    one, other = min(numbers), max(numbers)
    first, last = (math.log(numbers[each]) if log else numbers[each] for each in (one, other))
    slope = (last - first) / (other - one)
    return lambda place: math.exp(first + slope * (place - one)) if log else first + slope * (place - one)


def axes(root: ElementTree.Element, block: Chart):
    """The functions from places to numbers, by the strokes of the axes and the texts of numbers."""
    texts = [each.text or "" for each in root.iter(f"{SVG}text")]
    start = texts.index(block.y) + 1
    numbers = [text for text in texts[start:] if re.fullmatch(r"-?[\d.,]+%?", text)]
    strokes = [corners(each) for each in root.iter(f"{SVG}path") if each.get("style", "").startswith("fill: none")]
    strokes = [each for each in strokes if len(each) == 2]
    (left, _), (right, _) = strokes[0]
    grid = [each[0][1] for each in strokes if each[0][1] == each[1][1] and each[1][0] == right and each[0][0] == left]
    # The last of these is the axis itself.
    heights, across = grid[:-1], [each[0][0] for each in strokes if each[0][0] == each[1][0]]

    def value(text):
        return float(text.replace(",", "").removesuffix("%")) / (100 if text.endswith("%") else 1)

    up, along = numbers[: len(heights)], numbers[len(heights) :]
    y_of = straight({place: value(text) for place, text in zip(heights, up, strict=True)})
    x_of = straight({place: value(text) for place, text in zip(across, along, strict=False)}, block.log_x)
    return x_of, y_of


@pytest.mark.parametrize("width", [2.5, 5.5, 12])
def test_lines_and_bands_stand_at_their_numbers(tmp_path, width):
    root = saved(LINES, tmp_path, width=width)
    x_of, y_of = axes(root, LINES)
    for number, series in enumerate(LINES.series[:2], start=1):
        found = corners(path(root, f"line-{number}"))
        assert [x_of(x) for x, _ in found] == pytest.approx([point.x for point in series.points], rel=2e-3)
        assert [y_of(y) for _, y in found] == pytest.approx([point.y for point in series.points], rel=2e-3)
    band = corners(path(root, "band-1-1"))[:6]
    assert [y_of(y) for _, y in band] == pytest.approx([0.94, 0.92, 0.9, 0.8, 0.87, 0.91], rel=2e-3)
    left, top, right, bottom = box(path(root, "mark-2-2"))
    assert x_of((left + right) / 2) == pytest.approx(2048, rel=2e-3)
    assert y_of((top + bottom) / 2) == pytest.approx(0.74, rel=2e-3)


def test_areas_are_sizes(tmp_path):
    root = saved(DISCS, tmp_path)
    x_of, y_of = axes(root, DISCS)
    boxes = [box(path(root, f"disc-{number}-1")) for number in (1, 2)]
    widths = [right - left for left, _, right, _ in boxes]
    assert (widths[0] / widths[1]) ** 2 == pytest.approx(4, rel=0.01)
    for (left, top, right, bottom), series in zip(boxes, DISCS.series, strict=True):
        assert x_of((left + right) / 2) == pytest.approx(series.points[0].x, rel=5e-3)
        assert y_of((top + bottom) / 2) == pytest.approx(series.points[0].y, rel=5e-3)
    assert "area of a disc: memory (MiB)" in [each.text for each in root.iter(f"{SVG}text")]


def test_series_have_the_colours_of_the_page_in_the_light(tmp_path):
    root = saved(LINES, tmp_path)
    for number in (1, 2):
        style = path(root, f"line-{number}").get("style", "")
        assert f"stroke: {COLOURS[number - 1].light}" in style
        assert ("dasharray" in style) == (number == 2)


def test_a_figure_draws_what_the_page_draws(tmp_path):
    page = as_html(Page("", (LINES,)))
    plot = ElementTree.fromstring(re.search(r"<svg.*?</svg>", page, re.DOTALL)[0])
    root = saved(LINES, tmp_path)
    names = [each.get("id", "") for each in root.iter(f"{SVG}g")]
    for role in ("line", "band", "mark"):
        found = [each for each in plot.iter() if each.get("class") == role]
        assert len([each for each in names if each.startswith(f"{role}-")]) == len(found)
    # Of each series that has a whisker, as a figure writes its upright line and its two ends.
    for number, count in ((1, 0), (3, 1)):
        colour = f"stroke: {COLOURS[number - 1].light}; stroke-width: 0.7"
        strokes = [each for each in root.iter(f"{SVG}path") if colour in each.get("style", "")]
        assert len(strokes) == 3 * count


def test_every_name_is_written_once_whatever_the_width(tmp_path):
    crowded = Chart("", "x", "y", tuple(Series(f"number {each}", (Point(1, 2),)) for each in range(30)))
    for block in (LINES, crowded):
        for width in (2.5, 8):
            words = [each.text for each in saved(block, tmp_path, width=width).iter(f"{SVG}text")]
            assert [words.count(series.name) for series in block.series] == [1] * len(block.series)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_chart_gives_the_same_bytes(tmp_path, kind):
    for name in ("one", "other"):
        save_chart(LINES, tmp_path / f"{name}.{kind}", width=4)
    content = (tmp_path / f"one.{kind}").read_bytes()
    assert content == (tmp_path / f"other.{kind}").read_bytes()
    assert is_own_figure(tmp_path / f"one.{kind}")


def test_a_figure_is_as_wide_as_asked(tmp_path):
    save_chart(LINES, tmp_path / "chart.png", width=4)
    with Image.open(tmp_path / "chart.png") as image:
        assert image.width == pytest.approx(4 * 300, abs=4)


@pytest.mark.parametrize("word", ["$x_1$ \\frac", "a\0b\x1b[31m", "<b>&amp;", "w" * 9999])
def test_names_are_written_as_they_are(tmp_path, word):
    block = Chart(word, word, word, (Series(word, (Point(1, 2, size=1),)), Series("b", (Point(1, 2),))), size=word)
    for width in (2.5, 5.5):
        words = [each.text or "" for each in saved(block, tmp_path, width=width).iter(f"{SVG}text")]
        assert not re.search(r"[\x00-\x1f]", "".join(words))
        if len(word) < 99:
            assert word.replace("\0", "\\x00").replace("\x1b", "\\x1b") in words


def test_what_cannot_be_drawn_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"`width` must be from 2.5 to 40 inches, but is 1"):
        chart_figure(LINES, width=1)
    with pytest.raises(ArgumentError, match="`font` must be the name of a font"):
        chart_figure(LINES, font="no such font")
    with pytest.raises(ArgumentError, match=r"`path` must end in .png, .svg or .pdf"):
        save_chart(LINES, tmp_path / "chart.gif")
