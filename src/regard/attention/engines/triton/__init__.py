"""Kernels for GPUs, written in Triton: one template for every part that is a few lines of it.

Scores of an inner product, or functions of it; additive scores; all normalisers; every mask; positions by
distance. The kernels' modules import Triton, which PyTorch brings on a machine with a GPU; this one doesn't. Where
Triton's interpreter is on (TRITON_INTERPRET=1), it takes tensors on a CPU too, to check what it computes.
"""

import dataclasses
import importlib
import os
from functools import cache
from typing import Any

import torch
from torch import Tensor

from regard.attention.costs import CALL, Cost, bytes_of_output, bytes_of_reduction, features
from regard.attention.engines import blocked
from regard.attention.engines.blocked.costs import counted
from regard.attention.engines.triton.edges import graph_of, launcher, on_device_of
from regard.attention.gradients.reduction import Gradients
from regard.attention.parts import declares, operands
from regard.attention.pieces import MaskPiece, NormaliserPiece, PositionPiece, ScorePiece, piece_of
from regard.attention.positions import Bias, Both, Position
from regard.attention.positions.alibi import Slopes
from regard.attention.positions.bucketed import Buckets
from regard.attention.positions.guided import GuidedBias
from regard.attention.positions.offset_bias import OffsetBias
from regard.attention.positions.relative import RelativeKeys, RelativeValues
from regard.attention.precision import wide_dtype
from regard.attention.request import Request
from regard.attention.scores import Additive
from regard.attention.user_parts import unwrapped
from regard.attention.weights import Budget, Entmax, Hard, Relu, Sigmoid, Softmax, Sparsemax, TopK

__all__ = [
    "backward",
    "backward_from_kept",
    "cost",
    "forward",
    "forward_and_keep",
    "keeps",
    "kept_numbers",
    "lacks",
    "missing",
    "refuse",
    "refuse_summary",
    "run",
    "seconds",
    "summarise",
]

_NORMALISERS = (Softmax, Relu, Sigmoid, Entmax, Sparsemax, Budget, TopK, Hard)
_LARGEST_SIZE = 256
_LARGEST_TOP = 64
_ON_H100 = 3e14  # multiply-adds per second of softmax in bfloat16


@cache
def missing() -> str | None:
    """Why there are no kernels here, or None. The first call imports Triton."""
    try:
        importlib.import_module("regard.attention.engines.triton.launch")
    except Exception as error:  # a Triton that doesn't support this machine may raise anything
        return (
            f"Triton can't be used here ({type(error).__name__}: {error}): in the clone of regard: pip install '.[gpu]'"
        )
    return None


def refuse(request: Request) -> str | None:
    """Why the kernels can't run this request, or None. No number on the GPU is looked at."""
    reason = _refuses(request.query)
    if reason is not None:
        return reason
    if request.parts.mask.origin is not None:
        return "its kernels count queries and keys from 0, and these are a slice of a larger request"
    sizes = request.query.shape, request.key.shape, request.value.shape
    if any(0 in size for size in sizes):
        return "it has no kernel for an empty tensor"
    if max(size[-1] for size in sizes) > _LARGEST_SIZE:
        return f"its kernels take head sizes up to {_LARGEST_SIZE}"
    if request.dropout >= 1.0:
        return "its dropout leaves something"
    # First, as a part's piece() imports kernels.
    return missing() or lacks(request)


def refuse_summary(request: Request, top: int) -> str | None:
    """Why the kernels can't summarise the weights of this request, or None. Its value is of no matter."""
    if top > _LARGEST_TOP:
        return f"its kernels find at most the {_LARGEST_TOP} largest weights of a row"
    if graph_of(request) is not None:
        return "its kernels along the edges of a graph give no summary"
    return refuse(dataclasses.replace(request, value=request.key[..., :1]))


