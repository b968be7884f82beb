"""One input seen whole: what is said, what was attended to, and what mattered, by models that are changed by hand."""

import json
import math
import re
from dataclasses import replace

import pytest
import torch
from torch import nn

import regard
from regard.errors import ArgumentError
from regard.inspection import Case, HideKey, LayerRecord, Outcome, Outcomes, Place, Record, see, story, story_of
from regard.inspection.explain.see import MOST_CHANGES, _compared
from regard.inspection.record.default_place import default_place
from regard.page import Comparison, Items, Table, as_text
from regard.page.numbers import four_digits

of_weights = LayerRecord.of_weights
WORDS = ("a", "warm", "film", "a")


class Toy(nn.Module):
    """Two layers of attention, then three classes for each item."""

    def __init__(self):
        super().__init__()
        self.first, self.second = (nn.MultiheadAttention(8, 2, batch_first=True) for _ in range(2))
        self.output = nn.Linear(8, 3)

    def forward(self, vectors, hidden=None):
        for layer in (self.first, self.second):
            vectors = vectors + layer(vectors, vectors, vectors, key_padding_mask=hidden, need_weights=False)[0]
        return self.output(vectors)


@pytest.fixture
def toy():
    torch.manual_seed(4)
    return Toy().eval(), 3 * torch.randn(1, 4, 8)


def case_of(toy, **changes):
    model, vectors = toy
    given = {
        "name": "toy",
        "module": model,
        "inputs": vectors,
        "run": model,
        "predict": lambda output: output.softmax(-1),
        "kind": "labels",
        "items": WORDS,
        "places": tuple((word, number) for number, word in enumerate(WORDS)),
        "classes": lambda number: "XYZ"[number],
    }
    return Case(**given | changes)


def probabilities(toy, hidden=None):
    with torch.no_grad():
        return toy[0](toy[1], hidden).softmax(-1)[0].double()


@pytest.mark.parametrize("batched", [True, False])
def test_a_hidden_item_is_one_that_the_model_masks(toy, batched):
    record = see(case_of(toy, batched=batched))
    before = probabilities(toy)
    answers = before.argmax(-1)
    assert record.labels == tuple("XYZ"[answer] for answer in answers)
    assert record.scores == pytest.approx(before.amax(-1).tolist(), abs=1e-6)
    for key, outcomes in enumerate(record.outcomes.hidden):
        hidden = torch.zeros(1, 4, dtype=torch.bool)
        hidden[0, key] = True
        after = probabilities(toy, hidden)
        for place, outcome in enumerate(outcomes):
            assert outcome.label == "XYZ"[after[place].argmax()]
            assert outcome.score == pytest.approx(float(after[place].max()), abs=1e-5)
            expected = float(after[place, answers[place]] - before[place, answers[place]])
            assert outcome.change == pytest.approx(expected, abs=1e-5)


def test_a_removed_head_is_one_whose_columns_are_zero(toy):
    record = see(case_of(toy))
    before = probabilities(toy)
    answers = before.argmax(-1)
    assert [len(layer) for layer in record.outcomes.removed] == [2, 2]
    for number, name in enumerate(("first", "second")):
        for head in range(2):
            weight = getattr(toy[0], name).out_proj.weight
            kept = weight.detach().clone()
            with torch.no_grad():
                weight[:, 4 * head : 4 * head + 4] = 0
            after = probabilities(toy)
            with torch.no_grad():
                weight.copy_(kept)
            for place, outcome in enumerate(record.outcomes.removed[number][head]):
                assert outcome.label == "XYZ"[after[place].argmax()]
                expected = float(after[place, answers[place]] - before[place, answers[place]])
                assert outcome.change == pytest.approx(expected, abs=1e-5)


def test_numbers_and_vectors(toy):
    mask = torch.tensor([[False, True, False, False]])
    with torch.no_grad():
        before, after = toy[0](toy[1])[0], toy[0](toy[1], mask)[0]
    numbers = see(case_of(toy, kind="numbers", predict=lambda output: output[..., :1])).outcomes
    assert [place.label for place in numbers.places] == [four_digits(value) for value in before[:, 0].double().tolist()]
    assert [each.change for each in numbers.hidden[1]] == pytest.approx((after - before)[:, 0].tolist(), abs=1e-5)
    assert [each.label for each in numbers.hidden[1]] == [four_digits(value) for value in after[:, 0].double().tolist()]
    vectors = see(case_of(toy, kind="vectors", predict=lambda output: output)).outcomes
    expected = (after - before).norm(dim=-1) / before.norm(dim=-1)
    assert [each.change for each in vectors.hidden[1]] == pytest.approx(expected.tolist(), abs=1e-5)
    assert {place.label for place in vectors.places} == {""}


