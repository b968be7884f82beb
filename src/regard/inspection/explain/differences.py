"""Differences of numbers of which some may be infinite or NaN, which are compared by their places."""

import torch
from torch import Tensor

__all__ = ["differences", "largest", "largest_difference"]


def differences(first: Tensor, second: Tensor) -> Tensor:
    """The absolute differences; 0 where both are NaN or the same infinity, and infinite where only one is.

    Example:
        >>> differences(torch.tensor([1.0, torch.inf, torch.nan]), torch.tensor([1.5, torch.inf, 0.0]))
        tensor([0.5000, 0.0000,    inf])
    """
    same = (first == second) | (first.isnan() & second.isnan())
    gaps = (first - second).abs().nan_to_num(nan=torch.inf, posinf=torch.inf)
    return gaps.masked_fill(same, 0.0)


def largest_difference(first: Tensor, second: Tensor) -> float:
    """The largest of `differences`; 0 of no numbers."""
    return float(differences(first, second).max()) if first.numel() else 0.0


def largest(numbers: Tensor) -> float:
    """The largest magnitude of the finite numbers, which says how large their rounding errors may be; 0 if none is.

    Example:
        >>> largest(torch.tensor([-2.0, torch.inf, torch.nan]))
        2.0
    """
    finite = numbers[numbers.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0
