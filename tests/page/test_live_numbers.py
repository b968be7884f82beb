"""What the live page prints is what Python computes, for each layer, head and place, and to the printed digit."""

import dataclasses
import math
import random
import re

import pytest
import torch

from page.live_records import RECORDS, document, views
from regard.inspection import LayerRecord, Outcome, Outcomes, Place, Record, story_of
from regard.inspection.explain.summaries import select_weights
from regard.inspection.record.numbered import numbered
from regard.inspection.views.facts import sentence
from regard.inspection.views.outcome_text import change_text, rounded, said, without_text
from regard.inspection.views.story import story
from regard.page import as_text
from regard.page.modules import joined
from regard.page.numbers import (
    brief_change,
    decimals_of,
    in_decimals,
    in_points,
    percent,
    percent_change,
    probability,
    rounded_text,
)

# The texts of each of some views.
READ = """
(hashes) => hashes.map((hash) => {
  history.replaceState(null, "", hash);
  dispatchEvent(new Event("popstate"));
  const texts = (query, root = document) => [...root.querySelectorAll(query)].map((each) => each.textContent);
  return {
    sentence: texts(".sentence").join(),
    table: [...document.querySelectorAll(".compared tbody tr")].map((each) => texts("th, td", each)),
    heads: Object.fromEntries([...document.querySelectorAll(".tile")].map((each) =>
      [each.dataset.id, texts(".after", each).join().trim()])),
    arcs: texts(".arcs text"),
    steps: texts(".steps-part h2").join(),
  };
})
"""
# What the map says of each cell, by the arrow keys: from the first corner, row by row.
WALK = """
([rows, columns]) => {
  const map = document.querySelector("canvas.map"), line = document.querySelector(".line");
  const press = (key, shiftKey = false) =>
    map.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true }));
  press("ArrowUp", true);
  press("ArrowLeft", true);
  const found = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      found.push(line.textContent);
      press("ArrowRight");
    }
    for (let column = 0; column < columns; column++) press("ArrowLeft");
    press("ArrowDown");
  }
  return found;
}
"""


def typographic(change: str) -> str:
    """A change as the page writes it, with a minus sign before it."""
    return f"−{change[1:]}" if change.startswith("-") else change.replace(" -> ", " → ")


@pytest.fixture(params=RECORDS)
def record(request: pytest.FixtureRequest) -> Record:
    return RECORDS[request.param]()


def test_each_view_says_what_python_says(live, record):
    page = live(document(record))
    assert record.outcomes is not None
    kind, hashes = record.outcomes.kind, dict(views(record))
    for found, given in zip(page.evaluate(READ, list(hashes)), hashes.values(), strict=True):
        told = story_of(record, **given)
        assert found["sentence"] == told.sentence
        rows = [[name, percent(weight)] for name, weight in zip(numbered(record.items), told.weights, strict=True)]
        for row, outcome in zip(rows, told.hidden, strict=False):
            row.append(typographic(change_text(outcome, kind, told.place)))
            if kind != "vectors":
                said_without = without_text(outcome, kind, told.place)
                row.append(typographic(said_without) if kind == "numbers" else said_without)
        assert found["table"] == rows
        for layer, head, _, outcome, _ in told.removed:
            same = outcome.label == told.place.label
            label = typographic(change_text(outcome, kind)) if kind != "labels" else said(outcome)
            if kind == "labels" and same and outcome.score is not None:
                label = probability(outcome.score)
            assert found["heads"][f"head {layer - 1} {head - 1}"] == label
        drawn = [weight for weight in told.weights if weight >= 0.02]
        assert sorted(found["arcs"]) == sorted(map(percent, drawn))
        assert found["steps"] == f"How the {percent(max(told.weights))} came about"


