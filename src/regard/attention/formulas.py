"""The steps of a score or a normaliser as data: formulas that are shown as they are written, and computed from that.

A class of the package gives them by `steps()`, in order. `inspection/steps` computes them in Python, and the page whose
numbers can be edited in JavaScript; neither knows a part by its name. An expression is one of Python: numbers, names,
`+ - * / ** @`, `==`, `a if condition else b`, exp, tanh, sigmoid, log, sqrt, min and max of two numbers, and

- `length(x)`, `direction(x)`: the norm of a vector, and the vector divided by it, 0 for a vector of zeros;
- `first(x)`: true for the first key of those for which x is true;
- `among_the_largest(s, k)`: true for the k keys with the highest scores, the first of equals, if exp doesn't make 0 of
  them;
- `threshold(s, total, above)`: the t with which the following formula's results sum to the total; `above` is how far
  above t a score with the weight `w` lies.

Names are those of the formulas and numbers before, and `q` and `k`, the query and the keys, of `size` features; or `s`,
the scores of a query, minus infinity where hidden, which sees `count` keys. `inf` is infinity.
"""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

__all__ = ["PRODUCTS", "Formula", "Given"]


@dataclass(frozen=True)
class Given:
    """A number, or numbers, that formulas compute with, such as a temperature.

    Args:
        name: what formulas call it.
        symbol: what it is shown as. Letters after "_" are its axes: j for keys, f for features.
        value: what it is, or an expression for that.
        limits: between which numbers a reader may choose it on the page; None if it can't be chosen.
    """

    name: str
    symbol: str
    value: float | Tensor | str
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Formula:
    """A step.

    Args:
        name: its name among the phrases of `inspection/steps/phrases.py`.
        symbol: what its result is shown as, with axes as in `Given`.
        text: the expression, with its operands in braces.
        reduces: "sum" or "max" if the operand's last axis is summed, or its largest taken.
        value: what is computed where the text only describes it.
        to: what later formulas call the result; by default, its symbol's first letter.
        unless: a name and a number: the step is left out where they are equal.
    """

    name: str
    symbol: str
    text: str
    reduces: Literal["sum", "max"] | None = None
    value: str = ""
    to: str = ""
    unless: tuple[str, float] | None = None


PRODUCTS = (Formula("products", "p_jf", "{q} * {k}"), Formula("sum", "s_j", "{p}", reduces="sum"))
