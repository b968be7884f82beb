"""Strided attention: the neighbours of a position, and every so many positions from it."""

import functools
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.attention import Mask, Window
from regard.attention.pairs.csr import Csr
from regard.attention.pairs.spans import Spans
from regard.attention.sizes import Index, Sizes
from regard.attention.validation import check_count

__all__ = ["Strided"]


@dataclass(frozen=True)
class Strided(Mask):
    """A query may attend to the `stride` keys before and after its position, and to every `stride`-th key from it.

    Exact attention to fewer keys. Any two positions are at most two layers apart. A query sees about 2 stride +
    n / stride of n keys, so that with a stride of about the square root of n the work is O(n sqrt(n)).
    `Strided(stride) & "causal"` is the paper's pattern.

    On a CPU, only the allowed pairs are computed, along edges, unless the items of a batch have lengths of their own.
    Otherwise up to 256 neighbouring queries (1,024 on a GPU), fewer in longer sequences, are computed together, with
    all keys that any of them sees. These keys are few only if the stride is larger than the number of these queries.

    Args:
        stride: the number of positions between two keys, and how far the neighbours of a query reach.

    Raises:
        ArgumentError: `stride` isn't an integer of 1 or more.

    Source: Child et al. 2019 (arXiv 1904.10509), section 4.3, strided attention; both of its patterns in one head, as
        in section 5.1.

    Example:
        >>> from regard.attention import weigh
        >>> x = torch.zeros(1, 1, 7, 4)
        >>> (weigh(x, x, mask=Strided(3) & "causal")[0, 0] > 0).long()
        tensor([[1, 0, 0, 0, 0, 0, 0],
                [1, 1, 0, 0, 0, 0, 0],
                [1, 1, 1, 0, 0, 0, 0],
                [1, 1, 1, 1, 0, 0, 0],
                [0, 1, 1, 1, 1, 0, 0],
                [0, 0, 1, 1, 1, 1, 0],
                [1, 0, 0, 1, 1, 1, 1]])
    """

    stride: int

    def __post_init__(self) -> None:
        check_count("stride", self.stride, "the number of positions between two keys of Strided")

    def allows(self, at: Index) -> Tensor:
        offset = at.offset
        return (offset.abs() <= self.stride) | (offset % self.stride == 0)

    def spans(self, sizes: Sizes) -> Spans:
        return Spans(Spans.unknown(sizes).outer, self._window.spans(sizes).inner)

    def columns(self, sizes: Sizes, rows: slice) -> Tensor | None:
        if rows.stop - rows.start >= self.stride:
            return None  # the rows see all keys together
        seen = torch.zeros(sizes.keys, dtype=torch.bool, device="cpu")
        for first in (sizes.positions[:, rows] % self.stride).unique().tolist():
            seen[first :: self.stride] = True
        seen[self._window.spans(sizes).columns(rows)] = True
        return seen.nonzero().squeeze(1)

    def edges(self, sizes: Sizes) -> Csr | None:
        # With a shift of its own, each item would have edges of its own.
        if not isinstance(sizes.shift, int):
            return None
        return Csr(*map(torch.from_numpy, _edges(self.stride, sizes.queries, sizes.keys, sizes.shift)))

    @property
    def _window(self) -> Window:
        return Window(self.stride, self.stride)


@functools.lru_cache(maxsize=4)  # for the layers of a model and the backward pass
def _edges(stride: int, queries: int, keys: int, shift: int) -> tuple[np.ndarray, ...]:
    """The fields of `Csr`, in O(edges): the pattern is known, so that nothing needs to be sorted."""
    most = max(queries + abs(shift), keys)
    offsets = np.arange(-most, most + 1)
    offsets = offsets[(np.abs(offsets) <= stride) | (offsets % stride == 0)]
    starts, by_query, which = _listed(np.arange(queries) + shift, offsets, keys)
    # A key's queries, ascending, are at minus these offsets, which are the same set of offsets.
    key_starts, by_key, reverse = _listed(np.arange(keys) - shift, offsets, queries)
    first = which[np.minimum(starts[:-1], max(len(which) - 1, 0))] if len(which) else np.zeros(queries, np.int64)
    number = starts[by_key] + (len(offsets) - 1 - reverse) - first[by_key]
    return starts, by_query, key_starts, by_key, number


def _listed(positions: np.ndarray, offsets: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each position the numbers at these offsets that are in range, in order: where each list starts, the numbers,
    and which offset each is.
    """
    # The offsets in range are contiguous, from the first that gives 0 or more up to the last that gives less than size.
    low, high = np.searchsorted(offsets, -positions), np.searchsorted(offsets, size - positions)
    counts = np.maximum(high - low, 0)
    starts = np.concatenate([[0], np.cumsum(counts)])
    which = np.arange(starts[-1]) + np.repeat(low - starts[:-1], counts)
    return starts, np.repeat(positions, counts) + offsets[which], which
