"""The parts of the steps by their names, as the command line and the page whose numbers can be edited choose them."""

import math
from typing import Any

from regard.attention.scores import SCORES
from regard.attention.weights import WEIGHTS, Hard, Softmax
from regard.errors import ArgumentError, UnknownNameError
from regard.inspection.steps.matrices import Matrices

__all__ = ["STEP_SCORES", "named_parts"]

# Of a score with parameters, `plain` says what it is without training.
STEP_SCORES = tuple(name for name, made in SCORES.items() if hasattr(made, "plain") or hasattr(made, "steps"))


def named_parts(
    matrices: Matrices, *, score: str, weights: str = "softmax", temperature: float = 1.0, mask: Any = None
) -> dict[str, Any]:
    """The score, weights and mask of `steps`.

    Args:
        matrices: query, key and value.
        score: one of `STEP_SCORES`; "additive" has a vector of ones.
        weights: the name of a normaliser.
        temperature: that of softmax, 0 or more; with 0 the largest score has all the weight, with infinity all weights
            are equal.
        mask: as `attend` takes it.

    Raises:
        UnknownNameError: there is no such score or normaliser.
        ArgumentError: the temperature is below 0 or NaN, or the normaliser has none.

    Example:
        >>> parts = named_parts(Matrices.of([[1]], [[1]], [[1]]), score="dot", temperature=0.0)
        >>> parts["score"], parts["weights"]
        ('dot', Hard())
    """
    if score not in STEP_SCORES:
        raise UnknownNameError("score", score, STEP_SCORES)
    if weights not in WEIGHTS:
        raise UnknownNameError("weights", weights, WEIGHTS)
    if math.isnan(temperature) or temperature < 0:
        raise ArgumentError(f"`temperature` must be 0 or more, but is {temperature!r}.")
    if temperature != 1 and weights != "softmax":
        raise ArgumentError(f"`temperature` is one of softmax, but the weights are {weights!r}. Leave one of them out.")
    parts: dict[str, Any] = {"score": score, "weights": weights, "mask": mask}
    plain = getattr(SCORES[score], "plain", None)
    if plain is not None:
        parts["score"] = plain(matrices.query.shape[1])
    if temperature == 0:
        parts["weights"] = Hard()
    elif temperature != 1:
        # Softmax takes no infinite temperature; with this one all weights are equal to the last bit.
        parts["weights"] = Softmax(min(temperature, 1e300))
    return parts