def test_the_sentence_is_the_same_in_chinese(live, record):
    page, hashes = live(document(record)), dict(views(record))
    found = page.evaluate(READ, [each.replace("lang=en", "lang=zh") for each in hashes])
    expected = [sentence(record, story_of(record, **given), "zh") for given in hashes.values()]
    assert [each["sentence"] for each in found] == expected


@pytest.mark.parametrize("name", ["labels", "a label, pooled", "generated", "seen"])
def test_each_cell_of_the_map_says_its_weight(live, name):
    record = RECORDS[name]()
    page = live(document(record))
    rows = numbered(record.query_items)
    for hash, given in views(record):
        if given["query"] != 1 or (record.pooling is not None and given["layer"] is given["head"] is None):
            continue
        page.evaluate(READ, [hash])
        weights = select_weights(record, given["layer"], given["head"]).weights.double()
        expected = [
            f"{row} attends to {column}: {percent(float(weights[i, j]))}"
            for i, row in enumerate(rows)
            for j, column in enumerate(numbered(record.items))
        ]
        assert page.evaluate(WALK, list(weights.shape)) == expected


def test_numbers_are_written_as_python_writes_them(script):
    torch.manual_seed(0)
    values = torch.cat([torch.rand(2000).double(), torch.rand(500).double() ** 8, 1 - torch.rand(500).double() ** 8])
    exact = [0.0, 1.0, 0.005, 0.995, 0.125, 0.375, 0.625, 0.5, 1 - 1e-7, 1e-300, math.nan, math.inf, -math.inf]
    fractions = [*values.tolist(), *exact]
    found = script(joined("numbers.js"), "x.map((each) => [percent(each), probability(each)])", fractions)
    assert found == [[percent(each), probability(each)] for each in fractions]
    assert script(joined("numbers.js"), "percent(null)") == percent(None)
    changes = (torch.randn(3000).double() * 10.0 ** torch.randint(-9, 9, (3000,))).tolist()
    for kind in ("labels", "numbers", "vectors"):
        sizes = [math.fabs(each) for each in changes] if kind == "vectors" else changes
        texts = script(
            joined("facts.js"),
            "x[1].map((each) => changeText(each, x[0], wordsOf('en')))",
            [kind, [*sizes, 0.0, math.nan]],
        )
        expected = [change_text(Outcome("", None, each), kind) for each in [*sizes, 0.0, math.nan]]
        assert texts == [*map(typographic, expected)]
    pairs = [
        (one, other) for one, other in zip(fractions, reversed(fractions), strict=True) if math.isfinite(one + other)
    ]
    found = script(joined("numbers.js"), "x.map((each) => percentChange(...each))", [*pairs, (0.5, 0.5)])
    assert found == [typographic(percent_change(*each)) for each in [*pairs, (0.5, 0.5)]]


@pytest.mark.parametrize(("lang", "told"), [("en", "<1 lower"), ("zh", "低 <1 个百分点")])
def test_a_difference_of_less_than_a_point_is_said_in_words(script, lang, told):
    """A minus sign before "<" isn't read; how differences are written is the same in Python and on the page."""
    pairs = [(0.501, 0.499), (0.499, 0.501), (0.001, 0.999), (0.2, 0.19), (0.2, 0.5), (0.5, 0.5), (math.nan, 0.5)]
    source, write = joined("facts.js"), "inPoints(percentChange(...each), wordsOf(x[0]))"
    found = script(source, f"x[1].map((each) => {write})", [lang, pairs])
    assert found == [typographic(in_points(percent_change(*each), lang)) for each in pairs]
    assert found[0] == told
    brief = script(source, "x.map((each) => briefChange(...each))", pairs)
    assert brief == [typographic(brief_change(*each)) for each in pairs]
    assert brief[:2] == ["<1", "<1"]
    change = Outcome("VERB", 0.4, -0.002)
    assert change_text(change, "labels", Place("saw", 0, "NOUN", 0.001), lang) == in_points("-<1%", lang)


