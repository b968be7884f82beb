"""`attend` as a custom operator of PyTorch, which torch.compile and torch.export treat as one opaque operation.

A compiler traces tensors without values, so it can't trace how an engine is chosen. Here a call is split, without
looking at any value, into its tensors and a text that describes everything else. The operator recombines the two when
it runs. Lengths, edges and parameters are tensor arguments, so a compiled function sees them change; another part, or
another number in a part, makes another text and causes a recompilation.
"""

import contextlib
import dataclasses
import functools
import importlib
import json
import operator
import types
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from regard.attention import autograd
from regard.attention.call_spec import CallSpec, seed_as_int64, untraced
from regard.attention.engines import blocked, fused
from regard.attention.masks import And, Causal, Dense, Lengths
from regard.attention.parts import Slot
from regard.attention.precision import no_autocast, wide_dtype
from regard.attention.request import Request
from regard.attention.scores import Dot, ScaledDot
from regard.attention.weights import Softmax
from regard.errors import ArgumentError, RefusedError
from regard.version import __version__

__all__ = ["attend", "is_tracing"]


def is_tracing(query: Tensor) -> bool:
    """Whether tensor values are unavailable: in a function being compiled or exported, or on fake and meta tensors."""
    return torch.compiler.is_compiling() or isinstance(query, FakeTensor) or getattr(query, "is_meta", False)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    parts: tuple[Any, Any, Any, Any],
    dropout: float,
    seed: int | None,
    engine: str,
) -> Tensor:
    """`regard.attend` as one operator, which checks its arguments when it runs.

    Args:
        query, key, value, dropout, seed, engine: as passed to `attend`.
        parts: score, weights, mask and position, likewise.

    Raises:
        RefusedError: a part can't be recognised when the compiled function is called again.
    """
    if torch._C._are_functorch_transforms_active():
        raise RefusedError(
            "A compiled function can't apply torch.func's transforms to attend: apply them to a function that isn't "
            "compiled, or compile without fullgraph."
        )
    if query.is_nested or key.is_nested or value.is_nested:
        raise ArgumentError("`query`, `key` and `value` must be tensors (batch, head, length, size), not nested ones.")
    operands: list[Tensor] = []
    text = _text_of(_describe(parts, operands), float(dropout).hex(), engine, torch.is_grad_enabled())
    drawn = None
    if dropout:
        drawn = (
            torch.ops.regard.seed(device="cpu")
            if seed is None
            else torch.full((), seed_as_int64(seed), dtype=torch.int64, device="cpu")
        )
    return torch.ops.regard.attend(query, key, value, operands, drawn, text)


# The following functions are traced by the compiler, so they use simple code only.


def _describe(part: Any, found: list[Tensor]) -> Any:
    """A part as nested tuples of constants; its tensors are appended to `found`, in the order of `flatten_part`."""
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
    """Whether the function was made outside of the traced code: one made inside has no closure or no access to it."""
    if not hasattr(function, "__closure__"):
        return False
    try:
        function.__closure__  # noqa: B018
    except AttributeError:
        return False
    return True


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


def _constant(function: Callable[..., Any]) -> Callable[..., Any]:
    # Does what torch.compiler.assume_constant_result does, which would import the compiler; that takes very long.
    function._dynamo_marked_constant = True  # pyright: ignore[reportFunctionMemberAccess]
    return function


@_constant
def _fields(kind: type) -> tuple[str, ...] | None:
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None


@_constant
def _register_object(thing: Any, number: int) -> str:
    """The object's name; empty if the compiler passed a stand-in for an object that is made inside."""
    return _name(thing) if id(thing) == number else ""


@_constant
def _register_function(function: Any) -> str:
    function._regard_name = _name(function)
    return function._regard_name


@_constant
def _text_of(parts: Any, dropout: str, engine: str, gradients: bool) -> str:
    """The text that describes everything but a call's tensors.

    Compilers store compiled code on disk, so the text must mean the same in another process and never match another
    version's. What isn't part of this package is referred to by a name that is valid only in this process.
    """
    return json.dumps([__version__, _plain(parts), dropout, engine, gradients])


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
def _parse(text: str) -> tuple[CallSpec, bool]:
    """The call, and whether gradients were enabled when it was made."""
    version, parts, dropout, engine, gradients = json.loads(text)
    if version != __version__:
        raise RefusedError(f"This exported program is of regard {version}, but this is {__version__}. Export it again.")
    return CallSpec(_build(parts), float.fromhex(dropout), engine), gradients


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


