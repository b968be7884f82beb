"""The function that is judged: called through its claims, in its own argument names and layout."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.jury import oracle
from regard.jury.bounds import rounding_bounds
from regard.jury.cases import Case, Inputs
from regard.jury.claims import Claims, first_tensor

__all__ = ["RefusedCase", "Subject"]

Outcome = dict[str, Tensor]


class RefusedCase(Exception):
    """The function raised an error instead of giving a result: it doesn't do this, and says so."""


@dataclass(frozen=True)
class Subject:
    """A function, what it claims, and the device on which it is judged."""

    function: Callable[..., Any]
    claims: Claims
    device: str = "cpu"

    def make(self, case: Case) -> Inputs:
        return case.make(self.device)

    def options(self, inputs: Inputs, seed: int | None = None) -> dict[str, Any]:
        """The keyword arguments of a call."""
        case, claims = inputs.case, self.claims
        mask = inputs.mask if inputs.mask is None or not claims.hides else ~inputs.mask
        # A list: an argument may carry two abilities, as SDPA's `attn_mask`; a call has one of them.
        given = [
            (claims.mask, mask),
            (claims.bias, inputs.bias),
            (claims.causal, case.causal or None),
            (claims.scale, case.scale),
            (claims.dropout, case.dropout or None),
            (claims.seed, seed),
        ]
        named = {name: value for name, value in given if name is not None and value is not None}
        if isinstance(claims.grouped, str) and case.key_heads != case.heads:
            named[claims.grouped] = True
        return named

    def call(self, query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any]) -> Tensor:
        """The output, (batch, head, query, value).

        Raises:
            RefusedCase: the function raised an error.
        """
        three = (query, key, value)
        length_first = self.claims.layout == "length first"
        if length_first:
            three = tuple(tensor.transpose(1, 2) for tensor in three)
        try:
            output = first_tensor(self.function(*three, **options))
        except Exception as error:
            raise RefusedCase(f"{type(error).__name__}: {error}") from error
        return output.transpose(1, 2) if length_first else output

    def outcome(self, inputs: Inputs, *, gradients: bool = True, seed: int | None = None) -> Outcome:
        """The output, and the gradient of every tensor that wants one.

        Raises:
            RefusedCase: the function, or its backward, raised an error.
        """
        if not gradients:
            with torch.no_grad():
                return {"output": self.call(inputs.query, inputs.key, inputs.value, self.options(inputs, seed))}
        # A view of a leaf would be a leaf of its own: detached, it keeps its layout.
        leaves = {name: tensor.detach().requires_grad_() for name, tensor in inputs.wanted.items()}
        options = self.options(inputs, seed)
        if "bias" in leaves and self.claims.bias is not None:
            options[self.claims.bias] = leaves["bias"]
        output = self.call(leaves["query"], leaves["key"], leaves["value"], options)
        found = {"output": output.detach()}
        if not output.requires_grad:
            raise RefusedCase("the output has no gradient")
        found |= self.backward(output, leaves, inputs.upward)
        return found

    def backward(self, output: Tensor, leaves: dict[str, Tensor], upward: Tensor) -> Outcome:
        """The gradients by name; zeros where the graph doesn't reach a tensor.

        Raises:
            RefusedCase: it raised an error.
        """
        try:
            grads = torch.autograd.grad(output, list(leaves.values()), upward, allow_unused=True)
        except Exception as error:
            raise RefusedCase(f"backward: {type(error).__name__}: {error}") from error
        return {
            f"gradient of {name}": torch.zeros_like(leaf) if grad is None else grad
            for (name, leaf), grad in zip(leaves.items(), grads, strict=True)
        }

    def expected(self, inputs: Inputs, *, gradients: bool = True, alignment: str | None = None) -> Outcome:
        """The same of the oracle, in float64."""
        allowed = inputs.allowed(alignment or self.claims.alignment)
        leaves = {name: doubled(tensor).requires_grad_(gradients) for name, tensor in inputs.wanted.items()}
        output = definition(inputs, leaves, allowed)
        found = {"output": output.detach()}
        if gradients:
            upward = doubled(inputs.upward)
            # The graph of no row at all has no leaf.
            grads = (
                torch.autograd.grad(output, list(leaves.values()), upward, allow_unused=True)
                if output.requires_grad
                else [None] * len(leaves)
            )
            for (name, leaf), grad in zip(leaves.items(), grads, strict=True):
                found[f"gradient of {name}"] = torch.zeros_like(leaf) if grad is None else grad
        return found

    def bounds(self, inputs: Inputs, alignment: str | None = None) -> Outcome:
        """How far rounding may take each element of the outcome."""
        return rounding_bounds(inputs, inputs.allowed(alignment or self.claims.alignment))


def doubled(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().double().contiguous()


def definition(inputs: Inputs, leaves: dict[str, Tensor], allowed: Tensor) -> Tensor:
    """What the oracle computes of leaves in float64."""
    scale = inputs.case.scale
    return oracle.attend(
        leaves["query"],
        leaves["key"],
        leaves["value"],
        score="scaled_dot" if scale is None else oracle.Dot(scale),
        mask=oracle.table(allowed),
        position=None if inputs.bias is None else oracle.Bias(leaves["bias"]),
        dropout=0.0 if inputs.kept is None else inputs.kept,
    )
