"""Compiled CPU kernels for what isn't a matrix product: additive scores, sparsemax and entmax, dropout, edges.

If the mask is a list of edges, one kernel computes attention along the edges. Otherwise the tiles of `blocked` are
used, with compiled parts in place of the request's. The kernels' modules import Numba; this one doesn't, so that
importing the package works without Numba, and is faster.
"""

import dataclasses
import importlib
from functools import cache
from typing import Any

import torch
from torch import Tensor

from regard.attention.costs import CALL, EDGES, Cost, bytes_of_output, features
from regard.attention.engines import blocked
from regard.attention.gradients.reduction import Gradients, vjp_through_reduction
from regard.attention.masks import And, Edges, Mask
from regard.attention.request import Request
from regard.attention.scores import Additive
from regard.attention.sizes import Sizes
from regard.attention.weights import Entmax, Sparsemax

__all__ = ["backward", "cost", "forward", "missing", "refuse", "seconds", "takes_edges"]

KERNELS = 200 * 2**20  # bytes that loading Numba and compiling kernels takes, once per process; measured
LISTED_EDGE, FILTERED_EDGE = 48, 66  # bytes of an edge while a mask lists it, and another mask filters it; measured


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
    return _module("edge_attention").refuse(request) is None


def seconds(request: Request) -> float:
    """The estimated time on the machine that the speeds are from."""
    if not takes_edges(request):
        return blocked.seconds(request, compiled=True)
    edges = 0 if request.edges is None else len(request.edges.keys)
    return CALL + request.query.shape[:2].numel() * edges * features(request) / EDGES


def cost(request: Request) -> Cost:
    """The cost, counted tile by tile or along the edges."""
    if not takes_edges(request):
        return dataclasses.replace(blocked.cost(request, compiled=True), kernels=KERNELS)
    edges = 0 if request.edges is None else len(request.edges.keys)
    groups, tokens = request.query.shape[:2].numel(), request.query.shape[2] + request.key.shape[2]
    packed = groups * tokens * features(request) * request.query.element_size()
    memory = packed + _edge_lists(request.parts.mask, request.sizes) + bytes_of_output(request)
    return Cost(2 * groups * edges * features(request), memory, {"edges": edges}, KERNELS)


def _edge_lists(mask: Mask, sizes: Sizes) -> int:
    """Bytes at the peak while the edges of a mask are listed; none if it holds them itself."""
    if type(mask) is Edges:
        return 0
    listed = (
        next((side for side in (mask.left, mask.right) if side.edges(sizes) is not None), mask)
        if type(mask) is And
        else mask
    )
    edges = listed.edges(sizes)
    # While they are filtered, the mask's own lists are held.
    return (FILTERED_EDGE if listed is not mask else LISTED_EDGE) * (0 if edges is None else len(edges.keys))


def forward(request: Request) -> Tensor:
    """The output, (batch, head, query, value). `request`: with heads equal."""
    if takes_edges(request):
        return _module("edge_attention").forward(request.reduced()[0])
    return blocked.forward(request, compiled_parts=_module("compiled_parts"))


def backward(request: Request, grad_output: Tensor) -> Gradients:
    """The gradients of query, key, value and the operands of the parts."""
    if takes_edges(request) and request.safe_with(grad_output):
        edge_attention = _module("edge_attention")
        return vjp_through_reduction(request, lambda reduced, unreduced: edge_attention.backward(reduced, grad_output))
    return blocked.backward(request, grad_output, compiled_parts=_module("compiled_parts"))


@cache
def _module(name: str) -> Any:
    """A module that imports Numba, imported when it is first needed."""
    return importlib.import_module(f"regard.attention.engines.jit.{name}")