def _refuses(query: Tensor) -> str | None:
    """Why there are no kernels for tensors on this device and of this dtype, or None."""
    kind = query.device.type
    if kind != "cuda" and not (kind == "cpu" and os.environ.get("TRITON_INTERPRET") == "1"):
        return "its kernels run on a GPU (on a CPU only in Triton's interpreter: TRITON_INTERPRET=1)"
    if kind == "cuda" and query.dtype == torch.float64:
        return "its kernels are for float32, float16 and bfloat16"
    return None


def lacks(request: Request) -> str | None:
    """Which part of a request has no kernel, wherever the request is; or None."""
    parts = request.parts
    for name, part, known in (
        ("score", parts.score, type(parts.score) is Additive or declares(type(parts.score), "inner_product")),
        ("normaliser", parts.weights, type(parts.weights) in _NORMALISERS),
    ):
        if not known:
            own = unwrapped(part)
            piece = piece_of(name, own)
            if piece is None:
                return f"it has no kernel for the {name} {_name(own)}: give it a piece()"
            reason = _unusable(name, own, piece, request.query.shape[1])
            if reason is not None:
                return reason
    piece = piece_of("mask", parts.mask)
    reason = None if piece is None else _unusable("mask", parts.mask, piece, request.query.shape[1])
    return reason or _unknown_position(parts.position, request)


_PIECES = {"score": ScorePiece, "normaliser": NormaliserPiece, "mask": MaskPiece, "position": PositionPiece}


def _name(part: Any) -> str:
    return getattr(part, "__name__", type(part).__name__)


def _unusable(name: str, part: Any, piece: Any, heads: int) -> str | None:
    """Why a part's piece can't be used, or None."""
    wanted, called = _PIECES[name], _name(part)
    if type(piece) is not wanted:
        return f"piece() of the {name} {called} must give a {wanted.__name__}, but gives a {type(piece).__name__}"
    for number in piece.numbers:
        if isinstance(number, Tensor) and number.ndim and len(number) != heads:
            return f"the piece of {called} has {len(number)} numbers for {heads} heads"
    if type(piece) is MaskPiece:  # which has no gradient
        return None
    trained = piece.numbers[0] if piece.numbers and piece.of_number is not None else None
    real = [each for each in operands(part) if each.is_floating_point()]
    if len(real) > 1 or any(each is not trained for each in real):
        return (
            f"the piece of {called} gives a gradient to no tensor but its first number: that must be the part's one "
            "field that is a tensor of real numbers, unchanged, and have an of_number"
        )
    return None


def _unknown_position(position: Position, request: Request) -> str | None:
    heads, pairs = request.query.shape[1], (request.query.shape[2], request.key.shape[2])
    schemes = _schemes(unwrapped(position))
    kinds = [type(scheme) for scheme in schemes]
    pieces = [piece_of("position", scheme) for scheme in schemes]
    if sum(piece is not None for piece in pieces) > 1:
        return "it takes one position with a piece"
    for scheme, kind, piece in zip(schemes, kinds, pieces, strict=True):
        if piece is not None:
            if kind.outputs is not Position.outputs:
                return f"the piece of {kind.__name__} says nothing of its outputs"
            reason = _unusable("position", scheme, piece, heads)
            if reason is not None:
                return reason
            continue
        # A bias by distance without tensors is computed once for each distance, whatever it is.
        if kind.scores is OffsetBias.scores and kind.outputs is Position.outputs and not operands(scheme):
            continue
        if kind is Bias and scheme.table.shape[-2:] != pairs:
            return "it has no kernel for a bias that all queries or all keys share"
        if kind not in (Bias, Slopes, Buckets, RelativeKeys, RelativeValues, GuidedBias):
            return f"it has no kernel for the position {kind.__name__}: give it a piece()"
        if kinds.count(kind) > 1:
            return f"it takes one position of the kind {kind.__name__}"
    return None


def _schemes(position: Position) -> list[Position]:
    if type(position) is Both:
        return [*_schemes(position.first), *_schemes(position.second)]
    return [position] if position.acts_in_tiles else []


