"""A part flattened into a spec, which is hashable and holds no tensor, and its tensors, the operands.

Autograd, compilers and kernels need the two separately, while a user wants to write `Lengths(lengths)`. So a part is a
frozen dataclass whose fields are numbers, other parts or tensors, which this file flattens and unflattens like a
pytree. A part with parameters is an `nn.Module` whose method `part()` returns such a dataclass with the parameters as
its fields. Anything else (a plain function, a user's object) is a leaf of the spec, compared by identity.
"""

import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError, UnknownNameError

__all__ = [
    "CONSTANTS",
    "Differentiable",
    "Slot",
    "declares",
    "flatten_part",
    "is_builtin",
    "map_operands",
    "operands",
    "optional_method",
    "part_of",
    "resolve",
    "select",
    "unflatten_part",
]


@dataclasses.dataclass(frozen=True)
class Slot:
    """Marks the position of a tensor in a spec."""

    index: int


def flatten_part(part: Any) -> tuple[Any, tuple[Tensor, ...]]:
    """Split a part into its spec and its operands.

    Example:
        >>> from regard.attention.masks import Causal, Lengths
        >>> spec, tensors = flatten_part(Causal() & Lengths([3, 5]))
        >>> hash(spec) == hash(flatten_part(Causal() & Lengths([7, 7]))[0]), [t.tolist() for t in tensors]
        (True, [[3, 5]])
    """
    found: list[Tensor] = []

    def strip(tensor: Tensor) -> Slot:
        found.append(tensor)
        return Slot(len(found) - 1)

    return _replace(Tensor, strip, part), tuple(found)


def unflatten_part(spec: Any, tensors: Sequence[Tensor]) -> Any:
    """Rebuild a part from its spec and operands; the inverse of `flatten_part`."""
    return _replace(Slot, lambda slot: tensors[slot.index], spec) if tensors else spec


def operands(part: Any) -> tuple[Tensor, ...]:
    """The tensors that a part computes with."""
    # A loop, since several steps of a call ask, and mostly there are none.
    found: list[Tensor] = []
    todo = [part]
    while todo:
        each = todo.pop()
        kind = type(each)
        if kind in CONSTANTS:
            continue
        if isinstance(each, Tensor):
            found.append(each)
        elif kind is tuple:
            todo += reversed(each)
        elif isinstance(each, torch.nn.Module) and hasattr(each, "part"):
            todo.append(each.part())  # pyright: ignore[reportCallIssue]
        else:
            for name in reversed(_fields(kind)):
                todo.append(getattr(each, name))
    return tuple(found)


def map_operands(function: Callable[[Tensor], Tensor], part: Any) -> Any:
    """The part with the result of a function in place of each of its operands."""
    return _replace(Tensor, function, part)


def part_of(module: torch.nn.Module) -> Any:
    """What a module with parameters computes with; the module itself if it is a part as it is."""
    return module.part() if hasattr(module, "part") else module  # pyright: ignore[reportCallIssue]


class Differentiable:
    """Parts as functions of their floating-point operands, for autograd; other operands, such as lengths, are constant.

    Attributes:
        operands: the floating-point operands of all the parts.

    Example:
        >>> from regard.attention import Additive
        >>> from regard.attention.masks import Lengths
        >>> parts = Differentiable(Additive(torch.ones(2)), Lengths([3, 5]))
        >>> [operand.tolist() for operand in parts.operands]
        [[1.0, 1.0]]
        >>> score, lengths = parts.with_operands(torch.zeros(2))
        >>> score.vector, parts.gradients([torch.ones(2)])
        (tensor([0., 0.]), ([tensor([1., 1.])], [None]))
    """

    def __init__(self, *parts: Any):
        self._flattened = [flatten_part(part) for part in parts]
        self.operands = [each for _, tensors in self._flattened for each in tensors if each.is_floating_point()]

    def with_operands(self, *changed: Tensor) -> tuple[Any, ...]:
        """The parts with these operands in place of `operands`."""
        given = iter(changed)
        return tuple(
            unflatten_part(spec, [next(given) if each.is_floating_point() else each for each in tensors])
            for spec, tensors in self._flattened
        )

    def of_operands(self, given: Sequence[Tensor | None]) -> list[Tensor]:
        """A tensor for each of `operands`, zeros if none, from one or None for every operand of the parts."""
        every = [tensor for _, tensors in self._flattened for tensor in tensors]
        return [
            torch.zeros_like(tensor) if one is None else one
            for tensor, one in zip(every, given, strict=True)
            if tensor.is_floating_point()
        ]

    def gradients(self, found: Sequence[Tensor]) -> tuple[list[Tensor | None], ...]:
        """For each part, a gradient for each operand, given those of `operands`; None for constant ones."""
        given = iter(found)
        return tuple(
            [next(given) if each.is_floating_point() else None for each in tensors] for _, tensors in self._flattened
        )


def select(part: Any, heads: Tensor) -> Any:
    """The part for these heads, (group,) numbers, if it has parameters for each head; otherwise the part itself."""
    chosen = getattr(part, "select", None)
    if chosen is None:
        return part
    selected = chosen(heads)
    if selected is None:
        raise ArgumentError(f"`select` of {type(part).__name__} must return the part for these heads, but gave None.")
    return selected