def test_numbers_below_zero_have_one_minus_sign(live):
    hidden = tuple((Outcome(f"{-3.277 + change:.4g}", None, change),) for change in (-0.055, 0.25))
    outcomes = Outcomes("numbers", "item", (Place("the whole", None, "-3.277", None),), hidden)
    layer = LayerRecord.of_weights("layer 1", torch.full((1, 2, 2), 0.5), "softmax")
    text = live(document(Record(("C1", "C2"), layers=(layer,), noun="atom", outcomes=outcomes))).inner_text("main")
    assert {"−3.277", "−0.055", "−3.332", "−3.027"} <= set(re.findall(r"[-−]\d[.\d]*\d", text))
    assert not re.search(r"-\d", text)


@pytest.mark.parametrize("error", [0.8145, 12.3, 0.0021, 0.0])
def test_numbers_have_the_decimals_of_the_error_on_the_page_as_in_the_story(live, error):
    record = RECORDS["a number"]()
    changes, answer = (-0.0007, 0.1357, -2.5, 0.0, 31.25), -5.226
    hidden = tuple((Outcome(f"{answer + change:#.4g}", None, change),) for change in changes)
    place = Place("the whole", None, f"{answer:.4g}", None)
    removed = (hidden[:2], hidden[:3])
    found = Outcomes("numbers", "item", (place,), hidden, removed, error=error)
    record = dataclasses.replace(record, outcomes=found)
    page = live(document(record))
    (read,) = page.evaluate(READ, ["#"])
    told = story(record)
    (block,) = (each for each in told.blocks if hasattr(each, "measured"))
    assert [row[2:] for row in read["table"]] == [
        [typographic(row.written), typographic(row.note)] for row in block.rows
    ]
    assert read["sentence"].replace("−", "-") == story_of(record).sentence
    heads = [row for each in told.blocks if getattr(each, "columns", ())[:1] == ("head",) for row in each.rows]
    # A change of 0.0007 is none beside such errors.
    assert ("unchanged" in {each[2] for each in heads}) == (error > 0.5)
    assert [each[2] for each in heads] == [
        read["heads"][f"head {layer} {head}"].replace("−", "-")
        for layer, head in ((0, 0), (0, 1), (1, 0), (1, 1), (1, 2))
    ]
    written = {0.8145: "-5.23", 12.3: "-5", 0.0021: "-5.226", 0.0: "-5.226"}[error]
    assert page.locator(".written .text").inner_text().replace("−", "-") == written
    assert f"is {written} (RMSE" in read["sentence"].replace("−", "-")
    # What is kept in the record, and in the JSON of it, has all digits.
    assert story_of(record).place.label == "-5.226"


def test_decimals_are_rounded_as_python_rounds_them(script):
    random.seed(0)
    values = [sign * number / 2**power for sign in (-1, 1) for number in range(40) for power in range(5)]
    values += [round(random.gauss(0, 10**power), random.randint(0, 5)) for power in range(-4, 5) for _ in range(60)]
    cases = [[value, decimals] for value in values for decimals in range(5)]
    texts = ["-5.226", "1234", "1.235e+05", "1.5e-05", "nan", "inf", "", "0.5000", "-0.001000", "12.5", "2.5"]
    labels = [[text, decimals] for text in texts for decimals in range(4)]
    errors = [0.8145, 12.3, 345.0, 0.0998, 0.00951, 0.0, 1e-9, 99.6]
    source = joined("numbers.js")
    assert script(source, "x.map((each) => inDecimals(...each))", cases) == [in_decimals(*each) for each in cases]
    assert script(source, "x.map((each) => roundedText(...each))", labels) == [rounded_text(*each) for each in labels]
    assert script(source, "x.map(decimalsOf)", errors) == [*map(decimals_of, errors)]