def seconds(request: Request) -> float:
    """The estimated time on an H100, where on a GPU the first engine that can is taken."""
    return CALL + 2 * _pairs(request) * features(request) / _ON_H100


def cost(request: Request) -> Cost:
    """The cost, counted along the edges, or by the tiles of `blocked`, of which the mask leaves out some."""
    graph = graph_of(request)
    counts = counted(request)[1] if graph is None else {"edges": len(graph.keys)}
    numbers = 5 if type(request.parts.weights) is TopK else 2
    rows = numbers * 4 * request.query.shape[:3].numel()
    return Cost(
        2 * _pairs(request) * features(request), bytes_of_reduction(request) + bytes_of_output(request) + rows, counts
    )


def _pairs(request: Request) -> int:
    graph = graph_of(request)
    if graph is not None:
        return request.query.shape[:2].numel() * len(graph.keys)
    return sum(tile.pairs for tile in counted(request)[0])


def run(request: Request) -> Tensor:
    """The output, (batch, head, query, value), with its gradient."""
    if torch.is_grad_enabled():
        blocked.refuse_captured(request.expanded)
    if not request.differentiable:
        return forward(request)
    return _module("computation").run(request)


def forward(request: Request) -> Tensor:
    """The output, (batch, head, query, value)."""
    with on_device_of(request.query):
        return launcher(request).forward(request, saves=False)[0]


def summarise(request: Request, top: int, pool: int, selected: Tensor | None) -> dict[str, Tensor]:
    """The fields of a `Summary` of the weights, each (batch, head, ...)."""
    with on_device_of(request.query):
        return _module("summaries").summarise(request, top, pool, selected)


def backward(request: Request, grad_output: Tensor) -> Gradients:
    """The gradients of query, key, value and the operands of the parts, for which the output is computed again."""
    launch = launcher(request)
    with on_device_of(request.query):
        _, *saved = launch.forward(request, saves=True)
        return launch.backward(request, grad_output, saved)


def kept_numbers(query: Tensor, value: Tensor) -> int:
    """How many numbers `forward_and_keep` keeps, if the kernels run; 0 if they can't. Only sizes are asked for."""
    if _refuses(query) is not None or missing() is not None:
        return 0
    rounded = query.dtype != wide_dtype(query)
    return query.shape[:3].numel() * (2 + (value.shape[-1] if rounded else 0))


def keeps(request: Request) -> bool:
    """Whether the kernels can run a request and keep what its gradient needs in one tensor."""
    parts = request.parts
    by_distance = any(type(scheme) is RelativeValues for scheme in _schemes(unwrapped(parts.position)))
    more = by_distance or type(parts.weights) is TopK or parts.log_sums
    return not more and graph_of(request) is None and refuse(request) is None


def forward_and_keep(request: Request) -> tuple[Tensor, Tensor]:
    """The output, and a tensor of one dimension with all that its gradient needs besides: for compiled functions."""
    with on_device_of(request.query):
        output, whole, *rows, _ = launcher(request).forward(request, saves=True)
    kept = rows if whole is output else [*rows, whole]
    return output, torch.cat([each.flatten() for each in kept])


def backward_from_kept(request: Request, grad_output: Tensor, output: Tensor, kept: Tensor) -> Gradients:
    """The gradients from the results of `forward_and_keep`."""
    rows = output.shape[:3].numel()
    highest, found = (each.view(output.shape[:3]) for each in kept[: 2 * rows].view(2, rows))
    whole = kept[2 * rows :].view(output.shape) if len(kept) > 2 * rows else output.contiguous()
    with on_device_of(request.query):
        return launcher(request).backward(request, grad_output, (whole, highest, found, found.new_empty(0)))


@cache
def _module(name: str) -> Any:
    """A module that imports Triton, imported when it is first needed."""
    return importlib.import_module(f"regard.attention.engines.triton.{name}")
