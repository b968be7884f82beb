"""The commonest call takes a shorter way to the same bits; everything else takes the long one."""

import importlib

import pytest
import torch

from attention.cases import seeded
from regard.attention import Causal, Dot, Softmax, attend
from regard.attention.fast_path import fast_path

# The name in the package is that of the function in it.
module = importlib.import_module("regard.attention.attend")

pytestmark = pytest.mark.usefixtures("only_on_a_cpu")

PLAIN = {"score": "scaled_dot", "weights": "softmax", "mask": None, "position": None, "engine": "auto"}


def heads(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=seeded(seed)).to(dtype)


@pytest.mark.parametrize("score", ["scaled_dot", "dot"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("queries", "keys", "mask"), [(5, 9, None), (1, 9, None), (1, 9, "causal"), (1, 1, "causal"), (300, 300, None)]
)
def test_it_gives_the_same_bits(monkeypatch, score, dtype, queries, keys, mask):
    query, key, value = heads(2, 3, queries, 8, dtype=dtype), heads(2, 3, keys, 8, seed=1), heads(2, 3, keys, 8, seed=2)
    arguments = (query, key.to(dtype), value.to(dtype))
    taken = fast_path(*arguments, **{**PLAIN, "score": score, "mask": mask})
    assert taken is not None
    assert torch.equal(attend(*arguments, score=score, mask=mask), taken)
    monkeypatch.setattr(module, "fast_path", lambda *arguments: None)
    assert torch.equal(attend(*arguments, score=score, mask=mask), taken)


def test_a_view_is_taken_as_it_is():
    """As a layer splits its heads, and as a cache hands out what it holds."""
    packed = heads(2, 7, 3 * 8)
    query = key = packed.unflatten(-1, (3, 8)).transpose(1, 2)
    torch.testing.assert_close(fast_path(query, key, key, **PLAIN), attend(query, key, key, engine="dense"))


@pytest.mark.parametrize(
    "other",
    [
        {"score": Dot()},
        {"score": "cosine"},
        {"score": lambda query, key: query @ key.mT},
        {"weights": "relu"},
        {"weights": Softmax(2.0)},
        {"mask": "causal"},
        {"mask": "no_self"},
        {"mask": Causal()},
        {"mask": torch.ones(5, 5, dtype=torch.bool)},
        {"position": "alibi"},
        {"engine": "dense"},
        {"engine": "no such engine"},
        {"query": heads(3, 5, 8)},
        {"query": heads(2, 6, 5, 8)},
        {"query": heads(1, 3, 5, 8)},
        {"query": heads(2, 3, 5, 4)},
        {"query": heads(2, 3, 0, 8)},
        {"query": heads(2, 3, 5, 8, dtype=torch.float64)},
        {"query": heads(2, 3, 5, 8).long()},
        {"query": heads(2, 3, 5, 8).to(torch.complex64)},
        {"query": heads(2, 3, 5, 8).to("meta")},
        {"query": heads(2, 3, 5, 8).requires_grad_()},
        {"query": torch.nn.Parameter(heads(2, 3, 5, 8), requires_grad=False)},
        {"query": heads(2, 3, 8, 5).mT},
        {"key": heads(2, 3, 0, 8), "value": heads(2, 3, 0, 8)},
        {"key": heads(2, 3, 4, 8)},
        {"value": heads(2, 3, 5, 4)},
        {"value": heads(2, 3, 5, 8).requires_grad_()},
        {"value": heads(2, 3, 5, 8, dtype=torch.bfloat16)},
    ],
    ids=lambda other: ", ".join(other),
)
def test_everything_else_goes_the_long_way(other):
    alike = {name: heads(2, 3, 5, 8) for name in ("query", "key", "value")}
    assert fast_path(**alike, **PLAIN) is not None
    assert fast_path(**{**alike, **PLAIN, **other}) is None


def test_where_no_gradient_is_asked_for_a_trainable_tensor_is_as_any():
    query = heads(2, 3, 5, 8).requires_grad_()
    with torch.no_grad():
        assert fast_path(query, query, query, **PLAIN) is not None
