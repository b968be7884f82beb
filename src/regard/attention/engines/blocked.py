"""Tiles in plain PyTorch: every part, every device, linear memory, forward and backward.

A tile is up to 256 queries against all the keys that they may see, for as many heads at once as fit a fixed budget.
A whole row stands in a tile, so any normaliser works as it is written. Nothing of a tile is kept: the backward pass
computes it again. (A gradient of a gradient is exact too, but keeps the tiles of the backward pass: quadratic memory.)
Both passes walk the tiles in one order and add up in it, so the results are bitwise repeatable.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.dropout import keep_scale
from regard.attention.frames import Spans
from regard.attention.parts import join, split
from regard.attention.precision import no_autocast, wide_dtype
from regard.attention.request import Parts, Request
from regard.errors import ArgumentError

__all__ = ["Tile", "refuse", "run", "tile_size", "tiles"]

ROWS = 256  # more don't make the products faster
FEWEST = 16  # fewer would make them slower; beyond 65,536 keys a tile grows with the keys, and memory stays linear
BUDGET = 2**20  # numbers in one matrix of a tile: 4 MiB of float32 stay near the cores


def refuse(request: Request) -> str | None:
    """Tiles do everything."""
    return None


def run(request: Request, *, rows: int = ROWS, budget: int = BUDGET) -> Tensor:
    """The output, (batch, head, query, value). `rows` and `budget` change the tiles, not the result."""
    spec, operands = split(request.parts)
    safe = request.finite or request.hides_nothing
    task = _Task(
        spec, request.query.shape[0], request.query.shape[1], request.dropout, request.seed, safe, rows, budget
    )
    query, key, value = (tensor.flatten(0, 1) for tensor in (request.query, request.key, request.value))
    if torch.is_grad_enabled():
        _refuse_captured(task, request.parts, query, key, value, operands)
        # A mask made under inference_mode can't be kept for a backward pass; a copy of it can.
        operands = tuple(tensor.clone() if tensor.is_inference() else tensor for tensor in operands)
    output = _Blocked.apply(task, query, key, value, *operands)
    return output.unflatten(0, request.query.shape[:2])  # pyright: ignore[reportAttributeAccessIssue]


@dataclass(frozen=True)
class Tile:
    """Which groups (one head of one item each), queries and keys a tile holds; `full`: all its pairs are allowed."""

    groups: slice
    rows: slice
    keys: slice
    full: bool


@dataclass(frozen=True)
class _Task:
    """What a call is, apart from its tensors."""

    spec: Any
    batch: int
    heads: int
    dropout: float
    seed: int
    safe: bool
    rows: int
    budget: int

    def tiles(self, parts: Parts, queries: int, keys: int) -> Iterator[Tile]:
        spans = parts.mask.spans(parts.frame(self.batch, queries, keys))
        return tiles(spans, self.batch, self.heads, queries, keys, self.rows, self.budget)


def tiles(
    spans: Spans, batch: int, heads: int, queries: int, keys: int, rows: int = ROWS, budget: int = BUDGET
) -> Iterator[Tile]:
    """Cut a request into tiles by interval arithmetic on the mask's spans; a tile with all hidden is left out."""
    if 0 in (batch, heads, queries, keys):
        return
    rows, together = tile_size(queries, keys, rows, budget)
    edges = list(range(0, queries, rows))
    hull_start, hull_stop, full_start, full_stop = (_by_block(spans, edges, which, batch) for which in range(4))
    for first in range(0, batch * heads, together):
        groups = slice(first, min(first + together, batch * heads))
        items = slice(first // heads, (groups.stop - 1) // heads + 1)
        for block, edge in enumerate(edges):
            start = min(hull_start[block][items])
            stop = max(hull_stop[block][items])
            if start < stop:
                full = max(full_start[block][items]) <= start and min(full_stop[block][items]) >= stop
                yield Tile(groups, slice(edge, min(edge + rows, queries)), slice(start, stop), full)


def tile_size(queries: int, keys: int, rows: int = ROWS, budget: int = BUDGET) -> tuple[int, int]:
    """How many rows a tile has, and how many groups: fewer rows where a row is long, more groups where all is short."""
    rows = min(rows, queries, max(FEWEST, budget // keys))
    return rows, max(1, budget // (rows * keys))


def _by_block(spans: Spans, edges: list[int], which: int, batch: int) -> list[list[int]]:
    """One bound of the spans for every block of rows and item, [block][item]: widest, or for `full` narrowest."""
    bound = (spans.start, spans.stop, spans.full_start, spans.full_stop)[which]
    if which < 2:
        # A row that may see nothing must not widen the hull.
        empty = spans.start >= spans.stop
        bound = bound.masked_fill(empty, torch.iinfo(torch.long).max if which == 0 else 0)
    blocks = [
        part.amin(1) if which in (0, 3) else part.amax(1)
        for part in bound.split([b - a for a, b in zip(edges, [*edges[1:], bound.shape[1]], strict=True)], dim=1)
    ]
    return [items.expand(batch).tolist() for items in blocks]


class _Blocked(torch.autograd.Function):
    @staticmethod
    def forward(task: _Task, query: Tensor, key: Tensor, value: Tensor, *operands: Tensor) -> Tensor:
        parts = join(task.spec, operands)
        output = query.new_zeros(len(query), query.shape[1], value.shape[2])
        with torch.no_grad():
            for tile in task.tiles(parts, query.shape[1], key.shape[1]):
                result = _attend(task, parts, tile, *_wide(tile, query, key, value), query.shape[1], key.shape[1])
                output[tile.groups, tile.rows] = result.to(output.dtype)
        return output

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        task, *tensors = inputs
        ctx.task = task
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        query, key, value, *operands = ctx.saved_tensors
        task: _Task = ctx.task
        queries, keys = query.shape[1], key.shape[1]
        wide = wide_dtype(query)
        totals = [torch.zeros_like(tensor, dtype=wide) for tensor in (query, key, value)]
        trained = [i for i, operand in enumerate(operands) if ctx.needs_input_grad[4 + i]]
        grads: list[Tensor | None] = [None] * len(operands)
        for i in trained:
            grads[i] = torch.zeros_like(operands[i], dtype=wide_dtype(operands[i]))

        def tile_output(q: Tensor, k: Tensor, v: Tensor, *changing: Tensor) -> Tensor:
            # `tile` is the loop's: the function is called at once, within the turn that defines it.
            held = list(operands)
            for i, operand in zip(trained, changing, strict=True):
                held[i] = operand
            return _attend(task, join(task.spec, tuple(held)), tile, q, k, v, queries, keys)

        with no_autocast(query):
            parts = join(task.spec, tuple(operands))
            for tile in task.tiles(parts, queries, keys):
                changing = [operands[i] for i in trained]
                pull = torch.func.vjp(tile_output, *_wide(tile, query, key, value), *changing)[1]
                grad_query, grad_key, grad_value, *grad_operands = pull(grad_output[tile.groups, tile.rows].to(wide))
                totals[0][tile.groups, tile.rows] += grad_query
                totals[1][tile.groups, tile.keys] += grad_key
                totals[2][tile.groups, tile.keys] += grad_value
                for i, grad in zip(trained, grad_operands, strict=True):
                    grads[i] += grad
        narrowed = (None if grad is None else grad.to(own.dtype) for grad, own in zip(grads, operands, strict=True))
        return (None, *(total.to(query.dtype) for total in totals), *narrowed)


def _wide(tile: Tile, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The tile's own queries, keys and values, in float32 or wider."""
    wide = wide_dtype(query)
    return (
        query[tile.groups, tile.rows].to(wide),
        key[tile.groups, tile.keys].to(wide),
        value[tile.groups, tile.keys].to(wide),
    )


def _attend(
    task: _Task, parts: Parts, tile: Tile, query: Tensor, key: Tensor, value: Tensor, queries: int, keys: int
) -> Tensor:
    """The output of one tile, (group, query, value): what autograd differentiates in the backward pass."""
    group, row, column = (
        torch.arange(part.start, part.stop, device=query.device) for part in (tile.groups, tile.rows, tile.keys)
    )
    group = group.view(-1, 1, 1)
    at = parts.frame(task.batch, queries, keys).index(
        group // task.heads, group % task.heads, row.view(1, -1, 1), column.view(1, 1, -1)
    )
    allowed = None
    if not tile.full:
        allowed = parts.mask.allows(at).expand(len(query), query.shape[1], key.shape[1])
        # What stands beside no allowed pair is padding, often zeros, where a score may have no derivative.
        query = torch.where(allowed.any(2).unsqueeze(-1), query, 1.0)
        key = torch.where(allowed.any(1).unsqueeze(-1), key, 1.0)
    broken = None
    if not task.safe:
        query, key, value, broken = _set_aside(query, key, value)
    query, key = parts.position.heads(query, key, at)
    scores = parts.position.scores(parts.score(query, key), query, key, at)
    if broken is not None:
        scores = scores.masked_fill(broken.pair, math.nan)
    if allowed is not None:
        scores = torch.where(allowed, scores, -torch.inf)
    weights = parts.weights(scores, allowed)
    if allowed is not None:
        weights = torch.where(allowed, weights, 0.0)
    if task.dropout:
        weights = weights * keep_scale(at, task.dropout, task.seed).to(weights.dtype)
    output = weights @ value
    if broken is not None:
        seen = torch.ones_like(scores) if allowed is None else allowed.to(scores.dtype)
        output = output.masked_fill(seen @ broken.value > 0, math.nan)
    output = parts.position.outputs(output, weights, at)
    # A row that may see nothing is zeros, and takes no gradient, whatever comes from above.
    return output if allowed is None else torch.where(allowed.any(-1, keepdim=True), output, 0.0)


@dataclass(frozen=True)
class _Broken:
    """Where NaN or infinity stood: `pair` (group, query, key) bool, `value` (group, key, value) as 0 or 1."""

    pair: Tensor
    value: Tensor


def _set_aside(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor, _Broken]:
    """Take NaN and infinity out before the products, to be put back (as NaN) only where they may be seen.

    A product of a whole tile multiplies hidden entries by 0, and 0 x NaN is NaN; so nothing non-finite may enter it.
    """
    broken_query = ~torch.isfinite(query).all(-1)
    broken_key = ~torch.isfinite(key).all(-1)
    broken_value = ~torch.isfinite(value)
    pair = broken_query.unsqueeze(2) | broken_key.unsqueeze(1)
    return (
        query.masked_fill(broken_query.unsqueeze(-1), 0.0),
        key.masked_fill(broken_key.unsqueeze(-1), 0.0),
        value.masked_fill(broken_value, 0.0),
        _Broken(pair, broken_value.to(value.dtype)),
    )


def _refuse_captured(
    task: _Task, parts: Parts, query: Tensor, key: Tensor, value: Tensor, operands: tuple[Tensor, ...]
) -> None:
    """Refuse a part of the user's own that computes with a trainable tensor which it doesn't declare.

    Tiles that are computed again give gradients to operands only; a tensor that a closure captured would silently get
    none. A corner of the first tile, computed without gradients of its own, shows it: its result wants one.
    """
    # A mask is boolean: no gradient passes through it, so there is nothing to lose in one.
    foreign = [name for name in ("score", "weights", "position") if _is_foreign(getattr(parts, name))]
    first = next(task.tiles(parts, query.shape[1], key.shape[1]), None) if foreign else None
    if first is None:
        return
    corner = Tile(
        slice(first.groups.start, first.groups.start + 1),
        slice(first.rows.start, min(first.rows.stop, first.rows.start + FEWEST)),
        first.keys,
        first.full,
    )
    bare = join(task.spec, tuple(operand.detach() for operand in operands))
    corner_query, corner_key, corner_value = (tensor.detach() for tensor in _wide(corner, query, key, value))
    result = _attend(task, bare, corner, corner_query, corner_key, corner_value, query.shape[1], key.shape[1])
    if result.requires_grad:
        raise ArgumentError(
            f"`{'`, `'.join(foreign)}` computes with a tensor that requires grad but that it doesn't declare, so the "
            "tensor would get no gradient. Make the part a frozen dataclass with the tensor as a field, or give the "
            "module that owns it a method part() that returns such a dataclass (see docs/parts.md)."
        )


def _is_foreign(part: Any) -> bool:
    """Whether a part was written outside the package."""
    module: str = getattr(part, "__module__", None) or type(part).__module__
    return not module.startswith("regard.")
