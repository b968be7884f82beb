"""Ring attention: keys and values go from rank to rank, and each rank merges what its queries see of them.

In step t a rank computes with the keys of the rank t before it, and sends its own to the rank t after it: only those
that the mask lets that one see. While it computes, the keys of the next step are on their way. Nothing of a step is
kept: the backward pass takes the same steps again, and sends each rank the gradient of its keys.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from regard.attention.attend import run
from regard.attention.parts import Differentiable, flatten_part, unflatten_part
from regard.attention.precision import no_autocast, wide_dtype
from regard.attention.request import Request
from regard.attention.user_parts import unwrapped
from regard.distributed.call import Call
from regard.distributed.chunks import heads_at_once
from regard.distributed.exchange import Exchange
from regard.distributed.gathering import places
from regard.distributed.merging import Merged, Merging, merges, merging_of
from regard.distributed.peers import Transfer
from regard.errors import RefusedError

__all__ = ["Ring"]


class Ring(Exchange):
    """Each rank keeps its queries, and computes them with the keys of one rank after the other.

    Source: Liu et al. 2023, Ring Attention (arXiv 2310.01889), section 3.
    """

    name: ClassVar[str] = "ring"

    def refuse(self, call: Call) -> str | None:
        if merges(call.parts):
            return None
        part = unwrapped(call.parts.weights)
        return f"rows of {getattr(part, '__name__', type(part).__name__)} aren't merged from rows over fewer keys"

    def attend(self, call: Call, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        merging = merging_of(call.parts, lambda: call.counts(query))
        spec, tensors = flatten_part(merging.parts)
        output: Any = _RingAttention.apply(_Steps(call, merging, spec), query, key, value, *tensors)
        return merging.finished(output).to(query.dtype)

    def received(self, call: Call) -> list[int]:
        return call.bytes_of_wanted

    def keys(self, call: Call) -> list[int]:
        # Its own, and of some heads those that it computes with and those that are on their way.
        counts, share = call.counts_of_wanted, heads_at_once(self, call) / max(call.key_heads, 1)
        others = [
            sum(sorted((count for other, count in enumerate(of_rank) if other != rank), reverse=True)[:2])
            for rank, of_rank in enumerate(counts)
        ]
        return [own + math.ceil(share * count) for own, count in zip(call.keys.counts, others, strict=True)]

    def work(self, call: Call) -> float:
        # Unless the kernel gives the gradient of a block, the backward pass computes its outputs again.
        return 1.0 if call.by_kernel else 4 / 3


class _Held(NamedTuple):
    """Contiguous keys of the whole sequence, with their values."""

    place: slice
    key: Tensor
    value: Tensor


class _Block(NamedTuple):
    """Some of this rank's queries with some of the keys that it holds.

    Attributes:
        rows: of this rank's tensor.
        keys: of the held keys with this number.
        first: the numbers of the first query and key in the whole sequence.
    """

    rows: slice
    number: int
    keys: slice
    first: tuple[int, int]


@dataclass(frozen=True)
class _Steps:
    """The steps of one call.

    Attributes:
        spec: that of the merging's parts.
    """

    call: Call
    merging: Merging
    spec: Any

    def steps(self, key: Tensor, value: Tensor) -> Iterator[tuple[int, list[_Held]]]:
        """The rank that sent the keys, this one first, and its keys that this one wants."""
        own, size = self.call.peers.rank, self.call.peers.size
        coming = self._begin(1, key, value) if size > 1 else None
        yield (
            own,
            [_Held(place, key[:, :, local], value[:, :, local]) for local, place in self._wanted(own, own)],
        )
        for step in range(1, size):
            sender = (own - step) % size
            received = [] if coming is None else coming.wait().get(sender, [])
            coming = self._begin(step + 1, key, value) if step + 1 < size else None
            # Nothing else refers to them, so that whoever clears the list frees them.
            yield sender, [_Held(place, received.pop(0), received.pop(0)) for _, place in self._wanted(own, sender)]

    def _begin(self, step: int, key: Tensor, value: Tensor) -> Transfer:
        """Send this rank's keys and values to the rank `step` after it, and receive those of the rank before."""
        own, size = self.call.peers.rank, self.call.peers.size
        sender, receiver = (own - step) % size, (own + step) % size
        sent = [each[:, :, local] for local, _ in self._wanted(receiver, own) for each in (key, value)]
        return self._transfer(sent, receiver, self._shapes(own, sender, key, value), sender)

    def send_gradients(
        self, gradients: list[list[Tensor]], sender: int, step: int, key: Tensor, value: Tensor
    ) -> list[Tensor]:
        """Send the gradients of keys and values to the rank that sent those, and receive those of this rank's."""
        own, size = self.call.peers.rank, self.call.peers.size
        receiver = (own + step) % size
        shapes = [(shape, wide_dtype(key)) for shape, _ in self._shapes(receiver, own, key, value)]
        transfer = self._transfer([each for pair in gradients for each in pair], sender, shapes, receiver, tag=1)
        return transfer.wait().get(receiver, [])

    def _transfer(self, sent: list[Tensor], receiver: int, shapes: list[Any], sender: int, tag: int = 0) -> Transfer:
        device = self.call.device
        return self.call.peers.transfer(
            {receiver: sent} if sent else {}, {sender: shapes} if shapes else {}, device, tag=tag
        )

    def _shapes(self, rank: int, other: int, key: Tensor, value: Tensor) -> list[Any]:
        """Shape and dtype of the keys and values that a rank wants of another, in turn."""
        return [
            ((*tensor.shape[:2], local.stop - local.start, tensor.shape[3]), tensor.dtype)
            for local, _ in self._wanted(rank, other)
            for tensor in (key, value)
        ]

    def _wanted(self, rank: int, other: int) -> list[tuple[slice, slice]]:
        """Where the keys that a rank wants of another lie, in that one's tensor and in the whole sequence."""
        return list(places(self.call.keys, other, self.call.wanted[rank][other]))

    def own_keys_of(self, step: int) -> list[slice]:
        """This rank's keys that the rank `step` after it wants."""
        own, size = self.call.peers.rank, self.call.peers.size
        return [local for local, _ in self._wanted((own + step) % size, own)]

    def blocks(self, sender: int, held: list[_Held]) -> Iterator[_Block]:
        """What there is to compute with the keys of a rank."""
        call, own = self.call, self.call.peers.rank
        for rows, local, seen in zip(
            call.queries.slices[own], call.queries.local(own), call.blocks[own][sender], strict=True
        ):
            for start, stop in seen:
                for number, (place, _, _) in enumerate(held):
                    if start < stop and place.start <= start < place.stop:
                        keys = slice(start - place.start, stop - place.start)
                        yield _Block(local, number, keys, (rows.start, start))

    def request(self, block: _Block, query: Tensor, key: Tensor, value: Tensor, tensors: tuple[Tensor, ...]) -> Request:
        """The request of a block, given its queries, keys and values, and the operands."""
        parts = self.merging.parts_of(unflatten_part(self.spec, tensors), block.rows, block.first[0])
        return self.call.request(query, key, value, parts, (*block.first, 0))

    def result(self, request: Request) -> Tensor:
        """The result of a block, in float32 or wider."""
        return run(request, self.call.engine).to(wide_dtype(request.query))


