"""Pictures: pixels, weights and boxes are drawn in their places in each medium, and can be read in words."""

import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from rich.console import Console

from regard.errors import ArgumentError
from regard.page import Box, Page, Picture, Pictures, Prose, as_html, as_text, show
from regard.page.pictures.picture_numbers import weight_text

# Two rows of three pixels; the right half of the weights is the heaviest.
PIXELS = ((0.0, 1.0, 1.0), (0.5, 0.0, 0.25))
WEIGHTED = Picture(PIXELS, "three", weights=((0.0, 0.8),), boxes=(Box(1, 0, 3, 1, "a 7"),))


def html(*pictures: Picture) -> ElementTree.Element:
    """The figure of some pictures, parsed."""
    text = as_html(Page("p", (Pictures("some", pictures),)))
    return ElementTree.fromstring(text[text.index('<figure class="pictures"') : text.rindex("</figure>") + 9])


def painted(drawing: ElementTree.Element, height: int, width: int) -> np.ndarray:
    """The greys of the pixels, from the runs of the paths."""
    found = np.zeros((height, width))
    for path in drawing.iter("path"):
        grey = int(path.attrib["fill"][1:3], 16)
        assert path.attrib["fill"] == f"#{grey:02x}{grey:02x}{grey:02x}"
        for column, row, length in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\3z", path.attrib["d"]):
            found[int(row), int(column) : int(column) + int(length)] = grey / 255
    return found


def coloured(picture: Picture, width: int = 80) -> tuple[np.ndarray, list[str]]:
    """The colours of the half blocks of a picture in a terminal, and the lines without half blocks."""
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        record=True,
    )
    show(Page("", (Pictures("", (picture,)),)), console)
    rows, text = [], []
    for line in console.file.getvalue().splitlines():
        blocks = re.findall(r"\x1b\[38;2;(\d+);(\d+);(\d+)(?:;48;2;(\d+);(\d+);(\d+))?m(▀+)", line)
        if not blocks:
            text.append(line)
            continue
        for first in (0, 3) if blocks[0][3] else (0,):
            colours = [[int(each) for each in block[first : first + 3]] for block in blocks for _ in block[6]]
            rows.append(colours)
    return np.asarray(rows), text


def test_html_draws_every_pixel():
    random = np.random.RandomState(0).rand(7, 11).round(3)
    random[2] = 0.75
    drawing = html(Picture.of(random))
    assert drawing.find(".//svg").attrib["viewBox"] == "0 0 11 7"
    np.testing.assert_allclose(painted(drawing, 7, 11), random, atol=0.5 / 63 + 0.5 / 255)


def test_html_places_weights_and_boxes():
    drawing = html(WEIGHTED)
    (cell,) = drawing.iterfind(".//g[@class='weight']/rect")
    # The cell of 1 x 2 that weighs something is the right half of 2 x 3 pixels.
    assert [float(cell.attrib[name]) for name in ("x", "y", "width", "height")] == [1.5, 0.0, 1.5, 2.0]
    box = drawing.find(".//rect[@class='box']")
    assert [float(box.attrib[name]) for name in ("x", "y", "width", "height")] == [1.0, 0.0, 2.0, 1.0]
    assert drawing.find(".//text").text == "a 7"
    assert drawing.find(".//svg").attrib["aria-label"] == (
        "2 x 3 pixels; a 7: columns 1 to 3, rows 0 to 1; largest weight 80%, in row 1 and column 2 of 1 x 2"
    )


def test_weights_are_as_blue_as_their_root():
    drawing = html(Picture(PIXELS, weights=((0.25, 1.0), (0.0, 0.04))))
    cover = {
        (float(each.attrib["x"]), float(each.attrib["y"])): float(each.attrib["fill-opacity"])
        for each in drawing.iterfind(".//g[@class='weight']/rect")
    }
    assert cover == {
        (0.0, 0.0): pytest.approx(0.36),
        (1.5, 0.0): pytest.approx(0.72),
        (1.5, 1.0): pytest.approx(0.144),
    }


def test_a_page_needs_nothing_from_outside():
    text = as_html(Page("p", (Pictures("some", (WEIGHTED,)),)))
    assert "default-src 'none'; style-src 'unsafe-inline'\"" in text
    assert "<img" not in text
    assert ".pictures" in text
    assert ".pictures" not in as_html(Page("p", (Prose("none"),)))


def test_text_is_escaped():
    hostile = "</svg><script>alert(1)</script>"
    text = as_html(Page("p", (Pictures(hostile, (Picture(PIXELS, hostile, boxes=(Box(0, 0, 1, 1, hostile),)),)),)))
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 4


