"""Bad arguments get one clear sentence, and parts of the user's own are checked at the door."""

import importlib
import warnings

import pytest
import torch

from regard.attention import (
    SCORES,
    Dot,
    Learned,
    Lengths,
    Relative,
    Sinusoidal,
    attend,
    attend_rows,
    plan,
    summarise,
    weigh,
)
from regard.attention.engines import ENGINES
from regard.attention.parts import flatten_part, operands, unflatten_part
from regard.errors import ArgumentError

X = torch.ones(2, 3, 5, 7)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyTorch says of one layout that it is a prototype
    NESTED = torch.nested.nested_tensor([torch.ones(3, 5, 7), torch.ones(3, 5, 7)])
    JAGGED = torch.nested.nested_tensor([torch.ones(3, 5, 7), torch.ones(4, 5, 7)], layout=torch.jagged)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": torch.ones(5, 7)}, r"`query` must be a tensor \(batch, head, length, size\), but is \(5, 7\)"),
        ({"value": torch.ones(2, 3, 4, 7)}, r"`value` must be \(batch, head, key\) = \(2, 3, 5\)"),
        ({"key": torch.ones(1, 3, 5, 7), "value": torch.ones(1, 3, 5, 7)}, "the batch size of `query`, 2"),
        ({"key": torch.ones(2, 2, 5, 7), "value": torch.ones(2, 2, 5, 7)}, "multiple of the 2 heads of `key`"),
        ({"key": X.double()}, "`key` must be torch.float32"),
        ({"query": X.long(), "key": X.long(), "value": X.long()}, "must hold real numbers, but is torch.int64"),
        *(
            (
                {name: X.to(dtype) for name in ("query", "key", "value")},
                f"`query` must be of float32.*is of {dtype}.*bfloat16",
            )
            for dtype in (torch.float8_e4m3fn, torch.float8_e5m2)
        ),
        ({"query": NESTED}, r"`query` must be a tensor .* but is a nested tensor. Pad it .*mask=Lengths\(lengths\)"),
        ({"query": NESTED, "key": NESTED, "value": NESTED}, "`query` must be a tensor .* but is a nested tensor"),
        ({"value": JAGGED}, "`value` must be a tensor .* but is a nested tensor"),
        ({"query": JAGGED, "key": JAGGED, "value": JAGGED, "mask": "causal"}, "`query` must .* is a nested tensor"),
        ({"key": X.to_sparse()}, r"`key` must be dense, but is torch.sparse_coo. Convert it with .to_dense\(\)"),
        ({"score": "scaled_dto"}, "Did you mean 'scaled_dot'"),
        ({"weights": "sofmax"}, "Did you mean 'softmax'"),
        ({"weights": 3}, "`weights` must be a name"),
        ({"score": Dot}, r"did you mean Dot\(\)"),
        ({"position": "relativ"}, "Did you mean 'relative'"),
        ({"position": "relative"}, r"needs arguments.*pass Relative\(...\)"),
        ({"position": "sinusoidal"}, "added to the inputs, which attend never sees"),
        ({"position": Learned(7)}, "added to the inputs"),
        ({"key": torch.ones(2, 3, 5, 6)}, "`key` must have the feature size of `query`, 7, but has 6"),
        ({"position": lambda scores: scores}, "must be a name"),
        ({"position": Relative(5)}, r"must have a table \(2 reach \+ 1, 7\)"),
        ({"position": Relative(7, heads=2)}, "must have vectors for every head, but has them for 2"),
        ({"mask": lambda batch, head, query, key: 1.0 * (key > query)}, "must return a bool tensor"),
        ({"mask": Lengths([3]) | Lengths([3, 4])}, "one number for each of 2 items, but is 1"),
        ({"dropout": 1.5}, "`dropout` must be a share from 0 to 1, but is 1.5"),
        ({"engine": "quick"}, f"`engine` must be one of auto, {', '.join(ENGINES)}"),
    ],
)
def test_bad_arguments(arguments, message, monkeypatch):
    # The shapes in the signature would speak first under the test hook; here the errors are what a user sees.
    bare = getattr(attend, "__wrapped__", attend)
    # The mode that a default device sets calls attend again, by its name.
    monkeypatch.setattr(importlib.import_module("regard.attention.attend"), "attend", bare)
    with pytest.raises(ArgumentError, match=message):
        bare(**({"query": X, "key": X, "value": X} | arguments))


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("is_causal", True, "Pass mask='causal'"),
        ("attn_mask", torch.ones(5, 5), r"Pass mask=.*Pairs\(table\).*position=Bias\(table\)"),
        ("dropout_p", 0.1, "Pass dropout="),
        ("scale", 0.5, r"Pass score=Dot\(scale\)"),
        ("enable_gqa", True, "Leave it out"),
        ("maks", "causal", "Did you mean 'mask'"),
        ("xyz", 1, "It takes score, weights, mask"),
    ],
)
def test_arguments_of_pytorch_and_misspelt_ones_are_named(name, value, instead):
    for function in (attend, plan, weigh, attend_rows, summarise):
        bare = getattr(function, "__wrapped__", function)
        given = {"rows": [0]} if function is attend_rows else {}
        three = (X, X) if function in (weigh, summarise) else (X, X, X)
        with pytest.raises(ArgumentError, match=f"`{name}` is no argument of {function.__name__}. {instead}"):
            bare(*three, **given, **{name: value})


