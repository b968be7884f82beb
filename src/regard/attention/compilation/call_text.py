"""A call of `attend` as a text that describes everything but its tensors, for compiled and exported programs.

A compiler traces tensors without values, and keeps a text as a constant: another part, or another number in a part,
makes another text and causes a recompilation. The text is read again when the program runs.
"""

import dataclasses
import functools
import importlib
import json
import operator
import types
import uuid
from typing import Any

import torch
from torch import Tensor

from regard.attention.compilation.call_spec import CallSpec
from regard.attention.parts import Slot
from regard.attention.pytorch_internals import compile_time_constant
from regard.errors import RefusedError
from regard.version import __version__

__all__ = ["as_text", "from_text"]


# The compiler traces `as_text` and the functions down to `_object_name`, so they use simple code only.


def as_text(
    parts: tuple[Any, Any, Any, Any], dropout: float, engine: str, log_sums: bool = False
) -> tuple[str, list[Tensor]]:
    """The text of a call, and the tensors of its parts in the order of `flatten_part`.

    Args:
        parts: score, weights, mask and position, as passed to `attend`.
        dropout, engine, log_sums: likewise.

    Raises:
        RefusedError: a part can't be recognised when the compiled function is called again.
    """
    operands: list[Tensor] = []
    gradients = torch.is_grad_enabled()
    return _to_json(_describe(parts, operands), float(dropout).hex(), engine, gradients, log_sums), operands


def _describe(part: Any, found: list[Tensor]) -> Any:
    """A part as nested tuples of constants; its tensors are appended to `found`."""
    if isinstance(part, Tensor):
        found.append(part)
        return ("slot", len(found) - 1)
    if isinstance(part, torch.nn.Module) and hasattr(part, "part"):
        return _describe(part.part(), found)  # pyright: ignore[reportCallIssue]
    # For the compiler a number that changes between calls is symbolic until its value is needed.
    if type(part) is float:
        return ("float", part.hex())
    if type(part) is int:
        return ("value", operator.index(part))
    if part is None or isinstance(part, _CONSTANTS):
        return ("value", part)
    if type(part) is tuple:
        return ("tuple", tuple([_describe(item, found) for item in part]))
    names = _fields(type(part))
    if names is not None:
        fields = tuple([(name, _describe(getattr(part, name), found)) for name in names])
        return ("part", type(part), part.__module__, fields)
    if isinstance(part, types.FunctionType):
        return ("object", _function_name(part))
    if isinstance(part, types.MethodType):
        return ("method", _function_name(part.__func__), _object_name(part.__self__))
    return ("object", _object_name(part))


_CONSTANTS = (str, bool, type, torch.dtype, torch.device, list, dict, set, frozenset, types.BuiltinFunctionType)

_FROM_2_13 = tuple(int(number) for number in torch.__version__.split(".")[:2]) >= (2, 13)


def _function_name(function: Any) -> str:
    """The registered name of a user's function."""
    if function.__code__.co_freevars and not _made_outside(function):
        raise RefusedError(
            f"`{function.__name__}` is made inside of the compiled function and captures a variable of it, which a "
            "compiled part can't. Make it outside, or make it a frozen dataclass with what it captures as fields."
        )
    name = _register_function(function)
    # Accessing these makes the compiler guard on this very function. PyTorch 2.13 or newer guards on `id`; older ones
    # would accept any function with the same code, whatever it captured, so a name stored on the function is read
    # instead. A decorator copies that name, but also sets `__wrapped__`.
    if _FROM_2_13:
        id(function)
    hasattr(function, "__wrapped__")
    return function._regard_name if hasattr(function, "_regard_name") else name


def _made_outside(function: Any) -> bool:
    """Whether the function was made outside of the traced code.

    Before PyTorch 2.14, one made inside has no closure or no access to it. From then on it has no attributes if what it
    captures has no value yet, and otherwise it is made anew each time that it leaves the traced code.
    """
    if not hasattr(function, "__closure__") or not hasattr(function, "__qualname__"):
        return False
    try:
        function.__closure__  # noqa: B018
    except AttributeError:
        return False
    return _register_function(function) == _register_function(function)


