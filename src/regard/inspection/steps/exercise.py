"""Exercises: blanks to fill in, and the slip that a wrong answer gives away."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.scores import Dot
from regard.inputs.lines import parse_number
from regard.inspection.steps.matrices import Matrices
from regard.inspection.steps.steps import Steps, steps

__all__ = ["Blank", "blanks"]

_ASKED = ("sum", "scale", "exp", "normalise")


@dataclass(frozen=True)
class Blank:
    """A number to find.

    Attributes:
        name: the step to which it belongs.
        formula: how it is computed.
        value: the right answer.
        slips: the wrong number that each slip gives, such as "forgot sqrt(d)"; none of them is right.
    """

    name: str
    formula: str
    value: float
    slips: Mapping[str, float]

    def check(self, answer: str) -> str:
        """What an answer is: "right", "wrong", "no number", or the name of a slip.

        Example:
            >>> blank = Blank("scale", "s_j := s_j / sqrt(d)", 2.3094, {"forgot sqrt(d)": 4.0})
            >>> [blank.check(answer) for answer in ("2.31", "4", "2.3", "two")]
            ['right', 'forgot sqrt(d)', 'wrong', 'no number']
        """
        # Answers may have full-width digits, and a decimal comma.
        written = unicodedata.normalize("NFKC", answer).strip().replace("。", ".")
        number = parse_number(written.replace(",", ".") if written.count(",") == 1 and "." not in written else written)
        if number is None:
            return "no number"
        if _equal(number, self.value):
            return "right"
        return next((name for name, value in self.slips.items() if _equal(number, value)), "wrong")


def blanks(matrices: Matrices, walk: Steps, **parts: Any) -> list[Blank]:
    """The blanks of one query: sum, scale, exp and weight for one key, and each feature of the output.

    Args:
        matrices: query, key and value.
        walk: the steps of the row.
        parts: the score, weights and mask of the steps, as `steps` takes them.

    Raises:
        ArgumentError: the parts can't be used.
    """
    row, column = walk.row, walk.column
    all_slips = _slips(matrices, walk, parts)
    exercise = []
    for step in walk.steps:
        if step.name in _ASKED and walk.allowed[column]:
            slips = {name: values[column] for name, values in all_slips.get(step.name, {}).items()}
            can_confuse_axes = matrices.query.shape == matrices.key.shape and max(row, column) < matrices.query.shape[1]
            if step.name == "sum" and can_confuse_axes:
                slips["column"] = matrices.query[:, row] @ matrices.key[:, column]
            exercise.append(_blank(step.name, step.formula, step.values[column], slips))
    output = walk.steps[-1]
    for feature, value in enumerate(output.values):
        slips = {name: values[feature] for name, values in all_slips["output"].items()}
        exercise.append(_blank("output", f"{output.formula}, c = {feature + 1}", value, slips))
    return exercise


def _slips(matrices: Matrices, walk: Steps, parts: dict[str, Any]) -> dict[str, dict[str, Tensor]]:
    """For each step and slip, what the slip gives for every key, or for every feature of the output."""
    query, key, value = matrices.tensors
    wrong_walks: dict[str, Steps] = {}
    if query.shape == key.shape:
        wrong_walks["transposed"] = steps(key, query, value, **parts, row=walk.row)
    if "scale" in walk and parts.get("score") == "scaled_dot":
        size = query.shape[-1]
        for name, score in (("forgot sqrt(d)", "dot"), ("divided by d", Dot(1.0 / size))):
            wrong_walks[name] = steps(query, key, value, **{**parts, "score": score}, row=walk.row)
    slips: dict[str, dict[str, Tensor]] = {
        "sum": {name: wrong["sum"] for name, wrong in wrong_walks.items() if name == "transposed" and "sum" in wrong},
        "scale": {name: wrong.scores for name, wrong in wrong_walks.items()},
        "exp": {name: wrong["exp"] for name, wrong in wrong_walks.items() if "exp" in wrong},
        "normalise": {name: wrong.weights for name, wrong in wrong_walks.items() if name != "divided by d"},
    }
    if parts.get("weights", "softmax") == "softmax":
        scores = torch.where(walk.allowed, walk.scores, 0.0)
        if "exp" in walk:
            slips["exp"] |= {"forgot exp": scores - walk["maximum"], "forgot maximum": scores.exp()}
        slips["normalise"]["forgot exp"] = scores / scores.sum()
        if len(matrices.query) > 1:
            rows = [steps(query, key, value, **parts, row=row).scores for row in range(len(matrices.query))]
            over_queries = torch.stack(rows).softmax(0)[walk.row]
            slips["normalise"]["wrong axis"] = torch.where(walk.allowed, over_queries, 0.0)
    slips["output"] = {name: weights @ matrices.value for name, weights in slips["normalise"].items()}
    return slips


def _blank(name: str, formula: str, value: Tensor, slips: Mapping[str, Tensor]) -> Blank:
    right = float(value)
    return Blank(name, formula, right, {slip: float(x) for slip, x in slips.items() if not _equal(float(x), right)})


def _equal(number: float, value: float) -> bool:
    """Whether the given number is the value, rounded to two decimals or to four digits."""
    return abs(number - value) <= max(0.005, 0.0005 * abs(value)) * (1 + 1e-9)
