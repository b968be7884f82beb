"""Keys and values go round: each rank computes its queries with the keys of one rank after the other, and merges.

In round t a rank has the keys of the rank t before it, and sends its own to the rank t after it: only those that the
mask lets that one see. While it computes one round, the keys of the next are on their way. Nothing of a round is kept:
the backward pass goes round again, and sends each rank the gradient of its keys.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from regard.attention.attend import run
from regard.attention.parts import flatten_part, unflatten_part
from regard.attention.precision import no_autocast, wide_dtype
from regard.attention.request import Request
from regard.distributed.call import Call
from regard.distributed.gathering import places
from regard.distributed.kernel_gradients import kernel_gradients
from regard.distributed.merging import LogSums, Merging
from regard.errors import RefusedError

__all__ = ["by_rounds"]


def by_rounds(call: Call, merging: Merging, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The output for this rank's queries, (batch, head, own query, value).

    Args:
        merging: how the rows of the call's parts merge.
        query, key, value: this rank's.
    """
    spec, tensors = flatten_part(merging.parts)
    output: Any = _Rounds.apply(_Rounding(call, merging, spec), query, key, value, *tensors)
    factor = merging.factor()
    return (output if factor is None else output * factor).to(query.dtype)


@dataclasses.dataclass(frozen=True)
class _Rounding:
    """The rounds of one call."""

    call: Call
    merging: Merging
    spec: Any

    def rounds(self, key: Tensor, value: Tensor) -> Iterator[tuple[int, list[tuple[slice, Tensor, Tensor]]]]:
        """The ranks in turn, this one first, and of each the wanted keys: where they lie, and they."""
        call, own, size = self.call, self.call.peers.rank, self.call.peers.size

        def ask(step: int) -> Any:
            giver, taker = (own - step) % size, (own + step) % size
            sent = [local for local, _ in places(call.keys, own, call.wanted[taker][own])]
            shapes = []
            for local, _ in places(call.keys, giver, call.wanted[own][giver]):
                for tensor in (key, value):
                    batch, heads, _, width = tensor.shape
                    shapes.append(((batch, heads, local.stop - local.start, width), tensor.dtype))
            outgoing = {taker: [tensor[:, :, part] for part in sent for tensor in (key, value)]} if sent else {}
            return call.peers.exchange(outgoing, {giver: shapes} if shapes else {}, key.device)

        coming = ask(1) if size > 1 else None
        held = [
            (whole, key[:, :, local], value[:, :, local])
            for local, whole in places(call.keys, own, call.wanted[own][own])
        ]
        yield own, held
        for step in range(1, size):
            giver = (own - step) % size
            found = coming.wait().get(giver, []) if coming is not None else []
            coming = ask(step + 1) if step + 1 < size else None
            wholes = [whole for _, whole in places(call.keys, giver, call.wanted[own][giver])]
            yield giver, list(zip(wholes, found[::2], found[1::2], strict=True))

    def blocks(self, giver: int, held: list[tuple[slice, Tensor, Tensor]]) -> Iterator[tuple[slice, int, int, slice]]:
        """Of the keys of a rank: rows of this rank's tensor and the number of the first, which keys, and which part."""
        call = self.call
        own = call.peers.rank
        for rows, local, seen in zip(
            call.queries.stretches[own], call.queries.local(own), call.blocks[own][giver], strict=True
        ):
            for start, stop in seen:
                for which, (whole, _, _) in enumerate(held):
                    if start < stop and whole.start <= start < whole.stop:
                        yield local, rows.start, which, slice(start - whole.start, stop - whole.start)

    def request(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        tensors: tuple[Tensor, ...],
        rows: slice,
        first: tuple[int, int],
    ) -> Request:
        """Of a block."""
        parts = self.merging.parts_of(unflatten_part(self.spec, tensors), rows, first[0])
        return self.call.request(query, key, value, parts, (*first, 0))

    def result(self, request: Request) -> Tensor:
        """Of a block, in float32 or wider."""
        return run(request, self.call.engine).to(wide_dtype(request.query))


