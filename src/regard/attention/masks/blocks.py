"""Block-sparse attention: blocks of queries that may attend to blocks of keys."""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

import torch
from torch import Tensor

from regard.attention.masks.mask import Mask
from regard.attention.pairs.csr import Csr, csr_of
from regard.attention.pairs.spans import Spans
from regard.attention.sizes import Index, Sizes
from regard.attention.validation import integer_tensor, to_tensor
from regard.errors import ArgumentError

__all__ = ["Blocks"]


@dataclass(frozen=True, repr=False)
class Blocks(Mask):
    """Queries and keys are divided into blocks of equal size; a block of queries may attend to whole blocks of keys.

    Args:
        table: (query block, key block) bool, True = may attend. Or, for few pairs of many blocks, (2, pairs) numbers:
            the block of keys (row 0) and the block of queries (row 1) of each pair, in the order of `Edges`.
        size: how many queries or keys a block has; the last one may have fewer.

    Source: Child et al. 2019, Sparse Transformer (arXiv 1904.10509); Zaheer et al. 2020, BigBird (arXiv 2007.14062).

    Example:
        >>> from regard.attention import weigh
        >>> import torch
        >>> x = torch.zeros(1, 1, 3, 4)
        >>> weigh(x, x, mask=Blocks(torch.tensor([[True, False], [True, True]]), size=2))[0, 0]
        tensor([[0.5000, 0.5000, 0.0000],
                [0.5000, 0.5000, 0.0000],
                [0.3333, 0.3333, 0.3333]])
    """

    table: InitVar[Tensor | Sequence[Any]]
    size: int
    # The blocks of keys that each block of queries may see: which, the first and the one after the last, and whether
    # all between them. Built once, and moved to the queries' device with the mask, as those of `Edges`.
    csr: Csr = field(init=False)
    start: Tensor = field(init=False)
    stop: Tensor = field(init=False)
    contiguous: bool = field(init=False)
    # Whether the table lists every block, even those that see nothing.
    complete: bool = field(init=False)

    def __post_init__(self, table: Tensor | Sequence[Any]) -> None:
        if not isinstance(self.size, int) or isinstance(self.size, bool) or self.size < 1:
            raise ArgumentError(f"`size` of Blocks must be how many a block holds, 1 or more, but is {self.size!r}.")
        meaning = "a bool table (query block, key block), or (2, pairs) numbers of blocks"
        table = to_tensor(table, "table", "Blocks", meaning)
        complete = table.dtype == torch.bool and table.ndim == 2
        if complete:
            queries, keys = table.shape
            row, column = table.nonzero(as_tuple=True)
        else:
            pairs = integer_tensor(table, "table", "Blocks", meaning, (2,))
            if len(pairs) != 2:
                raise ArgumentError(f"`table` of Blocks must be {meaning}, but is of shape {tuple(pairs.shape)}.")
            if pairs.numel() and int(pairs.min()) < 0:
                raise ArgumentError(f"`table` of Blocks must hold numbers of blocks, but holds {int(pairs.min())}.")
            column, row = pairs
            keys, queries = (int(axis.max()) + 1 if axis.numel() else 0 for axis in pairs)
        csr = csr_of(torch.stack([column, row]), queries, keys)
        start, stop, contiguous = csr.extents()
        values = {"csr": csr, "start": start.to(row.device), "stop": stop.to(row.device), "contiguous": contiguous}
        for name, value in (values | {"complete": complete}).items():
            object.__setattr__(self, name, value)

    @property
    def _queries(self) -> int:
        return len(self.csr.starts) - 1

    @property
    def _keys(self) -> int:
        return len(self.csr.key_starts) - 1

    def allows(self, at: Index) -> Tensor:
        row, key = at.query // self.size, at.key.flatten()
        if at.query.shape[-1] != 1 or at.key.numel() != at.key.shape[-1]:
            return self.csr.contains(row, at.key // self.size)
        block = (key // self.size).unique_consecutive()
        first = int(key[0]) % self.size if len(key) else 0
        here = slice(first, first + len(key))
        if not torch.equal(self._keys_of(block)[here], key):
            return self.csr.contains(row, at.key // self.size)
        # Whole blocks, except the first and the last: evaluate each once, and expand the result to its keys.
        held = self.csr.contains(row, block.view(*[1] * (at.key.ndim - 1), -1))
        return held.unsqueeze(-1).expand(*held.shape, self.size).flatten(-2)[..., here]

    def _keys_of(self, block: Tensor) -> Tensor:
        """The keys of these blocks, one block after the other."""
        return (block.unsqueeze(1) * self.size + torch.arange(self.size, device=block.device)).flatten()

    def spans(self, sizes: Sizes) -> Spans:
        missing = max(-(-sizes.queries // self.size) - self._queries, 0)
        start, stop = (
            torch.nn.functional.pad(edge * self.size, (0, missing)).repeat_interleave(self.size)[: sizes.queries]
            for edge in (self.start.to(sizes.device), self.stop.to(sizes.device))
        )
        return Spans.only(start.unsqueeze(0), stop.unsqueeze(0), sizes.keys, exact=self.contiguous)

    def columns(self, sizes: Sizes, rows: slice) -> Tensor | None:
        first, end = (min(row, self._queries) for row in (rows.start // self.size, -(-rows.stop // self.size)))
        columns = self._keys_of(self.csr.keys_of(first, end).unique().cpu())
        return columns[columns < sizes.keys]

    def check(self, sizes: Sizes) -> None:
        for name, blocks, length in (("queries", self._queries, sizes.queries), ("keys", self._keys, sizes.keys)):
            wanted = -(-length // self.size)
            if blocks > wanted or (self.complete and blocks < wanted):
                raise ArgumentError(
                    f"`table` of Blocks must be for {wanted} blocks of {name}, as {length} make of {self.size} each, "
                    f"but is for {blocks}."
                )

    def arguments(self) -> dict[str, Any]:
        """What the class is called with to get an equal mask."""
        row, key = self.csr.rows, self.csr.keys
        if not self.complete:
            return {"table": torch.stack([key, row]), "size": self.size}
        table = torch.zeros(self._queries, self._keys, dtype=torch.bool, device=key.device)
        table[row, key] = True
        return {"table": table, "size": self.size}

    def __repr__(self) -> str:
        return f"Blocks({self.csr.keys.numel()} pairs of blocks of {self.size})"
