"""What the page of two records tells of both alike: the steps of one head, and differences in percentage points."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from page.live_records import LABELS, WORDS, Toy
from page.test_live_difference import READ, made
from regard.inspection import (
    Case,
    LayerRecord,
    Outcome,
    Outcomes,
    Place,
    Record,
    comparison,
    comparison_of,
    live_page,
    see,
)
from regard.inspection.explain.alignment import align
from regard.inspection.explain.head_differences import head_differences
from regard.inspection.views.comparison import difference_sentence
from regard.page import as_text
from regard.page.numbers import percent

STEPS = """
() => [0, 1].map((side) => [...document.querySelectorAll(`.steps-part [data-side="${side}"] .steps > div`)]
  .map((each) => each.innerText.replaceAll("\\n", " ")))
"""


def record_of(*weights):
    """A record of words, of which the first gives these weights, and the last one what is left."""
    first, count = [*weights, 1 - sum(weights)], len(weights) + 1
    rows = torch.tensor([[first, *[[1 / count] * count] * (count - 1)]])
    layer, words = LayerRecord.of_weights("layer 1", rows, "softmax"), ("a", "saw", "it")[:count]
    places = tuple(Place(word, number, "DET", 0.75) for number, word in enumerate(words))
    return Record(words, layers=(layer,), model="toy", noun="word", outcomes=Outcomes("labels", "item", places))


def head_of(steps):
    """The number of the head that the steps name, and what is said of it."""
    (found,) = [each for each in steps if each.startswith("head ")]
    return int(found.split()[1]), found


def seen_pair(seeds):
    """Records of one module that `see` watched with vectors of different seeds, so that the page has the steps."""
    torch.manual_seed(6)
    model = Toy().eval()
    found = []
    for seed in seeds:
        torch.manual_seed(seed)
        vectors = 3 * torch.randn(1, 5, 8)
        places = tuple((word, number) for number, word in enumerate(WORDS))
        softmax = torch.nn.Softmax(-1)
        case = Case("toy", model, vectors, model, softmax, "labels", WORDS, places, LABELS.__getitem__, noun="word")
        found.append(see(case))
    return found


@pytest.mark.slow
def test_the_steps_of_an_average_are_those_of_one_head_in_both(live):
    """Whatever the pair: the head is the one of which the two weights have the largest sum, and the page says so."""
    one, other = seen_pair((1, 2))
    page = live(live_page(one, ("one", "other"), against=other))
    a, b = (each.layers[1].weights().double().numpy() for each in (one, other))
    apart = 0
    for place in range(5):
        for key in range(5):
            page.evaluate(f"location.hash = '#record=1&place={place + 1}&layer=2&head=all&key={key + 1}&lang=en'")
            page.wait_for_function(f"document.querySelectorAll('.compared tr.key')[0]?.dataset.key === '{key}'")
            expected = int(np.argmax(a[:, place, key] + b[:, place, key])) + 1
            apart += int(np.argmax(a[:, place, key]) != np.argmax(b[:, place, key]))
            for steps in page.evaluate(STEPS):
                assert head_of(steps) == (expected, f"head {expected} of 2 has the largest weight in A and B together")
    # The test could fail: alone, the heads would differ for some pairs.
    assert apart > 3
    page.evaluate("location.hash = '#record=1&place=1&layer=2&head=2&key=1&lang=en'")
    page.wait_for_function("!document.querySelector('.steps-part').innerText.includes('together')")


def test_a_layer_of_one_head_leaves_the_other_its_own(live):
    """Where one of both has no average, the head of the other is the one with its largest weight."""
    one, other = made(("a", "b", "c"), 1, heads=(1,)), made(("a", "b", "c"), 2, heads=(2,))
    page = live(live_page(one, ("one", "other"), against=other), "#record=1&place=1&layer=1&head=all&key=1&lang=en")
    assert "together" not in page.locator(".steps-part").inner_text()


@pytest.mark.parametrize(("lang", "points"), [("en", "+50 points"), ("zh", "+50 个百分点")])
def test_a_difference_of_percentages_is_in_points(live, lang, points):
    one, other = (record_of(each) for each in (0.25, 0.75))
    page = live(live_page(one, ("one", "other"), against=other))
    (found,) = page.evaluate(READ, [f"#record=1&place=1&layer=1&head=all&key=all&lang={lang}"])
    assert [row[2] for row in found["rows"]] == [points, points.replace("+", "−")]
    map_part = page.locator('.map-part > div > div:has([data-side="difference"])')
    map_part.locator("canvas").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    said = map_part.locator(".line").inner_text()
    assert said.endswith(points.replace("+", "−")), said
    legend = map_part.locator(".legend").inner_text()
    assert "−50 " in legend
    assert points in legend


def test_equal_weights_are_told_where_they_are_others(live):
    """Of two words each has more than of three, without anything being attended to."""
    equal = "Equal weights would be 50% in A, 33% in B."
    one, other = record_of(0.25), record_of(0.75, 0.125)
    told = comparison_of(one, other, query=1)
    assert told.equal == pytest.approx((1 / 2, 1 / 3))
    assert equal in told.sentence
    assert live(live_page(one, ("one", "other"), against=other)).locator(".sentence").inner_text() == told.sentence
    assert "Equal weights" not in comparison_of(one, record_of(0.75), query=1).sentence
    # Nor where no weight is told.
    assert "Equal weights" not in comparison_of(one, record_of(0.25, 0.75), query=1).sentence


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("count", [0, 1, 3, 4])
def test_the_sentence_names_what_changes_the_answer_in_both(live, count, lang):
    """As Python's does, of up to three items, beside the one that changes it on one side."""

    def record(flipped):
        hidden = [Outcome("VERB" if item < flipped else "DET", 0.5, -0.25) for item in range(6)]
        places = tuple(Place(word, number, "DET", 0.75) for number, word in enumerate("abcdef"))
        found = Outcomes("labels", "item", places, tuple((each,) * 6 for each in hidden))
        return replace(made(tuple("abcdef"), 1), outcomes=found)

    one, other = record(count), record(count + 1)
    told = comparison_of(one, other, query=6)
    sentence = difference_sentence(told.records, told.places, told.items, lang, equal=told.equal)
    assert (("does so in both" in sentence) or ("两者的答案都会改变" in sentence)) == (count in (1, 3))
    page = live(live_page(one, ("one", "other"), against=other), f"#place=6&lang={lang}")
    assert page.locator(".sentence").inner_text() == sentence


