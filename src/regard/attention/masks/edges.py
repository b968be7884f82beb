"""Attention on a graph: a node may attend to the nodes that have an edge to it."""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

import torch
from torch import Tensor

from regard.attention.masks.mask import Mask
from regard.attention.pairs.csr import Csr, csr_of
from regard.attention.pairs.spans import Spans
from regard.attention.sizes import Index, Sizes
from regard.attention.validation import integer_tensor
from regard.errors import ArgumentError

__all__ = ["Edges"]


@dataclass(frozen=True, repr=False)
class Edges(Mask):
    """A graph: a query may attend to the keys from which an edge leads to it. Other pairs cost nothing.

    Args:
        edge_index: (2, edges) node numbers: each edge leads from a key (row 0) to a query (row 1), as in PyTorch
            Geometric; duplicate edges count once. One graph for all items of the batch, or a list of such tensors, one
            for each item.

    Construct it once and use it in every layer and step, since constructing it sorts the edges. Many small graphs are
    fastest as one graph in a batch of 1, with consecutive node numbers. A node without edges attends to nothing;
    `Edges.with_loops` lets every node attend to itself.

    Source: the notes, 001 "Self-attention for graph"; Velickovic et al. 2018, GAT (arXiv 1710.10903), section 2.1.

    Example:
        >>> from regard.attention import weigh
        >>> import torch
        >>> x = torch.zeros(1, 1, 3, 4)
        >>> weigh(x, x, mask=Edges([[0, 1, 2], [1, 2, 1]]))[0, 0]
        tensor([[0.0000, 0.0000, 0.0000],
                [0.5000, 0.0000, 0.5000],
                [0.0000, 1.0000, 0.0000]])
    """

    edge_index: InitVar[Tensor | Sequence[Any]]
    # `csr` holds the sorted edges of all items: its rows are `queries` rows of each item, up to the last query with an
    # edge in any item. `start` and `stop` are the first key of each row and the one after its last. As fields they are
    # operands of a call, so they are built only once.
    csr: Csr = field(init=False)
    start: Tensor = field(init=False)
    stop: Tensor = field(init=False)
    contiguous: bool = field(init=False)
    items: int = field(init=False)
    queries: int = field(init=False)
    keys: int = field(init=False)

    def __post_init__(self, edge_index: Tensor | Sequence[Any]) -> None:
        several = (
            isinstance(edge_index, Sequence) and bool(edge_index) and all(isinstance(e, Tensor) for e in edge_index)
        )
        graphs = [_checked(graph) for graph in (edge_index if several else [edge_index])]
        queries = max(int(graph[1].max()) + 1 if graph.shape[1] else 0 for graph in graphs)
        keys = max(int(graph[0].max()) + 1 if graph.shape[1] else 0 for graph in graphs)
        row = torch.cat([graph[1] + item * queries for item, graph in enumerate(graphs)])
        column = torch.cat([graph[0] for graph in graphs])
        csr = csr_of(torch.stack([column, row]), len(graphs) * queries, keys)
        start, stop, contiguous = csr.extents()
        start, stop = start.to(row.device), stop.to(row.device)
        values = {"csr": csr, "start": start, "stop": stop, "contiguous": contiguous}
        values |= {"items": len(graphs), "queries": queries, "keys": keys}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def with_loops(cls, edge_index: Tensor | Sequence[Any], nodes: int) -> "Edges":
        """The graph of `nodes` nodes with an additional edge from every node to itself.

        Example:
            >>> from regard.attention import weigh
            >>> import torch
            >>> x = torch.zeros(1, 1, 3, 4)
            >>> weigh(x, x, mask=Edges.with_loops([[0], [1]], nodes=3))[0, 0]
            tensor([[1.0000, 0.0000, 0.0000],
                    [0.5000, 0.5000, 0.0000],
                    [0.0000, 0.0000, 1.0000]])
        """
        graph = _checked(edge_index)
        loop = torch.arange(nodes, device=graph.device).expand(2, -1)
        return cls(torch.cat([graph, loop], dim=1))

    def allows(self, at: Index) -> Tensor:
        if self.items == 1:
            return self.csr.contains(at.query, at.key)
        # A query beyond the rows of its item must not be taken for a query of the next item.
        row = torch.where(at.query < self.queries, at.batch * self.queries + at.query, -1)
        return self.csr.contains(row, at.key)

    def spans(self, sizes: Sizes) -> Spans:
        missing = sizes.queries - self.queries
        bounds = (bound.to(sizes.device).view(self.items, -1) for bound in (self.start, self.stop))
        start, stop = (torch.nn.functional.pad(bound, (0, missing)) if missing else bound for bound in bounds)
        return Spans.only(start, stop, sizes.keys, exact=self.contiguous)

    def hides_nothing(self, sizes: Sizes) -> bool:
        # No edge is held twice, so their number decides; their values would have to be read from their device.
        return self.csr.keys.numel() == self.items * sizes.queries * sizes.keys

    def columns(self, sizes: Sizes, rows: slice) -> Tensor | None:
        first, end = (min(row, self.queries) for row in (rows.start, rows.stop))
        offsets = (item * self.queries for item in range(self.items))
        return torch.cat([self.csr.keys_of(offset + first, offset + end) for offset in offsets]).unique().cpu()

    def edges(self, sizes: Sizes) -> Csr | None:
        # Nodes after the last one with an edge have empty lists.
        return self.csr.padded(sizes.queries, sizes.keys) if self.items == 1 else None

    def check(self, sizes: Sizes) -> None:
        if self.items not in (1, sizes.batch):
            raise ArgumentError(
                f"`edge_index` of Edges must be one graph or a graph for each of {sizes.batch} items, "
                f"but is {self.items} graphs."
            )
        for row, (name, needed, size) in enumerate(
            (("keys", self.keys, sizes.keys), ("queries", self.queries, sizes.queries))
        ):
            if needed > size:
                raise ArgumentError(
                    f"`edge_index` of Edges must hold numbers below {size} in row {row}, as there are {size} {name}, "
                    f"but holds {needed - 1}."
                )

    def arguments(self) -> dict[str, Any]:
        """The arguments with which the class makes an equal mask."""
        row, key = self.csr.rows, self.csr.keys
        item = row // max(self.queries, 1)
        graphs = [torch.stack([key[item == i], row[item == i] - i * self.queries]) for i in range(self.items)]
        return {"edge_index": graphs[0] if self.items == 1 else graphs}

    def __repr__(self) -> str:
        graphs = "" if self.items == 1 else f" in {self.items} graphs"
        return f"Edges({self.csr.keys.numel()} edges{graphs})"


def _checked(graph: Tensor | Sequence[Any]) -> Tensor:
    meaning = "(2, edges) node numbers: from which key, to which query"
    graph = integer_tensor(graph, "edge_index", "Edges", meaning, (2,))
    if len(graph) != 2:
        raise ArgumentError(
            f"`edge_index` of Edges must be {meaning}, but is of shape {tuple(graph.shape)}."
            + (" Transpose it with .T." if graph.shape[1] == 2 else "")
        )
    if graph.numel() and int(graph.min()) < 0:
        raise ArgumentError(f"`edge_index` of Edges must hold node numbers, 0 or more, but holds {int(graph.min())}.")
    return graph
