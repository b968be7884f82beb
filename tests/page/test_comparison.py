"""Two values of each item side by side: in a terminal of any width, as sentences, and as HTML."""

import re

import pytest
from rich.cells import cell_len

from regard.page import ComparedItem, Comparison, Item, Items, Page, as_html, as_text

ROWS = (
    ComparedItem("I", 0.25, 0.125, "+12%", "NOUN 92%"),
    ComparedItem("a", 0.5, 0.75, "-75%", "VERB 55%"),
    ComparedItem("nothing", 0.0, 0.0, "0%", "NOUN 80%"),
)
BLOCK = Comparison("Layer 1 of 2, head 3 of 4", ROWS, third="without it", others="3 others have 1% at most.")


def text(block=BLOCK, **options):
    return as_text(Page("", (block,)), **options)


def test_each_scale_is_its_own_and_its_largest_value_is_a_full_bar():
    lines = text(width=80).splitlines()
    assert lines[0] == "Layer 1 of 2, head 3 of 4"
    assert lines[1].split() == ["word", "attended", "mattered", "without", "it"]
    assert lines[3] == "a        ████████████████  50%  ████████████████ -75%  VERB 55%".replace("  50%", " 50%")
    assert lines[2].startswith("I        ████████         25%  ██▋              +12%  NOUN 92%")
    assert lines[4].split() == ["nothing", "0%", "0%", "NOUN", "80%"]
    assert lines[5] == "3 others have 1% at most."


@pytest.mark.parametrize("width", [32, 40, 59, 60, 80, 200])
def test_no_line_is_too_wide_and_no_number_is_lost(width):
    long = (
        *ROWS,
        ComparedItem("x" * 300, 0.125, 0.25, "-25%", "y" * 300),
        ComparedItem("来福" * 40, 1.0, 1.0, "-100%"),
    )
    written = text(Comparison("title " * 40, long, third="without it"), width=width)
    assert all(cell_len(line) <= width for line in written.splitlines())
    for number in ("25%", "50%", "-75%", "+12%", "-100%"):
        assert number in written


def test_without_the_second_value_there_is_one_column():
    block = Comparison("a layer", (ComparedItem("I", 0.25), ComparedItem("a", 0.5)))
    lines = text(block, width=60).splitlines()
    assert lines[1].split() == ["word", "attended"]
    assert lines[3].split()[-1] == "50%"


def test_nothing_at_all():
    assert text(Comparison("a layer", ())).splitlines()[1].split() == ["word", "attended"]
    zeros = Comparison("a layer", (ComparedItem("a", 0.0, 0.0, "0%"),))
    assert "█" not in text(zeros)
    assert "NaN" in text(Comparison("a layer", (ComparedItem("a", float("nan"), float("nan"), "NaN"),)))


def test_sentences_say_all_of_it():
    lines = text(plain=True).splitlines()
    assert lines[2] == "a: attended 50 percent, mattered minus 75 percent, without it VERB 55 percent."
    assert lines[-1] == "3 others have 1 percent at most."
    assert re.search("[█▏]", text(plain=True)) is None


def test_html_says_all_of_it_and_escapes_it():
    hostile = ComparedItem("</script>", 0.5, 0.25, "<b>", "&amp;")
    page = as_html(Page("", (Comparison("<i>", (*ROWS, hostile), third="without it", others="1 <i> other."),)))
    assert "<b>" not in page
    assert "</script>" not in page
    assert "&lt;/script&gt;" in page
    assert page.count('class="bar effect"') == 4
    assert "1 &lt;i&gt; other." in page
    assert '<th scope="col">mattered</th>' in page
    assert "width:100.00%" in page


def test_the_item_that_a_page_is_about_is_marked():
    page = Page("", (Items((Item("a", "DET"), Item("saw", "NOUN", marked=True))),))
    assert as_text(page).splitlines()[0].split() == ["a", "[saw]"]
    assert "Word 2, saw, which this is about: NOUN." in as_text(page, plain=True)
    assert '<li class="marked" aria-current="true">' in as_html(page)
    assert as_html(page).count("aria-current") == 1


def test_bars_from_zero_go_both_ways_and_none_is_cut():
    rows = (
        ComparedItem("a", 0.5, -0.75, "80% -> 5%"),
        ComparedItem("b", 0.25, 0.25, "80% -> 99%"),
        ComparedItem("c", 0.25, 1e-9, "80%"),
    )
    lines = text(Comparison("a layer", rows), width=80).splitlines()[2:]
    down, up, least = (line.partition("%")[2] for line in lines)
    ends = [line.index("█" * 4) for line in (down, up)]
    assert ends[0] < ends[1]
    assert up.rindex("█") > down.rindex("█")
    assert "▏" in least
    # First values, such as shares by a method of attribution, do, too.
    turned = Comparison("a layer", tuple(ComparedItem(row.label, row.second or 0.0, row.first, "x") for row in rows))
    down, up, least = (line.partition("%")[0] for line in text(turned, width=80).splitlines()[2:])
    assert down.rindex("█") + 1 == up.index("█") == least.index("▏")
    html = as_html(Page("", (turned,)))
    assert 'style="margin-left:0.00%;width:75.00%"' in html
    assert 'style="margin-left:75.00%;width:25.00%"' in html
    # Next to nothing beside a fall still has a cell, and a fall beside next to nothing all others.
    for changes in ((-1.0, 1e-9), (1.0, -1e-9)):
        pair = tuple(ComparedItem(name, 0.5, change, "x") for name, change in zip("ab", changes, strict=True))
        written = text(Comparison("a layer", pair), width=80)
        assert "…" not in written
        assert len({len(line) for line in written.splitlines()[2:]}) == 1
