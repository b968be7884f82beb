"""Vector-Jacobian products by PyTorch's autograd, for functions without a hand-written gradient.

`torch.func.vjp` computes the same, but it refuses an `autograd.Function` without `setup_context`, which older packages
and users write.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["added", "gradients", "vjp"]


def vjp(function: Callable[..., Any], *inputs: Tensor) -> tuple[Any, Callable[..., tuple[Tensor, ...]]]:
    """The result of a function, and the function that computes its vector-Jacobian product.

    Args:
        function: from the inputs to a tensor or a tuple of tensors.
        inputs: floating-point tensors. They are detached: gradients don't flow beyond them.

    Returns:
        The detached result, and a function from the gradients of the results to those of the inputs, to be called once.

    Example:
        >>> result, vjp_fn = vjp(lambda x, y: x * y, torch.tensor(2.0), torch.tensor(3.0))
        >>> result, vjp_fn(torch.tensor(1.0))
        (tensor(6.), (tensor(3.), tensor(2.)))
    """
    with torch.enable_grad():
        leaves = [tensor.detach().requires_grad_() for tensor in inputs]
        result = function(*leaves)
    is_tuple = isinstance(result, tuple)
    results = result if is_tuple else (result,)

    def vjp_fn(*cotangents: Tensor) -> tuple[Tensor, ...]:
        return gradients(results, leaves, cotangents)

    detached = tuple(tensor.detach() for tensor in results)
    return detached if is_tuple else detached[0], vjp_fn


def gradients(
    results: Sequence[Tensor], inputs: Sequence[Tensor], cotangents: Sequence[Tensor], *, create_graph: bool = False
) -> tuple[Tensor, ...]:
    """The gradients of the inputs, given those of the results; zeros where a result doesn't depend on an input.

    Args:
        create_graph: whether the gradients are to be differentiable themselves.
    """
    known = [(result, grad) for result, grad in zip(results, cotangents, strict=True) if result.requires_grad]
    if not known:
        return tuple(map(torch.zeros_like, inputs))
    return torch.autograd.grad(
        [result for result, _ in known],
        inputs,
        [grad for _, grad in known],
        create_graph=create_graph,
        allow_unused=True,
        materialize_grads=True,
    )


def added(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    """The sum of two gradients, each of which may be absent."""
    if one is None or other is None:
        return other if one is None else one
    return one + other
