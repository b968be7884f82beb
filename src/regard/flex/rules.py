"""The rule that a mask_mod follows, found by asking it for every pair, a few rows at a time.

A rule is a mask of `attend`. Causal and padded ones are recognised, since the fastest engine knows them; others are
intervals of keys for each query, or else tiles, of which equal ones are kept once.
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
        size: the rows and columns of a block.
        queries, keys: how many there are.
    """

    kinds: Tensor
    size: tuple[int, int]
    queries: int
    keys: int


@dataclass(frozen=True)
class Found:
    """What asking found.

    Attributes:
        rule: the mask.
        counts: how many pairs each block allows, as `BlockKinds.kinds`.
    """

    rule: Mask
    counts: Tensor


def find_rule(mod: Mod, blocks: BlockKinds) -> Found:
    """The rule of a mask_mod in the blocks that are to be asked, the others being hidden or full."""
    items, heads = blocks.kinds.shape[:2]
    groups, device = items * heads, blocks.kinds.device
    counts = torch.zeros(groups, *blocks.kinds.shape[2:], dtype=torch.long, device=device)
    intervals: _Intervals | None = _Intervals(groups, blocks.queries, device)
    tiles = _Patterns(groups, blocks.queries, blocks.keys, device)
    for some, rows in _chunks(groups, blocks):
        allowed = _asked(mod, blocks, some, rows)
        _count(counts, blocks, some, rows, allowed)
        if intervals is not None and not intervals.add(some, rows, allowed):
            intervals = None
        tiles.add(some, rows, allowed)
    rule = tiles.rule(mod, blocks) if intervals is None else intervals.rule(items, heads, blocks.keys)
    return Found(rule, counts.unflatten(0, (items, heads)))