def test_the_answer_that_was_given_counts_and_not_the_most_probable_one(toy):
    record = see(case_of(toy, answers=(2, 2, 2, 2)))
    before = probabilities(toy)
    assert record.labels == ("Z",) * 4
    assert record.scores == pytest.approx(before[:, 2].tolist(), abs=1e-6)
    mask = torch.tensor([[True, False, False, False]])
    expected = (probabilities(toy, mask) - before)[:, 2]
    assert [each.change for each in record.outcomes.hidden[0]] == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize(
    ("after", "follows"),
    [
        # The class that was likelier from the start is not what the answer becomes.
        ([0.7, 0.1, 0.2], (2, 0.2)),
        ([0.4, 0.1, 0.5], (2, 0.5)),
        # Another one is.
        ([0.3, 0.6, 0.1], (1, 0.6)),
    ],
)
def test_what_was_likelier_than_the_answer_before_is_no_change(toy, after, follows):
    before = torch.tensor([[0.6, 0.1, 0.3]]).double()
    (found,) = _compared(case_of(toy, answers=(2,)), before, torch.tensor([[after]])).tolist()
    assert found[0] == pytest.approx([after[2] - 0.3, *follows])
    # The most probable class is the answer where none was given.
    (found,) = _compared(case_of(toy), before, torch.tensor([[after]])).tolist()
    assert found[0] == pytest.approx([after[0] - 0.6, max(range(3), key=after.__getitem__), max(after)])


def test_what_is_hidden_can_be_chosen(toy):
    record = see(case_of(toy, hide=lambda key: HideKey(key, layer=("second", "elsewhere"))))
    found = see(case_of(toy, hide=lambda key: HideKey(key, layer=2)))
    assert record.outcomes == found.outcomes
    assert record.outcomes.hidden != see(case_of(toy)).outcomes.hidden
    every = see(case_of(toy, hide=lambda key: HideKey(key, layer=("first", 2))))
    assert every.outcomes == see(case_of(toy)).outcomes


class Gated(nn.Module):
    """Attention whose weights are halved by a gate that depends on the keys."""

    def forward(self, vectors):
        weights = (vectors @ vectors.mT).softmax(-1)
        return (weights * vectors.norm(dim=-1).sigmoid().unsqueeze(1)) @ vectors


def test_items_are_hidden_where_the_weights_are_known():
    torch.manual_seed(1)
    model = nn.Sequential(nn.TransformerEncoderLayer(8, 2, batch_first=True), Gated()).eval()
    places = tuple((word, number) for number, word in enumerate("abc"))
    case = Case("mixed", model, torch.randn(1, 3, 8), model, lambda output: output, "vectors", tuple("abc"), places)
    record = see(case)
    assert [layer.calls[0].name for layer in record.layers] == ["0.self_attn", "1"]
    assert record.outcomes.hidden == see(replace(case, hide=lambda key: HideKey(key, layer=1))).outcomes.hidden
    assert len(record.outcomes.removed) == 2
    assert record.outcomes.note == "Items couldn't be hidden in 1: how its weights come about isn't known."
    assert record.outcomes.note in as_text(story(record)).replace("\n", " ")
    alone = see(replace(case, module=model[1], run=model[1], inputs=torch.randn(1, 3, 8)))
    assert alone.outcomes.hidden == ()
    assert len(alone.outcomes.removed) == 1


@pytest.mark.slow
def test_effects_of_long_inputs_are_measured_if_asked_for(toy):
    count = MOST_CHANGES - 3
    long = torch.randn(1, count, 8)
    words = tuple(map(str, range(count)))
    changes = {"inputs": long, "items": words, "places": tuple((word, place) for place, word in enumerate(words))}
    record = see(case_of(toy, **changes))
    assert (len(record.outcomes.hidden), record.outcomes.removed) == (count, ())
    assert "What each of the 4 heads matters wasn't measured." in as_text(story(record))
    told = []
    record = see(case_of(toy, **changes), effects=True, progress=lambda *numbers: told.append(numbers))
    assert len(record.outcomes.hidden) == count
    assert told[0] == (0, count + 4)
    assert told[-1] == (count + 4, count + 4)
    record = see(case_of(toy), effects=False)
    assert (record.outcomes.hidden, record.outcomes.removed) == ((), ())
    assert story_of(record).sentence.endswith(". What mattered wasn't measured.")


