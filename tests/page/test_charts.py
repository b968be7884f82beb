"""Charts: what is drawn in each medium stands where the axes say, and every number can be read without the drawing."""

import io
import math
import random
import re
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from rich.cells import cell_len
from rich.console import Console

from regard.errors import ArgumentError
from regard.page import Chart, Page, Point, Prose, Series, as_html, as_text, show
from regard.page.charts.axes import linear_ticks, log_ticks, written
from regard.page.charts.chart_labels import spread
from regard.page.charts.series_style import COLOURS, series_style
from regard.page.visible import visible

LINES = Chart(
    "Long texts",
    "length (words)",
    "accuracy",
    (
        Series("softmax", (Point(512, 0.93, 0.91, 0.94), Point(1024, 0.9, 0.87, 0.92), Point(4096, 0.86, 0.8, 0.9))),
        Series("window", (Point(512, 0.88, 0.86, 0.9), Point(2048, 0.74), Point(4096, 0.65, 0.6, 0.72))),
        Series("average", (Point(1024, 0.7, 0.65, 0.8),)),
    ),
    log_x=True,
    share=True,
)
DISCS = Chart(
    "All three",
    "time (ms)",
    "accuracy",
    (
        Series("dot", (Point(2.5, 0.75, 0.7, 0.8, size=64),)),
        Series("additive", (Point(40, 0.875, size=16),)),
        Series("none", (Point(12, 0.25, size=0),)),
    ),
    size="memory (MiB)",
)


def chart(*values: tuple[float, ...], count: int = 1, **options) -> Chart:
    """The same points in so many series."""
    points = tuple(Point(*value) for value in values)
    return Chart("t", "x", "y", tuple(Series(f"s{number}", points) for number in range(count)), **options)


EDGES = {
    "one point": chart((3.0, 2.0)),
    "at the origin": chart((0.0, 0.0)),
    "equal y": chart((1, 0.5), (2, 0.5), (3, 0.5)),
    "equal x": chart((1, 0.5), (1, 0.75)),
    "all correct": chart((1, 1.0), (2, 1.0), share=True),
    "huge": chart((1e99, -1e100), (1e100, 1e100)),
    "small": chart((1e-100, 2e-100), (2e-100, 1e-100)),
    "all orders": chart((1e-100, 1e-100), (1e100, 1e100), log_x=True, log_y=True),
    "nearly equal": chart((1, 1.0), (1 + 1e-15, 1 + 1e-15)),
    "negative": chart((-4, -3.0, -3.5, -2.5), (-3, -1.0, -1.25, -0.75)),
    "fractions on a log axis": chart((1, 0.001), (2, 0.25), log_y=True, share=True),
    "ten series": Chart(
        "t",
        "x",
        "y",
        tuple(
            Series(f"s{each}", tuple(Point(x, x * each, x * each - 1, x * each + 1) for x in range(5)))
            for each in range(10)
        ),
    ),
    "as many as there are letters": chart((1, 2), (2, 3), count=52),
    "no names": Chart("", "", "", (Series("", (Point(1, 2),)),)),
    "only zero sizes": Chart("", "x", "y", (Series("a", (Point(1, 2, size=0),)),), size="MiB"),
}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Point(math.nan, 1), "`x` must be a finite number, but is nan"),
        (lambda: Point(1, math.inf), "`y` must be a finite number, but is inf"),
        (lambda: Point(1, "2"), "`y` must be a number, but is '2'"),
        (lambda: Point(True, 2), "`x` must be a number, but is True"),
        (lambda: Point(1, 1e101), r"`y` must be 0 or from 1e-100 to 1e\+100 in absolute value"),
        (lambda: Point(1e-101, 1), "`x` must be 0 or from"),
        (lambda: Point(1, 2, low=1.5), "`low` and `high` must both be numbers or both None, but are 1.5 and None"),
        (lambda: Point(1, 2, 1, math.nan), "`high` must be a finite number"),
        (lambda: Point(1, 2, 2.5, 3), "`low` must be at most `y`, which is 2, but is 2.5"),
        (lambda: Point(1, 2, 1, 1.5), "`high` must be at least `y`, which is 2, but is 1.5"),
        (lambda: Point(1, 2, size=-1), "`size` must be at least 0"),
        (lambda: Series("a", ()), "`points` must have at least one point, but the series 'a' has none"),
        (lambda: Series("a", (Point(2, 1), Point(1, 1))), "must be sorted by `x`, but in the series 'a' 1 follows 2"),
        (lambda: Chart("", "", "", ()), "`series` must have 1 to 52 series, but has 0"),
        (lambda: chart((1, 2), count=53), "`series` must have 1 to 52 series, but has 53"),
        (lambda: Chart("", "", "", (Series("a", (Point(1, 1),)),) * 2), "different names, but two are called 'a'"),
        (lambda: chart((0, 1), log_x=True), "`log_x` must be False unless all numbers on the x axis are above 0"),
        (lambda: chart((1, 1, 0, 2), log_y=True), "`log_y` must be False unless all numbers on the y axis are above 0"),
        (lambda: chart((1, 2, 1, 3, 4)), "`size` must say what the area of a disc stands for"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, says):
    with pytest.raises(ArgumentError, match=says):
        make()