def _chunks(groups: int, blocks: BlockKinds) -> Iterator[tuple[slice, slice]]:
    """Groups and rows, whole tiles of them, that have few enough pairs; at least one tile of rows of one group."""
    if 0 in (blocks.queries, blocks.keys):
        return
    of_tiles = TILE * blocks.keys
    at_once = max(1, min(groups, BUDGET // of_tiles))
    step = TILE * max(1, BUDGET // (of_tiles * at_once))
    for first in range(0, groups, at_once):
        for row in range(0, blocks.queries, step):
            yield slice(first, min(first + at_once, groups)), slice(row, min(row + step, blocks.queries))


def _asked(mod: Mod, blocks: BlockKinds, some: slice, rows: slice) -> Tensor:
    """Which pairs of these groups and rows are allowed, (group, row, key). Only keys of blocks to be asked are."""
    heads = blocks.kinds.shape[1]
    device = blocks.kinds.device
    over = torch.arange(rows.start, rows.stop, device=device)
    across = torch.arange(blocks.keys, device=device)
    kinds = blocks.kinds.flatten(0, 1)[some][:, over // blocks.size[0]]
    undecided = (kinds == ASKED).flatten(0, 1).any(0)
    if undecided.all():
        columns, kinds = across, kinds if kinds.shape[2] == 1 else kinds[:, :, across // blocks.size[1]]
    else:
        columns, kinds = across[undecided[across // blocks.size[1]]], kinds[:, :, across // blocks.size[1]]
    allowed = (kinds == FULL).expand(-1, -1, blocks.keys)
    if not len(columns):
        return allowed
    group = torch.arange(some.start, some.stop, device=device).view(-1, 1, 1)
    at = Index(group // heads, group % heads, over.view(1, -1, 1), columns.view(1, 1, -1))
    found = mod(mod.trained, None, at)
    if len(columns) < blocks.keys:
        found = torch.zeros_like(allowed).index_copy_(2, columns, found)
    return allowed | (found & (kinds == ASKED))


def _count(counts: Tensor, blocks: BlockKinds, some: slice, rows: slice, allowed: Tensor) -> None:
    """Add how many pairs of each block are allowed."""
    height, width = blocks.size
    width = min(width, blocks.keys)
    in_row = _padded(allowed, 2, width).unflatten(2, (-1, width)).sum(3)
    block = torch.arange(rows.start, rows.stop, device=counts.device) // height
    counts[some].index_add_(1, block, in_row)


def _padded(pairs: Tensor, axis: int, size: int) -> Tensor:
    """The pairs with hidden ones up to a multiple of the size along an axis."""
    missing = -pairs.shape[axis] % size
    return torch.nn.functional.pad(pairs, (0, missing) if axis == 2 else (0, 0, 0, missing)) if missing else pairs


class _Intervals:
    """The intervals of keys that each query of each group may attend to, as long as none has more than two."""

    def __init__(self, groups: int, queries: int, device: torch.device):
        self.starts, self.stops = torch.zeros(2, _MOST_INTERVALS, groups, queries, dtype=torch.long, device=device)

    def add(self, some: slice, rows: slice, allowed: Tensor) -> bool:
        """Add what is allowed in these rows; False if some row has too many intervals."""
        ends = torch.nn.functional.pad(allowed, (1, 1))
        ends = ends[..., 1:] != ends[..., :-1]
        counts = ends.sum(2)
        if int(counts.max()) > 2 * _MOST_INTERVALS:
            return False
        where = (
            ends.nonzero()
        )  # sorted by group, row and key: where an interval starts, stops, the next one starts, ...
        number = torch.arange(len(where), device=where.device)
        number -= (counts.flatten().cumsum(0) - counts.flatten()).repeat_interleave(counts.flatten())
        group, row, key = where.unbind(1)
        for bounds, first in ((self.starts, 0), (self.stops, 1)):
            mine = number % 2 == first
            bounds[number[mine] // 2, group[mine] + some.start, row[mine] + rows.start] = key[mine]
        # The second of two, where there is only one, is empty and begins where the first ends.
        one = counts <= 2
        for bounds in (self.starts, self.stops):
            bounds[1, some, rows] = torch.where(one, self.stops[0, some, rows], bounds[1, some, rows])
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
    """The mask of `attend` that is just these intervals, if the fastest engine knows one."""
    count, _, heads, queries = starts.shape
    if (count, heads) != (1, 1) or bool((starts != 0).any()):
        return None
    stops = stops[0, :, 0]
    if bool((stops == keys).all()):
        return Dense()
    # Of attend's causal mask, the last query sees the last key; flex attention's begins at the first key.
    last = torch.arange(keys - queries + 1, keys + 1, device=stops.device).clamp_(min=0)
    if bool((stops == last).all()):
        return Causal()
    if bool((stops == stops[:, :1]).all()):
        return Lengths(key=stops[:, 0].contiguous())
    return None


class _Patterns:
    """The tiles of all groups, by the numbers of their patterns; of equal patterns one is kept."""

    def __init__(self, groups: int, queries: int, keys: int, device: torch.device):
        self.size = queries, keys
        shape = groups, *(-(-length // TILE) for length in self.size)
        self.table = torch.zeros(shape, dtype=torch.int32, device=device)
        self.numbers: dict[bytes, int] = {}
        self.kept: list[Tensor] = []

    def add(self, some: slice, rows: slice, allowed: Tensor) -> None:
        tiled = _padded(_padded(allowed, 1, TILE), 2, TILE).unflatten(1, (-1, TILE)).unflatten(3, (-1, TILE))
        tiled = tiled.transpose(2, 3)  # (group, query tile, key tile, row, column)
        counts = tiled.sum((3, 4))
        heights, widths = (
            (length - TILE * torch.arange(-(-length // TILE), device=counts.device)).clamp(max=TILE)
            for length in self.size
        )
        over = slice(rows.start // TILE, -(-rows.stop // TILE))
        full = counts == heights[over, None] * widths
        partial = ((counts > 0) & ~full).nonzero()
        self.table[some, over] = torch.where(full, FULL, torch.where(counts > 0, ASKED, HIDDEN)).int()
        if len(self.kept) > MOST_PATTERNS:
            return
        for (group, row, column), tile in zip(partial.tolist(), tiled[tuple(partial.T)].cpu(), strict=True):
            pattern = tile.numpy().tobytes()
            if pattern not in self.numbers:
                self.numbers[pattern] = ASKED + len(self.kept)
                self.kept.append(tile.clone())
            self.table[group + some.start, row + over.start, column] = self.numbers[pattern]

    def rule(self, mod: Mod, blocks: BlockKinds) -> Mask:
        table = self.table.unflatten(0, blocks.kinds.shape[:2])
        if len(self.kept) > MOST_PATTERNS:
            kinds = None if bool((blocks.kinds == ASKED).all()) else blocks.kinds
            return AskedTiles.of(table.clamp(max=ASKED), kinds, blocks.size, mod)
        for axis in (0, 1):
            first = table.narrow(axis, 0, 1)
            table = first if bool((table == first).all()) else table
        patterns = [torch.zeros(TILE, TILE, dtype=torch.bool, device="cpu")]
        patterns += [torch.ones_like(patterns[0]), *self.kept]
        return Tiles(table.contiguous(), torch.stack(patterns).to(table.device))
