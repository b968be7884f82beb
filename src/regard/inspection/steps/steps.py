"""How one row of attention comes about, number by number: from a query and the keys to the output."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from regard.attention.masks import Dense, allows
from regard.attention.parts import declares, select
from regard.attention.positions import Both, Position
from regard.attention.precision import no_autocast, wide_dtype
from regard.attention.request import Request
from regard.attention.user_parts import UserPart
from regard.errors import ArgumentError
from regard.inspection.capture.by_hand.rules import AsScores
from regard.inspection.record.effective import Effective
from regard.inspection.steps.evaluation import evaluated
from regard.inspection.steps.quantity import Quantity, Step

__all__ = ["Steps", "check_index", "steps"]


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of one query, in order, and one key, for which they are written out.

    Attributes:
        query: (feature,), the vector of the query.
        key: (key, feature), the vectors of the keys.
        value: (key, value), the vectors of the values.
        allowed: (key,), which keys the query may see.
        steps: the steps; the last one is "output".
        row, column: the indices of the query and of the key, from 0.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    allowed: Tensor
    steps: tuple[Step, ...] = field(repr=False)
    row: int
    column: int

    def __contains__(self, name: object) -> bool:
        return any(step.name == name for step in self.steps)

    def __getitem__(self, name: str) -> Tensor:
        """The numbers of the step of this name; a KeyError if there is none."""
        for step in self.steps:
            if step.name == name:
                return step.values
        raise KeyError(name)

    @property
    def scores(self) -> Tensor:
        """(key,), what is normalised: the scores after position and mask; zeros if every key is hidden.

        The weights themselves if they are known from a table, without scores.
        """
        if not self.allowed.any():
            return torch.zeros_like(self["normalise"])
        last = ("mask", "position", "soft cap", "scale", "sum", "score", "normalise")
        return next(self[name] for name in last if name in self)

    @property
    def weights(self) -> Tensor:
        """(key,), the weights."""
        return self["normalise"]

    @property
    def output(self) -> Tensor:
        """(value,), the row of the output."""
        return self.steps[-1].values


def steps(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Any = None,
    position: Any = None,
    row: int = 0,
    column: int | None = None,
    batch: int = 0,
    head: int = 0,
) -> Steps:
    """How one row of `attend` comes about: products, sum, scale, position, mask, exp, normalise, weighted sum.

    Which steps there are depends on the parts. They are computed in float64; with a part of the user's own, which may
    not take that, in the dtype in which the operator computes. A key that the mask hides has scores up to the step
    "mask", and no effect after it. If the mask hides every key, there are only the steps from "mask" on, and the output
    is zeros.

    Args:
        query, key, value, score, weights, mask, position: as `attend` takes them.
        row: the index of the query.
        column: the index of the key for which steps are written out; by default that with the largest weight.
        batch, head: the indices of the item and of the head of the query.

    Raises:
        ArgumentError: an argument can't be used, or there is no such row, column, item or head.

    Example:
        >>> import torch
        >>> query = torch.tensor([[[[1.0, 0, 2], [2, 2, 2], [2, 1, 3]]]])
        >>> key = torch.tensor([[[[0.0, 1, 1], [4, 4, 0], [2, 3, 1]]]])
        >>> value = torch.tensor([[[[1.0, 2, 3], [2, 8, 0], [2, 6, 3]]]])
        >>> walk = steps(query, key, value, score="dot")
        >>> [step.name for step in walk.steps]
        ['products', 'sum', 'maximum', 'exp', 'total', 'normalise', 'weighted values', 'output']
        >>> walk["sum"].tolist()
        [2.0, 4.0, 4.0]
        >>> walk.output
        tensor([1.9366, 6.6831, 1.5951], dtype=torch.float64)
    """
    with torch.no_grad():
        request = Request.of(
            query, key, value, score=score, weights=weights, mask=mask, position=position, dropout=0.0, seed=0
        )
        _check_place(request, row, column, batch, head)
        with no_autocast(query):
            return _walk(request, row, column, batch, head)


def _walk(request: Request, row: int, column: int | None, batch: int, head: int) -> Steps:
    heads, keys = request.query.shape[1], request.key.shape[2]
    device, dtype = request.query.device, _dtype(request)
    at = request.index(*(torch.tensor(place, device=device) for place in ([batch * heads + head], [row], range(keys))))
    allowed = allows(request.parts.mask, at).expand(1, 1, keys)[0, 0]
    chosen = torch.tensor([head], device=device)
    score, weights, position = (
        select(part, chosen) for part in (request.parts.score, request.parts.weights, request.parts.position)
    )
    own = head // (heads // max(request.key.shape[1], 1)) if request.key.shape[1] else 0
    q = Quantity("q_f", request.query[batch, head, row].detach().to(dtype), ("feature",))
    k = Quantity("k_jf", request.key[batch, own].detach().to(dtype), ("key", "feature"))
    v = Quantity("v_jc", request.value[batch, own].detach().to(dtype), ("key", "value"))
    if not allowed.any():
        found = _hidden(allowed, v)
        return Steps(q.values, k.values, v.values, allowed, tuple(found), row, column or 0)
    found, q_at, k_at = _positioned(position, q, k, at)
    found += _score_steps(score, q_at, k_at)
    found += _position_steps(position, found[-1], q_at, k_at, at)
    if type(request.parts.mask) is not Dense:
        found.append(_masked(found[-1], allowed))
    if type(weights) is AsScores:
        # The scores are no products but a table of the weights, and the steps to them would say nothing.
        found = [_given(torch.where(allowed, found[-1].values, 0.0), "the weight, from a table")]
    elif type(weights) is Effective:
        # Nor are they here, where the position scheme has put the effective weights in their place.
        found = [_given(torch.where(allowed, found[-1].values, 0.0), "the effective weight, from the recurrence")]
    else:
        found += _weight_steps(weights, found[-1], allowed)
    found += _output_steps(position, found[-1], v, allowed, at)
    weighed = next(step.values for step in found if step.name == "normalise")
    column = int(weighed.argmax()) if column is None else column
    return Steps(q.values, k.values, v.values, allowed, tuple(found), row, column)


def _positioned(position: Position, query: Quantity, key: Quantity, at: Any) -> tuple[list[Step], Quantity, Quantity]:
    """Query and keys after the position's change, with the steps of it, if it makes one."""
    if not position.overrides("heads"):
        return [], query, key
    queries, keys = position.heads(
        query.values[None, None], key.values[None], at.position.squeeze(2), at.key.squeeze(1)
    )
    formula = (declares(type(position), "formulas") or {}).get("heads", "position({x})")
    first = Step("q'_f", queries[0, 0], ("feature",), "positioned query", formula, {"x": query})
    second = Step("k'_jf", keys[0], ("key", "feature"), "positioned keys", formula, {"x": key})
    return [first, second], first, second


