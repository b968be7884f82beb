import io
import math
import os
import re
import subprocess
import sys

import pytest
from rich.cells import cell_len
from rich.console import Console

from regard.errors import ArgumentError
from regard.page import Bar, Bars, Heading, HeatMap, Item, Items, Page, Prose, Ranking, Table, as_text, show
from regard.page.colours import MASKED, NOT_A_NUMBER, ZERO, colour_of
from regard.page.terminal import nearest_256

WIDTHS = (32, 40, 80, 120)
HOSTILE = [
    "\x1b[31m",
    "[red]x[/red]",
    "</script>",
    "a\0b",
    "👩\u200d👩\u200d👧",
    "\u202egnp",
    "x" * 10_000,
    "来福" * 99,
]


def _map(count, value=0.5, **changes):
    names = tuple(f"w{index}" for index in range(count))
    values = [[value if row == column else 0.001 for column in range(count)] for row in range(count)]
    return HeatMap("Layer 1 of 2, head 3 of 4", names, names, tuple(map(tuple, values)), **changes)


def _bars(label="saw (2)", entry="a", value=0.5):
    bars = (Bar(entry, value, value), Bar("I", 0.25, value + 0.25))
    return Bars("Layer 1 of 2, head 3 of 4", (Ranking(label, bars, 0.25, 3, "VERB"),))


def _everything(word="saw"):
    names = (word, "a")
    return Page(
        word,
        (
            Heading(word),
            Prose(f"{word} and so on"),
            Items((Item(word, "NOUN", "98%"), Item("a", "DET", "100%"))),
            Table(("name", "value"), ((word, "1"),), ("left", "right")),
            _bars(word, word),
            HeatMap("Layer 1 of 1, head 1 of 1", names, names, ((0.5, 0.5), (0.0, 1.0))),
        ),
    )


def test_the_first_screen_reads_like_this():
    page = Page("toy", (Items((Item("I", "PRON", "98%"), Item("saw", "VERB", "7%"))), _bars("I", "saw")))
    assert as_text(page, width=40).splitlines() == [
        "toy",
        "",
        "I     saw",
        "PRON  VERB",
        "98%   7%",
        "",
        "Layer 1 of 2, head 3 of 4",
        "word attends to            weight  total",
        "I    saw      ██████          50%    50%",
        "     I        ███             25%    75%",
        "     3 others                 25%   100%",
    ]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("word", HOSTILE)
@pytest.mark.parametrize("plain", [False, True])
def test_hostile_words_neither_act_nor_break_the_width(word, width, plain):
    text = as_text(_everything(word), width=width, plain=plain)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    if not plain and "\u200d" not in word:
        assert max(map(cell_len, text.splitlines())) <= width
    if "[red]" in word and width >= 40:
        assert "[red]x[/red]" in text


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("count", [1, 5, 23, 97])
def test_maps_fit_every_width(width, colour, count):
    text = re.sub(r"\x1b\[[0-9;]*m", "", as_text(Page("", (_map(count),)), width=width, colour=colour))
    assert max(map(cell_len, text.splitlines())) <= width
    assert "Layer 1 of 2" in text
    # A row label takes a third of the width at most: two labels a line with half blocks, one with shades.
    joined = (count == 97 and width < 120) or (count, width, colour) == (23, 32, True)
    assert ("joined into one" in re.sub(r"\s+", " ", text)) == joined


def test_piped_text_has_no_escape_and_a_terminal_has_colour():
    page = _everything()
    assert "\x1b" not in as_text(page)
    assert "\x1b[" in as_text(page, colour=True)
    assert "\x1b" not in as_text(page, colour=True, plain=True)


