"""PyTorch's fused attention on a GPU under a guard: its results are computed anew where it breaks the contract.

PyTorch's kernels are the fastest for the softmax of an inner product. But hidden NaN leaks through them, and where
scores are large their gradients lose precision. Only the GPU knows whether a call is such a one, and the host would
have to wait for the answer. So it is found and read on the GPU: the kernels of this package are launched too, and end
at once unless the numbers call for them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.attention.engines.triton import gradients, outputs
from regard.attention.engines.triton.edges import on_device_of
from regard.attention.engines.triton.launch import call_of, kind_of, readable, tiling_of
from regard.attention.engines.triton.problem import Problem, problem
from regard.attention.engines.triton.tiling import FUSED
from regard.attention.gradients import autograd
from regard.attention.gradients.autograd import Computation
from regard.attention.known import Known
from regard.attention.precision import no_autocast
from regard.attention.pytorch_internals import graph_is_kept, in_transform
from regard.attention.request import Parts, Request

__all__ = ["run"]

_ROWS_AT_ONCE = 64


def run(request: Request, attention: Callable[..., Tensor], largest_product: float) -> Tensor:
    """The output, (batch, head, query, value), with its gradient.

    Args:
        request: reduced, with values as wide as queries; every row sees all keys, or those up to its own number.
        attention: what PyTorch computes from query, key and value, differentiable.
        largest_product: the largest product of the lengths of a query and a key for which its gradients are precise.
    """
    largest = min(largest_product**2, torch.finfo(torch.float32).max)
    computation = _Guarded(request.parts, request.known, attention, largest)
    three = request.query, request.key, request.value
    if request.differentiable:
        return autograd.apply(computation, *three)
    return computation.forward(*(tensor.detach() for tensor in three))[0]


@dataclass(frozen=True)
class _Guarded(Computation):
    """`largest`: as `Kind.guarded`. `of_pytorch`: query, key, value and output, as PyTorch's autograd knows them."""

    parts: Parts
    known: Known
    attention: Callable[..., Tensor]
    largest: float
    of_pytorch: list[Tensor] = field(default_factory=list)

    def request(self, *tensors: Tensor) -> Request:
        query, key, value = tensors
        return Request(query, key, value, self.parts, 0.0, 0, Known() if in_transform() else self.known)

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        needed = [tensor.requires_grad for tensor in tensors]
        leaves = [tensor.detach().requires_grad_(any(needed)) for tensor in tensors]
        found = problem(self.request(*map(readable, tensors)), tensors[0].dtype)
        with torch.set_grad_enabled(any(needed)):
            output = self.attention(*leaves)
        if any(needed):
            self.of_pytorch[:] = *leaves, output
        with on_device_of(output):
            norms = torch.zeros(4, dtype=torch.int32, device=output.device)
            _measure([found.request.query, found.request.key, found.request.value], norms)
            output = output.detach()
            _replace_output(found, output, output, norms, self.largest)
        return output, norms

    def backward(
        self, needed: list[int], grad_output: Tensor, tensors: Sequence[Tensor], saved: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        *leaves, output = self.of_pytorch
        with no_autocast(grad_output), on_device_of(grad_output):
            grads = torch.autograd.grad(output, leaves, grad_output, retain_graph=graph_is_kept())
            grads = [grad if grad.stride(-1) == 1 else grad.contiguous() for grad in grads]
            found = problem(self.request(*map(readable, tensors)), grad_output.dtype)
            grad_output = readable(grad_output if 0 not in grad_output.stride() else grad_output.contiguous())
            norms = saved[1].clone()
            _measure([grad_output], norms[3:])
            _replace_gradients(found, grad_output, grads, norms, self.largest)
        return [grads[i] for i in needed]


def _replace_output(
    found: Problem, output: Tensor, whole: Tensor, norms: Tensor, guarded: float
) -> tuple[Tensor, Tensor]:
    """Compute the output anew where the guard says so; the two numbers of each row, which otherwise aren't computed.

    whole: the output in float32 or wider, (batch, head, query, value), if the gradient needs it; else the output.
    """
    query, key, value = found.request.query, found.request.key, found.request.value
    batch, heads, queries, _ = query.shape
    rows = query.new_empty(2, batch, heads, queries, dtype=found.wide)
    size = tiling_of(found, query, value, "forward")
    call = call_of(found, (query, key, value), (query, key), ())._replace(guard=norms, into=output.stride()[:3])
    outputs.forward[(triton.cdiv(queries, size.rows) * batch * heads, 1)](
        call,
        output,
        whole,
        rows[0],
        rows[1],
        output,
        KIND=kind_of(found, size, query, value)._replace(guarded=guarded),
        SAVES=whole is not output,
        SPLITS=1,
        **size.options,
    )
    return rows[0], rows[1]


def _replace_gradients(
    found: Problem, grad_output: Tensor, grads: Sequence[Tensor], norms: Tensor, guarded: float
) -> None:
    """Compute the gradients of query, key and value anew where the guard says so."""
    query, key, value = found.request.query, found.request.key, found.request.value
    batch, heads, queries, _ = query.shape
    whole = torch.empty(value.shape[:1] + query.shape[1:3] + value.shape[3:], dtype=found.wide, device=value.device)
    # The output in half precision, which nobody reads; but not over the one that the caller holds.
    output = whole if whole.dtype == query.dtype else torch.empty_like(whole, dtype=query.dtype)
    highest, found_rows = _replace_output(found, output, whole, norms, guarded)
    mean, nothing = torch.empty_like(highest), highest
    size, size_of_keys = (tiling_of(found, query, value, kernel) for kernel in ("queries", "keys"))
    strides = [stride for grad in grads for stride in grad.stride()[:3]]
    call = call_of(found, (query, key, value), (query, key), (), grad_output)._replace(guard=norms)
    kind = kind_of(found, size, query, value)._replace(guarded=guarded)
    gradients.backward_of_queries[(triton.cdiv(queries, size.rows) * batch * heads,)](
        call._replace(into=tuple(strides)),
        grad_output,
        grad_output.stride()[:3],
        whole,
        highest,
        highest,
        found_rows,
        mean,
        grads[0],
        *[nothing] * 7,
        found.buckets,
        found.slopes,
        KIND=kind,
        TABLE_SIZE=0,
        LOG_SUMS=False,
        **size.options,
    )
    gradients.backward_of_keys[(triton.cdiv(key.shape[2], size_of_keys.columns) * batch * key.shape[1],)](
        call._replace(into=tuple(strides)),
        grad_output,
        grad_output.stride()[:3],
        highest,
        found_rows,
        mean,
        grads[1],
        grads[2],
        KIND=kind._replace(rows=size_of_keys.rows, columns=size_of_keys.columns),
        ADDS=False,
        **size_of_keys.options,
    )


def _measure(tensors: Sequence[Tensor], norms: Tensor) -> None:
    """Set each of `norms` to the largest squared length of a tensor's vectors, as the bits of a float32."""
    operands = tuple((each, *each.stride()[:3], *each.shape[1:3], each.shape[:3].numel()) for each in tensors)
    size = tensors[0].shape[-1]
    most = max(operand[-1] for operand in operands)
    measure[(triton.cdiv(most, _ROWS_AT_ONCE),)](
        operands, norms, SIZE=size, BLOCK=triton.next_power_of_2(size), ROWS=_ROWS_AT_ONCE, **FUSED
    )


@triton.jit
def measure(tensors, NORMS, SIZE: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    """Raise each of `NORMS` to the largest squared length of a tensor's vectors; with NaN, a length is infinite.

    A maximum is the same in any order, so the programs may write to one place.
    """
    vectors, features = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, BLOCK)
    for each in tl.static_range(len(tensors)):
        tensor = tensors[each]
        heads, length, count = tensor[4], tensor[5], tensor[6]
        head, row = vectors // length, (vectors % length).to(tl.int64)
        item, head = (head // heads).to(tl.int64), (head % heads).to(tl.int64)
        place = item * tensor[1] + head * tensor[2] + row * tensor[3]
        there = (vectors < count)[:, None] & (features < SIZE)[None, :]
        numbers = tl.load(tensor[0] + place[:, None] + features[None, :], mask=there, other=0.0).to(tl.float32)
        squared = tl.sum(numbers * numbers, 1)
        squared = tl.where(squared == squared, squared, float("inf"))
        tl.atomic_max(NORMS + each, tl.max(squared, 0).to(tl.int32, bitcast=True))
