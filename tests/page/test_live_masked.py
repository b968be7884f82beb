"""The page says of an item that the mask hides that it is masked, and not that its weight is 0; so does the story."""

import dataclasses

import pytest
import torch

from page.live_records import document, outcomes
from regard.attention import Causal, Dot, Edges
from regard.attention.masks import Predicate
from regard.inspection import LayerRecord, Outcome, Outcomes, Place, Record, comparison_of, live_page, story, story_of
from regard.inspection.record.seen_layer import SeenLayer
from regard.inspection.views.comparison_page import comparison_page
from regard.page import as_html, as_text
from regard.page.numbers import percent

ITEMS = ("a", "saw", "film", "now")
# Each attends to itself, to what comes before it, or to its neighbours.
MASKS = {
    "intervals": (Causal(), lambda query, key: key <= query),
    "a table": (Edges(torch.tensor([(0, 0), (1, 0), (1, 1), (3, 1), (2, 2), (3, 3)]).T), None),
    "a table a head": (Predicate(lambda batch, head, query, key: (key <= query) | (head == 1)), None),
    "none": (None, lambda query, key: True),
}


def masked_call(mask, items=4):
    torch.manual_seed(7)
    query, key, value = torch.randn(3, 1, 2, items, 4)
    nothing = torch.arange(0), query[..., :0]
    return SeenLayer("", "by hand", query, key, value, Dot(), "softmax", mask, None, 0.0, *nothing)


def masked_record(mask, calls=1):
    layer = LayerRecord("layer 1", tuple(masked_call(mask) for _ in range(calls)))
    torch.manual_seed(8)
    places = [Place(text, number, "NOUN", 0.75) for number, text in enumerate(ITEMS)]
    found = outcomes("labels", "item", places, len(ITEMS), (layer.heads,))
    return Record(ITEMS, layers=(layer,), model="toy", noun="word", outcomes=found)


def weights_told(page, hash):
    page.evaluate("hash => { history.replaceState(null, '', hash); dispatchEvent(new Event('popstate')) }", hash)
    return page.locator(".compared tbody td:nth-child(2)").all_inner_texts()


@pytest.mark.parametrize("calls", [1, 2], ids=["one call", "an ensemble"])
@pytest.mark.parametrize("name", MASKS)
def test_masked_items_are_told_where_a_single_weight_is_written(live, name, calls):
    record = masked_record(MASKS[name][0], calls)
    page = live(document(record))
    for query in range(1, 5):
        for head in (None, *range(1, 2 * calls + 1)):
            told = story_of(record, query=query, head=head)
            weights = record.layers[0].weights()[:, query - 1]
            hidden = (weights if head is None else weights[[head - 1]]).amax(0) == 0
            assert [told.is_masked(item) for item in range(4)] == hidden.tolist()
            (block,) = (each for each in story(record, query=query, head=head).blocks if hasattr(each, "measured"))
            assert [row.first_written for row in block.rows] == ["masked" if each else "" for each in hidden]
            found = weights_told(page, f"#place={query}&layer=1&head={head or 'all'}")
            assert [each == "masked" for each in found] == hidden.tolist()
            assert page.locator(".compared .bar.weight.none").count() == int(hidden.sum())


def test_the_words_are_those_of_each_language_and_of_both_programs(live):
    record = masked_record(Causal())
    page = live(document(record), "#place=1&head=1&lang=en")
    for line in (as_text(story(record, query=1, head=1)), as_html(story(record, query=1, head=1)).split("<main>")[1]):
        # Three items, and what equal weights are of.
        assert line.count("masked") == 4
    # "0%" is no weight of a masked item, neither in the list nor under the pointer.
    texts = page.locator(".compared tbody").inner_text()
    assert "0%" not in texts.split()
    boxes = page.locator(".compared .boxes").evaluate_all("each => each.map(({ title }) => title)")
    assert boxes[1:] == ["1: masked, 2: masked"] * 3
    page.evaluate("location.hash = '#place=1&head=1&key=4'")
    page.locator(".steps-part .quiet", has_text="a → now, as chosen").first.wait_for()
    assert page.locator(".steps-part h2").inner_text() == "How the weight came about"
    assert weights_told(page, "#place=1&head=1&lang=zh")[1:] == ["被遮住"] * 3


