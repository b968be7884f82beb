"""The rule that a mask_mod follows, found by asking it for every pair, a few rows at a time.

A rule is a mask of `attend`. Causal and padding masks are recognised, since the fastest engine knows them; others
become intervals of keys for each query, or else tiles, where equal ones are kept once.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention import Causal, Dense, Index, Lengths, Mask
from regard.flex.masks import ASKED, FULL, HIDDEN, TILE, AskedTiles, KeyIntervals, Tiles
from regard.flex.mods import Mod

__all__ = ["BlockKinds", "Found", "find_rule"]

BUDGET = 2**21  # pairs that are asked for at once
MOST_PATTERNS = 2**11  # of 16 KiB each
_MOST_INTERVALS = 2


@dataclass(frozen=True)
class BlockKinds:
    """The blocks of a BlockMask: which of them are hidden, full, or to be asked.

    Attributes:
        kinds: (batch or 1, head or 1, query block, key block), `HIDDEN`, `FULL` or `ASKED`.
        size: the number of rows and of columns of a block.
        queries, keys: the number of queries and of keys.
    """

    kinds: Tensor
    size: tuple[int, int]
    queries: int
    keys: int


@dataclass(frozen=True)
class Found:
    """What was found by asking a mask_mod.

    Attributes:
        rule: the mask.
        counts: how many pairs each block allows, of the shape of `BlockKinds.kinds`.
    """

    rule: Mask
    counts: Tensor


def find_rule(mod: Mod, blocks: BlockKinds) -> Found:
    """The rule that a mask_mod follows in the blocks to be asked; the other blocks are hidden or full."""
    items, heads = blocks.kinds.shape[:2]
    group_count, device = items * heads, blocks.kinds.device
    counts = torch.zeros(group_count, *blocks.kinds.shape[2:], dtype=torch.long, device=device)
    intervals: _Intervals | None = _Intervals(group_count, blocks.queries, device)
    tiles = _Patterns(group_count, blocks.queries, blocks.keys, device)
    for groups, rows in _chunks(group_count, blocks):
        allowed = _asked(mod, blocks, groups, rows)
        _count(counts, blocks, groups, rows, allowed)
        if intervals is not None and not intervals.add(groups, rows, allowed):
            intervals = None
        tiles.add(groups, rows, allowed)
    rule = tiles.rule(mod, blocks) if intervals is None else intervals.rule(items, heads, blocks.keys)
    return Found(rule, counts.unflatten(0, (items, heads)))


def _chunks(group_count: int, blocks: BlockKinds) -> Iterator[tuple[slice, slice]]:
    """Groups and rows, in whole tiles, of at most `BUDGET` pairs, but at least the rows of one tile in one group."""
    if 0 in (blocks.queries, blocks.keys):
        return
    pairs_per_tile_row = TILE * blocks.keys
    groups_at_once = max(1, min(group_count, BUDGET // pairs_per_tile_row))
    rows_at_once = TILE * max(1, BUDGET // (pairs_per_tile_row * groups_at_once))
    for group in range(0, group_count, groups_at_once):
        for row in range(0, blocks.queries, rows_at_once):
            yield (
                slice(group, min(group + groups_at_once, group_count)),
                slice(row, min(row + rows_at_once, blocks.queries)),
            )


def _asked(mod: Mod, blocks: BlockKinds, groups: slice, rows: slice) -> Tensor:
    """Which pairs of these groups and rows are allowed, (group, row, key).

    The mod is asked only for the keys of blocks to be asked, in whichever of these groups and rows.
    """
    heads = blocks.kinds.shape[1]
    device = blocks.kinds.device
    query = torch.arange(rows.start, rows.stop, device=device)
    key = torch.arange(blocks.keys, device=device)
    kinds = blocks.kinds.flatten(0, 1)[groups][:, query // blocks.size[0]]
    undecided = (kinds == ASKED).flatten(0, 1).any(0)
    if undecided.all():
        columns, kinds = key, kinds if kinds.shape[2] == 1 else kinds[:, :, key // blocks.size[1]]
    else:
        columns, kinds = key[undecided[key // blocks.size[1]]], kinds[:, :, key // blocks.size[1]]
    allowed = (kinds == FULL).expand(-1, -1, blocks.keys)
    if not len(columns):
        return allowed
    group = torch.arange(groups.start, groups.stop, device=device).view(-1, 1, 1)
    at = Index(group // heads, group % heads, query.view(1, -1, 1), columns.view(1, 1, -1))
    answers = mod(mod.trained, None, at)
    if len(columns) < blocks.keys:
        answers = torch.zeros_like(allowed).index_copy_(2, columns, answers)
    return allowed | (answers & (kinds == ASKED))


def _count(counts: Tensor, blocks: BlockKinds, groups: slice, rows: slice, allowed: Tensor) -> None:
    """Add to `counts` how many pairs of each block are allowed."""
    height, width = blocks.size
    width = min(width, blocks.keys)
    row_counts = _padded(allowed, 2, width).unflatten(2, (-1, width)).sum(3)
    block = torch.arange(rows.start, rows.stop, device=counts.device) // height
    counts[groups].index_add_(1, block, row_counts)


def _padded(pairs: Tensor, axis: int, size: int) -> Tensor:
    """The pairs, padded with hidden ones along an axis to a multiple of the size."""
    missing = -pairs.shape[axis] % size
    return torch.nn.functional.pad(pairs, (0, missing) if axis == 2 else (0, 0, 0, missing)) if missing else pairs


class _Intervals:
    """The intervals of keys that each query of each group may attend to, as long as none has more than two."""

    def __init__(self, groups: int, queries: int, device: torch.device):
        self.starts, self.stops = torch.zeros(2, _MOST_INTERVALS, groups, queries, dtype=torch.long, device=device)

    def add(self, groups: slice, rows: slice, allowed: Tensor) -> bool:
        """Add the intervals of these rows; False if some row has too many."""
        padded = torch.nn.functional.pad(allowed, (1, 1))
        ends = padded[..., 1:] != padded[..., :-1]
        counts = ends.sum(2)
        if int(counts.max()) > 2 * _MOST_INTERVALS:
            return False
        # Sorted by group, row and key, so that in each row an interval starts, it stops, the next one starts, ...
        places = ends.nonzero()
        number = torch.arange(len(places), device=places.device)
        number -= (counts.flatten().cumsum(0) - counts.flatten()).repeat_interleave(counts.flatten())
        group, row, key = places.unbind(1)
        for bounds, first in ((self.starts, 0), (self.stops, 1)):
            is_bound = number % 2 == first
            bounds[number[is_bound] // 2, group[is_bound] + groups.start, row[is_bound] + rows.start] = key[is_bound]
        # Where a row has only one interval, its second one is empty and begins where the first ends.
        is_single = counts <= 2
        for bounds in (self.starts, self.stops):
            bounds[1, groups, rows] = torch.where(is_single, self.stops[0, groups, rows], bounds[1, groups, rows])
        return True

    def rule(self, items: int, heads: int, keys: int) -> Mask:
        starts, stops = (bounds.unflatten(1, (items, heads)) for bounds in (self.starts, self.stops))
        if torch.equal(starts[1], stops[1]):
            starts, stops = starts[:1], stops[:1]
        for axis in (1, 2):  # items, heads
            first_starts, first_stops = starts.narrow(axis, 0, 1), stops.narrow(axis, 0, 1)
            if bool((starts == first_starts).all()) and bool((stops == first_stops).all()):
                starts, stops = first_starts, first_stops
        return _known(starts, stops, keys) or KeyIntervals(starts.contiguous(), stops.contiguous())


def _known(starts: Tensor, stops: Tensor, keys: int) -> Mask | None:
    """A mask that the fastest engine knows and that allows just these intervals; None if there is none."""
    count, _, heads, queries = starts.shape
    if (count, heads) != (1, 1) or bool((starts != 0).any()):
        return None
    stops = stops[0, :, 0]
    if bool((stops == keys).all()):
        return Dense()
    # In `attend`'s causal mask the last query sees the last key; in flex attention's, the first query the first.
    last = torch.arange(keys - queries + 1, keys + 1, device=stops.device).clamp_(min=0)
    if bool((stops == last).all()):
        return Causal()
    if bool((stops == stops[:, :1]).all()):
        return Lengths(key=stops[:, 0].contiguous())
    return None


class _Patterns:
    """The number of each tile's pattern, for all groups; equal patterns are kept once and share a number."""

    def __init__(self, groups: int, queries: int, keys: int, device: torch.device):
        self.size = queries, keys
        shape = groups, *(-(-length // TILE) for length in self.size)
        self.table = torch.zeros(shape, dtype=torch.int32, device=device)
        self.numbers: dict[bytes, int] = {}
        self.patterns: list[Tensor] = []

    def add(self, groups: slice, rows: slice, allowed: Tensor) -> None:
        tiled = _padded(_padded(allowed, 1, TILE), 2, TILE).unflatten(1, (-1, TILE)).unflatten(3, (-1, TILE))
        tiled = tiled.transpose(2, 3)  # (group, query tile, key tile, row, column)
        counts = tiled.sum((3, 4))
        heights, widths = (
            (length - TILE * torch.arange(-(-length // TILE), device=counts.device)).clamp(max=TILE)
            for length in self.size
        )
        query_tiles = slice(rows.start // TILE, -(-rows.stop // TILE))
        full = counts == heights[query_tiles, None] * widths
        partial = ((counts > 0) & ~full).nonzero()
        self.table[groups, query_tiles] = torch.where(full, FULL, torch.where(counts > 0, ASKED, HIDDEN)).int()
        if len(self.patterns) > MOST_PATTERNS:
            return
        for (group, row, column), tile in zip(partial.tolist(), tiled[tuple(partial.T)].cpu(), strict=True):
            pattern = tile.numpy().tobytes()
            if pattern not in self.numbers:
                self.numbers[pattern] = ASKED + len(self.patterns)
                self.patterns.append(tile.clone())
            self.table[group + groups.start, row + query_tiles.start, column] = self.numbers[pattern]

    def rule(self, mod: Mod, blocks: BlockKinds) -> Mask:
        table = self.table.unflatten(0, blocks.kinds.shape[:2])
        if len(self.patterns) > MOST_PATTERNS:
            kinds = None if bool((blocks.kinds == ASKED).all()) else blocks.kinds
            return AskedTiles.of(table.clamp(max=ASKED), kinds, blocks.size, mod)
        for axis in (0, 1):
            first = table.narrow(axis, 0, 1)
            table = first if bool((table == first).all()) else table
        patterns = [torch.zeros(TILE, TILE, dtype=torch.bool, device="cpu")]
        patterns += [torch.ones_like(patterns[0]), *self.patterns]
        return Tiles(table.contiguous(), torch.stack(patterns).to(table.device))
