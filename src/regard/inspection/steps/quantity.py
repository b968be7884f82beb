"""The numbers of a step: what they are called, and along which axes they lie."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

__all__ = ["Axis", "Quantity", "Step"]

Axis = Literal["key", "feature", "value"]

_INDICES = {"key": "j", "feature": "f", "value": "c"}


@dataclass(frozen=True, eq=False)
class Quantity:
    """Numbers with a symbol.

    Args:
        symbol: what formulas call one of the numbers, such as "q_f"; its indices are those of the axes.
        values: the numbers.
        axes: the names of their axes: "key", "feature" (of query and key) and "value" (a feature of the values).
    """

    symbol: str
    values: Tensor
    axes: tuple[Axis, ...] = ()


@dataclass(frozen=True, eq=False)
class Step(Quantity):
    """Numbers, and how they follow from those of earlier steps.

    Args:
        name: the stable name of the step, such as "scale".
        template: the formula, as an expression of Python with a field for each operand: "exp({s} - {m})".
        operands: what the fields stand for.
        reduces: "sum" or "max" if the step sums or takes the largest over the axis that its one operand has more.
    """

    name: str = ""
    template: str = ""
    operands: Mapping[str, Quantity] = field(default_factory=dict)
    reduces: Literal["sum", "max"] | None = None

    @property
    def formula(self) -> str:
        """The formula in one line.

        Example:
            >>> import torch
            >>> scores = Quantity("s_j", torch.tensor([2.0, 4.0]), ("key",))
            >>> Step("z_j", scores.values / 2, ("key",), "temperature", "{s} / {T}",
            ...      {"s": scores, "T": Quantity("T", torch.tensor(2.0))}).formula
            'z_j = s_j / T'
        """
        expression = self.template.format(**{name: each.symbol for name, each in self.operands.items()})
        if self.reduces is not None:
            expression = f"{self.reduces}_{_INDICES[self.reduced]} {expression}"
        # Some steps change what they began with, as the scale does the scores.
        equals = ":=" if any(each.symbol == self.symbol for each in self.operands.values()) else "="
        return f"{self.symbol} {equals} {expression.replace('**', '^').replace('*', 'x')}"

    @property
    def reduced(self) -> Axis:
        """The axis that the step sums over, or takes the largest of."""
        (operand,) = self.operands.values()
        return next(axis for axis in operand.axes if axis not in self.axes)
