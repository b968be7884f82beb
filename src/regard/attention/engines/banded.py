"""Sliding windows: PyTorch's fused kernel on short blocks of queries and the keys within their windows.

Consecutive blocks see overlapping keys. A strided view passes all blocks to the kernel in one call, as if they were
items of a batch, without a copy. The rows at both ends, whose windows are cut off, are computed by further calls.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from regard.attention.costs import (
    Cost,
    bytes_of_output,
    bytes_of_reduction,
    features,
    seconds_of_kernel,
    width,
)
from regard.attention.engines import blocked
from regard.attention.engines.fused import (
    backward_by_tiles,
    inner_product_refusal,
    loses_precision,
    rounds_gradients,
    scale_of,
    widened,
    with_log_sums_column,
)
from regard.attention.gradients import autograd
from regard.attention.known import few_pairs
from regard.attention.log_sums import joined
from regard.attention.precision import wide_dtype
from regard.attention.pytorch_internals import flash_backward_kernel, flash_kernel
from regard.attention.request import Request

__all__ = ["backward_from_saved", "cost", "forward", "forward_and_save", "refuse", "run", "seconds"]

MAX_ROWS, MIN_ROWS = 64, 32  # rows of a block: the more rows, the more keys outside of each row's window are computed
MAX_GRADIENTS = 2**22  # numbers in the key gradients of one call, which holds them separately for each block


def refuse(request: Request) -> str | None:
    """Why this request isn't a sliding window that the kernel can compute, or None."""
    if request.query.device.type != "cpu":
        return "it runs on the CPU"
    reason = inner_product_refusal(request)
    if reason is not None:
        return reason
    if request.key.shape[-1] != request.value.shape[-1]:
        return "its kernel needs features and values of one size"
    if request.hides_nothing:
        return "there is no window: nothing is hidden"
    if _sliding_window(request) is None:
        return "the mask isn't a sliding window"
    if not request.finite:
        return "a hidden NaN, infinity or huge number would leak through it"
    return None


def seconds(request: Request) -> float:
    """The estimated time on the machine that the speeds are from."""
    return seconds_of_kernel(request, blocked.extent_of(request).pairs)


def cost(request: Request) -> Cost:
    """The cost, counted by the tiles that its blocks are about as large as."""
    found, counts = blocked.counted(request)
    # Tensors are made contiguous, and the kernel's output is copied.
    three = request.query, request.key, request.value
    numbers = request.query.numel() + sum(tensor.numel() for tensor in three if not tensor.is_contiguous())
    memory = numbers * width(request) + bytes_of_reduction(request) + bytes_of_output(request)
    return Cost(2 * sum(tile.pairs for tile in found) * features(request), memory, counts)


def run(request: Request) -> Tensor:
    """The output, (batch, head, query, value), with its gradient."""
    request = request.expanded
    if not request.differentiable:
        return forward(request)
    reduced, _ = request.reduced()
    return autograd.run_saving(reduced, sys.modules[__name__]).to(request.result_dtype)


def forward(request: Request) -> Tensor:
    """The output, (batch, head, query, value). `request`: with heads equal."""
    return forward_and_save(request.reduced()[0])[0].to(request.result_dtype)


def forward_and_save(request: Request) -> tuple[Tensor, ...]:
    """The output, with its log-sums if they are asked for, and the rows' logsumexp for each call of the kernel."""
    query, key, value = _flat(request)
    output = torch.empty_like(query)
    logsumexps, scale = [], scale_of(request.parts)
    for call in _calls(request):
        found, logsumexp = flash_kernel(
            call.rows(query), call.columns(key), call.columns(value), 0.0, False, attn_mask=call.mask, scale=scale
        )
        call.rows(output).copy_(found)
        logsumexps.append(logsumexp)
    if request.parts.log_sums:
        log_sums = output.new_empty(*output.shape[:2], 1, dtype=request.result_dtype)
        for call, logsumexp in zip(_calls(request), logsumexps, strict=True):
            call.rows(log_sums).copy_(logsumexp.unsqueeze(-1))
        ((start, stop),) = request.spans.outer
        output = joined(output, log_sums.squeeze(-1).masked_fill_(start >= stop, -torch.inf))
    return output.unflatten(0, request.query.shape[:2]), *logsumexps


def backward_from_saved(
    request: Request, grad_output: Tensor, output: Tensor, *logsumexps: Tensor
) -> tuple[Tensor, ...]:
    """The gradients of query, key and value."""
    if loses_precision(request) or not request.safe_with(grad_output):
        return backward_by_tiles(request, grad_output)
    dtype = request.query.dtype
    if rounds_gradients(request):
        request, grad_output = widened(request), grad_output.to(wide_dtype(grad_output))
        found = forward_and_save(request)
        output, logsumexps = found[0], found[1:]
    query, key, value = _flat(request)
    upward, output = grad_output.contiguous().flatten(0, 1), output.flatten(0, 1)
    if request.parts.log_sums:
        query, key, value, output = with_log_sums_column(query, key, value, output)
        upward = upward.to(output.dtype)
    wide = wide_dtype(query)  # blocks overlap, so the gradients of keys and values are sums
    grads = [torch.empty_like(query), torch.zeros_like(key, dtype=wide), torch.zeros_like(value, dtype=wide)]
    scale = scale_of(request.parts)
    for call, logsumexp in zip(_calls(request), logsumexps, strict=True):
        of_query, of_key, of_value = flash_backward_kernel(
            call.rows(upward).contiguous(),
            call.rows(query),
            call.columns(key),
            call.columns(value),
            call.rows(output),
            logsumexp,
            0.0,
            False,
            attn_mask=call.mask,
            scale=scale,
        )
        call.rows(grads[0]).copy_(of_query)
        call.add_columns(grads[1], of_key)
        call.add_columns(grads[2], of_value)
    if request.parts.log_sums:
        grads = [grad[..., :-1] for grad in grads]
    return tuple(grad.unflatten(0, request.query.shape[:2]).to(dtype) for grad in grads)