def test_longer_inputs_have_no_effects_unless_they_are_asked_for(toy):
    count = MOST_CHANGES + 1
    words = tuple(map(str, range(count)))
    changes = {"items": words, "places": tuple((word, place) for place, word in enumerate(words))}
    record = see(case_of(toy, inputs=torch.randn(1, count, 8), **changes))
    assert (record.outcomes.hidden, record.outcomes.removed) == ((), ())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"items": ()}, "`items` must hold at least one, but is empty"),
        ({"places": ()}, "`places` must hold at least one, but is empty"),
        ({"places": (("the whole", None),)}, r"`predict` must give \(1, 1, class\).* but gave \(1, 4, 3\)"),
        ({"predict": lambda output: output[0]}, r"`predict` must give .* but gave \(4, 3\)"),
    ],
)
def test_a_case_that_does_not_fit(toy, changes, message):
    with pytest.raises(ArgumentError, match=message):
        see(case_of(toy, **changes))


def test_calls_of_other_lengths_are_kept_but_are_no_layers(toy):
    model, _ = toy
    record = see(case_of(toy, run=lambda given: (model(given), model(given[:, :3]))[0], batched=False))
    assert len(record.layers) == 2
    assert len(record.seen) == 4


def test_the_models_of_the_notes():
    record = regard.load("english-pos").see("I saw a saw .")
    # Of the outputs before calibration: NOUN 93 % becomes VERB 77 % without "a".
    assert record.labels == ("PRON", "VERB", "DET", "NOUN", "PUNCT")
    assert default_place(record, record.outcomes) == 3
    assert record.outcomes.hidden[2][3].label == "VERB"
    assert record.outcomes.hidden[4][3].label == "NOUN"
    assert story_of(record).sentence.startswith('"saw (4)" is NOUN')
    assert 'attended most to "a"' in story_of(record).sentence
    shirt = regard.load("german-english").see("ein Mann in einem roten Hemd .")
    assert shirt.queries == ("A", "man", "in", "a", "red", "shirt", ".", "(end)")
    red = story_of(shirt, query=5)
    assert max(range(8), key=lambda item: abs(red.hidden[item].change)) == shirt.items.index(" roten")
    assert red.hidden[4].label != "red"


@pytest.mark.parametrize(
    ("name", "source", "kind", "places"),
    [
        ("english-sentiment", "a warm , funny film", "labels", 1),
        ("solubility", "CCO", "numbers", 1),
        ("toxicity", "CCO", "labels", 12),
        ("chinese-pos", ["我", "看见", "常威"], "labels", 3),
    ],
)
def test_every_kind_of_answer(name, source, kind, places):
    if kind != "labels" or places == 12:
        pytest.importorskip("rdkit")
    model = regard.load(name)
    record = model.see(source)
    assert (record.outcomes.kind, len(record.outcomes.places)) == (kind, places)
    assert len(record.outcomes.hidden) == len(record.items)
    answer = model.predict([source])[0].value
    place = record.outcomes.places[0]
    if name == "english-sentiment":
        assert (place.label, place.score) == (answer[0], pytest.approx(answer[1], abs=1e-6))
    elif name == "solubility":
        assert place.label == four_digits(answer)
    elif name == "toxicity":
        share = answer[place.name]
        assert (place.label, place.score) == (
            ("yes", "no")[share < 0.5],
            pytest.approx(max(share, 1 - share), abs=1e-6),
        )
    else:
        assert record.labels == tuple(each.label for each in answer)


def test_what_has_no_case():
    with pytest.raises(ArgumentError, match="must have a word or more, but '' has none"):
        regard.load("english-sentiment").see("")
    with pytest.raises(ArgumentError, match="makes sounds, whose change isn't measured"):
        regard.load("synthesis").see("theo 7")


# The story, of numbers that are given.

