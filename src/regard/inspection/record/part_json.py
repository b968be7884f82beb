"""Parts as JSON and named tensors, and back, without pickle: only this package's own classes can be named."""

import dataclasses
import math
import numbers
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from regard.attention import masks, positions, scores, weights
from regard.attention.masks import Mask, Predicate
from regard.attention.positions import Position
from regard.attention.sizes import Origin
from regard.inspection.capture.by_hand.rules import AsScores, Distances, KeyIntervals
from regard.inspection.capture.layers.sampled import Sampled
from regard.inspection.capture.layers.window_with_globals import GlobalProjections, WindowWithGlobals
from regard.inspection.record.effective import Effective, Gated, StateSpace
from regard.modules.efficient import BigBird, Longformer, Strided
from regard.modules.huggingface import SoftCapped
from regard.modules.vision.convolution_attention import SquaredDistance

__all__ = ["PARTS", "NotStorable", "describe", "rebuild"]


class NotStorable(Exception):
    """A part, or something inside of it, that only code can describe; the argument is that thing."""


def _found() -> dict[str, type]:
    """The classes that a file may name."""
    rooms = {masks: Mask, positions: Position, scores: object, weights: object}
    known = [each for room, base in rooms.items() for each in vars(room).values() if _is_part(each, base)]
    known += [WindowWithGlobals, GlobalProjections, Sampled, StateSpace, Effective, Gated, Origin]
    known += [KeyIntervals, Distances, SoftCapped, SquaredDistance, AsScores, BigBird, Longformer, Strided]
    return {each.__name__: each for each in known}


def _is_part(thing: Any, base: type) -> bool:
    if not isinstance(thing, type) or not issubclass(thing, base) or thing is Predicate:
        return False
    # Scores and normalisers have no base class.
    return dataclasses.is_dataclass(thing) and (
        base is not object or any("__call__" in vars(up) for up in thing.__mro__)
    )


def describe(part: Any, store: Callable[[Tensor], str]) -> Any:
    """A part as JSON.

    Args:
        part: a name, a part, or a module that has one.
        store: takes a tensor and gives its name.

    Raises:
        NotStorable: it is no part of this package.

    Example:
        >>> from regard.attention import Causal, Lengths
        >>> describe(~Causal(), str)
        {'class': 'Not', 'fields': {'mask': {'class': 'Causal', 'fields': {}}}}
        >>> describe(Lengths([3]), lambda tensor: "a")["fields"]["both"]
        {'tensor': 'a'}
    """
    if isinstance(part, nn.Module) and hasattr(part, "part"):
        return describe(part.part(), store)  # pyright: ignore[reportCallIssue]
    if part is None or isinstance(part, bool | str):
        return part
    if isinstance(part, numbers.Integral):
        return int(part)
    if isinstance(part, numbers.Real):
        number = float(part)
        return number if math.isfinite(number) else {"float": str(number)}
    if isinstance(part, Tensor):
        return {"tensor": store(part)}
    if type(part) in (tuple, list):
        items: Any = part
        return {type(part).__name__: [describe(each, store) for each in items]}
    if PARTS.get(type(part).__name__) is not type(part):
        raise NotStorable(part)
    return {
        "class": type(part).__name__,
        "fields": {name: describe(value, store) for name, value in _arguments(part).items()},
    }


def rebuild(tree: Any, tensor: Callable[[str], Tensor]) -> Any:
    """The part that `describe` described; its class checks its arguments as for any other caller.

    Args:
        tree: the JSON.
        tensor: gives the tensor of a name.

    Raises:
        ValueError: it describes no part; the text begins with what it must be.
    """
    if tree is None or isinstance(tree, bool | str | int | float):
        return tree
    match tree:
        case {"float": ("inf" | "-inf" | "nan") as number, **others} if not others:
            return float(number)
        case {"tensor": str(name), **others} if not others:
            return tensor(name)
        case {"tuple": list(items), **others} if not others:
            return tuple(rebuild(each, tensor) for each in items)
        case {"list": list(items), **others} if not others:
            return [rebuild(each, tensor) for each in items]
        case {"class": str(name), "fields": dict(fields), **others} if not others:
            if name not in PARTS:
                raise ValueError(f"a part must be of a class of regard, but is of {name!r:.60}")
            return PARTS[name](**{field: rebuild(value, tensor) for field, value in fields.items()})
        case _:
            raise ValueError(f"a part must be described by its class and fields, but is {tree!r:.60}")


def _arguments(part: Any) -> dict[str, Any]:
    """What the class is called with to get an equal part."""
    if hasattr(part, "arguments"):
        return part.arguments()
    return {each.name: getattr(part, each.name) for each in dataclasses.fields(part) if each.init}


PARTS = _found()
