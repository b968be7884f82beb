"""Statistics of the weights of a request, summed up tile by tile: what a `Summary` is made of."""

import bisect
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.engines import blocked
from regard.attention.engines.blocked.reference import tile_weights
from regard.attention.engines.blocked.summaries import TileSummary, WeightsTile, summarise_tile
from regard.attention.engines.blocked.tile import take
from regard.attention.engines.blocked.tiles import ON_CPU, ON_GPU, Tile
from regard.attention.precision import wide_dtype
from regard.attention.request import Request
from regard.attention.sizes import Index

__all__ = ["Cells", "Totals", "totals_of"]

# Tiles hold more numbers than elsewhere, since the keys are read once per tile and only a few numbers per row are kept.
_ON_CPU = ON_CPU._replace(budget=2**21)


@dataclass(frozen=True)
class Cells:
    """Which cells of the pooled maps the queries and keys of a request lie in.

    Attributes:
        queries: how many cells there are along the queries.
        rows: in the order of the rows, runs of rows in one cell: the cell, the first row, and the row after the last.
        keys: where each cell of keys starts among the keys, and where the last one ends.

    Example:
        >>> Cells.of(2, 6, 6, [slice(0, 2), slice(4, 6)], slice(2, 6))
        Cells(queries=2, rows=((0, 0, 2), (1, 2, 4)), keys=(0, 1, 4))
    """

    queries: int
    rows: tuple[tuple[int, int, int], ...]
    keys: tuple[int, ...]

    @classmethod
    def of(
        cls, pool: int, queries: int, keys: int, own: Sequence[slice] | None = None, held: slice | None = None
    ) -> "Cells":
        """The cells of a request.

        Args:
            pool: how many there are at most, along the queries and along the keys.
            queries, keys: how many there are; of a slice of a larger request, in the whole.
            own, held: which of these queries and keys a slice has; None: all.
        """
        own, held = [slice(0, queries)] if own is None else own, slice(0, keys) if held is None else held
        bounds, rows, first = _bounds(queries, pool), [], 0
        for piece in own:
            for cell, (start, stop) in enumerate(itertools.pairwise(bounds)):
                count = min(stop, piece.stop) - max(start, piece.start)
                if count > 0:
                    rows.append((cell, first, first + count))
                    first += count
        cut = tuple(min(max(bound, held.start), held.stop) - held.start for bound in _bounds(keys, pool))
        return cls(len(bounds) - 1, tuple(rows), cut)

    @property
    def touched(self) -> list[tuple[int, int]]:
        """The intervals of cells in which queries of the request lie, in ascending order."""
        found: list[tuple[int, int]] = []
        for cell in sorted({cell for cell, _, _ in self.rows}):
            if found and found[-1][1] == cell:
                found[-1] = found[-1][0], cell + 1
            else:
                found.append((cell, cell + 1))
        return found


