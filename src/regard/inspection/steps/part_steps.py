"""The steps of the parts: from one query and its keys to their scores, and from the scores to the weights.

A part whose class gives no formulas, such as a user's own, is one step.
"""

from typing import Any

import torch
from torch import Tensor

from regard.attention.parts import declares
from regard.inspection.steps.evaluation import evaluated
from regard.inspection.steps.quantity import Quantity, Step

__all__ = ["score_steps", "weight_steps"]


def score_steps(score: Any, query: Quantity, key: Quantity) -> list[Step]:
    """The steps of a score.

    Args:
        score: the part, for one head.
        query: (feature,).
        key: (key, feature).

    Returns:
        The steps; the last one's values are the scores, (key,).
    """
    formulas = declares(type(score), "steps")
    if formulas is not None:
        return evaluated(formulas(score), {"q": query, "k": key}, size=len(query.values))
    # A part takes (group, query, feature): here one group of one query.
    scores = score(query.values[None, None], key.values[None])[0, 0]
    return [Step("s_j", scores, ("key",), "score", "score({q}, {k})", {"q": query, "k": key})]


def weight_steps(weights: Any, scores: Quantity, allowed: Tensor) -> list[Step]:
    """The steps of a normaliser.

    Args:
        weights: the part, for one head.
        scores: (key,), minus infinity where hidden.
        allowed: (key,), bool; at least one key is allowed.

    Returns:
        The steps; the last one is "normalise", and its values are the weights, (key,).
    """
    if bool((scores.values == -torch.inf).all()):
        zeros = torch.zeros_like(scores.values)
        return [Step("w_j", zeros, ("key",), "normalise", "0, as every score is minus infinity")]
    # A part takes (group, query, key): here one group of one query.
    found = weights(scores.values[None, None], allowed[None, None])[0, 0]
    formulas = declares(type(weights), "steps")
    if formulas is not None:
        known = {"s": scores, "w": Quantity("w_j", found, ("key",))}
        return evaluated(formulas(weights), known, count=int(allowed.sum()))
    return [Step("w_j", torch.where(allowed, found, 0.0), ("key",), "normalise", "weights({s})", {"s": scores})]
