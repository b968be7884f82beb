"""The part of the jit engine for requests whose mask is a list of edges: it calls the kernel along edges."""

from typing import Any

import torch
from torch import Tensor

from regard.attention.engines.jit import edge_attention
from regard.attention.engines.jit.edge_attention import PairIndices, Problem
from regard.attention.gradients.reduction import ReducedGradients
from regard.attention.parts import declares, operands
from regard.attention.request import Request
from regard.attention.scores import Additive
from regard.attention.weights import Entmax, Hard, Relu, Sigmoid, Softmax, Sparsemax

__all__ = ["backward", "forward", "refuse"]

_NAMES = {Softmax: "softmax", Relu: "relu", Sigmoid: "sigmoid", Hard: "hard", Entmax: "entmax", Sparsemax: "entmax"}


def refuse(request: Request) -> str | None:
    """Why the kernel along edges can't run this request, or None."""
    parts = request.parts
    if not declares(type(parts.score), "inner_product") and type(parts.score) is not Additive:
        return "along edges it computes only inner products and additive scores"
    weights = parts.weights
    if type(weights) not in _NAMES:
        return "along edges it computes only the package's own normalisers"
    if isinstance(weights, Softmax) and isinstance(weights.temperature, Tensor):
        return "along edges the temperature must be one number"
    if isinstance(weights, Entmax) and isinstance(weights.alpha, Tensor):
        return "along edges alpha must be one number"
    if isinstance(weights, Relu) and weights.divisor is not None:
        return "along edges relu always divides by the number of edges"
    if parts.position.acts_in_tiles:
        return "along edges it has no position on scores or outputs"
    return None


def forward(reduced: Request) -> Tensor:
    """The output, (batch, head, query, value)."""
    return edge_attention.attend(_problem(reduced)).unflatten(0, reduced.query.shape[:2])


def backward(reduced: Request, grad_output: Tensor) -> ReducedGradients:
    """The gradients of a reduced request."""
    found = edge_attention.vjp(_problem(reduced), grad_output.flatten(0, 1))
    shape = reduced.query.shape[:2]
    query, key, value = (grad.unflatten(0, shape) for grad in (found.query, found.key, found.value))
    score: Any = reduced.parts.score
    # The kernel was given the vector divided by the temperature, see below.
    of_vector = None if found.vector is None else found.vector / _temperature(reduced)
    of_score = [] if of_vector is None else [_to_operand(of_vector, score.vector, shape)]
    bias = getattr(reduced.parts.weights, "bias", None)
    weights = [_to_operand(found.bias, bias, shape)] if isinstance(bias, Tensor) else []
    return ReducedGradients(
        query, key, value, None, None, of_score, weights, [None] * len(operands(reduced.parts.position))
    )


def _problem(reduced: Request) -> Problem:
    parts = reduced.parts
    score: Any = parts.score
    weights: Any = parts.weights
    batch, heads, queries, _ = reduced.query.shape
    query, key, value = (tensor.flatten(0, 1) for tensor in (reduced.query, reduced.key, reduced.value))
    # Softmax(s / T): the temperature divides what the score is linear in.
    temperature = _temperature(reduced)
    bias = getattr(weights, "bias", None)
    if bias is not None:
        bias = torch.as_tensor(bias, dtype=query.dtype, device="cpu").expand(batch, heads).reshape(-1)
    additive = type(score) is Additive
    activation: Any = score.activation if additive else "dot"
    name: Any = _NAMES[type(weights)]
    pair_indices = None
    if reduced.dropout:
        items, head, row, column = (torch.arange(size, device="cpu") for size in (batch, heads, queries, key.shape[1]))
        pair_indices = PairIndices(items.repeat_interleave(heads).unsqueeze(1), head.repeat(batch), row, column)
    graph: Any = reduced.edges
    alpha: Any = weights.alpha if type(weights) is Entmax else 2.0
    return Problem(
        graph,
        query,
        key,
        value,
        score=activation,
        weights=name,
        scale=1.0 if additive else score.scale / temperature,
        slope=score.slope if additive else 0.0,
        alpha=alpha,
        vector=(score.vector / temperature).to(query.dtype).expand(batch, heads, -1).flatten(0, 1)
        if additive
        else None,
        bias=bias,
        dropout=reduced.dropout,
        seed=reduced.seed,
        pair_indices=pair_indices,
    )


def _temperature(reduced: Request) -> float:
    return getattr(reduced.parts.weights, "temperature", 1.0)


def _to_operand(grad: Tensor | None, operand: Tensor, shape: torch.Size) -> Tensor | None:
    """The gradient of an operand, shared by all heads or per head, from that of each group."""
    return None if grad is None else grad.unflatten(0, shape).sum_to_size(operand.shape)
