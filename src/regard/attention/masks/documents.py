"""Documents packed into one sequence: each attends only to itself."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from regard.attention.masks.mask import Mask
from regard.attention.pairs.spans import Spans
from regard.attention.sizes import Index, Sizes
from regard.attention.tables import check_table, entries
from regard.attention.validation import integer_tensor
from regard.errors import ArgumentError

__all__ = ["Documents"]

_NO_DOCUMENT = -2  # no key has this number


@dataclass(frozen=True, repr=False)
class Documents(Mask):
    """Several documents in one sequence (packing): a query may attend to the keys of its own document.

    Args:
        ids: which document each key belongs to, (key,) or (batch, key); a negative number marks padding. The query at
            the same position belongs to the same document.
        query: which document each query belongs to, (query,) or (batch, query), if queries are other items than keys
            (cross-attention).

    Documents may be in any order. If each is contiguous, as after packing, the other documents cost nothing.

    Source: Krell et al. 2021, sequence packing without cross-contamination (arXiv 2107.02027).

    Example:
        >>> from regard.attention import weigh
        >>> import torch
        >>> weigh(torch.zeros(1, 1, 3, 4), torch.zeros(1, 1, 3, 4), mask=Documents([0, 0, 1]))[0, 0]
        tensor([[0.5000, 0.5000, 0.0000],
                [0.5000, 0.5000, 0.0000],
                [0.0000, 0.0000, 1.0000]])
    """

    ids: Tensor | Sequence[Any]
    query: Tensor | Sequence[Any] | None = None
    # Computed once, for each position or query: between which keys its document lies; and whether all are contiguous.
    start: Tensor = field(init=False)
    stop: Tensor = field(init=False)
    contiguous: bool = field(init=False)

    def __post_init__(self) -> None:
        for name in ("ids", "query"):
            if name == "ids" or getattr(self, name) is not None:
                meaning = f"document numbers, ({'key' if name == 'ids' else name},) or (batch, length)"
                numbers = integer_tensor(getattr(self, name), name, "Documents", meaning, (1, 2))
                numbers = numbers.clamp(min=-1)
                object.__setattr__(self, name, numbers.unsqueeze(0) if numbers.ndim == 1 else numbers)
        # One of the two may have been a list, and the other a tensor on a GPU.
        queries = self._keys if self.query is None else self._queries.to(self._keys.device)
        start, stop, contiguous = _extents(self._keys, queries)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "stop", stop)
        object.__setattr__(self, "contiguous", contiguous)

    @classmethod
    def of_lengths(cls, lengths: Sequence[Any] | Tensor) -> "Documents":
        """Documents of these lengths, one after the other; or a list of such lists, one for each item of the batch.

        Example:
            >>> Documents.of_lengths([2, 3]).ids
            tensor([[0, 0, 1, 1, 1]])
            >>> Documents.of_lengths([[2, 1], [1]]).ids
            tensor([[ 0,  0,  1],
                    [ 0, -1, -1]])
        """
        many = [list(item) if isinstance(item, Sequence | Tensor) else item for item in lengths]
        items = many if any(isinstance(item, list) for item in many) else [many]
        meaning = "the documents' lengths, or a list of them for each item"
        rows = []
        for item in items:
            counts = integer_tensor(item, "lengths", "Documents", meaning, (1,))
            if len(counts) and int(counts.min()) < 0:
                raise ArgumentError(f"`lengths` of Documents must be 0 or more, but holds {int(counts.min())}.")
            rows.append(torch.arange(len(counts), device=counts.device).repeat_interleave(counts))
        return cls(torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1))

    @property
    def _keys(self) -> Tensor:
        return self.ids  # pyright: ignore[reportReturnType]

    @property
    def _queries(self) -> Tensor:
        return self.query  # pyright: ignore[reportReturnType]

    def allows(self, at: Index) -> Tensor:
        if self.query is None:
            position = at.position
            there = (position >= 0) & (position < self._keys.shape[1])
            own = entries(self._keys, at.batch, position.clamp(0, max(self._keys.shape[1] - 1, 0)))
            own = torch.where(there, own, -1)
        else:
            own = entries(self._queries, at.batch, at.query)
        # Padding matches no key, so that one comparison per pair is enough.
        return torch.where(own < 0, _NO_DOCUMENT, own) == entries(self._keys, at.batch, at.key)

    def spans(self, sizes: Sizes) -> Spans:
        start, stop = self.start.to(sizes.device), self.stop.to(sizes.device)
        if self.query is None:
            start, stop = _at_positions(start, stop, sizes)
        return Spans.only(start, stop, sizes.keys, exact=self.contiguous)

    def check(self, sizes: Sizes) -> None:
        check_table(self._keys, "ids", "Documents", sizes.batch, sizes.keys, "keys")
        if self.query is not None:
            check_table(self._queries, "query", "Documents", sizes.batch, sizes.queries, "queries")

    def __repr__(self) -> str:
        return f"Documents({self._keys.shape[1]} keys)"


def _extents(keys: Tensor, queries: Tensor) -> tuple[Tensor, Tensor, bool]:
    """The first key of each query's document, the one after its last, and whether all documents are contiguous."""
    (items,) = torch.broadcast_shapes(keys.shape[:1], queries.shape[:1])
    keys, queries = keys.expand(items, -1), queries.expand(items, -1)
    # Sorted stably by document, the keys of a document are adjacent, in the order of their positions.
    ids, order = keys.sort(dim=1, stable=True)
    low, high = (torch.searchsorted(ids, queries.contiguous(), right=right) for right in (False, True))
    some = (low < high) & (queries >= 0)
    if not some.any():
        return torch.zeros_like(queries), torch.zeros_like(queries), True
    start = torch.where(some, order.gather(1, low.clamp(max=keys.shape[1] - 1)), 0)
    stop = torch.where(some, order.gather(1, (high - 1).clamp(min=0)) + 1, 0)
    return start, stop, bool((stop - start == torch.where(some, high - low, 0)).all())


def _at_positions(start: Tensor, stop: Tensor, sizes: Sizes) -> tuple[Tensor, Tensor]:
    """The same for each query; empty for queries whose position is out of range."""
    shift = sizes.shift
    if isinstance(shift, int) and 0 <= shift <= start.shape[1] - sizes.queries:
        return start[:, shift : shift + sizes.queries], stop[:, shift : shift + sizes.queries]
    positions = sizes.positions
    if start.shape[1] == 0:
        return torch.zeros_like(positions), torch.zeros_like(positions)
    (items,) = torch.broadcast_shapes(positions.shape[:1], start.shape[:1])
    inside = positions.clamp(0, start.shape[1] - 1).expand(items, -1)
    there = (positions >= 0) & (positions < start.shape[1])
    start, stop = (table.expand(items, -1).gather(1, inside) for table in (start, stop))
    return start * there, stop * there