def test_hovering_a_masked_item_says_so(live):
    many = dataclasses.replace(masked_record(Causal()), queries=ITEMS)
    page = live(document(many), "#place=2")
    titles = page.locator(".chips:not(.written) > li").evaluate_all("each => each.map(({ title }) => title)")
    assert titles[2:] == ["masked"] * 2
    assert all(each.endswith("%") for each in titles[:2])


def test_both_records_of_a_comparison_tell_what_is_masked_in_each(live):
    pair = masked_record(Causal()), masked_record(None)
    page = live(live_page(pair[0], ["one", "other"], against=pair[1], query=2))
    rows = page.locator(".compared tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells[1].querySelectorAll('.side-line')].map((each) => each.innerText))"
    )
    assert [["masked" in each for each in row] for row in rows] == [[False, False]] * 2 + [[True, False]] * 2
    found = comparison_of(*pair, query=2)
    assert [each.masked for each in found.items] == [(False, False)] * 2 + [(True, False)] * 2
    assert as_text(comparison_page(found, ("one", "other"))).count("masked") == 2


def test_items_without_rows_are_told_to_be_masked(live):
    size = 20
    own = Predicate(lambda batch, head, query, key: query == key)
    layer = LayerRecord("layer 1", (masked_call(own, size),))
    names = tuple(f"word{number}" for number in range(size))
    places = tuple(Place(each, number, "NOUN", 0.75) for number, each in enumerate(names))
    same = tuple(Outcome("NOUN", 0.75, 0.0) for _ in names)
    found = Outcomes("labels", "item", places, (same,) * size)
    large = Record(names, layers=(layer,), model="toy", noun="word", outcomes=found)
    said = "17 others are masked; hiding one of them leaves the answer unchanged."
    assert said in " ".join(as_text(story(large, query=1)).split())
    assert said in live(document(large)).locator(".compared-part").inner_text()


def test_items_without_rows_that_are_masked_are_told_apart_from_others(live):
    """Of what the mask allows is said how much it has at most, and of how many items equal weights are."""
    size, allowed = 40, 30
    near = Predicate(lambda batch, head, query, key: key < allowed)
    layer = LayerRecord("layer 1", (masked_call(near, size),))
    names = tuple(f"word{number}" for number in range(size))
    outcomes = Outcomes("labels", "item", tuple(Place(each, number, "NOUN", 0.75) for number, each in enumerate(names)))
    record = Record(names, layers=(layer,), model="toy", noun="word", outcomes=outcomes)
    told = story_of(record, query=1)
    (block,) = (each for each in story(record, query=1).blocks if hasattr(each, "measured"))
    rest = sorted({*range(allowed)} - {names.index(row.label) for row in block.rows})
    most = percent(max(told.weights[each] for each in rest)).removeprefix("<")
    said = f"{len(rest)} others have {most} at most. 10 others are masked."
    assert block.others == said
    assert block.rest == f"{said} Equal weights would be 3% for each of the 30 that aren't masked."
    page = live(document(record, query=1))
    assert page.locator(".compared-part p").first.inner_text() == said


def test_a_change_that_is_written_as_unchanged_has_no_bar(live):
    record = masked_record(None)
    changes = (0.001, -0.25, 0.25, -0.001)
    hidden = tuple(tuple(Outcome("NOUN", 0.75 + each, each) for _ in ITEMS) for each in changes)
    record = dataclasses.replace(record, outcomes=dataclasses.replace(record.outcomes, hidden=hidden))
    for query in ("#place=1", "#place=2"):
        page = live(document(record), query)
        told = page.locator(".compared tbody td:nth-child(3)").all_inner_texts()
        assert [each == "unchanged" for each in told] == [True, False, False, True]
        assert page.locator(".compared tbody .bar.effect").count() == 2
    (block,) = (each for each in story(record).blocks if hasattr(each, "measured"))
    assert [bool(row.second) for row in block.rows] == [False, True, True, False]
    # Of changes in one way, too.
    hidden = tuple(tuple(Outcome("NOUN", 0.75 - abs(each), -abs(each)) for _ in ITEMS) for each in changes)
    falling = dataclasses.replace(record, outcomes=dataclasses.replace(record.outcomes, hidden=hidden))
    assert live(document(falling)).locator(".compared .bar.effect:not(.none)").count() == 2