class _Rounds(torch.autograd.Function):
    @staticmethod
    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, rounding: _Rounding, query: Tensor, key: Tensor, value: Tensor, *tensors: Tensor
    ) -> Tensor:
        shape = (*query.shape[:3], value.shape[-1])
        merging = rounding.merging
        total = merging.nothing(shape, query, wide_dtype(query))
        for giver, held in rounding.rounds(key, value):
            for rows, first, which, part in rounding.blocks(giver, held):
                whole, keys, values = held[which]
                place = first, whole.start + part.start
                given = query[:, :, rows], keys[:, :, part], values[:, :, part]
                merging.add(total[:, :, rows], rounding.result(rounding.request(*given, tensors, rows, place)))
        ctx.rounding = rounding
        ctx.save_for_backward(query, key, value, total, *tensors)
        return total[..., : value.shape[-1]].clone()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        if torch.is_grad_enabled():
            raise RefusedError(
                "The gradient of a gradient can't be computed in rounds. Pass exchange='heads' or exchange='gather'."
            )
        query, key, value, total, *tensors = ctx.saved_tensors
        with no_autocast(grad_output):
            found = _gradients(ctx.rounding, query, key, value, total, tuple(tensors), grad_output)
        return None, *(
            grad.to(tensor.dtype) if needed and grad is not None else None
            for grad, tensor, needed in zip(found, (query, key, value, *tensors), ctx.needs_input_grad[1:], strict=True)
        )


def _gradients(
    rounding: _Rounding,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    total: Tensor,
    tensors: tuple[Tensor, ...],
    grad_output: Tensor,
) -> list[Tensor | None]:
    """Of query, key, value and the operands, in float32 or wider."""
    call, own, size = rounding.call, rounding.call.peers.rank, rounding.call.peers.size
    wide = wide_dtype(query)
    of_query = torch.zeros_like(query, dtype=wide)
    of_own = [torch.zeros_like(tensor, dtype=wide) for tensor in (key, value)]
    real = [tensor.is_floating_point() for tensor in tensors]
    of_tensors: list[Tensor | None] = [
        torch.zeros_like(tensor, dtype=wide_dtype(tensor)) if each else None
        for tensor, each in zip(tensors, real, strict=True)
    ]

    def add(rows: slice, place: tuple[int, int], keys: Tensor, values: Tensor, grads: list[Tensor]) -> None:
        upward = grad_output[:, :, rows].to(wide)
        if call.engine == "auto" and isinstance(rounding.merging, LogSums) and not tensors:
            block = rounding.request(query[:, :, rows], keys, values, tensors, rows, place)
            direct = kernel_gradients(block, total[:, :, rows], upward)
            if direct is not None:
                of_query[:, :, rows] += direct[0]
                for grad, each in zip(grads, direct[1:], strict=True):
                    grad += each
                return
        given = [each.detach().requires_grad_() for each in (query[:, :, rows], keys, values)]
        changed = tuple(
            tensor.detach().requires_grad_() if each else tensor for tensor, each in zip(tensors, real, strict=True)
        )
        with torch.enable_grad():
            result = rounding.result(rounding.request(given[0], given[1], given[2], changed, rows, place))
        cotangent = rounding.merging.cotangent(total[:, :, rows], result.detach(), upward)
        wanted = [*given, *(tensor for tensor, each in zip(changed, real, strict=True) if each)]
        found = torch.autograd.grad(result, wanted, cotangent, allow_unused=True, materialize_grads=True)
        of_query[:, :, rows] += found[0]
        for grad, each in zip(grads, found[1:3], strict=True):
            grad += each
        sums = [each for each in of_tensors if each is not None]
        for sum_, each in zip(sums, found[3:], strict=True):
            sum_ += each

    returned: dict[int, list[Tensor]] = {}
    for step, (giver, held) in enumerate(rounding.rounds(key, value)):
        grads = [[torch.zeros_like(each, dtype=wide) for each in pair] for _, *pair in held]
        for rows, first, which, part in rounding.blocks(giver, held):
            whole, keys, values = held[which]
            parts = [each[:, :, part] for each in grads[which]]
            add(rows, (first, whole.start + part.start), keys[:, :, part], values[:, :, part], parts)
        if step:
            taker = (own + step) % size
            outgoing = {giver: [each for pair in grads for each in pair]} if held else {}
            shapes = [
                ((*tensor.shape[:2], local.stop - local.start, tensor.shape[3]), wide)
                for local, _ in places(call.keys, own, call.wanted[taker][own])
                for tensor in (key, value)
            ]
            incoming = {taker: shapes} if shapes else {}
            returned = call.peers.exchange(outgoing, incoming, key.device, tag=1).wait()
            found, places_ = returned.get(taker, []), places(call.keys, own, call.wanted[taker][own])
        else:
            found = [each for pair in grads for each in pair]
            places_ = places(call.keys, own, call.wanted[own][own])
        for i, (local, _) in enumerate(places_):
            for j in range(2):
                of_own[j][:, :, local] += found[2 * i + j]
    return [of_query, *of_own, *of_tensors]
