import math
from itertools import pairwise

import pytest

from regard.errors import ArgumentError
from regard.page import Bar, Bars, HeatMap, Item, Items, Page, Prose, Ranking, Table, downsample
from regard.page.colours import MASKED, NOT_A_NUMBER, SCALE, ZERO, colour_of, ink_on
from regard.page.numbers import percent
from regard.page.terminal import nearest_256
from regard.page.visible import clip, visible


def test_a_table_refuses_rows_and_alignment_of_another_length():
    with pytest.raises(ArgumentError, match=r"`rows` must have 2 texts in each row, but row 2 has 3"):
        Table(("a", "b"), (("1", "2"), ("1", "2", "3")))
    with pytest.raises(ArgumentError, match=r"`alignment` must have 2 entries, but has 1"):
        Table(("a", "b"), (), ("left",))


@pytest.mark.parametrize("high", [0.0, -1.0, math.nan, math.inf])
def test_a_heat_map_refuses_a_scale_without_a_top(high):
    with pytest.raises(ArgumentError, match="`high` must be a finite number above 0"):
        HeatMap("", ("a",), ("a",), ((1.0,),), high=high)


def test_a_heat_map_refuses_another_shape():
    with pytest.raises(ArgumentError, match="`values` must have 2 rows"):
        HeatMap("", ("a", "b"), ("a",), ((1.0,),))
    with pytest.raises(ArgumentError, match=r"`values` must have 2 columns .* row 1 has 3"):
        HeatMap("", ("a",), ("a", "b"), ((1.0, 0.0, 0.0),))


def test_pages_join_in_order():
    joined = Page.of("t", Page("x", (Prose("1"), Prose("2"))), Page("y", (Prose("3"),)))
    assert [block.text for block in joined.blocks] == ["1", "2", "3"]


def test_a_full_bar_is_one_unless_a_value_is_larger():
    def bars(*values):
        return Bars("", (Ranking("a", tuple(Bar("b", value, value) for value in values)),))

    assert bars(0.2).high == 1.0
    assert bars(0.2, 1.75).high == 1.75
    assert bars(math.nan, math.inf).high == 1.0
    assert Bars("", ()).high == 1.0


@pytest.mark.parametrize("factor", [2, 3, 5, 11, 100])
def test_pooling_places_keeps_what_the_whole_sums_to(factor):
    rows, columns = 13, 11
    values = tuple(tuple((row * 31 + column * 7) % 17 / 17 for column in range(columns)) for row in range(rows))
    small = downsample(
        HeatMap("", tuple(map(str, range(rows))), tuple(map(str, range(columns))), values, verb=""), factor
    )
    assert sum(map(sum, small.values)) == pytest.approx(sum(map(sum, values)))
    assert small.high >= max(map(max, small.values))


@pytest.mark.parametrize("factor", [2, 3, 5, 11, 100])
def test_pooling_keeps_what_a_row_sums_to(factor):
    rows, columns = 13, 11
    values = tuple(tuple((row * 31 + column * 7) % 17 / 17 for column in range(columns)) for row in range(rows))
    names = tuple(map(str, range(columns)))
    small = downsample(HeatMap("", tuple(map(str, range(rows))), names, values), factor)
    for index, row in enumerate(small.values):
        joined = values[index * factor : (index + 1) * factor]
        assert sum(row) == pytest.approx(sum(map(sum, joined)) / len(joined))
    assert len(small.columns) == math.ceil(columns / factor)
    assert small.high >= max(map(max, small.values))


def test_pooling_keeps_masked_and_nan_apart():
    small = downsample(HeatMap("", ("a", "b"), tuple("abcdef"), ((None, None, 0.0, 0.0, 0.5, None),) * 2), 2)
    assert small.values == ((None, 0.0, 0.5),)
    broken = downsample(HeatMap("", ("a", "b"), ("a", "b"), ((math.nan, 0.5), (0.5, 0.5))), 2)
    assert math.isnan(broken.values[0][0])