def _position_steps(position: Position, scores: Step, query: Quantity, key: Quantity, at: Any) -> list[Step]:
    """What the position does to the scores."""
    if not position.overrides("scores"):
        return []

    def changed(before: Tensor) -> Tensor:
        return position.scores(before[None, None].clone(), query.values[None, None], key.values[None], at)[0, 0]

    after = changed(scores.values)
    if isinstance(position, UserPart) or not position.adds:
        return [Step("s_j", after, ("key",), "position", "position({s})", {"s": scores})]
    # The package's own schemes add something to the scores, which may depend on the vectors.
    bias = changed(torch.zeros_like(scores.values))
    added = Step("b_j", bias, ("key",), "position bias", _formula(position, "scores"))
    return [added, Step("s_j", after, ("key",), "position", "{s} + {b}", {"s": scores, "b": added})]


def _given(weights: Tensor, said: str) -> Step:
    return Step("w_j", weights, ("key",), "normalise", said)


def _masked(scores: Step, allowed: Tensor) -> Step:
    hidden = torch.where(allowed, 0.0, -torch.inf).to(scores.values)
    values = torch.where(allowed, scores.values, -torch.inf)
    return Step("s_j", values, ("key",), "mask", "{s} + {m}", {"s": scores, "m": Quantity("mask_j", hidden, ("key",))})