LAYER = of_weights("layer 1", torch.tensor([[[0.75, 0.25], [0.125, 0.875]], [[0.75, 0.25], [0.375, 0.625]]]), "softmax")
PLACES = (Place("a", 0, "DET", 0.75), Place("saw", 1, "NOUN", 0.75))


def record_with(hidden, removed=(), places=PLACES, kind="labels", form="item", **more):
    outcomes = Outcomes(kind, form, places, hidden, removed)
    given = {"items": ("a", "saw"), "labels": ("DET", "NOUN"), "layers": (LAYER,), "model": "toy", "noun": "word"}
    return Record(**given | more, outcomes=outcomes)


SAME = Outcome("DET", 0.75, 0.0)
VERB = Outcome("VERB", 0.625, -0.5)
STAYS = Outcome("NOUN", 0.75, 0.0)


@pytest.mark.parametrize(
    ("hidden", "options", "sentence"),
    [
        (
            ((SAME, VERB), (SAME, STAYS)),
            {"query": 2},
            '"saw" is NOUN (75%). It attended most to itself (75%), but hiding "a" changes the answer most: NOUN (75%) '
            "becomes VERB (62%).",
        ),
        (
            ((SAME, Outcome("NOUN", 0.5, -0.25)), (SAME, STAYS)),
            {"query": 2, "head": 1},
            '"saw" is NOUN (75%). In head 1.1, it attended most to itself (88%), but hiding "a" from all heads changes '
            "the answer most: NOUN falls from 75% to 50%.",
        ),
        (
            ((SAME, STAYS), (Outcome("DET", 0.875, 0.125), STAYS)),
            {"query": 1},
            '"a" is DET (75%). It attended most to itself (75%), but hiding "saw" changes the answer most: DET rises '
            "from 75% to 88%.",
        ),
        (
            ((SAME, STAYS), (SAME, STAYS)),
            {"query": 2},
            '"saw" is NOUN (75%). It attended most to itself (75%), '
            "but hiding any single word hardly changes the answer.",
        ),
        (
            (),
            {"query": 2},
            '"saw" is NOUN (75%). It attended most to itself (75%). What mattered wasn\'t measured.',
        ),
    ],
)
def test_the_sentence(hidden, options, sentence):
    assert story_of(record_with(hidden), **options).sentence == sentence


@pytest.mark.parametrize(
    ("layers", "options", "item", "whole"),
    [
        (1, {}, "It", "On average, it"),
        (2, {}, "In the last layer, it", "On average in the last layer, it"),
        (2, {"layer": 2}, "In the last layer, it", "On average in the last layer, it"),
        (2, {"layer": 1}, "In layer 1, it", "On average in layer 1, it"),
        (2, {"layer": 1, "head": 2}, "In head 1.2, it", "On average in head 1.2, it"),
        (2, {"head": 2}, "In head 2.2, it", "On average in head 2.2, it"),
    ],
)
def test_the_sentence_says_whose_weights_they_are(layers, options, item, whole):
    hidden = ((SAME, VERB), (SAME, STAYS))
    told = story_of(record_with(hidden, layers=(LAYER,) * layers), query=2, **options)
    assert told.sentence.startswith(f'"saw" is NOUN (75%). {item} attended most to itself (')
    place = (Place("the whole", None, "good", 0.75),)
    told = story_of(record_with(((VERB,), (STAYS,)), layers=(LAYER,) * layers, places=place, labels=()), **options)
    assert told.sentence.startswith(f"The answer is good (75%). {whole} attended ")
    pooling = of_weights("pooling", torch.tensor([[[0.25, 0.75]]]), "softmax")
    told = story_of(
        record_with(((VERB,), (STAYS,)), layers=(LAYER,) * layers, places=place, labels=(), pooling=pooling), **options
    )
    pooled = whole if options else f"In the pooling, after {layers} layer{'s' if layers > 1 else ''} of attention, it"
    assert told.sentence.startswith(f"The answer is good (75%). {pooled} attended ")


