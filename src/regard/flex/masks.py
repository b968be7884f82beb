"""What a mask_mod becomes: for each query up to two intervals of keys, or a table of tiles."""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention import Index, Mask, Sizes, Spans
from regard.flex.mods import Mod

__all__ = ["ASKED", "FULL", "HIDDEN", "TILE", "AskedTiles", "KeyIntervals", "Tiles"]

TILE = 128
"""The number of rows, and of columns, of a tile: that of PyTorch's blocks by default."""

HIDDEN, FULL, ASKED = 0, 1, 2
# Where at least this share of the tiles from the first shown one to the last is shown, all of their keys are used: to
# leave out the others isn't worth a copy.
_DENSE = 0.75


@dataclass(frozen=True, repr=False)
class KeyIntervals(Mask):
    """A query may attend to the keys of one or two intervals.

    Args:
        starts, stops: (interval, batch or 1, head or 1, query), the first key of each interval and the one after its
            last. Two intervals are in ascending order with a gap between them; a second one that is empty begins where
            the first ends.
    """

    starts: Tensor
    stops: Tensor

    def allows(self, at: Index) -> Tensor:
        item, head = _item_and_head(self.starts[0], at)
        allowed = [
            (at.key >= start[item, head, at.query]) & (at.key < stop[item, head, at.query])
            for start, stop in zip(self.starts, self.stops, strict=True)
        ]
        return allowed[0] if len(allowed) == 1 else allowed[0] | allowed[1]

    def spans(self, sizes: Sizes) -> Spans:
        starts, stops = (bound.to(sizes.device) for bound in (self.starts, self.stops))
        if starts.shape[2] == 1:
            intervals = [
                Spans.only(*bounds, sizes.keys) for bounds in zip(starts[:, :, 0], stops[:, :, 0], strict=True)
            ]
            return intervals[0] if len(intervals) == 1 else intervals[0] | intervals[1]
        # An item has one span for all of its heads: from the first to the last key that any of them may see.
        empty = starts >= stops
        start = starts.masked_fill(empty, sizes.keys).amin((0, 2))
        return Spans.only(start, stops.masked_fill(empty, 0).amax((0, 2)), sizes.keys, exact=False)

    def __repr__(self) -> str:
        count, items, heads, queries = self.starts.shape
        scope = " of each head" * (heads > 1) + " of each item" * (items > 1)
        return f"KeyIntervals({count} for each of {queries} queries{scope})"


