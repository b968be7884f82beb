"""Make the part of an attention module that a name stands for, with the sizes that it needs."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from regard.errors import ArgumentError, UnknownNameError

__all__ = ["PerLayer", "make_part"]


@dataclass(frozen=True)
class PerLayer:
    """A part that each attention module makes for itself, where a name wouldn't say enough.

    Args:
        make: makes the part; `head_size` and `heads` are passed to it if it requires them.

    Example:
        >>> import functools
        >>> from regard.attention import Relative
        >>> from regard.modules import Encoder
        >>> encoder = Encoder(12, 2, heads=3, hidden=8, position=PerLayer(functools.partial(Relative, reach=5)))
        >>> [tuple(layer.attention.position.table.shape) for layer in encoder.layers]
        [(11, 4), (11, 4)]
    """

    make: Callable[..., Any]


def make_part(kind: str, part: Any, known: Mapping[str, Any], *, head_size: int, heads: int) -> Any:
    """Make the part that a name or a `PerLayer` stands for, with the sizes that its constructor requires.

    The name of a part without parameters and sizes is returned unchanged: the operator resolves it, and a record can
    show it. Anything else than a string or a `PerLayer` is returned unchanged, too.

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
    sizes = {"head_size": head_size, "heads": heads}
    if isinstance(part, PerLayer):
        needed = _required(part.make)
        if unknown := [name for name in needed if name not in sizes]:
            raise ArgumentError(
                f"`make` of the PerLayer for `{kind}` must require `head_size` and `heads` at most, but requires "
                f"`{'`, `'.join(unknown)}`. Set those, by functools.partial."
            )
        return part.make(**{name: sizes[name] for name in needed})
    if not isinstance(part, str):
        return part
    if part not in known:
        raise UnknownNameError(kind, part, known)
    make = known[part]
    needed = _required(make)
    if unknown := [name for name in needed if name not in sizes]:
        raise ArgumentError(
            f"`{kind}` {part!r} needs `{'`, `'.join(unknown)}`, so its name alone is not enough: "
            f"pass {getattr(make, '__name__', part)}(...) instead."
        )
    if not needed and not (isinstance(make, type) and issubclass(make, nn.Module)):
        return part
    return make(**{name: sizes[name] for name in needed})


def _required(make: Callable[..., Any]) -> list[str]:
    """The names of the parameters without a default."""
    return [
        name
        for name, parameter in inspect.signature(make).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
