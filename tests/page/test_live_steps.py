"""The steps to one weight, as the live page writes them: they give the weight, whatever the size of the scores."""

import math
import re
from dataclasses import replace
from decimal import Decimal

import pytest
import torch

from page.live_records import RECORDS, document, labels, record_of_calls, seen
from regard.attention import Causal, Dot
from regard.attention.masks import Mask, Predicate
from regard.inspection import LayerRecord, Outcomes, Place
from regard.inspection.record.seen_layer import SeenLayer
from regard.page.modules import joined
from regard.page.numbers import percent

STEP = "[...document.querySelectorAll('.steps > div')].map((each) => each.innerText.replaceAll('\\n', ' '))"


# The same mask twice: as intervals of keys, and by a rule of which the page holds a table.
INTERVALS, TABLE = Causal(), Predicate(lambda batch, head, query, key: key <= query)


def number_of(text: str) -> float:
    """A number of a formula, whose minus sign is that of print."""
    return float(text.replace("−", "-"))


def layer_of_scores(scores: torch.Tensor, mask: Mask) -> LayerRecord:
    """A layer with these scores, (query, key)."""
    keys = torch.eye(len(scores))[None, None]
    nothing = torch.arange(0), keys[:, :, :0]
    parts = Dot(), "softmax", mask, None
    return LayerRecord("layer 1", (SeenLayer("", "a call", scores[None, None], keys, keys, *parts, 0.0, *nothing),))


@pytest.mark.parametrize(
    ("middle", "mask"),
    [(0.0, INTERVALS), (-40.0, TABLE), (900.0, INTERVALS), (-900.0, TABLE), (2.0**28, INTERVALS)],
)
def test_the_softmax_is_written_with_numbers_that_give_the_weight(live, middle, mask):
    apart = 64 if middle > 1e6 else 1
    scores = middle + apart * torch.tensor([[0.0, 9, 9], [0.5, -1, 9], [-0.5, 1.25, 0.25]])
    page = live(document(record_of_calls(layer_of_scores(scores, mask))))
    for query, key in ((1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)):
        page.evaluate(f"location.hash = '#place={query}&layer=1&head=1&key={key}'")
        page.wait_for_function(
            f"document.querySelector('.steps-part .quiet').textContent.startsWith('{query} → {key},')"
        )
        row = scores[query - 1, :query].double()
        weight, own, largest = float(row.softmax(0)[key - 1]), float(row[key - 1]), float(row.max())
        subtracted, softmax = page.evaluate(STEP)[-2:]
        found = re.fullmatch(r"− the largest score (\S+) − \(?([^\s)]+)\)? = (\S+)", subtracted)
        assert found, subtracted
        for text, number in zip(found.groups(), (own, largest, own - largest), strict=True):
            assert number_of(text) == pytest.approx(number, rel=5e-4, abs=1e-12)
        found = re.fullmatch(rf"softmax over {query} exp\(([^\s)]+)\) ÷ (\S+) = (\S+)", softmax)
        assert found, softmax
        assert math.exp(number_of(found[1])) / float(found[2]) == pytest.approx(
            weight, rel=2e-3 + 5e-4 * abs(own - largest)
        )
        assert found[3] == percent(weight)


def written(text: str) -> Decimal:
    """A number as it is written, to its last digit."""
    return Decimal(text.replace("−", "-"))


def last_place(*texts: str) -> Decimal:
    """One in the last place of the number that has the fewest decimal places; what is 0 has any."""
    return max(
        (Decimal(1).scaleb(int(written(each).as_tuple().exponent)) for each in texts if each != "0"), default=Decimal(0)
    )


def test_what_is_printed_of_sums_adds_up(script):
    torch.manual_seed(0)
    # Terms of any size beside each other, some of them equal but for the last bits of float32.
    sizes = 10.0 ** torch.randint(-9, 9, (4000, 3)).double()
    values = torch.randn(4000, 3).double() * sizes
    values[:300, 2] = (values[:300, 0] + values[:300, 1]) * (1 + 1e-7 * torch.randn(300).double())
    sums = [
        {"scaled": scaled, "bias": bias, "score": scaled + bias, "largest": largest}
        for scaled, bias, largest in [*values.tolist(), [0.7349, 6.5509, 7.2858], [1.711, 0.0, 1.711 + 2.39e-7]]
    ]
    found = script(joined("sums.js"), "x.map(scoreTexts)", sums)
    for given, texts in zip(sums, found, strict=True):
        numbers = given | {"difference": given["score"] - given["largest"]}
        scaled, bias, score, largest, difference = (
            texts[name] for name in ("scaled", "bias", "score", "largest", "difference")
        )
        is_large = max(map(abs, numbers.values())) >= 1e6
        for sum_, *terms in ((score, scaled, bias), (score, largest, difference)):
            gap = abs(written(sum_) - sum(map(written, terms)))
            assert gap <= (2 * max(last_place(each) for each in (sum_, *terms)) if is_large else 0), (given, texts)
        # Each is the number itself, but for one in the last place.
        place = last_place(*texts.values()) or Decimal("1e-6")
        for name, text in texts.items():
            own = last_place(text) if is_large and text != "0" else place
            assert abs(written(text) - Decimal(numbers[name])) <= Decimal("1.5") * own, (name, given, texts)
    assert found[-2] == {"scaled": "0.735", "bias": "6.551", "score": "7.286", "largest": "7.286", "difference": "0"}
    assert found[-1]["difference"] == "0"


def test_minus_infinity_is_no_number_to_add(script):
    hidden = script(joined("sums.js"), "scoreTexts({ scaled: 0.5, bias: -Infinity, score: -Infinity })")
    assert (hidden["scaled"], hidden["bias"], hidden["score"]) == ("0.5000", "−Infinity", "−Infinity")


