"""Equations of `einsum`, as products of two tensors."""

from collections.abc import Sequence
from itertools import chain
from string import ascii_letters
from typing import Any

from torch import Tensor

from regard.inspection.capture.by_hand.product import Product

__all__ = ["axes_in_result", "equation_of", "product_of"]

Equation = tuple[list[str], str, Sequence[Tensor]]


def equation_of(args: Sequence[Any]) -> Equation | None:
    """The letters of the operands, those of the result, and the operands; None if they can't be told.

    "..." is written out in capital letters that the equation doesn't use, and a result that isn't given is made as
    `einsum` makes it.

    Args:
        args: what `einsum` was called with, in any of its forms.

    Example:
        >>> import torch
        >>> query, key = torch.zeros(1, 2, 5, 4), torch.zeros(1, 2, 7, 4)
        >>> names, result, operands = equation_of(("...qd,...kd->...qk", query, key))
        >>> names, result
        (['ABqd', 'ABkd'], 'ABqk')
        >>> equation_of((query[0, 0], [0, 1], key[0, 0], [2, 1]))[:2]
        (['ab', 'cb'], 'ac')
    """
    if args and not isinstance(args[0], str):
        args = _from_lists(args)
    if len(args) == 2 and isinstance(args[1], list | tuple):
        args = (args[0], *args[1])
    if not args or not all(isinstance(each, Tensor) for each in args[1:]):
        return None
    inputs, arrow, result = args[0].replace(" ", "").replace("...", ".").partition("->")
    names, operands = inputs.split(","), args[1:]
    if len(names) != len(operands):
        return None
    free = [letter for letter in ascii_letters[26:] if letter not in args[0]]
    hidden = [each.ndim - len(name) + 1 if "." in name else 0 for name, each in zip(names, operands, strict=True)]
    most = max(hidden, default=0)
    if most > len(free) or min(hidden, default=0) < 0:
        return None
    if not arrow:
        once = sorted(letter for letter in set(inputs) - set(",.") if inputs.count(letter) == 1)
        result = "." * ("." in inputs) + "".join(once)
    # Of fewer hidden axes they are the last ones, as in broadcasting.
    names = [name.replace(".", "".join(free[most - count : most])) for name, count in zip(names, hidden, strict=True)]
    return names, result.replace(".", "".join(free[:most])), operands


def _from_lists(args: Sequence[Any]) -> Sequence[Any]:
    """The form of `einsum` that names axes by lists of numbers, as the form that names them by letters."""
    operands, lists = args[: len(args) // 2 * 2 : 2], args[1::2]
    result = args[-1] if len(args) % 2 else None
    every = [*lists, *([] if result is None else [result])]
    known = all(isinstance(each, list | tuple) for each in every)
    if not known or not all(isinstance(axis, int) and 0 <= axis < 52 for axis in chain(*every)):
        return ()
    names, out = (
        ["".join(ascii_letters[axis] for axis in each) for each in group] for group in (lists, every[len(lists) :])
    )
    return (",".join(names) + "".join(f"->{each}" for each in out), *operands)


def product_of(names: Sequence[str], result: str, operands: Sequence[Tensor]) -> Product | None:
    """The product that an equation is; None if it is none of two tensors with an axis each for row and column.

    Args:
        names, result, operands: as `equation_of` gives them.
    """
    if len(names) != 2 or any(len(set(each)) != len(each) for each in (*names, result)):
        return None
    (left, right), (first, second) = names, operands
    if len(left) != first.ndim or len(right) != second.ndim:
        return None
    inner = [name for name in left if name in right and name not in result]
    rows = [name for name in left if name not in right]
    columns = [name for name in right if name not in left]
    if len(inner) != 1 or not rows or len(columns) != 1 or not set(rows + columns) <= set(result):
        return None
    # Of several axes that only the left operand has, as with grouped queries, the last is the row.
    row, column = rows[-1], columns[0]
    batch = [name for name in left if name not in (row, inner[0])]
    whole = [*batch, row, column]
    return Product(
        first,
        first.permute(tuple(left.index(name) for name in (*batch, row, inner[0]))),
        _aligned(second, right, [*batch, inner[0], column]),
        tuple(whole.index(name) for name in result),
        (left.index(row) - len(left), left.index(inner[0]) - len(left)),
        second,
        (right.index(column) - len(right), right.index(inner[0]) - len(right)),
    )


def _aligned(tensor: Tensor, names: str, wanted: list[str]) -> Tensor:
    """The tensor with its axes in the wanted order, and size 1 for those that it lacks."""
    tensor = tensor.permute(tuple(names.index(name) for name in wanted if name in names))
    for axis, name in enumerate(wanted):
        if name not in names:
            tensor = tensor.unsqueeze(axis)
    return tensor


def axes_in_result(args: tuple[Any, ...], number: int, axes: tuple[int, int]) -> tuple[int, int] | None:
    """Where the result of an `einsum` or a `matmul` has two axes of an operand; None if they are summed over.

    Args:
        args: what the function was called with.
        number: which operand.
        axes: two axes of it, counted from its end, as in the answer.

    Example:
        >>> import torch
        >>> axes_in_result(("gh,bhqk->bqkg", torch.zeros(3, 2), torch.zeros(1, 2, 5, 7)), 1, (-2, -1))
        (-3, -2)
    """
    if not isinstance(args[0], str):
        if len(args) != 2 or not all(isinstance(each, Tensor) and each.ndim > 1 for each in args):
            return None
        inner = -1 if number == 0 else -2
        return None if inner in axes else axes
    equation = equation_of(args)
    if equation is None or number >= len(equation[0]):
        return None
    names, result, operands = equation
    if len(names[number]) != operands[number].ndim:
        return None
    found = [result.find(names[number][axis]) - len(result) for axis in axes]
    return None if min(found) < -len(result) else (found[0], found[1])
