"""Names that `attend` and its relatives have no argument for: those of PyTorch's operator, and misspelt ones."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from regard.errors import ArgumentError, nearest

__all__ = ["NoSuch", "refuse_keywords"]


class NoSuch:
    """The type of arguments that don't exist. Nothing is of it, so that type checkers refuse them, too."""


# The arguments of torch.nn.functional.scaled_dot_product_attention, and what to pass instead.
_OF_PYTORCH = {
    "is_causal": "Pass mask='causal', which is aligned at the end.",
    "attn_mask": (
        "Pass mask=, a rule such as Window(2, 2), or a bool table by regard.modules.Pairs(table); pass a float table "
        "by position=Bias(table)."
    ),
    "dropout_p": "Pass dropout=.",
    "scale": "Pass score=Dot(scale).",
    "enable_gqa": "Leave it out: fewer heads of `key` and `value` are shared by those of `query` in any case.",
}


def refuse_keywords(function: Callable[..., Any], unknown: Iterable[str]) -> NoReturn:
    """Say of the first of these names, which the function doesn't take, what to pass instead.

    Raises:
        ArgumentError: always.
    """
    name, parameters = next(iter(unknown)), inspect.signature(function).parameters
    known = [each for each, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    near = nearest(name, known)
    hint = f"Did you mean {near!r}?" if near else f"It takes {', '.join(known)}."
    raise ArgumentError(f"`{name}` is no argument of {function.__name__}. {_OF_PYTORCH.get(name, hint)}")
