"""A window that moves along: PyTorch's fused kernel on short blocks of queries and the keys within their reach.

Consecutive blocks see keys that overlap; a view that strides over them hands all blocks to the kernel in one call, as
if they were items of a batch, without a copy. The rows near the ends, whose windows are cut short, are a call each.
"""

import sys
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from regard.attention.engines.fused import by_tiles, flash, flash_backward, inner_refusal, loses_digits, scale_of
from regard.attention.kept import kept
from regard.attention.precision import wide_dtype
from regard.attention.request import Request

__all__ = ["begin", "finish", "forward", "refuse", "run"]

TALLEST, SHORTEST = 64, 32  # rows of a block: more see more keys together than each may see
TOGETHER = 2**22  # numbers in the gradients of the keys of the blocks of one call: they stand apart before they add up


def refuse(request: Request) -> str | None:
    """Why this request is no moving window that the kernel can do, or None."""
    if request.query.device.type != "cpu":
        return "it runs on the CPU"
    reason = inner_refusal(request)
    if reason is not None:
        return reason
    if request.key.shape[-1] != request.value.shape[-1]:
        return "its kernel wants features and values of one size"
    if request.hides_nothing:
        return "there is no window: nothing is hidden"
    if _band(request) is None:
        return "its rows don't see one window that moves along with them"
    if not request.finite:
        return "a NaN, infinity or huge number in a hidden place would leak through it"
    return None


def run(request: Request) -> Tensor:
    """The output, (batch, head, query, value), with its gradient."""
    request = request.expanded
    if not request.differentiable:
        return forward(request)
    reduced, _ = request.reduced()
    return kept(reduced, sys.modules[__name__]).to(request.query.dtype)


def forward(request: Request) -> Tensor:
    """The output, (batch, head, query, value). `request`: with heads equal."""
    return begin(request.reduced()[0])[0].to(request.query.dtype)


def begin(request: Request) -> tuple[Tensor, ...]:
    """The output, and for each call of the kernel the logarithms of its rows' sums."""
    query, key, value = _flat(request)
    output = torch.empty_like(query)
    sums, scale = [], scale_of(request.parts)
    for call in _calls(request):
        found, row_sums = flash(
            call.rows(query), call.columns(key), call.columns(value), 0.0, False, attn_mask=call.mask, scale=scale
        )
        call.rows(output).copy_(found)
        sums.append(row_sums)
    return output.unflatten(0, request.query.shape[:2]), *sums


def finish(request: Request, grad_output: Tensor, output: Tensor, *sums: Tensor) -> tuple[Tensor, ...]:
    """The gradients of query, key and value."""
    if loses_digits(request) or not request.safe_with(grad_output):
        return by_tiles(request, grad_output)
    query, key, value = _flat(request)
    upward, output = grad_output.contiguous().flatten(0, 1), output.flatten(0, 1)
    wide = wide_dtype(query)  # blocks overlap, so the gradients of keys and values are sums
    grads = [torch.empty_like(query), torch.zeros_like(key, dtype=wide), torch.zeros_like(value, dtype=wide)]
    scale = scale_of(request.parts)
    for call, row_sums in zip(_calls(request), sums, strict=True):
        of_query, of_key, of_value = flash_backward(
            call.rows(upward).contiguous(),
            call.rows(query),
            call.columns(key),
            call.columns(value),
            call.rows(output),
            row_sums,
            0.0,
            False,
            attn_mask=call.mask,
            scale=scale,
        )
        call.rows(grads[0]).copy_(of_query)
        call.add_columns(grads[1], of_key)
        call.add_columns(grads[2], of_value)
    return tuple(grad.unflatten(0, request.query.shape[:2]).to(query.dtype) for grad in grads)