# HTML: the places in the drawing are inverted by the numbers on the axes.


class Parsed(HTMLParser):
    """The tags in order, each closed."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, tuple(name for name, _ in attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def html(block: Chart) -> str:
    return as_html(Page("p", (block,)))


def drawings(block: Chart) -> list[ElementTree.Element]:
    """The two drawings of a chart."""
    found = re.findall(r'<svg viewBox="[^"]*" role="img"><title>.*?</svg>', html(block), re.DOTALL)
    assert len(found) == 2
    return [ElementTree.fromstring(each) for each in found]


def numbers(element: ElementTree.Element) -> list[float]:
    return [float(each) for each in re.findall(r"-?[\d.]+", element.get("points", ""))]


def value_of(text: str) -> float:
    return float(text.replace(",", "").removesuffix("%")) / (100 if text.endswith("%") else 1)


def inverse(places: list[tuple[float, float]], log: bool):
    """From a place in the drawing to a number, by the two outermost marked numbers."""
    (one, first), (other, last) = sorted(places)[0], sorted(places)[-1]
    assert one != other
    if log:
        first, last = math.log(first), math.log(last)
    slope = (last - first) / (other - one)
    return lambda place: math.exp(first + slope * (place - one)) if log else first + slope * (place - one)


def read(drawing: ElementTree.Element, block: Chart):
    """The functions from places to numbers of both axes."""
    ticks = [each for each in drawing.findall("text") if each.get("class") == "tick"]
    up = [each for each in ticks if each.get("text-anchor") == "end"]
    grid = [float(each.get("y1", "")) for each in drawing.findall("line") if each.get("class") == "grid"]
    across = [(float(each.get("x", "")), value_of(each.text or "")) for each in ticks if each not in up]
    heights = list(zip(grid, (value_of(each.text or "") for each in up), strict=True))
    return inverse(across, block.log_x), inverse(heights, block.log_y)


def middle(element: ElementTree.Element) -> tuple[float, float]:
    if element.tag == "circle":
        return float(element.get("cx", "")), float(element.get("cy", ""))
    corners = numbers(element)
    xs, ys = corners[::2], corners[1::2]
    # Of a regular shape; a triangle's middle isn't that of its box.
    return sum(xs) / len(xs), sum(ys) / len(ys)


def groups(drawing: ElementTree.Element, name: str) -> list[list[ElementTree.Element]]:
    """The elements of a class, by the group of a series."""
    found = [[each for each in group.iter() if each.get("class") == name] for group in drawing.findall("g")]
    return [each for each in found if each]


@pytest.mark.parametrize("block", [LINES, DISCS, EDGES["negative"], EDGES["fractions on a log axis"]])
def test_the_marks_stand_at_their_numbers(block):
    for drawing in drawings(block):
        x_of, y_of = read(drawing, block)
        marks = groups(drawing, "mark")
        assert [len(each) for each in marks] == [len(each.points) for each in block.series]
        for series, found in zip(block.series, marks, strict=True):
            for point, mark in zip(series.points, found, strict=True):
                x, y = middle(mark)
                assert x_of(x) == pytest.approx(point.x, rel=2e-3)
                assert y_of(y) == pytest.approx(point.y, rel=2e-3)
        lines = [numbers(each) for group in groups(drawing, "line") for each in group]
        assert [len(line) // 2 for line in lines] == [len(each.points) for each in block.series if len(each.points) > 1]
        for line, series in zip(lines, (each for each in block.series if len(each.points) > 1), strict=True):
            assert [x_of(x) for x in line[::2]] == pytest.approx([point.x for point in series.points], rel=2e-3)
            assert [y_of(y) for y in line[1::2]] == pytest.approx([point.y for point in series.points], rel=2e-3)


def test_intervals_are_bands_of_neighbours_and_whiskers_of_others():
    for drawing in drawings(LINES):
        _, y_of = read(drawing, LINES)
        ((band,),) = groups(drawing, "band")
        heights = [y_of(y) for y in numbers(band)[1::2]]
        assert heights == pytest.approx([0.94, 0.92, 0.9, 0.8, 0.87, 0.91], rel=2e-3)
        whiskers = [
            [y_of(float(each)) for each in re.match(r"M\S+ (\S+?)V([^M]+)M", path.get("d", "")).groups()]
            for group in groups(drawing, "whisker")
            for path in group
        ]
        # The window's point without an interval parts the two that have one.
        for found, expected in zip(whiskers, [(0.9, 0.86), (0.72, 0.6), (0.8, 0.65)], strict=True):
            assert found == pytest.approx(expected, rel=2e-3)
    for drawing in drawings(EDGES["negative"]):
        _, y_of = read(drawing, EDGES["negative"])
        ((band,),) = groups(drawing, "band")
        assert [y_of(y) for y in numbers(band)[1::2]] == pytest.approx([-2.5, -0.75, -1.25, -3.5], rel=5e-3)


def test_areas_are_sizes():
    for drawing, key in zip(
        drawings(DISCS), re.findall(r'<svg[^>]*aria-label="discs of.*?</svg>', html(DISCS)), strict=True
    ):
        areas = [float(each.get("r", "")) ** 2 for group in groups(drawing, "disc") for each in group]
        # Of size 0 there is the mark, and no disc.
        assert [area / areas[0] for area in areas] == pytest.approx([1.0, 0.25], rel=0.01)
        read_key = ElementTree.fromstring(key)
        for circle, text in zip(read_key.findall("circle"), read_key.findall("text"), strict=True):
            assert float(circle.get("r", "")) ** 2 / areas[0] == pytest.approx(value_of(text.text or "") / 64, rel=0.01)
    assert "Area of a disc: memory (MiB)" in html(DISCS)
    assert "Area of a disc" not in html(LINES)


@pytest.mark.parametrize("name", EDGES)
def test_everything_stays_inside(name):
    Parsed(html(EDGES[name]))
    for drawing in drawings(EDGES[name]):
        _, _, width, height = map(float, drawing.get("viewBox", "").split())
        texts = [each for each in drawing.iter() if each.get("class") == "tick"]
        assert any(each.get("text-anchor") == "end" for each in texts)
        assert any(each.get("text-anchor") == "middle" for each in texts)
        for each in drawing.iter():
            for names, most in ((("x", "cx", "x1", "x2"), width), (("y", "cy", "y1", "y2"), height)):
                assert all(0 <= float(each.get(one, 0)) <= most for one in names)
            places = numbers(each)
            assert all(-1 <= x <= width + 1 for x in places[::2])
            assert all(-1 <= y <= height + 1 for y in places[1::2])


@pytest.mark.parametrize(
    "word", ["</svg><script>alert(1)</script>", '"><b>', "a\0b", "\x1b[31m", "\ud800", "&amp;", "x" * 9999]
)
def test_names_make_no_element_and_control_nothing(word):
    def made(word):
        lines = (Series(f"{word}1", (Point(1, 2, 1, 3), Point(2, 3))), Series(f"{word}2", (Point(1, 2, size=3),)))
        return html(Chart(word, word, word, lines, size=word))

    text = made(word)
    harmless = "w" * cell_len(visible(word))
    assert Parsed(text).tags == Parsed(made(harmless)).tags
    assert "<script" not in text
    assert not re.search(r"[\x00-\x08\x1b\ud800]", text)
    for width in (32, 80):
        assert not re.search(
            r"[\x00-\x09\x0b-\x1f]", as_text(Page("", (Chart(word, word, word, LINES.series),)), width=width)
        )


def test_only_pages_with_charts_have_their_style():
    assert "--series-1" in html(LINES)
    assert "--series-1" not in as_html(Page("p", (Prose("word"),)))


def test_it_can_be_read_without_being_seen():
    text = html(LINES)
    assert text.count('role="img"') == 2
    assert text.count("accuracy against length (words): 3 series with 7 points.") == 2
    assert "<details><summary>Numbers</summary>" in text
    cells = re.findall(r"<td[^>]*><bdi>(.*?)</bdi>", text)
    assert cells[:6] == ["512", "93%", "91% to 94%", "1,024", "90%", "87% to 92%"]
    assert "<title>softmax: length (words) 512, accuracy 93% (91% to 94%)</title>" in text
    assert "length (words), log scale" in text
    assert "script" not in text
    assert not re.search(r"url\(|https?:|src=|href=", text)


def test_names_stand_beside_their_series_or_in_a_legend():
    def named(block):
        return [
            [each.text for each in drawing.findall("text") if each.get("class") == "name"]
            for drawing in drawings(block)
        ]

    assert named(LINES) == [["softmax", "window", "average"]] * 2
    assert "<ul" not in html(LINES)
    crowded = Chart("", "x", "y", tuple(Series(f"number {each}", (Point(1, 2),)) for each in range(30)))
    assert named(crowded) == [[], []]
    assert re.findall(r"<li>.*?<bdi>(.*?)</bdi>", html(crowded)) == [f"number {each}" for each in range(30)] * 2


def test_ends_of_lines_at_one_height_have_names_one_below_the_other():
    block = Chart("", "x", "y", tuple(Series(name, (Point(0, 1), Point(1, 2))) for name in "abcde"))
    for drawing in drawings(block):
        heights = [float(each.get("y", "")) for each in drawing.findall("text") if each.get("class") == "name"]
        assert len(heights) == 5
        assert min(abs(one - other) for one in heights for other in heights if one is not other) >= 13


# Text.


def lines_of(block: Chart, width: int = 80) -> list[str]:
    return as_text(Page("", (block,)), width=width).splitlines()


@pytest.mark.parametrize("width", [32, 40, 80, 120, 200])
@pytest.mark.parametrize("name", EDGES)
def test_every_chart_fits_every_terminal(name, width):
    lines = lines_of(EDGES[name], width)
    assert max(map(cell_len, lines)) <= width
    assert sum("│" in line or "┤" in line for line in lines) == 14
    assert any("┤" in line for line in lines)


def test_a_plot_reads_like_this():
    up, flat = Series("up", (Point(0, 0), Point(10, 4))), Series("flat", (Point(5, 4, 3, 4),))
    assert lines_of(Chart("Two", "length", "loss", (up, flat)), 40) == [
        "Two",
        "loss",
        "  │",
        "4 ┤                 b               ·a",
        "  │                 ╎            ···",
        "  │                 ╎         ···",
        "3 ┤                 ╎       ··",
        "  │                      ···",
        "  │                   ···",
        "2 ┤                ···",
        "  │             ···",
        "  │          ···",
        "1 ┤        ··",
        "  │     ···",
        "  │  ···",
        "0 ┤a·",
        "  └┬──────┬──────┬──────┬──────┬─────┬──",
        "   0      2      4      6      8     10",
        "   length",
        "a up",
        "b flat: length 5, loss 4 (3 to 4)",
        "╎ is the interval of a point.",
    ]


@pytest.mark.parametrize("width", [32, 80, 200])
@pytest.mark.parametrize("block", [LINES, DISCS])
def test_letters_stand_at_their_numbers(block, width):
    lines = lines_of(block, width)
    plot = [line for line in lines if re.match(r"[\d.,% ]*[│┤]", line)]
    foot = next(number for number, line in enumerate(lines) if "└" in line)
    ticks = [match.start() for match in re.finditer("┬", lines[foot])]
    texts = [value_of(each) for each in lines[foot + 1].split()]
    x_of = inverse(list(zip(ticks, texts, strict=True)), block.log_x)
    heights = [(row, value_of(line.split()[0])) for row, line in enumerate(plot) if "┤" in line]
    y_of = inverse(heights, block.log_y)
    for letter, series in zip("abc", block.series, strict=True):
        places = sorted(
            (column, row) for row, line in enumerate(plot) for column, each in enumerate(line) if each == letter
        )
        assert len(places) == len(series.points)
        for point, (column, row) in zip(series.points, places, strict=True):
            # A mark and each end of the scale are rounded to a cell.
            assert min(x_of(column - 1.5), x_of(column + 1.5)) <= point.x <= max(x_of(column - 1.5), x_of(column + 1.5))
            assert y_of(row + 1.5) <= point.y <= y_of(row - 1.5)


def test_marks_in_one_place_are_said():
    lines = lines_of(chart((1, 2), (2, 3), count=3))
    assert sum(line.count("*") for line in lines if "│" in line or "┤" in line) == 2
    assert "* is more than one series in one place: a, b, c." in lines


def test_a_legend_names_the_letters_and_single_points_with_their_numbers():
    text = " ".join(" ".join(lines_of(DISCS, 60)).split())
    assert "a dot: time (ms) 2.5, accuracy 0.75 (0.7 to 0.8), memory (MiB) 64 b additive" in text
    assert "a softmax" in lines_of(LINES)


def test_ascii_terminals_get_ascii_plots():
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    show(Page("", (LINES, DISCS)), Console(file=file, width=60))
    file.flush()
    drawn = file.buffer.getvalue().decode("ascii")
    assert "| is the interval of a point." in drawn
    assert "---+---" in drawn


def test_sentences_say_all_of_it():
    small = Chart("t", "x", "y", (Series("low", (Point(-1, -2, -3, -1), Point(1, 0.25))),))
    assert as_text(Page("", (LINES, small)), plain=True).splitlines() == [
        "Long texts.",
        "accuracy against length (words).",
        "softmax: at 512, 93 percent, interval 91 percent to 94 percent; at 1,024, 90 percent, interval 87 percent to "
        "92 percent; at 4,096, 86 percent, interval 80 percent to 90 percent.",
        "window: at 512, 88 percent, interval 86 percent to 90 percent; at 2,048, 74 percent; at 4,096, 65 percent, "
        "interval 60 percent to 72 percent.",
        "average: at 1,024, 70 percent, interval 65 percent to 80 percent.",
        "t.",
        "y against x.",
        "low: at minus 1, minus 2, interval minus 3 to minus 1; at 1, 0.25.",
    ]
    discs = as_text(Page("", (DISCS,)), plain=True).splitlines()
    assert discs[1:3] == [
        "accuracy against time (ms), with memory (MiB) as size.",
        "dot: at 2.5, 0.75, interval 0.7 to 0.8, size 64.",
    ]


# Numbers.


@pytest.mark.parametrize("seed", range(40))
def test_ticks_are_round_inside_and_as_many_as_fit(seed):
    draw = random.Random(seed)
    low = draw.uniform(-1, 1) * 10 ** draw.uniform(-8, 8)
    span = 10 ** draw.uniform(-8, 8) + abs(low) * 1e-6
    most = draw.randint(2, 9)
    ticks = linear_ticks(low, low + span, most)
    assert 1 <= len(ticks) <= most
    assert all(low - 1e-5 * span <= tick <= low + span * 1.00001 for tick in ticks)
    if len(ticks) > 1:
        step = (ticks[-1] - ticks[0]) / (len(ticks) - 1)
        assert float(f"{step:.6e}".partition("e")[0]) in (1, 2, 5)
        assert all(tick / step == pytest.approx(round(tick / step), abs=1e-3) for tick in ticks)
        # The next smaller step wouldn't fit.
        digit = float(f"{step:.6e}".partition("e")[0])
        smaller = step / {1: 2, 2: 2, 5: 2.5}[digit]
        assert span / smaller > most - 1


def test_log_ticks():
    assert log_ticks(1, 1e6, 4) == [1, 1e2, 1e4, 1e6]
    assert log_ticks(0.95, 11, 12) == [*range(1, 10), 10]
    assert log_ticks(0.02, 0.5, 5) == [0.02, 0.05, 0.1, 0.2, 0.5]
    assert log_ticks(3, 40, 8, binary=True) == [4, 8, 16, 32]


@pytest.mark.parametrize("seed", range(30))
def test_spreading_moves_least(seed):
    draw = random.Random(seed)
    wanted = [draw.uniform(0, 100) for _ in range(draw.randint(1, 7))]
    gap = draw.uniform(1, 14)
    found = spread(wanted, gap, 0, 100)

    def fits(places):
        ordered = sorted(places)
        apart = all(b - a >= gap - 1e-9 for a, b in pairwise(ordered))
        return apart and ordered[0] >= -1e-9 and ordered[-1] <= 100 + 1e-9

    def moved(places):
        return sum((a - b) ** 2 for a, b in zip(places, wanted, strict=True))

    assert found is not None
    assert fits(found)
    for _ in range(300):
        other = [each + draw.gauss(0, draw.choice((0.01, 1, 5))) for each in found]
        assert not fits(other) or moved(other) >= moved(found) - 1e-6
    assert spread([1.0, 2.0, 3.0], 40, 0, 70) is None


@pytest.mark.parametrize("seed", range(20))
def test_numbers_are_written_to_four_digits(seed):
    value = random.Random(seed).uniform(-1, 1) * 10 ** random.Random(seed).uniform(-12, 12)
    assert float(written(value).replace(",", "")) == pytest.approx(value, rel=5e-4)


# Colours.


def luminance(code: str) -> float:
    """Source: WCAG 2.2, relative luminance."""
    parts = [int(code[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    parts = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_colour_can_be_seen_on_its_paper():
    for colour in COLOURS:
        assert contrast(colour.light, "#ffffff") >= 3
        assert contrast(colour.dark, "#161618") >= 3


def test_no_two_series_of_a_chart_look_the_same():
    styles = [series_style(index) for index in range(52)]
    assert len(set(styles)) == 52
    # Without colours too, in the charts that can still be read.
    assert len({(style.mark, style.dashes) for style in styles[:35]}) == 35


# What the browser makes of it.

SEEN = """
() => [...document.querySelectorAll(".chart")].map((chart) => {
  const shown = [...chart.querySelectorAll("svg[role=img]")].filter((each) => each.getBoundingClientRect().width > 0);
  const box = (each) => {
    const { left, top, right, bottom } = each.getBoundingClientRect();
    return [left, top, right, bottom];
  };
  const paint = (each) => getComputedStyle(each).color;
  return {
    drawings: shown.filter((each) => each.querySelector("title")).length,
    texts: shown.flatMap((each) => [...each.querySelectorAll("text")]).map((each) => [each.textContent, box(each)]),
    marks: shown.flatMap((each) => [...each.querySelectorAll(".mark")]).map(box),
    colours: [...new Set(shown.flatMap((each) => [...each.querySelectorAll(".mark")]).map(paint))],
    scale: Math.min(...shown.map((each) => each.getBoundingClientRect().width / each.viewBox.baseVal.width)),
  };
})
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 600, 960])
def test_letters_are_large_enough_and_no_two_texts_meet(context, tmp_path, scheme, width):
    path = tmp_path / "charts.html"
    path.write_text(as_html(Page("charts", (Prose("before"), LINES, DISCS, EDGES["ten series"]))), encoding="utf-8")
    page = context(width, color_scheme=scheme).new_page()
    page.goto(path.as_uri())
    charts = page.evaluate(SEEN)
    assert len(charts) == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for found in charts:
        assert found["drawings"] == 1
        assert 13 * found["scale"] >= 10
        boxes = [box for _, box in found["texts"]]
        for number, (left, top, right, bottom) in enumerate(boxes):
            assert left >= 0
            assert right <= width
            for other in boxes[number + 1 :]:
                # A box of text is higher than its letters.
                across = left < other[2] and other[0] < right
                assert not (across and top + 3 < other[3] and other[1] + 3 < bottom), found["texts"][number]
    # Names cover no mark.
    names = {each.name for block in (LINES, DISCS) for each in block.series}
    for found in charts[:2]:
        for text, (left, top, right, bottom) in found["texts"]:
            for mark in found["marks"] if text in names else ():
                assert not (
                    left < mark[2] - 1 and mark[0] + 1 < right and top + 3 < mark[3] and mark[1] + 3 < bottom
                ), text
    expected = [colour[scheme == "dark"] for colour in COLOURS]
    colours = ["#{:02x}{:02x}{:02x}".format(*map(int, re.findall(r"\d+", each))) for each in charts[2]["colours"]]
    assert colours == expected
