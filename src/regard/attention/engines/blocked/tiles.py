"""Tiles: a request divided into blocks of queries and the keys that they may see, computed from the mask's spans."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from regard.attention.masks import Mask
from regard.attention.pairs.csr import Csr
from regard.attention.pairs.intervals import Interval
from regard.attention.pairs.spans import Spans
from regard.attention.sizes import Sizes

__all__ = ["MIN_ROWS", "ON_CPU", "ON_GPU", "Extent", "Tile", "TileSize", "extent", "single_tile", "tile_size", "tiles"]

MIN_ROWS = 16  # fewer make the products slower; beyond 65,536 keys a tile grows with the keys, and memory stays linear
MAX_WIDTHS = 64  # different widths of contiguous tiles: few, so that memory and compiled products are reused
MAX_GAP = 64  # intervals of keys with a smaller gap are merged, which costs less than a copy
_WORTH_HALVING = 0.8  # half the rows are taken if they have at most this fraction of the keys


class TileSize(NamedTuple):
    """The limits of a tile. They don't affect the result.

    Attributes:
        rows: the most rows.
        budget: numbers in one matrix of a tile.
        narrow: the rows that a tile has at least if they share few keys: it holds the keys of all of them.
    """

    rows: int = 256
    budget: int = 2**20
    narrow: int = 64


ON_CPU = TileSize()
"""More rows don't make the products faster, and 4 MiB of float32 fit in the cache."""

ON_GPU = TileSize(rows=1024, budget=2**26, narrow=1024)
"""Each tile costs about a millisecond for launching its kernels, so there should be few; 256 MiB of float32."""

_FAR_KEY = torch.iinfo(torch.long).max // 2  # stays far after subtractions
_NOTHING = slice(0, 0)


@dataclass(frozen=True)
class Tile:
    """The groups (one head of one item each), queries and keys of a tile.

    Attributes:
        keys: a range of contiguous keys, or sorted indices.
        unmasked: columns of the tile that are known to be allowed for all of its rows.
    """

    groups: slice
    rows: slice
    keys: slice | Tensor
    unmasked: slice

    @cached_property
    def columns(self) -> int:
        """The number of keys."""
        return len(self.keys) if isinstance(self.keys, Tensor) else self.keys.stop - self.keys.start

    @cached_property
    def full(self) -> bool:
        """Whether all pairs are allowed."""
        return self.unmasked.start == 0 and self.unmasked.stop == self.columns

    @property
    def pairs(self) -> int:
        """The number of pairs of query and key."""
        return (self.groups.stop - self.groups.start) * (self.rows.stop - self.rows.start) * self.columns


def tile_size(device: torch.device) -> TileSize:
    """The size of tiles that is fast on a device."""
    return ON_CPU if device.type == "cpu" else ON_GPU


def single_tile(batch: int, heads: int, queries: int, keys: int, size: TileSize = ON_CPU) -> Tile | None:
    """The only tile of a small request in which nothing is hidden, as `tiles` would return it; None for larger ones.

    This saves computing the mask's spans, which takes as long as the products for a sentence.
    """
    groups = batch * heads
    if not 0 < keys < size.rows or not 0 < queries <= size.rows or not 0 < groups * queries * keys <= size.budget:
        return None
    return Tile(slice(0, groups), slice(0, queries), slice(0, keys), slice(0, keys))


