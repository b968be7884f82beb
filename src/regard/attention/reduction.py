"""The gradients of a request from those of its reduced form: backward through what is done once, before the tiles."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.attention.parts import flatten_part, operands, optional_method, unflatten_part
from regard.attention.request import Request
from regard.attention.vjp import vjp

__all__ = ["Gradients", "ReducedGradients", "vjp_through_reduction"]

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
    request: Request, compute: Callable[[Request, tuple[Tensor, Tensor]], ReducedGradients]
) -> Gradients:
    """The gradients of query, key, value and the operands of the parts.

    Args:
        request: with heads equal.
        compute: maps the reduced request, and query and key as the position's scores see them, to the gradients.
    """
    spec, tensors = flatten_part(request.parts)
    if 0 in (request.query.shape[2], request.key.shape[2]):
        # Nothing is attended to. A gradient of 0 through the reduction would become NaN if the queries hold NaN.
        return [*map(torch.zeros_like, (request.query, request.key, request.value)), *[None] * len(tensors)]
    of_score, of_position = len(operands(request.parts.score)), len(operands(request.parts.position))
    position = slice(len(tensors) - of_position, len(tensors))
    weights = slice(of_score, of_score + len(operands(request.parts.weights)))
    grads: Gradients = [None] * len(tensors)
    has_changed = any(a is not b for a, b in zip(request.positioned(), (request.query, request.key), strict=True))
    if optional_method(request.parts.score, "reduce") is None and not has_changed:
        found = compute(request, (request.query, request.key))
        grads[:of_score], grads[weights], grads[position] = found.score, found.weights, found.position
        return [found.query, found.key, found.value, *grads]

    # What the reduction depends on; integers have no gradient.
    differentiable = [
        i for i in (*range(of_score), *range(position.start, len(tensors))) if tensors[i].is_floating_point()
    ]
    stashed: dict[str, Any] = {}

    def reduce(query: Tensor, key: Tensor, *changed: Tensor) -> tuple[Tensor, ...]:
        filled = list(tensors)
        for i, operand in zip(differentiable, changed, strict=True):
            filled[i] = operand
        parts = unflatten_part(spec, tuple(filled))
        reduced, unreduced = dataclasses.replace(request, query=query, key=key, parts=parts).reduced()
        stashed["score"], score_operands = flatten_part(reduced.parts.score)
        return reduced.query, reduced.key, *unreduced, *score_operands

    results, vjp_fn = vjp(reduce, request.query, request.key, *(tensors[i] for i in differentiable))
    query, key, *unreduced = results[:4]
    score = unflatten_part(stashed["score"], results[4:])
    # `vjp` detached the results: restore which of them are the same tensor.
    unreduced = query if _same(unreduced[0], query) else unreduced[0], key if _same(unreduced[1], key) else unreduced[1]
    parts = dataclasses.replace(request.parts, score=score)
    found = compute(dataclasses.replace(request, query=query, key=key, parts=parts, _cache=request._cache), unreduced)
    cotangents = (found.query, found.key, found.unreduced_query, found.unreduced_key, *found.score)
    input_grads = vjp_fn(
        *(torch.zeros_like(r) if g is None else g.to(r.dtype) for r, g in zip(results, cotangents, strict=True))
    )
    grads[weights], grads[position] = found.weights, found.position
    for i, grad in zip(differentiable, input_grads[2:], strict=True):
        own = grads[i]
        grads[i] = grad if own is None else own + grad
    return [input_grads[0], input_grads[1], found.value, *grads]


def _same(one: Tensor, other: Tensor) -> bool:
    return one is other or (one.data_ptr() == other.data_ptr() and one.shape == other.shape and one.numel() > 0)