def test_a_terminal_with_colours_shows_pixels_weights_and_boxes():
    colours, text = coloured(Picture.of(PIXELS))
    np.testing.assert_array_equal(colours[..., 0], np.rint(255 * np.asarray(PIXELS)))
    assert (colours == colours[..., :1]).all()
    assert text == []
    colours, text = coloured(Picture.of(np.zeros((4, 4)), weights=((0.0, 1.0),)))
    assert not colours[:, :2].any()
    # 72 % of the blue.
    assert (colours[:, 2:] == [55, 107, 184]).all()
    assert "largest weight" in " ".join(text)
    colours, _ = coloured(Picture.of(np.zeros((6, 6)), boxes=(Box(1, 2, 5, 5),)))
    framed = colours.any(axis=2)
    assert framed.astype(int).tolist() == [
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 1, 1, 1, 1, 0],
        [0, 1, 0, 0, 1, 0],
        [0, 1, 1, 1, 1, 0],
        [0, 0, 0, 0, 0, 0],
    ]


def frame(*boxes: Box, size: tuple[int, int] = (6, 6)) -> list[str]:
    """Which pixels of a black picture have the colour of boxes, in a terminal."""
    colours, _ = coloured(Picture.of(np.zeros(size), boxes=boxes))
    return ["".join("#" if pixel else "." for pixel in line) for line in colours.any(axis=2)]


OUTSIDE = [Box(-5, -5, -3, -2), Box(-5, 1, 0, 3), Box(6, 1, 9, 3), Box(1, -4, 3, 0), Box(1, 6, 3, 7)]


def test_what_lies_outside_of_the_picture_is_not_drawn():
    labelled = tuple(Box(each.left, each.top, each.right, each.bottom, "b") for each in OUTSIDE)
    assert frame(*OUTSIDE) == ["......"] * 6
    drawing = html(Picture.of(np.zeros((6, 6)), boxes=labelled))
    assert drawing.findall(".//rect[@class='box']") == []
    assert drawing.findall(".//text") == []


def test_a_box_over_the_edge_has_no_edge_at_the_edge_of_the_picture():
    assert frame(Box(-2, 1, 3, 4)) == ["......", "###...", "..#...", "###...", "......", "......"]
    assert frame(Box(2, 2, 9, 9)) == ["......", "......", "..####", "..#...", "..#...", "..#..."]
    assert frame(Box(-2, -2, 9, 9)) == ["......"] * 6
    assert frame(Box(0, 0, 6, 6)) == ["######", *["#....#"] * 4, "######"]
    box = html(Picture.of(np.zeros((6, 6)), boxes=(Box(-2, 1, 3, 4),))).find(".//rect[@class='box']")
    assert (box.attrib["x"], box.attrib["width"]) == ("-2", "5")


def test_a_box_smaller_than_a_cell_shows_in_a_terminal():
    assert frame(Box(2.6, 3.1, 2.9, 3.4)) == ["......"] * 3 + ["..#..."] + ["......"] * 2
    assert frame(Box(5.7, 5.7, 5.9, 5.9)) == ["......"] * 5 + [".....#"]
    assert frame(Box(0, 0, 0, 0)) == ["#....."] + ["......"] * 5
    # A cell is 4 x 4 pixels.
    small = frame(Box(70, 70, 71, 71), size=(140, 140))
    assert [(row, line.index("#"), line.count("#")) for row, line in enumerate(small) if "#" in line] == [(17, 17, 1)]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (((0.0, 5.0),), "largest weight 5, in row 1 and column 2 of 1 x 2"),
        (((1.0, 0.25),), "largest weight 100%, in row 1 and column 1 of 1 x 2"),
        (((0.0, 1.0 + 1e-7),), "largest weight 100%, in row 1 and column 2 of 1 x 2"),
        (((1234.5678, 0.0),), "largest weight 1,235, in row 1 and column 1 of 1 x 2"),
        (((0.0, 0.0),), ""),
        ((), ""),
    ],
)
def test_the_largest_weight_is_a_percentage_up_to_1_and_not_told_if_all_are_0(weights, said):
    assert weight_text(Picture(PIXELS, weights=weights)) == said


def test_the_quantity_has_a_name():
    picture = Picture.of(PIXELS, "a", [[0, 3]], quantity="count")
    drawing = html(picture)
    assert drawing.find(".//span").text == "largest count 3, in row 1 and column 2 of 1 x 2"
    assert drawing.find(".//svg").attrib["aria-label"].endswith("largest count 3, in row 1 and column 2 of 1 x 2")


def test_a_screen_reader_hears_each_text_once():
    drawing = html(WEIGHTED)
    assert drawing.findall(".//title") == []
    assert drawing.findall(".//desc") == []
    assert "three" not in drawing.find(".//svg").attrib["aria-label"]
    assert drawing.find(".//span").attrib["aria-hidden"] == "true"


@pytest.mark.parametrize("screen", [900, 360])
def test_a_pixel_has_at_least_2_css_pixels_where_the_page_is_wide_enough(screen, context, tmp_path):
    path = tmp_path / "page.html"
    pictures = [Picture.of(np.zeros(size), "all black") for size in ((20, 20), (140, 252), (256, 20))]
    path.write_text(as_html(Page("p", (Pictures("", tuple(pictures)),))), encoding="utf-8")
    page = context(width=screen).new_page()
    page.goto(path.as_uri())
    sizes = "each => [each.clientWidth, each.querySelector('svg').getBoundingClientRect().width]"
    figures, drawings = zip(
        *page.evaluate(f"[...document.querySelectorAll('figure figure')].map({sizes})"), strict=True
    )
    wide = 504 if screen == 900 else 360 - 2 * 16
    assert figures == (224, wide, 224)
    assert drawings == (224, wide, 40)
    assert page.evaluate("document.documentElement.scrollWidth") == screen


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int32, torch.bool, torch.uint8])
def test_tensors_of_any_real_type(dtype):
    values = torch.tensor([[0, 1], [1, 1]]).to(dtype).requires_grad_(dtype.is_floating_point)
    assert Picture.of(values, weights=values) == Picture(((0.0, 1.0), (1.0, 1.0)), weights=((0.0, 1.0), (1.0, 1.0)))


