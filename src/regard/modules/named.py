"""Parts by name, for a module that owns them: a name makes one of the module's own, with the sizes it needs."""

import inspect
from collections.abc import Mapping
from typing import Any

from torch import nn

from regard.errors import ArgumentError, UnknownNameError

__all__ = ["part_by_name"]


def part_by_name(kind: str, part: Any, known: Mapping[str, Any], *, head_size: int, heads: int) -> Any:
    """The part that a name stands for, made with the sizes that its constructor can't do without.

    A part without parameters and sizes stays a name: the operator resolves it, and a record can say it. What isn't a
    name is let through.

    Raises:
        UnknownNameError: no part has that name.
        ArgumentError: the part needs more than the sizes of the heads.

    Example:
        >>> from regard.attention import POSITIONS, SCORES
        >>> part_by_name("score", "dot", SCORES, head_size=4, heads=3)
        'dot'
        >>> part_by_name("position", "relative", POSITIONS, head_size=4, heads=3).table.shape[-1]
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
