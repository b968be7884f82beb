"""The kernels of `summarise`: statistics of weights by query and by key, without storing the weights; and their launch.

Weights are computed again from the two numbers that the forward pass finds of each row. Each program owns a tile of
queries, or of keys, and walks along the tiles of the other side, so no two programs write to one place, and results are
reproducible to the bit.
"""

import dataclasses

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.attention.engines.triton import outputs, tiles
from regard.attention.engines.triton.launch import call_of, kind_of, readable, slabs_of, tiling_of
from regard.attention.engines.triton.pairs import head_of, load_limits, scores_of, taken_scores, weights_of
from regard.attention.engines.triton.problem import problem
from regard.attention.engines.triton.tiles import (
    FAR,
    TABLE,
    THRESHOLD,
    head_start,
    intervals_of,
    is_seen,
    load_rows,
    phases_of,
    program_of,
    reaches,
    row_program_of,
    rows_that_see,
    shown_pairs,
)
from regard.attention.request import Request

__all__ = ["summarise", "summarise_columns", "summarise_rows"]

# Below it, w log w is nothing beside what a row sums to, and on a GPU the logarithm is minus infinity.
SMALL = tl.constexpr(1e-37)


@triton.jit
def weights_shown(query, key, highest, found, rows, columns, head, call, KIND: tl.constexpr):
    """The weights of a tile, 0 where hidden; which pairs are shown; and their distances."""
    _, score, offset = scores_of(query, key, rows, columns, head, call, KIND, False)
    if len(call.limits) > 0:
        score = taken_scores(score, columns, load_limits(rows, head, call), False)
    alive = highest != -float("inf")
    score -= tl.where(alive, highest, 0.0)[:, None]
    weight = weights_of(score, found, columns, head, KIND, False)
    if KIND.find == THRESHOLD:
        # A piece of a user's own may pass over NaN.
        weight = tl.where((found == found)[:, None], weight, float("nan"))
    shown = shown_pairs(rows, columns, head, call, KIND, False)
    # A row whose scores are all minus infinity is one that sees nothing.
    return tl.where(shown & alive[:, None], weight, 0.0), shown, offset


@triton.jit
def most_of(WIDE: tl.constexpr):
    """The rank of NaN, the highest; its negative is below all ranks."""
    if WIDE == tl.float32:
        return tl.full([], 0x7FFFFFFF, tl.int32)
    else:
        return tl.full([], 0x7FFFFFFFFFFFFFFF, tl.int64)


@triton.jit
def ranks_of(weight):
    """Whole numbers in the order of the weights, NaN above all others."""
    most = most_of(weight.dtype)
    # Zero and minus zero are equal.
    bits = tl.where(weight == 0.0, 0.0, weight).to(most.dtype, bitcast=True)
    return tl.where(weight == weight, tl.where(bits < 0, bits ^ most, bits), most)


@triton.jit
def weights_of_ranks(ranks, WIDE: tl.constexpr):
    return tl.where(ranks < 0, ranks ^ most_of(WIDE), ranks).to(WIDE, bitcast=True)


@triton.jit
def with_largest(top_ranks, top_keys, ranks, columns, least_of_all):
    """The largest so far and their keys, in any order, after one more tile to the right of all before.

    The largest of the tile takes the place of the least of those, again and again, as long as one does in some row. Of
    equals the lowest key stays. Keys of places that are still empty are `FAR` and more, each another one.
    """
    best, least = tl.max(ranks, 1), tl.min(top_ranks, 1)
    while tl.max(tl.where(best > least, 1, 0), 0) > 0:
        place = tl.min(tl.where(ranks == best[:, None], columns[None, :], FAR), 1)
        last = tl.max(tl.where(top_ranks == least[:, None], top_keys, -1), 1)
        replaced = (best > least)[:, None] & (top_keys == last[:, None])
        top_ranks = tl.where(replaced, best[:, None], top_ranks)
        top_keys = tl.where(replaced, place[:, None], top_keys)
        ranks = tl.where(columns[None, :] == place[:, None], least_of_all, ranks)
        best, least = tl.max(ranks, 1), tl.min(top_ranks, 1)
    return top_ranks, top_keys


