"""Attention that is about equal is told as that, by one rule in Python and on the page, and is drawn pale."""

import math

import pytest
import torch

import regard
from page.live_records import document
from regard.inspection import LayerRecord, Outcome, Outcomes, Place, Record, story, story_of
from regard.inspection.views.facts import sentence
from regard.inspection.views.uniform import equal_share, is_uneven, uniform_over
from regard.modules import MultiHeadAttention
from regard.page import Comparison, as_text
from regard.page.modules import joined
from regard.page.numbers import percent
from regard.page.scale import full_bar, full_colour

WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog")


def recorded(weights: list[float], effect: int = 0) -> Record:
    """A record of which every row has the same weights, and hiding one item changes the answer."""
    words = WORDS[: len(weights)]
    places = tuple(Place(word, number, "X", 0.75) for number, word in enumerate(words))
    same = tuple(Outcome("X", 0.75, 0.0) for _ in words)
    changed = tuple(Outcome("X", 0.25, -0.5) for _ in words)
    hidden = tuple(changed if number == effect else same for number in range(len(words)))
    layer = LayerRecord.of_weights("layer 1", torch.tensor(weights).expand(1, len(words), -1).clone(), "softmax")
    outcomes = Outcomes("labels", "item", places, hidden)
    return Record(words, ("X",) * len(words), (0.75,) * len(words), (layer,), "toy", noun="word", outcomes=outcomes)


@pytest.mark.parametrize("items", [3, 9, 40, 1000])
def test_scores_that_spread_little_are_uniform_and_others_are_not(items):
    torch.manual_seed(0)
    scores = torch.randn(200, items, dtype=torch.double)
    few, many = ([uniform_over(row.tolist()) for row in (spread * scores).softmax(-1)] for spread in (0.1, 3.0))
    assert few == [items] * 200
    # Of three random scores some are near each other by chance.
    assert sum(each > 0 for each in many) <= (10 if items == 3 else 0)


def test_one_item_that_stands_out_is_found_in_a_long_row():
    weights = [1.0] * 999 + [20.0]
    assert math.exp(-sum(w / 1019 * math.log(w / 1019) for w in weights)) > 0.95 * 1000
    assert uniform_over(weights) == 0
    assert uniform_over([1.0] * 999 + [2.0]) == 1000


@pytest.mark.parametrize(
    "weights", [[], [1.0], [0.56, 0.44], [0.5, 0.0, 0.5], [0.0] * 5, [math.nan] * 5, [math.inf, 1.0, 1.0], [-0.3] * 4]
)
def test_what_is_no_distribution_over_several_items_is_not_uniform(weights):
    assert uniform_over(weights) == 0


def test_of_two_items_neither_has_most_where_both_have_about_half():
    assert uniform_over([0.5, 0.5]) == uniform_over([0.545, 0.455]) == 2


def test_equal_weights_are_told_without_a_largest_one():
    record = recorded([1 / 9] * 8 + [1 / 9 + 1e-4], effect=3)
    told = story_of(record, query=1)
    assert told.sentence == (
        '"the" is X (75%). It attended to all 9 words about equally (11% each), and hiding "fox" changes the answer '
        "most: X falls from 75% to 25%."
    )
    assert "它对全部 9 个词的注意大致相等（各 11%）" in sentence(record, told, "zh")
    assert "Equal weights would be 11% each." in as_text(story(record))


def test_of_equal_weights_the_largest_is_not_called_it():
    record = recorded([1 / 9] * 8 + [1 / 9 + 1e-4], effect=8)
    assert story_of(record, query=1).attended == 8
    assert 'equally (11% each), and hiding "dog" changes' in story_of(record, query=1).sentence


def test_equal_weights_over_some_items_say_how_many():
    record = recorded([0.25, 0.0, 0.25, 0.25, 0.25, 0.0], effect=1)
    assert "It attended to 4 of 6 words about equally (25% each)" in story_of(record, query=1).sentence


def test_where_weights_are_about_equal_there_is_no_contrast_to_small_effects(live):
    """Only beside a largest weight it is a surprise that no item matters much."""
    for weights, start in (
        ([1 / 3] * 3, "attended to all 3 words about equally (33% each), and hiding any single word hardly"),
        ([0.5, 0.5], "attended to both words about equally (50% each), and hiding any single word hardly"),
        ([0.8, 0.1, 0.1], 'attended most to "the" (80%), but hiding any single word hardly'),
        (
            [0.4, 0.35, 0.25],
            "words, no more unevenly than by chance (25% to 40% each), and hiding any single word hardly",
        ),
    ):
        record = recorded(weights, effect=len(WORDS))
        told = story_of(record, query=2)
        assert start in told.sentence
        page = live(document(record, query=2))
        assert page.locator(".sentence").inner_text() == told.sentence
        page.evaluate("location.hash = '#place=2&lang=zh'")
        page.wait_for_function("document.documentElement.lang.startsWith('zh')")
        assert page.locator(".sentence").inner_text() == sentence(record, told, "zh")


def test_about_equal_weights_that_are_written_otherwise_are_told_from_the_smallest_to_the_largest(script):
    weights = [0.32, 0.0, 0.3, 0.2, 0.18, 0.0]
    record = recorded(weights, effect=1)
    told = story_of(record, query=1)
    assert "It attended to 4 of 6 words, no more unevenly than by chance (18% to 32% each), and hiding" in told.sentence
    assert "它对 6 个词中的 4 个有注意，其不均匀不超过偶然（各 18% 到 32%）" in sentence(record, told, "zh")
    # Those that spread less are about equal.
    near = story_of(recorded([0.29, 0.0, 0.26, 0.24, 0.21, 0.0], effect=1), query=1)
    assert "It attended to 4 of 6 words about equally (21% to 29% each), and hiding" in near.sentence
    assert script(joined("uniform.js"), "equalEnds(x)", weights) == [0.18, 0.32]