def test_a_spec_hashes_and_holds_no_tensor():
    mask = Lengths([1, 2]) & (Lengths(key=[3, 3]) | ~Lengths(query=[0, 1]))
    spec, tensors = flatten_part(mask)
    assert hash(spec) == hash(flatten_part(mask)[0])
    assert [tensor.tolist() for tensor in tensors] == [[1, 2], [3, 3], [0, 1]]
    assert operands(unflatten_part(spec, tensors)) == tensors


class TestPositions:
    def test_relative_by_hand(self):
        """Two items, one feature: q = [1, 2], k = [0, 0], r = [-1, 0, 1] for a key before, beside, after."""
        position = Relative(1, reach=1)
        position.table.data = torch.tensor([[-1.0], [0.0], [1.0]])
        query, key = torch.tensor([[[[1.0], [2.0]]]]), torch.zeros(1, 1, 2, 1)
        scores = weigh(query, key, weights=lambda scores, allowed: scores, position=position)[0, 0]
        assert scores.tolist() == [[0.0, 1.0], [-2.0, 0.0]]

    def test_relative_is_the_sum_that_shaw_writes(self):
        torch.manual_seed(0)
        position = Relative(7, reach=2, heads=3).double()
        query, key = torch.randn(2, 3, 5, 7).double(), torch.randn(2, 3, 6, 7).double()
        offset = torch.arange(6).view(1, -1) - (torch.arange(5).view(-1, 1) + 1)
        vectors = position.table[:, offset.clamp(-2, 2) + 2]  # (head query key feature)
        expected = (query.unsqueeze(3) * (key.unsqueeze(2) + vectors)).sum(-1) / 7**0.5
        actual = weigh(query, key, weights=lambda scores, allowed: scores, position=position)
        torch.testing.assert_close(actual, expected)

    def test_relative_takes_any_length(self):
        position = Relative(4, reach=3)
        for length in (0, 1, 128, 129):
            x = torch.ones(1, 2, length, 4)
            assert attend(x, x, x, position=position).shape == x.shape

    def test_learned_says_where_it_ends(self):
        learned = Learned(4, length=128)
        assert learned(torch.zeros(1, 128, 4)).shape == (1, 128, 4)
        with pytest.raises(ArgumentError, match="at most 128 long, as many positions as were learned, but is 129 long"):
            learned(torch.zeros(1, 129, 4))

    def test_sinusoidal_takes_any_length_and_any_width(self):
        wave = Sinusoidal(5)(torch.zeros(1, 129, 5, dtype=torch.float64))[0]
        assert wave.shape == (129, 5)
        assert wave[128, 0].item() == pytest.approx(torch.tensor(128.0).double().sin().item())
        # Any fixed distance is a rotation of each pair: the inner product depends on the distance alone.
        pairs = wave[:, :4]
        assert (pairs[3] @ pairs[10]).item() == pytest.approx((pairs[100] @ pairs[107]).item())

    def test_relative_reach(self):
        with pytest.raises(ArgumentError, match="`reach` must be a distance, 0 or more, but is -1"):
            Relative(4, reach=-1)


def test_the_names_in_the_dict_are_the_names_in_the_errors():
    with pytest.raises(ArgumentError, match=", ".join(SCORES)):
        weigh(X, X, score="?")
