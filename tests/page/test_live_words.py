"""Words on the page: the colours of the map, arcs that grow with distance, a key of the heads, narrow windows."""

import json
import re
from dataclasses import replace
from importlib import resources
from itertools import pairwise

import pytest
import torch

import regard
from page.live_records import document, generated, labels, seen, whole
from page.test_live_colours import PIXELS
from page.test_live_difference import made
from regard.inspection import LayerRecord, Outcomes, Place, Record, live_page
from regard.page.messages import messages

CHIPS = """
() => [...document.querySelectorAll(".items .chips:not(.written) > li")].map((each) => {
  const label = each.querySelector(".label") ?? each;
  return { chosen: each.classList.contains("selected"), colour: getComputedStyle(each).backgroundColor,
    ink: getComputedStyle(each.querySelector(".text")).color, label: getComputedStyle(label).color };
})
"""


def rgb(text):
    return [int(each) for each in re.findall(r"\d+", text)[:3]]


def luminance(colour):
    parts = [each / 255 for each in colour]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", [1, 4])
def test_a_chip_has_the_colour_of_its_cell_in_the_map(live, scheme, place):
    page = live(document(labels()), f"#record=1&place={place}&layer=2&head=1&key=all&lang=en", color_scheme=scheme)
    page.wait_for_timeout(200)
    chips = page.evaluate(CHIPS)
    cells = [pixel for _, pixel in page.evaluate(PIXELS, [6, "canvas.map"])][5 * (place - 1) : 5 * place]
    assert [each["chosen"] for each in chips] == [number == place - 1 for number in range(5)]
    for chip, cell in zip(chips, cells, strict=True):
        if chip["chosen"]:
            continue
        assert rgb(chip["colour"]) == pytest.approx(cell, abs=1)
        for name in ("ink", "label"):
            assert contrast(rgb(chip["colour"]), rgb(chip[name])) >= 4.5


def attending(count, query):
    """A row of words, of which one attends to four of the others, near and far."""
    weights = torch.zeros(1, count, count)
    weights[0, :, 0] = 1.0
    weights[0, query] = 0.0
    for key in (0, 1, query - 4, query - 1):
        weights[0, query, key] = 0.25
    items = tuple(f"w{number}" for number in range(count))
    places = tuple(Place(item, number, "X", 0.9) for number, item in enumerate(items))
    layer = LayerRecord.of_weights("layer 1", weights, "softmax")
    return Record(items, layers=(layer,), model="toy", noun="word", outcomes=Outcomes("labels", "item", places))


ARCS = """
() => [...document.querySelectorAll(".arcs path")].map((each) => {
  const number = document.querySelector(`.arcs text[data-key="${each.dataset.key}"]`).getBoundingClientRect();
  const chip = document.querySelectorAll(".chips > li")[Number(each.dataset.key)].getBoundingClientRect();
  const { width, height } = each.getBBox();
  return { width, height, off: Math.abs((number.left + number.right) / 2 - (chip.left + chip.right) / 2),
    over: chip.top - number.bottom, wide: chip.width,
    lines: document.querySelector(".items").classList.contains("lines") };
})
"""


@pytest.mark.parametrize(("width", "lines"), [(1180, False), (390, True)])
def test_arcs_grow_with_the_distance_and_their_numbers_stand_over_the_words(live, width, lines):
    count, query = (12, 11) if not lines else (8, 5)
    page = live(
        document(attending(count, query)), f"#record=1&place={query + 1}&layer=1&head=1&key=all&lang=en", width=width
    )
    found = page.evaluate(ARCS)
    assert all(each["lines"] == lines for each in found)
    beside = sorted((each for each in found if each["height"] < 130), key=lambda each: each["width"])
    heights = [each["height"] for each in beside]
    assert len(heights) >= 3
    assert all(b - a > (2 if lines else 5) for a, b in pairwise(heights))
    for each in beside:
        assert each["off"] <= max(24, each["wide"] / 2)
        assert -4 <= each["over"] <= 20


@pytest.mark.parametrize(
    ("record", "english", "chinese"),
    [
        (seen, "how probable VERB is without it; another answer is orange.", "没有它时 VERB 的概率"),
        (lambda: whole("numbers", True), "by how much the answer changes without it.", "没有它时答案改变多少。"),
        (lambda: seen("vectors"), "by how much of its length the vector changes without it.", "向量改变了长度的多少。"),
        (lambda: labels(items=("a", "b")), "another answer is orange.", "橙色。"),
    ],
    ids=["labels", "numbers", "vectors", "another"],
)
def test_a_key_tells_what_is_below_the_heads(live, record, english, chinese):
    page = live(document(record()))
    told = page.locator(".heads-key").inner_text()
    assert re.search(re.escape(english).replace("VERB", "[A-Z]+") + "$", told)
    page.evaluate("location.hash = '#lang=zh'")
    page.wait_for_function("document.documentElement.lang.startsWith('zh')")
    assert re.search(chinese.replace("VERB", "[A-Z]+"), page.locator(".heads-key").inner_text())


