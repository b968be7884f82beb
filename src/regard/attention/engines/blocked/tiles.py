"""Tiles: a request cut into blocks of queries and the keys that they may see, by arithmetic on the mask's spans."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.frames import Frame, Spans, Stretch
from regard.attention.masks import Mask
from regard.attention.sparsity import Csr

__all__ = ["BUDGET", "FEWEST", "ROWS", "Extent", "Tile", "extent", "height", "tiles", "whole"]

ROWS = 256  # more don't make the products faster
FEWEST = 16  # fewer would make them slower; beyond 65,536 keys a tile grows with the keys, and memory stays linear
NARROW = 64  # a narrow window wants short tiles, since a tile holds the keys of all its rows
BUDGET = 2**20  # numbers in one matrix of a tile: 4 MiB of float32 stay near the cores
WIDTHS = 64  # of this many widths are the tiles of neighbouring keys, so that memory and compiled products serve again
NEAR = 64  # stretches of keys closer than this are taken as one: a gap so small costs less than a copy

_FAR = torch.iinfo(torch.long).max // 2  # what is taken from it is still far
_NOTHING = slice(0, 0)


@dataclass(frozen=True)
class Tile:
    """Which groups (one head of one item each), queries and keys a tile holds.

    Attributes:
        keys: neighbours, or picked ones, sorted.
        open: which of the tile's columns are known to be allowed for all of its rows.
    """

    groups: slice
    rows: slice
    keys: slice | Tensor
    open: slice

    @property
    def columns(self) -> int:
        """How many keys it holds."""
        return len(self.keys) if isinstance(self.keys, Tensor) else self.keys.stop - self.keys.start

    @property
    def full(self) -> bool:
        """Whether all its pairs are allowed."""
        return self.open.start == 0 and self.open.stop == self.columns

    @property
    def pairs(self) -> int:
        """How many pairs of query and key it holds."""
        return (self.groups.stop - self.groups.start) * (self.rows.stop - self.rows.start) * self.columns


def height(queries: int, keys: int, widest: int, rows: int = ROWS, budget: int = BUDGET) -> int:
    """How many rows a tile has: fewer where a row is long, and where it is short, lest the rows share few keys.

    Where there are but few keys at all, as many rows as make the tile as large as others.
    """
    if widest == keys < rows:
        return max(1, min(queries, rows * rows // max(keys, 1), budget // max(keys, 1)))
    return max(1, min(rows, queries, max(FEWEST, budget // max(widest, 1)), max(NARROW, (widest + 1) // 2)))


def whole(batch: int, heads: int, queries: int, keys: int, rows: int = ROWS, budget: int = BUDGET) -> Tile | None:
    """The one tile of a small request in which nothing is hidden, as `tiles` would cut it; None of any other size.

    Asking the mask for its spans takes as long as the products of a sentence.
    """
    groups = batch * heads
    if not 0 < keys < rows or not 0 < queries <= rows or not 0 < groups * queries * keys <= budget:
        return None
    return Tile(slice(0, groups), slice(0, queries), slice(0, keys), slice(0, keys))


def tiles(mask: Mask, spans: Spans, frame: Frame, heads: int, rows: int = ROWS, budget: int = BUDGET) -> Iterator[Tile]:
    """Cut a request into tiles; what is hidden from all its rows is left out.

    Block of rows by block of rows, and in each all groups: what the mask allows there can be asked once for all heads.
    """
    if 0 in (frame.batch, heads, frame.queries, frame.keys):
        return
    widest = _widest(spans)
    tall = height(frame.queries, frame.keys, widest, rows, budget)
    edges = list(range(0, frame.queries, tall))
    outer = [_bounds(stretch, edges, frame.batch, widest=True) for stretch in spans.outer]
    inner = [_bounds(stretch, edges, frame.batch, widest=False) for stretch in spans.inner]
    for block, edge in enumerate(edges):
        row = slice(edge, min(edge + tall, frame.queries))
        # The keys of all items: how many groups fit together depends on the longest.
        everyone = slice(0, frame.batch)
        longest = sum(stop - start for start, stop in _hulls(outer, block, everyone))
        if not longest:
            continue
        picked = mask.columns(frame, row)
        for groups in _groups(frame.batch, heads, max(1, budget // ((row.stop - row.start) * longest))):
            items = slice(groups.start // heads, (groups.stop - 1) // heads + 1)
            hulls = _hulls(outer, block, items)
            if not hulls:
                continue
            if picked is not None:
                keys = picked[(picked >= hulls[0][0]) & (picked < hulls[-1][1])]
                if len(keys):
                    yield Tile(groups, row, keys, _NOTHING)
            elif len(hulls) == 2:
                yield Tile(groups, row, torch.cat([torch.arange(*hull) for hull in hulls]), _NOTHING)
            else:
                common = [(max(starts[block][items]), min(stops[block][items])) for starts, stops in inner]
                yield _neighbours(groups, row, hulls[0], common, frame.keys, _step(widest))


@dataclass(frozen=True)
class Extent:
    """About how much the tiles of a request hold together.

    Attributes:
        pairs: pairs of query and key.
        tiles: how many tiles there are.
    """

    pairs: int
    tiles: int


def extent(spans: Spans, edges: Csr | None, frame: Frame, heads: int) -> Extent:
    """What the tiles would hold, without listing them: at most what the spans leave, and an edge at most one key."""
    if 0 in (frame.batch, heads, frame.queries, frame.keys):
        return Extent(0, 0)
    widest = _widest(spans)
    tall, step = height(frame.queries, frame.keys, widest), _step(widest)
    cuts = torch.arange(0, frame.queries + tall, tall).clamp(max=frame.queries)
    hulls = [_hulls_of_blocks(stretch, tall) for stretch in spans.outer]
    sizes = [(stop - start).clamp(min=0) for start, stop in hulls]
    columns = sizes[0]
    if len(hulls) == 2:
        (start, stop), (other_start, other_stop) = hulls
        joined = torch.maximum(stop, other_stop) - torch.minimum(start, other_start)
        near = (sizes[0] > 0) & (sizes[1] > 0) & (other_start - stop <= NEAR)
        columns = torch.where(near, joined, sizes[0] + sizes[1])
    columns = (-(-columns // step) * step).clamp(max=frame.keys).expand(frame.batch, -1)
    if edges is not None:
        columns = torch.minimum(columns, edges.starts.cpu()[cuts].diff())
    pairs = heads * int((columns * cuts.diff()).sum())
    return Extent(pairs, max(len(cuts) - 1, pairs // BUDGET))


def _hulls_of_blocks(stretch: Stretch, tall: int) -> tuple[Tensor, Tensor]:
    """The first key that some row of a block may see, and the one after the last, (batch or 1, block)."""
    start, stop = _without_empty(stretch)
    missing = -start.shape[1] % tall
    start, stop = (
        torch.nn.functional.pad(part, (0, missing), value=value).unflatten(1, (-1, tall))
        for part, value in ((start, _FAR), (stop, 0))
    )
    return start.amin(2), stop.amax(2)


def _groups(batch: int, heads: int, together: int) -> Iterator[slice]:
    """Some heads of one item, or all heads of some items: what a mask says of an item it says of all its heads."""
    if together < heads:
        for item in range(batch):
            for first in range(0, heads, together):
                yield slice(item * heads + first, item * heads + min(first + together, heads))
        return
    items = together // heads
    for first in range(0, batch, items):
        yield slice(first * heads, min(first + items, batch) * heads)


def _neighbours(
    groups: slice, rows: slice, hull: tuple[int, int], common: list[tuple[int, int]], most: int, step: int
) -> Tile:
    """The tile of keys that are neighbours: those of the hull, and where the mask cuts it, some more."""
    start, stop = hull
    if hull not in common:
        columns = min(-(-(stop - start) // step) * step, most)
        start = min(start, most - columns)
        stop = start + columns
    clipped = [(max(a, start) - start, min(b, stop) - start) for a, b in common]
    widest = max(clipped, key=lambda bound: bound[1] - bound[0], default=(0, 0))
    return Tile(groups, rows, slice(start, stop), slice(*widest) if widest[0] < widest[1] else _NOTHING)


def _step(widest: int) -> int:
    """Tiles that the mask cuts have columns in whole steps: what comes in, the mask hides, which is asked anyway.

    Under a causal mask every tile else had a width of its own, for which the libraries' products may keep compiled
    code, and whose freed memory doesn't fit the next.
    """
    return max(1, -(-widest // WIDTHS))


_Bounds = tuple[list[list[int]], list[list[int]]]  # starts and stops, [block][item]


def _hulls(outer: list[_Bounds], block: int, items: slice) -> list[tuple[int, int]]:
    """One or two stretches that hold every key which a row of the block may see in one of the items."""
    hulls = [(min(starts[block][items]), max(stops[block][items])) for starts, stops in outer]
    hulls = sorted(hull for hull in hulls if hull[0] < hull[1])
    if len(hulls) == 2 and hulls[0][1] + NEAR >= hulls[1][0]:
        return [(hulls[0][0], max(hulls[0][1], hulls[1][1]))]
    return hulls


def _bounds(stretch: Stretch, edges: list[int], batch: int, *, widest: bool) -> _Bounds:
    """Start and stop of a stretch for every block of rows and item: the widest of its rows, or what all share."""
    start, stop = _without_empty(stretch) if widest else stretch
    sizes = [b - a for a, b in zip(edges, [*edges[1:], start.shape[1]], strict=True)]
    starts = [part.amin(1) if widest else part.amax(1) for part in start.split(sizes, dim=1)]
    stops = [part.amax(1) if widest else part.amin(1) for part in stop.split(sizes, dim=1)]
    return tuple([items.expand(batch).tolist() for items in bound] for bound in (starts, stops))  # pyright: ignore[reportReturnType]


def _without_empty(stretch: Stretch) -> tuple[Tensor, Tensor]:
    """A row that may see nothing must not widen a hull."""
    start, stop = stretch
    empty = start >= stop
    return start.masked_fill(empty, _FAR), stop.masked_fill(empty, 0)


def _widest(spans: Spans) -> int:
    """The most keys that one query may see, as far as the spans say."""
    widths = [(stretch.stop - stretch.start).clamp(min=0) for stretch in spans.outer]
    return int(torch.stack(torch.broadcast_tensors(*widths)).sum(0).max())
