"""What a recipe says of approximations of attention: which one, how large, and what else it can't have then."""

import dataclasses
import json

import pytest
import torch
from torch import nn
from toys import SAWS, tiny

from regard import load, train
from regard.errors import ArgumentError, UnknownNameError
from regard.inputs import Sound
from regard.lab.candidates import grid, parse_vary
from regard.modules import (
    APPROXIMATIONS,
    NETWORKS,
    Approximation,
    LinearAttention,
    LinformerAttention,
    NystromAttention,
    PerformerAttention,
    ReformerAttention,
    SinkhornAttention,
    SynthesizerAttention,
)
from regard.tasks import RECIPES, TASKS, Recipe
from regard.tasks.network import SourceNetwork
from regard.tasks.seq2seq.data import Seq2SeqData
from regard.tasks.synthesis.data import SynthesisData

NEW = ("approximation", "approximation_size", "max_length")
# What an approximation needs beside its name in a recipe for words.
NEEDED = {"position": "sinusoidal", "attention_dropout": 0.0}
SMALL = {"width": 8, "heads": 2, "hidden": 11, "layers": 2}
SEQ2SEQ = {"kind": "seq2seq", "vocabulary": "characters", "size": 16, "decoder_layers": 1}
CHARACTERS = {"kind": "texts", "vocabulary": "characters", "size": 16}


class Blend(Approximation):
    """The mean of the values, or of those so far, plus a table of positions."""

    causal = True
    size_argument = "steps"

    def __init__(self, heads, head_size, *, steps=3, max_length=5):
        super().__init__()
        self.steps, self.max_length = steps, max_length
        self.table = nn.Parameter(torch.zeros(heads, 1, head_size))

    def approximate(self, query, key, value, *, real, causal):
        if causal:
            steps = torch.arange(1, value.shape[2] + 1, device=value.device).view(1, 1, -1, 1)
            return value.cumsum(2) / steps + self.table
        count = value.shape[2] if real is None else real.sum(1).clamp(min=1).view(-1, 1, 1, 1)
        return (value.sum(2, keepdim=True) / count).expand_as(value) + self.table


class OneSet(Approximation):
    shared_query_key = True

    def approximate(self, query, key, value, *, real, causal):
        return value


class Unordered(Approximation):
    def approximate(self, query, key, value, *, real, causal):
        return value


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    """`blend` has a size, and `unordered` has none."""
    monkeypatch.setitem(APPROXIMATIONS, "blend", Blend)
    monkeypatch.setitem(APPROXIMATIONS, "unordered", Unordered)
    monkeypatch.setitem(APPROXIMATIONS, "one_set", OneSet)


def parts(network):
    return [module for module in network.modules() if isinstance(module, Approximation)]


@pytest.mark.parametrize("network", [name for name, network in NETWORKS.items() if network.attends])
def test_a_network_has_one_for_each_layer(network):
    changes = {"approximation": "blend", "approximation_size": 7, "max_length": 31, "mask": "causal"}
    recipe = tiny(network=network, **NEEDED, **changes)
    encoder = recipe.input.fit([["one", "two"]])
    made = SourceNetwork(recipe, encoder, 3)
    assert [(type(part), part.steps, part.max_length) for part in parts(made)] == [(Blend, 7, 31)] * 2
    assert parts(made)[0] is not parts(made)[1]
    exact = SourceNetwork(tiny(network=network, **NEEDED), encoder, 3)
    assert not parts(exact)
    plain = SourceNetwork(tiny(network=network, approximation="unordered", **NEEDED), encoder, 3)
    assert [type(part) for part in parts(plain)] == [Unordered] * 2


@pytest.mark.parametrize(
    ("data", "task", "pairs"),
    [
        (Seq2SeqData, SEQ2SEQ, [("abc", "c"), ("a", "a")]),
        (
            SynthesisData,
            {"kind": "synthesis", "filters": 20, "decoder_layers": 1},
            [("ab", Sound(torch.zeros(1, 2000), 8000))] * 2,
        ),
    ],
)
def test_it_is_of_the_encoder_alone(data, task, pairs):
    recipe = Recipe(task=task, input=CHARACTERS, approximation="blend", **NEEDED, **SMALL)
    network = data(recipe, pairs, pairs, None).objective().network
    assert len(parts(network.encoder)) == 2
    assert not parts(network.decoder)


def test_it_is_trained_saved_and_loaded_and_makes_a_difference(tmp_path):
    recipe = tiny(epochs=1, **NEEDED)
    changed = dataclasses.replace(recipe, approximation="blend", approximation_size=2, max_length=9)
    exact, model = (train(SAWS, SAWS, recipe=each, progress="none", device="cpu") for each in (recipe, changed))
    said = model.tag([["I", "saw"]])
    assert said != exact.tag([["I", "saw"]])
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.recipe == changed
    assert loaded.tag([["I", "saw"]]) == said