def test_without_effects_of_heads_there_is_no_key(live):
    page = live(document(attending(6, 5)))
    assert page.locator(".heads-key").inner_text() == ""


@pytest.mark.parametrize(
    ("language", "names", "told"),
    [
        (
            "en",
            ["previous", "uniform"],
            "previous: on the item before; uniform: on all items that aren't masked, about equally.",
        ),
        ("zh", ["前一项", "均匀"], "前一项：在前面的一项；均匀：在所有未被遮住的项，大致相等。"),
    ],
)
def test_the_patterns_below_heads_are_explained_and_no_others(live, language, names, told):
    weights = torch.stack([torch.eye(6).roll(-1, 1), torch.full((6, 6), 1 / 6)])
    layer = LayerRecord.of_weights("layer 1", weights, "softmax")
    page = live(document(replace(attending(6, 5), layers=(layer,))), f"#lang={language}")
    assert [each.strip() for each in page.locator(".tile .pattern").all_inner_texts()] == names
    assert page.locator(".heads-patterns").inner_text().endswith(told)


def test_numbers_below_heads_are_orange_only_where_the_answer_is_another(live):
    assert live(document(whole("numbers", True))).locator(".after.changed").count() == 0
    assert sum(live(document(labels()), f"#place={place}").locator(".after.changed").count() for place in (1, 2, 3)) > 0


LINES = """
() => [...document.querySelectorAll(".compared tbody th bdi")].flatMap((each) => {
  const text = each.firstChild, found = [];
  for (const { index, 0: word } of text.data.matchAll(/[^ ]+/g)) {
    const range = document.createRange();
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    found.push([word, new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size]);
  }
  return found;
})
"""
WORDS = ("I", "saw", "incredibly", "beautiful", "gardens", ".")


def test_no_word_of_the_table_is_broken_in_a_narrow_window(live):
    for page in (
        live(document(labels(items=WORDS)), width=390),
        live(live_page(made(WORDS, 1), against=made(WORDS, 2)), width=390),
    ):
        found = page.evaluate(LINES)
        assert {word for word, _ in found} >= set(WORDS)
        assert [word for word, lines in found if lines > 1] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_bars_of_both_are_there_in_a_narrow_window(live):
    page = live(live_page(made(WORDS, 1), against=made(WORDS, 2)), width=390)
    bars = page.evaluate(
        "[...document.querySelectorAll('.compared .bar.weight')].map((each) => "
        "[each.getBoundingClientRect().width, parseFloat(each.style.width), each.getBoundingClientRect().height])"
    )
    assert len(bars) == 12
    assert all(height >= 3 for *_, height in bars)
    full = max(wide for wide, *_ in bars)
    most = max(share for _, share, _ in bars)
    assert full > 8
    for wide, share, _ in bars:
        assert wide == pytest.approx(full * share / most, abs=1.2)
    assert page.locator(".compared .track .bar.effect").first.is_visible()


def test_points_are_whole_words_in_a_narrow_window(live):
    page = live(live_page(made(WORDS, 1), against=made(WORDS, 2)), width=390)
    texts = page.evaluate(
        "[...document.querySelectorAll('.compared .more, .compared .less')].map((each) => each.innerText)"
    )
    assert texts
    heights = page.evaluate(
        "[...document.querySelectorAll('.compared .more, .compared .less')].map((each) => { const range = "
        "document.createRange(); range.selectNodeContents(each); return range.getClientRects().length; })"
    )
    assert max(heights) <= 2


@pytest.mark.parametrize(
    ("made", "english", "chinese"),
    [
        (lambda: replace(labels(), noun="node"), "Pick a node: what did it attend to,", "选一个节点：它注意了什么"),
        (lambda: replace(labels(), noun="atom"), "Pick an atom: what did it attend to,", "选一个原子：它注意了什么"),
        (
            lambda: replace(whole("labels", True), noun="patch"),
            "Pick a patch: how much did the model",
            "选一个块：模型",
        ),
        (generated, "Pick a part of the output: what did it", "选输出的一部分：它注意了什么"),
    ],
    ids=["node", "atom", "whole", "generated"],
)
def test_a_reader_is_asked_to_pick_what_the_model_reads_or_writes(live, made, english, chinese):
    page = live(document(made()))
    assert page.locator(".ask").inner_text().startswith(english)
    page.evaluate("location.hash = '#lang=zh'")
    page.locator(".ask", has_text=chinese).wait_for()


