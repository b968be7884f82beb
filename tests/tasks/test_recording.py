"""Looking: the record of any kind of source, by taggers and classifiers, says what the model answers and looked at."""

import dataclasses

import pytest
import torch
from source_cases import CASES, case_of
from toys import untrained

from regard.errors import ArgumentError
from regard.tasks.sources import Molecules, Vectors, Words

WORDS = Words(features={"minimum_count": 1})


@pytest.fixture(params=CASES)
def case(request):
    return case_of(request.param)


@pytest.mark.parametrize("pooling", ["attention", "class", "mean", "max"])
def test_a_classifier_of_anything(case, pooling):
    source, sources, names = case
    model = untrained(source, sources, task={"kind": "classifier", "pooling": pooling})
    records = list(model.look(sources))
    for record, (label, share) in zip(records, model.classify(sources), strict=True):
        assert record.answer == (label, pytest.approx(share))
    assert (records[0].items, records[0].noun, records[0].labels) == (tuple(names), source.noun, ())
    assert records[0].grid == ((2, 2) if source.kind == "pictures" else None)
    for record in records:
        count = len(record.items)
        for layer in record.layers:
            assert layer.weights().shape == (2, count, count)
            # The padding of the batch took nothing: what is left still sums to 1.
            torch.testing.assert_close(layer.weights().sum(-1), torch.ones(2, count))
        assert [layer.name for layer in record.layers] == ["layer 1", "layer 2"]
        assert (record.pooling is not None) == (pooling in ("attention", "class"))
        if record.pooling is not None:
            assert record.pooling.weights().shape == (1, 1, count)
            assert float(record.pooling.weights().sum()) == pytest.approx(1)


def test_a_tagger_of_anything(case):
    source, sources, names = case
    model = untrained(source, sources, task={"kind": "tagger"})
    records = list(model.look(sources))
    tagged = model.tag([source.names(model.encoder, each) for each in sources] if source.of_words else sources)
    for record, items in zip(records, tagged, strict=True):
        assert record.items == tuple(item.text for item in items)
        assert record.labels == tuple(item.label for item in items)
        assert record.scores == pytest.approx([item.score for item in items])
        assert record.pooling is None
    assert records[0].items == tuple(names)


def test_a_batch_shows_what_each_source_alone_shows(case):
    source, sources, _ = case
    model = untrained(source, sources)
    for record, each in zip(model.look(sources), sources, strict=True):
        (alone,) = model.look([each])
        torch.testing.assert_close(record.layers[1].weights(), alone.layers[1].weights())
        torch.testing.assert_close(record.pooling.weights(), alone.pooling.weights())


def test_the_weights_of_the_pooling_are_those_that_it_pools_by():
    model = untrained(WORDS, ["a warm film", "good"])
    (record,) = model.look(["a warm film"])
    batch = model.encode(["a warm film"])
    with torch.no_grad():
        values = model.network.pooling.attention.value(model.network.hidden(batch))
        torch.testing.assert_close(record.pooling.weights()[0] @ values[0], model.network.features(batch))


def test_the_atoms_of_a_molecule_look_along_its_bonds():
    pytest.importorskip("rdkit")
    model = untrained(Molecules(), ["CCO"])
    (record,) = model.look(["CCO"])
    bonds = torch.tensor([[True, True, False], [True, True, True], [False, True, True]])
    assert ((record.layers[0].weights() > 0) == bonds).all()


def test_numbers_and_questions_are_answered_too():
    numbers = untrained(Vectors(), [torch.randn(2, 3)], [(1.0, 2.0)], task={"kind": "tagger"})
    (record,) = numbers.look([torch.ones(2, 3)])
    assert record.labels == tuple(f"{item.number:.4g}" for item in record.answer)
    assert record.scores == ()
    questions = untrained(Vectors(), [torch.randn(2, 3)] * 2, [(1, 0), (0, None)])
    (record,) = questions.look([torch.ones(2, 3)])
    assert record.answer == questions.classify([torch.ones(2, 3)])[0]
    assert list(record.answer) == ["1", "2"]


