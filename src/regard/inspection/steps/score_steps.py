"""The steps from one query and its keys to their scores, for each of the package's scores.

A score that isn't known here, such as a user's own, is one step: the score itself.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from regard.attention.scores import Additive, Bilinear, Cosine, Dot, ScaledDot
from regard.inspection.steps.quantity import Quantity, Step
from regard.modules.huggingface import SoftCapped

__all__ = ["score_steps"]


def score_steps(score: Any, query: Quantity, key: Quantity) -> list[Step]:
    """The steps of a score.

    Args:
        score: the part, for one head.
        query: (feature,).
        key: (key, feature).

    Returns:
        The steps; the last one's values are the scores, (key,).
    """
    # By the exact type: a subclass may compute something else.
    return _SPLIT.get(type(score), _whole)(score, query, key)


def _whole(score: Any, query: Quantity, key: Quantity) -> list[Step]:
    # A part takes (group, query, feature): here one group of one query.
    scores = score(query.values[None, None], key.values[None])[0, 0]
    return [Step("s_j", scores, ("key",), "score", "score({q}, {k})", {"q": query, "k": key})]


def _dot(score: Dot, query: Quantity, key: Quantity) -> list[Step]:
    steps = _products(query, key)
    if score.scale == 1.0:
        return steps
    return [*steps, _scaled(steps[-1], Quantity("scale", _scalar(score.scale, query)))]


def _scaled_dot(score: ScaledDot, query: Quantity, key: Quantity) -> list[Step]:
    steps = _products(query, key)
    root = Quantity("sqrt(d)", _scalar(math.sqrt(max(len(query.values), 1)), query))
    scores = steps[-1].values / root.values
    return [*steps, Step("s_j", scores, ("key",), "scale", "{s} / {d}", {"s": steps[-1], "d": root})]


def _soft_capped(score: SoftCapped, query: Quantity, key: Quantity) -> list[Step]:
    steps = _products(query, key)
    scaled = _scaled(steps[-1], Quantity("scale", _scalar(score.scale, query)))
    cap = Quantity("cap", _scalar(score.cap, query))
    values = cap.values * (scaled.values / cap.values).tanh()
    return [*steps, scaled, Step("s_j", values, ("key",), "soft cap", "{c} * tanh({s} / {c})", {"s": scaled, "c": cap})]


def _bilinear(score: Bilinear, query: Quantity, key: Quantity) -> list[Step]:
    matrix = score.matrix.to(query.values.dtype).reshape(len(query.values), -1)
    projected = Step("q'_f", query.values @ matrix, ("feature",), "projected query", "{q} W", {"q": query})
    return [projected, *_products(projected, key)]


def _cosine(score: Cosine, query: Quantity, key: Quantity) -> list[Step]:
    _, queries, keys = dataclasses.replace(score, scale=1.0).reduce(query.values[None], key.values)
    lengths = [
        Quantity(name, each.values.norm(dim=-1), each.axes[:-1]) for name, each in (("|q|", query), ("|k_j|", key))
    ]
    first = Step("q'_f", queries[0], ("feature",), "query direction", "{q} / {n}", {"q": query, "n": lengths[0]})
    second = Step("k'_jf", keys, ("key", "feature"), "key directions", "{k} / {n}", {"k": key, "n": lengths[1]})
    steps = [first, second, *_products(first, second)]
    if not isinstance(score.scale, Tensor) and score.scale == 1.0:
        return steps
    return [*steps, _scaled(steps[-1], Quantity("scale", _scalar(score.scale, query)))]


def _additive(score: Additive, query: Quantity, key: Quantity) -> list[Step]:
    dtype = query.values.dtype
    vector = Quantity("u_f", score.vector.detach().to(dtype).reshape(-1), ("feature",))
    template, operands, total = "{q} + {k}", {"q": query, "k": key}, query.values + key.values
    if score.bias is not None:
        operands["b"] = Quantity("b_f", score.bias.detach().to(dtype).reshape(-1), ("feature",))
        template, total = "{q} + {k} + {b}", total + operands["b"].values
    axes = ("key", "feature")
    sums = Step("x_jf", total, axes, "sums of vectors", template, operands)
    if score.activation == "tanh":
        active = Step("a_jf", total.tanh(), axes, "activation", "tanh({x})", {"x": sums})
    else:
        slope = Quantity("slope", _scalar(score.slope, query))
        leaky = torch.nn.functional.leaky_relu(total, score.slope)
        active = Step("a_jf", leaky, axes, "activation", "max({x}, 0) + {m} * min({x}, 0)", {"x": sums, "m": slope})
    return [sums, active, *_products(vector, active)]


def _products(first: Quantity, second: Quantity) -> list[Step]:
    """The products of each feature, and their sum for each key."""
    products = Step(
        "p_jf", first.values * second.values, ("key", "feature"), "products", "{q} * {k}", {"q": first, "k": second}
    )
    return [products, Step("s_j", products.values.sum(-1), ("key",), "sum", "{p}", {"p": products}, "sum")]


def _scaled(scores: Step, scale: Quantity) -> Step:
    return Step("s_j", scores.values * scale.values, ("key",), "scale", "{s} * {c}", {"s": scores, "c": scale})


def _scalar(number: float | Tensor, like: Quantity) -> Tensor:
    if isinstance(number, Tensor):
        return number.detach().to(like.values).reshape(())
    return like.values.new_tensor(number)


_SPLIT: dict[type, Callable[[Any, Quantity, Quantity], list[Step]]] = {
    Dot: _dot,
    ScaledDot: _scaled_dot,
    Additive: _additive,
    Bilinear: _bilinear,
    Cosine: _cosine,
    SoftCapped: _soft_capped,
}
