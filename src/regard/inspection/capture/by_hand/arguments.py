"""What the arguments of a call are: tensors, parameters, an elementwise product; and whether the call changes them."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from regard.inspection.capture.by_hand.elementwise import outer_product
from regard.inspection.capture.by_hand.followed import is_learned
from regard.inspection.capture.by_hand.product import Product
from regard.inspection.capture.interception_disabled import interception_disabled
from regard.inspection.capture.tensor_map import TensorMap

__all__ = [
    "are_alike",
    "changes_in_place",
    "is_by_parameter",
    "is_in_place",
    "outer_of",
    "tensors_of",
    "unchanged_since",
]


def is_by_parameter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether one of the factors is a parameter, as in the linear maps of which models are built."""
    factors = (*args[1:3], kwargs.get("weight"), kwargs.get("mat2"))
    return any(isinstance(each, Tensor) and each.ndim > 1 and is_learned(each) for each in factors)


def outer_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Product | None:
    """The product that a sum over the last axis makes of two tensors' elementwise product; None if it is none."""
    if len(args) != 2 or kwargs not in ({}, {"dim": -1}) or not all(isinstance(each, Tensor) for each in args):
        return None
    with interception_disabled():
        return outer_product(*args)


def unchanged_since(map: TensorMap[tuple[Any, int]], args: tuple[Any, ...]) -> Any | None:
    """What is known of the first argument, if nothing was changed in it since."""
    entry = map.get(args[0]) if args and isinstance(args[0], Tensor) else None
    return entry[0] if entry is not None and entry[1] == changes_in_place(args[0]) else None


def is_in_place(name: str) -> bool:
    """Whether a function changes its first argument, by its name."""
    if name.endswith("__"):
        return name == "__setitem__" or name.startswith("__i")
    return name.endswith("_")


def are_alike(scores: Tensor, weights: Tensor) -> bool:
    return scores.shape[-2:] == weights.shape[-2:] and scores.numel() == weights.numel()


def tensors_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Tensor]:
    for each in (*args, *kwargs.values()):
        if isinstance(each, Tensor):
            yield each
        elif isinstance(each, list | tuple):
            yield from (one for one in each if isinstance(one, Tensor))


def changes_in_place(tensor: Tensor) -> int:
    """How often a tensor was changed in place; tensors of inference mode don't say."""
    return -1 if tensor.is_inference() else tensor._version