class _KernelCall(NamedTuple):
    """Consecutive blocks of rows, each with the keys within their windows."""

    row: int
    column: int
    blocks: int
    block_rows: int
    block_columns: int
    mask: Tensor  # (row, column) added to the scores: 0, or minus infinity where hidden

    def rows(self, tensor: Tensor) -> Tensor:
        """(group, row, size) -> (block, group, row, size), a view."""
        return self._view(tensor, self.row, self.block_rows)

    def columns(self, tensor: Tensor) -> Tensor:
        """(group, column, size) -> (block, group, column, size), a view in which blocks overlap."""
        return self._view(tensor, self.column, self.block_columns)

    def add_columns(self, total: Tensor, found: Tensor) -> None:
        """Add the blocks' key gradients to the total, in chunks within which no two blocks overlap."""
        for first in range(0, self.block_columns, self.block_rows):
            size = min(self.block_rows, self.block_columns - first)
            self._view(total, self.column + first, size).add_(found[:, :, first : first + size])

    def _view(self, tensor: Tensor, first: int, length: int) -> Tensor:
        groups, whole, size = tensor.shape
        # (block, group, position, size): each block starts as many rows further as a block has.
        strides = (self.block_rows * size, whole * size, size, 1)
        offset = tensor.storage_offset() + first * size
        return tensor.as_strided((self.blocks, groups, length, size), strides, offset)


def _calls(request: Request) -> Iterable[_KernelCall]:
    """The kernel calls that make up a request, from the first row to the last; a list if there are few pairs."""
    geometry, name = request.known.geometry, ("kernel_calls", request.query.dtype)
    found = geometry.get(name)
    if found is None:
        found = _each_call(request)
        if few_pairs(request.query, request.key):
            found = geometry[name] = list(found)
    return found


def _each_call(request: Request) -> Iterator[_KernelCall]:
    window = _sliding_window(request)
    if window is None:
        return
    ((start, stop),) = request.spans.outer
    start, stop = start[0], stop[0]
    queries = request.query.shape[2]
    block_rows = min(MAX_ROWS, max(MIN_ROWS, window.width // 4))
    if window.first:
        yield from _cut_windows(start, stop, 0, window.first, request)
    block_columns = block_rows - 1 + window.width
    row = torch.arange(block_rows, device="cpu").unsqueeze(1)
    column = torch.arange(block_columns, device="cpu").unsqueeze(0)
    mask = _as_bias((column >= row) & (column < row + window.width), request)
    count = (window.last - window.first) // block_rows
    groups = request.query.shape[0] * request.query.shape[1]
    blocks_per_call = max(1, MAX_GRADIENTS // (groups * block_columns * request.key.shape[-1]))
    for first in range(0, count, blocks_per_call):
        row = window.first + first * block_rows
        yield _KernelCall(row, int(start[row]), min(blocks_per_call, count - first), block_rows, block_columns, mask)
    last = window.first + count * block_rows
    if last < queries:
        yield from _cut_windows(start, stop, last, queries, request)


def _cut_windows(start: Tensor, stop: Tensor, first: int, last: int, request: Request) -> Iterator[_KernelCall]:
    """The calls for rows whose windows are cut off at an end."""
    for row in range(first, last, MAX_ROWS):
        rows = slice(row, min(row + MAX_ROWS, last))
        low, high = start[rows], stop[rows]
        seen = low < high
        column, end = (int(low[seen].min()), int(high[seen].max())) if seen.any() else (0, 1)
        columns = torch.arange(column, end, device="cpu").unsqueeze(0)
        mask = _as_bias((columns >= low.unsqueeze(1)) & (columns < high.unsqueeze(1)), request)
        yield _KernelCall(row, column, 1, rows.stop - row, end - column, mask)


def _as_bias(allowed: Tensor, request: Request) -> Tensor:
    mask = torch.zeros(allowed.shape, dtype=request.query.dtype, device="cpu")
    return mask.masked_fill_(~allowed, -torch.inf)


class _SlidingWindow(NamedTuple):
    """Rows `first` up to `last` see `width` keys each, shifted by one key from row to row."""

    first: int
    last: int
    width: int


def _sliding_window(request: Request) -> _SlidingWindow | None:
    """The window that most rows see, or None."""
    geometry = request.known.geometry
    if "sliding_window" not in geometry:
        geometry["sliding_window"] = _find_sliding_window(request)
    return geometry["sliding_window"]


def _find_sliding_window(request: Request) -> _SlidingWindow | None:
    spans = request.spans
    if not spans.exact or len(spans.outer) != 1 or len(spans.outer[0].start) != 1:
        return None
    start, stop = (bound[0] for bound in spans.outer[0])
    rows = torch.arange(len(start), device="cpu")
    middle = len(start) // 2
    width = int(stop[middle] - start[middle])
    moving = (start - rows == start[middle] - middle) & (stop - rows == stop[middle] - middle)
    first, last = int(moving.int().argmax()), int(moving.sum())
    last += first
    # The other rows must be at the ends, and few enough to be computed separately.
    if width <= 0 or not moving[first:last].all() or len(start) - (last - first) > 2 * width + 2 * MAX_ROWS:
        return None
    return _SlidingWindow(first, last, width) if last - first >= MAX_ROWS else None


def _flat(request: Request) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value, (group, length, size), contiguous."""
    query, key, value = (t.contiguous().flatten(0, 1) for t in (request.query, request.key, request.value))
    return query, key, value
