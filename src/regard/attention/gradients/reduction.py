"""The gradients of a request from those of its reduced form: backward through what is done once, before the tiles."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.attention.gradients.vjp import added, vjp
from regard.attention.parts import Differentiable, declares, flatten_part, operands, optional_method, unflatten_part
from regard.attention.request import Request

__all__ = ["Gradients", "ReducedGradients", "vjp_through_reduction", "without_idle"]

Gradients = list[Tensor | None]


class ReducedGradients(NamedTuple):
    """The gradients of a reduced request, (batch, head, length, size), and of the operands of its parts.

    `unreduced_query` and `unreduced_key` are None if the position's scores don't use them, or use query and key.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    unreduced_query: Tensor | None
    unreduced_key: Tensor | None
    score: Gradients
    weights: Gradients
    position: Gradients


def vjp_through_reduction(
    request: Request,
    compute: Callable[[Request, tuple[Tensor, Tensor]], ReducedGradients],
    *,
    hides: bool = False,
) -> Gradients:
    """The gradients of query, key, value and the operands of the parts.

    Args:
        request: with heads equal, unless `compute` takes others.
        compute: maps the reduced request, and query and key as the position's scores see them, to the gradients.
        hides: whether queries and keys that are hidden from all may hold anything, so that their gradient is zero.
    """
    parts = request.parts
    if 0 in (request.query.shape[2], request.key.shape[2]):
        # Nothing is attended to. A gradient of 0 through the reduction would become NaN if the queries hold NaN.
        three = map(torch.zeros_like, (request.query, request.key, request.value))
        return [*three, *[None] * len(operands(parts))]
    of_mask: Gradients = [None] * len(operands(parts.mask))
    query, key = request.positioned()
    reduce_vjp = optional_method(parts.score, "reduce_vjp", "reduce")
    is_unmoved = query is request.query and key is request.key
    if is_unmoved and (reduce_vjp is not None or optional_method(parts.score, "reduce") is None):
        found = compute(*request.reduced())
        of_query, of_key, of_score = found.query, found.key, found.score
        if reduce_vjp is not None:
            of_query, of_key, *of_score = reduce_vjp(of_query, of_key, *of_score)
        if found.unreduced_query is not None or found.unreduced_key is not None:
            of_query, of_key = added(of_query, found.unreduced_query), added(of_key, found.unreduced_key)
        return [of_query, of_key, found.value, *of_score, *found.weights, *of_mask, *found.position]

    depends_on = Differentiable(parts.score, parts.position)
    specs: list[Any] = []

    def reduce(query: Tensor, key: Tensor, *changed: Tensor) -> tuple[Tensor, ...]:
        score, position = depends_on.with_operands(*changed)
        given = dataclasses.replace(parts, score=score, position=position)
        reduced, unreduced = dataclasses.replace(request, query=query, key=key, parts=given).reduced()
        spec, score_operands = flatten_part(reduced.parts.score)
        specs.append(spec)
        return reduced.query, reduced.key, *unreduced, *score_operands

    results, vjp_fn = vjp(reduce, request.query, request.key, *depends_on.operands)
    query, key, *unreduced = results[:4]
    # `vjp` detached the results: restore which of them are the same tensor.
    unreduced = query if _same(unreduced[0], query) else unreduced[0], key if _same(unreduced[1], key) else unreduced[1]
    reduced = dataclasses.replace(parts, score=unflatten_part(specs[0], results[4:]))
    found = compute(dataclasses.replace(request, query=query, key=key, parts=reduced), unreduced)
    cotangents = (found.query, found.key, found.unreduced_query, found.unreduced_key, *found.score)
    # What a rotation alone does is linear in the vectors.
    if hides and not declares(type(parts.score), "keeps_vectors"):
        query = without_idle(request.query, found.query, found.unreduced_query)
        key = without_idle(request.key, found.key, found.unreduced_key)
        results, vjp_fn = vjp(reduce, query, key, *depends_on.operands)
    of_query, of_key, *rest = vjp_fn(
        *(torch.zeros_like(r) if g is None else g.to(r.dtype) for r, g in zip(results, cotangents, strict=True))
    )
    of_score, of_position = depends_on.gradients(rest)
    of_position = [added(*each) for each in zip(of_position, found.position, strict=True)]
    return [of_query, of_key, found.value, *of_score, *found.weights, *of_mask, *of_position]


def without_idle(vectors: Tensor, *gradients: Tensor | None) -> Tensor:
    """The vectors (..., size), with zeros instead of those that got no gradient and whose products may overflow.

    Otherwise, their share in the gradients of what they are multiplied by would be NaN instead of zero.
    """
    idle = ~(vectors.detach().abs() < torch.finfo(vectors.dtype).max ** 0.25).all(-1, keepdim=True)
    for gradient in gradients:
        if gradient is not None:
            idle = idle & (gradient == 0).all(-1, keepdim=True)
    return torch.where(idle, 0.0, vectors)


def _same(one: Tensor, other: Tensor) -> bool:
    return one is other or (one.data_ptr() == other.data_ptr() and one.shape == other.shape and one.numel() > 0)
