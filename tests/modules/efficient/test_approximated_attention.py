"""`MultiHeadAttention(approximation=...)`: what is passed on, what is refused, what is saved, what is seen."""

import warnings

import pytest
import torch
from torch import nn

from regard import watch
from regard.attention import Bias, Causal, Documents, Lengths, Prefix, Window
from regard.errors import ArgumentError, UnknownNameError
from regard.inspection import NothingSeen, PartlySeen, RemoveHead
from regard.modules import Cache, Encoder, MultiHeadAttention, PerLayer, Projections
from regard.modules.efficient import APPROXIMATIONS, Approximation
from regard.modules.networks import NETWORKS, build_network


class ScaledMean(Approximation):
    """Each output is the mean of the values that may be seen, times a number that each head learns."""

    causal = True

    def __init__(self, heads, times=1.0):
        super().__init__()
        self.scale = nn.Parameter(torch.full((heads, 1, 1), float(times)))

    def approximate(self, query, key, value, *, real, causal):
        count = torch.ones_like(value[..., :1]) if real is None else real[:, None, :, None].to(value)
        if causal:
            return self.scale * value.cumsum(2) / count.expand(-1, value.shape[1], -1, -1).cumsum(2).clamp(min=1)
        return (self.scale * value.sum(2, keepdim=True) / count.sum(2, keepdim=True).clamp(min=1)).expand_as(value)


class NeverCausal(Approximation):
    def approximate(self, query, key, value, *, real, causal):
        return value


class OneSet(NeverCausal):
    shared_query_key = True


class LikeLinformer(Approximation):
    """A softmax over something else than the keys, which isn't a weight of a key."""

    def approximate(self, query, key, value, *, real, causal):
        return torch.softmax(query @ key[:, :, :2].mT, -1) @ value[:, :, :2]


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(APPROXIMATIONS, "scaled_mean", ScaledMean)
    monkeypatch.setitem(APPROXIMATIONS, "never_causal", NeverCausal)


@pytest.fixture
def vectors():
    return torch.randn(3, 7, 10, generator=torch.Generator().manual_seed(2))


LENGTHS = [7, 4, 0]


def expected(module, vectors, lengths, causal):
    """The mean of the projected values, position by position, and the output projection."""
    values = vectors @ module.value.weight.T + module.value.bias
    rows = torch.zeros_like(values)
    for item, length in enumerate(lengths):
        for position in range(length):
            rows[item, position] = values[item, : position + 1 if causal else length].mean(0)
    return rows @ module.output.weight.T + module.output.bias


@pytest.mark.parametrize(
    ("mask", "lengths", "causal"),
    [
        (None, [7, 7, 7], False),
        ("dense", [7, 7, 7], False),
        ("causal", [7, 7, 7], True),
        (Lengths(LENGTHS), LENGTHS, False),
        (Lengths(LENGTHS) & Causal(), LENGTHS, True),
        ("causal" & Lengths([7, 5, 2]) & Lengths([7, 4, 7]), [7, 4, 2], True),
    ],
    ids=str,
)
def test_it_gets_what_the_mask_says(vectors, mask, lengths, causal):
    module = MultiHeadAttention(10, heads=2, approximation="scaled_mean")
    torch.testing.assert_close(module(vectors, mask=mask), expected(module, vectors, lengths, causal))


def test_the_part_is_made_of_a_name_a_per_layer_or_an_object():
    one = ScaledMean(2, times=3.0)
    assert MultiHeadAttention(10, heads=2, approximation=one).approximation is one
    named = MultiHeadAttention(10, heads=2, approximation="scaled_mean").approximation
    assert isinstance(named, ScaledMean)
    made = Encoder(10, 2, heads=2, hidden=4, approximation=PerLayer(ScaledMean)).layers
    assert made[0].attention.approximation is not made[1].attention.approximation
    shared = Encoder(10, 2, heads=2, hidden=4, approximation=one).layers
    assert shared[0].attention.approximation is shared[1].attention.approximation is one


@pytest.mark.parametrize("projections", [Projections(shared_key=True), Projections(query_only=True)], ids=str)
def test_projections_may_be_shared(vectors, projections):
    module = MultiHeadAttention(10, heads=2, projections=projections, output=False, approximation="scaled_mean")
    values = vectors if module.value is None else module.value(vectors)
    torch.testing.assert_close(module(vectors), values.mean(1, keepdim=True).expand_as(values))


