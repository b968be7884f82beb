"""Pieces: how a part of a user's own runs inside of the Triton kernels on a GPU.

A score or a normaliser is a few lines of Triton beside its Python. A part offers a piece by a method `piece()`; without
one, or where that gives None, the part runs tile by tile in PyTorch. See docs/how-to/own-parts.md.
"""

import inspect
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from regard.errors import ArgumentError

__all__ = ["NormaliserPiece", "ScorePiece"]

_FINDS = ("number", "count", "log_count", "threshold")


@dataclass(frozen=True)
class ScorePiece:
    """A score that is a function of the scaled product of query and key.

    The functions are decorated with `triton.jit`, and compute on a tile of pairs, elementwise, in float32 (in Triton's
    interpreter in float64, where the tensors are).

    Args:
        score: `(product, a, b) -> score`.
        slope: `(product, a, b) -> the derivative of the score by the product`.
        scale: the factor of the product.
        numbers: a and b, at most two: numbers, or tensors () or (head,). A tensor that is trained must be the first,
            the very field of the part.
        of_number: `(product, a, b) -> the derivative of the score by a`, if a is a tensor.

    Raises:
        ArgumentError: one of them can't be used.
    """

    score: Any
    slope: Any
    scale: float = 1.0
    numbers: tuple[float | Tensor, ...] = ()
    of_number: Any = None

    def __post_init__(self) -> None:
        arguments = "(product, a, b)"
        _check_functions(self, {"score": arguments, "slope": arguments, "of_number": arguments})
        if isinstance(self.scale, Tensor) or not isinstance(self.scale, int | float):
            raise ArgumentError(f"`scale` of a ScorePiece must be a number, but is {self.scale!r:.60}.")
        _check_numbers(self.numbers)


@dataclass(frozen=True)
class NormaliserPiece:
    """A normaliser whose weights are a function of the score and of one number of the row, which the kernels find.

    The functions are as those of a `ScorePiece`.

    Args:
        weight: `(score, found, keys, a, b) -> weight`; `found` is the row's number, and `keys` are the indices of the
            keys, 0, 1, ...: both broadcast against the tile of scores.
        slope: `(score, weight, found, keys, a, b) -> the derivative of the weight by the score`, where `found` stays
            the same.
        find: what the row's number is: "number", a itself; "count", 1 / how many keys the row may see; "log_count",
            minus the logarithm of how many; "threshold", the number with which the row's weights sum to `total`. Then
            weights must be a function of score - found that doesn't fall, and scores are given less the highest of the
            row.
        numbers: as in a `ScorePiece`.
        total: what a row sums to, for "threshold".
        lowest: for "threshold", how far below the highest score it lies at most; it must not lie above. A row without
            a threshold in that range is NaN.
        of_number: `(score, weight, slope, found, keys, a, b) -> the derivative of the weight by a`, where `found` stays
            the same, if a is a tensor.

    Raises:
        ArgumentError: one of them can't be used.
    """

    weight: Any
    slope: Any
    find: str = "number"
    numbers: tuple[float | Tensor, ...] = ()
    total: float = 1.0
    lowest: float = 1.0
    of_number: Any = None

    def __post_init__(self) -> None:
        _check_functions(
            self,
            {
                "weight": "(score, found, keys, a, b)",
                "slope": "(score, weight, found, keys, a, b)",
                "of_number": "(score, weight, slope, found, keys, a, b)",
            },
        )
        if self.find not in _FINDS:
            raise ArgumentError(
                f"`find` of a NormaliserPiece must be one of {', '.join(_FINDS)}, but is {self.find!r}."
            )
        _check_numbers(self.numbers)
        if self.find == "number" and not self.numbers:
            raise ArgumentError("`numbers` of a NormaliserPiece must begin with the row's number for find='number'.")


def _check_functions(piece: Any, wanted: dict[str, str]) -> None:
    for name, arguments in wanted.items():
        function = getattr(piece, name)
        if function is None and name == "of_number":
            continue
        python = getattr(function, "fn", None)
        if python is None or not hasattr(function, "arg_names"):
            raise ArgumentError(
                f"`{name}` of a {type(piece).__name__} must be a function {arguments} decorated with triton.jit, "
                f"but is {function!r:.60}."
            )
        given = [*inspect.signature(python).parameters]
        if len(given) != arguments.count(",") + 1:
            raise ArgumentError(
                f"`{name}` of a {type(piece).__name__} must take {arguments}, but takes ({', '.join(given)})."
            )


def _check_numbers(numbers: Any) -> None:
    if not isinstance(numbers, tuple) or len(numbers) > 2:
        raise ArgumentError(f"`numbers` of a piece must be a tuple of two at most, but is {numbers!r:.60}.")
    for number in numbers:
        if isinstance(number, Tensor) and number.ndim > 1:
            raise ArgumentError(
                f"`numbers` of a piece must be numbers, or tensors () or (head,), but one is {tuple(number.shape)}."
            )