def test_a_change_of_a_number_is_the_difference_of_the_numbers_that_are_written(script):
    """A reader who subtracts finds the change, by one rule in Python and on the page; unchanged is what reads alike."""
    random.seed(1)
    pairs = [(random.gauss(0, 3), random.gauss(0, 10 ** random.uniform(-4, 0))) for _ in range(600)]
    cases = []
    for (before, change), error in zip(pairs, (0.81, 0.0098, 12.3, None) * 150, strict=True):
        place = Place("the whole", None, f"{before:#.4g}", None)
        outcome = Outcome(f"{before + change:#.4g}", None, change)
        cases.append((place, outcome, error, change_text(outcome, "numbers", place, error=error)))
    # Changes that aren't those of the numbers are told as they are.
    foreign = Outcome("-5.226", None, 0.5)
    cases.append((Place("the whole", None, "-5.226", None), foreign, 0.81, "+0.50"))
    page = [
        [{"label": each.label, "change": outcome.change}, rounded(place, error).label, error]
        for place, each, outcome, error in ((p, rounded(o, e), o, e) for p, o, e, _ in cases)
    ]
    place = "{ label, score: null, decimals: decimalsOf(error) }"
    read = f"x.map(([outcome, label, error]) => effectText(outcome, {place}, 'numbers', {{ unchanged: 'unchanged' }}))"
    assert script(joined("numbers.js"), read, page) == [typographic(text) for *_, text in cases]
    differ = 0
    for place, outcome, error, text in cases[:-1]:
        if error is None:
            continue
        before, after = (rounded(each, error).label for each in (place, outcome))
        decimals = max(len(each.partition(".")[2]) for each in (before, after))
        assert (text == "unchanged") == (float(before) == float(after))
        if text != "unchanged":
            assert float(before) + float(text) == pytest.approx(float(after), abs=1e-9)
        differ += float(in_decimals(outcome.change, decimals)) != float(text.replace("unchanged", "0"))
    # The test could fail: rounded alone, some changes would be others.
    assert differ > 20


def test_what_is_unchanged_has_no_mark_of_noise(script):
    place = Place("the whole", None, "NOUN", 0.8)
    changes = [(0.001, 0.5), (-0.2, 0.5), (0.0, 0.5), (-0.2, 0.1)]
    outcomes = [Outcome("NOUN", 0.8 + change, change, floor) for change, floor in changes]
    found = [change_text(each, "labels", place) for each in outcomes]
    assert found == ["unchanged", "80% -> 60% (noise)", "unchanged", "80% -> 60%"]
    given = [
        {"label": "NOUN", "score": each.score, "change": each.change, "isNoise": not each.above_noise}
        for each in outcomes
    ]
    words = "{ unchanged: 'unchanged', asNoise: ' (noise)' }"
    read = f"x.map((each) => effectText(each, {{ label: 'NOUN', score: 0.8 }}, 'labels', {words}))"
    assert script(joined("numbers.js"), read, given) == [typographic(each) for each in found]


@pytest.mark.parametrize("label", ["good", "bad"])
@pytest.mark.parametrize("other", [0.5, 0.9, math.nan])
def test_an_effect_that_is_not_a_number_is_told_as_such(live, label, other):
    """A model that gives NaN without an item has a story and a page that say the same: of the other item, if of any."""
    hidden = ((Outcome(label, math.nan, math.nan),), (Outcome("good", other, other - 0.9),))
    layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.7, 0.3], [0.7, 0.3]]]), "softmax")
    outcomes = Outcomes("labels", "item", (Place("the whole", None, "good", 0.9),), hidden)
    record = Record(("a", "b"), layers=(layer,), noun="word", outcomes=outcomes)
    page = live(document(record))
    told = story_of(record).sentence
    assert page.inner_text(".sentence") == told
    assert "NaN" not in told
    assert ("falls from 90% to 50%" in told) == (other == 0.5)
    assert "NaN" in page.locator(".compared tbody tr").first.inner_text()
    assert "NaN" in as_text(story(record))
