"""The rank agreement of two lists of numbers, such as the weights of keys and the effects of hiding them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import ArgumentError

__all__ = ["rank_agreement"]


def rank_agreement(weights: Sequence[float] | Tensor, effects: Sequence[float] | Tensor) -> float:
    """Spearman's rank correlation: 1 if both order alike, -1 if the other way round. Equal numbers share a rank.

    Weights say what is attended to, effects what mattered. For effects pass their sizes, without the sign.

    Returns:
        The correlation; NaN if one of the lists holds fewer than two different numbers.

    Raises:
        ArgumentError: the lists differ in length, or hold a number that isn't finite.

    Source: Spearman 1904, The Proof and Measurement of Association between Two Things.

    Example:
        >>> rank_agreement([0.7, 0.2, 0.1], [0.5, 0.0, 0.1])
        0.5
    """
    left, right = (torch.as_tensor(each, dtype=torch.float64).detach().cpu().flatten() for each in (weights, effects))
    if len(left) != len(right):
        raise ArgumentError(f"`effects` must hold a number for each of {len(left)} weights, but holds {len(right)}.")
    for name, numbers in (("weights", left), ("effects", right)):
        if not numbers.isfinite().all():
            raise ArgumentError(f"`{name}` must hold finite numbers, but holds NaN or infinity.")
    if not len(left):
        return float("nan")
    left, right = (ranks - ranks.mean() for ranks in (_ranks(left), _ranks(right)))
    sizes = (left @ left) * (right @ right)
    return float(left @ right / sizes.sqrt()) if sizes > 0 else float("nan")


def _ranks(numbers: Tensor) -> Tensor:
    """The rank of each number from 1, and for equal ones the mean of their ranks."""
    _, group, counts = numbers.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    return (last - (counts.double() - 1) / 2)[group]
