"""Pieces: how a part of a user's own runs inside of the Triton kernels on a GPU.

A score or a normaliser is a few lines of Triton beside its Python. A part offers a piece by a method `piece()`; without
one, the part runs tile by tile in PyTorch. The functions are decorated with `triton.jit`, and compute on a tile of
pairs, elementwise, in float32. See docs/how-to/own-parts.md.
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

__all__ = ["NormaliserPiece", "ScorePiece"]


@dataclass(frozen=True)
class ScorePiece:
    """A score that is a function of the scaled product of query and key.

    Args:
        score: `(product, a, b) -> score`.
        slope: `(product, a, b) -> the derivative of the score by the product`.
        scale: the factor of the product.
        numbers: a and b, at most two: numbers, or tensors () or (head,).
        of_number: `(product, a, b) -> the derivative of the score by a`, if a is a tensor that is trained.
    """

    score: Any
    slope: Any
    scale: float = 1.0
    numbers: tuple[float | Tensor, ...] = ()
    of_number: Any = None


@dataclass(frozen=True)
class NormaliserPiece:
    """A normaliser whose weights are a function of the score and of one number of the row.

    Args:
        weight: `(score, found, keys, a, b) -> weight`; `found` is the row's number, and `keys` are the numbers of the
            keys: both broadcast against the tile of scores.
        slope: `(score, weight, found, keys, a, b) -> the derivative of the weight by the score`.
        find: what the row's number is: "number", a itself; "count", 1 / how many keys the row may see; "log_count",
            minus the logarithm of that; "threshold", the number with which the row's weights sum to `total`, where the
            weights are functions of score - found and the scores are given less the highest of the row.
        numbers: a and b, at most two: numbers, or tensors () or (head,).
        total: what a row sums to, for "threshold".
        lowest: for "threshold", how far below the highest score the threshold lies at most.
        of_number: `(score, weight, slope, found, keys, a, b) -> the derivative of the weight by a` where `found` stays
            the same, if a is a tensor that is trained.
    """

    weight: Any
    slope: Any
    find: str = "number"
    numbers: tuple[float | Tensor, ...] = ()
    total: float = 1.0
    lowest: float = 1.0
    of_number: Any = None
