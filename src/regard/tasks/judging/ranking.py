"""How well scores rank positive examples above negative ones."""

from torch import Tensor

__all__ = ["area_under_roc"]


def area_under_roc(scores: Tensor, positive: Tensor) -> float:
    """The area under the ROC curve: of all pairs of a positive and a negative example, the share that is ranked right.

    Equal scores count as half right. The area is computed from the ranks, so its cost is that of sorting the scores.

    Args:
        scores: (example,) the scores, of which a higher one stands for positive.
        positive: (example,) bool; both kinds of examples must occur.

    Returns:
        the area; NaN if a score is NaN.

    Source: Mann and Whitney 1947, On a test of whether one of two random variables is stochastically larger than the
        other; Hanley and McNeil 1982, The meaning and use of the area under a receiver operating characteristic curve.

    Example:
        >>> import torch
        >>> area_under_roc(torch.tensor([0.1, 0.4, 0.4, 0.8]), torch.tensor([False, False, True, True]))
        0.875
    """
    if scores.isnan().any():
        return float("nan")
    _, places, counts = scores.unique(return_inverse=True, return_counts=True)
    # Equal scores share the mean of their ranks, which count from 1.
    ranks = counts.cumsum(0) - (counts - 1).double() / 2
    positives = int(positive.sum())
    above = ranks[places][positive].sum() - positives * (positives + 1) / 2
    return float(above / (positives * (len(scores) - positives)))
