"""Tiles in plain PyTorch: every part, every device, linear memory, and gradients to the second order.

A tile is up to 256 queries, or 1,024 on a GPU, with all the keys that they may see, for as many heads as fit a budget.
Nothing is saved of a tile: the backward pass recomputes it, and so does the gradient of a gradient. All passes visit
the tiles and accumulate gradients in the same order, so the results are bitwise reproducible.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor

from regard.attention.engines.blocked.costs import cost, counted, extent_of, seconds
from regard.attention.engines.blocked.reference import fill_empty, isolated_pairs, tile_output
from regard.attention.engines.blocked.tile import CompiledParts, TileGradients, TileMask, TileWork, drop_weights, take
from regard.attention.engines.blocked.tiles import MIN_ROWS, Tile, TileSize, single_tile, tile_size, tiles
from regard.attention.gradients.reduction import Gradients, ReducedGradients, vjp_through_reduction
from regard.attention.gradients.sparse_gradients import accumulate
from regard.attention.gradients.vjp import gradients, vjp
from regard.attention.known import few_pairs
from regard.attention.log_sums import joined
from regard.attention.masks import allows
from regard.attention.parts import Differentiable, map_operands, operands
from regard.attention.precision import wide_dtype
from regard.attention.request import Request
from regard.attention.sizes import Index
from regard.attention.user_parts import UserPart
from regard.errors import ArgumentError

__all__ = [
    "backward",
    "cost",
    "counted",
    "extent_of",
    "forward",
    "indexed_tiles",
    "refuse",
    "refuse_captured",
    "refusing_random_numbers",
    "second",
    "seconds",
    "taken",
    "tile_call",
    "unsafe_tiles",
    "walk",
]


def refuse(request: Request) -> str | None:
    """Tiles can compute every request."""
    return None


def forward(request: Request, *, compiled_parts: CompiledParts | None = None, size: TileSize | None = None) -> Tensor:
    """The output, (batch, head, query, value), with its log-sums if they are asked for.

    Args:
        request: with heads equal.
        compiled_parts: faster implementations of the same parts.
        size: the size of tiles, which doesn't affect the result; None: what is fast on the device.
    """
    batch, heads, queries = request.query.shape[:3]
    if request.safe and _is_one_tile(request, size):
        (work,) = walk(request, compiled_parts=compiled_parts, size=size)
        output = work.output().to(request.result_dtype).contiguous()
        # A user's part may keep a reference to what it returned.
        if isinstance(request.parts.position, UserPart):
            output = output.clone(memory_format=torch.contiguous_format)
        return output.unflatten(0, (batch, heads))
    output = request.query.new_zeros(batch * heads, queries, request.value.shape[-1])
    if request.parts.log_sums:
        output = joined(output, output.new_full(output.shape[:2], -torch.inf, dtype=request.result_dtype))
    if not request.safe:
        for tile, at in unsafe_tiles(request, size):
            result = tile_output(request, tile, at, taken(request, tile), safe=False)
            output[tile.groups, tile.rows] = result.to(output.dtype)
        return output.unflatten(0, (batch, heads))
    for work in walk(request, compiled_parts=compiled_parts, size=size):
        output[work.tile.groups, work.tile.rows] = work.output().to(output.dtype)
    return output.unflatten(0, (batch, heads))


def walk(
    request: Request, *, compiled_parts: CompiledParts | None = None, size: TileSize | None = None
) -> Iterator[TileWork]:
    """The tiles of a request, reduced, one after the other. The request must be safe."""
    return _works(*request.reduced(), compiled_parts, size)


def backward(
    request: Request,
    grad_output: Tensor,
    *,
    compiled_parts: CompiledParts | None = None,
    size: TileSize | None = None,
) -> Gradients:
    """The gradients of query, key, value and the operands of the parts; those that are summed in float32 or wider."""
    if not request.safe_with(grad_output):
        return _unsafe_backward(request, grad_output, size)

    def compute(reduced: Request, unreduced: tuple[Tensor, Tensor]) -> ReducedGradients:
        whole = "parts" in reduced.known.form and _is_one_tile(reduced, size)
        totals = _ReducedGradients(reduced, unreduced, whole=whole)
        for work in _works(reduced, unreduced, compiled_parts, size):
            cotangents = take(grad_output, work.tile, "rows")
            totals.add(work.tile, work.vjp(cotangents))
        return totals.result()

    return vjp_through_reduction(request, compute)


class _ReducedGradients:
    """The gradients of a reduced request, accumulated tile by tile.

    Args:
        request, unreduced: as reducing gave them.
        whole: whether there is one tile of all queries and keys, whose gradients nothing else holds, and are the sums.
    """

    def __init__(self, request: Request, unreduced: tuple[Tensor, Tensor], *, whole: bool):
        self.whole = whole
        self.shape = request.query.shape[:2]
        # Unreduced query and key have gradients of their own only if they are other tensors.
        self._unreduced_names = (
            "query" if unreduced[0] is request.query else "unreduced_query",
            "key" if unreduced[1] is request.key else "unreduced_key",
        )
        self._like = {"query": request.query, "key": request.key, "value": request.value}
        self._like |= {"unreduced_query": unreduced[0], "unreduced_key": unreduced[1]}
        self._sums: dict[str, Tensor] = {}
        parts = request.parts
        self.operands: list[Gradients] = [
            [None] * len(operands(part)) for part in (parts.score, parts.weights, parts.position)
        ]

    def add(self, tile: Tile, found: TileGradients) -> None:
        self._add("query", tile.groups, tile.rows, found.query)
        self._add(self._unreduced_names[0], tile.groups, tile.rows, found.unreduced_query)
        self._add("key", tile.groups, tile.keys, found.key)
        self._add("value", tile.groups, tile.keys, found.value)
        self._add(self._unreduced_names[1], tile.groups, tile.keys, found.unreduced_key)
        for totals, grads in zip(self.operands, found.operands, strict=True):
            for i, grad in enumerate(grads):
                if grad is not None:
                    totals[i] = accumulate(totals[i], grad)

    def result(self) -> ReducedGradients:
        found = [self._sums.get(name) for name in ("query", "key", "value", "unreduced_query", "unreduced_key")]
        for i, name in enumerate(("query", "key", "value")):
            if found[i] is None:
                found[i] = torch.zeros_like(self._like[name]).flatten(0, 1)
        found = [None if total is None else total.unflatten(0, self.shape) for total in found]
        return ReducedGradients(*found, *self.operands)  # pyright: ignore[reportArgumentType]

    def _add(self, name: str, groups: slice, positions: slice | Tensor, grad: Tensor | None) -> None:
        if grad is None:
            return
        if self.whole:
            self._sums[name] = self._sums[name] + grad if name in self._sums else grad
            return
        if name not in self._sums:
            like = self._like[name]
            batch, heads, length, size = like.shape
            transposed = grad.stride(-1) != 1 and grad.stride(-2) == 1
            shape = (batch * heads, size, length) if transposed else (batch * heads, length, size)
            total = torch.zeros(shape, dtype=grad.dtype, device=like.device)
            # The total has the memory layout of the tiles' gradients: otherwise adding takes several times as long.
            self._sums[name] = total.mT if transposed else total
        _add_at(self._sums[name], groups, positions, grad)


def _add_at(total: Tensor, groups: slice, positions: slice | Tensor, grad: Tensor) -> None:
    """Add a tile's gradient to its rows or keys."""
    if isinstance(positions, slice):
        total[groups, positions] += grad
    elif total.device.type == "cpu" and total.stride(-1) != 1:
        # `index_add_` adds key by key, which takes ten times as long where a key's numbers aren't neighbours.
        total[groups].mT.scatter_add_(2, positions.expand_as(grad.mT), grad.mT)
    else:
        # No key occurs twice, so the order of addition is the same on every device.
        total[groups].index_add_(1, positions.to(total.device), grad)