def tiles(mask: Mask, spans: Spans, sizes: Sizes, heads: int, size: TileSize = ON_CPU) -> Iterator[Tile]:
    """Divide a request into tiles, leaving out keys that are hidden from all rows of a tile.

    The tiles are ordered by block of rows, and within a block by group, so that the mask need be evaluated only once
    for all heads.
    """
    if 0 in (sizes.batch, heads, sizes.queries, sizes.keys):
        return
    widest = _widest(spans)
    rows_per_tile = _rows_per_tile(mask, spans, sizes, widest, size)
    row_starts = list(range(0, sizes.queries, rows_per_tile))
    outer = [_bounds(interval, row_starts, sizes.batch, widest=True) for interval in spans.outer]
    inner = [_bounds(interval, row_starts, sizes.batch, widest=False) for interval in spans.inner]
    for block, row_start in enumerate(row_starts):
        row = slice(row_start, min(row_start + rows_per_tile, sizes.queries))
        # How many groups fit into a tile depends on the item with the most keys.
        all_items = slice(0, sizes.batch)
        longest = sum(stop - start for start, stop in _hulls(outer, block, all_items))
        if not longest:
            continue
        picked = mask.columns(sizes, row)
        for groups in _groups(sizes.batch, heads, max(1, size.budget // ((row.stop - row.start) * longest))):
            items = slice(groups.start // heads, (groups.stop - 1) // heads + 1)
            hulls = _hulls(outer, block, items)
            if not hulls:
                continue
            if picked is not None:
                keys = picked[(picked >= hulls[0][0]) & (picked < hulls[-1][1])]
                if len(keys):
                    yield Tile(groups, row, keys, _NOTHING)
            elif len(hulls) == 2:
                yield Tile(groups, row, torch.cat([torch.arange(*hull, device="cpu") for hull in hulls]), _NOTHING)
            else:
                common = [(max(starts[block][items]), min(stops[block][items])) for starts, stops in inner]
                yield _contiguous_tile(groups, row, hulls[0], common, sizes.keys, _column_step(widest))


@dataclass(frozen=True)
class Extent:
    """The approximate size of all tiles of a request together.

    Attributes:
        pairs: pairs of query and key.
        tiles: the number of tiles.
    """

    pairs: int
    tiles: int


def extent(mask: Mask, spans: Spans, edges: Csr | None, sizes: Sizes, heads: int, size: TileSize = ON_CPU) -> Extent:
    """The extent of the tiles without listing them: at most what the spans allow, and at most one key per edge."""
    if 0 in (sizes.batch, heads, sizes.queries, sizes.keys):
        return Extent(0, 0)
    widest = _widest(spans)
    rows_per_tile, step = _rows_per_tile(mask, spans, sizes, widest, size), _column_step(widest)
    cuts = torch.arange(0, sizes.queries + rows_per_tile, rows_per_tile, device="cpu").clamp(max=sizes.queries)
    hulls = [_hulls_of_blocks(interval, rows_per_tile) for interval in spans.outer]
    counts = [(stop - start).clamp(min=0) for start, stop in hulls]
    columns = counts[0]
    if len(hulls) == 2:
        (start, stop), (other_start, other_stop) = hulls
        joined = torch.maximum(stop, other_stop) - torch.minimum(start, other_start)
        near = (counts[0] > 0) & (counts[1] > 0) & (other_start - stop <= MAX_GAP)
        columns = torch.where(near, joined, counts[0] + counts[1])
    columns = (-(-columns // step) * step).clamp(max=sizes.keys).expand(sizes.batch, -1)
    if edges is not None:
        columns = torch.minimum(columns, edges.starts.cpu()[cuts].diff())
    pairs = heads * int((columns * cuts.diff()).sum())
    return Extent(pairs, max(len(cuts) - 1, pairs // size.budget))


def _rows_per_tile(mask: Mask, spans: Spans, sizes: Sizes, widest: int, size: TileSize) -> int:
    """How many rows a tile has: fewer where rows are long, and where they are so short that they would share few keys.

    If there are few keys in all, a tile has as many rows as give it the usual size. Where only some rows are long,
    those in the middle decide: the first ones are often special, since they are cut off or see everything.
    """
    rows, budget, narrow = size
    if widest == sizes.keys < rows:
        return max(1, min(sizes.queries, rows * rows // max(widest, 1), budget // max(widest, 1)))
    rows = max(1, min(rows, sizes.queries, max(MIN_ROWS, budget // max(widest, 1)), max(narrow, (widest + 1) // 2)))
    keys = _keys_in_the_middle(mask, spans, sizes, rows) if rows > narrow else 0
    while rows > narrow:
        fewer = max(narrow, rows // 2)
        keys_of_fewer = _keys_in_the_middle(mask, spans, sizes, fewer)
        if keys_of_fewer > _WORTH_HALVING * keys:
            break
        rows, keys = fewer, keys_of_fewer
    return rows


def _keys_in_the_middle(mask: Mask, spans: Spans, sizes: Sizes, rows: int) -> int:
    """How many keys a tile of so many rows in the middle would have."""
    start = (sizes.queries - rows) // 2
    middle = slice(start, start + rows)
    picked = mask.columns(sizes, middle)
    if picked is not None:
        return len(picked)
    intervals = [Interval(one.start[:, middle], one.stop[:, middle]) for one in spans.outer]
    outer = [_bounds(interval, [0], sizes.batch, widest=True) for interval in intervals]
    hulls = [_hulls(outer, 0, slice(item, item + 1)) for item in range(sizes.batch)]
    return max(sum(stop - start for start, stop in each) for each in hulls)


def _hulls_of_blocks(interval: Interval, rows_per_tile: int) -> tuple[Tensor, Tensor]:
    """For each block of rows, the first key that some row may see and the one after the last, (batch or 1, block)."""
    start, stop = _without_empty(interval)
    missing = -start.shape[1] % rows_per_tile
    start, stop = (
        torch.nn.functional.pad(part, (0, missing), value=value).unflatten(1, (-1, rows_per_tile))
        for part, value in ((start, _FAR_KEY), (stop, 0))
    )
    return start.amin(2), stop.amax(2)


def _groups(batch: int, heads: int, groups_per_tile: int) -> Iterator[slice]:
    """Some heads of one item, or all heads of some items, since a mask is often the same for all heads of an item."""
    if groups_per_tile < heads:
        for item in range(batch):
            for first in range(0, heads, groups_per_tile):
                yield slice(item * heads + first, item * heads + min(first + groups_per_tile, heads))
        return
    items = groups_per_tile // heads
    for first in range(0, batch, items):
        yield slice(first * heads, min(first + items, batch) * heads)


def _contiguous_tile(
    groups: slice, rows: slice, hull: tuple[int, int], common: list[tuple[int, int]], most: int, step: int
) -> Tile:
    """A tile of contiguous keys: those of the hull, and if the mask cuts it, some more up to a standard width."""
    start, stop = hull
    if hull not in common:
        columns = min(-(-(stop - start) // step) * step, most)
        start = min(start, most - columns)
        stop = start + columns
    clipped = [(max(a, start) - start, min(b, stop) - start) for a, b in common]
    widest = max(clipped, key=lambda bound: bound[1] - bound[0], default=(0, 0))
    return Tile(groups, rows, slice(start, stop), slice(*widest) if widest[0] < widest[1] else _NOTHING)


def _column_step(widest: int) -> int:
    """The step of tile widths: tiles that the mask cuts are widened to a multiple of it by keys that the mask hides.

    Otherwise, under a causal mask, each tile would have its own width, for which the libraries would compile their own
    code, and the memory freed by one tile would not fit the next.
    """
    return max(1, -(-widest // MAX_WIDTHS))


_Bounds = tuple[list[list[int]], list[list[int]]]  # starts and stops, [block][item]


def _hulls(outer: list[_Bounds], block: int, items: slice) -> list[tuple[int, int]]:
    """One or two intervals that contain every key that a row of the block may see in one of the items."""
    hulls = [(min(starts[block][items]), max(stops[block][items])) for starts, stops in outer]
    hulls = sorted(hull for hull in hulls if hull[0] < hull[1])
    if len(hulls) == 2 and hulls[0][1] + MAX_GAP >= hulls[1][0]:
        return [(hulls[0][0], max(hulls[0][1], hulls[1][1]))]
    return hulls


def _bounds(interval: Interval, row_starts: list[int], batch: int, *, widest: bool) -> _Bounds:
    """Start and stop of an interval for every block of rows and item: the hull of its rows, or their intersection."""
    start, stop = _without_empty(interval) if widest else interval
    counts = [b - a for a, b in zip(row_starts, [*row_starts[1:], start.shape[1]], strict=True)]
    starts = [part.amin(1) if widest else part.amax(1) for part in start.split(counts, dim=1)]
    stops = [part.amax(1) if widest else part.amin(1) for part in stop.split(counts, dim=1)]
    return tuple([items.expand(batch).tolist() for items in bound] for bound in (starts, stops))  # pyright: ignore[reportReturnType]


def _without_empty(interval: Interval) -> tuple[Tensor, Tensor]:
    """The interval with bounds that can't widen a hull in rows that see nothing."""
    start, stop = interval
    empty = start >= stop
    return start.masked_fill(empty, _FAR_KEY), stop.masked_fill(empty, 0)


def _widest(spans: Spans) -> int:
    """The most keys that one query may see, according to the spans."""
    widths = [(interval.stop - interval.start).clamp(min=0) for interval in spans.outer]
    return int(torch.stack(torch.broadcast_tensors(*widths)).sum(0).max())
