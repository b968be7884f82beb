"""A request as the kernels take it: pieces, operands, sizes and strides. Made without looking at a value on a GPU."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.engines.triton import normalisers, scores, tiles
from regard.attention.engines.triton.edges import graph_of
from regard.attention.masks import Causal, Dense, Mask, Window, allows
from regard.attention.pairs.row_intervals import kept_intervals, stream_of
from regard.attention.parts import operands
from regard.attention.pieces import MaskPiece, PositionPiece, ScorePiece, piece_of
from regard.attention.positions import Bias, Both, Position
from regard.attention.positions.alibi import Slopes
from regard.attention.positions.bucketed import Buckets
from regard.attention.positions.guided import GuidedBias
from regard.attention.positions.offset_bias import OffsetBias
from regard.attention.positions.relative import RelativeKeys, RelativeValues
from regard.attention.precision import wide_dtype
from regard.attention.request import Request
from regard.attention.user_parts import unwrapped
from regard.attention.weights import Budget, Entmax, Hard, Relu, Sigmoid, Softmax, Sparsemax, TopK

__all__ = ["Normaliser", "Problem", "mask_of", "problem"]

FIND = {
    "softmax": tiles.SOFTMAX.value,
    "number": tiles.NUMBER.value,
    "count": tiles.COUNT.value,
    "log_count": tiles.LOG_COUNT.value,
    "threshold": tiles.THRESHOLD.value,
    "highest": tiles.HIGHEST.value,
}
FAR = 2**29  # further than any key


@dataclass(frozen=True)
class Normaliser:
    """A normaliser as the kernels take it.

    Attributes:
        functions: weight and slope, and if its number is trained, the derivative by that.
        centred: whether a row has a given sum, so that its slopes' mean is taken from the gradient of its weights.
        total: what a row sums to, where a threshold is searched for that; or how many keys of a row are taken.
        lowest: how far the threshold lies below the highest score at most.
        sharp: whether scores are multiplied by the first number.
        takes_some: whether only the keys with the highest scores are taken, `total` of them.
        strict: whether a small step of the search doesn't mean that the threshold is found to rounding.
    """

    functions: tuple[Any, ...]
    find: str
    numbers: tuple[float | Tensor, ...] = ()
    total: float = 1.0
    lowest: float | Tensor = 1.0
    centred: bool = True
    sharp: bool = False
    from_lowest: bool = False
    takes_some: bool = False
    strict: bool = True


def normaliser(part: Any) -> Normaliser:
    """The normaliser of a part; its trained number is the first."""
    own = piece_of("normaliser", part)
    if own is not None:
        functions = (own.weight, own.slope, *_some(own.of_number))
        return Normaliser(functions, own.find, own.numbers, own.total, own.lowest, centred=own.find == "threshold")
    of = normalisers
    if type(part) is Softmax:
        temperature = part.temperature
        functions = (of.softmax_weight, of.softmax_slope)
        if isinstance(temperature, Tensor):
            return Normaliser((*functions, of.of_sharpness), "softmax", (1.0 / temperature,), sharp=True)
        return Normaliser(functions, "softmax", (1.0 / temperature,), sharp=temperature != 1.0)
    if type(part) is TopK:
        return Normaliser((of.softmax_weight, of.softmax_slope), "softmax", total=float(part.keys), takes_some=True)
    if type(part) is Relu:
        functions = (of.relu_weight, of.relu_slope)
        if part.divisor is None:
            return Normaliser(functions, "count", centred=False)
        return Normaliser(functions, "number", (1.0 / part.divisor,), centred=False)
    if type(part) is Sigmoid:
        functions = (of.sigmoid_weight, of.sigmoid_slope)
        if part.bias is None:
            return Normaliser(functions, "log_count", centred=False)
        trained = (of.of_bias,) if isinstance(part.bias, Tensor) else ()
        return Normaliser((*functions, *trained), "number", (part.bias,), centred=False)
    if type(part) is Entmax and isinstance(part.alpha, Tensor):
        alpha = torch.where(part.alpha > 1.0, part.alpha, math.nan)
        functions = (of.entmax_weight, of.entmax_slope, of.of_alpha)
        return Normaliser(functions, "threshold", (alpha, 1.0 / (alpha - 1.0)), lowest=1.0 / (alpha - 1.0))
    alpha = 2.0 if type(part) is Sparsemax else getattr(part, "alpha", None)
    if alpha is not None:
        functions = {
            1.5: (of.entmax_1_5_weight, of.entmax_1_5_slope),
            2.0: (of.sparsemax_weight, of.sparsemax_slope),
        }.get(alpha, (of.entmax_weight, of.entmax_slope))
        lowest = 1.0 / (alpha - 1.0)
        return Normaliser(functions, "threshold", (alpha, lowest), lowest=lowest, strict=alpha >= 2.0)
    if type(part) is Budget:
        functions = (of.budget_weight, of.budget_slope)
        return Normaliser(functions, "threshold", total=float(part.budget), from_lowest=True)
    if type(part) is not Hard:
        raise TypeError(f"{part} has no kernel")  # `refuse` has said so
    return Normaliser((of.hard_weight, of.hard_slope), "highest", centred=False)


def score(part: Any) -> ScorePiece:
    """The score of a reduced part, as a piece."""
    own = piece_of("score", unwrapped(part))
    if own is not None:
        return own
    return ScorePiece(scores.inner_product, scores.of_inner_product, getattr(part, "scale", 1.0))


def _some(function: Any) -> tuple[Any, ...]:
    return () if function is None else (function,)


def schemes(position: Position) -> Iterator[Position]:
    """The position schemes that a sum is made of."""
    position = unwrapped(position)
    if type(position) is Both:
        yield from schemes(position.first)
        yield from schemes(position.second)
    elif position.acts_in_tiles:
        yield position


@dataclass
class Problem:
    """What the three kernels have in common."""

    request: Request
    score: ScorePiece
    normaliser: Normaliser
    heads: int
    repeat: int
    shift: Any
    ragged: bool
    mask_kind: Any
    mask: tuple[Any, ...]
    allowed: MaskPiece | None = None
    bias_piece: PositionPiece | None = None
    line: tuple[Any, ...] = ()
    relative: Tensor | None = None
    relative_values: Tensor | None = None
    bias: Tensor | None = None
    others: tuple[Any, ...] = ()
    other_operands: tuple[Any, ...] = ()
    buckets: tuple[Any, ...] = ()
    bucket_count: int = 0
    slopes: tuple[Any, ...] = ()
    dropout: tuple[Any, ...] = ()
    precision: str = "ieee"

    @property
    def wide(self) -> torch.dtype:
        return wide_dtype(self.request.query)


def problem(reduced: Request, narrow: torch.dtype) -> Problem:
    """The problem of a reduced request. narrow: the dtype before it was reduced."""
    query = reduced.query
    batch, heads, queries, _ = query.shape
    keys = reduced.key.shape[2]
    sizes, device = reduced.sizes, query.device
    shift = sizes.shift
    ragged = isinstance(shift, Tensor)
    found = Problem(
        reduced,
        score(reduced.parts.score),
        normaliser(unwrapped(reduced.parts.weights)),
        heads,
        heads // max(reduced.key.shape[1], 1),
        _int32(shift) if ragged else shift,
        ragged,
        *mask_of(reduced),
    )
    biases = []
    for scheme in schemes(reduced.parts.position):
        piece = piece_of("position", scheme)
        if piece is not None:
            found.bias_piece = piece
        elif isinstance(scheme, OffsetBias):
            biases.append(scheme)
        elif type(scheme) is RelativeKeys:
            found.relative = scheme.table
        elif type(scheme) is RelativeValues:
            found.relative_values = scheme.table
        elif type(scheme) is Bias:
            table = scheme.table[(None,) * (4 - scheme.table.ndim)]
            strides = [0 if size == 1 else stride for size, stride in zip(table.shape, table.stride(), strict=True)]
            found.bias = table
            found.others = (*found.others, scores.pair_bias)
            found.other_operands = (*found.other_operands, (table, *strides))
        elif type(scheme) is GuidedBias:
            lengths = [
                torch.full((batch,), most, dtype=torch.int32, device=device) if own is None else _int32(own)
                for own, most in ((sizes.query_lengths, queries), (sizes.key_lengths, keys))
            ]
            strength = torch.full((1,), -0.5 / scheme.width**2, dtype=found.wide, device=device)
            found.others = (*found.others, scores.guided)
            found.other_operands = (*found.other_operands, (strength, *lengths))
    if biases:
        reach = queries + keys
        offset = torch.arange(-reach, reach + 1, device=device).view(1, 1, -1)
        lines = [one.bias(offset).to(found.wide) for one in biases]
        line = sum(lines[1:], lines[0]).flatten(1).contiguous()
        found.line = (line, line.shape[1] if len(line) > 1 else 0, reach)
        for one in biases:
            if type(one) is Buckets:
                found.buckets = (one._bucket(offset).flatten().int(), reach)
                found.bucket_count = one.table.shape[-1]
            elif type(one) is Slopes:
                found.slopes = (-offset.abs().flatten().to(found.wide), reach)
    if reduced.dropout:
        state = _seed_state(reduced.seed)
        found.dropout = state, int(reduced.dropout * 2**32), 1.0 / (1.0 - reduced.dropout)
    if query.dtype == torch.float32:
        # What was reduced from half precision is rounded to more digits than it had.
        may = narrow != query.dtype or torch.backends.cuda.matmul.fp32_precision == "tf32"
        found.precision = "tf32" if may else "ieee"
    return found


def _int32(tensor: Tensor) -> Tensor:
    return tensor.to(torch.int32).contiguous()


def _seed_state(seed: int) -> int:
    """The hash of the seed, as `dropout.keep_scale` begins."""
    mask = 0xFFFFFFFF
    x = (seed & mask) ^ ((seed >> 32 & mask) * 0x9E3779B1 & mask)
    x ^= x >> 16
    x = x * 0x7FEB352D & mask
    x ^= x >> 15
    x = x * 0x846CA68B & mask
    return x ^ (x >> 16)


def mask_of(request: Request) -> tuple[Any, tuple[Any, ...], MaskPiece | None]:
    """How the mask says which keys a row may see, the operands of that, and the piece that says which of them."""
    mask, sizes = request.parts.mask, request.sizes
    if graph_of(request) is not None:  # the kernels along its edges don't ask
        return tiles.EVERYTHING, (), None
    # A mask with tensors would have to be looked at.
    if type(mask) is Dense or (not operands(mask) and request.hides_nothing):
        return tiles.EVERYTHING.value, (), None
    if not sizes.ragged and type(mask) is Causal:
        return tiles.BAND.value, (FAR, 0), None
    if not sizes.ragged and type(mask) is Window:
        return tiles.BAND.value, (min(mask.before, FAR), min(mask.after, FAR)), None
    piece = piece_of("mask", mask)
    if piece is not None and type(mask).spans is Mask.spans:
        return tiles.SOME.value, (), piece
    device, geometry = request.query.device, request.known.geometry
    name = "row_intervals", stream_of(device)
    if name not in geometry:
        geometry[name] = kept_intervals(mask, sizes, device)
    starts, stops, exact = geometry[name]
    if not exact and piece is None:
        return tiles.TABLE.value, (), None
    kind = tiles.INTERVAL.value if len(starts) == 1 else tiles.TWO_INTERVALS.value
    items, rows = starts.shape[1:]
    return kind, (starts, stops, rows if items > 1 else 0, items * rows), None if exact else piece


def table(request: Request, rows: slice, tile: tuple[int, int]) -> tuple[Any, ...]:
    """Which pairs of these rows are allowed, and which tiles hold one."""
    device = request.query.device
    batch, heads, keys = *request.query.shape[:2], request.key.shape[2]
    sizes = (batch, heads, range(rows.start, rows.stop), keys)
    axes = [
        torch.arange(each.start, each.stop, device=device)
        if isinstance(each, range)
        else torch.arange(each, device=device)
        for each in sizes
    ]
    at = request.sizes.index(*(axis.view([-1 if i == j else 1 for j in range(4)]) for i, axis in enumerate(axes)))
    allowed = allows(request.parts.mask, at)
    allowed = allowed[(None,) * (4 - allowed.ndim)].expand(-1, -1, rows.stop - rows.start, keys)
    count = rows.stop - rows.start
    padded = torch.nn.functional.pad(allowed, (0, -keys % tile[1], 0, -count % tile[0]))
    seen = padded.unflatten(3, (-1, tile[1])).any(4).unflatten(2, (-1, tile[0])).any(3)
    pairs, seen = allowed.to(torch.uint8).contiguous(), seen.to(torch.uint8).contiguous()
    strides = [
        (
            0 if tensor.shape[0] == 1 else tensor.stride(0),
            0 if tensor.shape[1] == 1 else tensor.stride(1),
            tensor.stride(2),
        )
        for tensor in (pairs, seen)
    ]
    return pairs, *strides[0], seen, *strides[1], rows.start