class _RingAttention(torch.autograd.Function):
    @staticmethod
    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, steps: _Steps, query: Tensor, key: Tensor, value: Tensor, *tensors: Tensor
    ) -> Tensor:
        total = steps.merging.nothing((*query.shape[:3], value.shape[-1]), query, wide_dtype(query))
        for sender, held in steps.steps(key, value):
            for block in steps.blocks(sender, held):
                _, keys, values = held[block.number]
                given = query[:, :, block.rows], keys[:, :, block.keys], values[:, :, block.keys]
                result = steps.result(steps.request(block, *given, tensors))
                steps.merging.add(total.rows(block.rows), result)
        ctx.steps = steps
        ctx.save_for_backward(query, key, value, *total, *tensors)
        return total.output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        if torch.is_grad_enabled():
            raise RefusedError(
                "Ring attention has no gradient of a gradient. Pass exchange='heads' or exchange='gather'."
            )
        query, key, value, output, log_sums, *tensors = ctx.saved_tensors
        gradients = _Gradients(ctx.steps, query, Merged(output, log_sums), tuple(tensors), grad_output)
        with no_autocast(grad_output):
            found = gradients.compute(key, value)
        return None, *(
            gradient.to(tensor.dtype) if needed and gradient is not None else None
            for gradient, tensor, needed in zip(
                found, (query, key, value, *tensors), ctx.needs_input_grad[1:], strict=True
            )
        )


