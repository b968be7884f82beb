"""What the page of two records tells of both alike: the steps of one head, and differences in percentage points."""

import numpy as np
import pytest
import torch

from page.live_records import LABELS, WORDS, Toy
from page.test_live_difference import READ, made
from regard.inspection import Case, LayerRecord, Outcomes, Place, Record, comparison, live_page, see
from regard.page import as_text

STEPS = """
() => [0, 1].map((side) => [...document.querySelectorAll(`.steps-part [data-side="${side}"] .steps > div`)]
  .map((each) => each.innerText.replaceAll("\\n", " ")))
"""


def record_of(weight):
    """A record of two words, of which the first gives itself this weight."""
    layer = LayerRecord.of_weights("layer 1", torch.tensor([[[weight, 1 - weight], [0.5, 0.5]]]), "softmax")
    places = (Place("a", 0, "DET", 0.75), Place("saw", 1, "NOUN", 0.75))
    return Record(("a", "saw"), layers=(layer,), model="toy", noun="word", outcomes=Outcomes("labels", "item", places))


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


def test_a_terminal_says_points():
    one, other = (record_of(each) for each in (0.25, 0.75))
    written = as_text(comparison(one, other, query=1), width=80)
    assert [line.split()[-2:] for line in written.splitlines() if "25%" in line and "75%" in line][-2:] == [
        ["+50", "points"],
        ["-50", "points"],
    ]
    assert "B - A: -50 points" in as_text(comparison(one, other, query=1), plain=True)