def test_a_wide_picture_is_averaged():
    values = np.kron(np.arange(30).reshape(5, 6) / 30, np.ones((10, 10)))
    colours, _ = coloured(Picture.of(values))
    assert colours.shape == (25, 30, 3)
    np.testing.assert_array_equal(colours[::5, ::5, 0], np.rint(255 * np.arange(30).reshape(5, 6) / 30))


def test_a_terminal_without_colours_draws_shades_and_the_weights_beside_them():
    drawn = as_text(Page("", (Pictures("two", (Picture.of(np.eye(4), "a", weights=((1.0,), (0.0,))),)),)), width=60)
    assert drawn.splitlines()[:3] == ["two", "▒▒               ████", "  ▒▒"]
    assert "its weights" in drawn


@pytest.mark.parametrize("width", [32, 40, 80, 200])
def test_no_line_is_too_long(width):
    block = Pictures("some " * 20, (WEIGHTED, Picture.of(np.ones((100, 256)), "wide " * 30), WEIGHTED))
    for colour in (False, True):
        text = re.sub(r"\x1b\[[\d;]*m", "", as_text(Page("", (block,)), width=width, colour=colour))
        assert max(map(len, text.splitlines())) <= width


def test_sentences():
    said = as_text(Page("", (Pictures("Some", (WEIGHTED, Picture(PIXELS))),)), plain=True)
    assert said.splitlines() == [
        "Some.",
        "Picture 1, three: 2 x 3 pixels; a 7: columns 1 to 3, rows 0 to 1; largest weight 80 percent, in row 1 and "
        "column 2 of 1 x 2.",
        "Picture 2: 2 x 3 pixels.",
    ]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Pictures("", ()), "`pictures` must hold at least one picture"),
        (lambda: Picture(()), "`pixels` must have rows of one length"),
        (lambda: Picture(((),)), "`pixels` must have 1 to 256 rows and columns, but has 1 x 0"),
        (lambda: Picture(((0.0,), (0.0, 1.0))), r"`pixels` must have rows of one length, but has \[1, 2\]"),
        (lambda: Picture.of(np.zeros((257, 2))), "`pixels` must have 1 to 256 rows and columns, but has 257 x 2"),
        (lambda: Picture.of(np.zeros(3)), r"`pixels` must be an array \(row, column\), but has the shape \(3,\)"),
        (lambda: Picture(((float("nan"),),)), "`pixels` must be finite"),
        (lambda: Picture(PIXELS, weights=((-0.5,),)), "`weights` must be at least 0, but one is -0.5"),
        (lambda: Box(3, 0, 2, 1), r"must be left, top, right, bottom in this order, but is \(3, 0, 2, 1\)"),
        (
            lambda: Picture.of([[0.0], [0.0, 1.0]]),
            r"`pixels` must be an array \(row, column\) of real numbers, but is li",
        ),
        (lambda: Picture.of("abc"), r"`pixels` must be an array \(row, column\) of real numbers, but is str"),
        (lambda: Picture.of([["1", "2"]]), "`pixels` must be an array .* of real numbers"),
        (lambda: Picture.of(None), "`pixels` must be an array .* of real numbers, but is NoneType"),
        (lambda: Picture.of(np.ones((2, 2)) * 1j), "`pixels` must be an array .* of real numbers, but is ndarray"),
        (lambda: Picture.of(torch.ones(2, 2) * 1j), "`pixels` must be an array .* of real numbers, but is Tensor"),
        (lambda: Picture.of(PIXELS, weights=np.zeros((0, 3))), "`weights` must have 1 to 256 rows, but has none"),
        (
            lambda: Picture.of(PIXELS, weights=np.zeros((3, 0))),
            "`weights` must have 1 to 256 rows and columns, but has 3",
        ),
        (lambda: Picture.of(PIXELS, weights=[[1], [2, 3]]), "`weights` must be an array .* of real numbers"),
        (lambda: Box(0, 0, float("inf"), 1), "must have finite edges"),
        (lambda: Box("a", 0, 1, 1), r"must have finite edges in pixels, but has \('a', 0, 1, 1\)"),
        (lambda: Box("0", "0", "1", "1"), "must have finite edges"),
        (lambda: Box(0, None, 1, 1), r"must have finite edges in pixels, but has \(0, None, 1, 1\)"),
    ],
)
def test_what_is_no_picture_is_refused(make, said):
    with pytest.raises(ArgumentError, match=said):
        make()
