"""Launching the kernels along edges: the output of a request, and its gradients from what was saved."""

from collections.abc import Sequence
from typing import Any

import torch
import triton
from torch import Tensor

from regard.attention.engines.triton import edge_kernels, scores
from regard.attention.engines.triton.edges import graph_of
from regard.attention.engines.triton.launch import (
    LARGEST,
    dropout_of,
    gradient_of_normaliser,
    gradients_of_numbers,
    number,
    sources,
    tolerance,
    two,
)
from regard.attention.engines.triton.problem import FIND, Problem, problem
from regard.attention.engines.triton.segments import Segments, longest, segments
from regard.attention.engines.triton.tiling import Tiling, interpreted
from regard.attention.gradients.reduction import Gradients, ReducedGradients, vjp_through_reduction
from regard.attention.log_sums import joined
from regard.attention.pairs.csr import Csr
from regard.attention.parts import operands
from regard.attention.request import Request
from regard.attention.scores import Additive

__all__ = ["backward", "forward"]

_ACTIVATIONS = {
    "tanh": (scores.bounded, scores.of_bounded),
    "leaky_relu": (scores.leaky_relu, scores.of_leaky_relu),
}
# What a program holds: numbers of an edge, over all its heads, and numbers of all edges at once by warp.
_NUMBERS_OF_EDGE = 512
_NUMBERS_OF_WARP = 1024


