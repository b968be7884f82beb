"""Launching the kernels: the output of a request, and its gradients from what was saved."""

import dataclasses
import hashlib
import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.attention.engines.triton import additive, gradients, outputs, scores, tiles
from regard.attention.engines.triton.additive import BLOCK, LEAKY_RELU, NONE, PADDED, TANH
from regard.attention.engines.triton.problem import FIND, Problem, problem, schemes, table
from regard.attention.engines.triton.tiles import Call, Kind
from regard.attention.engines.triton.tiling import FUSED, Tiling, interpreted, tiling
from regard.attention.gradients.reduction import Gradients, ReducedGradients, vjp_through_reduction, without_idle
from regard.attention.known import Known
from regard.attention.log_sums import joined
from regard.attention.masks import Causal, Dense
from regard.attention.parts import operands, optional_method
from regard.attention.positions import Bias
from regard.attention.positions.alibi import Slopes
from regard.attention.positions.bucketed import Buckets
from regard.attention.positions.relative import RelativeKeys, RelativeValues
from regard.attention.request import Request
from regard.attention.scores import Additive
from regard.attention.user_parts import unwrapped

__all__ = [
    "LARGEST",
    "backward",
    "call_of",
    "dropout_of",
    "forward",
    "gradient_of_normaliser",
    "gradients_of_numbers",
    "kind_of",
    "number",
    "readable",
    "slabs_of",
    "sources",
    "tiling_of",
    "tolerance",
    "two",
]

# Pairs of a table that is held at once, where a mask has to be asked pair by pair.
PAIRS_AT_ONCE = 2**26
# Programs that keep a large GPU busy, and the least keys for which a program of its own pays.
PROGRAMS, KEYS_OF_SPLIT = 256, 512
FEW_QUERIES = 16  # of a head, which leave most of a tile empty
# Plain numbers: a comparison of Triton's constants takes microseconds.
_TABLE, _NONE = tiles.TABLE.value, NONE.value
_ACTIVATIONS = {"tanh": TANH.value, "leaky_relu": LEAKY_RELU.value}
LARGEST = {torch.float32: tl.float32, torch.float64: tl.float64}


def forward(request: Request, *, saves: bool) -> tuple[Tensor, ...]:
    """The output (batch, head, query, value), with its log-sums if they are asked for.

    If `saves`, also what the gradient needs: the output in float32 or wider, two numbers for each row, the limits of
    rows of which only some keys are taken, (3, batch, head, query), and if values have relative positions, the weights
    by distance.
    """
    reduced, unreduced = request.reduced()
    packs = not saves and _packs(reduced)
    if packs:
        reduced = _packed(reduced)
        unreduced = reduced.query, reduced.key
    found = problem(reduced.narrowed(request), request.query.dtype)
    dtype = request.query.dtype
    query, key, value = _three(found.request)
    batch, heads, queries, _ = query.shape
    width, wide, of_values = value.shape[-1], found.wide, found.relative_values
    narrow = dtype if of_values is None else wide
    output = query.new_empty(batch, heads, queries, width, dtype=narrow)
    whole = output if narrow == wide or not saves else torch.empty_like(output, dtype=wide)
    rows = [query.new_empty(batch, heads, queries, dtype=wide) for _ in range(2)]
    limits = query.new_empty(3 if found.normaliser.takes_some else 0, batch, heads, queries, dtype=wide)
    sums = output
    if of_values is not None:
        sums = query.new_zeros(batch, heads, queries, of_values.shape[-2], dtype=wide)
    size = tiling_of(found, query, value, "forward")
    splits = _splits(found, size, batch * heads)
    parts: tuple[Tensor, ...] = (output, whole, *rows)
    if splits > 1:
        part = query.new_empty(splits, batch * heads, queries, width, dtype=wide)
        parts = (part, part, *(query.new_empty(splits, batch * heads, queries, dtype=wide) for _ in range(2)))
    call, kind = call_of(found, (query, key, value), unreduced, limits), kind_of(found, size, query, value)
    saves_whole = whole is not output
    for share in slabs_of(found, call, size):
        grid = triton.cdiv(share.last_row - share.first_row, size.rows) * batch * heads, splits
        outputs.forward[grid](
            share, *parts, sums, KIND=kind, SAVES=saves_whole and splits == 1, SPLITS=splits, **size.options
        )
    if splits > 1:
        count = batch * heads * queries
        outputs.merge[(triton.cdiv(count, 16),)](
            parts[0], *parts[2:], output, whole, *rows, count, splits, KIND=kind, SAVES=saves_whole, ROWS=16, **FUSED
        )
    if of_values is not None:
        whole = output + sums @ of_values.to(wide)
        output = whole.to(dtype)
    if request.parts.log_sums:
        highest, found_rows = rows
        output = joined(output, highest - found_rows.log())
    if packs:
        output = output.view(*request.query.shape[:3], output.shape[-1])
    return (output, whole, *rows, limits, *([sums] if of_values is not None else [])) if saves else (output,)


