"""Formulas computed: the steps of a score or a normaliser, from what its class says of them (attention/formulas.py)."""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from regard.attention.formulas import Formula, Given
from regard.inspection.steps.quantity import Axis, Quantity, Step

__all__ = ["as_json", "evaluated"]

_AXES: dict[str, Axis] = {"j": "key", "f": "feature", "c": "value"}

Tree = str | float | list[Any]


def evaluated(formulas: Sequence[Formula | Given], known: Mapping[str, Quantity], **numbers: float) -> list[Step]:
    """The steps of formulas.

    Args:
        formulas: of a part.
        known: what the formulas begin with, by name: the query "q" and the keys "k", or the scores "s" and the weights
            that the part makes of them, "w".
        numbers: further names: "size" or "count".

    Example:
        >>> from regard.attention import Softmax
        >>> scores = Quantity("s_j", torch.tensor([2.0, 4.0, 4.0]), ("key",))
        >>> for step in evaluated(Softmax(2.0).steps(), {"s": scores}, count=3)[::2]:
        ...     print(step.formula, step.values)
        z_j = s_j / T tensor([1., 2., 2.])
        e_j = exp(z_j - m) tensor([0.3679, 1.0000, 1.0000])
        w_j = e_j / Z tensor([0.1554, 0.4223, 0.4223])
    """
    like = next(iter(known.values())).values
    names = dict(known)
    for name, number in {**numbers, "inf": torch.inf}.items():
        names[name] = Quantity(name, like.new_tensor(number))
    found: list[Step] = []
    for each in formulas:
        axes = _axes(each.symbol)
        if isinstance(each, Given):
            names[each.name] = Quantity(each.symbol, _given(each.value, axes, names, like), axes)
            continue
        if each.unless is not None and bool(names[each.unless[0]].values == each.unless[1]):
            continue
        values = _value(_tree(each.value or _expression(each.text)), names, axes, like)
        if each.reduces is not None:
            values = values.sum(-1) if each.reduces == "sum" else values.amax(-1)
        operands = {name: names[name] for name in _operands(each.text)}
        step = Step(each.symbol, values, axes, each.name, each.text, operands, each.reduces)
        names[_result(each)] = step
        found.append(step)
    return found


def as_json(formulas: Sequence[Formula | Given]) -> list[dict[str, Any]]:
    """The formulas for the page's script: expressions as trees, [function, argument, ...].

    Example:
        >>> from regard.attention import Relu
        >>> as_json(Relu().steps())[0]["tree"]
        ['max', 's', 0]
    """
    return [_given_json(each) if isinstance(each, Given) else _formula_json(each) for each in formulas]


def _given_json(given: Given) -> dict[str, Any]:
    value = given.value
    if isinstance(value, str):
        of = {"tree": _tree(value)}
    else:
        of = {"values": value.tolist() if isinstance(value, Tensor) else value}
    found = {"name": given.name, "symbol": given.symbol, "axes": _axes(given.symbol), **of}
    if given.limits is None:
        return {"given": found}
    low, high = given.limits
    return {"given": {**found, "low": low, "high": high, "whole": isinstance(given.value, int)}}


def _formula_json(formula: Formula) -> dict[str, Any]:
    return {
        "name": formula.name,
        "symbol": formula.symbol,
        "axes": _axes(formula.symbol),
        "text": formula.text,
        "operands": _operands(formula.text),
        "reduces": formula.reduces,
        "tree": _tree(formula.value or _expression(formula.text)),
        "to": _result(formula),
        "unless": formula.unless,
    }


def _axes(symbol: str) -> tuple[Axis, ...]:
    """The axes that the indices of a symbol name: (key, feature) for "k'_jf"."""
    found = re.fullmatch(r"\|?[a-z]'?_([jfc]+)\|?", symbol)
    return tuple(_AXES[letter] for letter in found[1]) if found else ()


def _operands(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"\{(\w+)\}", text)))


def _expression(text: str) -> str:
    return re.sub(r"\{(\w+)\}", r"\1", text)