def _console(monkeypatch, **environment):
    for name in ("NO_COLOR", "COLUMNS", "TERM", "COLORTERM", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    file = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    file.isatty = lambda: True
    return Console(file=file), file


def _shown(page, console, file, **options):
    show(page, console, **options)
    file.flush()
    return file.buffer.getvalue().decode()


def test_no_color_keeps_the_numbers_and_drops_the_colours(monkeypatch):
    console, file = _console(monkeypatch, NO_COLOR="1", TERM="xterm-256color", COLUMNS="40")
    text = _shown(_everything(), console, file)
    assert not re.search(r"\x1b\[[0-9;]*(3|4|9|10)[0-9]", text)
    assert "in percent" in text


def test_a_dumb_terminal_and_sixteen_colours_get_the_map_without_colour(monkeypatch):
    for term in ("dumb", "xterm-16color"):
        console, file = _console(monkeypatch, TERM=term)
        text = _shown(Page("", (_map(5),)), console, file)
        assert "in percent" in text
        assert "\x1b[48" not in text


def test_ascii_terminals_get_ascii_drawings():
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    show(Page("", (_bars(), _map(47))), Console(file=file, width=80))
    file.flush()
    drawn = file.buffer.getvalue().decode("ascii")
    assert "####" in drawn
    assert ".:+*#" in drawn


def test_256_colours_draw_the_map_in_half_blocks():
    # In a process of its own: rich remembers the codes of a style from the first console that it was written to.
    program = (
        "import sys; from rich.console import Console; from regard.page import HeatMap, Page, show;"
        "n = tuple('ab') * 20; page = Page('', (HeatMap('t', n, n, ((0.5, 0.0) * 20,) * 40),));"
        "show(page, Console(force_terminal=True))"
    )
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    text = done.stdout.decode()
    cells = re.search(r"38;5;(\d+)[^m]*m▀.*?38;5;(\d+)[^m]*m▀", text)
    assert cells is not None
    assert cells.groups() == (str(nearest_256(colour_of(0.5))), str(nearest_256(ZERO)))


def test_half_blocks_show_two_rows_in_the_colours_of_the_scale():
    names = tuple(f"w{index}" for index in range(23))
    values = [[0.25] * 23 for _ in range(23)]
    values[0][0], values[0][1], values[0][2], values[1][3], values[22][0] = 0.0, None, math.nan, 1.0, 0.75
    page = Page("", (HeatMap("t", names, names, tuple(map(tuple, values))),))
    lines = [line for line in as_text(page, width=40, colour=True).splitlines() if "▀" in line]
    assert len(lines) == 12
    pairs = _cells(lines[0])
    assert pairs[0] == (ZERO, colour_of(0.25))
    assert pairs[1] == (MASKED, colour_of(0.25))
    assert pairs[2] == (NOT_A_NUMBER, colour_of(0.25))
    assert pairs[3] == (colour_of(0.25), colour_of(1.0))
    assert len(pairs) == 23
    assert _cells(lines[-1])[0] == (colour_of(0.75), None)


def _cells(line):
    found = []
    for codes, blocks in re.findall(r"\x1b\[([0-9;]*)m(▀+)", line):
        upper = re.search(r"38;2;(\d+);(\d+);(\d+)", codes)
        lower = re.search(r"48;2;(\d+);(\d+);(\d+)", codes)
        pair = tuple(tuple(map(int, each.groups())) if each else None for each in (upper, lower))
        found += [pair] * len(blocks)
    return found


@pytest.mark.parametrize("width", [40, 120])
def test_zero_masked_and_nan_are_told_apart_without_colour(width):
    count = 17
    names = tuple(f"w{index}" for index in range(count))
    values = [[0.5] * count for _ in range(count)]
    values[0][:3] = [0.0, None, math.nan]
    row = as_text(Page("", (HeatMap("t", names, names, tuple(map(tuple, values))),)), width=width).splitlines()[2]
    if width == 120:
        assert row.split()[2:6] == ["0", "--", "NaN", "50"]
    else:
        assert row.startswith(" 1 w0    //????"[:8])
        assert "  /" in row or "/" in row
        assert "?" in row
    legend = as_text(Page("", (HeatMap("t", names, names, tuple(map(tuple, values))),)), width=width)
    for words in ("is exactly 0", "is masked", "is not a number"):
        assert words in legend


def test_the_legend_prints_the_top_of_the_scale():
    assert "20%" in as_text(Page("", (_map(30, high=0.2),)), width=60)
    assert " 20%" in as_text(Page("", (_map(3, high=0.2),)), width=60, colour=True).splitlines()[-2]


def test_a_wide_map_says_in_words_that_it_was_pooled():
    text = " ".join(as_text(Page("", (_map(97),)), width=40).split())
    assert "Too wide for 40 columns, so 3 by 3 cells are joined into one: columns are summed" in text


def test_a_table_too_wide_is_stacked_and_loses_nothing():
    table = Table(("model", "title", "data"), (("english-pos", "a long title indeed", "ud-english-ewt"),))
    assert as_text(Page("", (table,)), width=80).splitlines()[1] == "english-pos  a long title indeed  ud-english-ewt"
    assert as_text(Page("", (table,)), width=34).splitlines() == [
        "english-pos",
        "  title: a long title indeed",
        "  data: ud-english-ewt",
    ]


def test_items_wrap_and_keep_each_label_under_its_word():
    words = ["常威", "在", "打", "来福", "antidisestablishmentarianism" * 2, "and", "a", "dog"]
    text = as_text(Page("", (Items(tuple(Item(word, f"L{index}") for index, word in enumerate(words))),)), width=32)
    lines = text.splitlines()
    assert lines[0] == "常威  在  打  来福"
    assert lines[1] == "L0    L1  L2  L3"
    assert lines[3].endswith("…")
    assert [label for line in lines for label in re.findall(r"L\d", line)] == [f"L{index}" for index in range(8)]


def test_plain_is_sentences_alone():
    lines = as_text(_everything(), plain=True).splitlines()
    assert "Word 1, saw: NOUN, 98 percent." in lines
    assert "saw attends to saw 50 percent, I 25 percent, together 75 percent; the 3 others share 25 percent." in lines
    assert "saw attends to saw 50 percent, a 50 percent." in lines
    assert "a attends to saw 0 percent, a 100 percent." in lines
    assert all(line.endswith(".") for line in lines)
    assert not re.search(r"[\u2500-\u259f%<>|]", "".join(lines))


def test_plain_names_punctuation_and_what_is_not_a_number():
    bars = Bars("t", (Ranking(".", (Bar(",", math.nan, math.nan),)), Ranking("a", ())))
    lines = as_text(Page("", (bars,)), plain=True).splitlines()
    assert lines[1:] == [". (full stop) attends to , (comma) not a number.", "a attends to nothing."]


def test_a_bar_above_one_says_what_a_full_bar_is():
    assert "A full bar is 200%." in as_text(Page("", (_bars(value=2.0),)))


def test_too_narrow_is_refused():
    with pytest.raises(ArgumentError, match="`width` must be at least 32, but is 31"):
        as_text(Page("", ()), width=31)


def test_an_empty_map_says_so():
    assert "nothing to draw" in as_text(Page("", (HeatMap("t", (), (), ()),)))


def _places(rows, columns):
    names = tuple(tuple(str(place) for place in range(1, count + 1)) for count in (rows, columns))
    values = tuple(tuple(1.0 if row == column else 0.25 for column in range(columns)) for row in range(rows))
    return Page("", (HeatMap("Pooling", *names, values, verb=""),))


def test_places_are_drawn_where_they_are():
    assert as_text(_places(3, 5), width=40).splitlines()[1:5] == [
        "  1 2 3 4 5",
        "1 ██░░░░░░░░",
        "2 ░░██░░░░░░",
        "3 ░░░░██░░░░",
    ]
    assert "\x1b[" in as_text(_places(3, 5), width=40, colour=True)
    sentences = as_text(_places(2, 2), plain=True).splitlines()
    assert sentences[1:] == [
        "Row 1: column 1 100 percent, column 2 25 percent.",
        "Row 2: column 1 25 percent, column 2 100 percent.",
    ]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("count", [1, 7, 28, 97])
def test_places_fit_every_width(width, colour, count):
    text = re.sub("\x1b\\[[0-9;]*m", "", as_text(_places(count, count), width=width, colour=colour))
    assert max(map(cell_len, text.splitlines())) <= width
    if count == 97 and width < 97:
        assert "joined into one and summed." in " ".join(text.split())