@pytest.mark.parametrize(("items", "said"), [(8, "masked"), (520, "masked or 0%")])
def test_a_mask_that_is_too_large_for_the_page_may_be_why_a_weight_is_0(live, items, said):
    mask = Predicate(lambda batch, head, query, key: key % 7 != 3)
    layer = LayerRecord("layer 1", (masked_call(mask, items),))
    names = tuple(f"word{number}" for number in range(items))
    page = live(document(Record(names, layers=(layer,), model="toy", noun="word")), "#place=1&head=1&key=4&lang=en")
    row = page.locator(".compared tr.key")
    assert row.locator("td").first.inner_text().strip() == said
    assert page.locator(".compared tbody").inner_text().count("masked") == 1
    page.evaluate("location.hash = '#place=1&head=1&key=5&lang=en'")
    page.locator('.compared tr[data-key="4"].key').wait_for()
    assert "masked" not in page.locator(".compared tr.key").inner_text()


def test_two_items_that_the_mask_leaves_with_equal_weights_are_told_as_equal(live):
    query = torch.zeros(1, 1, 4, 4)
    call = SeenLayer(
        "",
        "by hand",
        query,
        query,
        query,
        Dot(),
        "softmax",
        MASKS["a table"][0],
        None,
        0.0,
        torch.arange(0),
        query[..., :0],
    )
    places = tuple(Place(text, number, "NOUN", 0.75) for number, text in enumerate(ITEMS))
    record = Record(
        ITEMS,
        layers=(LayerRecord("layer 1", (call,)),),
        model="toy",
        noun="word",
        outcomes=Outcomes("labels", "item", places),
    )
    told = story_of(record, query=2)
    assert told.uniform == 2
    # The other two are no choice of the model's.
    said = "it attended to the 2 of 4 words that the mask allows, about equally (50% each)"
    assert said in told.sentence.replace("It", "it")
    page = live(document(record), "#place=2&layer=1&head=1")
    assert page.inner_text(".sentence") == told.sentence


@pytest.mark.parametrize(("query", "alone"), [(1, True), (2, False)])
def test_the_only_item_that_the_mask_leaves_is_no_finding(live, query, alone):
    """The first word under a causal mask has no choice: its weight on itself is 100% whatever the scores are."""
    record = masked_record(MASKS["intervals"][0])
    told = story_of(record, query=query).sentence
    assert ("it could attend to itself alone" in told.replace("It", "it")) == alone
    assert ("100%" in told.partition(",")[0]) is False
    page = live(document(record), f"#place={query}")
    assert page.inner_text(".sentence") == told
    page.evaluate("location.hash += '&lang=zh'")
    if alone:
        page.locator(".sentence", has_text="只能注意").wait_for()


def test_the_only_item_of_an_input_is_no_finding(live):
    layer = LayerRecord.of_weights("layer 1", torch.ones(1, 1, 1), "softmax")
    found = Outcomes("labels", "item", (Place("the whole", None, "good", 0.9),))
    record = Record(("xqzt",), layers=(layer,), model="toy", noun="word", outcomes=found)
    told = story_of(record).sentence
    assert (
        told == 'The answer is good (90%). On average, it could attend to "xqzt" alone. What mattered wasn\'t measured.'
    )
    assert live(document(record)).inner_text(".sentence") == told
    # Two items of which one has all have a choice.
    layer = LayerRecord.of_weights("layer 1", torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]), "softmax")
    told = story_of(dataclasses.replace(record, items=("a", "b"), layers=(layer,))).sentence
    assert 'it attended most to "a" (100%)' in told


def test_without_effects_there_is_no_column_for_answers():
    layer = LayerRecord.of_weights("layer 1", torch.full((1, 2, 2), 0.5), "softmax")
    places = (Place("a", 0, "X", 0.9), Place("b", 1, "X", 0.9))
    record = Record(("a", "b"), layers=(layer,), noun="word", outcomes=Outcomes("labels", "item", places))
    (block,) = (each for each in story(record).blocks if hasattr(each, "measured"))
    assert (block.measured, block.third) == (False, "")
    assert ">without it<" not in as_html(story(record))