class _Gradients:
    """The gradients of one backward pass, in float32 or wider."""

    def __init__(self, steps: _Steps, query: Tensor, total: Merged, tensors: tuple[Tensor, ...], grad_output: Tensor):
        self.steps, self.query, self.total, self.tensors = steps, query, total, tensors
        self.dtype = wide_dtype(query)
        self.grad_output = grad_output.to(self.dtype)
        self.of_query = torch.zeros_like(query, dtype=self.dtype)
        self.parts = Differentiable(unflatten_part(steps.spec, tensors))
        self.of_operands = [torch.zeros_like(each, dtype=wide_dtype(each)) for each in self.parts.operands]

    def compute(self, key: Tensor, value: Tensor) -> list[Tensor | None]:
        """Of query, key, value, and each of the tensors; None for those that aren't real."""
        own = [torch.zeros_like(each, dtype=self.dtype) for each in (key, value)]
        for step, (sender, held) in enumerate(self.steps.steps(key, value)):
            mine = [[each[:, :, local] for each in own] for local in self.steps.own_keys_of(step)]
            # This rank's own are added up where they belong.
            gradients: list[Any] = mine if step == 0 else [[None, None] for _ in held]
            for block in self.steps.blocks(sender, held):
                self._add(block, held[block.number], gradients[block.number])
            # As many gradients are received next.
            held.clear()
            if step:
                received = self.steps.send_gradients(gradients, sender, step, key, value)
                for total, part in zip((each for pair in mine for each in pair), received, strict=True):
                    total += part
        return [self.of_query, *own, *self.parts.gradients(self.of_operands)[0]]

    def _add(self, block: _Block, held: _Held, of_held: list[Tensor | None]) -> None:
        """Add the gradients of one block, those of keys and values to `of_held`; None stands for zeros."""
        query, above = (each[:, :, block.rows] for each in (self.query, self.grad_output))
        key, value = (each[:, :, block.keys] for each in (held.key, held.value))
        total, found = self.total.rows(block.rows), None
        if self.steps.call.engine == "auto" and not self.tensors:
            found = self.steps.merging.gradients(self.steps.request(block, query, key, value, ()), total, above)
        fresh = found is not None
        if found is None:
            found = self._recomputed(block, query, key, value, total, above)
        of_query, of_key, of_value, *of_operands = found
        for whole, part in zip(
            (self.of_query[:, :, block.rows], *self.of_operands), (of_query, *of_operands), strict=True
        ):
            whole += part
        for i, (whole, part) in enumerate(((held.key, of_key), (held.value, of_value))):
            before = of_held[i]
            if before is None and fresh and part.shape == whole.shape:
                # The kernel's own result, which nothing else refers to.
                of_held[i] = part
                continue
            if before is None:
                before = of_held[i] = torch.zeros_like(whole, dtype=self.dtype)
            before[:, :, block.keys] += part

    def _recomputed(
        self, block: _Block, query: Tensor, key: Tensor, value: Tensor, total: Merged, above: Tensor
    ) -> tuple[Tensor, ...]:
        """The gradients of a block and of the operands, by autograd on the block computed again."""
        inputs = [each.detach().requires_grad_() for each in (query, key, value, *self.parts.operands)]
        (parts,) = self.parts.with_operands(*inputs[3:])
        with torch.enable_grad():
            result = self.steps.result(
                self.steps.request(block, inputs[0], inputs[1], inputs[2], flatten_part(parts)[1])
            )
        cotangent = self.steps.merging.cotangent(total, result.detach(), above)
        return torch.autograd.grad(result, inputs, cotangent, allow_unused=True, materialize_grads=True)
