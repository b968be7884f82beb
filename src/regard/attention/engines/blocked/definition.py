"""One tile as one differentiable function of its inputs, with no work done ahead: for what must not be hurried.

Where NaN or infinity stands behind a mask, nothing of it may enter a product; and the gradient of a gradient wants a
function that autograd can take twice.
"""

import math

import torch
from torch import Tensor

from regard.attention.dropout import keep_scale
from regard.attention.engines.blocked.tiles import Tile
from regard.attention.foreign import applied, check_heads
from regard.attention.frames import Index
from regard.attention.masks import allows
from regard.attention.parts import select
from regard.attention.request import Request

__all__ = ["tile_output", "tile_weights"]


def tile_output(
    request: Request, tile: Tile, at: Index, query: Tensor, key: Tensor, value: Tensor, *, safe: bool
) -> Tensor:
    """The output of one tile, (group, row, value). `safe`: nothing in it is NaN, infinite or hidden."""
    weights, allowed = tile_weights(request, tile, at, query, key, safe=safe)
    broken = None
    if not safe:
        broken = ~torch.isfinite(value)
        value = value.masked_fill(broken, 0.0)
    if request.dropout:
        weights = weights * keep_scale(at, request.dropout, request.seed).to(weights.dtype)
    output = weights @ value
    if broken is not None:
        seen = torch.ones_like(weights) if allowed is None else allowed.to(weights.dtype)
        output = output.masked_fill(seen @ broken.to(weights.dtype) > 0, math.nan)
    position = select(request.parts.position, at.head.flatten())
    output = applied("position's outputs", position, position.outputs, output, weights, extra=(at,), like=output)
    # A row that may see nothing is zeros, and takes no gradient, whatever comes from above.
    return output if allowed is None else torch.where(allowed.any(-1, keepdim=True), output, 0.0)


def tile_weights(
    request: Request, tile: Tile, at: Index, query: Tensor, key: Tensor, *, safe: bool
) -> tuple[Tensor, Tensor | None]:
    """The weights of one tile before dropout, (group, row, column), 0 where hidden; and which pairs are allowed.

    Args:
        request: not reduced.
        query, key: the tile's own, wide.
        safe: nothing in it is NaN, infinite or hidden.
    """
    parts = request.parts
    heads = at.head.flatten()
    score, weigh, position = (select(part, heads) for part in (parts.score, parts.weights, parts.position))
    allowed = None
    if not tile.full:
        allowed = allows(parts.mask, at).expand(len(query), query.shape[1], key.shape[1])
        # What stands beside no allowed pair is padding, often zeros, where a score may have no derivative.
        query = torch.where(allowed.any(2).unsqueeze(-1), query, 1.0)
        key = torch.where(allowed.any(1).unsqueeze(-1), key, 1.0)
    broken = None
    if not safe:
        # A product of a whole tile multiplies hidden entries by 0, and 0 x NaN is NaN: nothing that is not finite may
        # enter it. It is put back, as NaN, only where it may be seen.
        broken_query, broken_key = ~torch.isfinite(query).all(-1), ~torch.isfinite(key).all(-1)
        broken = broken_query.unsqueeze(2) | broken_key.unsqueeze(1)
        query = query.masked_fill(broken_query.unsqueeze(-1), 0.0)
        key = key.masked_fill(broken_key.unsqueeze(-1), 0.0)
    turned = position.heads(query, key, at.place.squeeze(2), at.key.squeeze(1))
    query, key = check_heads(position, turned, query, key)
    scores = applied("score", score, score, query, key, like=None)
    scores = applied("position's scores", position, position.scores, scores, query, key, extra=(at,), like=scores)
    if broken is not None:
        scores = scores.masked_fill(broken, math.nan)
    if allowed is not None:
        scores = torch.where(allowed, scores, -torch.inf)
    weights = applied("weights", weigh, weigh, scores, extra=(allowed,), like=scores)
    return weights if allowed is None else torch.where(allowed, weights, 0.0), allowed