def test_tags_are_named_in_both_languages(live):
    page = live(document(labels()))
    assert page.locator(".glossary").inner_text() == "DET: determiner · NOUN: noun · VERB: verb"
    pairs = "(all) => all.map((each) => [each.innerText.split(' ')[0], each.title])"
    named = page.locator(".chips .label").evaluate_all(pairs)
    meanings = {"DET": "determiner", "NOUN": "noun", "VERB": "verb"}
    assert named
    assert all(meanings[tag] == title for tag, title in named)
    page.evaluate("location.hash = '#lang=zh'")
    page.locator(".glossary", has_text="DET：限定词 · NOUN：名词 · VERB：动词").wait_for()


def test_the_tags_are_those_of_universal_dependencies():
    tags = messages()["tags"]
    known = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
    assert list(tags) == known.split()
    assert all(each["en"] and each["zh"] and set(each) == {"en", "zh"} for each in tags.values())


def test_every_tag_of_the_bundled_taggers_is_named():
    """The Chinese one has the tags of its treebank, of which no label lacks words."""
    named = messages()
    assert set(regard.load("chinese-pos").labels) <= {*named["xpos"], *named["tags"]}
    assert set(regard.load("english-pos").labels) <= {*named["tags"]}
    assert all(each["en"] and each["zh"] and set(each) == {"en", "zh"} for each in named["xpos"].values())


def test_marks_that_are_tags_are_left_out_of_the_glossary(live):
    record = labels(items=("猫", "跑", "。"))
    names = {"DET": "NNB", "NOUN": "VV", "VERB": "."}
    places = tuple(each._replace(label=names[each.label]) for each in record.outcomes.places)
    outcomes = Outcomes("labels", "item", places)
    page = live(document(replace(record, labels=tuple(each.label for each in places), outcomes=outcomes)))
    assert page.locator(".glossary").inner_text() == "NNB: measure word or unit · VV: verb"
    page.evaluate("location.hash = '#lang=zh'")
    page.locator(".glossary", has_text="NNB：量词或单位 · VV：动词").wait_for()


@pytest.mark.parametrize("label", ["good", "toString", "__proto__", ""])
def test_labels_that_are_no_tags_are_not_explained(live, label):
    """Neither what is no tag, nor a tag beside it."""
    places = (Place("a", 0, label, 0.9), Place("b", 1, "X", 0.9), Place("c", 2, "X", 0.9))
    weights = torch.full((1, 3, 3), 1 / 3)
    layer = LayerRecord.of_weights("layer 1", weights, "softmax")
    found = Outcomes("labels", "item", places)
    page = live(document(Record(("a", "b", "c"), (label, "X", "X"), (0.9,) * 3, (layer,), "toy", outcomes=found)))
    assert page.locator(".glossary").is_hidden()


def test_the_end_of_an_output_and_the_error_are_explained(live):
    record = generated()
    assert live(document(record)).locator(".glossary").is_hidden()
    places = (*record.outcomes.places[:-1], record.outcomes.places[-1]._replace(name="(end)", label="(end)"))
    ended = replace(record, outcomes=replace(record.outcomes, places=places), queries=(*record.queries[:-1], "(end)"))
    assert live(document(ended)).locator(".glossary").inner_text() == "(end): the output ends here"
    numbers = whole("numbers", False)
    wrong = replace(numbers, outcomes=replace(numbers.outcomes, error=0.5))
    said = live(document(wrong)).locator(".glossary").inner_text()
    assert said == "RMSE: root-mean-square error, how far the model is off on examples that it hasn't seen"
    assert live(document(numbers)).locator(".glossary").is_hidden()


def test_the_chosen_assay_is_explained_and_no_other(live):
    names = ("NR-AR", "SR-p53", "toString")
    layer = LayerRecord.of_weights("layer 1", torch.full((1, 2, 2), 0.5), "softmax")
    found = Outcomes("labels", "item", tuple(Place(name, None, "no", 0.9) for name in names))
    text = document(Record(("C1", "O2"), layers=(layer,), model="toy", noun="atom", outcomes=found))
    said = [live(text, f"#place={place}").locator(".glossary") for place in (1, 2, 3)]
    asked = "does the molecule act on {}? (an assay of Tox21)"
    assert said[0].inner_text() == f"NR-AR: {asked.format('the androgen receptor')}"
    assert said[1].inner_text() == f"SR-p53: {asked.format('p53, which answers to damage of DNA')}"
    assert said[2].is_hidden()
    chinese = live(text, "#place=1&lang=zh").locator(".glossary").inner_text()
    assert chinese == "NR-AR：分子是否作用于雄激素受体？（Tox21 的一项测定）"


def test_the_assays_are_those_of_the_bundled_model():
    told = json.loads((resources.files("regard.tasks") / "models/toxicity/model.json").read_text(encoding="utf-8"))
    assert set(messages()["assays"]) == set(told["answer"]["names"])
    assert all(each["en"] and each["zh"] and set(each) == {"en", "zh"} for each in messages()["assays"].values())
