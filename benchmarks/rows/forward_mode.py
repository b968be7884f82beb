"""The output with its tangent (forward mode), beside the output alone and beside PyTorch's quadratic way."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from rows.row import Bench, Case, Outputs, Row, Run, Work, forward

__all__ = ["ROWS"]

# Three products of all pairs for the scores and their tangents, one for the output and two for its tangent, each of two
# operations a feature.
_PRODUCTS = 12


def _inputs(bench: Bench) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    length = bench.size(4096)
    return bench.heads(length), bench.heads(length)


def _both(function, inputs: tuple[Tensor, ...], tangents: tuple[Tensor, ...]) -> Run:
    """A run that gives the output and its tangent."""

    def run() -> Outputs:
        return torch.func.jvp(function, inputs, tangents)

    return run


def _ours(inputs: tuple[Tensor, ...], tangents: tuple[Tensor, ...]) -> Run:
    from regard import attend

    return _both(attend, inputs, tangents)


def _beside_forward(bench: Bench) -> Case:
    inputs, tangents = _inputs(bench)

    def alone() -> Run:
        from regard import attend

        return forward(lambda: attend(*inputs))

    pairs = 8 * inputs[0].shape[2] ** 2
    work = Work(_PRODUCTS * pairs * 64, pairs)
    return Case(lambda: _ours(inputs, tangents), {"attend, the output alone": alone}, work, tolerance=None)


def _beside_math(bench: Bench) -> Case:
    inputs, tangents = _inputs(bench)

    def math(*three: Tensor) -> Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(*three)

    return Case(lambda: _ours(inputs, tangents), {"SDPBackend.MATH": lambda: _both(math, inputs, tangents)})


ROWS = (
    Row(
        "forward-mode",
        "softmax, n = 4096, output and tangent",
        "regard's output alone",
        ("regard",),
        None,
        "seven products to two are 3.5 times the work, and other passes over the tiles come on top",
        _beside_forward,
        most=2.5,
    ),
    Row(
        "forward-mode-torch",
        "softmax, n = 4096, output and tangent",
        "PyTorch's math",
        ("torch",),
        None,
        "the same products; PyTorch's passes go over matrices of all pairs in memory",
        _beside_math,
        least=1.0,
    ),
    Row(
        "forward-mode-memory",
        "softmax, n = 4096, output and tangent, peak",
        "PyTorch's math",
        ("torch",),
        None,
        "PyTorch keeps several matrices of 512 MiB",
        _beside_math,
        least=10.0,
        measure="memory",
    ),
)
