"""The reference implementation of one tile, as a differentiable function of its inputs without any preparation.

It is used where a hidden value or the incoming gradient is NaN, infinite or huge, so that no product may run over
hidden pairs; and for the gradient of a gradient, which needs a function that autograd can differentiate twice.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from regard.attention.dropout import keep_scale
from regard.attention.engines.blocked.tiles import Tile
from regard.attention.log_sums import joined
from regard.attention.masks import allows
from regard.attention.pairs.masked_matmul import masked_matmul
from regard.attention.parts import select
from regard.attention.request import Request
from regard.attention.sizes import Index

__all__ = ["fill_empty", "isolated_pairs", "tile_output", "tile_weights"]


def tile_output(request: Request, tile: Tile, at: Index, three: tuple[Tensor, Tensor, Tensor], *, safe: bool) -> Tensor:
    """The output of one tile, (group, row, value), with its log-sums if they are asked for.

    Args:
        three: the tile's queries, keys and values, in float32 or wider.
        safe: nothing is hidden, or everything is finite and small.
    """
    query, key, value = three
    scores, allowed, empty = _scores_and_empty_rows(request, tile, at, query, key, safe=safe)
    normaliser = select(request.parts.weights, at.head.flatten())
    weights = _normalised(normaliser, scores, allowed, empty)
    if request.dropout:
        weights = weights * keep_scale(at, request.dropout, request.seed, weights.dtype)
    output = weights @ value if safe or allowed is None else masked_matmul(weights, value, allowed & ~empty)
    position = select(request.parts.position, at.head.flatten())
    # Rows without a score are zero and pass no gradient, even if the incoming one is NaN.
    output = torch.where(empty, 0.0, position.outputs(output, weights, at))
    if not request.parts.log_sums:
        return output
    return joined(output, torch.where(empty.squeeze(-1), -torch.inf, normaliser.log_sums(scores)))


def tile_weights(
    request: Request, tile: Tile, at: Index, query: Tensor, key: Tensor, *, safe: bool
) -> tuple[Tensor, Tensor | None]:
    """The weights of one tile before dropout, (group, row, column), 0 where hidden; and which pairs are allowed.

    Args:
        request: not reduced.
        query, key: the tile's rows and keys, in float32 or wider.
        safe: nothing is hidden, or everything is finite and small.
    """
    scores, allowed, empty = _scores_and_empty_rows(request, tile, at, query, key, safe=safe)
    return _normalised(select(request.parts.weights, at.head.flatten()), scores, allowed, empty), allowed


def _scores_and_empty_rows(
    request: Request, tile: Tile, at: Index, query: Tensor, key: Tensor, *, safe: bool
) -> tuple[Tensor, Tensor | None, Tensor]:
    """The scores of one tile, which pairs are allowed, and which rows lack a score, (group, row, 1).

    Hidden scores are minus infinity, and those of a row whose allowed scores are all minus infinity are 0.
    """
    parts = request.parts
    allowed = None
    if not tile.full:
        allowed = allows(parts.mask, at).expand(len(query), query.shape[1], key.shape[1])
        query, key = fill_empty(query, key, allowed)
    heads = at.head.flatten()
    scores = (
        _scores(request, query, key, at, heads) if safe else _isolated_scores(request, query, key, at, heads, allowed)
    )
    if allowed is not None:
        scores = torch.where(allowed, scores, -torch.inf)
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    return torch.where(empty, 0.0, scores), allowed, empty


def _normalised(normaliser: Any, scores: Tensor, allowed: Tensor | None, empty: Tensor) -> Tensor:
    """The weights, 0 where hidden and in rows without a score."""
    weights = normaliser(scores, allowed)
    shown = ~empty if allowed is None else allowed & ~empty
    return torch.where(shown, weights, 0.0)


def fill_empty(query: Tensor, key: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """A tile's queries and keys, with ones where all pairs are hidden: padding is often zeros, without a derivative."""
    return (
        torch.where(allowed.any(2).unsqueeze(-1), query, 1.0),
        torch.where(allowed.any(1).unsqueeze(-1), key, 1.0),
    )


def isolated_pairs(
    request: Request, query: Tensor, key: Tensor, allowed: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    """The pairs that a tile's product must leave out, (group, row, column): those to score singly, and those of NaN.

    These pairs are allowed, but in a product that includes hidden pairs their values would reach rows that don't see
    them: NaN, infinity, and numbers so large that a product of two overflows. The package's own scores of NaN are NaN
    and need not be computed; a diverged model has many such pairs.

    Args:
        query, key: after `fill_empty`.
    """
    rows, columns = _may_overflow(query), _may_overflow(key)
    if not (rows.any() or columns.any()):
        return None, None
    overflowing = rows.unsqueeze(2) | columns.unsqueeze(1)
    overflowing = overflowing if allowed is None else overflowing & allowed
    if request.parts.user_scores:
        return overflowing, None
    lost = torch.isnan(query).any(-1).unsqueeze(2) | torch.isnan(key).any(-1).unsqueeze(1)
    return overflowing & ~lost, overflowing & lost


def _scores(request: Request, query: Tensor, key: Tensor, at: Index, heads: Tensor) -> Tensor:
    score, position = select(request.parts.score, heads), select(request.parts.position, heads)
    query, key = position.heads(query, key, at.position.squeeze(2), at.key.squeeze(1))
    return position.scores(score(query, key), query, key, at)


def _isolated_scores(
    request: Request, query: Tensor, key: Tensor, at: Index, heads: Tensor, allowed: Tensor | None
) -> Tensor:
    """The scores, of which none depends on the values of another pair; those of hidden pairs are undefined."""
    single, lost = isolated_pairs(request, query, key, allowed)
    if single is None:
        return _scores(request, query, key, at, heads)
    filled = (
        torch.where(_may_overflow(query).unsqueeze(-1), 1.0, query),
        torch.where(_may_overflow(key).unsqueeze(-1), 1.0, key),
    )
    scores = _scores(request, *filled, at, heads)
    if lost is not None:
        # The inner `where` keeps the gradient of the other pairs from becoming 0 x NaN.
        scores = torch.where(lost, torch.where(lost, scores, 0.0) * math.nan, scores)
    for which, chosen in _single_pairs(single, heads, broadcasts=not request.parts.user_scores):
        group, row, column = which
        # (pair 1 feature): one query and one key to a tile.
        alone = query[group, row].unsqueeze(1), key[group, column].unsqueeze(1)
        scores = scores.index_put(which, _scores(request, *alone, at.pairs(*which), chosen).flatten())
    return scores


def _single_pairs(single: Tensor, heads: Tensor, *, broadcasts: bool) -> Iterator[tuple[tuple[Tensor, ...], Tensor]]:
    """The pairs to score singly, and the heads whose parameters they use: one for each pair, or one for all.

    The package's own parts broadcast a head's parameters, so that they needn't be copied for each pair.
    """
    which = single.nonzero(as_tuple=True)
    if not broadcasts:
        yield which, heads[which[0]]
        return
    # `nonzero` sorts by group.
    for pairs in zip(*(axis.split(single.flatten(1).sum(1).tolist()) for axis in which), strict=True):
        if len(pairs[0]):
            yield pairs, heads[pairs[0][:1]]


def _may_overflow(vectors: Tensor) -> Tensor:
    """Which vectors (..., size) aren't finite, or are so large that a product of two overflows."""
    return ~(torch.linalg.vector_norm(vectors.detach(), dim=-1) <= torch.finfo(vectors.dtype).max ** 0.5)