@triton.jit
def summarise_rows(
    call, HIGHEST_IN, FOUND_IN, TOP_INDEX, TOP_WEIGHT, ENTROPY, DISTANCE, ZEROS, SEEN, SLOTS, ROWS_OUT, top, selected,
    KIND: tl.constexpr, TOP: tl.constexpr, SELECTS: tl.constexpr,
):  # fmt: skip
    """The statistics of a tile of queries, and the weights of those among them that are selected.

    TOP: the power of 2 above `top`. SLOTS: which of the `selected` rows each query is, or -1.
    """
    ROWS: tl.constexpr = KIND.rows
    tile, group = row_program_of(tl.cdiv(call.last_row - call.first_row, KIND.rows))
    batch, number = group // call.heads, group % call.heads
    head = head_of(batch, number, call, KIND)
    strides, last_row, place = call.strides, call.last_row, head.place
    Q = head_start(call.query, batch, number, strides[0], strides[1], KIND.size)
    K = head_start(call.key, batch, number // call.repeat, strides[3], strides[4], KIND.size)
    numbers = call.first_row + tile * KIND.rows + tl.arange(0, KIND.rows)
    here = numbers < last_row
    rows = intervals_of(numbers, batch, head.shift, call, KIND)
    first, _, _, last = phases_of(rows, call, KIND.columns, KIND)
    query = load_rows(Q, numbers, last_row, strides[2], KIND.size, KIND.size_block)
    highest = tl.load(HIGHEST_IN + place + numbers, mask=here, other=0.0)
    found = tl.load(FOUND_IN + place + numbers, mask=here, other=0.0)
    if SELECTS:
        slots = tl.load(SLOTS + numbers, mask=here, other=-1)
        ROWS_OUT += group.to(tl.int64) * selected * call.keys

    mass = tl.zeros([ROWS], KIND.wide)
    order = tl.zeros([ROWS], KIND.wide)
    apart = tl.zeros([ROWS], KIND.wide)
    seen = tl.zeros([ROWS], tl.int32)
    above = tl.zeros([ROWS], tl.int32)
    least_of_all = -most_of(KIND.wide)
    top_ranks = tl.zeros([ROWS, TOP], least_of_all.dtype) + least_of_all
    top_keys = tl.zeros([ROWS, TOP], tl.int32) + FAR + tl.arange(0, TOP)[None, :]
    for begin in range(first, last, KIND.columns):
        columns = begin + tl.arange(0, KIND.columns)
        if is_seen(rows, columns, head, call, KIND):
            key = load_rows(K, columns, call.keys, strides[5], KIND.size, KIND.size_block)
            weight, shown, offset = weights_shown(query, key, highest, found, rows, columns, head, call, KIND)
            size = tl.abs(weight)
            mass += tl.sum(size, 1)
            order += tl.sum(tl.where(size > SMALL, size * tl.log(size), 0.0), 1)
            apart += tl.sum(size * tl.abs(offset).to(KIND.wide), 1)
            seen += tl.sum(tl.where(shown, 1, 0), 1)
            above += tl.sum(tl.where(weight != 0.0, 1, 0), 1)
            ranks = tl.where(shown, ranks_of(weight), least_of_all)
            top_ranks, top_keys = with_largest(top_ranks, top_keys, ranks, columns, least_of_all)
            if SELECTS:
                there = (slots >= 0)[:, None] & (columns < call.keys)[None, :]
                row_start = slots[:, None].to(tl.int64) * call.keys
                tl.store(ROWS_OUT + row_start + columns[None, :], weight, mask=there)
    # With p = w / sum w: -sum p log p = log(sum w) - (sum w log w) / sum w.
    none = mass == 0.0
    mass = tl.where(none, 1.0, mass)
    entropy = tl.log(mass) - order / mass
    place += numbers
    tl.store(ENTROPY + place, tl.where(entropy < 0.0, 0.0, entropy), mask=here)
    tl.store(DISTANCE + place, apart / mass, mask=here)
    zeros = (seen - above).to(KIND.wide) / tl.where(seen == 0, 1, seen).to(KIND.wide)
    tl.store(ZEROS + place, zeros, mask=here)
    tl.store(SEEN + place, seen, mask=here)
    for i in range(top):
        best = tl.max(top_ranks, 1)
        best_key = tl.min(tl.where(top_ranks == best[:, None], top_keys, 2 * (FAR - 1)), 1)
        is_key = best_key < FAR
        tl.store(TOP_INDEX + place * top + i, tl.where(is_key, best_key, -1).to(tl.int64), mask=here)
        weight = tl.where(is_key, weights_of_ranks(best, KIND.wide), 0.0)
        tl.store(TOP_WEIGHT + place * top + i, weight, mask=here)
        taken = top_keys == best_key[:, None]
        top_ranks = tl.where(taken, least_of_all, top_ranks)
        top_keys = tl.where(taken, FAR, top_keys)


@triton.jit
def summarise_columns(call, HIGHEST_IN, FOUND_IN, BOUNDS, SUMS, MOST, cells, KIND: tl.constexpr, ADDS: tl.constexpr):
    """The sum of the weights of each key of a tile, and the largest of them or 0, over the queries of each cell.

    BOUNDS: (cells + 1,), where each cell of queries starts. SUMS and MOST: (batch, head, cell, key + 1), to which this
    launch's rows are added if `ADDS`.
    """
    COLUMNS: tl.constexpr = KIND.columns
    tile, group = program_of(tl.cdiv(call.keys, KIND.columns))
    batch, number = group // call.heads, group % call.heads
    head = head_of(batch, number, call, KIND)
    strides, last_row = call.strides, call.last_row
    Q = head_start(call.query, batch, number, strides[0], strides[1], KIND.size)
    K = head_start(call.key, batch, number // call.repeat, strides[3], strides[4], KIND.size)
    columns = tile * KIND.columns + tl.arange(0, KIND.columns)
    key = load_rows(K, columns, call.keys, strides[5], KIND.size, KIND.size_block)
    first, _, _, last = rows_that_see(columns, batch, head.shift, call, KIND.rows, KIND)
    if KIND.mask == TABLE:
        # A part of a table has a launch of its own.
        first, last = call.first_row, last_row
    place = group.to(tl.int64) * cells * (call.keys + 1) + columns
    there = columns < call.keys
    for cell in range(cells):
        start = tl.maximum(tl.load(BOUNDS + cell), first)
        stop = tl.minimum(tl.load(BOUNDS + cell + 1), last)
        sums = tl.zeros([COLUMNS], KIND.wide)
        most = tl.zeros([COLUMNS], KIND.wide)
        for begin in range(start // KIND.rows * KIND.rows, stop, KIND.rows):
            numbers = begin + tl.arange(0, KIND.rows)
            rows = intervals_of(numbers, batch, head.shift, call, KIND)
            if reaches(rows, columns, head, call, KIND):
                query = load_rows(Q, numbers, last_row, strides[2], KIND.size, KIND.size_block)
                highest = tl.load(HIGHEST_IN + head.place + numbers, mask=numbers < last_row, other=0.0)
                found = tl.load(FOUND_IN + head.place + numbers, mask=numbers < last_row, other=0.0)
                weight, _shown, _offset = weights_shown(query, key, highest, found, rows, columns, head, call, KIND)
                weight = tl.where(((numbers >= start) & (numbers < stop))[:, None], weight, 0.0)
                sums += tl.sum(weight, 0)
                most = tl.maximum(most, tl.max(weight, 0))
        if ADDS:
            sums += tl.load(SUMS + place, mask=there, other=0.0)
            most = tl.maximum(most, tl.load(MOST + place, mask=there, other=0.0))
        tl.store(SUMS + place, sums, mask=there)
        # A maximum passes over NaN.
        tl.store(MOST + place, tl.where(sums == sums, most, sums), mask=there)
        place += call.keys + 1


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
    call = call_of(found, (query, key, value), unreduced, limits)
    forward_kind, kind = (kind_of(found, each, query, value) for each in (forward_size, size))
    for share in slabs_of(found, call, size):
        count = share.last_row - share.first_row
        outputs.forward[triton.cdiv(count, forward_size.rows) * batch * heads, 1](
            share, output, output, highest, found_rows, output,
            KIND=forward_kind, SAVES=False, SPLITS=1, **forward_size.options,
        )  # fmt: skip
        summarise_rows[(triton.cdiv(count, size.rows) * batch * heads,)](
            share, highest, found_rows, top_index, top_weight, entropy, distance, zeros, seen, slots, rows,
            top, 0 if selected is None else len(selected),
            KIND=kind, TOP=triton.next_power_of_2(top), SELECTS=selected is not None, **size.options,
        )  # fmt: skip
        summarise_columns[(triton.cdiv(keys, size.columns) * batch * heads,)](
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
