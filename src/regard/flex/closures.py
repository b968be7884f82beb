"""What a user's function captures: to freeze it, and to see whether it has changed.

A function reads its variables when it runs. Tiles are computed again for the gradient, when a loop's variable may have
another value already, and what a mask_mod became is kept from call to call. So functions are frozen when they are
handed over, and what was kept is used only as long as everything that the function captures is the same.
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
_MOST = 10_000  # values that are looked at: more of them would take longer than to ask a mask_mod again


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


def _frozen(value: Any, made: dict[int, Any]) -> Any:
    if id(value) in made:
        return made[id(value)]
    if isinstance(value, types.FunctionType):
        return _frozen_function(value, made)
    if isinstance(value, functools.partial):
        arguments = [_frozen(each, made) for each in value.args]
        named = {name: _frozen(each, made) for name, each in value.keywords.items()}
        return functools.partial(_frozen(value.func, made), *arguments, **named)
    if isinstance(value, types.MethodType):
        return types.MethodType(_frozen(value.__func__, made), value.__self__)
    if type(value) is tuple:
        return tuple(_frozen(each, made) for each in value)
    return value


def _frozen_function(function: types.FunctionType, made: dict[int, Any]) -> Any:
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
    made[id(function)] = copy  # before its variables are frozen, one of which may be the function itself
    for name in names:
        variables[name] = _frozen(function.__globals__[name], made)
    for cell, own in zip(cells, function.__closure__ or (), strict=True):
        if _is_full(own):
            cell.cell_contents = _frozen(own.cell_contents, made)
    return copy


def _global_names(function: types.FunctionType) -> list[str]:
    """The global variables that a function, or one defined inside of it, may read."""
    if (function.__module__ or "").split(".")[0] in _LIBRARIES:
        return []
    found: dict[str, None] = {}
    todo: list[types.CodeType] = [function.__code__]
    while todo:
        code = todo.pop()
        found.update(dict.fromkeys(name for name in code.co_names if name in function.__globals__))
        todo += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return list(found)


def _is_full(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class State:
    """What a function captures, at one moment. Equal states mean that the function gives the same as it did.

    Attributes:
        constants: numbers, texts and the like, with their types.
        objects: what is compared by identity; kept alive, so that no other object has the same.
        tensors: each with its version, or if it has none (in inference mode) a copy of its numbers.
    """

    constants: tuple[Any, ...]
    objects: tuple[Any, ...]
    tensors: tuple[tuple[Tensor, int | Tensor], ...]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, State)
            and self.constants == other.constants
            and len(self.objects) == len(other.objects)
            and all(one is another for one, another in zip(self.objects, other.objects, strict=True))
            and len(self.tensors) == len(other.tensors)
            and all(map(_is_same, self.tensors, other.tensors))
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def state(*values: Any) -> State | None:
    """What these values hold: a function's variables, an object's attributes, and so on; None if that can't be told."""
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
            held = _held(value)
            if held is None:
                return None
            constants.append(type(value))
            todo += held
    return State(tuple(constants), tuple(objects), tuple(tensors))


_CONSTANTS = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device)
_BY_IDENTITY = (type, types.ModuleType, types.BuiltinFunctionType, types.CodeType, types.MethodDescriptorType)


def _held(value: Any) -> list[Any] | None:
    """The values of which another consists; None if that is unknown."""
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
    if one[0] is not other[0]:
        return False
    if isinstance(one[1], Tensor) or isinstance(other[1], Tensor):
        return isinstance(one[1], Tensor) and isinstance(other[1], Tensor) and torch.equal(one[1], other[1])
    return one[1] == other[1]
