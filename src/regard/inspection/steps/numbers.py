"""Numbers of steps as text: four significant digits, vectors in brackets, formulas with their numbers put in."""

import math
from decimal import Context, Decimal, localcontext

from torch import Tensor

from regard.inspection.steps.quantity import Quantity, Step

__all__ = ["adds_up", "number", "vector", "worked"]

_MOST = 6  # of a longer vector or sum, the first ones and the last are shown
_MOST_TERMS = 24  # of more terms not all are written anywhere
_DIGITS = 700  # enough for the sum of any two numbers in float64


def number(value: float) -> str:
    """A number, with four significant digits.

    Example:
        >>> [number(value) for value in (2.0, 0.0633789, -0.0, 1e-17, float("-inf"), 12345.6)]
        ['2', '0.06338', '0', '0', '-inf', '12350']
    """
    if not math.isfinite(value):
        return str(value)
    # Sums in float64 leave remainders like 1e-17 where the result is 0.
    if abs(value) < 1e-12:
        return "0"
    text = f"{value:.4g}"
    return text if "e" not in text or abs(value) >= 1e9 or abs(value) < 1e-4 else f"{float(text):.0f}"


def vector(values: Tensor) -> str:
    """A number, or a vector in brackets.

    Example:
        >>> import torch
        >>> vector(torch.tensor([1.0, 0.25])), vector(torch.arange(9.0))
        ('[1, 0.25]', '[0, 1, 2, 3, 4, ..., 8]')
    """
    if not values.ndim:
        return number(float(values))
    return f"[{', '.join(_cut([vector(each) for each in values]))}]"


def worked(step: Step, column: int) -> str:
    """The formula of a step with its numbers put in, and the result, for one key.

    Example:
        >>> import torch
        >>> scores = Quantity("s_j", torch.tensor([2.0, 4.0]), ("key",))
        >>> worked(Step("Z", scores.values.sum(), (), "total", "{s}", {"s": scores}, "sum"), 0)
        '2 + 4 = 6'
    """
    result = vector(_at(step, column))
    # Functions that the formula only names have no numbers to put in.
    if not step.operands:
        return result
    if step.reduces is None:
        given = {name: _put_in(_at(each, column), step.template) for name, each in step.operands.items()}
        return f"{step.template.format(**given).replace('**', '^').replace('*', 'x')} = {result}"
    (operand,) = step.operands.values()
    values = operand.values if step.reduced == "key" else _at(operand, column)
    terms = _cut([vector(each) for each in values])
    if step.reduces == "max":
        return f"max({', '.join(terms)}) = {result}"
    return f"{' + '.join(f'({term})' if term.startswith('-') else term for term in terms)} = {result}"


def adds_up(step: Step, column: int) -> bool:
    """Whether the terms of a sum, as they are written, give its result as it is written.

    It is true of other steps, and of a sum of more than 24 terms, of which not all are written.

    Args:
        step: the step.
        column: the key of a step that has a number for each.

    Example:
        >>> import torch
        >>> products = Quantity("p_jf", torch.tensor([[1.23446, 1.23446], [1.5, 2.0]]), ("key", "feature"))
        >>> summed = Step("s_j", products.values.sum(1), ("key",), "sum", "{p}", {"p": products}, "sum")
        >>> worked(summed, 0), adds_up(summed, 0), adds_up(summed, 1)
        ('1.234 + 1.234 = 2.469', False, True)
    """
    if step.reduces != "sum":
        return True
    (operand,) = step.operands.values()
    terms = operand.values if step.reduced == "key" else _at(operand, column)
    # A vector is a sum for each of its numbers.
    if not 0 < len(terms) <= _MOST_TERMS:
        return True
    columns = terms.reshape(len(terms), -1).T.tolist()
    return all(map(_is_sum, columns, _at(step, column).reshape(-1).tolist()))


def _is_sum(terms: list[float], result: float) -> bool:
    if not all(map(math.isfinite, (*terms, result))):
        return True
    with localcontext(Context(prec=_DIGITS)):
        written = Decimal(number(result))
        return sum((Decimal(number(term)) for term in terms), Decimal(0)).quantize(written) == written


def _at(quantity: Quantity, column: int) -> Tensor:
    return quantity.values[column] if "key" in quantity.axes else quantity.values


def _put_in(values: Tensor, template: str) -> str:
    text = vector(values)
    return f"({text})" if text.startswith("-") and "(" not in template else text


def _cut(texts: list[str]) -> list[str]:
    return texts if len(texts) <= _MOST else [*texts[: _MOST - 1], "...", texts[-1]]