class _Call(NamedTuple):
    """Some blocks of rows, one behind the other, each with the keys within its reach."""

    row: int
    column: int
    blocks: int
    tall: int
    wide: int
    mask: Tensor  # (row, column) what to add to the scores: 0, or minus infinity where hidden

    def rows(self, tensor: Tensor) -> Tensor:
        """(group, row, size) -> (block, group, row, size), a view."""
        return self._view(tensor, self.row, self.tall)

    def columns(self, tensor: Tensor) -> Tensor:
        """(group, column, size) -> (block, group, column, size), a view in which blocks overlap."""
        return self._view(tensor, self.column, self.wide)

    def add_columns(self, total: Tensor, found: Tensor) -> None:
        """Add what blocks found for their keys. Piece by piece, so that no two of an addition overlap."""
        for first in range(0, self.wide, self.tall):
            size = min(self.tall, self.wide - first)
            self._view(total, self.column + first, size).add_(found[:, :, first : first + size])

    def _view(self, tensor: Tensor, first: int, length: int) -> Tensor:
        groups, whole, size = tensor.shape
        # (block, group, place, size): the next block is as many rows further as a block has.
        strides = (self.tall * size, whole * size, size, 1)
        offset = tensor.storage_offset() + first * size
        return tensor.as_strided((self.blocks, groups, length, size), strides, offset)


def _calls(request: Request) -> Iterator[_Call]:
    """The calls of the kernel that make up a request, from the first row to the last."""
    band = _band(request)
    if band is None:
        return
    ((start, stop),) = request.spans.outer
    start, stop = start[0], stop[0]
    queries = request.query.shape[2]
    tall = min(TALLEST, max(SHORTEST, band.width // 4))
    if band.first:
        yield from _end(start, stop, 0, band.first, request)
    wide = tall - 1 + band.width
    row, column = torch.arange(tall).unsqueeze(1), torch.arange(wide).unsqueeze(0)
    mask = _hiding((column >= row) & (column < row + band.width), request)
    count = (band.last - band.first) // tall
    groups = request.query.shape[0] * request.query.shape[1]
    together = max(1, TOGETHER // (groups * wide * request.key.shape[-1]))
    for first in range(0, count, together):
        row = band.first + first * tall
        yield _Call(row, int(start[row]), min(together, count - first), tall, wide, mask)
    last = band.first + count * tall
    if last < queries:
        yield from _end(start, stop, last, queries, request)


def _end(start: Tensor, stop: Tensor, first: int, last: int, request: Request) -> Iterator[_Call]:
    """Rows whose windows are cut short, in blocks."""
    for row in range(first, last, TALLEST):
        rows = slice(row, min(row + TALLEST, last))
        low, high = start[rows], stop[rows]
        seen = low < high
        column, end = (int(low[seen].min()), int(high[seen].max())) if seen.any() else (0, 1)
        places = torch.arange(column, end).unsqueeze(0)
        mask = _hiding((places >= low.unsqueeze(1)) & (places < high.unsqueeze(1)), request)
        yield _Call(row, column, 1, rows.stop - row, end - column, mask)


def _hiding(allowed: Tensor, request: Request) -> Tensor:
    mask = torch.zeros(allowed.shape, dtype=request.query.dtype)
    return mask.masked_fill_(~allowed, -torch.inf)


class _Band(NamedTuple):
    """Rows `first` up to `last` see `width` keys each, one further with every row."""

    first: int
    last: int
    width: int


def _band(request: Request) -> _Band | None:
    """The window that most rows see, if there is one."""
    if "band" not in request._found:
        request._found["band"] = _find_band(request)
    return request._found["band"]


def _find_band(request: Request) -> _Band | None:
    spans = request.spans
    if not spans.exact or len(spans.outer) != 1 or len(spans.outer[0].start) != 1:
        return None
    start, stop = (bound[0] for bound in spans.outer[0])
    rows = torch.arange(len(start))
    middle = len(start) // 2
    width = int(stop[middle] - start[middle])
    moving = (start - rows == start[middle] - middle) & (stop - rows == stop[middle] - middle)
    first, last = int(moving.int().argmax()), int(moving.sum())
    last += first
    # The others must be those near the ends, few enough to take apart.
    if width <= 0 or not moving[first:last].all() or len(start) - (last - first) > 2 * width + 2 * TALLEST:
        return None
    return _Band(first, last, width) if last - first >= TALLEST else None


def _flat(request: Request) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value, (group, length, size), contiguous."""
    query, key, value = (t.contiguous().flatten(0, 1) for t in (request.query, request.key, request.value))
    return query, key, value
