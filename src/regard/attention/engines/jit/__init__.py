"""Compiled CPU kernels for what isn't a matrix product: additive scores, sparsemax and entmax, dropout, edges.

If the mask is a list of edges, one kernel computes attention along the edges. Otherwise the tiles of `blocked` are
used, with compiled parts in place of the request's. The kernels' modules import Numba; this one doesn't, so that
importing the package works without Numba, and is faster.
"""

import importlib
from functools import cache
from typing import Any

import torch
from torch import Tensor

from regard.attention.engines import blocked
from regard.attention.reduction import Gradients, vjp_through_reduction
from regard.attention.request import Request
from regard.attention.scores import Additive
from regard.attention.weights import Entmax, Sparsemax

__all__ = ["backward", "forward", "missing", "refuse", "takes_edges"]


_NO_KERNEL = "it has no kernel for these parts: the score isn't additive, and the mask isn't a list of edges"

_NO_LOG_SUMS = "its kernel along edges gives no log-sums"


@cache
def missing() -> str | None:
    """Why nothing can be compiled here, or None. The first call imports Numba, which takes about half a second."""
    try:
        import regard.attention.engines.jit.compiling  # noqa: F401
    except Exception as error:  # a Numba that doesn't support this Python or this machine may raise anything
        return f"Numba can't be used here ({type(error).__name__}: {error})"
    return None


def refuse(request: Request) -> str | None:
    """Why compiled kernels can't run this request, or wouldn't be faster; or None."""
    if request.query.device.type != "cpu":
        return "its kernels run on the CPU"
    if request.query.dtype not in (torch.float32, torch.float64):
        return f"its kernels are for float32 and float64, not {request.query.dtype}"
    compiles = type(request.parts.score) is Additive or type(request.parts.weights) in (Entmax, Sparsemax)
    # Whether Numba is available is found out by importing it, which takes longer than most calls.
    if not (compiles or request.dropout or request.edges is not None):
        return _NO_KERNEL
    if missing() is not None:
        return missing()
    if not (compiles or request.dropout or takes_edges(request)):
        return _NO_LOG_SUMS if request.parts.log_sums and request.edges is not None else _NO_KERNEL
    if not request.safe:
        return "a hidden NaN, infinity or huge number would leak through it"
    return None


def takes_edges(request: Request) -> bool:
    """Whether the kernel along edges can run this request."""
    if request.edges is None or request.parts.log_sums or missing() is not None:
        return False
    return _module("edge_engine").refuse(request) is None


def forward(request: Request) -> Tensor:
    """The output, (batch, head, query, value). `request`: with heads equal."""
    if takes_edges(request):
        return _module("edge_engine").forward(request.reduced()[0])
    return blocked.forward(request, compiled_parts=_module("compiled_parts"))


def backward(request: Request, grad_output: Tensor) -> Gradients:
    """The gradients of query, key, value and the operands of the parts."""
    if takes_edges(request) and request.safe_with(grad_output):
        edge_engine = _module("edge_engine")
        return vjp_through_reduction(request, lambda reduced, unreduced: edge_engine.backward(reduced, grad_output))
    return blocked.backward(request, grad_output, compiled_parts=_module("compiled_parts"))


@cache
def _module(name: str) -> Any:
    """A module that imports Numba, imported when it is first needed."""
    return importlib.import_module(f"regard.attention.engines.jit.{name}")
