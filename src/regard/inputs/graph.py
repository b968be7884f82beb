"""A graph as a set of vectors: its nodes; its edges are a mask."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int64, Shaped
from torch import Tensor

from regard.attention import Edges
from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.inputs.profiles import ProfileEncoder

__all__ = ["Graph", "mask_of"]


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph: a vector for each node, and edges, each from the node that is looked at to the node that looks.

    Args:
        vectors: (node, width) float, the vector of each node.
        edges: (2, edge) int64 numbers of nodes: row 0 from which node (the key), row 1 to which node (the query), as
            `regard.attention.Edges` has it. An edge that stands twice counts once in the mask.
        names: of each node; without them the nodes are called "0", "1", ...
        kinds: (edge,) int64, the kind of each edge, such as the type of a bond; 0 is kept for loops. None if they are
            all alike.
        encoder: what made the vectors, where they are made of profiles: a number of a vector means what it says.

    Raises:
        ArgumentError: shapes or kinds that don't go together, or an edge to a node that isn't there.

    Example:
        >>> graph = Graph(torch.eye(3), torch.tensor([[0, 1], [1, 2]]), names=("Ann", "Bob", "Cleo"))
        >>> graph.both_ways().edges.tolist()
        [[0, 1, 1, 2], [1, 0, 2, 1]]
        >>> graph.with_loops().edges.tolist()
        [[0, 1, 0, 1, 2], [1, 2, 0, 1, 2]]

    Source: the notes, 001 "Graph": every node is a vector.
    """

    vectors: Shaped[Tensor, "..."]
    edges: Shaped[Tensor, "..."]
    names: tuple[str, ...] = ()
    kinds: Shaped[Tensor, "..."] | None = None
    encoder: ProfileEncoder | None = None

    def __post_init__(self) -> None:
        vectors, edges, kinds = self.vectors, self.edges, self.kinds
        if not isinstance(vectors, Tensor) or vectors.dim() != 2 or not vectors.is_floating_point():
            raise ArgumentError(f"`vectors` must be a float tensor (node, width), but is {_described(vectors)}.")
        if not isinstance(edges, Tensor) or edges.dim() != 2 or len(edges) != 2 or edges.dtype != torch.int64:
            transposed = isinstance(edges, Tensor) and edges.dim() == 2 and edges.shape[1] == 2
            hint = " Transpose it with .T." if transposed and edges.dtype == torch.int64 else ""
            raise ArgumentError(f"`edges` must be an int64 tensor (2, edge), but is {_described(edges)}.{hint}")
        wrong = edges[(edges < 0) | (edges >= len(vectors))]
        if len(wrong):
            raise ArgumentError(
                f"`edges` must hold numbers of nodes from 0 to {len(vectors) - 1}, as `vectors` has {len(vectors)}, "
                f"but holds {int(wrong[0])}."
            )
        names = tuple(self.names) or tuple(str(node) for node in range(len(vectors)))
        if len(names) != len(vectors):
            raise ArgumentError(
                f"`names` must be {len(vectors)}, one for each node of `vectors`, but is {self.names!r:.60}."
            )
        object.__setattr__(self, "names", names)
        if kinds is None:
            return
        if not isinstance(kinds, Tensor) or kinds.shape != edges.shape[1:] or kinds.dtype != torch.int64:
            raise ArgumentError(
                f"`kinds` must be an int64 tensor ({edges.shape[1]},), one for each edge, but is {_described(kinds)}."
            )
        wrong = kinds[(kinds < 0) | ((kinds == 0) & (edges[0] != edges[1]))]
        if len(wrong):
            raise ArgumentError(
                f"`kinds` must be 1 or more, and 0 for loops alone, but is {int(wrong[0])} for an edge "
                f"{'that is no loop' if not wrong[0] else 'as well'}."
            )

    def __len__(self) -> int:
        return len(self.vectors)

    def with_loops(self) -> "Graph":
        """The graph with an edge from every node to itself, of kind 0 where it had none: nodes see themselves too."""
        lonely = torch.ones(len(self), dtype=torch.bool, device=self.edges.device)
        lonely[self.edges[0, self.edges[0] == self.edges[1]]] = False
        loops = lonely.nonzero().flatten()
        kinds = None if self.kinds is None else torch.cat([self.kinds, torch.zeros_like(loops)])
        return dataclasses.replace(self, edges=torch.cat([self.edges, loops.expand(2, -1)], dim=1), kinds=kinds)

    def both_ways(self) -> "Graph":
        """The graph with every edge in both directions, each once, sorted: what "is a friend of" or a bond means.

        Two edges between the same nodes that differ in kind stay two.
        """
        edges = self.edges if self.kinds is None else torch.cat([self.edges, self.kinds[None]])
        back = torch.cat([edges[:2].flip(0), edges[2:]])
        both = torch.cat([edges, back], dim=1).unique(dim=1)
        return dataclasses.replace(self, edges=both[:2], kinds=None if self.kinds is None else both[2])

    def relations(self, reach: int) -> Int64[Tensor, "query key"]:
        """What each node is to each other, by numbers; quadratic memory, so for graphs of a few thousand nodes.

        1 is the node itself, 2 to `reach` a node so many edges away, and `reach` + kind one that is looked at along an
        edge of that kind: of the largest if there are several, of kind 1 if edges have none. 0 is all that is further
        away, or not connected. Edges are followed in their direction, from the node that looks.

        Args:
            reach: up to how many edges away nodes are told apart, 1 or more.

        Source: Ying et al. 2021, Graphormer (arXiv 2106.05234), section 3.1.2, for the distance between nodes.

        Example:
            >>> chain = Graph(torch.eye(4), torch.tensor([[0, 1, 2], [1, 2, 3]]), kinds=torch.tensor([1, 2, 1]))
            >>> chain.both_ways().relations(reach=2)
            tensor([[1, 3, 2, 0],
                    [3, 1, 4, 2],
                    [2, 4, 1, 3],
                    [0, 2, 3, 1]])
        """
        check_count("reach", reach, "up to how many edges away nodes are told apart")
        nodes, others = len(self), self.edges[0] != self.edges[1]
        key, query = self.edges[:, others]
        kinds = torch.ones_like(key) if self.kinds is None else self.kinds[others]
        found = torch.zeros(nodes, nodes, dtype=torch.int64)
        # Along each edge at a time: for nodes of few edges much less than all pairs times all nodes.
        step = torch.sparse_coo_tensor(
            torch.stack([query, key]), torch.ones(len(key)), (nodes, nodes), check_invariants=True
        )
        walks = step.to_dense()
        for distance in range(2, reach + 1):
            walks = torch.sparse.mm(step, walks).clamp_(max=1)
            found[(found == 0) & (walks > 0)] = distance
        # A neighbour may be reached in more steps too; that it is one says more.
        found[query, key] = 0
        found.view(-1).scatter_reduce_(0, query * nodes + key, reach + kinds, "amax")
        return found.fill_diagonal_(1)

    def mask(self) -> Edges:
        """The edges as a mask: attention along them and nowhere else. A node that no edge leads to gets zeros.

        Example:
            >>> from regard.attention import weigh
            >>> graph = Graph(torch.eye(3), torch.tensor([[0, 1], [1, 0]]))
            >>> weigh(graph.vectors[None, None], graph.vectors[None, None], mask=graph.mask())[0, 0].tolist()
            [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        """
        return Edges(self.edges)


def mask_of(graphs: Sequence[Graph]) -> Edges:
    """One mask for several graphs side by side, in the order of `Batch.pad([graph.vectors for graph in graphs])`.

    Padding has no edges, so it neither looks nor is looked at.

    Raises:
        ArgumentError: no graph.

    Example:
        >>> pair = Graph(torch.ones(2, 3), torch.tensor([[0, 1], [1, 0]]))
        >>> mask_of([pair, Graph(torch.ones(5, 3), torch.tensor([[4], [0]]))])
        Edges(3 edges in 2 graphs)
    """
    if not graphs:
        raise ArgumentError("`graphs` must hold at least one graph, but is empty.")
    return Edges([graph.edges for graph in graphs])


def _described(value: object) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    return f"{value!r:.60}"