def note_of(page):
    return page.locator(".steps-part .title .quiet").inner_text()


def test_the_heading_says_which_weight_the_steps_are_of_and_why(live):
    page = live(document(seen()), "#place=2&key=all&lang=en")
    record = seen()
    weights = record.layers[-1].weights().mean(0)[1]
    names = ("a", "saw (2)", "film", "saw (4)", ".")
    largest, other = int(weights.argmax()), int(weights.argmin())
    assert note_of(page) == f"saw (2) → {names[largest]}, the largest weight"
    page.evaluate(f"location.hash = '#place=2&key={other + 1}&lang=en'")
    page.wait_for_function("document.querySelector('.steps-part .title .quiet').textContent.includes('chosen')")
    assert note_of(page) == f"saw (2) → {names[other]}, as chosen"
    page.evaluate(f"location.hash = '#place=2&key={other + 1}&lang=zh'")
    page.wait_for_function("document.querySelector('.steps-part .title .quiet').textContent.includes('所选')")


@pytest.mark.parametrize(("name", "start"), [("a label", "average of all rows → "), ("a label, pooled", "pooling → ")])
def test_the_heading_names_averages_and_the_pooling(live, name, start):
    found = note_of(live(document(RECORDS[name]())))
    assert found.startswith(start)
    assert found.endswith(", the largest weight")


def test_what_the_steps_leave_out_is_told_by_its_sum(live):
    """Of many products three are written, and of many shares eight."""
    torch.manual_seed(0)
    query, key = torch.randn(2, 1, 1, 12, 7)
    layer = LayerRecord(
        "layer 1",
        (SeenLayer("", "a call", query, key, key, Dot(), "softmax", None, None, 0.0, torch.arange(0), key[:, :, :0]),),
    )
    record = replace(record_of_calls(layer), outcomes=Outcomes("labels", "item", (Place("the whole", None, "x", 0.5),)))
    page = live(document(record), "#key=3&lang=en")
    steps = page.evaluate(STEP)
    row = int(layer.weights()[0, :, 2].argmax())
    terms = sorted((query[0, 0, row] * key[0, 0, 2]).double().tolist(), key=abs, reverse=True)
    told = re.search(r"\+ … \(4 other products, together (\S+)\) = (\S+)", " ".join(steps))
    assert told, steps
    assert number_of(told[1]) == pytest.approx(sum(terms[3:]), rel=1e-3)
    assert number_of(told[2]) == pytest.approx(sum(terms), rel=1e-3)
    shares = layer.weights()[0, :, 2].double()
    assert (
        f", … (4 others, {percent(float(shares[8:].mean()))} on average) → {percent(float(shares.mean()))}" in steps[-1]
    )


def test_what_is_printed_of_products_adds_up(script):
    torch.manual_seed(1)
    rows = (torch.randn(2000, 4).double() * 10.0 ** torch.randint(-6, 5, (2000, 1)).double()).tolist()
    sums = [[row, sum(row)] for row in [*rows, [5.612, -3.339, 2.75, -1.989], [0.0, 0.0], [1e-9, -1e-9]]]
    found = script(joined("sums.js"), "x.map(([terms, sum]) => sumTexts(terms, sum))", sums)
    for (terms, total), texts in zip(sums, found, strict=True):
        assert sum(map(written, texts["terms"])) == written(texts["sum"]), (terms, texts)
        place = last_place(texts["sum"], *texts["terms"]) or Decimal("1e-6")
        for text, number in zip((texts["sum"], *texts["terms"]), (total, *terms), strict=True):
            assert abs(written(text) - Decimal(number)) <= (Decimal("2.5") if number == terms[-1] else 1) * place
    assert found[2000] == {"terms": ["5.6120", "−3.3390", "2.7500", "−1.9890"], "sum": "3.0340"}
    # Beyond a million each number has four digits of its own, and what is no number is written as such.
    large, none = script(joined("sums.js"), "[sumTexts([2e6, 1.5], 2000001.5), sumTexts([Infinity, 1], Infinity)]")
    assert large == {"terms": ["2e+06", "1.5"], "sum": "2e+06"}
    assert none["sum"] == "Infinity"


def products_of(page):
    (found,) = [each for each in page.evaluate(STEP) if each.startswith("q · k")]
    return found.removeprefix("q · k ")


def test_factors_are_written_where_they_give_the_sum_and_products_elsewhere(live):
    def page_of(query, key):
        query, key = (torch.tensor(each).double()[None, None, None] for each in (query, key))
        parts = Dot(), "softmax", None, None, 0.0, torch.arange(0), key[:, :, :, :0]
        layer = LayerRecord("layer 1", (SeenLayer("", "a call", query, key, key, *parts),))
        return live(document(record_of_calls(layer)))

    assert products_of(page_of([2.0, -1.0], [1.5, 4.0])) == "(−1) × 4 + 2 × 1.5 = −1"
    # 1.111 × 1.111 twice is 2.469, and no 2.468.
    assert products_of(page_of([1.11088, 1.11088], [1.11088, 1.11088])) == "1.2341 + 1.2340 = 2.4681"
    text = products_of(page_of([2.465, 2.5, 1.25, 1.0, 1.0], [2.465, -1.335, 2.2, -1.0, -0.989]))
    assert text == "6.0762 + (−3.3375) + 2.7500 + … (2 other products, together −1.9890) = 3.4997"


def test_a_page_without_queries_and_keys_says_why_and_what_shows_the_steps(live):
    said = live(document(labels())).locator(".steps-part").inner_text()
    assert "No steps: they can be shown for a softmax over products of queries and keys" in said
    assert "To see each call of attention, save the record (regard see --save FILE) and run regard steps FILE." in said
