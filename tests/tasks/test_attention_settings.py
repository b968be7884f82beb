"""What a recipe says of attention: which matrices there are, who may attend to whom, and what the others refuse."""

import dataclasses
import json

import pytest
import torch
from toys import SAWS, tiny

from regard import load, train
from regard.errors import ArgumentError, UnknownNameError
from regard.inputs import Sound
from regard.inspection import watch
from regard.tasks import TASKS, Recipe
from regard.tasks.network import SourceNetwork
from regard.tasks.seq2seq.data import Seq2SeqData
from regard.tasks.synthesis.data import SynthesisData

NEW = ("projections", "mask", "attention_window", "residual")
PROJECTED = ["separate", "shared_query_key", "shared_query_key_value", "query_only"]
CHANGES = [
    *({"projections": name} for name in PROJECTED[1:]),
    *({"mask": name} for name in ("no_self", "causal")),
    {"mask": "window", "attention_window": 1},
    {"mask": "longformer", "attention_window": 0},
    {"residual": False},
]
# Whether query i may attend to key j, in numbers.
ALLOWED = {
    "none": lambda i, j: True,
    "no_self": lambda i, j: i != j,
    "causal": lambda i, j: j <= i,
    "window": lambda i, j: -2 <= j - i <= 2,
    "strided": lambda i, j: -2 <= j - i <= 2 or (j - i) % 2 == 0,
    "longformer": lambda i, j: -2 <= j - i <= 2 or 0 in (i, j),
    # In blocks of two, of which seven items have at most four: two are global, and a block sees its neighbours.
    "bigbird": lambda i, j: i < 4 or j < 4 or abs(i // 2 - j // 2) <= 1,
}
WORDS = [[f"word{number}" for number in range(7)], ["one", "two", "three"], ["alone"]]
TEXTS = [("abcdefg", "ab"), ("abc", "c"), ("a", "a")]
SPOKEN = Sound(0.1 * torch.randn(1, 2000, generator=torch.Generator().manual_seed(3)), 8000)
SEQ2SEQ = {"kind": "seq2seq", "vocabulary": "characters", "size": 16, "decoder_layers": 1}
CHARACTERS = {"kind": "texts", "vocabulary": "characters", "size": 16}
SYNTHESIS = {"kind": "synthesis", "filters": 20, "decoder_layers": 1, "guide": 0.6}
SMALL = {"width": 8, "heads": 2, "hidden": 11, "layers": 2}


def of_words(**changes):
    """The network for words, and the batch of `WORDS`."""
    recipe = tiny(**changes)
    encoder = recipe.input.fit(WORDS)
    torch.manual_seed(7)
    network = SourceNetwork(recipe, encoder, 3).eval()
    return network, recipe.input.batch(encoder, [recipe.input.item(encoder, words) for words in WORDS])


def attended(network, run):
    """What each layer of self-attention on the source saw."""
    with torch.no_grad(), watch(network) as seen:
        run(network)
    return [layer for layer in seen if "decoder" not in layer.name]


def check(layers, lengths, mask):
    assert len(layers) == 2
    for layer in layers:
        weights = layer.weights()
        for item, length in enumerate(lengths):
            for i in range(length):
                for j in range(weights.shape[-1]):
                    allowed = j < length and ALLOWED[mask](i, j)
                    assert bool((weights[item, :, i, j] > 0).all()) == allowed, (item, i, j)
                    assert allowed or not weights[item, :, i, j].any()


@pytest.mark.parametrize("mask", ALLOWED)
@pytest.mark.parametrize("network", ["attention", "convolution_attention", "graph_attention"])
def test_a_mask_hides_what_its_name_says(network, mask):
    network, batch = of_words(network=network, mask=mask, attention_window=2)
    check(attended(network, lambda network: network(batch)), [7, 3, 1], mask)


@pytest.mark.parametrize(
    "mask", [name for name in ALLOWED if name != "bigbird"]
)  # which has random blocks in a recording
@pytest.mark.parametrize(
    ("data", "task", "source", "pairs"),
    [
        pytest.param(Seq2SeqData, SEQ2SEQ, CHARACTERS, TEXTS, id="texts"),
        pytest.param(
            Seq2SeqData, {**SEQ2SEQ, "monotonic": 1.0}, {"kind": "speech"}, [(SPOKEN, "ab"), (SPOKEN, "c")], id="speech"
        ),
        pytest.param(SynthesisData, SYNTHESIS, CHARACTERS, [(text, SPOKEN) for text, _ in TEXTS], id="synthesis"),
    ],
)
def test_a_mask_is_of_the_encoder_of_sources(data, task, source, pairs, mask):
    recipe = Recipe(task=task, input=source, mask=mask, attention_window=2, **SMALL)
    objective = data(recipe, pairs, pairs, None).objective().eval()
    batch = objective.dataset.batch(range(len(pairs)))
    lengths = batch.sources.lengths
    run = lambda network: network.encode(batch.sources.vectors, lengths)  # noqa: E731
    check(attended(objective.network, run), lengths.tolist(), mask)


@pytest.mark.parametrize(
    ("projections", "equal", "fewer"),
    [
        ("separate", set(), 0),
        ("shared_query_key", {"query key"}, 1),
        ("shared_query_key_value", {"query key", "key value"}, 2),
        ("query_only", {"key value"}, 2),
    ],
)
@pytest.mark.parametrize("network", ["attention", "convolution_attention", "graph_attention"])
def test_projections_have_the_matrices_that_they_name(network, projections, equal, fewer):
    separate, _ = of_words(network=network, projections="separate")
    built, batch = of_words(network=network, projections=projections, position="none")
    for layer in attended(built, lambda network: network(batch)):
        vectors = {name: getattr(layer, name) for name in ("query", "key", "value")}
        pairs = [("query", "key"), ("key", "value")]
        assert {f"{a} {b}" for a, b in pairs if torch.equal(vectors[a], vectors[b])} == equal
    matrices = lambda network: sum(  # noqa: E731
        parameter.numel()
        for name, parameter in network.named_parameters()
        if name.split(".")[-2] in ("query", "key", "value")
    )
    # Two layers; a matrix of 24 x 24 and its bias.
    assert matrices(separate) - matrices(built) == 2 * fewer * (24 * 24 + 24)


@pytest.mark.parametrize(
    ("network", "usual"),
    [("attention", "separate"), ("convolution_attention", "separate"), ("graph_attention", "query_only")],
)
def test_usual_projections_are_those_of_the_network(network, usual):
    (default, batch), (named, _) = of_words(network=network), of_words(network=network, projections=usual)
    assert all(map(torch.equal, default.state_dict().values(), named.state_dict().values()))
    assert torch.equal(default(batch), named(batch))


def test_projections_are_those_of_all_attention_of_a_transformer():
    recipe = Recipe(task=SEQ2SEQ, input=CHARACTERS, **SMALL)
    names = []
    for projections in PROJECTED:
        job = Seq2SeqData(dataclasses.replace(recipe, projections=projections), TEXTS, TEXTS, None)
        names.append({name for name, _ in job.objective().network.named_parameters()})
    # Weight and bias of each matrix that isn't there, in two layers of the encoder and twice in the decoder's layer.
    assert [len(names[0] - some) for some in names] == [0, 2 * 4, 4 * 4, 4 * 4]


@pytest.mark.parametrize("changes", CHANGES, ids=lambda changes: next(iter(changes.values())))
def test_it_is_trained_saved_and_loaded_and_makes_a_difference(tmp_path, changes):
    models = [train(SAWS, SAWS, recipe=tiny(epochs=1, **each), progress="none", device="cpu") for each in ({}, changes)]
    usual, changed = (model.tag([["I", "saw"]]) for model in models)
    assert usual != changed
    models[1].save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.recipe == tiny(epochs=1, **changes)
    assert loaded.tag([["I", "saw"]]) == changed


def test_a_window_that_hides_nothing_changes_nothing():
    (usual, batch), (masked, _) = of_words(), of_words(mask="window", attention_window=7)
    torch.testing.assert_close(masked(batch), usual(batch))


def test_an_ensemble_has_them_in_each_member():
    model = train(SAWS, SAWS, recipe=tiny(epochs=1, members=2, mask="no_self"), progress="none", device="cpu")
    assert [str(member.network.mask) for member in model.network.members] == ["NoSelf()"] * 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"projections": "shared_query_kye"}, "Did you mean 'shared_query_key'?"),
        ({"projections": "shared_key"}, "`projections` must be one of usual, separate, shared_query_key, "),
        (
            {"mask": "casual"},
            "must be one of none, no_self, causal, window, strided, longformer, bigbird, but is 'casual'. Did you mean "
            "'causal'?",
        ),
        ({"mask": None}, "`mask` must be one of none"),
        ({"attention_window": -1}, "`attention_window` must be at least 0, but is -1"),
        (
            {"mask": "strided", "attention_window": 0},
            "`attention_window` must be at least 1 for the mask 'strided', but is 0",
        ),
        (
            {"mask": "bigbird", "attention_window": 0},
            "`attention_window` must be at least 1 for the mask 'bigbird', but is 0",
        ),
        ({"residual": 0}, "`residual` must be true or false, but is 0"),
    ],
)
def test_values_that_there_are_not(changes, message):
    with pytest.raises(ArgumentError) as caught:
        Recipe.from_json(changes)
    assert message in str(caught.value)
    assert isinstance(caught.value, UnknownNameError) == ("must be one of" in str(caught.value))