def test_one_that_needs_equal_queries_and_keys_gets_them(vectors):
    module = MultiHeadAttention.shared_query_key(10, heads=2, output=False, approximation=OneSet())
    torch.testing.assert_close(module(vectors), module.value(vectors))


def test_the_query_may_be_given_as_the_key_too(vectors):
    module = MultiHeadAttention(10, heads=2, approximation="scaled_mean")
    assert torch.equal(module(vectors, vectors, vectors), module(vectors))


def test_without_it_nothing_changes():
    torch.manual_seed(0)
    usual = MultiHeadAttention(10, heads=2)
    torch.manual_seed(0)
    approximated = MultiHeadAttention(10, heads=2, approximation="scaled_mean")
    state = approximated.state_dict()
    assert state.pop("approximation.scale").shape == (2, 1, 1)
    assert all(map(torch.equal, usual.state_dict().values(), state.values()))
    assert list(usual.state_dict()) == list(state)


def test_it_is_saved_and_loaded(vectors):
    encoder, other = (Encoder(10, 2, heads=2, hidden=4, approximation="scaled_mean").eval() for _ in range(2))
    nn.init.normal_(encoder.layers[1].attention.approximation.scale)
    assert not torch.equal(encoder(vectors), other(vectors))
    other.load_state_dict(encoder.state_dict())
    assert torch.equal(encoder(vectors), other(vectors))


@pytest.mark.parametrize("name", [name for name, network in NETWORKS.items() if network.attends])
def test_networks_pass_it_on(name, vectors):
    parts = {"kernel": 3} if name == "convolution_attention" else {}
    network = build_network(name, 10, 2, hidden=4, heads=2, approximation="scaled_mean", mask="causal", **parts).eval()
    assert sum(isinstance(module, ScaledMean) for module in network.modules()) == 2
    later = vectors.clone()
    later[:, 5:] = 9.0
    lengths = torch.tensor([7, 7, 7])
    before, after = network(vectors, lengths), network(later, lengths)
    reach = 2 if name == "convolution_attention" else 0  # two layers of a convolution that sees one vector ahead
    torch.testing.assert_close(before[:, : 5 - reach], after[:, : 5 - reach])
    assert not torch.allclose(before[:, 5:], after[:, 5:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"score": "dot"}, "`score` must be 'scaled_dot' where `approximation` is given, .* but is 'dot'"),
        ({"weights": "relu"}, "`weights` must be 'softmax' where .* but is 'relu'"),
        ({"position": "rotary"}, "`position` must be None where .* but is 'rotary'. Use an encoding of the inputs"),
        ({"dropout": 0.1}, "`dropout` must be 0.0 where .* but is 0.1"),
        ({"engine": "dense"}, "`engine` must be 'auto' where .* but is 'dense'"),
        ({"projections": Projections(kv_heads=1)}, "as many heads of keys as of queries, 2, where .* but has 1"),
        ({"key_width": 20}, "`key_width` must be `width` 10 where .* self-attention, but is 20"),
        ({"value_width": 20}, "`value_width` must be `width` 10 where .* self-attention, but is 20"),
        ({"approximation": OneSet()}, "one matrix for queries and keys where `approximation` is OneSet, but have two"),
        (
            {"approximation": OneSet(), "projections": Projections(query_only=True)},
            "must have one matrix for queries and keys",
        ),
        ({"approximation": ScaledMean}, r"but is <class .*ScaledMean'>. Did you mean ScaledMean\(...\)\?"),
        ({"approximation": 3}, "`approximation` must be a name of .*, an Approximation, a PerLayer or None, but is 3"),
        ({"approximation": nn.Linear(2, 2)}, "`approximation` must be a name of .* but is Linear"),
    ],
    ids=str,
)
def test_what_it_can_not_be_combined_with(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        MultiHeadAttention(10, heads=2, **{"approximation": "scaled_mean", **arguments})


def test_an_unknown_name_is_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'scaled_mean'"):
        MultiHeadAttention(10, heads=2, approximation="scaled_maen")


def test_extra_keys_and_other_sources_are_refused():
    with pytest.raises(ArgumentError, match="must be None for extra keys, which it doesn't attend to, but"):
        MultiHeadAttention.with_extra_keys(10, heads=2, approximation="scaled_mean")
    with pytest.raises(ArgumentError, match="`approximation` must be None for a module that attends to another source"):
        MultiHeadAttention(10, heads=2, approximation="scaled_mean").remember(torch.zeros(1, 3, 10))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"key": torch.zeros(3, 5, 10)}, r"`key` must be left out .* but is a tensor \(3, 5, 10\). Use a module"),
        ({"value": torch.zeros(3, 7, 10)}, "`value` must be left out"),
        ({"bias": torch.zeros(7, 7)}, r"`bias` must be left out where .* but is a tensor \(7, 7\)"),
        ({"cache": Cache()}, "`cache` must be left out where .* but is a Cache"),
        ({"lengths": [7, 4, 0]}, "`lengths` must be left out where .* but is a list"),
        ({"mask": Window(2, 2)}, r"`mask` must be None, .* but has Window\(before=2, after=2\). .* Longformer"),
        ({"mask": Lengths(LENGTHS) & Window(2, 2)}, r"but has Window\("),
        ({"mask": Lengths(LENGTHS) | Causal()}, r"but has Or\("),
        ({"mask": ~Causal()}, r"but has Not\("),
        ({"mask": Prefix(2)}, r"but has Prefix\("),
        ({"mask": Documents([0] * 7)}, r"but has Documents\("),
        ({"mask": Lengths(query=LENGTHS)}, r"but has Lengths\("),
        ({"mask": Lengths([7, 4])}, "`lengths` must be one number for each of 3 items, but is 2 numbers"),
        ({"mask": Lengths([8, 4, 2])}, "`lengths` of the query must be from 0 to 7"),
        ({"mask": Bias(torch.zeros(7, 7))}, "`mask` must be a mask or a function"),
        ({"mask": lambda batch, head, query, key: key > 1}, "but has "),
    ],
)
def test_calls_that_it_can_not_serve(vectors, arguments, message):
    module = MultiHeadAttention(10, heads=2, approximation="scaled_mean")
    with pytest.raises(ArgumentError, match=message):
        module(vectors, **arguments)