def _output_steps(position: Position, weights: Step, value: Quantity, allowed: Tensor, at: Any) -> list[Step]:
    # Not the plain product: what is hidden may be NaN.
    weighted = torch.where(allowed.unsqueeze(-1), weights.values.unsqueeze(-1) * value.values, 0.0)
    products = Step("u_jc", weighted, ("key", "value"), "weighted values", "{w} * {v}", {"w": weights, "v": value})
    total = products.values.sum(0)
    if not position.overrides("outputs"):
        return [products, Step("o_c", total, ("value",), "output", "{u}", {"u": products}, "sum")]
    summed = Step("y_c", total, ("value",), "weighted sum", "{u}", {"u": products}, "sum")
    output = position.outputs(total[None, None].clone(), weights.values[None, None], at)[0, 0]
    if isinstance(position, UserPart):
        return [products, summed, Step("o_c", output, ("value",), "output", "position({y})", {"y": summed})]
    extra = position.outputs(torch.zeros_like(total)[None, None], weights.values[None, None], at)[0, 0]
    added = Step("r_c", extra, ("value",), "position of values", _formula(position, "outputs"))
    return [products, summed, added, Step("o_c", output, ("value",), "output", "{y} + {r}", {"y": summed, "r": added})]


def _hidden(allowed: Tensor, value: Quantity) -> list[Step]:
    """The steps of a query that may see nothing."""
    zeros = torch.zeros_like(allowed, dtype=value.values.dtype)
    mask = Step("mask_j", zeros - torch.inf, ("key",), "mask", "-inf, as every key is hidden")
    weights = Step("w_j", zeros, ("key",), "normalise", "0, as every key is hidden")
    products = Step("u_jc", torch.zeros_like(value.values), ("key", "value"), "weighted values", "0")
    return [
        mask,
        weights,
        products,
        Step("o_c", value.values.new_zeros(value.values.shape[1]), ("value",), "output", "0"),
    ]


def _formula(position: Position, hook: str) -> str:
    """The formula of what the package's scheme adds; the first that adds something is named first."""
    if isinstance(position, Both):
        return " + ".join(_formula(part, hook) for part in (position.first, position.second) if part.overrides(hook))
    return (declares(type(position), "formulas") or {}).get(hook, "b(j - i)")


def _dtype(request: Request) -> torch.dtype:
    parts = request.parts.score, request.parts.weights, request.parts.position
    # MPS has no float64.
    if any(isinstance(part, UserPart) for part in parts) or request.query.device.type == "mps":
        return wide_dtype(request.query)
    return torch.float64


def _check_place(request: Request, row: int, column: int | None, batch: int, head: int) -> None:
    (items, heads, queries), keys = request.query.shape[:3], request.key.shape[2]
    for name, index, count in (("batch", batch, items), ("head", head, heads), ("row", row, queries)):
        check_index(name, index, count)
    if column is not None:
        check_index("column", column, keys)


def check_index(name: str, index: Any, count: int) -> None:
    """Check that an argument is one of so many indices.

    Raises:
        ArgumentError: it isn't.
    """
    if type(index) is not int or not 0 <= index < count:
        among = f"a whole number from 0 to {count - 1}" if count else "left out, since there is nothing to choose from,"
        raise ArgumentError(f"`{name}` must be {among}, but is {index!r}.")


def _score_steps(score: Any, query: Quantity, key: Quantity) -> list[Step]:
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


def _weight_steps(weights: Any, scores: Quantity, allowed: Tensor) -> list[Step]:
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