# The operators. Their names and arguments are stored in exported programs, so they must not change. `attend` has a
# gradient, for autograd and exported programs; compiled code contains the two operators below it, which compute the
# output and the gradient.

_LIBRARY = torch.library.Library("regard", "DEF")
_ARGUMENTS = "Tensor query, Tensor key, Tensor value, Tensor[] operands, Tensor? seed, str task"
_LIBRARY.define("seed(*, Device device) -> Tensor", tags=(torch.Tag.nondeterministic_seeded,))
_LIBRARY.define(f"attend({_ARGUMENTS}) -> Tensor")
_LIBRARY.define(f"attend_forward({_ARGUMENTS}) -> (Tensor, Tensor)")
_LIBRARY.define(f"attend_backward(Tensor grad_output, {_ARGUMENTS}, Tensor[] kept, int[] wanted) -> Tensor[]")


def _seed(device: torch.device) -> Tensor:
    return torch.randint(2**62, (), device=device)


def _attend(
    query: Tensor, key: Tensor, value: Tensor, operands: list[Tensor], seed: Tensor | None, text: str
) -> Tensor:
    return _forward(query, key, value, operands, seed, text)[0]


def _forward(
    query: Tensor, key: Tensor, value: Tensor, operands: list[Tensor], seed: Tensor | None, text: str
) -> tuple[Tensor, Tensor]:
    """The output, and the logsumexp of each row that the fused kernel saves for backward; empty for other engines."""
    call, gradients = _parse(text)
    with _enable_autograd(), no_autocast(query), torch.no_grad():
        request = call.request(query, key, value, *operands, *_as_list(seed))
        if gradients:
            with torch.enable_grad():
                blocked.refuse_captured(request.expanded)
        logsumexp = query.new_empty(_logsumexp_shape(text, query, key, value), dtype=wide_dtype(query))
        if not logsumexp.numel() or call.engine_of(request) is not fused:
            return _rows_first(call.output(request)), logsumexp
        output, logsumexp = fused.forward_and_save(_prepared(request))
        return _rows_first(output.to(query.dtype)), logsumexp.contiguous()


def _backward(
    grad_output: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    operands: list[Tensor],
    seed: Tensor | None,
    text: str,
    saved: list[Tensor],
    needed: list[int],
) -> list[Tensor]:
    call, tensors = _parse(text)[0], (query, key, value, *operands, *_as_list(seed))
    with _enable_autograd(), no_autocast(query):
        if saved and call.engine_of(call.request(*tensors)) is fused:
            grads = _gradients_from_saved(call, tensors, grad_output, saved, needed)
        else:
            grads = call.gradients(needed, grad_output, tensors)
    return [_rows_first(grad) if i < 3 else grad.contiguous() for i, grad in zip(needed, grads, strict=True)]


def _as_list(seed: Tensor | None) -> list[Tensor]:
    return [] if seed is None else [seed]


def _gradients_from_saved(
    call: CallSpec, tensors: tuple[Tensor, ...], grad_output: Tensor, saved: list[Tensor], needed: list[int]
) -> Sequence[Tensor]:
    """The gradients from what the fused kernel saved."""
    with torch.enable_grad():
        leaves = [tensor.detach().requires_grad_(i in needed) for i, tensor in enumerate(tensors)]
        prepared = _prepared(call.request(*leaves))
    with torch.no_grad():
        cotangents = fused.backward_from_saved(prepared, grad_output, *saved)
    three = (prepared.query, prepared.key, prepared.value)
    pairs = [(result, grad) for result, grad in zip(three, cotangents, strict=True) if result.requires_grad]
    grads = torch.autograd.grad(
        [result for result, _ in pairs],
        [leaves[i] for i in needed],
        [grad for _, grad in pairs],
        allow_unused=True,
    )
    return [torch.zeros_like(leaves[i]) if grad is None else grad for i, grad in zip(needed, grads, strict=True)]


def _prepared(request: Request) -> Request:
    """The request as `fused.forward_and_save` and `fused.backward_from_saved` take it, with features and values of one
    size."""
    reduced, _ = request.expanded.reduced()
    three = (reduced.query, reduced.key, reduced.value)
    query, key, value = (tensor if tensor.stride(-1) == 1 else tensor.contiguous() for tensor in three)
    return dataclasses.replace(reduced, query=query, key=key, value=value, parts=reduced.parts.without_position)