@pytest.mark.parametrize(
    ("likelier", "opening"),
    [
        (("is", 0.5), '"." was written (25%), though "is" was likelier (50%).'),
        ((" .", 0.5), '"." was written (25%), though another "." was likelier (50%).'),
    ],
)
def test_a_piece_that_is_not_the_likeliest(likelier, opening):
    """A search may write it. That the likeliest one stays so doesn't predict the one that was written."""
    places = (Place(".", 0, ".", 0.25, likelier), Place("man", 1, "man", 0.75))
    hidden = (
        (Outcome(".", 0.125, -0.125), Outcome("man", 0.75, 0.0)),
        (Outcome("a", 0.5, -0.25), Outcome("man", 0.5, -0.25)),
    )
    record = record_with(hidden, places=places, form="generated", queries=(".", "man"), labels=())
    assert Outcomes.from_json(json.loads(json.dumps(record.outcomes.to_json()))) == record.outcomes
    assert story_of(record, query=1).sentence.startswith(opening)
    told, other = (as_text(story(record, query=query)) for query in (1, 2))
    assert re.search(r"25% -> 12%$", told, re.M)
    assert re.search(r"25% -> <1%  a 50%$", told, re.M)
    assert re.search(r"75% -> 50%  man$", other, re.M)
    stays = replace(record, outcomes=replace(record.outcomes, hidden=(hidden[0],) * 2))
    told, other = (as_text(story(stays, query=query)) for query in (1, 2))
    assert not re.search(r"mattered: .* without it$", told, re.M)
    assert re.search(r"mattered: .* without it$", other, re.M)
    broken = record.outcomes.to_json()
    broken["places"][0][4] = ["is"]
    with pytest.raises(ValueError, match="what is likelier at a place must be a list of 2, but is"):
        Outcomes.from_json(broken)


def test_the_sentence_of_other_predictions():
    hidden = ((SAME, VERB), (SAME, STAYS))
    told = story_of(record_with(hidden, form="next"), query=2)
    assert told.sentence.startswith('After "saw" comes "NOUN" (75%).')
    told = story_of(record_with(hidden, form="generated", queries=("ein", "Saege"), labels=()), query=2)
    assert told.sentence.startswith('"Saege" was written (75%). It attended most to "saw" (75%), but hiding "a"')
    whole = (Place("the whole", None, "good", 0.75),)
    pooling = of_weights("pooling", torch.tensor([[[0.25, 0.75]]]), "softmax")
    told = story_of(record_with(((VERB,), (STAYS,)), places=whole, labels=(), pooling=pooling))
    assert told.sentence == (
        "The answer is good (75%). In the pooling, after 1 layer of attention, it attended most to "
        '"saw" (75%), but hiding "a" changes the answer most: good (75%) becomes VERB (62%).'
    )
    number = (Place("the whole", None, "-1.5", None),)
    hidden = ((Outcome("-1.5", None, 0.0),), (Outcome("-1.25", None, 0.25),))
    told = story_of(record_with(hidden, places=number, labels=(), pooling=pooling, kind="numbers"))
    assert told.sentence.endswith("and hiding it changes the answer most: -1.5 becomes -1.25.")
    vector = tuple(Place(name, query, "", None) for query, name in enumerate(("a", "saw")))
    hidden = ((Outcome("", None, 0.0), Outcome("", None, 0.25)), (Outcome("", None, 0.0), Outcome("", None, 0.0)))
    told = story_of(record_with(hidden, places=vector, labels=(), kind="vectors"))
    assert told.sentence.startswith('The output at "saw" is a vector.')
    assert told.sentence.endswith("the vector changes by 25% of its length.")


def test_the_place_that_changes_most_is_shown_and_its_own_item_does_not_count():
    own = Outcome("VERB", 0.5, -0.625)
    record = record_with(((Outcome("DET", 0.5, -0.25), STAYS), (SAME, own)))
    assert default_place(record, record.outcomes) == 1 - 1
    record = record_with(((own, STAYS), (SAME, VERB)), form="generated", queries=("x", "y"))
    assert default_place(record, record.outcomes) == 0
    assert default_place(record, Outcomes("labels", "next", PLACES, chosen=1)) == 1


