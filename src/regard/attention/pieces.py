"""Pieces: how a part of a user's own runs inside of the Triton kernels on a GPU.

A part is a few lines of Triton beside its Python. It offers a piece by a method `piece()`. Without one, or where that
gives None, a score, a normaliser or a position scheme runs tile by tile in PyTorch, and a mask is asked pair by pair.
See docs/how-to/own-parts.md.
"""

import inspect
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from regard.attention.parts import optional_method
from regard.errors import ArgumentError

__all__ = ["MaskPiece", "NormaliserPiece", "PositionPiece", "ScorePiece", "piece_of"]

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


@dataclass(frozen=True)
class MaskPiece:
    """A mask that is a function of the indices of a pair.

    Together with another mask (`&`, `|`, `~`) it isn't used: the masks are then asked pair by pair.

    Args:
        allowed: `(batch, head, query, position, key, a, b) -> whether the query may see the key`, decorated with
            `triton.jit`. `batch` and `head` are one number each. The others are int32 and broadcast against a tile of
            pairs: `position` is the query's place among the keys, as `Index.position`. Only pairs within the mask's
            `spans` are asked for.
        numbers: a and b, at most two: numbers, or tensors () or (head,). They come as float32.

    Raises:
        ArgumentError: one of them can't be used.
    """

    allowed: Any
    numbers: tuple[float | Tensor, ...] = ()

    def __post_init__(self) -> None:
        _check_functions(self, {"allowed": "(batch, head, query, position, key, a, b)"})
        _check_numbers(self.numbers)


@dataclass(frozen=True)
class PositionPiece:
    """A position scheme whose `scores` adds a function of the positions of query and key.

    Args:
        bias: `(position, key, a, b) -> what is added to the score`, decorated with `triton.jit`; position and key are
            int32 and broadcast against a tile of pairs.
        numbers: as in a `ScorePiece`.
        of_number: `(position, key, a, b) -> the derivative of the bias by a`, if a is a tensor.

    Raises:
        ArgumentError: one of them can't be used.
    """

    bias: Any
    numbers: tuple[float | Tensor, ...] = ()
    of_number: Any = None

    def __post_init__(self) -> None:
        arguments = "(position, key, a, b)"
        _check_functions(self, {"bias": arguments, "of_number": arguments})
        _check_numbers(self.numbers)


_MAIN = {"score": ("__call__",), "normaliser": ("__call__",), "mask": ("allows",), "position": ("scores", "bias")}


def piece_of(kind: str, part: Any) -> Any:
    """A part's piece; None without one, or where it was written for another main method.

    Args:
        kind: "score", "normaliser", "mask" or "position".
    """
    makes = [optional_method(part, "piece", main) for main in _MAIN[kind]]
    make = None if None in makes else makes[0]
    return None if make is None else make()


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