def _result(formula: Formula) -> str:
    return formula.to or formula.symbol[0]


_OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.Eq: "==",
}


@cache
def _tree(expression: str) -> Tree:
    """An expression as nested lists, [function, argument, ...], of names and numbers."""
    return _nested(ast.parse(expression, mode="eval").body)


def _nested(node: Any) -> Tree:
    match node:
        case ast.Name(name):
            return name
        case ast.Constant(int() | float() as number):
            return number
        case ast.UnaryOp(ast.USub(), operand):
            return ["negative", _nested(operand)]
        case ast.BinOp(left, operator, right) | ast.Compare(left, [operator], [right]):
            return [_OPERATORS[type(operator)], _nested(left), _nested(right)]
        case ast.IfExp(test, body, other):
            return ["if", _nested(test), _nested(body), _nested(other)]
        case ast.Call(ast.Name(function), arguments):
            return [function, *map(_nested, arguments)]
    raise ValueError(f"formulas have no {ast.unparse(node)}")


def _given(value: float | Tensor | str, axes: tuple[Axis, ...], names: dict[str, Quantity], like: Tensor) -> Tensor:
    if isinstance(value, str):
        return _value(_tree(value), names, axes, like)
    if not isinstance(value, Tensor):
        return like.new_tensor(value)
    # One for this head alone is left of what each head has its own of; a matrix has no axes that steps name.
    shape = (-1,) if axes else value.shape[-2:] if value.ndim > 1 else ()
    return value.detach().to(like).reshape(shape)


def _value(tree: Tree, names: Mapping[str, Quantity], axes: tuple[Axis, ...], like: Tensor) -> Tensor:
    """The value of an expression with these axes, in the dtype and on the device of `like`."""
    if isinstance(tree, str):
        return _with_axes(names[tree], axes)
    if isinstance(tree, list):
        function, *arguments = tree
        return _FUNCTIONS[function](*(_value(each, names, axes, like) for each in arguments))
    return like.new_tensor(tree)


def _with_axes(quantity: Quantity, axes: tuple[Axis, ...]) -> Tensor:
    """The numbers, with those of the axes added that they lack, unless they have none."""
    values = quantity.values
    for place, axis in enumerate(axes if quantity.axes else ()):
        if axis not in quantity.axes:
            values = values.unsqueeze(place)
    return values


def _threshold(scores: Tensor, total: Tensor, above: Tensor) -> Tensor:
    """t, which the weights are known to have: the score minus how far it lies above t.

    It is read off the key with the lowest score among those with a weight. With `Budget` this weight may be 1, which t
    is then the largest to give.
    """
    last = torch.where(above > 0, scores, torch.inf).argmin()
    return scores[last] - above[last]


def _direction(vectors: Tensor) -> Tensor:
    # Divided by the largest entry first, which keeps the squares from overflowing.
    largest = vectors.abs().amax(-1, keepdim=True) if vectors.shape[-1] else vectors.sum(-1, keepdim=True)
    zero = largest == 0
    scaled = vectors / torch.where(zero, 1.0, largest)
    return torch.where(zero, 0.0, scaled / scaled.square().sum(-1, keepdim=True).sqrt())


def _first(holds: Tensor) -> Tensor:
    return holds & (holds.cumsum(-1) == 1)


def _among_the_largest(scores: Tensor, count: Tensor) -> Tensor:
    order = scores.argsort(descending=True, stable=True)
    chosen = scores.isnan()  # which shows
    chosen[order[: int(count)]] = True
    return chosen & ((scores - scores.amax()).exp() != 0)


_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "+": torch.add,
    "-": torch.sub,
    "*": torch.mul,
    "/": torch.div,
    "**": torch.pow,
    "@": torch.matmul,
    "==": torch.eq,
    "negative": torch.neg,
    "if": torch.where,
    "min": torch.minimum,
    "max": torch.maximum,
    "exp": torch.exp,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "length": lambda vectors: vectors.norm(dim=-1),
    "direction": _direction,
    "first": _first,
    "among_the_largest": _among_the_largest,
    "threshold": _threshold,
}
