"""The functions of PyTorch that multiply two tensors and sum over an axis, each read as a product."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from regard.inspection.capture.by_hand.einsum import equation_of, product_of
from regard.inspection.capture.by_hand.followed import is_learned
from regard.inspection.capture.by_hand.product import Product

__all__ = ["MATMULS", "PRODUCTS", "as_product"]

MATMULS = {torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.linalg.matmul}
MATMULS |= {torch.bmm, Tensor.bmm, torch.mm, Tensor.mm}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def as_product(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Product | None:
    """The product that a function computes; None if it is none of two tensors with an axis each for row and column.

    Example:
        >>> query, key = torch.zeros(1, 5, 2, 4), torch.zeros(1, 7, 2, 4)
        >>> product = as_product(torch.einsum, ("bqhd,bkhd->bhqk", query, key), {})
        >>> product.left.shape, product.right.shape, product.in_order
        (torch.Size([1, 2, 5, 4]), torch.Size([1, 2, 4, 7]), True)
        >>> as_product(torch.inner, (query[0, 0], key[0, 0]), {}).right.shape
        torch.Size([4, 2])
    """
    read = PRODUCTS.get(func)
    try:
        return None if read is None else read(*args, **kwargs)
    except TypeError:
        # The function is called in a way that is read by none of these.
        return None


def _matmul(left: Any, right: Any = None, /, **named: Any) -> Product | None:
    right = named.get("other", named.get("mat2")) if right is None else right
    if set(named) - {"other", "mat2"} or not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return None
    if left.ndim < 2 or right.ndim < 2:
        return None
    return Product(left, left, right, tuple(range(max(left.ndim, right.ndim))), (-2, -1), right, (-1, -2))


def _einsum(*args: Any) -> Product | None:
    equation = equation_of(args)
    return None if equation is None else product_of(*equation)


def _inner(input: Tensor, other: Tensor) -> Product | None:
    left, right = _LETTERS[: input.ndim - 1], _LETTERS[-other.ndim + 1 :]
    return product_of([f"{left}m", f"{right}m"], left + right, [input, other])


def _tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Product | None:
    if isinstance(dims, int):
        dims = [*range(a.ndim - dims, a.ndim)], [*range(dims)]
    if out is not None or isinstance(dims, Tensor):
        return None
    summed = [[axis % each.ndim for axis in axes] for each, axes in zip((a, b), dims, strict=True)]
    left, right = list(_LETTERS[: a.ndim]), list(_LETTERS[-b.ndim :])
    for one, other in zip(*summed, strict=True):
        right[other] = left[one]
    names = ["".join(left), "".join(right)]
    free = [
        name for each, axes in zip((left, right), summed, strict=True) for at, name in enumerate(each) if at not in axes
    ]
    return product_of(names, "".join(free), [a, b])


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Product | None:
    if bias is not None or weight.ndim != 2 or is_learned(weight):
        return None
    left = _LETTERS[: input.ndim - 1]
    found = product_of([f"{left}y", "zy"], f"{left}z", [input, weight])
    return None if found is None else replace(found, is_map=True)


def _added(
    input: Tensor, left: Any = None, right: Any = None, *, beta: float = 1, alpha: float = 1, **named: Any
) -> Product | None:
    left = named.pop("batch1", named.pop("mat1", left))
    right = named.pop("batch2", named.pop("mat2", right))
    found = None if named else _matmul(left, right)
    if found is None:
        return None
    return replace(found, factor=float(alpha), addend=(input if beta == 1 else input * beta) if beta else None)


PRODUCTS: dict[Any, Callable[..., Product | None]] = {
    **dict.fromkeys(MATMULS, _matmul),
    torch.einsum: _einsum,
    torch.inner: _inner,
    Tensor.inner: _inner,
    torch.tensordot: _tensordot,
    functional.linear: _linear,
    torch.baddbmm: _added,
    Tensor.baddbmm: _added,
    torch.addmm: _added,
    Tensor.addmm: _added,
}