@pytest.mark.parametrize("task", TASKS)
def test_a_recipe_without_the_fields_is_exact(task):
    recipe = Recipe(task=task)
    held = recipe.to_json()
    assert [held.pop(name) for name in NEW] == ["none", None, 4096]
    assert Recipe.from_json(held) == recipe


@pytest.mark.parametrize("name", RECIPES)
def test_published_recipes_are_exact(name):
    assert RECIPES[name].approximation == "none"


def test_a_run_that_began_without_the_fields_can_be_resumed(tmp_path):
    def run(**changes):
        return train(SAWS, SAWS, recipe=tiny(epochs=1, **changes), out=out, progress="none", device="cpu", resume=True)

    out = tmp_path / "run"
    train(SAWS, SAWS, recipe=tiny(epochs=1), out=out, progress="none", device="cpu")
    began = json.loads((out / "run.json").read_text(encoding="utf-8"))
    for name in NEW:
        del began["recipe"][name]
    (out / "run.json").write_text(json.dumps(began), encoding="utf-8")
    assert run().recipe == tiny(epochs=1)
    with pytest.raises(ArgumentError, match="was 'none', is 'blend'"):
        run(approximation="blend", **NEEDED)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"position": "relative"},
            "`position` must be one of sinusoidal, .*, none for 'blend', .* but is 'relative'",
        ),
        ({"position": "rotary"}, "but is 'rotary'"),
        ({"attention_dropout": 0.1}, "`attention_dropout` must be 0.0 for 'blend', which .* but is 0.1"),
        ({"score": "dot"}, "`score` must be 'scaled_dot' for 'blend', which .* but is 'dot'"),
        ({"weights": "relu"}, "`weights` must be 'softmax' for 'blend', which .* but is 'relu'"),
        (
            {"mask": "no_self"},
            "`mask` must be 'none' or 'causal' for 'blend', .* but is 'no_self'. A mask that saves",
        ),
        ({"mask": "window"}, "`mask` must be 'none' or 'causal' for 'blend', .* but is 'window'"),
        (
            {"approximation": "unordered", "mask": "causal"},
            "`mask` must be 'none' for 'unordered', .* but is 'causal'. A mask that saves",
        ),
        (
            {"task": "classifier", "input": {"kind": "graphs"}},
            "`input.edges` must be false for 'blend', which attends to all of a source, but is true",
        ),
        (
            {"task": "classifier", "input": {"kind": "molecules", "edges": False, "reach": 3}},
            "`input.reach` must be 0 for 'blend', which .* but is 3",
        ),
        (
            {"network": "convolution"},
            "`approximation` must be 'none' for 'convolution', which has no attention, but is",
        ),
        (
            {"approximation": "one_set"},
            "`projections` must be 'shared_query_key' or 'shared_query_key_value' for 'one_set', .* but is 'usual'",
        ),
        ({"approximation": "one_set", "projections": "query_only"}, "`projections` must be .* but is 'query_only'"),
        ({"network": "bidirectional"}, "`approximation` must be 'none' for 'bidirectional', which has no attention"),
        (
            {"task": {**SEQ2SEQ, "architecture": "attentive"}},
            "`approximation` must be 'none' for 'attentive', which has no self-attention, but is 'blend'",
        ),
        (
            {"task": {**SEQ2SEQ, "architecture": "recurrent"}},
            "`approximation` must be 'none' for 'recurrent', which has no attention, but is 'blend'",
        ),
        ({"approximation_size": 0}, "`approximation_size` must be at least 1, but is 0"),
        ({"max_length": 0}, "`max_length` must be at least 1, but is 0"),
        ({"approximation": None}, "`approximation` must be one of none, .* but is 'None'"),
    ],
    ids=str,
)
def test_what_can_not_be_combined(changes, message):
    with pytest.raises(ArgumentError, match=message):
        Recipe(**{"approximation": "blend", **NEEDED, **changes})


def test_one_matrix_for_queries_and_keys_where_it_is_needed():
    for projections in ("shared_query_key", "shared_query_key_value"):
        recipe = tiny(approximation="one_set", projections=projections, **NEEDED)
        network = SourceNetwork(recipe, recipe.input.fit([["one", "two"]]), 3)
        assert [type(part) for part in parts(network)] == [OneSet] * 2


def test_a_name_that_there_is_not():
    with pytest.raises(UnknownNameError, match="Did you mean 'reformer'"):
        Recipe(approximation="refromer")


def small(name, **changes):
    """A recipe with one of the approximations that there are."""
    projections = "shared_query_key" if APPROXIMATIONS[name].shared_query_key else "usual"
    return tiny(**{"approximation": name, "projections": projections, "max_length": 23, **NEEDED, **changes})


