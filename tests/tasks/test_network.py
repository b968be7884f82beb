"""The networks that recipes describe: what each layer has of its own, and what a seed draws."""

import dataclasses

import pytest
import torch
from toys import tiny, untrained

from regard.modules import MultiHeadAttention
from regard.tasks import Recipe
from regard.tasks.network import encoder_decoder
from regard.tasks.seq2seq.target import TextTarget
from regard.tasks.sources import Molecules

TEXTS = ["saw", "was"]
# An encoder of two layers and a decoder of one.
WRITER = Recipe(
    task={"kind": "seq2seq", "vocabulary": "characters", "size": 9, "decoder_layers": 1},
    input={"kind": "texts", "vocabulary": "characters", "size": 9},
    width=8,
    heads=2,
    hidden=11,
    reach=3,
)


def of_words(network, position):
    model = untrained(tiny().input, [["a", "warm", "film"], ["good"]], network=network, position=position, reach=3)
    return model.network.network


def of_texts(position):
    recipe = dataclasses.replace(WRITER, position=position)
    text = TextTarget.fit(TEXTS, "characters", 9, source_items=6)
    torch.manual_seed(7)
    return encoder_decoder(recipe, recipe.input.fit(TEXTS), text)


NETWORKS = {
    "attention": lambda position: of_words("attention", position),
    "convolution_attention": lambda position: of_words("convolution_attention", position),
    "graph_attention": lambda position: of_words("graph_attention", position),
    "transformer": of_texts,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_each_layer_has_relative_positions_of_its_own(name):
    layers = list(filter(is_attention, NETWORKS[name]("relative").modules()))
    tables = [layer.position.table for layer in layers if layer.position is not None]
    # All but the decoder's attention to the source.
    assert len(tables) == len(layers) - (name == "transformer")
    assert all(table.shape == (7, 4) for table in tables)
    assert len({tuple(table.flatten().tolist()) for table in tables}) == len(tables)


@pytest.mark.parametrize("name", NETWORKS)
def test_relative_positions_change_nothing_that_a_seed_draws_for_other_parameters(name):
    relative, none = NETWORKS[name]("relative").state_dict(), NETWORKS[name]("none").state_dict()
    assert sorted(relative.keys() - none.keys()) == [key for key in sorted(relative) if "position" in key]
    for key, parameter in none.items():
        assert torch.equal(relative[key], parameter), key


def test_attention_with_a_bias_of_all_pairs_is_dense():
    pytest.importorskip("rdkit")
    engines = [
        [layer.engine for layer in untrained(molecules, ["CCO", "CC"]).network.network.modules() if is_attention(layer)]
        for molecules in (Molecules(), Molecules(reach=2))
    ]
    assert engines == [["auto", "auto"], ["dense", "dense"]]


def is_attention(layer):
    return isinstance(layer, MultiHeadAttention)
