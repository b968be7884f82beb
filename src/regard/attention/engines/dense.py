"""The reference implementation, in quadratic memory, which all engines must equal: scores, weights, weighted sum.

Written to be read. No other engine may import it.
"""

from typing import Any

import torch
from torch import Tensor

from regard.attention.costs import CALL, TILE, Cost, bytes_of_output, bytes_per_pair, features, seconds_per_pair
from regard.attention.dropout import keep_scale
from regard.attention.log_sums import joined
from regard.attention.masks import Dense, allows
from regard.attention.pairs.masked_matmul import masked_matmul
from regard.attention.parts import operands, select
from regard.attention.precision import wide_dtype
from regard.attention.request import Request
from regard.attention.sizes import Index

__all__ = ["ONLY_BY_NAME", "cost", "refuse", "run", "seconds", "weigh"]

ONLY_BY_NAME = "it takes quadratic memory, so it runs only when asked for by name"  # why `auto` doesn't take it


def refuse(request: Request) -> str | None:
    """The reference implementation refuses nothing; `auto` never chooses it, since it takes quadratic memory."""
    return None


def seconds(request: Request) -> float:
    """The estimated time on the machine that the speeds are from."""
    return CALL + TILE + _count(request) * seconds_per_pair(request, compiled=False)


def cost(request: Request) -> Cost:
    """The cost: that of all pairs at once."""
    memory = _count(request) * bytes_per_pair(request, compiled=False) + bytes_of_output(request)
    return Cost(2 * _count(request) * features(request), memory, {"skipped": 0, "partial": 0, "full": 0})


def _count(request: Request) -> int:
    """How many pairs of query and key there are."""
    return request.query.shape[:3].numel() * request.key.shape[2]


def run(request: Request, rows: Tensor | None = None) -> Tensor:
    """The output, (batch, head, query, value), of all queries or of those with the numbers `rows`."""
    request = request.expanded
    if not request.key.shape[2]:
        # There are no keys.
        queries = request.query.shape[2] if rows is None else len(rows)
        output = request.query.new_zeros(*request.query.shape[:2], queries, request.value.shape[3])
        if request.parts.log_sums:
            output = joined(output, output.new_full(output.shape[:3], -torch.inf, dtype=wide_dtype(output)))
        return _with_gradients(output, request)
    # Parts take (group, query, feature): a group is one head of one item.
    scores, allowed, empty = _scores_and_empty_rows(request, rows)
    weights = _normalised(request, scores, allowed, empty)
    value = _wide(request.value).flatten(0, 1)
    at = _pairs(request, rows)
    if request.dropout:
        weights = weights * keep_scale(at, request.dropout, request.seed, weights.dtype)
    output = weights @ value if request.hides_nothing else masked_matmul(weights, value, allowed & ~empty)
    position = select(request.parts.position, at.head.flatten())
    output = torch.where(empty, 0.0, position.outputs(output, weights, at))
    if request.parts.log_sums:
        log_sums = _normaliser(request).log_sums(scores)
        output = joined(output, torch.where(empty.squeeze(-1), -torch.inf, log_sums))
    return _with_gradients(output.unflatten(0, request.query.shape[:2]).to(request.result_dtype), request)


def _with_gradients(output: Tensor, request: Request) -> Tensor:
    """The output, also connected to tensors that it doesn't depend on, so that autograd gives them gradients of 0."""
    if not request.differentiable:
        return output
    tensors = (request.query, request.key, request.value, *operands(request.parts))
    return output + sum(tensor.flatten()[:0].sum() for tensor in tensors if tensor.requires_grad)


def weigh(request: Request, rows: Tensor | None = None) -> Tensor:
    """The weights, (batch, head, query, key), in float32 or wider, of all queries or of the numbers `rows`."""
    request = request.expanded
    return _normalised(request, *_scores_and_empty_rows(request, rows)).unflatten(0, request.query.shape[:2])


def _scores_and_empty_rows(request: Request, rows: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """The scores and which pairs are allowed, (group, query, key), and which rows have no score, (group, query, 1).

    Hidden scores are minus infinity. A row has no score if it sees no key, or if the scores of all keys that it sees
    are minus infinity; all of its scores are then 0.
    """
    query, key = _wide(request.query).flatten(0, 1), _wide(request.key).flatten(0, 1)
    query = query if rows is None else query[:, rows]
    at = _pairs(request, rows)
    shape = (query.shape[0], query.shape[1], key.shape[1])
    if 0 in shape:
        of_nothing = query.new_zeros(shape)
        return of_nothing, of_nothing.bool(), query.new_ones(*shape[:2], 1, dtype=torch.bool)
    allowed = allows(request.parts.mask, at).expand(shape)
    if _has_no_mask(request):
        scores = _scores(request, query, key, at)
    else:
        # Padding, beside which no pair is allowed, is often zeros, where a score may have no derivative: use ones.
        query = torch.where(allowed.any(2).unsqueeze(-1), query, 1.0)
        key = torch.where(allowed.any(1).unsqueeze(-1), key, 1.0)
        by_pair = not request.safe
        scores = _scores_by_pair(request, query, key, allowed, rows) if by_pair else _scores(request, query, key, at)
        scores = torch.where(allowed, scores, -torch.inf)
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    return torch.where(empty, 0.0, scores), allowed, empty


def _normalised(request: Request, scores: Tensor, allowed: Tensor, empty: Tensor) -> Tensor:
    """The weights, (group, query, key), of what `_scores_and_empty_rows` gives; 0 where hidden."""
    if not scores.numel():
        return scores
    return torch.where(allowed & ~empty, _normaliser(request)(scores, allowed), 0.0)


def _normaliser(request: Request) -> Any:
    """The normaliser with the parameters of each group's head."""
    batch, heads = request.query.shape[:2]
    return select(request.parts.weights, torch.arange(heads, device=request.query.device).repeat(batch))


def _has_no_mask(request: Request) -> bool:
    """Whether no pair needs hiding: for a few queries, hiding takes longer than the rest.

    Only the absence of a mask counts. What a mask says of itself (`hides_nothing`) is checked against this engine.
    """
    return type(request.parts.mask) is Dense


def _scores(request: Request, query: Tensor, key: Tensor, at: Index) -> Tensor:
    heads = at.head.flatten()
    score, position = select(request.parts.score, heads), select(request.parts.position, heads)
    query, key = position.heads(query, key, at.position.squeeze(2), at.key.squeeze(1))
    return position.scores(score(query, key), query, key, at)


def _scores_by_pair(request: Request, query: Tensor, key: Tensor, allowed: Tensor, selected: Tensor | None) -> Tensor:
    """Each pair scored alone, and a hidden one as a pair of zero vectors, so that its values have no influence."""
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
    row = row if selected is None else selected[row]
    at = request.sizes.index(
        *(axis.reshape(-1, 1, 1) for axis in (group // heads, group % heads, row, column)), tile=None
    )
    return _scores(request, queries, keys, at).reshape(groups, rows, columns)


def _pairs(request: Request, rows: Tensor | None) -> Index:
    """The index of all pairs of these queries, (group, query, key)."""
    sizes = request.query.shape[0] * request.query.shape[1], request.query.shape[2], request.key.shape[2]
    groups, queries, keys = (torch.arange(size, device=request.query.device) for size in sizes)
    return request.index(groups, queries if rows is None else rows, keys)


def _wide(tensor: Tensor) -> Tensor:
    return tensor.to(wide_dtype(tensor))
