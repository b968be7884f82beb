"""Derivatives of the second order, and derivatives in forward mode.

Their bound is half of the dtype's digits: sqrt(u) times the largest number of the result, which counts as at least 1.
A wrong formula is off by far more, and rounding by far less.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor
from torch.autograd import forward_ad

from regard.jury.bounds import Precision
from regard.jury.cases import Case, Inputs
from regard.jury.claims import Claims
from regard.jury.law import Finding, Law, worst
from regard.jury.subject import Outcome, RefusedCase, Subject, definition, doubled

__all__ = ["FORWARD_MODE", "SECOND_ORDER"]


def _cases(claims: Claims) -> Iterator[Case]:
    case = Case(dtype=claims.precise, heads=1, key_heads=1, queries=2, keys=3)
    yield case
    if claims.mask:
        yield replace(case, mask="some", queries=3, keys=5)
    if claims.bias:
        yield replace(case, bias="table", batch=2)
    if claims.causal:
        yield replace(case, causal=True, queries=5, keys=5)
    yield replace(case, queries=17, keys=19)


def _second_order_cases(claims: Claims) -> Iterator[Case]:
    if claims.gradients and claims.second_order:
        yield from _cases(claims)


def _forward_mode_cases(claims: Claims) -> Iterator[Case]:
    if claims.forward_mode:
        yield from _cases(claims)


def _directions(inputs: Inputs) -> dict[str, Tensor]:
    """One direction for each tensor, the same in every dtype."""
    generator = torch.Generator("cpu").manual_seed(inputs.case.seed + 1)
    return {
        name: torch.randn(tensor.shape, generator=generator, device="cpu").to(tensor)
        for name, tensor in inputs.wanted.items()
    }


def _second_gradients(
    output: Tensor, leaves: dict[str, Tensor], upward: Tensor, directions: dict[str, Tensor]
) -> Outcome:
    """The gradients, by each leaf and by `upward`, of the sum over the leaves of (gradient . direction)."""
    first = torch.autograd.grad(output, list(leaves.values()), upward, create_graph=True, allow_unused=True)
    directional = [
        (grad * directions[name]).sum() for name, grad in zip(leaves, first, strict=True) if grad is not None
    ]
    total = torch.stack(directional).sum()
    if not total.requires_grad:
        raise RefusedCase("the gradient has no gradient of its own")
    variables = {**leaves, "what comes from above": upward}
    grads = torch.autograd.grad(total, list(variables.values()), allow_unused=True)
    return {
        f"second-order gradient of {name}": torch.zeros_like(leaf) if grad is None else grad
        for (name, leaf), grad in zip(variables.items(), grads, strict=True)
    }


def _bounds(right: Outcome, dtype: torch.dtype) -> Outcome:
    relative = math.sqrt(Precision.of(dtype).unit)
    return {
        name: torch.full_like(tensor, relative * max(1.0, float(tensor.abs().max()) if tensor.numel() else 1.0))
        for name, tensor in right.items()
    }


def _judge_second(subject: Subject, case: Case) -> Finding:
    inputs = subject.make(case)
    directions = _directions(inputs)
    leaves = {name: doubled(tensor).requires_grad_() for name, tensor in inputs.wanted.items()}
    upward = doubled(inputs.upward).requires_grad_()
    right = _second_gradients(
        definition(inputs, leaves, inputs.allowed(subject.claims.alignment)),
        leaves,
        upward,
        {name: doubled(direction) for name, direction in directions.items()},
    )
    subject_leaves = {name: tensor.detach().clone().requires_grad_() for name, tensor in inputs.wanted.items()}
    options = subject.options(inputs)
    if "bias" in subject_leaves and subject.claims.bias is not None:
        options[subject.claims.bias] = subject_leaves["bias"]
    output = subject.call(subject_leaves["query"], subject_leaves["key"], subject_leaves["value"], options)
    if not output.requires_grad:
        raise RefusedCase("the output has no gradient")
    try:
        outcome = _second_gradients(output, subject_leaves, inputs.upward.clone().requires_grad_(), directions)
    except RefusedCase:
        raise
    except Exception as error:
        raise RefusedCase(f"{type(error).__name__}: {error}") from error
    return worst(outcome, right, _bounds(right, inputs.query.dtype), inputs.query.dtype)


def _judge_forward(subject: Subject, case: Case) -> Finding:
    inputs = subject.make(case)
    directions = _directions(inputs)
    label = "derivative in forward mode"
    leaves = {name: doubled(tensor).requires_grad_() for name, tensor in inputs.wanted.items()}
    output = definition(inputs, leaves, inputs.allowed(subject.claims.alignment))
    # The derivative of the output along the directions is the gradient, by `upward`, of (gradient . direction).
    upward = torch.zeros_like(output).requires_grad_()
    first = torch.autograd.grad(output, list(leaves.values()), upward, create_graph=True)
    directional = torch.stack(
        [(grad * doubled(directions[name])).sum() for name, grad in zip(leaves, first, strict=True)]
    ).sum()
    right = {label: torch.autograd.grad(directional, upward)[0]}
    try:
        with forward_ad.dual_level():
            duals = {
                name: forward_ad.make_dual(tensor.detach().clone(), directions[name])
                for name, tensor in inputs.wanted.items()
            }
            options = subject.options(inputs)
            if "bias" in duals and subject.claims.bias is not None:
                options[subject.claims.bias] = duals["bias"]
            tangent = forward_ad.unpack_dual(
                subject.call(duals["query"], duals["key"], duals["value"], options)
            ).tangent
            outcome = None if tangent is None else {label: tangent.clone()}
    except RefusedCase:
        raise
    except Exception as error:
        raise RefusedCase(f"{type(error).__name__}: {error}") from error
    if outcome is None:
        return Finding(math.inf, 0.0, label, note="the derivative is lost without an error: the output has no tangent")
    return worst(outcome, right, _bounds(right, inputs.query.dtype), inputs.query.dtype)


SECOND_ORDER = Law(
    "second_order",
    "The gradient of a gradient is right, or the function says that it has none.",
    "Gradient penalties, influence functions and meta-learning train on wrong numbers.",
    _second_order_cases,
    _judge_second,
    "a gradient of the second order",
    script="second order",
)
FORWARD_MODE = Law(
    "forward_mode",
    "The derivative in forward mode is right, or the function says that it has none.",
    "Jacobian-vector products (torch.func.jvp) are silently wrong or zero.",
    _forward_mode_cases,
    _judge_forward,
    "a derivative in forward mode",
    script="forward mode",
)