class Totals:
    """The statistics of a request, accumulated tile by tile, as (group, ...). A group is one head of one item.

    Attributes:
        top_index: the numbers of keys in the request.
        received: in double precision, since float32 would lose some in a sum over many tiles.
        pooled: sums over the queries and keys of a cell.
        seeing: (group, query_cell), how many queries of a cell may attend to anything.
        rows: the weights of the selected queries, None if none were selected.
        others: as in `Summary`.
    """

    def __init__(self, request: Request, cells: Cells, top: int, selected: Tensor | None):
        groups, queries, keys = request.query.shape[:2].numel(), request.query.shape[2], request.key.shape[2]
        like = request.query.new_zeros((), dtype=wide_dtype(request.query))
        self.cells = cells
        self.top_index = like.new_full((groups, queries, top), -1, dtype=torch.long)
        self.top_weight = like.new_zeros(groups, queries, top)
        self.entropy, self.distance, self.zeros = like.new_zeros(3, groups, queries)
        self.received = like.new_zeros(groups, keys, dtype=torch.float64)
        self.pooled, self.pooled_max = like.new_zeros(2, groups, cells.queries, len(cells.keys) - 1)
        self.rows = None if selected is None else like.new_zeros(groups, len(selected), keys)
        self.seeing = like.new_zeros(groups, cells.queries, dtype=torch.long)
        self._selected = selected
        self._sees = like.new_zeros(groups, queries, dtype=torch.bool)

    def add(
        self, tile: Tile, at: Index, allowed: Tensor | None, weights: Tensor, passes: Callable[..., TileSummary]
    ) -> None:
        """Add one tile of weights, (group, row, column). `passes`: the implementation of `summarise_tile`."""
        positions = at.position.squeeze(-1)
        positions = positions.view(-1, positions.shape[-1])
        cells, top = self._columns(tile), self.top_index.shape[-1]
        found: TileSummary = passes(
            WeightsTile(weights, allowed, tile.unmasked, at.key.flatten(), positions, cells, top)
        )
        here = tile.groups, tile.rows
        # In a slice of a larger request, the numbers of its own keys differ from those that masks and positions see.
        numbers = tile.keys
        if isinstance(numbers, slice):
            numbers = torch.arange(numbers.start, numbers.stop, device=weights.device)
        numbers = numbers.to(weights.device)
        column = found.top_column
        self.top_index[here] = torch.where(column < 0, -1, numbers[column.clamp(min=0)])
        self.top_weight[here] = found.top_weight
        self.entropy[here] = found.entropy
        self.distance[here] = found.distance
        self.zeros[here] = found.zeros / found.seen.clamp(min=1)
        self._sees[here] = found.seen > 0
        self.received[tile.groups, tile.keys if isinstance(tile.keys, slice) else numbers] += found.received
        self._pool(tile, found)
        if self.rows is not None and self._selected is not None:
            selected_here = ((self._selected >= tile.rows.start) & (self._selected < tile.rows.stop)).nonzero()
            selected_here = selected_here.squeeze(1)
            row = self._selected[selected_here] - tile.rows.start
            self.rows[tile.groups, selected_here.unsqueeze(1), numbers] = weights[:, row]

    def _columns(self, tile: Tile) -> list[int]:
        """Where each cell of keys starts among the tile's columns, and where the last one ends."""
        bounds = self.cells.keys
        if isinstance(tile.keys, slice):
            start, stop = tile.keys.start, tile.keys.stop
            return [min(max(bound, start), stop) - start for bound in bounds]
        return torch.searchsorted(tile.keys, torch.tensor(bounds, device=tile.keys.device)).tolist()

    def _pool(self, tile: Tile, found: TileSummary) -> None:
        """Pool the rows' cells over the query cells that the tile's rows belong to."""
        runs = self.cells.rows
        for cell, first, last in runs[bisect.bisect(runs, tile.rows.start, key=_stop) :]:
            start, stop = max(first, tile.rows.start), min(last, tile.rows.stop)
            if start >= stop:
                break
            part = slice(start - tile.rows.start, stop - tile.rows.start)
            self.pooled[tile.groups, cell] += found.sums[:, part].sum(1)
            most = self.pooled_max[tile.groups, cell]
            torch.maximum(most, found.most[:, part].amax(1), out=most)

    def count_seeing(self) -> None:
        """Count the queries of each cell that may attend to anything, once all tiles are added."""
        before = torch.nn.functional.pad(self._sees.cumsum(1), (1, 0))
        cells, first, last = torch.tensor(self.cells.rows, device=before.device, dtype=torch.long).view(-1, 3).unbind(1)
        self.seeing.index_add_(1, cells, before[:, last] - before[:, first])


def totals_of(
    request: Request,
    cells: Cells,
    top: int,
    selected: Tensor | None,
    passes: Callable[[WeightsTile], TileSummary] = summarise_tile,
    compiled_parts: Any = None,
) -> Totals:
    """The statistics of a request.

    Args:
        top: how many of the largest weights of each row to keep.
        selected: the row numbers of queries whose weights are returned in full; None: of none.
        passes: the implementation of `summarise_tile`.
        compiled_parts: what `walk` takes.
    """
    request = request.expanded
    totals = Totals(request, cells, top, selected)
    for tile, at, allowed, held in _weighed(request, compiled_parts):
        totals.add(tile, at, allowed, held, passes)
    totals.count_seeing()
    return totals


def _weighed(request: Request, compiled_parts: Any) -> Iterator[tuple[Tile, Index, Tensor | None, Tensor]]:
    """The weights and the mask, tile by tile."""
    size = _ON_CPU if request.query.device.type == "cpu" else ON_GPU
    if request.safe:
        for work in blocked.walk(request, compiled_parts=compiled_parts, size=size):
            yield work.tile, work.at, work.allowed, work.weights()
        return
    for tile, at in blocked.unsafe_tiles(request, size):
        weights, allowed = tile_weights(
            request, tile, at, take(request.query, tile, "rows"), take(request.key, tile, "keys"), safe=False
        )
        yield tile, at, allowed, weights


def _stop(run: tuple[int, int, int]) -> int:
    return run[2]


def _bounds(size: int, pool: int) -> list[int]:
    """Where each of the equal cells starts, and where the last one ends; there are no more cells than items."""
    cells = min(pool, size)
    return [cell * size // cells for cell in range(cells + 1)] if cells else [0]
