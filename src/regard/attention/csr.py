"""The allowed pairs of a sparse mask as sorted lists, O(edges): by row (CSR) and by column (CSC)."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.errors import ArgumentError

__all__ = ["Csr", "csr_of"]


@dataclass(frozen=True, eq=False)
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
    order = np.sort(targets * keys + sources)
    order = order[np.diff(order, prepend=-1) != 0]
    query, key = np.divmod(order, max(keys, 1))
    # Edges in row order have ascending numbers, so sorting by (key, number) sorts by (key, query).
    csc_to_csr = np.sort(key * len(order) + np.arange(len(order)))
    csc_to_csr %= max(len(order), 1)
    arrays = _starts(query, queries), key, _starts(key, keys), query[csc_to_csr], csc_to_csr
    return Csr(*(torch.from_numpy(array).to(edge_index.device) for array in arrays))


def _starts(index: np.ndarray, size: int) -> np.ndarray:
    """The first entry of each of `size` numbers in a sorted list of them."""
    return np.concatenate([[0], np.cumsum(np.bincount(index, minlength=size))])


def _check(name: str, index: np.ndarray, size: int) -> None:
    low, high = (index.min(), index.max()) if len(index) else (0, -1)
    if low < 0 or high >= size:
        raise ArgumentError(
            f"`edge_index` must name {name} from 0 to {size - 1}, but names {low if low < 0 else high}."
        )