def optional_method(part: Any, extra: str, main: str = "__call__") -> Callable[..., Any] | None:
    """A method that a part may have besides its main one; None if it has none, or one that doesn't fit the main one.

    A subclass that overrides the main method doesn't inherit, for example, the gradient of the method it overrides.

    Example:
        >>> from regard.attention import Softmax
        >>> class Sharp(Softmax):
        ...     def __call__(self, scores, allowed):
        ...         return super().__call__(4 * scores, allowed)
        >>> optional_method(Softmax(), "vjp") is None, optional_method(Sharp(), "vjp") is None
        (False, True)
    """
    # The attribute may be a property that raises AttributeError.
    return getattr(part, extra, None) if _is_offered(type(part), extra, main) else None


@functools.cache
def _is_offered(kind: type, extra: str, main: str) -> bool:
    for base in kind.__mro__:
        if extra in vars(base):
            return vars(base)[extra] is not None
        if main in vars(base):
            return False
    return False


@functools.cache
def declares(kind: type, name: str) -> Any:
    """What a part's class declares under this name; None for a subclass, which may compute something else.

    Example:
        >>> from regard.attention import Cosine
        >>> class Doubled(Cosine):
        ...     def __call__(self, query, key):
        ...         return 2 * super().__call__(query, key)
        >>> declares(Cosine, "inner_product"), declares(Doubled, "inner_product")
        (True, None)
    """
    return vars(kind).get(name)


def is_builtin(part: Any) -> bool:
    """Whether a part belongs to this package, so that its behaviour is known."""
    module: str = getattr(part, "__module__", None) or type(part).__module__
    return module.startswith("regard.")


# What most fields hold. They are no parts, so they needn't be searched for tensors, which every call would pay for.
CONSTANTS = frozenset((type(None), bool, int, float, str))


def _replace(kind: type, function: Callable[[Any], Any], part: Any) -> Any:
    """The part with the result of a function in place of everything of this kind in it."""
    if isinstance(part, kind):
        return function(part)
    if isinstance(part, torch.nn.Module) and hasattr(part, "part"):
        return _replace(kind, function, part.part())  # pyright: ignore[reportCallIssue]
    if type(part) is tuple:
        return tuple([item if _is_leaf(type(item), kind) else _replace(kind, function, item) for item in part])
    changes: dict[str, Any] = {}
    for name in _fields(type(part)):
        old = getattr(part, name)
        if isinstance(old, kind):
            new = function(old)
        elif _is_leaf(type(old), kind):
            continue
        else:
            new = _replace(kind, function, old)
        if new is not old:
            changes[name] = new
    if not changes:
        return part
    # Unlike `dataclasses.replace`, a copy makes no checks, which expect a tensor, not a slot.
    kind = type(part)
    if kind.__module__.startswith("regard."):
        changed = object.__new__(kind)
        vars(changed).update(vars(part), **changes)
        return changed
    changed = copy.copy(part)
    for name, new in changes.items():
        object.__setattr__(changed, name, new)
    return changed


@functools.cache
def _is_leaf(kind: type, wanted: type) -> bool:
    """Whether nothing of the wanted kind can be in something of this kind."""
    holds = kind is tuple or issubclass(kind, (wanted, torch.nn.Module)) or bool(_fields(kind))
    return kind in CONSTANTS or not holds


@functools.cache
def _fields(kind: type) -> tuple[str, ...]:
    """The names of a dataclass's fields; none for anything else. Cached, since every call needs them."""
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else ()


# The modules that hold each kind of part.
_HOMES = {"score": "scores", "weights": "weights", "position": "positions", "mask": "masks"}
_OTHER_HOMES = {
    kind: tuple(f"regard.attention.{home}" for other, home in _HOMES.items() if other != kind) for kind in _HOMES
}


def resolve(kind: str, part: Any, known: Mapping[str, Any], method: str = "__call__") -> Any:
    """Turn a name into the part that it names, and check a part that is passed as an object.

    Raises:
        UnknownNameError: no part has that name.
        ArgumentError: the named part needs arguments, or the object lacks the method that this kind of part has.
    """
    if isinstance(part, str):
        if part not in known:
            raise UnknownNameError(kind, part, known)
        return _named(kind, part, known[part])
    if isinstance(part, torch.nn.Module):
        part = part_of(part)
    if type(part).__module__.startswith(_OTHER_HOMES[kind]) and is_builtin(part):
        raise ArgumentError(
            f"`{kind}` must be one of {', '.join(known)}, or of your own, but is {type(part).__name__} of "
            f"{type(part).__module__}: pass it as the argument of that name."
        )
    if part is torch.softmax or part is torch.nn.functional.softmax:
        raise ArgumentError(f"`{kind}` must normalise over the keys: pass 'softmax', not PyTorch's function.")
    if isinstance(part, type) or not callable(getattr(part, method, None)):
        raise ArgumentError(
            f"`{kind}` must be a name ({', '.join(known)}), a part, or a function, but is {part!r}"
            + (f" (a class: did you mean {part.__name__}()?)." if isinstance(part, type) else ".")
        )
    return part


@functools.cache
def _named(kind: str, name: str, part: Any) -> Any:
    """The part that a name stands for, made once: parts never change."""
    try:
        return part()
    except TypeError as error:
        raise ArgumentError(
            f"`{kind}` {name!r} needs arguments, so its name alone is not enough: pass {part.__name__}(...) instead."
        ) from error