def test_one_that_can_not_be_causal_says_so(vectors):
    module = MultiHeadAttention(10, heads=2, approximation="never_causal")
    with pytest.raises(ArgumentError, match="`causal` must be False for NeverCausal"):
        module(vectors, mask="causal")


@pytest.mark.parametrize("approximation", [NeverCausal(), LikeLinformer()], ids=lambda each: type(each).__name__)
def test_watch_says_that_attention_is_approximated(vectors, approximation):
    encoder = Encoder(10, 2, heads=2, hidden=4, approximation=approximation)
    name = type(approximation).__name__
    with (
        pytest.warns(
            NothingSeen, match=f"^Attention in layers.0.attention, layers.1.attention is approximated by {name}, "
        ),
        watch(encoder) as seen,
    ):
        encoder(vectors)
    assert not seen.layers
    assert "approximated" in seen.nothing
    assert seen.nothing.endswith("Train with approximation 'none' to see weights.")
    with pytest.raises(ArgumentError, match="is approximated by"):
        seen.verify()
    with pytest.warns(NothingSeen, match="^Attention in the model itself is approximated"), watch(approximation):
        approximation(*[vectors.view(3, 1, 7, 10)] * 3)


def test_watch_says_which_layers_are_approximated(vectors):
    exact, approximated = MultiHeadAttention(10, heads=2), MultiHeadAttention(10, 2, approximation=LikeLinformer())
    model = nn.Sequential(exact, approximated)
    with pytest.warns(PartlySeen, match="^Attention in 1 is approximated by LikeLinformer"), watch(model) as seen:
        model(vectors)
    assert seen.names == ["0"]


def test_changes_apply_to_exact_attention_only(vectors):
    model = nn.Sequential(MultiHeadAttention(10, 2, approximation=LikeLinformer()), MultiHeadAttention(10, heads=2))
    with warnings.catch_warnings(), watch(model, changes=[RemoveHead(layer=1, head=2)]) as seen:
        warnings.simplefilter("ignore", PartlySeen)
        model(vectors)
    assert seen.names == ["1"]
    assert "remove head 2" in seen[0].notes[0]