def test_the_key_below_the_heads_of_both_says_what_a_full_bar_is(live):
    one, other = made(("a", "b", "c"), 1, heads=(2,)), made(("a", "b", "c"), 2, heads=(2,))
    key = live(live_page(one, ("one", "other"), against=other)).locator(".heads-key").inner_text()
    share = percent(max(map(max, head_differences(one, other, align(one, other)))))
    assert key.endswith(f"in B than in A, also as a bar, which is full at {share}.")
    # Where nothing differs there are no bars.
    key = live(live_page(one, ("one", "other"), against=one)).locator(".heads-key").inner_text()
    assert key.endswith("on other items in B than in A.")


def test_the_scale_of_differences_reaches_what_is_written(live):
    """61.51% and 12.49% are 49.02 points apart, but are written as 62% and 12%, and their difference as 50 points."""
    one, other = record_of(0.1249), record_of(0.6151)
    page = live(live_page(one, ("one", "other"), against=other), "#place=1")
    legend = page.locator('.map-part > div > div:has([data-side="difference"]) .legend').inner_text()
    assert "+50 points" in legend


def test_a_terminal_says_points():
    one, other = (record_of(each) for each in (0.25, 0.75))
    written = as_text(comparison(one, other, query=1), width=80)
    assert [line.split()[-2:] for line in written.splitlines() if "25%" in line and "75%" in line][-2:] == [
        ["+50", "points"],
        ["-50", "points"],
    ]
    assert "B - A: -50 points" in as_text(comparison(one, other, query=1), plain=True)


@pytest.mark.parametrize("words", [("a", "b"), ("a", "b", "c")])
def test_of_the_whole_input_each_side_says_what_is_averaged(live, words):
    def whole(seed):
        place = Place("the whole", None, "x", 0.5)
        return replace(made(words, seed), outcomes=Outcomes("labels", "item", (place,)))

    over = "average over both words" if len(words) == 2 else "average over all 3 words"
    page = live(live_page(whole(1), ("one", "other"), against=whole(2)))
    assert [each.endswith(over) for each in page.locator(".side-name").all_inner_texts()] == [True, True]
    # Of one word there is no average over the queries.
    page = live(live_page(made(words, 1), ("one", "other"), against=made(words, 2)))
    assert not any("over" in each for each in page.locator(".side-name").all_inner_texts())


def test_no_paragraph_ends_in_a_word_of_its_own(live):
    page = live(live_page(made(("a", "b"), 1), ("one", "other"), against=made(("a", "b"), 2)))
    found = page.locator("footer p").first.evaluate("(each) => getComputedStyle(each).textWrapStyle")
    assert found == "pretty"