def _tiling(tensors: tuple[Tensor, Tensor], heads: int, graph: Csr, nodes: int) -> Tiling:
    """The tiles, (head, edge): how many of a node's heads and edges a program takes at once."""
    size = triton.next_power_of_2(max(tensor.shape[-1] for tensor in tensors))
    rows = min(triton.next_power_of_2(heads), max(_NUMBERS_OF_EDGE // size, 1))
    if interpreted():
        return Tiling(rows, 4, interpreted=True)
    warps = max(rows * size // 128, 1)
    mean_degree = triton.cdiv(len(graph.keys), nodes)
    edges = min(_NUMBERS_OF_WARP * warps // (rows * size), triton.next_power_of_2(mean_degree), 32)
    return Tiling(rows, max(edges, 4), warps)


def forward(request: Request, *, saves: bool) -> tuple[Tensor, ...]:
    """The output (batch, head, query, value), with its log-sums if they are asked for.

    If `saves`, also what the gradient needs: the output in float32 or wider, two numbers for each row, and the limits
    of rows of which only some keys are taken, (3, batch, query, head).
    """
    reduced, _ = request.reduced()
    found, graph = _problem(request, reduced)
    query, key, value = (_by_node(tensor) for tensor in (reduced.query, reduced.key, reduced.value))
    batch, heads, queries, _ = query.shape
    width, wide, dtype = value.shape[-1], found.wide, request.query.dtype
    output = query.new_empty(batch, queries, heads, width, dtype=dtype)
    whole = output if dtype == wide or not saves else torch.empty_like(output, dtype=wide)
    highest, found_rows = (query.new_empty(batch, queries, heads, dtype=wide) for _ in range(2))
    limits = query.new_empty(3 if found.normaliser.takes_some else 0, batch, queries, heads, dtype=wide)
    softmax = found.normaliser.find == "softmax"
    # A threshold and the best keys are searched for along the whole row.
    searches = found.normaliser.find in ("threshold", "highest") or found.normaliser.takes_some
    cut = None if searches else segments(graph.starts)
    parts, part_highest, part_sums = _parts_of(cut, query, wide, (heads, width), (heads,), (heads,))
    tiling = _tiling((query, value), heads, graph, queries)
    edge_kernels.forward[_grid(queries, cut, batch, heads, tiling)](
        query,
        key,
        value,
        output,
        whole,
        highest,
        found_rows,
        tuple(limits),
        parts,
        part_highest,
        part_sums,
        graph.starts,
        graph.keys,
        *_segments(cut),
        queries,
        len(graph.starts) - 1,
        _strides(query, key, value),
        *_shared(found),
        (number(found, found.normaliser.total), number(found, found.normaliser.lowest)),
        *_additive(found),
        dropout_of(found),
        SCORE=_score(found),
        NORMALISER=found.normaliser.functions,
        FIND=FIND[found.normaliser.find],
        SHARP=found.normaliser.sharp,
        DROPS=bool(found.dropout),
        SAVES=whole is not output,
        TOLERANCE=tolerance(found),
        FROM_LOWEST=found.normaliser.from_lowest,
        SOURCES=sources((*_score(found), *found.normaliser.functions)),
        **_constants(found, query, value, tiling),
    )
    _merge(cut, found, parts, output, whole, (part_highest, part_sums, highest, found_rows) if softmax else ())
    output = output.transpose(1, 2)
    if request.parts.log_sums:
        output = joined(output, (highest - found_rows.log()).transpose(1, 2))
    return (output, whole.transpose(1, 2), highest, found_rows, limits) if saves else (output,)


def backward(request: Request, grad_output: Tensor, saved: Sequence[Tensor]) -> Gradients:
    """The gradients of query, key, value and the operands of the parts."""

    grad_log_sums = None
    if request.parts.log_sums:
        grad_output, grad_log_sums = grad_output[..., :-1], grad_output[..., -1].transpose(1, 2).contiguous()

    def compute(reduced: Request, _: tuple[Tensor, Tensor]) -> ReducedGradients:
        return _backward(*_problem(request, reduced), grad_output, saved, grad_log_sums)

    return vjp_through_reduction(request, compute, hides=True)


def _backward(
    found: Problem, graph: Csr, grad_output: Tensor, saved: Sequence[Tensor], grad_log_sums: Tensor | None
) -> ReducedGradients:
    request, wide = found.request, found.wide
    whole, highest, found_rows, limits = saved
    query, key, value, grad_output = (
        _by_node(tensor) for tensor in (request.query, request.key, request.value, grad_output)
    )
    (batch, heads, queries, size), (key_heads, keys, width) = query.shape, value.shape[1:]
    strides = _strides(query, key, value, grad_output)
    edges = len(graph.keys)
    constants = {"SCORE": _score(found), "FIND": FIND[found.normaliser.find]}
    of_edges = query.new_empty(batch, edges, 2, heads, dtype=wide)

    given_sum = found.normaliser.centred and found.normaliser.find != "softmax"
    cut = None if given_sum else segments(graph.starts)
    grad_query = query.new_empty(batch, queries, heads, size)
    (parts,) = _parts_of(cut, query, wide, (heads, size))
    shares = queries + _count(cut)
    trains = (
        len(found.normaliser.functions) > 2,
        found.score.of_number is not None,
        type(request.parts.score) is Additive,
    )
    of_number, of_score_number, of_vector = (
        query.new_empty(batch, shares, *shape, dtype=wide) if has else highest
        for has, shape in zip(trains, ((heads,), (heads,), (heads, size)), strict=True)
    )
    tiling = _tiling((query, value), heads, graph, queries)
    edge_kernels.backward_of_queries[_grid(queries, cut, batch, heads, tiling)](
        query,
        key,
        value,
        whole.transpose(1, 2),
        grad_output,
        highest if grad_log_sums is None else grad_log_sums,
        highest,
        found_rows,
        tuple(limits),
        grad_query,
        parts,
        of_edges,
        of_number,
        of_score_number,
        of_vector,
        graph.starts,
        graph.keys,
        *_segments(cut),
        queries,
        len(graph.starts) - 1,
        edges,
        strides,
        *_shared(found),
        *_additive(found),
        dropout_of(found),
        NORMALISER=found.normaliser.functions,
        CENTRED=found.normaliser.centred,
        SHARP=found.normaliser.sharp,
        DROPS=bool(found.dropout),
        LOG_SUMS=grad_log_sums is not None,
        SOURCES=sources((*_score(found), *found.normaliser.functions)),
        **constants,
        **_constants(found, query, value, tiling),
    )
    _merge(cut, found, parts, grad_query)

    cut = segments(graph.key_starts)
    grad_key, grad_value = key.new_empty(batch, keys, key_heads, size), value.new_empty(batch, keys, key_heads, width)
    parts, value_parts = _parts_of(cut, query, wide, (key_heads, size), (key_heads, width))
    tiling = _tiling((query, value), key_heads, graph, keys)
    edge_kernels.backward_of_keys[_grid(keys, cut, batch, key_heads, tiling)](
        query,
        key,
        grad_output,
        highest,
        of_edges,
        grad_key,
        grad_value,
        parts,
        value_parts,
        graph.key_starts,
        graph.queries,
        graph.csc_to_csr,
        *_segments(cut),
        queries,
        keys,
        len(graph.key_starts) - 1,
        edges,
        strides,
        *_additive(found),
        FIND=constants["FIND"],
        **_constants(found, query, value, tiling),
    )
    _merge(cut, found, parts, grad_key)
    _merge(cut, found, value_parts, grad_value)
    if grad_log_sums is not None and trains[0]:
        # The kernel takes scores less the highest, which matters to the log-sum.
        of_number = torch.cat([of_number, torch.where(highest == -torch.inf, 0.0, highest) * grad_log_sums], 1)
    of_score = gradients_of_numbers(request.parts.score, of_score_number.transpose(1, 2), found.score.of_number)
    if type(request.parts.score) is Additive:
        of_score = [of_vector.sum((0, 1)).sum_to_size(request.parts.score.vector.shape)]
    return ReducedGradients(
        grad_query.transpose(1, 2),
        grad_key.transpose(1, 2),
        grad_value.transpose(1, 2),
        None,
        None,
        of_score,
        gradient_of_normaliser(found, of_number.transpose(1, 2)),
        [None] * len(operands(request.parts.position)),
    )


def _problem(request: Request, reduced: Request) -> tuple[Problem, Csr]:
    graph: Any = graph_of(request)
    return problem(reduced, request.query.dtype), graph


def _by_node(tensor: Tensor) -> Tensor:
    """The same numbers with the heads of a node, and their features, next to each other in memory."""
    _, heads, _, size = tensor.shape
    if (size == 1 or tensor.stride(3) == 1) and (heads == 1 or tensor.stride(1) == size):
        return tensor
    return tensor.transpose(1, 2).contiguous().transpose(1, 2)


def _strides(*tensors: Tensor) -> tuple[int, ...]:
    """Of item and node."""
    return tuple(stride for tensor in tensors for stride in (tensor.stride(0), tensor.stride(2)))


def _shared(found: Problem) -> tuple[Any, ...]:
    """The operands of score and normaliser."""
    return number(found, found.score.scale), two(found, found.score.numbers), two(found, found.normaliser.numbers)


def _score(found: Problem) -> tuple[Any, ...]:
    functions = found.score.score, found.score.slope, found.score.of_number
    return tuple(function for function in functions if function is not None)


def _additive(found: Problem) -> tuple[Any, Any]:
    """The vector of an additive score for each head, and the slope of its leaky ReLU."""
    score = found.request.parts.score
    if type(score) is not Additive:
        return number(found, 1.0), number(found, 0.0)
    heads, size = found.heads, found.request.query.shape[-1]
    return score.vector.to(found.wide).expand(heads, size).contiguous(), number(found, score.slope)


def _constants(found: Problem, query: Tensor, value: Tensor, tiling: Tiling) -> dict[str, Any]:
    score = found.request.parts.score
    size, width = query.shape[-1], value.shape[-1]
    return {
        "ACTIVATION": _ACTIVATIONS[score.activation] if type(score) is Additive else (),
        "HEADS": found.heads,
        "REPEAT": found.repeat,
        "SIZE": size,
        "SIZE_BLOCK": triton.next_power_of_2(size),
        "VALUE": width,
        "VALUE_BLOCK": triton.next_power_of_2(width),
        "HEAD_BLOCK": tiling.rows,
        "EDGES": tiling.columns,
        "LONGEST": longest(),
        "WIDE": LARGEST[found.wide],
        **tiling.options,
    }


def _count(cut: Segments | None) -> int:
    return 0 if cut is None else len(cut.rows)


def _segments(cut: Segments | None) -> tuple[tuple[Tensor, ...], int]:
    """The segments as kernels take them, and their number."""
    return ((cut.rows, cut.firsts), len(cut.rows)) if cut is not None and len(cut.rows) else ((), 0)


def _grid(rows: int, cut: Segments | None, batch: int, heads: int, tiling: Tiling) -> tuple[int, int]:
    # Segments come first, as they take longest.
    return rows + _count(cut), batch * triton.cdiv(heads, tiling.rows)


def _parts_of(cut: Segments | None, query: Tensor, wide: torch.dtype, *shapes: tuple[int, ...]) -> list[Tensor]:
    """Where the programs of segments put what they find."""
    return [query.new_empty(query.shape[0], _count(cut), *shape, dtype=wide) for shape in shapes]


def _merge(
    cut: Segments | None,
    found: Problem,
    parts: Tensor,
    output: Tensor,
    whole: Tensor | None = None,
    rows: tuple[Tensor, ...] = (),
) -> None:
    """Put the long rows into `output`, (batch, node, head, size). rows: of softmax, the highest scores and sums of each
    segment, and what is to become the highest score and the inverse sum of each row."""
    if cut is None or not len(cut.long_rows):
        return
    whole = output if whole is None else whole
    batch, nodes, heads, size = output.shape
    part_highest, part_sums, highest, found_rows = rows or (parts,) * 4
    columns = min(triton.next_power_of_2(heads * size), 64)
    edge_kernels.merge[(len(cut.long_rows), triton.cdiv(heads * size, columns), batch)](
        parts,
        part_highest,
        part_sums,
        output,
        whole,
        highest,
        found_rows,
        cut.long_rows,
        cut.bounds,
        len(cut.rows),
        nodes,
        MERGES_WEIGHTS=bool(rows),
        SAVES=whole is not output,
        HEADS=heads,
        SIZE=size,
        COLUMNS=columns,
        PARTS_AT_ONCE=8,
        WIDE=LARGEST[found.wide],
        **Tiling(1, columns, 1).options,
    )
