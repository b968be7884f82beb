"""The union of networks: what a recipe says of its network, what that depends on, and what it can't have."""

import dataclasses

import pytest
import torch

from regard.errors import ArgumentError
from regard.lab.candidates import changed, grid
from regard.modules import NETWORKS
from regard.tasks import RECIPES, Recipe
from regard.tasks.architectures import ITEM_NETWORKS, NETWORK_FIELDS, SOUND_NETWORKS, TEXT_NETWORKS
from regard.tasks.network import encoder_decoder
from regard.tasks.seq2seq.target import TextTarget
from regard.tasks.synthesis.target import SpeechTarget

SMALL = {"width": 8, "heads": 2, "hidden": 11, "layers": 2, "reach": 2}
SMALL |= {"attention_window": 1, "approximation_size": 3, "max_length": 7}
CHARACTERS = {"kind": "texts", "vocabulary": "characters", "size": 16}
SEQ2SEQ = {"kind": "seq2seq", "vocabulary": "characters", "size": 16, "decoder_layers": 1}
SYNTHESIS = {"kind": "synthesis", "filters": 20, "decoder_layers": 1}
ADDED = {"position": "sinusoidal", "attention_dropout": 0.0}
# For each field, two values that networks differ in if they depend on it.
VALUES = {
    "network": ("attention", "connected"),
    "width": (8, 12),
    "layers": (2, 3),
    "heads": (2, 4),
    "hidden": (11, 13),
    "dropout": (0.2, 0.5),
    "cell": ("gru", "lstm"),
    "score": ("scaled_dot", "dot"),
    "weights": ("softmax", "relu"),
    "attention_dropout": (0.1, 0.5),
    "projections": ("shared_query_key", "shared_query_key_value"),
    "mask": ("none", "causal"),
    "attention_window": (1, 2),
    "approximation": ("performer", "linear"),
    "approximation_size": (3, 5),
    "max_length": (7, 9),
    "residual": (True, False),
    "position": ("rotary", "none"),
    "reach": (1, 2),
    "task.architecture": ("transformer", "recurrent"),
    "task.decoder_layers": (1, 2),
    "task.tied": (True, False),
    "task.bidirectional": (True, False),
    "task.keys": ("states", "inputs"),
    "task.values": ("outputs", "states"),
    "task.guide": (None, 0.2),
    "task.monotonic": (0.0, 1.0),
    "task.copying": (False, True),
    "task.frame_dropout": (0.5, 0.1),
    "task.parts": (5, 2),
}
DESCRIBED = [
    *({"network": name} for name, kind in ITEM_NETWORKS.kinds.items() if not kind.of_source),
    {"mask": "window"},
    {"position": "none"},
    {"approximation": "performer", **ADDED},
    {"approximation": "linear", **ADDED},
    {"approximation": "linformer", **ADDED},
    *({"task": {**SEQ2SEQ, "architecture": name}, "input": CHARACTERS} for name in TEXT_NETWORKS.kinds),
    {"task": SEQ2SEQ, "input": CHARACTERS, "mask": "longformer"},
    {"task": {**SEQ2SEQ, "guide": 0.3}, "input": CHARACTERS, "approximation": "linformer", **ADDED},
    {"task": SYNTHESIS, "input": CHARACTERS},
    {"task": {**SYNTHESIS, "guide": 0.3}, "input": CHARACTERS, "position": "none"},
]
TEXTS = ["abcde", "edcba"]


def with_field(recipe, name, value):
    """The recipe with another value of a field; None if it can't have that."""
    section, dot, inner = name.rpartition(".")
    try:
        if dot:
            return dataclasses.replace(recipe, **{section: {**recipe.to_json()[section], inner: value}})
        return dataclasses.replace(recipe, **{name: value})
    except ArgumentError:
        return None


