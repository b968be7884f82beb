"""Heads of one model are ranked by how much they differ; of two models none is compared with that of its number."""

from dataclasses import replace

from page.test_live_difference import made
from regard.inspection import comparison, live_page
from regard.page import as_text

ONE = made(("a", "saw", "film"), 1, heads=(2, 3))
# The same model on another input, and another model.
SAME = made(("a", "saw", "film"), 2, heads=(2, 3))
OTHER = replace(SAME, model="other")
APART = "models that were trained apart aren't comparable one by one"


def ranked(page):
    """The heads of the terminal's table, in its order, with their differences."""
    lines = [line.split() for line in as_text(page, width=100).splitlines()]
    return [(line[0], int(line[-1].rstrip("%"))) for line in lines if line and line[0][1:2] == "." and "%" in line[-1]]


def test_the_terminal_ranks_the_heads_of_one_model_alone():
    same, apart = comparison(ONE, SAME), comparison(ONE, OTHER)
    assert [number for _, number in ranked(same)] == sorted((number for _, number in ranked(same)), reverse=True)
    assert [head for head, _ in ranked(apart)] == ["1.1", "1.2", "2.1", "2.2", "2.3"]
    assert sorted(ranked(same)) == ranked(apart)
    assert ranked(same) != ranked(apart)
    assert (APART in as_text(same, width=200), APART in as_text(apart, width=200)) == (False, True)
    # Heads that have no row differ less only where they are ranked.
    few = [as_text(comparison(ONE, each, top=2), width=200) for each in (SAME, OTHER)]
    assert ["other heads differ less" in each for each in few] == [True, False]


def test_the_page_names_those_that_differ_most_of_one_model_alone(live):
    for other, is_same in ((SAME, True), (OTHER, False)):
        page = live(live_page(ONE, ("one", "other"), against=other))
        heads = page.locator(".heads-part")
        assert heads.locator(".named").is_visible() is is_same
        assert ("Differ most" in heads.inner_text(), APART in heads.inner_text()) == (is_same, not is_same)
        assert "%" in page.locator('[data-id="head 0 1"] .gap').inner_text()
