"""The gradient of a request from that of its reduced form: back through what was done once, before the tiles."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.attention.parts import join, offer, operands, split
from regard.attention.request import Request
from regard.attention.vjp import vjp

__all__ = ["Gradients", "ReducedGradients", "pull_through_reduction"]

Gradients = list[Tensor | None]


class ReducedGradients(NamedTuple):
    """The gradients of a reduced request, (batch, head, length, size), and of the operands of its parts.

    Those of `plain_query` and `plain_key` are None where a position's scores don't see them, or see query and key.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    plain_query: Tensor | None
    plain_key: Tensor | None
    score: Gradients
    weights: Gradients
    position: Gradients


def pull_through_reduction(
    request: Request, compute: Callable[[Request, tuple[Tensor, Tensor]], ReducedGradients]
) -> Gradients:
    """The gradients of query, key, value and the operands of the parts.

    Args:
        request: with heads equal.
        compute: from the reduced request, and query and key as the position's scores see them, to their gradients.
    """
    spec, held = split(request.parts)
    if 0 in (request.query.shape[2], request.key.shape[2]):
        # Nothing is seen. Back through the reduction a gradient of 0 would meet what queries hold, even NaN.
        return [*map(torch.zeros_like, (request.query, request.key, request.value)), *[None] * len(held)]
    of_score, of_position = len(operands(request.parts.score)), len(operands(request.parts.position))
    position = slice(len(held) - of_position, len(held))
    weights = slice(of_score, of_score + len(operands(request.parts.weights)))
    grads: Gradients = [None] * len(held)
    turned = any(a is not b for a, b in zip(request.turned(), (request.query, request.key), strict=True))
    if offer(request.parts.score, "reduce") is None and not turned:
        found = compute(request, (request.query, request.key))
        grads[:of_score], grads[weights], grads[position] = found.score, found.weights, found.position
        return [found.query, found.key, found.value, *grads]

    # What the reduction depends on; whole numbers have no gradient.
    changing = [i for i in (*range(of_score), *range(position.start, len(held))) if held[i].is_floating_point()]
    stashed: dict[str, Any] = {}

    def reduce(query: Tensor, key: Tensor, *changed: Tensor) -> tuple[Tensor, ...]:
        filled = list(held)
        for i, operand in zip(changing, changed, strict=True):
            filled[i] = operand
        parts = join(spec, tuple(filled))
        reduced, plain = dataclasses.replace(request, query=query, key=key, parts=parts).reduced()
        stashed["score"], score_operands = split(reduced.parts.score)
        return reduced.query, reduced.key, *plain, *score_operands

    results, pull = vjp(reduce, request.query, request.key, *(held[i] for i in changing))
    query, key, *plain = results[:4]
    score = join(stashed["score"], results[4:])
    # What passed unchanged is to be seen as the same.
    plain = query if _same(plain[0], query) else plain[0], key if _same(plain[1], key) else plain[1]
    parts = dataclasses.replace(request.parts, score=score)
    found = compute(dataclasses.replace(request, query=query, key=key, parts=parts, _found=request._found), plain)
    above = (found.query, found.key, found.plain_query, found.plain_key, *found.score)
    pulled = pull(*(torch.zeros_like(r) if g is None else g.to(r.dtype) for r, g in zip(results, above, strict=True)))
    grads[weights], grads[position] = found.weights, found.position
    for i, grad in zip(changing, pulled[2:], strict=True):
        own = grads[i]
        grads[i] = grad if own is None else own + grad
    return [pulled[0], pulled[1], found.value, *grads]


def _same(one: Tensor, other: Tensor) -> bool:
    return one is other or (one.data_ptr() == other.data_ptr() and one.shape == other.shape and one.numel() > 0)