def test_a_method_of_attribution_keeps_its_largest_item():
    told = story_of(recorded([1 / 9] * 9, effect=3), query=1, attribution="rollout")
    assert "By rollout, it took most from" in told.sentence


def test_the_scales_leave_equal_weights_at_half():
    assert math.sqrt((1 / 9) / full_colour(1 / 9, 9)) == pytest.approx(0.5)
    assert (1 / 9) / full_bar(1 / 9, 9) == pytest.approx(0.5)
    assert full_colour(0.9, 9) == full_bar(0.9, 9) == 0.9
    assert equal_share([[0.5] * 9], 9) == 0.0


def test_the_page_has_the_same_rule_and_scales(script):
    torch.manual_seed(1)
    rows = [(s * torch.randn(n)).softmax(-1).double().tolist() for s in (0.0, 0.2, 0.3, 0.4, 2.0) for n in range(1, 40)]
    rows += [[0.25, 0.0, 0.25, 0.25, 0.25, 0.0], [1.0] * 999 + [20.0], [0.9] * 5, [0.0] * 4, [-0.5] * 4]
    view = "{ weights: each, layer: { mask: {}, keys: each.length, queries: 1 }, head: 0, usesPooling: true }"
    parts = f"uniformOver(each), equalShare({view}), fullColour(each[0], each.length), isUneven(each)"
    read = f"x.map((each) => [{parts}])"
    found = script(joined("uniform.js"), read, rows)
    assert len({each[0] > 0 for each in found}) == 2
    assert len({uneven for over, *_, uneven in found if over}) == 2
    for row, (over, share, full, uneven) in zip(rows, found, strict=True):
        assert over == uniform_over(row)
        assert not over or uneven == is_uneven(row)
        assert share == pytest.approx(equal_share([row], len(row)))
        assert full == pytest.approx(full_colour(row[0], len(row)))


def test_of_two_weights_among_zeros_the_mask_says_whether_the_others_could_have_any(script):
    rows = [([0.51, 0.0, 0.49], 2), ([0.51, 0.0, 0.49], 3), ([0.51, 0.0, 0.49], 0), ([0.6, 0.0, 0.4], 2)]
    assert [uniform_over(*each) for each in rows] == [2, 0, 0, 0]
    assert script(joined("uniform.js"), "x.map((each) => uniformOver(...each))", rows) == [2, 0, 0, 0]


def test_a_row_of_which_the_page_has_the_largest_weights_has_the_rest_in_equal_parts(script):
    read = "x.map((each) => uniformOver(each.map((weight) => weight ?? NaN)))"
    rows = [[0.12, 0.11, *[None] * 7], [0.5, 0.3, *[None] * 7]]
    assert script(joined("uniform.js"), read, rows) == [9, 0]


@pytest.mark.parametrize("query", [1, 3, 5])
def test_equal_weights_are_those_of_the_keys_that_a_mask_allows(live, query):
    torch.manual_seed(2)
    attention = MultiHeadAttention(4, heads=2).eval()
    with regard.watch(attention) as seen:
        attention(torch.randn(1, 5, 4), mask="causal")
    items = tuple("abcde")
    places = tuple(Place(item, place, "X", 0.75) for place, item in enumerate(items))
    record = Record(
        items,
        ("X",) * 5,
        (0.75,) * 5,
        (LayerRecord("layer 1", (seen[0],)),),
        noun="letter",
        outcomes=Outcomes("labels", "item", places),
    )
    share = percent(1 / query)
    block = next(each for each in story(record, query=query).blocks if isinstance(each, Comparison))
    among = {1: " for the 1 that isn't masked", 3: " for each of the 3 that aren't masked", 5: " each"}[query]
    assert block.rest == f"Equal weights would be {share}{among}."
    page = live(document(record, query=query))
    assert f"The line across the bars is what equal weights would be: {share}{among}." in page.inner_text("main")
    # The rows of the map may attend to different numbers of keys.
    assert "equal weights:" not in page.locator(".map-part .legend").inner_text()


def test_the_page_shows_equal_weights_pale_and_marks_them(live):
    page = live(document(recorded([1 / 9] * 9, effect=3)))
    assert "about equally (11% each)" in page.locator(".sentence").inner_text()
    legend = page.locator(".map-part .legend")
    assert legend.inner_text().replace("\n", "") == (
        "weight 0%  11% · the stronger the colour, the larger · the line marks equal weights: 11% each · "
        "the full colour would be 44%"
    )
    mark = legend.locator(".equal").evaluate(
        "(each) => (each.getBoundingClientRect().left - each.parentElement.getBoundingClientRect().left) / "
        "each.parentElement.clientWidth"
    )
    # The end of the scale, with half of the full colour.
    assert mark == pytest.approx(1, abs=0.03)
    colours = legend.locator(".scale").evaluate("(each) => each.style.background")
    assert "var(--weight-high) 50.0%, var(--weight-low)) 100.00%" in colours
    bars = page.locator(".compared .bar.weight").evaluate_all(
        "(all) => all.map((each) => parseFloat(each.style.width))"
    )
    assert bars == pytest.approx([30.0] * 9, abs=0.1)
    marks = page.locator(".compared .equal").evaluate_all("(all) => all.map((each) => parseFloat(each.style.left))")
    assert marks == pytest.approx(bars, abs=0.1)
