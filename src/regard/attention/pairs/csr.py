"""The allowed pairs of a sparse mask as sorted lists, O(edges): by row (CSR) and by column (CSC)."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.errors import ArgumentError

__all__ = ["Csr", "csr_of"]


@dataclass(frozen=True)
class Csr:
    """Which keys each query may attend to, and which queries may attend to each key.

    The edges of row i are `starts[i]` to `starts[i + 1]`; in that range `keys` holds their keys, ascending. The edges
    of column j are `key_starts[j]` to `key_starts[j + 1]`; in that range `queries` holds their queries, ascending, and
    `csc_to_csr` their numbers in row order, so that values per edge need to be stored only once.

    Attributes:
        starts: (query + 1,)
        keys: (edge,)
        key_starts: (key + 1,)
        queries: (edge,)
        csc_to_csr: (edge,)
    """

    starts: Tensor
    keys: Tensor
    key_starts: Tensor
    queries: Tensor
    csc_to_csr: Tensor

    @property
    def rows(self) -> Tensor:
        """(edge,), the queries of the edges in the order of `keys`."""
        count = len(self.starts) - 1
        return torch.arange(count, device=self.starts.device).repeat_interleave(self.starts.diff())

    def contains(self, query: Tensor, key: Tensor) -> Tensor:
        """Whether these pairs are edges: a bool tensor of the shape to which `query` and `key` broadcast.

        Queries out of range have no edges. Memory and time grow with the pairs.
        """
        queries = len(self.starts) - 1
        if not queries:
            return torch.zeros_like(query + key, dtype=torch.bool)
        in_range = (query >= 0) & (query < queries)
        query = torch.where(in_range, query, 0)
        start = self.starts[query]
        stop = torch.where(in_range, self.starts[query + 1], start)
        is_grid = query.ndim > 1 and key.ndim == query.ndim and query.shape[-1] == 1 and key.numel() == key.shape[-1]
        if is_grid and bool((key.flatten().diff() > 0).all()):
            return _marked(self.keys, start, stop, key.flatten())
        return _searched(self.keys, start, stop, key)

    def extents(self) -> tuple[Tensor, Tensor, bool]:
        """The first key of each query and the one after its last, on the CPU, and whether no key between is missing."""
        starts, keys = self.starts.cpu(), self.keys.cpu()
        first, end = starts[:-1], starts[1:]
        if not keys.numel():
            return torch.zeros_like(first), torch.zeros_like(first), True
        has_keys = first < end
        start = keys[first.clamp(max=len(keys) - 1)] * has_keys
        stop = (keys[(end - 1).clamp(min=0)] + 1) * has_keys
        return start, stop, bool((stop - start == end - first).all())

    def keys_of(self, first: int, end: int) -> Tensor:
        """The keys of the queries from `first` up to, not including, `end`: a view, in which a key may occur twice."""
        low, high = self.starts[[first, end]].tolist()
        return self.keys[low:high]

    def padded(self, queries: int, keys: int) -> "Csr":
        """The same edges among this many queries and keys, which must not be fewer than before."""
        starts, key_starts = (
            torch.nn.functional.pad(offsets, (0, missing), value=len(self.keys)) if missing else offsets
            for offsets, missing in (
                (self.starts, queries + 1 - len(self.starts)),
                (self.key_starts, keys + 1 - len(self.key_starts)),
            )
        )
        return dataclasses.replace(self, starts=starts, key_starts=key_starts)

    def only(self, kept: Tensor) -> "Csr":
        """The edges at which `kept`, bool (edge,) in row order, is True."""
        kept_by_key = kept[self.csc_to_csr]
        before, before_by_key = (torch.nn.functional.pad(is_kept.cumsum(0), (1, 0)) for is_kept in (kept, kept_by_key))
        return Csr(
            starts=before[self.starts],
            keys=self.keys[kept],
            key_starts=before_by_key[self.key_starts],
            queries=self.queries[kept_by_key],
            csc_to_csr=before[self.csc_to_csr[kept_by_key]],
        )


def csr_of(edge_index: Tensor, queries: int, keys: int) -> Csr:
    """Sort a list of edges. Duplicate edges count once.

    Args:
        edge_index: (2, edge) integers, in the order of message passing: row 0 holds the source of each edge (the key),
            row 1 its target (the query).
        queries: how many queries there are.
        keys: how many keys there are.

    Raises:
        ArgumentError: it has another shape or dtype, or contains a query or key that is out of range.

    Example:
        >>> graph = csr_of(torch.tensor([[2, 0, 1, 2], [0, 1, 0, 0]]), queries=3, keys=3)
        >>> graph.starts.tolist(), graph.keys.tolist()
        ([0, 2, 3, 3], [1, 2, 0])
        >>> graph.key_starts.tolist(), graph.queries.tolist(), graph.csc_to_csr.tolist()
        ([0, 1, 2, 3], [1, 0, 0], [2, 0, 1])
    """
    if edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.is_floating_point() or edge_index.dtype == torch.bool:
        raise ArgumentError(
            "`edge_index` must be whole numbers of shape (2, edges), row 0 the keys and row 1 the queries, "
            f"but is {edge_index.dtype} of shape {tuple(edge_index.shape)}."
        )
    sources, targets = edge_index.detach().cpu().long().numpy()
    _check("keys", sources, keys)
    _check("queries", targets, queries)
    # NumPy sorts integers with SIMD, a hundred times faster than torch, so each edge is packed into one integer.
    packed = np.sort(targets * keys + sources)
    packed = packed[np.diff(packed, prepend=-1) != 0]
    query, key = np.divmod(packed, max(keys, 1))
    # Edges in row order have ascending numbers, so sorting by (key, number) sorts by (key, query).
    csc_to_csr = np.sort(key * len(packed) + np.arange(len(packed)))
    csc_to_csr %= max(len(packed), 1)
    arrays = _starts(query, queries), key, _starts(key, keys), query[csc_to_csr], csc_to_csr
    return Csr(*(torch.from_numpy(array).to(edge_index.device) for array in arrays))


def _starts(index: np.ndarray, size: int) -> np.ndarray:
    """Where each number below `size` begins in a sorted list of such numbers, and where the list ends."""
    return np.concatenate([[0], np.cumsum(np.bincount(index, minlength=size))])


def _check(name: str, index: np.ndarray, size: int) -> None:
    low, high = (index.min(), index.max()) if len(index) else (0, -1)
    if low < 0 or high >= size:
        raise ArgumentError(
            f"`edge_index` must name {name} from 0 to {size - 1}, but names {low if low < 0 else high}."
        )


def _marked(columns: Tensor, start: Tensor, stop: Tensor, wanted: Tensor) -> Tensor:
    """Whether each row (..., row, 1) holds each wanted column, (column,), ascending: its entries are marked."""
    counts = (stop - start).flatten()
    row = torch.arange(counts.numel(), device=counts.device).repeat_interleave(counts)
    # The number of an entry, minus that of the first entry of its row, is its offset in the row.
    offset = torch.arange(row.numel(), device=counts.device) - (counts.cumsum(0) - counts)[row]
    column = columns[start.flatten()[row] + offset]
    allowed = torch.zeros(counts.numel() * wanted.numel(), dtype=torch.bool, device=counts.device)
    if wanted.numel():
        slot = torch.searchsorted(wanted, column).clamp(max=wanted.numel() - 1)
        is_wanted = wanted[slot] == column
        allowed[(row * wanted.numel() + slot)[is_wanted]] = True
    return allowed.view(*start.shape[:-1], wanted.numel())


def _searched(columns: Tensor, start: Tensor, stop: Tensor, wanted: Tensor) -> Tensor:
    """Whether each row holds its wanted column, by binary search."""
    start, stop, wanted = torch.broadcast_tensors(start, stop, wanted)
    if not columns.numel() or not wanted.numel():
        return torch.zeros_like(wanted, dtype=torch.bool)
    row_end = stop
    for _ in range(int((stop - start).max()).bit_length()):
        middle = (start + stop) // 2
        is_below = columns[middle.clamp(max=len(columns) - 1)] < wanted
        unfinished = start < stop
        start = torch.where(unfinished & is_below, middle + 1, start)
        stop = torch.where(unfinished & ~is_below, middle, stop)
    return (start < row_end) & (columns[start.clamp(max=len(columns) - 1)] == wanted)