@dataclass(frozen=True, repr=False)
class Tiles(Mask):
    """Queries and keys are divided into tiles of `TILE` by `TILE` pairs, and each tile has a pattern.

    Args:
        table: (batch or 1, head or 1, query tile, key tile), the number of each tile's pattern.
        patterns: (pattern, row, column), bool; the first hides all pairs, the second allows all.
    """

    table: Tensor
    patterns: Tensor

    def allows(self, at: Index) -> Tensor:
        return self._looked_up(self.patterns, at)

    def _looked_up(self, patterns: Tensor, at: Index) -> Tensor:
        """What the patterns say of these pairs, each at its place in its tile."""
        item, head = _item_and_head(self.table, at)
        if at.query.numel() != at.query.shape[-2] or at.key.numel() != at.key.shape[-1]:
            # Queries or keys differ between the groups.
            numbers = self.table[item, head, at.query // TILE, at.key // TILE]
            return patterns[numbers, at.query % TILE, at.key % TILE]
        row, key = at.query.flatten(), at.key.flatten()
        # The tiles that are needed, and for each query or key the place of its tile among them.
        (query_tiles, row_tile), (key_tiles, column_tile) = (
            (axis // TILE).unique_consecutive(return_inverse=True) for axis in (row, key)
        )
        numbers = self.table[item, head, query_tiles.view(1, -1, 1), key_tiles.view(1, 1, -1)]
        # (group, tile, tile, row, column) -> (group, tile x row, tile x column)
        pairs = patterns[numbers].transpose(2, 3).flatten(3, 4).flatten(1, 2)
        return _select(_select(pairs, 1, row_tile * TILE + row % TILE), 2, column_tile * TILE + key % TILE)

    def spans(self, sizes: Sizes) -> Spans:
        shown = (self.table != HIDDEN).any(1).to(sizes.device)
        first, last = shown.int().argmax(2), shown.shape[2] - shown.flip(2).int().argmax(2)
        start, stop = (
            (bound * shown.any(2) * TILE).repeat_interleave(TILE, 1)[:, : sizes.queries] for bound in (first, last)
        )
        return Spans.only(start, stop, sizes.keys, exact=False)

    def columns(self, sizes: Sizes, rows: slice) -> Tensor | None:
        shown = (self.table[:, :, rows.start // TILE : -(-rows.stop // TILE)] != HIDDEN).flatten(0, 2).any(0).cpu()
        tiles = shown.nonzero().flatten()
        if not len(tiles) or len(tiles) >= _DENSE * int(tiles[-1] - tiles[0] + 1):
            return None
        keys = (tiles.unsqueeze(1) * TILE + torch.arange(TILE, device="cpu")).flatten()
        return keys[keys < sizes.keys]

    def __repr__(self) -> str:
        return f"Tiles({self._counts()}, {len(self.patterns) - 2} patterns)"

    def _counts(self) -> str:
        kinds = self.table.clamp(max=ASKED).flatten().bincount(minlength=3).tolist()
        return ", ".join(f"{count} {kind}" for count, kind in zip(kinds, ("hidden", "full", "partial"), strict=True))


@dataclass(frozen=True, repr=False)
class AskedTiles(Tiles):
    """Tiles with too many different patterns to be kept: for partial tiles the mask_mod is asked in each call.

    Args:
        table: `HIDDEN`, `FULL` or `ASKED` for each tile.
        patterns: one for each of these three; only that of `FULL` allows pairs.
        kinds: (batch or 1, head or 1, query block, key block), the same for each block of a BlockMask, whose blocks may
            have another size than tiles; None if all are to be asked.
        size: the number of rows and of columns of a block.
        mod: the mask_mod, frozen.
        trained: the tensors that it captures and that may need a gradient; they get none from a mask.
    """

    kinds: Tensor | None
    size: tuple[int, int]
    mod: Mod
    trained: tuple[Tensor, ...]

    @classmethod
    def of(cls, table: Tensor, kinds: Tensor | None, size: tuple[int, int], mod: Mod) -> "AskedTiles":
        """The mask of these tiles, blocks and mod."""
        return cls(table, _only_pattern(FULL).to(table.device), kinds, size, mod, mod.trained)

    def allows(self, at: Index) -> Tensor:
        if not self._looked_up(_only_pattern(ASKED).to(self.table.device), at).any():
            return super().allows(at)
        item, head = torch.broadcast_tensors(*_item_and_head(self.table, at))
        allowed = self.mod(self.trained, None, Index(item, head, at.query, at.key))
        if self.kinds is not None:
            kinds = self.kinds[(*_item_and_head(self.kinds, at), at.query // self.size[0], at.key // self.size[1])]
            allowed = (kinds == FULL) | (allowed & (kinds == ASKED))
        return allowed

    def __repr__(self) -> str:
        return f"AskedTiles({self._counts()}, {self.mod} asked in each call)"


def _only_pattern(number: int) -> Tensor:
    """Three patterns: this one allows all pairs, and the others allow none."""
    patterns = torch.zeros(3, TILE, TILE, dtype=torch.bool, device="cpu")
    patterns[number] = True
    return patterns


def _item_and_head(table: Tensor, at: Index) -> tuple[Tensor, Tensor]:
    """The indices of the pairs' items and heads in a table: 0 on an axis of size 1, which all items or heads share."""
    return tuple(  # pyright: ignore[reportReturnType]
        torch.zeros_like(axis[:1]) if size == 1 else axis
        for axis, size in zip((at.batch, at.head), table.shape[:2], strict=True)
    )


def _select(pairs: Tensor, axis: int, places: Tensor) -> Tensor:
    """The pairs at these places of an axis, ascending, as a view if the places are contiguous."""
    if not len(places):
        return pairs.narrow(axis, 0, 0)
    first, last = int(places[0]), int(places[-1])
    if last - first + 1 == len(places):
        return pairs.narrow(axis, first, len(places))
    return pairs.index_select(axis, places)
