"""The steps from the scores of one query to its weights, for each of the package's normalisers.

A normaliser that isn't known here, such as a user's own, is one step: "normalise".
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from regard.attention.weights import Budget, Entmax, Hard, Relu, Sigmoid, Softmax, Sparsemax, TopK
from regard.inspection.steps.quantity import Quantity, Step

__all__ = ["weight_steps"]


def weight_steps(weights: Any, scores: Quantity, allowed: Tensor) -> list[Step]:
    """The steps of a normaliser.

    Args:
        weights: the part, for one head.
        scores: (key,), minus infinity where hidden.
        allowed: (key,), bool; at least one key is allowed.

    Returns:
        The steps; the last one is "normalise", and its values are the weights, (key,).
    """
    # By the exact type: a subclass may compute something else.
    return _SPLIT.get(type(weights), _whole)(weights, scores, allowed)


def _whole(weights: Any, scores: Quantity, allowed: Tensor) -> list[Step]:
    return [_normalised("weights({s})", {"s": scores}, torch.where(allowed, _weighed(weights, scores, allowed), 0.0))]


def _softmax(weights: Softmax, scores: Quantity, allowed: Tensor) -> list[Step]:
    temperature = Quantity("T", _scalar(weights.temperature, scores))
    if temperature.values == 1.0:
        return _shares(scores)
    scaled = scores.values / temperature.values
    cooled = Step("z_j", scaled, ("key",), "temperature", "{s} / {T}", {"s": scores, "T": temperature})
    return [cooled, *_shares(cooled)]


def _top_k(weights: TopK, scores: Quantity, allowed: Tensor) -> list[Step]:
    chosen = _weighed(weights, scores, allowed) != 0
    kept = torch.where(chosen, scores.values, -torch.inf)
    count = Quantity("k", _scalar(weights.keys, scores))
    step = Step("z_j", kept, ("key",), "largest", "{s} if among_the_largest({k}) else -inf", {"s": scores, "k": count})
    return [step, *_shares(step)]


def _shares(scores: Quantity) -> list[Step]:
    """Softmax, after the maximum is subtracted: the weights are the same, and the exponentials can't overflow."""
    highest = Step("m", scores.values.amax(), (), "maximum", "{s}", {"s": scores}, "max")
    powers = (scores.values - highest.values).exp()
    exp = Step("e_j", powers, ("key",), "exp", "exp({s} - {m})", {"s": scores, "m": highest})
    total = Step("Z", powers.sum(), (), "total", "{e}", {"e": exp}, "sum")
    return [highest, exp, total, _normalised("{e} / {Z}", {"e": exp, "Z": total}, powers / total.values)]


def _relu(weights: Relu, scores: Quantity, allowed: Tensor) -> list[Step]:
    positive = Step("r_j", scores.values.relu(), ("key",), "positive part", "max({s}, 0)", {"s": scores})
    divisor = Quantity("n", _scalar(int(allowed.sum()) if weights.divisor is None else weights.divisor, scores))
    return [positive, _normalised("{r} / {n}", {"r": positive, "n": divisor}, positive.values / divisor.values)]


def _sigmoid(weights: Sigmoid, scores: Quantity, allowed: Tensor) -> list[Step]:
    if weights.bias is None:
        bias = Quantity("(-log(n))", _scalar(-math.log(int(allowed.sum())), scores))
    else:
        bias = Quantity("b", _scalar(weights.bias, scores))
    sums = scores.values + bias.values
    shifted = Step("z_j", sums, ("key",), "bias", "{s} + {b}", {"s": scores, "b": bias})
    return [shifted, _normalised("1 / (1 + exp(-{z}))", {"z": shifted}, sums.sigmoid())]


def _sparsemax(weights: Sparsemax, scores: Quantity, allowed: Tensor) -> list[Step]:
    found = _weighed(weights, scores, allowed)
    threshold = _threshold(scores.values, found, found)
    values = (scores.values - threshold.values).clamp(min=0.0)
    return [threshold, _normalised("max({s} - {t}, 0)", {"s": scores, "t": threshold}, values)]


def _entmax(weights: Entmax, scores: Quantity, allowed: Tensor) -> list[Step]:
    found = _weighed(weights, scores, allowed)
    alpha = Quantity("alpha", _scalar(weights.alpha, scores))
    less = alpha.values - 1.0
    scaled = Step("z_j", less * scores.values, ("key",), "scaled scores", "({a} - 1) * {s}", {"a": alpha, "s": scores})
    threshold = _threshold(scaled.values, found, found**less)
    values = (scaled.values - threshold.values).clamp(min=0.0) ** (1.0 / less)
    operands = {"z": scaled, "t": threshold, "a": alpha}
    return [scaled, threshold, _normalised("max({z} - {t}, 0) ** (1 / ({a} - 1))", operands, values)]


def _budget(weights: Budget, scores: Quantity, allowed: Tensor) -> list[Step]:
    found = _weighed(weights, scores, allowed)
    threshold = _threshold(scores.values, found, found)
    values = (scores.values - threshold.values).clamp(0.0, 1.0)
    return [threshold, _normalised("min(max({s} - {t}, 0), 1)", {"s": scores, "t": threshold}, values)]


def _threshold(scores: Tensor, weights: Tensor, above: Tensor) -> Step:
    """t, for which the weights sum to what they must: the score minus how far it lies above t.

    It is read off the key with the lowest score among those with a weight. With `Budget` this weight may be 1, which t
    is then the largest to give.
    """
    last = torch.where(weights > 0, scores, torch.inf).argmin()
    formula = "the t for which the weights have their sum"
    return Step("t", scores[last] - above[last], (), "threshold", formula)


def _hard(weights: Hard, scores: Quantity, allowed: Tensor) -> list[Step]:
    highest = Step("m", scores.values.amax(), (), "maximum", "{s}", {"s": scores}, "max")
    first = _weighed(weights, scores, allowed)
    return [highest, _normalised("1 if first({s} == {m}) else 0", {"s": scores, "m": highest}, first)]


def _weighed(weights: Any, scores: Quantity, allowed: Tensor) -> Tensor:
    # A part takes (group, query, key): here one group of one query.
    return weights(scores.values[None, None], allowed[None, None])[0, 0]


def _normalised(template: str, operands: dict[str, Quantity], values: Tensor) -> Step:
    return Step("w_j", values, ("key",), "normalise", template, operands)


def _scalar(number: float | Tensor, like: Quantity) -> Tensor:
    if isinstance(number, Tensor):
        return number.detach().to(like.values).reshape(())
    return like.values.new_tensor(number)


_SPLIT: dict[type, Callable[[Any, Quantity, Tensor], list[Step]]] = {
    Softmax: _softmax,
    Relu: _relu,
    Sigmoid: _sigmoid,
    Sparsemax: _sparsemax,
    Entmax: _entmax,
    Budget: _budget,
    TopK: _top_k,
    Hard: _hard,
}