def _unsafe_backward(request: Request, grad_output: Tensor, size: TileSize | None) -> Gradients:
    """The gradients if a hidden value isn't finite: autograd on the reference implementation of each tile."""
    parts = Differentiable(request.parts)
    totals = _Gradients(request, parts)
    for tile, at in unsafe_tiles(request, size):
        call = tile_call(request, tile, at, parts, safe=False)
        _, vjp_fn = vjp(call, *taken(request, tile), *parts.operands)
        totals.add(tile, vjp_fn(take(grad_output, tile, "rows")))
    return totals.result()


def second(
    request: Request,
    grad_output: Tensor,
    needed: list[int],
    cotangents: list[Tensor],
    *,
    size: TileSize | None = None,
) -> Gradients:
    """The gradients of a gradient: of `grad_output`, query, key, value and the operands of the parts.

    Args:
        needed: which of (query, key, value, *operands) the first gradients are of.
        cotangents: the gradients with respect to each of those.
    """
    parts = Differentiable(request.parts)
    totals = _Gradients(request, parts)
    grad_above = torch.zeros_like(grad_output, dtype=wide_dtype(grad_output)).flatten(0, 1)
    safe = request.safe_with(grad_output)
    for tile, at in (indexed_tiles if safe else unsafe_tiles)(request, size):
        call = tile_call(request, tile, at, parts, safe=safe)

        def first(upward: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
            found = gradients([call(*inputs)], inputs, [upward], create_graph=True)  # noqa: B023 - used within the turn
            found = [*found[:3], *parts.gradients(found[3:])[0]]
            return tuple(found[i] for i in needed)  # pyright: ignore[reportReturnType]

        upward = take(grad_output, tile, "rows")
        _, vjp_fn = vjp(first, upward, *taken(request, tile), *parts.operands)
        weighed = tuple(
            take(grad, tile, "rows" if i == 0 else "keys") if i < 3 else grad
            for i, grad in zip(needed, cotangents, strict=True)
        )
        of_upward, *rest = vjp_fn(*weighed)
        grad_above[tile.groups, tile.rows] += of_upward
        totals.add(tile, rest)
    return [grad_above.unflatten(0, grad_output.shape[:2]), *totals.result()]


class _Gradients:
    """The gradients of query, key, value and the operands of the parts, accumulated tile by tile."""

    def __init__(self, request: Request, parts: Differentiable):
        self.shape, self.parts = request.query.shape[:2], parts
        wide = wide_dtype(request.query)
        three = (request.query, request.key, request.value)
        self.tensors = [torch.zeros_like(tensor, dtype=wide).flatten(0, 1) for tensor in three]
        self.operands = [torch.zeros_like(operand, dtype=wide_dtype(operand)) for operand in parts.operands]

    def add(self, tile: Tile, found: Any) -> None:
        query, key, value, *rest = found
        for total, positions, grad in zip(
            self.tensors, (tile.rows, tile.keys, tile.keys), (query, key, value), strict=True
        ):
            _add_at(total, tile.groups, positions, grad)
        for total, grad in zip(self.operands, rest, strict=True):
            total += grad

    def result(self) -> Gradients:
        return [*(total.unflatten(0, self.shape) for total in self.tensors), *self.parts.gradients(self.operands)[0]]


def tile_call(request: Request, tile: Tile, at: Index, parts: Differentiable, *, safe: bool) -> Callable[..., Tensor]:
    """The output of a tile as a function of its query, key, value and the operands that have gradients."""

    def call(query: Tensor, key: Tensor, value: Tensor, *changed: Tensor) -> Tensor:
        (given,) = parts.with_operands(*changed)
        return tile_output(dataclasses.replace(request, parts=given), tile, at, (query, key, value), safe=safe)

    return call


def _works(
    request: Request, unreduced: tuple[Tensor, Tensor], compiled_parts: CompiledParts | None, size: TileSize | None
) -> Iterator[TileWork]:
    """The work on each tile. The mask is evaluated once for all heads if it doesn't depend on the head."""
    if compiled_parts is not None:
        request = dataclasses.replace(request, parts=compiled_parts.parts(request.parts))
    drop = drop_weights if compiled_parts is None else compiled_parts.drop
    asked: tuple[Any, Any, TileMask] | None = None
    heads = max(request.query.shape[1], 1)
    found = indexed_tiles(request, size)
    # Only a mask without tensors is known to be the same in the next call.
    keeps = isinstance(found, list) and "geometry" in request.known.form
    masks = request.known.geometry if keeps else {}
    for tile, at in found:
        allowed = where = None
        items = tile.groups.start // heads, (tile.groups.stop - 1) // heads
        if not tile.full and isinstance(tile.keys, slice):
            where = "allowed", items, tile.rows.start, tile.rows.stop, tile.keys.start, tile.keys.stop
            allowed = masks.get(where)
        if not tile.full and allowed is None:
            same = tile.rows, items
            if asked is not None and asked[0] == same and _same_keys(asked[1], tile.keys):
                allowed = asked[2]
            else:
                allowed, of_all_heads = _allowed(request, tile, at)
                asked = (same, tile.keys, allowed) if of_all_heads else None
                if keeps and where is not None and (of_all_heads or len(allowed.pairs) < len(at.head)):
                    masks[where] = allowed
        yield TileWork(request, unreduced, tile, at, allowed, drop)


def _same_keys(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return torch.equal(one, other)
    return isinstance(one, slice) and one == other


def _allowed(request: Request, tile: Tile, at: Index) -> tuple[TileMask, bool]:
    """The mask of a tile, and whether it is the same for all heads of its item."""
    heads = request.query.shape[1]
    item = tile.groups.start // heads
    one_item = item == (tile.groups.stop - 1) // heads
    groups = len(at.head)
    if one_item:
        # Within one item, a mask that doesn't depend on the head is evaluated once.
        at = at.of_first_group()
        if groups == 1 and heads > 1:
            # With two heads, the shape of the result shows whether the mask depends on the head.
            at = dataclasses.replace(at, head=at.head.expand(2, -1, -1))
    allowed = allows(request.parts.mask, at)
    allowed = allowed[(None,) * (3 - allowed.ndim)]
    shared = one_item and len(allowed) == 1
    return TileMask(allowed[:groups].expand(-1, tile.rows.stop - tile.rows.start, tile.columns)), shared


def indexed_tiles(request: Request, size: TileSize | None) -> Iterable[tuple[Tile, Index]]:
    """The tiles of a request, each with the index of its pairs; a list if there are few pairs."""
    geometry, name = request.known.geometry, ("tiles", request.query.shape[1], size)
    found = geometry.get(name)
    if found is None:
        found = _indexed_tiles(request, size)
        if request.query.is_cpu and few_pairs(request.query, request.key):
            found = geometry[name] = list(found)
    return found


def _is_one_tile(request: Request, size: TileSize | None) -> bool:
    """Whether one tile holds all queries and keys, and it is known."""
    found = indexed_tiles(request, size)
    if not isinstance(found, list) or len(found) != 1:
        return False
    tile, (batch, heads, queries, _) = found[0][0], request.query.shape
    whole = slice(0, batch * heads), slice(0, queries), slice(0, request.key.shape[2])
    return (tile.groups, tile.rows, tile.keys) == whole


def _indexed_tiles(request: Request, size: TileSize | None) -> Iterator[tuple[Tile, Index]]:
    only = _only_tile(request, size)
    if only is not None:
        yield only, _index(request, only)
        return
    for tile in tiles(request.parts.mask, request.spans, request.sizes, request.query.shape[1], _size(request, size)):
        yield tile, _index(request, tile)


def _size(request: Request, size: TileSize | None) -> TileSize:
    return tile_size(request.query.device) if size is None else size


def _only_tile(request: Request, size: TileSize | None) -> Tile | None:
    """The only tile of a small request in which nothing is hidden, or None."""
    batch, heads, queries, _ = request.query.shape
    tile = single_tile(batch, heads, queries, request.key.shape[2], _size(request, size))
    return tile if tile is not None and request.hides_nothing else None


def unsafe_tiles(request: Request, size: TileSize | None) -> Iterator[tuple[Tile, Index]]:
    """The tiles of an unsafe request, for `tile_output` and `tile_weights`.

    A pair that is scored by itself takes memory for its features, or for the parameters of a head of a user's part; so
    a tile with many such pairs is divided into fewer rows.
    """
    user_parts = [part for part in (request.parts.score, request.parts.position) if isinstance(part, UserPart)]
    by_head = [t.numel() // len(t) for part in user_parts for t in operands(part) if t.ndim and len(t)]
    numbers, budget = max(request.query.shape[-1], request.key.shape[-1], 1, *by_head), _size(request, size).budget
    for tile, at in indexed_tiles(request, size):
        query, key = take(request.query, tile, "rows"), take(request.key, tile, "keys")
        allowed = allows(request.parts.mask, at).expand(len(query), query.shape[1], key.shape[1])
        single, _ = isolated_pairs(request, *fill_empty(query, key, allowed), allowed)
        if single is None or numbers * int(single.sum()) <= budget:
            yield tile, at
            continue
        few = max(1, budget // (numbers * len(query) * tile.columns))
        for first in range(tile.rows.start, tile.rows.stop, few):
            part = dataclasses.replace(tile, rows=slice(first, min(first + few, tile.rows.stop)))
            yield part, _index(request, part)


def _index(request: Request, tile: Tile) -> Index:
    device = request.query.device
    group, row = (torch.arange(part.start, part.stop, device=device) for part in (tile.groups, tile.rows))
    if isinstance(tile.keys, Tensor):
        return request.index(group, row, tile.keys.to(device))
    column = torch.arange(tile.keys.start, tile.keys.stop, device=device)
    return request.index(group, row, column, tile=(tile.rows.start, tile.keys.start))


def taken(request: Request, tile: Tile) -> tuple[Tensor, Tensor, Tensor]:
    """The tile's queries, keys and values, (group, length, size), in float32 or wider."""
    return take(request.query, tile, "rows"), take(request.key, tile, "keys"), take(request.value, tile, "keys")


def refuse_captured(request: Request) -> None:
    """Refuse a user's part that computes with a trainable tensor that isn't one of its operands.

    Recomputed tiles give gradients to operands only; a tensor captured by a closure would silently get none. To detect
    this, a few rows of the first tile are computed from detached inputs: if the result requires grad, there is one.

    Raises:
        ArgumentError: there is such a tensor, or a part that draws random numbers.
    """
    # A mask is boolean and passes no gradient, so it needs no check.
    user_parts = [
        name for name in ("score", "weights", "position") if isinstance(getattr(request.parts, name), UserPart)
    ]
    first = next(_indexed_tiles(request, TileSize(rows=MIN_ROWS)), None) if user_parts else None
    if first is None:
        return
    query, key, value = (tensor.detach() for tensor in (request.query, request.key, request.value))
    bare = Request(query, key, value, map_operands(Tensor.detach, request.parts), request.dropout, request.seed)
    names = "`, `".join(user_parts)
    refusing = refusing_random_numbers(query.device, names) if request.differentiable else nullcontext()
    with torch.enable_grad(), refusing:
        result = tile_output(bare, *first, taken(bare, first[0]), safe=False)
    if result.requires_grad:
        raise ArgumentError(
            f"`{names}` computes with a tensor that requires grad but that it doesn't declare, so the tensor would get "
            "no gradient. Make the part a frozen dataclass with the tensor as a field, or give the module that owns it "
            "a method part() that returns such a dataclass (see docs/how-to/own-parts.md)."
        )


@contextmanager
def refusing_random_numbers(device: torch.device, names: str) -> Iterator[None]:
    """Refuse parts that draw random numbers in this block, if they are computed again for a derivative.

    Raises:
        ArgumentError: numbers were drawn.
    """
    before = _random_states(device)
    yield
    if not all(map(torch.equal, before, _random_states(device))):
        raise ArgumentError(
            f"`{names}` of your own draws random numbers, but is computed again for the gradient, with other numbers. "
            "Use dropout of attend, or draw before and make what was drawn a field of a frozen dataclass."
        )


def _random_states(device: torch.device) -> list[Tensor]:
    """The states of the generators that a part may draw from: the CPU's and the device's own."""
    states = [torch.get_rng_state()]
    # While a CUDA graph is captured, the state of its generator can't be read.
    if device.type == "cuda" and not torch.cuda.is_current_stream_capturing():
        states.append(torch.cuda.get_rng_state(device))
    return states
