"""Make the part of an attention module that a name stands for, with the sizes that it needs."""

import inspect
from collections.abc import Mapping
from typing import Any

from torch import nn

from regard.errors import ArgumentError, UnknownNameError

__all__ = ["make_part"]


def make_part(kind: str, part: Any, known: Mapping[str, Any], *, head_size: int, heads: int) -> Any:
    """Make the part that a name stands for, with the sizes that its constructor requires.

    The name of a part without parameters and sizes is returned unchanged: the operator resolves it, and a record can
    show it. Anything else than a string is returned unchanged, too.

    Raises:
        UnknownNameError: no part has that name.
        ArgumentError: the part requires more than the number and the size of the heads.

    Example:
        >>> from regard.attention import POSITIONS, SCORES
        >>> make_part("score", "dot", SCORES, head_size=4, heads=3)
        'dot'
        >>> make_part("position", "relative", POSITIONS, head_size=4, heads=3).table.shape[-1]
        4
    """
    if not isinstance(part, str):
        return part
    if part not in known:
        raise UnknownNameError(kind, part, known)
    make = known[part]
    needed = [
        name
        for name, parameter in inspect.signature(make).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    sizes = {"head_size": head_size, "heads": heads}
    if unknown := [name for name in needed if name not in sizes]:
        raise ArgumentError(
            f"`{kind}` {part!r} needs `{'`, `'.join(unknown)}`, so its name alone is not enough: "
            f"pass {getattr(make, '__name__', part)}(...) instead."
        )
    if not needed and not (isinstance(make, type) and issubclass(make, nn.Module)):
        return part
    return make(**{name: sizes[name] for name in needed})
