"""The record of a seq2seq model: the text that it writes, and where in the source each piece of that looked."""

import dataclasses

import pytest
import torch
from test_seq2seq_model import RECIPE, with_task

from regard import train
from regard.errors import ArgumentError
from regard.inspection import watch
from regard.special_ids import START
from regard.tasks.seq2seq.data import Seq2SeqData
from regard.tasks.seq2seq.generation import generated
from regard.tasks.seq2seq.recording import END_NAME

PAIRS = [("ab", "ba"), ("cab", "bac")]


def untrained(**task):
    recipe = dataclasses.replace(with_task(RECIPE, **task), epochs=1, layers=2)
    return train(PAIRS, PAIRS, recipe=recipe, progress="none", device="cpu")


@pytest.mark.parametrize(("architecture", "layers"), [("transformer", 1), ("attentive", 1), ("recurrent", 0)])
def test_every_architecture(architecture, layers):
    model = untrained(architecture=architecture)
    records = list(model.look(["cab", "", "ab"]))
    (first, nothing, _), written = records, model.write(["cab", "", "ab"])
    assert [record.answer and record.answer.text for record in records] == [each and each.text for each in written]
    assert first.items == ("c", "a", "b")
    assert first.query_items == (*written[0].text, END_NAME)
    assert len(first.layers) == layers
    for layer in first.layers:
        assert layer.weights().shape == (2, len(first.query_items), 3)
        assert torch.allclose(layer.weights().sum(-1), torch.ones(2, len(first.query_items)), atol=1e-5)
    assert (nothing.items, nothing.query_items, nothing.layers) == ((), (), ())


def test_a_row_is_where_the_model_looked_when_it_said_the_piece():
    model = untrained(architecture="attentive")
    (record,) = model.look(["cab"])
    network, batch = model.network, model.encode(["cab"])
    state = network.start(network.encode(batch.vectors, batch.lengths))
    said = [START, *model.target.vocabulary.encode(record.answer.text)]
    for place, each in enumerate(said):
        with torch.inference_mode(), watch(network) as seen:
            _, state = network.step(state, torch.tensor([each]))
        assert torch.allclose(seen[0].weights()[0, :, 0], record.layers[0].weights()[:, place], atol=1e-5)


def test_a_guide_leaves_zeros():
    model = untrained(guide=0.1)
    (record,) = model.look(["cab"])
    assert record.layers[0].weights()[:, 0].tolist() == [[1.0, 0.0, 0.0]] * 2


def test_a_text_alone_and_one_that_is_too_long_are_refused():
    model = untrained()
    with pytest.raises(ArgumentError, match="`sources` must be a list"):
        model.look("cab")
    with pytest.raises(ArgumentError, match="2 pieces, for the time it takes"):
        list(model.look(["cab"], longest=2))


def test_the_pieces_are_those_that_were_written():
    """The text of some pieces may be cut into others when it is read again; what was cut short has no end."""
    pairs = [("ab", "tttt tt t"), ("ba", "tt t ttt")] * 3
    recipe = with_task(vocabulary="subwords", size=263, longest=1.0, spare=4)
    objective = Seq2SeqData(recipe, pairs, pairs, None).objective()
    model = Seq2SeqData(recipe, pairs, pairs, None).model(objective, {}, "toy")
    for source in ("ab", "ba", "abab", "bababa"):
        item = model.read(source)
        (said,) = generated(model.network, recipe, model.encoder, [item])
        (record,) = model.look([source])
        assert len(record.query_items) == len(said.ids) + said.ended
        assert (record.query_items[-1:] == (END_NAME,)) == said.ended
        assert record.layers[0].weights().shape[1] == len(record.query_items)
