"""`attend` as a custom operator of PyTorch, which torch.compile and torch.export treat as one opaque operation.

A compiler traces tensors without values, so it can't trace how an engine is chosen. Here a call is split, without
looking at any value, into its tensors and a text that describes everything else (`call_text.py`). The operator
recombines the two when it runs. Lengths, edges and parameters are tensor arguments, so a compiled function sees them
change.
"""

import dataclasses
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from regard.attention.compilation.call_spec import CallSpec, seed_as_int64, untraced
from regard.attention.compilation.call_text import as_text, from_text
from regard.attention.engines import blocked, fused, triton
from regard.attention.gradients import autograd
from regard.attention.gradients.autograd import as_gradient_of
from regard.attention.masks import And, Causal, Dense, Lengths
from regard.attention.parts import declares
from regard.attention.precision import no_autocast, wide_dtype
from regard.attention.pytorch_internals import autograd_in_operators, in_forward_mode, in_transform, is_fake
from regard.attention.request import Request
from regard.attention.scores import SCORES
from regard.attention.weights import Softmax
from regard.errors import ArgumentError, RefusedError

__all__ = ["attend", "is_tracing"]


def is_tracing(query: Tensor) -> bool:
    """Whether tensor values are unavailable: in a function being compiled or exported, or on fake and meta tensors."""
    if torch.compiler.is_compiling() or getattr(query, "is_meta", False):
        return True
    return type(query) is not Tensor and is_fake(query)


def attend(
    three: tuple[Tensor, Tensor, Tensor],
    parts: tuple[Any, Any, Any, Any],
    dropout: float,
    seed: int | None,
    engine: str,
    log_sums: bool,
) -> Tensor:
    """`regard.attend` as one operator, which checks its arguments when it runs; the log-sums are joined to the output.

    Args:
        three: query, key and value, as passed to `attend`.
        dropout, seed, engine, log_sums: as passed to `attend`.
        parts: score, weights, mask and position, likewise.

    Raises:
        RefusedError: a part can't be recognised when the compiled function is called again.
    """
    query, key, value = three
    if in_transform() or in_forward_mode():
        raise RefusedError(
            "A compiled function can't apply torch.func's transforms or forward mode to attend: apply them to a "
            "function that isn't compiled, or compile without fullgraph."
        )
    if query.is_nested or key.is_nested or value.is_nested:
        raise ArgumentError("`query`, `key` and `value` must be tensors (batch, head, length, size), not nested ones.")
    text, operands = as_text(parts, dropout, engine, log_sums)
    drawn = None
    if dropout:
        drawn = (
            torch.ops.regard.seed(device="cpu")
            if seed is None
            else torch.full((), seed_as_int64(seed), dtype=torch.int64, device="cpu")
        )
    return torch.ops.regard.attend(query, key, value, operands, drawn, text)


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
    """The output, and what the engine keeps for backward: `fused` the logsumexp of each row, others nothing."""
    call, gradients = from_text(text)
    with autograd_in_operators(), no_autocast(query), torch.no_grad():
        request = call.request(query, key, value, *operands, *_as_list(seed))
        if gradients:
            with torch.enable_grad():
                blocked.refuse_captured(request.expanded)
        kept = query.new_empty(_kept_shape(text, query, key, value), dtype=wide_dtype(query))
        if not kept.numel():
            return _rows_first(call.output(request)), kept
        engine = _keeping_engine(call, request)
        if engine is triton:
            output, kept = triton.forward_and_keep(request)
        elif engine is fused:
            output, kept = fused.forward_and_save(_prepared(request))
        else:
            return _rows_first(call.output(request)), kept
        return _rows_first(output.to(query.dtype)), kept.contiguous()


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
    call, tensors = from_text(text)[0], (query, key, value, *operands, *_as_list(seed))
    with autograd_in_operators(), no_autocast(query):
        request = call.request(*tensors)
        engine = _keeping_engine(call, request) if saved else None
        if engine is triton:
            with torch.no_grad():
                found = triton.backward_from_kept(request, grad_output, *saved)
            grads = [as_gradient_of(tensors[i], found[i]) for i in needed]
        elif engine is fused:
            grads = _gradients_from_saved(call, tensors, grad_output, saved, needed)
        else:
            grads = call.gradients(needed, grad_output, tensors)
    return [_rows_first(grad) if i < 3 else grad.contiguous() for i, grad in zip(needed, grads, strict=True)]


def _keeping_engine(call: CallSpec, request: Request) -> ModuleType | None:
    """The engine that runs a request and keeps numbers for its gradient, or None."""
    if request.query.is_cpu and call.engine != "triton":
        return fused if call.engine_of(request) is fused else None
    # What PyTorch's kernel for GPUs keeps can't be kept here: with it, the output would be computed twice.
    return triton if call.engine in ("auto", "triton") and triton.keeps(request) else None


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


def _kept_shape(text: str, query: Tensor, key: Tensor, value: Tensor) -> tuple[int, ...]:
    """The shape of what the engine keeps for backward; (0,) if the arguments show that nothing is kept."""
    call, gradients = from_text(text)
    if call.engine in ("auto", "triton") and (not query.is_cpu or call.engine == "triton"):
        return (triton.kept_numbers(query, value) if gradients and not call.log_sums else 0,)
    score, weights, mask, position = call.parts
    # An output rounded to half precision can't be used for the gradient of a call that is computed in float32.
    kind = SCORES.get(score) if isinstance(score, str) else type(score)
    narrow = isinstance(kind, type) and declares(kind, "keeps_vectors")
    may = (
        gradients
        and not call.log_sums
        and (query.dtype == wide_dtype(query) or (narrow and position is None))
        and query.is_cpu
        and key.shape[-1] == value.shape[-1]
        and (isinstance(weights, str) or type(weights) is Softmax)
        and (mask is None or isinstance(mask, str) or type(mask) in (And, Causal, Dense, Lengths))
    )
    return tuple(query.shape[:3]) if may else (0,)


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
    log_sums = from_text(text)[0].log_sums
    dtype = wide_dtype(query) if log_sums else query.dtype
    output = query.new_empty(batch, rows, heads, value.shape[-1] + int(log_sums), dtype=dtype).transpose(1, 2)
    return output, query.new_empty(_kept_shape(text, query, key, value), dtype=wide_dtype(query))


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
        output, kept = torch.ops.regard.attend_forward(*self._arguments(tensors), self.text)
        return (output, kept) if kept.numel() else (output,)

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