def size_of(part):
    match part:
        case LinearAttention():
            return None
        case PerformerAttention():
            return len(part.directions)
        case LinformerAttention():
            return len(part.key_projection)
        case NystromAttention():
            return part.landmarks
        case ReformerAttention():
            return part.chunk
        case SinkhornAttention():
            return part.block
        case SynthesizerAttention():
            return part.key_table.shape[2]


def length_of(part):
    if isinstance(part, LinformerAttention):
        return part.value_projection.shape[1]
    return part.key_table.shape[1] if isinstance(part, SynthesizerAttention) else None


@pytest.mark.parametrize(
    ("name", "kind", "usual"),
    [
        ("linear", LinearAttention, None),
        ("performer", PerformerAttention, 256),
        ("linformer", LinformerAttention, 256),
        ("nystromformer", NystromAttention, 64),
        ("reformer", ReformerAttention, 64),
        ("sinkhorn", SinkhornAttention, 64),
        ("synthesizer", SynthesizerAttention, 8),
    ],
)
@pytest.mark.parametrize("size", [None, 5])
def test_sizes_of_the_approximations_that_there_are(name, kind, usual, size):
    recipe = small(name, approximation_size=size)
    found = parts(SourceNetwork(recipe, recipe.input.fit([["one", "two"]]), 3))
    expected = usual if size is None or usual is None else size
    length = 23 if name in ("linformer", "synthesizer") else None
    assert [(type(part), size_of(part), length_of(part)) for part in found] == [(kind, expected, length)] * 2


def test_the_parameters_that_a_length_costs():
    """Two layers, two heads."""

    def count(name, **changes):
        recipe = small(name, **changes)
        network = SourceNetwork(recipe, recipe.input.fit([["one", "two"]]), 3)
        return sum(parameter.numel() for parameter in network.parameters())

    exact = count("linear")
    assert count("linformer", max_length=31) - exact == 2 * (2 * 256 * 31)
    assert count("linformer", max_length=31, approximation_size=7) - exact == 2 * (2 * 7 * 31)
    assert count("synthesizer", max_length=31) - exact == 2 * (2 * 2 * 8 * 31)


@pytest.mark.parametrize("name", [*APPROXIMATIONS])
def test_each_is_trained_and_loaded(name, tmp_path):
    recipe = small(name, approximation_size=3, epochs=1)
    exact = train(SAWS, SAWS, recipe=dataclasses.replace(recipe, approximation="none"), progress="none", device="cpu")
    model = train(SAWS, SAWS, recipe=recipe, progress="none", device="cpu")
    said = model.tag([["we", "saw", "a", "saw"]])
    assert all(0 < word.score <= 1 for word in said[0])
    assert said != exact.tag([["we", "saw", "a", "saw"]])
    loaded = load(model.save(tmp_path / "model"))
    assert loaded.recipe == recipe
    assert loaded.tag([["we", "saw", "a", "saw"]]) == said


def test_a_size_may_be_null():
    held = small("performer").to_json()
    assert held["approximation_size"] is None
    assert Recipe.from_json(json.loads(json.dumps(held))) == small("performer")
    # A recipe that was saved with a number keeps it.
    assert Recipe.from_json({**held, "approximation_size": 64}).approximation_size == 64


@pytest.mark.parametrize("name", ["linformer", "synthesizer"])
@pytest.mark.parametrize("argument", ["examples", "dev"])
def test_a_source_that_is_too_long_is_refused_before_training(name, argument, tmp_path):
    long = [(["saw"] * 6, ["NOUN"] * 6)]
    given = {"examples": SAWS, "dev": SAWS, argument: [*SAWS, *long]}
    recipe = small(name, max_length=5, epochs=1)
    with pytest.raises(ArgumentError) as caught:
        train(given["examples"], given["dev"], recipe=recipe, out=tmp_path / "run", progress="none", device="cpu")
    assert str(caught.value) == (
        f"`max_length` must be at least 6, the number of words of the longest source in `{argument}`, for {name!r}, "
        "which learns tables by position, but is 5. Make the recipe's max_length larger, or use shorter sources."
    )
    assert not (tmp_path / "run" / "log.jsonl").exists()


def test_a_trained_model_refuses_a_source_that_is_too_long():
    model = train(SAWS, SAWS, recipe=small("linformer", max_length=5, epochs=1), progress="none", device="cpu")
    assert model.position_limit == 5
    with pytest.raises(ArgumentError, match=r"may have 5 words, the number of positions that .* but one has 6"):
        model.tag([["saw"] * 6])
    # Learned positions of the inputs are few, too: the smaller number counts.
    recipe = small("linformer", position="learned", max_length=10**4, approximation_size=3, epochs=1)
    learned = train(SAWS, SAWS, recipe=recipe, progress="none", device="cpu")
    assert learned.position_limit < 10**4
    exact = train(SAWS, SAWS, recipe=small("performer", max_length=5, epochs=1), progress="none", device="cpu")
    assert exact.position_limit is None


