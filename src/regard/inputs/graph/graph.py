"""A graph as a set of vectors, its nodes, and a mask, its edges."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int64, Shaped
from torch import Tensor

from regard.attention import Edges
from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.inputs.graph.profile_encoder import ProfileEncoder

__all__ = ["Graph", "edges_mask"]


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph: a vector for each node, and edges, each from a key (the attended node) to a query (the attending node).

    Args:
        vectors: (node, width) float, the vector of each node.
        edges: (2, edge) int64 indices of nodes: row 0 the source of each edge (the key), row 1 its target (the query),
            as in `regard.attention.Edges`. A duplicate edge counts once in the mask.
        names: the name of each node; by default "0", "1", ...
        kinds: (edge,) int64, the kind of each edge, such as the type of a bond; 0 is reserved for self-loops. None if
            all edges are alike.
        encoder: the encoder that made the vectors, if they are made of profiles; it says what each feature means.

    Raises:
        ArgumentError: shapes or dtypes that don't match, or an edge of a node that doesn't exist.

    Example:
        >>> graph = Graph(torch.eye(3), torch.tensor([[0, 1], [1, 2]]), names=("Ann", "Bob", "Cleo"))
        >>> graph.undirected().edges.tolist()
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
        """The graph with self-loops at all nodes, so that nodes attend to themselves, too. New ones have kind 0."""
        missing = torch.ones(len(self), dtype=torch.bool, device=self.edges.device)
        missing[self.edges[0, self.edges[0] == self.edges[1]]] = False
        loops = missing.nonzero().flatten()
        kinds = None if self.kinds is None else torch.cat([self.kinds, torch.zeros_like(loops)])
        return dataclasses.replace(self, edges=torch.cat([self.edges, loops.expand(2, -1)], dim=1), kinds=kinds)

    def undirected(self) -> "Graph":
        """The undirected graph: every edge in both directions, each once, sorted.

        Edges between the same nodes that differ in kind are kept.
        """
        edges = self.edges if self.kinds is None else torch.cat([self.edges, self.kinds[None]])
        reverse = torch.cat([edges[:2].flip(0), edges[2:]])
        both = torch.cat([edges, reverse], dim=1).unique(dim=1)
        return dataclasses.replace(self, edges=both[:2], kinds=None if self.kinds is None else both[2])

    def relations(self, reach: int) -> Int64[Tensor, "query key"]:
        """The relation of each node to each other, as ids. It takes quadratic memory, so up to a few thousand nodes.

        1 is the node itself; 2 to `reach` is a node at that distance; `reach` + kind is a neighbour along an edge of
        that kind (the largest if there are several, 1 if edges have no kinds); 0 is a node further away or not
        connected. Distances follow edges against their direction, starting from the query.

        Args:
            reach: the largest distance that has an id of its own, 1 or more.

        Source: Ying et al. 2021, Graphormer (arXiv 2106.05234), section 3.1.2, for the distance between nodes.

        Example:
            >>> chain = Graph(torch.eye(4), torch.tensor([[0, 1, 2], [1, 2, 3]]), kinds=torch.tensor([1, 2, 1]))
            >>> chain.undirected().relations(reach=2)
            tensor([[1, 3, 2, 0],
                    [3, 1, 4, 2],
                    [2, 4, 1, 3],
                    [0, 2, 3, 1]])
        """
        check_count("reach", reach, "the largest distance that has an id")
        nodes, others = len(self), self.edges[0] != self.edges[1]
        key, query = self.edges[:, others]
        kinds = torch.ones_like(key) if self.kinds is None else self.kinds[others]
        related = torch.zeros(nodes, nodes, dtype=torch.int64, device=key.device)
        walks = torch.zeros(nodes, nodes, device=key.device)
        walks[query, key] = 1
        # A sparse product for each distance: for graphs with few edges much faster than dense ones.
        step = walks.to_sparse()
        for distance in range(2, reach + 1):
            walks = torch.sparse.mm(step, walks).clamp_(max=1)
            related[(related == 0) & (walks > 0)] = distance
        # A neighbour may also be reached in more steps; the kind of its edge takes precedence.
        related[query, key] = 0
        related.view(-1).scatter_reduce_(0, query * nodes + key, reach + kinds, "amax")
        return related.fill_diagonal_(1)

    def mask(self) -> Edges:
        """The edges as a mask: nodes attend along edges only. A node without incoming edges gets zeros.

        Example:
            >>> from regard.attention import weigh
            >>> graph = Graph(torch.eye(3), torch.tensor([[0, 1], [1, 0]]))
            >>> weigh(graph.vectors[None, None], graph.vectors[None, None], mask=graph.mask())[0, 0].tolist()
            [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        """
        return Edges(self.edges)


def edges_mask(graphs: Sequence[Graph]) -> Edges:
    """The mask of a batch of graphs, for `Batch.pad([graph.vectors for graph in graphs])`.

    Padding has no edges, so it neither attends nor is attended to.

    Raises:
        ArgumentError: there is no graph.

    Example:
        >>> pair = Graph(torch.ones(2, 3), torch.tensor([[0, 1], [1, 0]]))
        >>> edges_mask([pair, Graph(torch.ones(5, 3), torch.tensor([[4], [0]]))])
        Edges(3 edges in 2 graphs)
    """
    if not graphs:
        raise ArgumentError("`graphs` must hold at least one graph, but is empty.")
    return Edges([graph.edges for graph in graphs])


def _described(value: object) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    return f"{value!r:.60}"