REFUSED = [
    *(
        ({"network": network, **changes}, f"for '{network}', which {why}, but is")
        for network in ("connected", "window", "convolution", "recurrent", "bidirectional")
        for changes, why in (
            ({"mask": "causal"}, "has no attention"),
            ({"projections": "separate"}, "has no attention"),
            ({"residual": False}, "always has residual connections"),
        )
    ),
    ({"network": "convolution_attention", "residual": False}, "which always has residual connections"),
    ({"network": "graph_attention", "residual": False}, "for 'graph_attention', which has no residual connections"),
    ({"task": "seq2seq", "residual": False}, "`residual` must be True for 'seq2seq', which has a decoder with"),
    ({"task": "synthesis", "residual": False}, "`residual` must be True for 'synthesis', which has a decoder with"),
    (
        {"task": {**SEQ2SEQ, "architecture": "attentive"}, "mask": "window"},
        "`mask` must be 'none' for 'attentive', which encodes sources by an RNN, but is 'window'.",
    ),
    (
        {"task": {**SEQ2SEQ, "architecture": "attentive"}, "projections": "shared_query_key"},
        "`projections` must be 'usual' for 'attentive', which has no self-attention, but is 'shared_query_key'.",
    ),
    (
        {"task": {**SEQ2SEQ, "architecture": "recurrent"}, "mask": "no_self"},
        "`mask` must be 'none' for 'recurrent', which encodes sources by an RNN, but is 'no_self'.",
    ),
    (
        {"task": {**SEQ2SEQ, "architecture": "recurrent"}, "projections": "query_only"},
        "`projections` must be 'usual' for 'recurrent', which has no attention, but is 'query_only'.",
    ),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=str)