def test_a_class_and_a_name_are_all_that_a_new_one_needs(monkeypatch):
    """The class says which of its arguments is the size; recipes and grids follow."""

    class Mean(Approximation):
        size_argument = "window"

        def __init__(self, *, window=2):
            super().__init__()
            self.window = window

        def approximate(self, query, key, value, *, real, causal):
            near = torch.nn.functional.pad(value, (0, 0, self.window, 0)).unfold(2, self.window + 1, 1)
            return near.mean(-1)

    monkeypatch.setitem(APPROXIMATIONS, "mean", Mean)
    for size, expected in ((None, 2), (5, 5)):
        recipe = tiny(approximation="mean", approximation_size=size, epochs=1, **NEEDED)
        model = train(SAWS, SAWS, recipe=recipe, progress="none", device="cpu")
        assert [part.window for part in parts(model.network)] == [expected] * 2
    with pytest.raises(ArgumentError, match="`mask` must be 'none' for 'mean'"):
        Recipe(approximation="mean", mask="causal", **NEEDED)
    assert "approximation=mean, approximation_size=5" in grid(
        Recipe(**NEEDED), {"approximation": ["none", "mean"], "approximation_size": [None, 5]}
    )


def test_a_grid_has_no_size_that_nothing_reads():
    usual = Recipe(**NEEDED)
    vary = {"approximation": ["none", "blend", "unordered"], "approximation_size": [8, None], "max_length": [64, 4096]}
    assert set(grid(usual, vary)) == {
        "default",
        "approximation=unordered",
        "approximation=blend",
        "approximation=blend, approximation_size=8",
        "approximation=blend, max_length=64",
        "approximation=blend, approximation_size=8, max_length=64",
    }


def call_in(error):
    """The call that an error advises."""
    return str(error).rpartition(" Use ")[2].removesuffix(".")


def test_one_error_lists_all_fields_and_a_call_that_works():
    with pytest.raises(ArgumentError) as caught:
        Recipe(approximation="performer")
    message = str(caught.value)
    assert "`attention_dropout` must be 0.0" in message
    assert "`position` must be one of" in message
    advised = eval(call_in(message), {"Recipe": Recipe})
    assert advised == Recipe(approximation="performer", attention_dropout=0.0, position="sinusoidal")
    with pytest.raises(ArgumentError, match=r"`attention_dropout` .*`position` .*`projections` must be"):
        Recipe(approximation="reformer")


@pytest.mark.parametrize(
    "given",
    [
        {"approximation": "one_set", "weights": "relu", "score": "dot", "width": 16},
        {"approximation": "unordered", "mask": "causal", "task": {"kind": "classifier", "pooling": "max"}},
        {"approximation": "linear", "task": "classifier", "input": {"kind": "molecules", "reach": 3, "edges": True}},
        {"approximation": "linear", "task": "classifier", "input": {"kind": "graphs", "standardise": False}},
        {"approximation": "reformer", "input": {"word_width": 7, "features": {"prefixes": 2}}},
    ],
    ids=str,
)
def test_the_call_keeps_what_was_asked_for(given):
    with pytest.raises(ArgumentError) as caught:
        Recipe(**given)
    advised = eval(call_in(caught.value), {"Recipe": Recipe})
    # Made exact, the two differ in nothing but the fields that had to change.
    changed = {"position", "attention_dropout", "score", "weights", "mask", "projections", "input"}
    asked = Recipe(**{**given, "approximation": "none"}).to_json()
    found = dataclasses.replace(advised, approximation="none").to_json()
    assert {name for name in asked if asked[name] != found[name]} <= changed
    assert {name for name in asked["input"] if asked["input"][name] != found["input"][name]} <= {"edges", "reach"}
    assert advised.approximation == given["approximation"]


def test_a_comparison_names_all_options_in_one_error():
    vary = {"approximation": ["none", "performer", "reformer"]}
    with pytest.raises(ArgumentError) as caught:
        grid(Recipe(), vary)
    message = str(caught.value)
    assert message.startswith("`vary` can't give approximation=performer: attention_dropout must be 0.0")
    options = message.rpartition(" use ")[2].removesuffix(".").split("--vary ")[1:]
    assert options == ["attention_dropout=0.0 ", "position=sinusoidal ", "projections=shared_query_key"]
    names = list(grid(Recipe(), {**vary, **parse_vary([each.strip() for each in options])}))
    assert len(names) == 4
    assert "approximation=reformer" in names[-1]