def computed(recipe):
    """Everything that a network of this recipe draws and computes in training, from one seed."""
    torch.manual_seed(7)
    lengths = torch.tensor([5, 3])
    if recipe.task.kind in ("tagger", "classifier"):
        network = recipe.architecture.build()
        found = [network(torch.rand(2, 5, recipe.width), lengths)]
    else:
        encoder = recipe.input.fit(TEXTS)
        if recipe.task.kind == "seq2seq":
            target = TextTarget.fit(TEXTS, "characters", 16, source_items=10)
            inputs = torch.tensor([[1, 4, 5, 6, 4], [1, 5, 4, 6, 6]])
        else:
            target = SpeechTarget.fit(recipe.task, [torch.rand(9, 20)], source_items=5)
            inputs = torch.rand(2, 5, target.width)
        network = encoder_decoder(recipe, encoder, target)
        found = network(network.encode(torch.tensor([[4, 5, 6, 4, 5], [6, 5, 4, 0, 0]]), lengths), inputs)
        found = [*found] if isinstance(found, tuple) else [found]
    state = network.state_dict()
    return [*state, *(each.detach().flatten().tolist() for each in (*state.values(), *found))]


@pytest.mark.parametrize("described", DESCRIBED, ids=str)
def test_an_architecture_has_exactly_the_fields_that_its_network_depends_on(described):
    recipe = Recipe(**{**SMALL, **described})
    flat, base, networks = recipe.flat(), computed(recipe), recipe.task.architectures
    kind = networks.kinds[flat[networks.field]]
    for name in sorted(VALUES.keys() & flat.keys()):
        other = with_field(recipe, name, next(value for value in VALUES[name] if value != flat[name]))
        if other is None:
            # What has no effect is ignored or refused; what has one, only where it doesn't go with another field.
            assert name in {networks.field, *kind.fixed, *networks.fixed} or "approximation" in (name, *described)
            continue
        has = name == networks.field or name in recipe.architecture.write()
        assert (recipe.architecture != other.architecture) == has, name
        assert (computed(other) != base) == has, name


@pytest.mark.parametrize("recipe", [*RECIPES.values(), *(Recipe(**each) for each in DESCRIBED)])
def test_what_is_read_of_a_recipe_is_written_back(recipe):
    flat, architecture = recipe.flat(), recipe.architecture
    assert architecture.write().items() <= flat.items()
    # The other fields have no effect.
    assert type(architecture).read(Recipe(task=recipe.task.kind).flat() | architecture.write()) == architecture
    again = Recipe.from_json(recipe.to_json())
    assert again == recipe
    assert again.architecture == architecture
    assert hash(again.architecture) == hash(architecture)


def test_all_fields_of_networks_are_tried():
    assert VALUES.keys() == NETWORK_FIELDS - {SOUND_NETWORKS.field}


def test_what_an_architecture_cannot_have_is_no_field_of_it():
    for networks in (ITEM_NETWORKS, TEXT_NETWORKS, SOUND_NETWORKS):
        for name, kind in networks.kinds.items():
            assert kind.name == name
            assert not {*kind.fixed, *networks.fixed} & kind.names()
            assert {*kind.fixed} <= NETWORK_FIELDS
        assert {*networks.aliases.values()} <= {*networks.kinds}


def test_the_networks_of_items_are_those_of_the_modules():
    assert [name for name, kind in ITEM_NETWORKS.kinds.items() if not kind.of_source] == list(NETWORKS)
    for name, network in NETWORKS.items():
        assert type(Recipe(network=name).architecture.build()) is network
        assert ITEM_NETWORKS.kinds[name].attends == network.attends


def test_no_two_candidates_of_a_grid_are_one_network():
    vary = {"position": ["relative", "none"], "reach": [8, 2], "cell": ["gru", "lstm"]}
    of_items = {"network": ["attention", "window", "connected", "recurrent"], **vary}
    of_texts = {
        "task.architecture": ["transformer", "attentive", "recurrent"],
        "task.keys": ["states", "inputs"],
        **vary,
    }
    for recipe, vary, count in (
        (Recipe(), of_items, 3 + 2 + 1 + 2),
        (Recipe(task="seq2seq"), of_texts, 3 + 2 + 1),
    ):
        found = [changed(recipe, own).architecture for own in grid(recipe, vary).values()]
        assert len(found) == len({*found}) == count


def test_the_network_field_is_nothing_to_speech_synthesis():
    recipe = Recipe(task="synthesis", network="window", mask="causal")
    assert recipe.architecture == Recipe(task="synthesis", mask="causal").architecture
    assert list(grid(recipe, {"network": ["window", "attention"], "mask": ["causal", "none"]})) == [
        "default",
        "mask=none",
    ]
