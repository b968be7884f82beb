"""The allowed pairs of a sparse mask as two lists, O(edges): row by row (CSR) and column by column (CSC)."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.errors import ArgumentError

__all__ = ["Csr", "csr_of"]


@dataclass(frozen=True, eq=False)
class Csr:
    """Which keys each query may attend to, and which queries may attend to each key.

    Row i's edges are `starts[i]` to `starts[i + 1]`, and their keys, rising, stand there in `keys`. Column j's edges
    are `key_starts[j]` to `key_starts[j + 1]`; there `queries` has their queries, rising, and `places` their numbers
    in the order of the rows. So whatever is kept per edge needs to be kept only once.

    Attributes:
        starts: (query + 1,)
        keys: (edge,)
        key_starts: (key + 1,)
        queries: (edge,)
        places: (edge,)
    """

    starts: Tensor
    keys: Tensor
    key_starts: Tensor
    queries: Tensor
    csc_to_csr: Tensor


def csr_of(edge_index: Tensor, queries: int, keys: int) -> Csr:
    """Sort a list of edges. An edge that stands in it twice counts once.

    Args:
        edge_index: (2, edge) whole numbers, in the order of message passing: row 0 is where an edge comes from (the
            key), row 1 where it goes to (the query).
        queries: how many queries there are.
        keys: how many keys there are.

    Raises:
        ArgumentError: it has another shape or dtype, or names a query or key that isn't there.

    Example:
        >>> graph = csr_of(torch.tensor([[2, 0, 1, 2], [0, 1, 0, 0]]), queries=3, keys=3)
        >>> graph.starts.tolist(), graph.keys.tolist()
        ([0, 2, 3, 3], [1, 2, 0])
        >>> graph.key_starts.tolist(), graph.queries.tolist(), graph.places.tolist()
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
    # NumPy sorts whole numbers by vector instructions, a hundred times as fast as torch; so an edge is packed into one.
    order = np.sort(targets * keys + sources)
    order = order[np.diff(order, prepend=-1) != 0]
    query, key = np.divmod(order, max(keys, 1))
    # Rising edges of a row have rising places, so sorting by (key, place) sorts by (key, query).
    csc_to_csr = np.sort(key * len(order) + np.arange(len(order)))
    csc_to_csr %= max(len(order), 1)
    arrays = _starts(query, queries), key, _starts(key, keys), query[csc_to_csr], csc_to_csr
    return Csr(*(torch.from_numpy(array).to(edge_index.device) for array in arrays))


def _starts(index: np.ndarray, size: int) -> np.ndarray:
    """Where the entries of each of `size` numbers begin in a sorted list of them."""
    return np.concatenate([[0], np.cumsum(np.bincount(index, minlength=size))])


def _check(name: str, index: np.ndarray, size: int) -> None:
    low, high = (index.min(), index.max()) if len(index) else (0, -1)
    if low < 0 or high >= size:
        raise ArgumentError(
            f"`edge_index` must name {name} from 0 to {size - 1}, but names {low if low < 0 else high}."
        )