def test_percents_never_round_into_zero_or_all():
    assert [percent(value) for value in (0.0, 1e-9, 0.0049, 0.0051, 0.994, 0.9951, 0.99999, 1.0)] == [
        "0%",
        "<1%",
        "<1%",
        "1%",
        "99%",
        ">99%",
        ">99%",
        "100%",
    ]
    assert percent(1.75) == "175%"
    assert [percent(value) for value in (None, math.nan, math.inf)] == ["masked", "NaN", "inf"]


def _oklab(colour):
    linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    long = 0.4122214708 * linear[0] + 0.5363325363 * linear[1] + 0.0514459929 * linear[2]
    middle = 0.2119034982 * linear[0] + 0.6806995451 * linear[1] + 0.1073969566 * linear[2]
    short = 0.0883024619 * linear[0] + 0.2817188376 * linear[1] + 0.6299787005 * linear[2]
    roots = [value ** (1 / 3) for value in (long, middle, short)]
    return (
        0.2104542553 * roots[0] + 0.7936177850 * roots[1] - 0.0040720468 * roots[2],
        1.9779984951 * roots[0] - 2.4285922050 * roots[1] + 0.4505937099 * roots[2],
        0.0259040371 * roots[0] + 0.7827717662 * roots[1] - 0.8086757660 * roots[2],
    )


def test_the_scale_rises_in_lightness_by_even_steps():
    points = [_oklab(colour) for colour in SCALE]
    steps = [math.dist(left, right) for left, right in zip(points[::8], points[8::8], strict=False)]
    assert all(low[0] < high[0] for low, high in pairwise(points))
    assert max(steps) / min(steps) < 1.1


def test_zero_masked_nan_and_the_scale_are_told_apart():
    colours = [ZERO, MASKED, NOT_A_NUMBER, colour_of(1e-9), colour_of(0.5), colour_of(1.0)]
    assert len(set(colours)) == len(colours)
    for special in (ZERO, MASKED, NOT_A_NUMBER):
        assert (
            min(math.dist(_oklab(special), _oklab(colour)) for colour in SCALE) > 0.04
        )  # about twice what an eye notices


def test_256_colours_keep_the_scale_and_what_is_off_it_apart():
    steps = list(dict.fromkeys(nearest_256(colour) for colour in SCALE))
    assert len(steps) >= 9
    # No colour comes back once the scale has left it.
    assert len(steps) == sum(left != right for left, right in pairwise([nearest_256(c) for c in SCALE])) + 1
    special = {nearest_256(colour) for colour in (ZERO, MASKED, NOT_A_NUMBER)}
    assert len(special) == 3
    assert not special & set(steps)


def test_ink_stands_out_on_every_colour():
    def luminance(colour):
        linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for colour in (*SCALE, ZERO, MASKED, NOT_A_NUMBER):
        high, low = sorted((luminance(colour), luminance(ink_on(colour))), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("a\0b", "a\\x00b"),
        ("\u202egnp", "\\u202egnp"),
        ("\ud800", "\\ud800"),
        ("\r\n\t", "\\r\\n\\t"),
        ("\x9b31m", "\\x9b31m"),
        ("\U000e0041", "\\U000e0041"),
        ("   ", "␣␣␣"),
        ("[red]x[/]", "[red]x[/]"),
        ("👩\u200d👩", "👩\u200d👩"),
        ("来福", "来福"),
        ("", ""),
    ],
)
def test_what_cannot_be_seen_is_written_out(text, shown):
    assert visible(text) == shown


def test_clipping_counts_cells_and_marks_the_cut():
    assert clip("常威在打来福", 6) == "常威…"
    assert clip("来福", 4) == "来福"
    assert clip("x" * 10_000, 9) == "x" * 8 + "…"
    assert clip("\x1b" * 10_000, 9) == "\\x1b\\x1b…"


def test_items_and_rankings_hold_what_they_are_given():
    assert Items((Item("a"),)).noun == "word"
    assert Ranking("a", (Bar("b", 0.5, 0.5), Bar("c", 0.25, 0.75)), rest=0.25, others=3).total == 1.0