def test_what_a_network_would_ignore_is_refused(changes, message):
    with pytest.raises(ArgumentError) as caught:
        Recipe(**changes)
    assert message in str(caught.value)


def test_the_network_of_a_recipe_does_not_matter_where_a_task_has_its_own():
    assert Recipe(task="seq2seq", network="recurrent", mask="causal").mask == "causal"
    assert Recipe(task="synthesis", network="recurrent", projections="query_only").projections == "query_only"


@pytest.mark.parametrize("task", TASKS)
def test_a_recipe_without_the_fields_is_as_before(task):
    recipe = Recipe(task=task)
    held = recipe.to_json()
    assert [held.pop(name) for name in NEW] == ["usual", "none", 8, True]
    assert Recipe.from_json(held) == recipe


def test_a_run_that_began_without_the_fields_can_be_resumed(tmp_path):
    def resume(**changes):
        return train(SAWS, SAWS, recipe=tiny(epochs=1, **changes), out=out, resume=True, progress="none", device="cpu")

    out = tmp_path / "run"
    model = train(SAWS, SAWS, recipe=tiny(epochs=1), out=out, progress="none", device="cpu")
    began = json.loads((out / "run.json").read_text(encoding="utf-8"))
    for name in NEW:
        del began["recipe"][name]
    (out / "run.json").write_text(json.dumps(began), encoding="utf-8")
    assert resume().recipe == model.recipe
    with pytest.raises(ArgumentError, match="recipe `mask` was 'none', is 'causal'"):
        resume(mask="causal")