@pytest.mark.parametrize("network", ["connected", "window", "convolution", "recurrent", "bidirectional"])
def test_a_network_without_attention_has_its_pooling_alone(network):
    (record,) = untrained(WORDS, ["a warm film", "good"], network=network).look(["a warm film"])
    assert record.layers == ()
    assert record.pooling.weights().shape == (1, 1, 3)


def test_a_source_that_holds_nothing_stands_between_others():
    model = untrained(WORDS, ["a warm film", "good"])
    records = list(model.look(["", "good", "", "film a"]))
    assert [record.items for record in records] == [(), ("good",), (), ("film", "a")]
    assert [record.answer is None for record in records] == [True, False, True, False]
    assert [record.answer for record in model.look([""])] == [None]
    assert list(model.look([])) == []
    tagger = untrained(WORDS, ["a warm film", "good"], task={"kind": "tagger"})
    assert [record.answer for record in tagger.look([""])] == [[]]


def test_sources_are_grouped_by_what_their_weights_take(monkeypatch):
    monkeypatch.setattr("regard.tasks.recording._MOST_WEIGHTS", 2 * 3**2)
    model = untrained(WORDS, ["a warm film", "good"])
    groups, numbers = [], model.numbers
    monkeypatch.setattr(model, "numbers", lambda items: groups.append(len(items)) or numbers(items))
    texts = ["a a a", "b b b", "c c c", "d d d d d d d", "e"]
    assert [record.items[0] for record in model.look(texts)] == ["a", "b", "c", "d", "e"]
    assert groups == [2, 1, 1, 1]


def test_a_long_source_keeps_its_layers_in_linear_memory():
    model = untrained(WORDS, ["a warm film", "good"])
    (record,) = model.look(["a " * 3000])
    layer = record.layers[1]
    assert layer.shape == (3000, 3000)
    held = sum(
        call.query.numel() + call.key.numel() + call.value.numel() + call.outputs.numel() for call in layer.calls
    )
    assert held < 100 * 3000
    torch.testing.assert_close(layer.weights([0, 2999]).sum(-1), torch.ones(2, 2))
    assert record.pooling.weights().shape == (1, 1, 3000)
    assert record.answer == model.classify(["a " * 3000])[0]


def test_an_answer_does_not_wait_for_the_next_source():
    def endless():
        yield "a " * 600
        yield "b " * 600
        raise AssertionError("asked for more than was needed")

    records = untrained(WORDS, ["a warm film", "good"]).look(endless())
    assert next(records).items[0] == "a"


def test_what_is_too_long_is_said():
    model = untrained(WORDS, ["a warm film", "good"])
    for ask in (model.classify, lambda *given, **more: list(model.look(*given, **more))):
        with pytest.raises(ArgumentError, match=r"may have 2 words, for the time it takes, but one has 3\. Cut it"):
            ask(["good", "a warm film"], longest=2)
    tagger = untrained(WORDS, ["a warm film", "good"], task={"kind": "tagger"})
    with pytest.raises(ArgumentError, match=r"may have 1 word, for the time it takes, but one has 2"):
        tagger.tag([["a", "b"]], longest=1)


def test_learned_positions_are_a_limit():
    model = untrained(WORDS, ["a warm film", "good"], position="learned")
    assert untrained(WORDS, ["good"]).position_limit is None
    assert model.classify(["a " * model.position_limit])
    with pytest.raises(ArgumentError, match="may have 512 words, the number of positions that classifier has learned"):
        model.classify(["a " * (model.position_limit + 1)])


def test_a_text_alone_is_refused():
    with pytest.raises(ArgumentError, match="`sources` must be a list of sources, but is the text 'good'"):
        untrained(WORDS, ["good"]).look("good")


def test_records_are_data():
    assert dataclasses.is_dataclass(next(untrained(WORDS, ["good"]).look(["good"])))
