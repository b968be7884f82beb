"""Marks as SVG: every kind has its element, whose class is the role, and groups have the colour of their series."""

from xml.etree import ElementTree

from regard.page.marks import Disc, Drawing, Group, Line, Polygon, Strokes, Text
from regard.page.svg import as_svg


def drawn(*marks) -> list[tuple[str, dict[str, str]]]:
    """The elements of marks on a drawing whose letters are 10 high."""
    return [(each.tag, each.attrib) for each in ElementTree.fromstring(as_svg(Drawing(30, 20.5, 10, marks), "id='a'"))]


def test_every_mark_has_its_element():
    assert drawn(
        Line(((0, 1), (2, 3.125)), "line", (6, 3)),
        Strokes((((1, 2), (3, 4)),), "rule"),
        Strokes((((1, 2), (1, 4)), ((0, 2), (2, 2)), ((0, 0), (1, 1))), "whisker"),
        Polygon(((0, 0), (1, 0), (0, 1)), "band"),
        Disc(1, 2, 3, "area"),
    ) == [
        ("polyline", {"class": "line", "points": "0,1 2,3.12", "stroke-dasharray": "8 4"}),
        ("line", {"class": "rule", "x1": "1", "y1": "2", "x2": "3", "y2": "4"}),
        ("path", {"class": "whisker", "d": "M1 2V4M0 2H2M0 0L1 1"}),
        ("polygon", {"class": "band", "points": "0,0 1,0 0,1"}),
        ("circle", {"class": "area", "cx": "1", "cy": "2", "r": "3"}),
    ]


def test_a_text_stands_around_its_middle_line():
    left, middle, right = (dict(drawn(Text(4, 6, "a", "tick", align))[0][1]) for align in ("left", "center", "right"))
    assert left == {"class": "tick", "x": "4", "y": "9.5", "text-anchor": "start"}
    assert [middle["text-anchor"], right["text-anchor"]] == ["middle", "end"]


def test_a_group_has_its_title_and_the_colour_of_its_series():
    disc = Disc(1, 1, 1, "mark")
    assert drawn(Group((disc,), series=2)) == [("g", {"class": "series-3"})]
    # After eight series the colours begin again.
    assert drawn(Group((disc,), series=8)) == [("g", {"class": "series-1"})]
    assert drawn(Group(())) == []
    titled = as_svg(Drawing(2, 2, 1, (Group((Group((disc,), title="<1"),), series=0),)), "")
    assert '<g class="series-1"><g><title>&lt;1</title><circle' in titled


def test_a_drawing_has_its_size_and_what_is_below_it():
    text = as_svg(Drawing(30, 20.5, 10, (Disc(1, 1, 1, "mark"),)), 'role="img"', below="<title>t</title>")
    assert text.startswith('<svg viewBox="0 0 30 20.5" role="img"><title>t</title><circle ')
