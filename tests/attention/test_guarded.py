"""PyTorch's fused attention under a guard, in Triton's interpreter: PyTorch's kernel for CPUs stands in for a GPU's."""

import importlib
import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.checkpoint import checkpoint

from attention.interpreting import interpret
from regard.attention import Alibi, Causal, Cosine, Lengths, ScaledDot, attend
from regard.attention.engines import in_order, triton
from regard.attention.plan import choose
from regard.attention.request import Request

# NumPy's, of the numbers that are hidden.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton.runtime.interpreter")
LARGEST_SCORE = 1024.0


@pytest.fixture
def interpreter(monkeypatch):
    interpret(monkeypatch)


def heads(queries: int, keys: int, *, shared: int = 1) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Query, key, value and the gradient of the output; the query as modules lay it out, (item, row, head, feature)."""
    made = torch.Generator().manual_seed(0)
    sizes = (2, 4, queries), (2, 4 // shared, keys), (2, 4 // shared, keys), (2, 4, queries)
    query, key, value, gradient = (torch.randn(*size, 8, dtype=torch.float64, generator=made) for size in sizes)
    return query.transpose(1, 2).contiguous().transpose(1, 2), key, value, gradient


def request_of(query: Tensor, key: Tensor, value: Tensor, **parts: Any) -> Request:
    given: dict[str, Any] = {"score": "scaled_dot", "weights": "softmax", "mask": None, "position": None}
    return Request.of(query, key, value, **(given | parts), dropout=0.0, seed=0)


def guarded(mask: Any) -> Any:
    run = importlib.import_module("regard.attention.engines.triton.guarded").run

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        largest = LARGEST_SCORE * math.sqrt(query.shape[-1])
        return run(request_of(query, key, value, mask=mask).reduced()[0], of_pytorch(mask), largest)

    return attention


def results(run: Any, query: Tensor, key: Tensor, value: Tensor, gradient: Tensor) -> list[Tensor]:
    """The output and the gradients of the three."""
    three = [tensor.detach().requires_grad_() for tensor in (query, key, value)]
    output = run(*three)
    return [output.detach(), *torch.autograd.grad(output, three, gradient)]


def of_pytorch(mask: Any) -> Any:
    def run(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(
            query, key, value, is_causal=mask == "causal", enable_gqa=query.shape[1] > key.shape[1]
        )

    return run


# Of the last key, its value, the first row of the gradient, and of all: causal rows but the last see neither.
POISONS: dict[str, Any] = {
    "a hidden value is NaN": lambda query, key, value, gradient: value[:, :, -1].fill_(math.nan),
    "a hidden value is large": lambda query, key, value, gradient: value[:, :, -1, 3].fill_(1e200),
    "a hidden key is infinite": lambda query, key, value, gradient: key[:, :, -1].fill_(math.inf),
    "a gradient is NaN": lambda query, key, value, gradient: gradient[0, 0, 0, 0].fill_(math.nan),
    "a query is NaN": lambda query, key, value, gradient: query[0, 0, 5].fill_(math.nan),
    "scores are large": lambda query, key, value, gradient: query.mul_(1000.0),
}


@pytest.mark.parametrize("poison", POISONS)
@pytest.mark.parametrize("shared", [1, 2])
def test_what_pytorch_would_get_wrong_is_computed_anew(poison, shared, interpreter):
    given = heads(20, 20, shared=shared)
    POISONS[poison](*given)
    found = results(guarded("causal"), *given)
    expected = results(lambda *three: attend(*three, mask="causal", engine="dense"), *given)
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11, equal_nan=True)
    # The guard has a reason to be: PyTorch's results would be others, or nearly.
    wrong = results(of_pytorch("causal"), *given)
    assert any(not torch.equal(one, other) for one, other in zip(found, wrong, strict=True))
    if "hidden" in poison and "large" not in poison:
        assert any(int(one.isnan().sum()) < int(other.isnan().sum()) for one, other in zip(found, wrong, strict=True))


@pytest.mark.parametrize(("queries", "keys", "mask", "shared"), [(20, 20, "causal", 1), (20, 37, None, 2)])
def test_all_else_is_pytorchs_to_the_bit(queries, keys, mask, shared, interpreter):
    given = heads(queries, keys, shared=shared)
    found = results(guarded(mask), *given)
    expected = results(of_pytorch(mask), *given)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_without_a_gradient_pytorch_keeps_nothing(interpreter):
    query, key, value, _ = heads(9, 9)
    query.requires_grad_()
    given = []

    def attention(*three: Tensor) -> Tensor:
        given.extend(three)
        return F.scaled_dot_product_attention(*three, is_causal=True)

    run = importlib.import_module("regard.attention.engines.triton.guarded").run
    with torch.no_grad():
        output = run(request_of(query, key, value, mask="causal").reduced()[0], attention, LARGEST_SCORE)
        assert torch.equal(output, of_pytorch("causal")(query, key, value))
    assert len(given) == 3
    assert not any(tensor.requires_grad for tensor in given)


def test_the_graph_serves_twice_if_it_is_kept_and_is_freed_if_not(interpreter):
    query, key, value, gradient = heads(9, 9)
    query.requires_grad_()
    output = guarded("causal")(query, key, value)
    (once,) = torch.autograd.grad(output, query, gradient, retain_graph=True)
    (twice,) = torch.autograd.grad(output, query, gradient)
    assert torch.equal(once, twice)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(output, query, gradient)


def test_a_checkpoint_recomputes_it(interpreter):
    given = heads(9, 9)

    def run(*three: Tensor) -> Any:
        return checkpoint(guarded("causal"), *three, use_reentrant=False)

    found = results(run, *given)
    expected = results(of_pytorch("causal"), *given)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_its_gradient_has_a_gradient(interpreter):
    query, key, value, _ = heads(5, 5)

    assert torch.autograd.gradgradcheck(
        guarded("causal"), [each[:1, :1].detach().requires_grad_() for each in (query, key, value)], fast_mode=True
    )


class TestChoice:
    """Which engine `auto` takes on a GPU, by tensors that are there in name only: a look at a number would raise."""

    @pytest.fixture(autouse=True)
    def card(self, monkeypatch):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (9, 0))
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
        monkeypatch.setattr(triton, "missing", lambda: None)

    @pytest.mark.parametrize(
        ("parts", "chosen"),
        [
            ({}, "fused"),
            ({"mask": "causal"}, "fused"),
            ({"mask": Causal(), "position": "rotary"}, "fused"),
            ({"score": ScaledDot(), "shared": 4}, "fused"),
            ({"mask": "causal", "dtype": torch.float32}, "fused"),
            ({"score": Cosine(10.0), "dtype": torch.float32}, "triton"),
            ({"mask": "causal", "dtype": torch.float32, "shared": 4}, "triton"),
            ({"mask": "causal", "keys": 4096}, "triton"),
            ({"mask": "causal", "queries": 512, "keys": 512}, "triton"),
            ({"size": 256}, "triton"),
            ({"size": 60}, "triton"),
            ({"weights": "sigmoid"}, "triton"),
            ({"position": Alibi(8)}, "triton"),
        ],
        ids=str,
    )
    def test_long_calls_that_pytorch_can_go_to_it(self, parts, chosen):
        parts = dict(parts)
        sizes = parts.pop("queries", 8192), parts.pop("keys", 8192)
        size, shared, dtype = parts.pop("size", 64), parts.pop("shared", 1), parts.pop("dtype", torch.bfloat16)
        with FakeTensorMode():
            query = torch.empty(1, 8, sizes[0], size, device="cuda", dtype=dtype)
            key = torch.empty(1, 8 // shared, sizes[1], size, device="cuda", dtype=dtype)
            request = request_of(query, key, key, **parts)
            assert choose(request, "auto") == chosen
            assert in_order(request)[0] == chosen

    def test_lengths_go_to_the_kernels_that_skip_padding(self):
        with FakeTensorMode():
            query = torch.empty(2, 8, 8192, 64, device="cuda", dtype=torch.bfloat16)
            lengths = torch.empty(2, device="cuda", dtype=torch.int64)
            request = request_of(query, query, query)
            request.parts = type(request.parts)(
                request.parts.score, request.parts.weights, Lengths(lengths), request.parts.position
            )
            request.known.geometry.clear()
            assert choose(request, "auto") == "triton"
