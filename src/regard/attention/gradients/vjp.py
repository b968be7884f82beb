"""Vector-Jacobian products by PyTorch's autograd, for functions without a hand-written gradient.

`torch.func.vjp` computes the same, but it refuses an `autograd.Function` without `setup_context`, which older packages
and users write.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.errors import RefusedError

__all__ = ["added", "gradients", "jvp", "vjp"]


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


def jvp(
    function: Callable[..., tuple[Tensor, ...]], inputs: Sequence[Tensor], tangents: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """The Jacobian-vector product of a function: how its results change as the inputs move.

    The gradient is linear in what comes from above, so its own gradient by that is the tangent. So anything that is
    differentiable twice has one, without rules for forward mode.

    Args:
        function: from the inputs to a tuple of tensors.
        tangents: the direction of each input.

    Source: Townsend 2017, A new trick for calculating Jacobian vector products.

    Example:
        >>> jvp(lambda x: (x**2,), [torch.tensor(3.0)], [torch.tensor(1.0)])
        (tensor(6.),)
    """
    with torch.enable_grad():
        # A tensor made under inference_mode can't require grad, but a copy of it can.
        given = [tensor.clone() if tensor.is_inference() else tensor.detach() for tensor in inputs]
        leaves = [tensor.requires_grad_() for tensor in given]
        results = function(*leaves)
        above = [torch.zeros_like(result, requires_grad=True) for result in results]
        first = gradients(results, leaves, above, create_graph=True)
    cotangents = [tangent.to(grad.dtype) for tangent, grad in zip(tangents, first, strict=True)]
    return gradients(first, above, cotangents)


def gradients(
    results: Sequence[Tensor], inputs: Sequence[Tensor], cotangents: Sequence[Tensor], *, create_graph: bool = False
) -> tuple[Tensor, ...]:
    """The gradients of the inputs, given those of the results; zeros where a result doesn't depend on an input.

    Args:
        create_graph: whether the gradients are to be differentiable themselves.

    Raises:
        RefusedError: they are to be, but one comes from a function that is differentiable once.
    """
    known = [(result, grad) for result, grad in zip(results, cotangents, strict=True) if result.requires_grad]
    if not known:
        return tuple(map(torch.zeros_like, inputs))
    found = torch.autograd.grad(
        [result for result, _ in known],
        inputs,
        [grad for _, grad in known],
        create_graph=create_graph,
        allow_unused=True,
        materialize_grads=True,
    )
    if create_graph:
        _refuse_once_differentiable(found)
    return found


def _refuse_once_differentiable(gradients: Sequence[Tensor]) -> None:
    """Refuse gradients whose own gradient would lack a part: PyTorch raises its error only where the path leads on."""
    nodes, seen = [each.grad_fn for each in gradients], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.name() == "torch::autograd::Error":
            raise RefusedError(
                "A part of your own has an autograd.Function whose backward is marked once_differentiable, but what is "
                "computed here differentiates the gradient (forward mode does, too). Remove the mark and write "
                "`backward` by operations that autograd knows."
            )
        nodes += [each for each, _ in node.next_functions]


def added(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    """The sum of two gradients, each of which may be absent."""
    if one is None or other is None:
        return other if one is None else one
    return one + other
