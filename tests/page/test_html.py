import math
import re
from html.parser import HTMLParser

import pytest

from regard.errors import ArgumentError
from regard.page import Bar, Bars, Heading, HeatMap, Item, Items, Page, Prose, Ranking, Table, as_html

VOID = {"meta", "br", "hr", "img", "link", "input"}
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><b>',
    "a\0b",
    "\x1b[31m",
    "\ud800",
    "&amp;",
]


class Tree(HTMLParser):
    """Parses strictly: every tag closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def _page(word="saw"):
    names = (word, "a", "b")
    values = ((0.5, 0.5, 0.0), (None, 1.0, 0.0), (math.nan, 0.25, 0.25))
    return Page(
        word,
        (
            Heading(word),
            Prose(word),
            Items((Item(word, word, "98%"),)),
            Table((word, "value"), ((word, "1"),)),
            Bars(word, (Ranking(word, (Bar(word, 0.5, 0.5), Bar("a", 0.25, 0.75)), 0.25, 3, word),)),
            HeatMap(word, names, names, values),
        ),
    )


def _parse(page):
    tree = Tree()
    text = as_html(page)
    tree.feed(text)
    tree.close()
    assert tree.open == []
    return tree, text


@pytest.mark.parametrize("word", ["saw", *HOSTILE])
def test_it_parses_escapes_and_makes_no_element_of_a_word(word):
    tree, text = _parse(_page(word))
    plain, _ = _parse(_page("saw"))
    assert tree.tags == plain.tags
    assert "script" not in tree.tags
    assert "\0" not in text
    assert "\x1b" not in text
    text.encode("utf-8")


def test_it_refers_to_nothing_outside_and_forbids_it():
    tree, text = _parse(_page())
    for _, attributes in tree.attributes:
        assert not {"src", "href", "srcset", "data", "action"} & set(attributes)
    assert not re.search(r"url\(|@import|https?:|//", text)
    assert "default-src 'none'" in text


def test_it_is_semantic():
    tree, text = _parse(_page())
    assert tree.tags.count("h1") == 1
    assert dict(tree.attributes)["html"] == {"lang": "en"}
    assert tree.tags.count("table") == 3
    assert tree.tags.count("caption") == 2
    assert all("scope" in attributes for tag, attributes in tree.attributes if tag == "th")
    assert "prefers-color-scheme: dark" in text
    assert ("th", {"scope": "rowgroup", "rowspan": "3"}) in tree.attributes
    assert 'lang="zh-Hans"' in as_html(_page(), language="zh-Hans")


def test_cells_hold_their_number_and_their_share_of_the_scale():
    _, text = _parse(_page())
    table = text[text.index('<table class="map">') :]
    cells = re.findall(r'<td(?: class="(\w+)")?(?: style="--share:(\d+)%")?>([^<]+)</td>', table)
    assert [cell[2] for cell in cells] == ["50%", "50%", "0%", "masked", "100%", "0%", "NaN", "25%", "25%"]
    # The square root of the weight; what is none of the scale has a class of its own.
    assert [cell[1] for cell in cells] == ["71", "71", "", "", "100", "", "", "50", "50"]
    assert [cells[at][0] for at in (2, 3, 6)] == ["zero", "masked", "broken"]
    assert "masked" in text.split("Colours:")[1]


def test_a_large_map_is_pooled_and_says_so():
    names = tuple(map(str, range(211)))
    tree, text = _parse(Page("", (HeatMap("t", names, names, tuple((1 / 211,) * 211 for _ in names)),)))
    assert tree.tags.count("td") <= 64 * 64 + 1
    assert "4 by 4 cells are joined into one" in text


def test_places_are_said_to_be_places():
    _, text = _parse(Page("", (HeatMap("Pooling", ("1",), ("1", "2"), ((0.25, 0.75),), verb=""),)))
    assert "Pooling: rows and columns are those of the picture" in text
    assert "attends to" not in text


def test_several_of_a_noun_are_written_right():
    assert 'aria-label="patches"' in _parse(Page("", (Items((Item("1,1"),), "patch"),)))[1]


def test_a_language_that_is_none_is_refused():
    with pytest.raises(ArgumentError, match="`language` must be a language tag"):
        as_html(_page(), language='en"><script>')