def _object_name(thing: Any) -> str:
    """The registered name of a user's object."""
    name = _register_object(thing, id(thing)) if _FROM_2_13 or not torch.compiler.is_dynamo_compiling() else ""
    if not name:
        raise RefusedError(
            f"A compiled function can't keep a part of type {type(thing).__name__}. Make it a frozen dataclass, or, "
            "from PyTorch 2.13 on, an object that is made outside of the function."
        )
    return name


# The following functions aren't traced, but run while a function is compiled; their results are constants there.


@compile_time_constant
def _fields(kind: type) -> tuple[str, ...] | None:
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None


@compile_time_constant
def _register_object(thing: Any, number: int) -> str:
    """The object's name; empty if the compiler passed a stand-in for an object that is made inside."""
    return _name(thing) if id(thing) == number else ""


@compile_time_constant
def _register_function(function: Any) -> str:
    function._regard_name = _name(function)
    return function._regard_name


@compile_time_constant
def _to_json(parts: Any, dropout: str, engine: str, gradients: bool, log_sums: bool) -> str:
    # Compilers store compiled code on disk, so the text must mean the same in another process and never match another
    # version's. What isn't part of this package is referred to by a name that is valid only in this process.
    # Without log-sums it is as it was before there were any, in programs that were exported then.
    return json.dumps([__version__, _plain(parts), dropout, engine, gradients, *([log_sums] if log_sums else [])])


def _plain(tree: Any) -> Any:
    match tree:
        case ("tuple", items):
            return ["tuple", [_plain(item) for item in items]]
        case ("part", kind, module, fields):
            return ["part", _name(kind), module, [[name, _plain(field)] for name, field in fields]]
        case ("method", function, owner):
            return ["method", function, owner]
        case ("value", value) if not (value is None or isinstance(value, bool | int | str)):
            return ["object", _name(value)]
        case _:
            return list(tree)


_PROCESS = uuid.uuid4().hex
# Users' functions and objects that the compiled functions so far compute with; those keep them alive anyway.
_OBJECTS: dict[str, Any] = {}
_NAMES: dict[int, str] = {}


def _name(thing: Any) -> str:
    if isinstance(thing, type) and thing.__module__.startswith("regard."):
        return f"{thing.__module__}:{thing.__qualname__}"
    if id(thing) not in _NAMES:
        name = f"{_PROCESS}:{len(_NAMES)}"
        _NAMES[id(thing)], _OBJECTS[name] = name, thing
    return _NAMES[id(thing)]


def _object_of(name: str) -> Any:
    if name in _OBJECTS:
        return _OBJECTS[name]
    module, _, rest = name.partition(":")
    if module.startswith("regard."):
        return functools.reduce(getattr, rest.split("."), importlib.import_module(module))
    raise RefusedError(
        "This compiled or exported program computes with a part that isn't regard's own and that only the process "
        "which compiled it has. Compile it again here."
    )


@functools.lru_cache(maxsize=1024)
def from_text(text: str) -> tuple[CallSpec, bool]:
    """The call that a text describes, and whether gradients were enabled when it was made.

    Raises:
        RefusedError: the text is of another version of this package, or names a user's part that only another process
            has.
    """
    version, parts, dropout, engine, gradients, *log_sums = json.loads(text)
    if version != __version__:
        raise RefusedError(f"This exported program is of regard {version}, but this is {__version__}. Export it again.")
    return CallSpec(_build(parts), float.fromhex(dropout), engine, *log_sums), gradients


def _build(tree: Any) -> Any:
    match tree:
        case ["slot", index]:
            return Slot(index)
        case ["float", digits]:
            return float.fromhex(digits)
        case ["tuple", items]:
            return tuple(_build(item) for item in items)
        case ["method", function, owner]:
            return types.MethodType(_object_of(function), _object_of(owner))
        case ["object", name]:
            return _object_of(name)
        case ["part", kind, module, fields]:
            part = object.__new__(_object_of(kind))
            for name, field in fields:
                object.__setattr__(part, name, _build(field))
            if part.__module__ != module:
                object.__setattr__(part, "__module__", module)
            return part
        case _:
            return tree[1]
