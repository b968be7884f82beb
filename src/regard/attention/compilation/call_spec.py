"""A call of `attend` without its tensors, to be run later, when the tensors have values.

Under torch.func's transforms and in compiled functions, nothing that depends on a value can be decided when `attend` is
called: neither the engine nor whether lengths are in range. So everything but the tensors is stored, and the call runs
where the values are available.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from regard.attention.engines import ENGINES
from regard.attention.gradients.autograd import as_gradient_of
from regard.attention.parts import unflatten_part
from regard.attention.plan import choose
from regard.attention.pytorch_internals import compiler_is_loaded
from regard.attention.request import Request

__all__ = ["CallSpec", "seed_as_int64", "untraced"]


@dataclasses.dataclass(frozen=True)
class CallSpec:
    """A call of `attend` without its tensors: query, key, value, the operands of the parts, and the seed of dropout.

    Attributes:
        parts: the spec of (score, weights, mask, position) as passed to `attend`.
        dropout, engine, log_sums: as passed to `attend`.
    """

    parts: Any
    dropout: float
    engine: str
    log_sums: bool = False

    def request(self, *tensors: Tensor) -> Request:
        """The checked request with these tensors, the last of which is the seed if there is dropout.

        Raises:
            ArgumentError: an argument of `attend` can't be used.
        """
        query, key, value, *operands = tensors[:-1] if self.dropout else tensors
        score, weights, mask, position = unflatten_part(self.parts, operands) if operands else self.parts
        return Request.of(
            query,
            key,
            value,
            score=score,
            weights=weights,
            mask=mask,
            position=position,
            dropout=self.dropout,
            seed=int(tensors[-1]) if self.dropout else 0,
            log_sums=self.log_sums,
        )

    def engine_of(self, request: Request) -> ModuleType:
        """The engine that runs the request."""
        return ENGINES[choose(request, self.engine)]

    def output(self, request: Request) -> Tensor:
        """The output, (batch, head, query, value)."""
        engine = self.engine_of(request)
        with torch.no_grad():
            return engine.run(request) if hasattr(engine, "run") else engine.forward(request.expanded)

    def gradients(self, needed: list[int], grad_output: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The gradients of the tensors with these numbers, each in its tensor's dtype."""
        request = self.request(*tensors)
        engine = self.engine_of(request)
        if hasattr(engine, "backward"):
            found = _by_engine(engine, request, grad_output)
        else:
            found = self._by_autograd(engine, needed, grad_output, tensors)
        return [as_gradient_of(tensors[i], found[i]) for i in needed]

    def _by_autograd(
        self, engine: Any, needed: list[int], grad_output: Tensor, tensors: Sequence[Tensor]
    ) -> dict[int, Tensor | None]:
        """The gradients by an engine that autograd differentiates."""
        with torch.enable_grad():
            leaves = [tensor.detach().requires_grad_(i in needed) for i, tensor in enumerate(tensors)]
            output = engine.run(self.request(*leaves))
            grads = torch.autograd.grad(output, [leaves[i] for i in needed], grad_output, allow_unused=True)
        return dict(zip(needed, grads, strict=True))


def _by_engine(engine: Any, request: Request, grad_output: Tensor) -> list[Tensor | None]:
    with torch.no_grad():
        found = engine.backward(request.expanded, grad_output)
        # Sum over the query heads that share a key head.
        shared = request.key.shape[1]
        return [
            grad if i not in (1, 2) or grad.shape[1] == shared else grad.unflatten(1, (shared, -1)).sum(2)
            for i, grad in enumerate(found)
        ]


def seed_as_int64(seed: int) -> int:
    """The seed's lowest 64 bits as a signed integer, which a tensor can hold; dropout uses no others."""
    return seed if -(2**63) <= seed < 2**63 else (seed + 2**63) % 2**64 - 2**63


def untraced(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, excluded from tracing by torch.compile, which would otherwise trace it after a graph break."""
    disabled = None

    @functools.wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        nonlocal disabled
        # Importing the compiler only to disable it would take longer than the call; unless imported, it can't trace.
        if not compiler_is_loaded():
            return function(*arguments, **named)
        if disabled is None:
            disabled = torch.compiler.disable(function)
        return disabled(*arguments, **named)

    return run