def test_the_blocks_in_their_order():
    removed = (((SAME, VERB), (SAME, STAYS)),)
    page = story(record_with(((SAME, VERB), (SAME, STAYS)), removed, scores=(0.75, 0.75)), query=2)
    items, _, comparison, _, heads, _ = page.blocks
    assert isinstance(items, Items)
    assert [(item.text, item.label, item.note, item.marked) for item in items.items] == [
        ("a", "DET", "75%", False),
        ("saw", "NOUN", "75%", True),
    ]
    assert isinstance(comparison, Comparison)
    assert comparison.title == "Layer 1 of 1, average of heads 1-2"
    assert [(row.label, row.first, row.second, row.written, row.note) for row in comparison.rows] == [
        ("a", 0.25, -0.5, "75% -> 25%", "VERB 62%"),
        ("saw", 0.75, 0.0, "unchanged", "NOUN"),
    ]
    assert isinstance(heads, Table)
    assert [(row[0], row[2], row[3]) for row in heads.rows] == [
        ("1.1", "75% -> 25%", "VERB 62%"),
        ("1.2", "unchanged", "NOUN"),
    ]
    assert "An effect" not in as_text(page)
    assert page.blocks[-1].text.startswith("Checked: the outputs of 1 layer, computed again")


def test_the_rank_agreement_is_that_of_all_items():
    weights = torch.tensor([[[0.5, 0.3, 0.2]] * 3])
    places = tuple(Place(name, number, "X", 0.5) for number, name in enumerate("abc"))
    rows = [Outcome("X", 0.5, change) for change in (-0.1, 0.3, 0.0)]
    record = Record(
        ("a", "b", "c"),
        layers=(of_weights("layer 1", weights),),
        outcomes=Outcomes("labels", "item", places, tuple((row,) * 3 for row in rows)),
    )
    assert story_of(record, query=1).agreement == pytest.approx(0.5)
    assert math.isnan(story_of(record_with(())).agreement)


def test_of_many_items_those_that_got_or_mattered_most_are_listed():
    count = 100
    names = tuple(f"w{number}" for number in range(count))
    weights = torch.zeros(1, count, count)
    weights[..., 7], weights[..., 90] = 0.75, 0.25
    places = tuple(Place(name, number, "X", 0.5) for number, name in enumerate(names))
    hidden = [Outcome("X", 0.5, 0.0)] * count
    hidden[50], hidden[3] = Outcome("Y", 0.5, -0.5), Outcome("Y", 0.5, -0.25)
    record = Record(
        names,
        ("X",) * count,
        layers=(of_weights("layer 1", weights),),
        outcomes=Outcomes("labels", "item", places, tuple((row,) * count for row in hidden)),
        noun="word",
    )
    page = story(record, query=61, top=4)
    comparison = next(block for block in page.blocks if isinstance(block, Comparison))
    assert [row.label for row in comparison.rows] == ["w3", "w7", "w50", "w90"]
    assert comparison.rest == (
        "96 others have 0% at most; hiding one of them leaves the answer unchanged. Equal weights would be 1% each."
    )
    items = next(block for block in page.blocks if isinstance(block, Items)).items
    assert (items[0].text, items[-1].text) == ("... 28 words before", "... 8 words after")
    assert len(items) == 66
    assert [item.text for item in items if item.marked] == ["w60"]


def test_heads_beyond_the_most_are_counted():
    removed = ((tuple(Outcome("NOUN", 0.75, 0.0) for _ in PLACES), (SAME, VERB)),)
    page = story(record_with(((SAME, VERB), (SAME, STAYS)), removed), query=2, top=1)
    table = next(block for block in page.blocks if isinstance(block, Table))
    assert [row[0] for row in table.rows] == ["1.2"]
    assert "The other head, removed alone, changes the answer by 0 points at most." in as_text(page)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": 3}, r"`query` must be from 1 to 2, but is 3\. The last is 'saw'"),
        ({"query": 0}, "`query` must be from 1 to 2, but is 0"),
        ({"layer": 2}, "`layer` must be 1, but is 2"),
        ({"head": 3}, "`head` must be from 1 to 2 in layer 1, but is 3"),
    ],
)
def test_a_story_of_what_is_not_there(options, message):
    with pytest.raises(ArgumentError, match=message):
        story(record_with(()), **options)


def test_a_record_without_outcomes_has_no_story():
    with pytest.raises(ArgumentError, match="`record` must have outcomes"):
        story_of(Record(("a",)))


def test_outcomes_that_do_not_fit():
    with pytest.raises(ArgumentError, match="must have 2 outcomes for each change"):
        Outcomes("labels", "item", PLACES, ((SAME,),))
    with pytest.raises(ArgumentError, match="`places` must hold at least one"):
        Outcomes("labels", "item", ())