def _packs(reduced: Request) -> bool:
    """Whether queries that share a key are computed as rows of one head, so that each key is read once for all.

    That pays where they are few, as in decoding, and needs rows that all see all keys, whichever head they are of.
    """
    parts, (_, heads, queries, _) = reduced.parts, reduced.query.shape
    sees_all = type(parts.mask) is Dense or (type(parts.mask) is Causal and queries == 1)
    numbers = (*operands(parts.score), *operands(parts.weights))
    return (
        heads > reduced.key.shape[1]
        and queries <= FEW_QUERIES
        and sees_all
        and not (numbers or reduced.dropout or parts.position.acts_in_tiles)
        and optional_method(unwrapped(parts.score), "piece") is None
        and optional_method(unwrapped(parts.weights), "piece") is None
    )


def _packed(reduced: Request) -> Request:
    """The request with queries that share a key as rows of one head."""
    batch, heads, queries, size = reduced.query.shape
    shared = reduced.key.shape[1]
    query = reduced.query.reshape(batch, shared, heads // shared * queries, size)
    known = Known(form=reduced.known.form.setdefault("packed", {}))
    parts = dataclasses.replace(reduced.parts.without_position, mask=Dense())
    return Request(query, reduced.key, reduced.value, parts, 0.0, 0, known)


def backward(request: Request, grad_output: Tensor, saved: Sequence[Tensor]) -> Gradients:
    """The gradients of query, key, value and the operands of the parts.

    Args:
        saved: as `forward` returned them, without the output.
    """
    grad_log_sums = None
    if request.parts.log_sums:
        grad_output, grad_log_sums = grad_output[..., :-1], grad_output[..., -1].contiguous()

    def compute(reduced: Request, unreduced: tuple[Tensor, Tensor]) -> ReducedGradients:
        # As in the forward pass: a product of tiles is one of a single dtype.
        reduced = dataclasses.replace(reduced, value=reduced.value.to(reduced.query.dtype))
        found = problem(reduced.narrowed(request), request.query.dtype)
        return _backward(found, unreduced, grad_output, saved, grad_log_sums)

    return vjp_through_reduction(request, compute, hides=True)


def _backward(
    found: Problem,
    unreduced: tuple[Tensor, Tensor],
    grad_output: Tensor,
    saved: Sequence[Tensor],
    grad_log_sums: Tensor | None,
) -> ReducedGradients:
    request = found.request
    whole, highest, found_rows, limits, *sums = saved
    query, key, value = _three(request)
    batch, heads, queries, features = query.shape
    wide, keys = found.wide, key.shape[2]
    if 0 in grad_output.stride():
        grad_output = grad_output.contiguous()
    grad_output = readable(grad_output.to(query.dtype))
    size, size_of_keys = (tiling_of(found, query, value, kernel) for kernel in ("queries", "keys"))
    programs = heads * triton.cdiv(queries, size.rows), key.shape[1] * triton.cdiv(keys, size_of_keys.columns)
    call = call_of(
        found,
        (query, key, value),
        unreduced,
        limits,
        grad_output,
        scratch=batch * max(programs) * size.rows * size.columns,
    )
    kind = kind_of(found, size, query, value)
    mean = torch.empty_like(highest)
    nothing = mean
    grad_query = query.new_empty(query.shape)
    grad_products = torch.zeros_like(call.products) if found.relative is not None else nothing
    of_number = torch.zeros_like(highest) if len(kind.normaliser) > 2 else nothing
    of_score_number = torch.zeros_like(highest) if len(kind.score) > 2 else nothing
    of_bias_number = torch.zeros_like(highest) if len(kind.bias) > 1 else nothing
    of_slopes = torch.zeros_like(highest) if found.slopes else nothing
    entries = triton.next_power_of_2(found.bucket_count) if found.buckets else 0
    of_table = query.new_zeros(batch * heads, triton.cdiv(queries, size.rows), max(entries, 1), dtype=wide)
    grad_pairs = query.new_empty(found.bias.shape, dtype=wide) if found.bias is not None else nothing
    adds = found.mask_kind == _TABLE and _rows_at_once(found, size) < queries
    of_vector = nothing
    if kind.additive != _NONE:
        # By feature, and summed in memory tile by tile.
        grad_query, grad_key, of_vector = (
            query.new_zeros(batch, each.shape[1], call.additive[0].shape[2], each.shape[2], dtype=wide)
            for each in (query, key, query)
        )
    else:
        grad_key = key.new_zeros(key.shape, dtype=wide if adds else key.dtype)
    grad_value = value.new_zeros(value.shape, dtype=wide if adds else value.dtype)
    strides = grad_output.stride()[:3]
    for share in slabs_of(found, call, size):
        row_tiles = triton.cdiv(share.last_row - share.first_row, size.rows)
        gradients.backward_of_queries[(row_tiles * batch * heads,)](
            share,
            grad_output,
            strides,
            whole,
            highest if grad_log_sums is None else grad_log_sums,
            highest,
            found_rows,
            mean,
            grad_query,
            grad_products,
            of_number,
            of_score_number,
            of_bias_number,
            of_table,
            of_slopes,
            of_vector,
            found.buckets,
            found.slopes,
            KIND=kind,
            TABLE_SIZE=entries,
            LOG_SUMS=grad_log_sums is not None,
            **size.options,
        )
        gradients.backward_of_keys[(triton.cdiv(keys, size_of_keys.columns) * batch * key.shape[1],)](
            share,
            grad_output,
            strides,
            highest,
            found_rows,
            mean,
            grad_key,
            grad_value,
            KIND=kind._replace(rows=size_of_keys.rows, columns=size_of_keys.columns),
            ADDS=adds,
            **size_of_keys.options,
        )
        if found.bias is not None:
            items, tables_of_heads = found.bias.shape[:2]
            shared = tables_of_heads, batch // items, heads // tables_of_heads
            gradients.backward_of_pairs[(row_tiles * triton.cdiv(keys, size.columns), items * tables_of_heads)](
                share, grad_output, strides, highest, found_rows, mean, grad_pairs, shared, KIND=kind, **size.options
            )
    if grad_log_sums is not None and len(kind.normaliser) > 2:
        # The kernel takes scores less the highest, which matters to the log-sum.
        of_number += torch.where(highest == -math.inf, 0.0, highest) * grad_log_sums
    of_score = gradients_of_numbers(request.parts.score, of_score_number, found.score.of_number)
    if kind.additive != _NONE:
        grad_query, grad_key = (sums[:, :, :features].mT.contiguous() for sums in (grad_query, grad_key))
        of_score = [_by_feature(of_vector.sum((0, 3))[:, :features], operands(request.parts.score)[0])]
    sums_of_position = _PositionSums(
        products=grad_products,
        pairs=grad_pairs,
        table=of_table,
        slopes=of_slopes,
        number=of_bias_number,
        weights=sums[0] if sums else None,
    )
    of_position, unreduced_query = _of_position(found, unreduced[0], grad_output, sums_of_position)
    if unreduced_query is not None and unreduced[0] is request.query:
        grad_query, unreduced_query = grad_query + unreduced_query, None
    return ReducedGradients(
        grad_query,
        grad_key,
        grad_value,
        unreduced_query,
        None,
        of_score,
        gradient_of_normaliser(found, of_number),
        of_position,
    )


def call_of(
    found: Problem,
    three: tuple[Tensor, Tensor, Tensor],
    unreduced: tuple[Tensor, Tensor],
    limits: Tensor | tuple[Tensor, ...],
    grad_output: Tensor | None = None,
    *,
    scratch: int = 1,
) -> Call:
    """The operands of all launches of a request; its rows, and a mask that is a table, come with the launch.

    three: query, key and value, as a kernel can read them.
    """
    query, key, value = three
    normaliser, queries = found.normaliser, query.shape[2]
    return Call(
        query,
        key,
        value,
        _strides(query, key, value),
        queries,
        key.shape[2],
        found.heads,
        found.repeat,
        0,
        queries,
        found.shift,
        number(found, found.score.scale),
        two(found, found.score.numbers),
        two(found, normaliser.numbers),
        (number(found, normaliser.total), number(found, normaliser.lowest)),
        tuple(limits),
        found.mask,
        () if found.allowed is None else two(found, found.allowed.numbers),
        () if found.bias_piece is None else two(found, found.bias_piece.numbers),
        found.line,
        _products(unreduced[0], found.relative, found.wide),
        query if grad_output is None else _products(grad_output, found.relative_values, found.wide, scaled=False),
        found.other_operands,
        dropout_of(found),
        _additive(found, query, key, scratch),
    )


def kind_of(found: Problem, size: Tiling, query: Tensor, value: Tensor) -> Kind:
    """What the kernels of a request are compiled for, which calls of one signature have in common."""
    known = found.request.known.form
    name = "triton", size, found.mask_kind, found.ragged, found.precision
    kind = known.get(name)
    if kind is None:
        kind = known[name] = _new_kind(found, size, query, value)
    return kind


def _new_kind(found: Problem, size: Tiling, query: Tensor, value: Tensor) -> Kind:
    features, width, normaliser = query.shape[-1], value.shape[-1], found.normaliser
    allowed, bias = found.allowed, found.bias_piece
    of_mask = () if allowed is None else (allowed.allowed,)
    of_bias = () if bias is None else (bias.bias, *([] if bias.of_number is None else [bias.of_number]))
    of_score = found.score.score, found.score.slope, *([] if found.score.of_number is None else [found.score.of_number])
    return Kind(
        score=of_score,
        normaliser=normaliser.functions,
        find=FIND[normaliser.find],
        centred=normaliser.centred,
        sharp=normaliser.sharp,
        mask=found.mask_kind,
        allowed=of_mask,
        bias=of_bias,
        others=found.others,
        relative=_count(found.relative),
        relative_values=_count(found.relative_values),
        additive=_activation(found),
        dies=bool(found.line or of_bias or found.others or found.relative is not None)
        or found.score.score is not scores.inner_product,
        drops=bool(found.dropout),
        ragged=found.ragged,
        size=features,
        size_block=_block(features),
        width=width,
        width_block=_block(width),
        rows=size.rows,
        columns=size.columns,
        wide=LARGEST[found.wide],
        precision=found.precision,
        tolerance=tolerance(found),
        from_lowest=normaliser.from_lowest,
        guarded=0.0,
        interpreted=size.interpreted,
        sources=sources((*of_score, *normaliser.functions, *of_mask, *of_bias, *found.others)),
    )


@cache
def sources(functions: tuple[Any, ...]) -> str:
    """A hash of what functions say: Triton keeps compiled kernels by the names of the functions they were given."""
    keys = [getattr(function, "cache_key", "") for function in functions]
    return hashlib.sha256("".join(keys).encode()).hexdigest()[:16]


def tiling_of(found: Problem, query: Tensor, value: Tensor, kernel: str) -> Tiling:
    is_additive = _activation(found) != _NONE
    return tiling(found.mask_kind == _TABLE, query, value, kernel, additive=is_additive)


def _activation(found: Problem) -> Any:
    """The activation of additive scores, if scores are additive."""
    score = found.request.parts.score
    return _ACTIVATIONS[score.activation] if type(score) is Additive else _NONE


def _additive(found: Problem, query: Tensor, key: Tensor, scratch: int) -> tuple[Any, ...]:
    """What the kernels need to know of additive scores, among it query and key by feature.

    scratch: how many numbers the programs of a kernel keep.
    """
    score = found.request.parts.score
    if type(score) is not Additive:
        return ()
    batch, heads, queries, features = query.shape
    blocks = triton.cdiv(features, BLOCK.value)
    by_feature = [
        each.new_empty(
            *each.shape[:2],
            blocks * BLOCK.value,
            triton.cdiv(each.shape[2], PADDED.value) * PADDED.value,
            dtype=found.wide,
        )
        for each in (query, key)
    ]
    fits = query.new_empty(batch, key.shape[1], blocks, dtype=torch.int32)
    vector = torch.nn.functional.pad(score.vector.to(found.wide), (0, blocks * BLOCK.value - features))
    vector = vector.expand(heads, -1).contiguous()
    additive.lay_out[(blocks * batch * key.shape[1],)](
        query,
        key,
        *by_feature,
        fits,
        _strides(query, key),
        (queries, key.shape[2], heads, found.repeat),
        ADDITIVE=_activation(found),
        SIZE=features,
        ROWS=16 if interpreted() else 64,
        WIDE=LARGEST[found.wide],
        **FUSED,
    )
    scratches = query.new_empty(scratch, dtype=found.wide)
    return *by_feature, vector, vector.sum(-1), fits, number(found, score.slope), scratches


def _by_feature(sums: Tensor, vector: Tensor) -> Tensor:
    """(head, feature) summed to the vector's form."""
    return sums if vector.ndim == 2 else sums.sum(0)


def _three(request: Request) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value as kernels read them."""
    return readable(request.query), readable(request.key), readable(request.value)


def readable(tensor: Tensor) -> Tensor:
    """A tensor with neighbouring features next to each other in memory, and strides in eights if its size is one."""
    *strides, last = tensor.stride()
    if last != 1 or (
        tensor.shape[-1] % 8 == 0
        and any(stride % 8 and size > 1 for stride, size in zip(strides, tensor.shape, strict=False))
    ):
        return tensor.contiguous()
    return tensor


def _splits(found: Problem, size: Tiling, groups: int) -> int:
    """Over how many programs the keys are divided, where the rows are too few to keep a GPU busy, as in decoding."""
    queries, keys = found.request.query.shape[2], found.request.key.shape[2]
    normaliser = found.normaliser
    if normaliser.find in ("threshold", "highest") or normaliser.takes_some or found.relative_values is not None:
        return 1
    programs = triton.cdiv(queries, size.rows) * groups
    return max(1, min(PROGRAMS // programs, keys // KEYS_OF_SPLIT))


def _strides(*tensors: Tensor) -> tuple[int, ...]:
    return tuple(stride for tensor in tensors for stride in tensor.stride()[:3])


def _rows_at_once(found: Problem, size: Tiling) -> int:
    """All rows, or as many as a table of pairs may have."""
    batch, heads, queries, _ = found.request.query.shape
    if found.mask_kind != _TABLE:
        return queries
    of_row = max(batch * heads * found.request.key.shape[2], 1)
    return max(PAIRS_AT_ONCE // of_row // size.rows, 1) * size.rows


def slabs_of(found: Problem, call: Call, size: Tiling) -> Iterator[Call]:
    """The launches of a request: one, or where the mask is a table, one for each part of it."""
    if found.mask_kind != _TABLE:
        yield call
        return
    rows = _rows_at_once(found, size)
    for first in range(0, call.queries, rows):
        last = min(first + rows, call.queries)
        mask = table(found.request, slice(first, last), (size.rows, size.columns))
        yield call._replace(first_row=first, last_row=last, mask=mask)


def two(found: Problem, numbers: tuple[float | Tensor, ...]) -> tuple[Any, Any]:
    a, b = (*numbers, 0.0, 0.0)[:2]
    return number(found, a), number(found, b)


def number(found: Problem, value: float | Tensor) -> Any:
    """A number as the kernels take it: a float, or a tensor with one for each head."""
    if isinstance(value, Tensor):
        return value.to(found.wide).expand(found.heads).contiguous()
    if found.wide == torch.float32 and not interpreted():
        return float(value)
    # Kernels take Python's numbers in single precision, and the interpreter none in a tuple.
    return found.request.query.new_full((found.heads,), value, dtype=found.wide)


def dropout_of(found: Problem) -> tuple[Any, ...]:
    if not found.dropout:
        return ()
    state, least, factor = found.dropout
    return _signed(state), _signed(least), number(found, factor)


def _signed(number: int) -> int:
    """32 bits as a signed number: so all seeds have one type."""
    return number - 2**32 if number >= 2**31 else number


def _block(size: int) -> int:
    """A power of 2, 16 at least: what a product of tiles takes."""
    return max(triton.next_power_of_2(size), 16)


def tolerance(found: Problem) -> float:
    """The step of the search after which a threshold is found: quadratic convergence squares it."""
    rounding = torch.finfo(found.wide).eps
    if found.normaliser.strict:
        return rounding
    narrow = found.request.query.element_size() < 4
    return 1e-3 if narrow else rounding**0.7


def _count(table: Tensor | None) -> int:
    return 0 if table is None else table.shape[-2]


def _products(vectors: Tensor, table: Tensor | None, wide: torch.dtype, *, scaled: bool = True) -> Tensor:
    """The products of each vector with those of a table, (batch, head, row, 2 reach + 1)."""
    if table is None:
        return vectors
    scale = 1.0 / math.sqrt(max(vectors.shape[-1], 1)) if scaled else 1.0
    return (vectors.to(wide) @ (table.to(wide) * scale).mT).contiguous()


def gradients_of_numbers(part: Any, sums: Tensor, function: Any) -> Gradients:
    """The gradients of a part's operands: of the one that is trained, the only real one, from the rows' sums."""
    if function is None:
        return [None] * len(operands(part))
    return [_by_head(sums, each) if each.is_floating_point() else None for each in operands(part)]


def _by_head(sums: Tensor, operand: Tensor) -> Tensor:
    """(batch, head, row) summed to (head,) or ()."""
    return sums.sum((0, 2)).sum_to_size(operand.shape) if operand.ndim else sums.sum()


def gradient_of_normaliser(found: Problem, sums: Tensor) -> Gradients:
    part: Any = unwrapped(found.request.parts.weights)
    own = gradients_of_numbers(
        part, sums, found.normaliser.functions[2] if len(found.normaliser.functions) > 2 else None
    )
    if found.normaliser.sharp and own and own[0] is not None:
        # d / dT of a function of s / T, from d / d log (1 / T).
        own[0] = own[0] / -part.temperature
    return own


class _PositionSums(NamedTuple):
    """What the kernels find of a position scheme's gradient, by what it is computed with; of no matter without such."""

    products: Tensor  # with a table of relative keys, by distance
    pairs: Tensor  # of a bias by pairs
    table: Tensor  # by bucket
    slopes: Tensor
    number: Tensor  # of a user's piece
    weights: Tensor | None  # by distance, for relative values


def _of_position(
    found: Problem, query: Tensor, grad_output: Tensor, sums: _PositionSums
) -> tuple[Gradients, Tensor | None]:
    """The gradients of the position's operands, and of the query that it sees."""
    position, wide = found.request.parts.position, found.wide
    found_operands = operands(position)
    grads: dict[int, Tensor] = {}
    of_query = None
    for scheme in schemes(position):
        if type(scheme) is RelativeKeys:
            scale = 1.0 / math.sqrt(max(query.shape[-1], 1))
            of_query = sums.products @ (scheme.table.to(wide) * scale)
            seen = without_idle(query.to(wide), sums.products)
            grads[id(scheme.table)] = _to_table(sums.products.mT @ (seen * scale), scheme.table)
        elif type(scheme) is RelativeValues and sums.weights is not None:
            grads[id(scheme.table)] = _to_table(
                sums.weights.mT @ without_idle(grad_output.to(wide), sums.weights), scheme.table
            )
        elif type(scheme) is Bias:
            grads[id(scheme.table)] = sums.pairs.view(scheme.table.shape)
        elif type(scheme) is Buckets:
            by_head = sums.table.sum(1).unflatten(0, (-1, found.heads)).sum(0)[:, : found.bucket_count]
            grads[id(scheme.table)] = by_head if scheme.table.ndim == 2 else by_head.sum(0)
        elif type(scheme) is Slopes:
            grads[id(scheme.slopes)] = _by_head(sums.slopes, scheme.slopes)
    piece = found.bias_piece
    if piece is not None and piece.of_number is not None:
        for trained in piece.numbers[:1]:
            if isinstance(trained, Tensor):
                grads[id(trained)] = _by_head(sums.number, trained)
    return [grads.get(id(operand)) for operand in found_operands], of_query


def _to_table(gradient: Tensor, table: Tensor) -> Tensor:
    """(batch, head, row, size) summed to a table for each head, or for all."""
    return gradient.sum(0) if table.ndim == 3 else gradient.sum((0, 1))