def _logsumexp_shape(text: str, query: Tensor, key: Tensor, value: Tensor) -> tuple[int, ...]:
    """The shape of the logsumexp that the fused kernel saves; (0,) if its arguments show that it won't run."""
    call, gradients = _parse(text)
    score, weights, mask, position = call.parts
    # An output rounded to half precision can't be used for the gradient of a call that is computed in float32.
    narrow = score in ("dot", "scaled_dot") or type(score) in (Dot, ScaledDot)
    may = (
        gradients
        and (query.dtype == wide_dtype(query) or (narrow and position is None))
        and query.device.type == "cpu"
        and key.shape[-1] == value.shape[-1]
        and (isinstance(weights, str) or type(weights) is Softmax)
        and (mask is None or isinstance(mask, str) or type(mask) in (And, Causal, Dense, Lengths))
    )
    return tuple(query.shape[:3]) if may else (0,)


_OFF = [
    getattr(torch._C.DispatchKey, name)
    for name in (
        "AutogradFunctionality",
        "AutogradOther",
        "AutogradNestedTensor",
        "ADInplaceOrView",
        "FuncTorchDynamicLayerFrontMode",
        "FuncTorchDynamicLayerBackMode",
        "FuncTorchGradWrapper",
    )
]


def _enable_autograd() -> contextlib.AbstractContextManager[Any]:
    """Enable autograd where PyTorch has disabled it inside an operator: the gradients of parts need it."""
    include, exclude = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    if not exclude.has(_OFF[0]) or torch.is_inference_mode_enabled():
        return contextlib.nullcontext()
    for key in _OFF:
        exclude = exclude.remove(key)
    return torch._C._ForceDispatchKeyGuard(include, exclude)


def _rows_first(tensor: Tensor) -> Tensor:
    """(batch, head, row, size) with memory layout (batch, row, head, size), as the fused kernel and modules use it."""
    return tensor.transpose(1, 2).contiguous().transpose(1, 2)


def _seed_shape(device: torch.device) -> Tensor:
    return torch.empty((), dtype=torch.int64, device=device)


def _attend_shape(query: Tensor, *rest: Any) -> Tensor:
    return _forward_shape(query, *rest)[0]


def _forward_shape(
    query: Tensor, key: Tensor, value: Tensor, operands: list[Tensor], seed: Tensor | None, text: str
) -> tuple[Tensor, Tensor]:
    batch, heads, rows, _ = query.shape
    output = query.new_empty(batch, rows, heads, value.shape[-1]).transpose(1, 2)
    return output, query.new_empty(_logsumexp_shape(text, query, key, value), dtype=wide_dtype(query))


def _backward_shape(grad_output: Tensor, *inputs: Any) -> list[Tensor]:
    *three, operands, _, _, _, needed = inputs
    tensors = [*three, *operands]
    return [_empty(tensors[i].transpose(1, 2)).transpose(1, 2) if i < 3 else _empty(tensors[i]) for i in needed]


def _empty(tensor: Tensor) -> Tensor:
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


for _operator, _run, _shape in (
    ("seed", _seed, _seed_shape),
    ("attend", _attend, _attend_shape),
    ("attend_forward", _forward, _forward_shape),
    ("attend_backward", _backward, _backward_shape),
):
    _LIBRARY.impl(_operator, untraced(_run), "CompositeExplicitAutograd")
    torch.library.register_fake(f"regard::{_operator}", _shape, lib=_LIBRARY)


@dataclasses.dataclass(frozen=True)
class _Operators(autograd.Computation):
    """The computation by the operators. `text`: what describes everything but the tensors."""

    text: str
    operands: int
    seeded: bool

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        output, logsumexp = torch.ops.regard.attend_forward(*self._arguments(tensors), self.text)
        return (output, logsumexp) if logsumexp.numel() else (output,)

    def backward(
        self, needed: list[int], grad_output: Tensor, tensors: Sequence[Tensor], saved: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        arguments = self._arguments(tensors)
        return torch.ops.regard.attend_backward(grad_output, *arguments, self.text, list(saved), needed)

    def request(self, *tensors: Tensor) -> Request:
        raise RefusedError(
            "A compiled or exported program has no gradient of a gradient: call attend outside of it for that."
        )

    def _arguments(self, tensors: Sequence[Tensor]) -> tuple[Any, ...]:
        """The tensors as the operators take them: query, key, value, the operands, and the seed or None."""
        query, key, value, *rest = tensors
        return query, key, value, rest[: self.operands], rest[-1] if self.seeded else None


def _with_gradient(
    query: Tensor, key: Tensor, value: Tensor, operands: list[Tensor], seed: Tensor | None, text: str
) -> Tensor:
    computation = _Operators(text, len(operands), seeded=seed is not None)
    return autograd.apply(computation, query, key, value, *operands, *_as_list(seed))


_LIBRARY.impl("attend", untraced(_with_gradient), "Autograd")
