"""Forward mode: how the output changes as the inputs move, tile by tile, in linear memory.

Where a score is an inner product, the tangents of scores and weights are written out: the Jacobian of every normaliser
here is symmetric, so its product with a vector is that of the backward pass. Elsewhere autograd differentiates a tile's
gradient, which is linear in what comes from above.

Source: Lu et al. 2025, sCM (arXiv 2410.11081), appendix F, for softmax.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.attention.engines.blocked import indexed_tiles, taken, tile_call, unsafe_tiles, walk
from regard.attention.engines.blocked.tile import take
from regard.attention.engines.blocked.tiles import Tile, TileSize
from regard.attention.gradients.vjp import jvp
from regard.attention.masks import allows
from regard.attention.parts import Differentiable, declares, is_builtin, optional_method
from regard.attention.positions import Both, Position
from regard.attention.request import Request
from regard.attention.sizes import Index
from regard.attention.user_parts import unwrapped

__all__ = ["tangent"]


def tangent(request: Request, tangents: Sequence[Tensor | None], *, size: TileSize | None = None) -> Tensor:
    """The tangent of the output, (batch, head, query, value), with that of the log-sums if they are asked for.

    Args:
        request: with heads equal.
        tangents: of query, key, value and the operands of the parts; None for what doesn't move.
    """
    given = [
        torch.zeros_like(tensor) if each is None else each
        for each, tensor in zip(tangents, (request.query, request.key, request.value), strict=False)
    ]
    finite = None
    # A sum is finite only if all its terms are; where it overflows, the terms are looked at.
    if not torch.isfinite(torch.stack([each.sum() for each in given]).sum()):
        finite = [torch.isfinite(each).all(-1, keepdim=True) for each in given]
        given = [torch.where(vectors, each, 0.0) for vectors, each in zip(finite, given, strict=True)]
    batch, heads, queries, _ = request.query.shape
    width = request.value.shape[-1] + request.parts.log_sums
    output = request.query.new_zeros(batch * heads, queries, width, dtype=request.result_dtype)
    if request.safe and not any(each is not None for each in tangents[3:]) and _is_written_out(request):
        found = _written_out(request, given, size)
    else:
        found = _by_autograd(request, given, tangents[3:], size)
    for tile, of_rows in found:
        output[tile.groups, tile.rows] = of_rows.to(output.dtype)
    # A tangent that isn't finite shows where it is seen, and only there.
    if finite is not None:
        for tile, at in unsafe_tiles(request, size):
            output[tile.groups, tile.rows] += _lost(request, tile, at, finite)
    return output.unflatten(0, (batch, heads))


def _is_written_out(request: Request) -> bool:
    parts = request.parts
    return (
        declares(type(parts.score), "inner_product")
        and is_builtin(type(unwrapped(parts.weights)))
        and optional_method(parts.weights, "vjp") is not None
        and not parts.log_sums
        and _adds_constants(unwrapped(parts.position))
    )


def _adds_constants(position: Position) -> bool:
    """Whether a position scheme changes query and key alone, or adds to the scores what depends on neither."""
    kind = type(position)
    if kind is Both:
        return _adds_constants(position.first) and _adds_constants(position.second)  # pyright: ignore
    if not is_builtin(kind):
        return False
    return not position.acts_in_tiles or optional_method(position, "adds_constants", "scores") is True


def _written_out(request: Request, tangents: Sequence[Tensor], size: TileSize | None) -> Any:
    """The tangents of the tiles' rows, for scores that are an inner product once query and key are reduced."""

    def reduce(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        reduced, _ = Request(query, key, request.value, request.parts, request.dropout, request.seed).reduced()
        return reduced.query, reduced.key

    query, key = reduce(request.query, request.key)
    of_query, of_key = jvp(reduce, (request.query, request.key), tangents[:2])
    queries, keys = torch.cat((of_query, query), -1), torch.cat((key, of_key), -1)
    for work in walk(request, size=size):
        tile = work.tile
        moving = take(queries, tile, "rows"), take(keys, tile, "keys")
        yield tile, work.tangent(*moving, take(tangents[2], tile, "keys"))


def _by_autograd(
    request: Request, tangents: Sequence[Tensor], of_operands: Sequence[Tensor | None], size: TileSize | None
) -> Any:
    """The tangents of the tiles' rows, for any parts that are differentiable twice."""
    parts = Differentiable(request.parts)
    moved = parts.of_operands(of_operands)
    for tile, at in (indexed_tiles if request.safe else unsafe_tiles)(request, size):
        call = tile_call(request, tile, at, parts, safe=request.safe)
        directions = (take(tangents[0], tile, "rows"), *(take(each, tile, "keys") for each in tangents[1:]))
        (of_rows,) = jvp(
            lambda *inputs, call=call: (call(*inputs),),
            (*taken(request, tile), *parts.operands),
            (*directions, *moved),
        )
        yield tile, of_rows


def _lost(request: Request, tile: Tile, at: Index, finite: Sequence[Tensor]) -> Tensor:
    """NaN for the rows of a tile that see a tangent that isn't finite, 0 for others, (group, row, 1)."""
    query, key, value = (
        take(each, tile, which).bool() for each, which in zip(finite, ("rows", "keys", "keys"), strict=True)
    )
    lost = ~query | ~(key & value).mT
    if not tile.full:
        lost = lost & allows(request.parts.mask, at)
    return torch.where(lost.any(-1, keepdim=True), torch.nan, 0.0)
