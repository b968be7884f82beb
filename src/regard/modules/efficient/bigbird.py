"""BigBird's attention: blocks that see their neighbours, global blocks, and random ones."""

import functools
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.attention import Mask, Prefix
from regard.attention.pairs.spans import Spans
from regard.attention.sizes import Index, Sizes
from regard.attention.validation import check_count
from regard.errors import ArgumentError

__all__ = ["BigBird"]


@dataclass(frozen=True)
class BigBird(Mask):
    """A block of queries may attend to the blocks around it, to global blocks at the start, and to random blocks.

    The global blocks may attend to every key. Exact attention to fewer keys: a query sees `block` times
    (`window_blocks` + `global_blocks` + `random_blocks`) of them, so that time and memory grow linearly with the
    length. Random blocks shorten the path between two positions: two are a few layers apart, as in a random graph.

    The random blocks depend on the seed and on the number of blocks of an item alone: they are the same in each head,
    layer and call, on every device. A shorter sequence has the random blocks of a longer one as far as these exist in
    it, and others in place of the rest. So they change while a sequence grows: a module refuses them with a cache for
    decoding.

    Args:
        block: how many positions a block has; the last one of an item may have fewer.
        window_blocks: how many neighbouring blocks a block sees, itself included; an odd number.
        global_blocks: how many blocks at the start see all blocks and are seen by all.
        random_blocks: how many further blocks a block sees, or all others if there are fewer.
        seed: what the random blocks are drawn from.

    Raises:
        ArgumentError: an argument isn't an integer or is too small, or `window_blocks` is even.

    Source: Zaheer et al. 2020 (arXiv 2007.14062), section 2 and appendix D, the internal transformer construction; the
        defaults are those of its base model (appendix E).

    Example:
        >>> from regard.attention import weigh
        >>> x = torch.zeros(1, 1, 6, 4)
        >>> (weigh(x, x, mask=BigBird(1, 3, global_blocks=1, random_blocks=1, seed=0))[0, 0] > 0).long()
        tensor([[1, 1, 1, 1, 1, 1],
                [1, 1, 1, 0, 0, 1],
                [1, 1, 1, 1, 0, 1],
                [1, 0, 1, 1, 1, 1],
                [1, 0, 1, 1, 1, 1],
                [1, 0, 0, 1, 1, 1]])
    """

    block: int = 64
    window_blocks: int = 3
    global_blocks: int = 2
    random_blocks: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("block", self.block, "how many positions a block of BigBird has")
        check_count("window_blocks", self.window_blocks, "how many blocks around a block of BigBird it sees")
        check_count("global_blocks", self.global_blocks, "how many blocks of BigBird are global", least=0)
        check_count("random_blocks", self.random_blocks, "how many random blocks a block of BigBird sees", least=0)
        check_count("seed", self.seed, "what the random blocks of BigBird are drawn from", least=0)
        if self.window_blocks % 2 == 0:
            raise ArgumentError(
                "`window_blocks` of BigBird must be odd, as many blocks on each side of a block and itself, but is "
                f"{self.window_blocks}."
            )

    def allows(self, at: Index) -> Tensor:
        row, column = at.position // self.block, at.key // self.block
        allowed = ((column - row).abs() <= self._reach) | (column < self.global_blocks) | self._is_global(row)
        for picked in self._picked(row, at.keys).unbind(-1):
            allowed = allowed | (column == picked)
        return allowed

    def spans(self, sizes: Sizes) -> Spans:
        row = sizes.positions // self.block
        sees_all = self._is_global(row)
        # In one interval, so that with the keys that all see they are at most two.
        start = torch.where(sees_all, 0, (row - self._reach) * self.block)
        stop = torch.where(sees_all, sizes.keys, (row + self._reach + 1) * self.block)
        known = Spans.only(start, stop, sizes.keys) | Prefix(self.global_blocks * self.block).spans(sizes)
        return known if not self.random_blocks else Spans(Spans.unknown(sizes).outer, known.inner)

    def columns(self, sizes: Sizes, rows: slice) -> Tensor | None:
        row = sizes.positions[:, rows] // self.block
        if not self.random_blocks or bool(self._is_global(row).any()):
            return None  # spans say enough
        keys = sizes.keys if sizes.key_lengths is None else sizes.key_lengths.cpu().unsqueeze(1)
        reach = torch.arange(-self._reach, self._reach + 1, device="cpu")
        blocks = -(-sizes.keys // self.block)
        seen = torch.zeros(blocks, dtype=torch.bool, device="cpu")
        seen[: self.global_blocks] = True
        for found in (row.unsqueeze(-1) + reach, self._picked(row, keys)):
            seen[found[(found >= 0) & (found < blocks)]] = True
        return seen.repeat_interleave(self.block)[: sizes.keys].nonzero().squeeze(1)

    def check_growing(self) -> None:
        if self.random_blocks:
            raise ArgumentError(
                "`mask` must not have a BigBird with random blocks where `cache` is given, because these change with "
                f"the number of keys, but has {self!r:.100}. Use BigBird(..., random_blocks=0), or no cache."
            )

    @property
    def _reach(self) -> int:
        return self.window_blocks // 2

    def _is_global(self, row: Tensor) -> Tensor:
        return (row >= 0) & (row < self.global_blocks)

    def _picked(self, row: Tensor, keys: Tensor | int) -> Tensor:
        """The random blocks of these rows of blocks in items with so many keys, on a further axis; -1 for none."""
        counts = -(-keys // self.block)
        distinct = [counts] if isinstance(counts, int) else counts.unique().tolist()
        tables = np.full((len(distinct), max([1, *distinct]), self.random_blocks), -1)
        for table, count in zip(tables, distinct, strict=True):
            table[:count] = _random_blocks(count, self._reach, self.global_blocks, self.random_blocks, self.seed)
        which: Tensor | int = 0
        if isinstance(counts, Tensor):
            which = torch.searchsorted(torch.tensor(distinct, device=row.device), counts.to(row.device).contiguous())
        there = (row >= 0) & (row < tables.shape[1])
        picked = torch.from_numpy(tables).to(row.device)[which, torch.where(there, row, 0)]
        return torch.where(there.unsqueeze(-1), picked, -1)


@functools.lru_cache(maxsize=256)
def _random_blocks(blocks: int, reach: int, global_blocks: int, random_blocks: int, seed: int) -> np.ndarray:
    """The random blocks of each block, (block, random block); -1 where there are no more.

    Each pair of blocks has a random number, which doesn't depend on how many blocks there are. A block gets those with
    the smallest numbers of all that it doesn't see anyway, so that items of different lengths have most in common and
    few keys need to be computed for a batch of them.
    """
    found = np.full((blocks, random_blocks), -1)
    for row in range(global_blocks, blocks):
        # The streams of a bit generator are the same in every version of NumPy, and its first numbers for any count.
        order = np.random.Philox(key=np.array([seed % 2**64, row], np.uint64)).random_raw(blocks).argsort(kind="stable")
        others = order[(np.abs(order - row) > reach) & (order >= global_blocks)][:random_blocks]
        found[row, : len(others)] = others
    return found
