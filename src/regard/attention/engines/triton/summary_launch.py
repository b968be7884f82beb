"""Launching the kernels of `summarise`, and what is left to do with what they find."""

import dataclasses

import torch
import triton
from torch import Tensor

from regard.attention.engines.triton import outputs, summaries, tiles
from regard.attention.engines.triton.launch import call_of, kind_of, readable, slabs_of, tiling_of
from regard.attention.engines.triton.problem import problem
from regard.attention.request import Request

__all__ = ["summarise"]


def summarise(request: Request, top: int, pool: int, selected: Tensor | None) -> dict[str, Tensor]:
    """The fields of a `Summary` of the weights of a request, whose value is of no matter.

    Args:
        top: how many of the largest weights of each row.
        pool: how many cells the pooled maps have at most.
        selected: the numbers of the queries whose weights are given in full; on the GPU.
    """
    reduced, unreduced = request.reduced()
    found = problem(reduced.narrowed(request), request.query.dtype)
    found.relative_values = None
    query, key, wide = readable(found.request.query), readable(found.request.key), found.wide
    (batch, heads, queries, _), keys = query.shape, key.shape[2]
    # The forward pass is run for the two numbers of each row alone.
    value = query.new_zeros(()).expand(*key.shape[:3], 1)
    output, highest, found_rows = query.new_empty(3, batch, heads, queries, dtype=wide)
    limits = query.new_empty(3 if found.normaliser.takes_some else 0, batch, heads, queries, dtype=wide)
    of_queries, of_keys = (_cells(size, pool, query) for size in (queries, keys))
    # The last column stays zero.
    sums, most = query.new_zeros(2, batch, heads, len(of_queries) - 1, keys + 1, dtype=wide)
    entropy, distance, zeros = query.new_empty(3, batch, heads, queries, dtype=wide)
    top_index = query.new_empty(batch, heads, queries, top, dtype=torch.long)
    top_weight = query.new_empty(batch, heads, queries, top, dtype=wide)
    seen = query.new_empty(batch, heads, queries, dtype=torch.int32)
    slots, rows = seen, output
    if selected is not None:
        # A row that is selected twice is written to one place.
        slots = query.new_full((queries,), -1, dtype=torch.int32)
        slots[selected] = torch.arange(len(selected), dtype=torch.int32, device=query.device)
        rows = query.new_zeros(batch, heads, len(selected), keys, dtype=wide)

    forward_size, size = (tiling_of(found, query, value, kernel) for kernel in ("forward", "queries"))
    # With fewer warps, a thread's registers don't hold what it knows of its rows.
    size = dataclasses.replace(size, warps=8)
    call = call_of(found, query, key, value, unreduced, limits)
    forward_kind, kind = (kind_of(found, each, query, value) for each in (forward_size, size))
    for share in slabs_of(found, call, size):
        count = share.last_row - share.first_row
        outputs.forward[triton.cdiv(count, forward_size.rows) * batch * heads, 1](
            share, output, output, highest, found_rows, output,
            KIND=forward_kind, SAVES=False, SPLITS=1, **forward_size.options,
        )  # fmt: skip
        summaries.summarise_rows[(triton.cdiv(count, size.rows) * batch * heads,)](
            share, highest, found_rows, top_index, top_weight, entropy, distance, zeros, seen, slots, rows,
            top, 0 if selected is None else len(selected),
            KIND=kind, TOP=triton.next_power_of_2(top), SELECTS=selected is not None, **size.options,
        )  # fmt: skip
        summaries.summarise_columns[(triton.cdiv(keys, size.columns) * batch * heads,)](
            share, highest, found_rows, of_queries, sums, most, len(of_queries) - 1,
            KIND=kind, ADDS=found.mask_kind == tiles.TABLE.value, **size.options,
        )  # fmt: skip

    before = torch.nn.functional.pad((seen > 0).cumsum(2), (1, 0))
    seeing = before[..., of_queries[1:]] - before[..., of_queries[:-1]]
    places = _places(of_keys, keys)
    pooled = sums[..., places].sum(-1) / seeing.clamp(min=1).unsqueeze(-1)
    summary = {
        "top_index": top_index,
        "top_weight": top_weight,
        "entropy": entropy,
        "received": sums[..., :keys].sum(2),
        "pooled": pooled,
        "pooled_max": most[..., places].amax(-1),
        "distance": distance,
        "zeros": zeros,
    }
    return summary if selected is None else {**summary, "rows": rows[:, :, slots[selected]]}


def _cells(size: int, pool: int, like: Tensor) -> Tensor:
    """Where each cell starts, and where the last one ends, (cell + 1,)."""
    cells = min(pool, size)
    return (torch.arange(cells + 1, device=like.device) * size // cells).int()


def _places(bounds: Tensor, size: int) -> Tensor:
    """The places in each cell, (cell, place), as many as the longest has; `size` where one has fewer."""
    places = bounds[:-1, None] + torch.arange(-(-size // (len(bounds) - 1)), device=bounds.device)
    return torch.where(places < bounds[1:, None], places, size)
