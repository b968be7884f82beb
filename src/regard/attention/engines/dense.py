"""The definition: every score, every weight, then the weighted sum. Quadratic memory; the oracle of every other engine.

Written to be read. No other engine may import it.
"""

import torch
from torch import Tensor

from regard.attention.dropout import keep_scale
from regard.attention.frames import Index
from regard.attention.precision import wide_dtype
from regard.attention.request import Request

__all__ = ["refuse", "run", "weigh"]


def refuse(request: Request) -> str | None:
    """The definition refuses nothing; but `auto` never chooses it, since it takes quadratic memory."""
    return None


def run(request: Request) -> Tensor:
    """The output, (batch, head, query, value)."""
    # Position hooks and parts see (group, query, feature): one group for each head of each item.
    weights = weigh(request).flatten(0, 1)
    value = _wide(request.value).flatten(0, 1)
    at = _grouped(request)
    if request.dropout:
        weights = weights * keep_scale(at, request.dropout, request.seed).to(weights.dtype)
    if request.finite or request.hides_nothing:
        output = weights @ value
    else:
        # Pair by pair: what a hidden pair would add is never computed with.
        allowed = request.parts.mask.allows(at).expand(weights.shape).unsqueeze(-1)
        hidden = value.new_zeros(())
        output = (weights.unsqueeze(-1) * torch.where(allowed, value.unsqueeze(1), hidden)).sum(2)
    output = request.parts.position.outputs(output, weights, at)
    seen = request.parts.mask.allows(at).expand(weights.shape).any(-1, keepdim=True)
    output = torch.where(seen, output, 0.0)
    return output.unflatten(0, request.query.shape[:2]).to(request.query.dtype)


def weigh(request: Request) -> Tensor:
    """The weights, (batch, head, query, key), in float32 or wider."""
    query, key = _wide(request.query).flatten(0, 1), _wide(request.key).flatten(0, 1)
    at = _grouped(request)
    shape = (len(query), query.shape[1], key.shape[1])
    allowed = request.parts.mask.allows(at).expand(shape)
    # What stands beside no allowed pair is padding, often zeros, where a score may have no derivative: ones are tamer.
    query = torch.where(allowed.any(2).unsqueeze(-1), query, 1.0)
    key = torch.where(allowed.any(1).unsqueeze(-1), key, 1.0)
    if request.finite or request.hides_nothing:
        query, key = request.parts.position.heads(query, key, at)
        scores = request.parts.score(query, key)
        scores = request.parts.position.scores(scores, query, key, at)
    else:
        scores = _scores_by_pair(request, query, key, allowed)
    scores = torch.where(allowed, scores, -torch.inf)
    weights = torch.where(allowed, request.parts.weights(scores, allowed), 0.0)
    return weights.unflatten(0, request.query.shape[:2])


def _scores_by_pair(request: Request, query: Tensor, key: Tensor, allowed: Tensor) -> Tensor:
    """Each pair scored alone, a hidden one as a pair of zero vectors: whatever it holds can't reach anything."""
    groups, rows, columns = allowed.shape
    heads = request.query.shape[1]
    zero = query.new_zeros(())
    shown = allowed.unsqueeze(-1)
    # (group query key feature) -> (pair 1 feature): one query and one key to a tile.
    pairs = groups * rows * columns
    queries = torch.where(shown, query.unsqueeze(2), zero).reshape(pairs, 1, query.shape[-1])
    keys = torch.where(shown, key.unsqueeze(1), zero).reshape(pairs, 1, key.shape[-1])
    group, row, column = torch.meshgrid(
        *(torch.arange(size, device=query.device) for size in (groups, rows, columns)), indexing="ij"
    )
    at = request.frame.index(*(axis.reshape(-1, 1, 1) for axis in (group // heads, group % heads, row, column)))
    queries, keys = request.parts.position.heads(queries, keys, at)
    scores = request.parts.position.scores(request.parts.score(queries, keys), queries, keys, at)
    return scores.reshape(groups, rows, columns)


def _grouped(request: Request) -> Index:
    """The index of all pairs, (group, query, key)."""
    batch, heads, rows = request.query.shape[:3]
    device = request.query.device
    group = torch.arange(batch * heads, device=device).view(-1, 1, 1)
    row = torch.arange(rows, device=device).view(1, -1, 1)
    column = torch.arange(request.key.shape[2], device=device).view(1, 1, -1)
    return request.frame.index(group // max(heads, 1), group % max(heads, 1), row, column)


def _wide(tensor: Tensor) -> Tensor:
    return tensor.to(wide_dtype(tensor))
