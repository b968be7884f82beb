"""Freeze what a user's function captures, and see whether it has changed since.

A function reads its variables when it runs. The gradient computes tiles again, and a loop's variable may have another
value by then; so functions are frozen when they are handed over. The mask that a mask_mod becomes is kept from call to
call; it is used again only if nothing that the function captures has changed.
"""

import functools
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

__all__ = ["State", "frozen", "state"]

# Functions of these packages depend on no variable of the user's, unless they are made inside of another function.
_LIBRARIES = ("torch", "numpy")
_MOST = 10_000  # values that are compared; where there are more, it is faster to ask the mask_mod again


def frozen(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the values that its variables have now, which no later assignment changes.

    Functions that it calls are frozen with it. Objects aren't copied: their attributes may still change.

    Example:
        >>> slope = 2
        >>> function = frozen(lambda x: slope * x)
        >>> slope = 3
        >>> function(1)
        2
    """
    return _frozen(function, {})


def _frozen(value: Any, copies: dict[int, Any]) -> Any:
    if id(value) in copies:
        return copies[id(value)]
    if isinstance(value, types.FunctionType):
        return _frozen_function(value, copies)
    if isinstance(value, functools.partial):
        arguments = [_frozen(item, copies) for item in value.args]
        named = {name: _frozen(item, copies) for name, item in value.keywords.items()}
        return functools.partial(_frozen(value.func, copies), *arguments, **named)
    if isinstance(value, types.MethodType):
        return types.MethodType(_frozen(value.__func__, copies), value.__self__)
    if type(value) is tuple:
        return tuple(_frozen(item, copies) for item in value)
    return value


def _frozen_function(function: types.FunctionType, copies: dict[int, Any]) -> Any:
    names = _global_names(function)
    if not names and not function.__closure__:
        return function
    variables = function.__globals__
    if names:
        variables = {"__builtins__": variables.get("__builtins__"), "__name__": function.__module__}
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    copy = types.FunctionType(function.__code__, variables, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__, copy.__qualname__ = function.__kwdefaults__, function.__qualname__
    copy.__dict__.update(function.__dict__)
    copies[id(function)] = copy  # before its variables are frozen: one of them may be the function itself
    for name in names:
        variables[name] = _frozen(function.__globals__[name], copies)
    for cell, captured in zip(cells, function.__closure__ or (), strict=True):
        if _is_full(captured):
            cell.cell_contents = _frozen(captured.cell_contents, copies)
    return copy


def _global_names(function: types.FunctionType) -> list[str]:
    """The global variables that a function, or one defined inside of it, may read."""
    if (function.__module__ or "").split(".")[0] in _LIBRARIES:
        return []
    names: dict[str, None] = {}
    todo: list[types.CodeType] = [function.__code__]
    while todo:
        code = todo.pop()
        names.update(dict.fromkeys(name for name in code.co_names if name in function.__globals__))
        todo += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return list(names)


def _is_full(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class State:
    """What a function captures at one moment. Between equal states the function computes the same.

    Attributes:
        constants: numbers, texts and the like, with their types.
        objects: what is compared by identity. They are kept alive, so that no new object gets the same id.
        tensors: each with its version or, if it has none (in inference mode), a copy of its numbers.
    """

    constants: tuple[Any, ...]
    objects: tuple[Any, ...]
    tensors: tuple[tuple[Tensor, int | Tensor], ...]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, State)
            and self.constants == other.constants
            and len(self.objects) == len(other.objects)
            and all(mine is theirs for mine, theirs in zip(self.objects, other.objects, strict=True))
            and len(self.tensors) == len(other.tensors)
            and all(map(_is_same, self.tensors, other.tensors))
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def state(*values: Any) -> State | None:
    """What these values hold, such as a function's variables or an object's attributes; None if that is unknown."""
    constants: list[Any] = []
    objects: list[Any] = []
    tensors: list[tuple[Tensor, int | Tensor]] = []
    seen: dict[int, Any] = {}
    todo = list(values)
    while todo:
        value = todo.pop()
        if isinstance(value, _CONSTANTS):
            constants.append((type(value), value))
            continue
        if id(value) in seen:
            constants.append(list(seen).index(id(value)))
            continue
        seen[id(value)] = value
        if len(seen) > _MOST:
            return None
        if isinstance(value, Tensor):
            if type(value) not in (Tensor, torch.nn.Parameter):
                return None
            tensors.append((value, value.clone() if value.is_inference() else value._version))
        elif isinstance(value, _BY_IDENTITY):
            objects.append(value)
        else:
            parts = _parts(value)
            if parts is None:
                return None
            constants.append(type(value))
            todo += parts
    return State(tuple(constants), tuple(objects), tuple(tensors))


_CONSTANTS = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device)
_BY_IDENTITY = (type, types.ModuleType, types.BuiltinFunctionType, types.CodeType, types.MethodDescriptorType)


def _parts(value: Any) -> list[Any] | None:
    """The values of which a value consists; None if they are unknown."""
    if isinstance(value, types.FunctionType):
        return list(_variables(value))
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, value.keywords]
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, tuple | list):
        return [len(value), *value]
    attributes = getattr(value, "__dict__", None)
    return None if attributes is None else [attributes]


def _variables(function: types.FunctionType) -> Iterator[Any]:
    yield function.__code__
    yield function.__defaults__
    yield function.__kwdefaults__
    for name in _global_names(function):
        yield function.__globals__[name]
    for cell in function.__closure__ or ():
        if _is_full(cell):
            yield cell.cell_contents


def _is_same(one: tuple[Tensor, int | Tensor], other: tuple[Tensor, int | Tensor]) -> bool:
    (tensor, before), (other_tensor, now) = one, other  # each `before` and `now` is a version or a copy
    if tensor is not other_tensor:
        return False
    if isinstance(before, Tensor) or isinstance(now, Tensor):
        return isinstance(before, Tensor) and isinstance(now, Tensor) and torch.equal(before, now)
    return before == now
