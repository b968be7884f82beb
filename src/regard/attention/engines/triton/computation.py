"""The way from the kernels to autograd: what the forward pass saves for the backward pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.engines.triton.edges import launcher, on_device_of
from regard.attention.engines.triton.problem import mask_of
from regard.attention.gradients import autograd
from regard.attention.gradients.autograd import Computation, as_gradient_of
from regard.attention.known import Known
from regard.attention.parts import flatten_part, unflatten_part
from regard.attention.precision import no_autocast
from regard.attention.pytorch_internals import default_device
from regard.attention.request import Request

__all__ = ["run"]


def run(request: Request) -> Tensor:
    """The output, (batch, head, query, value), with its gradient."""
    parts, operands = flatten_part(request.parts)
    # A tensor made under inference_mode can't be saved for backward, but a copy of it can.
    operands = [tensor.clone() if tensor.is_inference() else tensor for tensor in operands]
    # What is kept of a mask goes by the mask itself, which is put together anew from its tensors below.
    mask_of(request)
    computation = _Kernels(parts, request.dropout, request.seed, request.known, default_device())
    return autograd.apply(computation, request.query, request.key, request.value, *operands)


@dataclass(frozen=True)
class _Kernels(Computation):
    """By the kernels. `parts`: the spec of the request's parts. `known`: what is known of the request."""

    parts: Any
    dropout: float
    seed: int
    known: Known
    device: torch.device | None

    def request(self, *tensors: Tensor) -> Request:
        query, key, value, *operands = tensors
        return Request(query, key, value, unflatten_part(self.parts, operands), self.dropout, self.seed, self.known)

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        request = self.request(*tensors)
        with on_device_of(request.query):
            return launcher(request).forward(request, saves=True)

    def backward(
        self, needed: list[int], grad_output: Tensor, tensors: Sequence[Tensor], saved: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        request = self.request(*tensors)
        with no_autocast(grad_output), self.on_device(), on_device_of(request.query):
            found = launcher(request).backward(request, grad_output, saved[1:])
        return [as_gradient_of(tensors[i], found[i]) for i in needed]
