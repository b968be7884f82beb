"""The gradient of a function of tensors by PyTorch's autograd, for what has none written by hand.

`torch.func.vjp` computes the same, but refuses an `autograd.Function` without `setup_context`, as older packages and
users write them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["gradients", "vjp"]


def vjp(function: Callable[..., Any], *inputs: Tensor) -> tuple[Any, Callable[..., tuple[Tensor, ...]]]:
    """What the function gives, and the product of a vector with its Jacobian.

    Args:
        function: from the inputs to a tensor or a tuple of tensors.
        inputs: of floating point. They are leaves of a graph of its own: gradients don't go on behind them.

    Returns:
        The result, detached; and a function from the gradients of the results to those of the inputs, to be called
        once.

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
        create_graph: whether they are to be differentiable themselves.
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
