"""Whether the neighbours in a graph have the same labels."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from regard.inputs.graph.graph import Graph

__all__ = ["Homophily", "homophily"]


class Homophily(NamedTuple):
    """How often neighbours whose labels are both known have the same one.

    Args:
        same: the number of pairs of neighbours with the same label.
        pairs: the number of pairs of neighbours with a label each.
        chance: the share of pairs that would have the same label, if edges had the same ends but were drawn at random.
    """

    same: int
    pairs: int
    chance: float

    @property
    def share(self) -> float:
        """The share of pairs with the same label, the edge homophily; 0 without pairs."""
        return self.same / max(1, self.pairs)


def homophily(examples: Iterable[tuple[Graph, Sequence[str | None]]]) -> Homophily:
    """Count neighbours with the same label in graphs.

    An edge in both directions is one pair; loops aren't counted.

    Args:
        examples: graphs, each with a label for each of its nodes, or None where it isn't known.

    Source: Zhu et al. 2020, H2GCN (arXiv 2006.11468), definition 1, for the share; Newman 2003, Mixing patterns in
        networks, Phys. Rev. E 67, equation 2, for that by chance.

    Example:
        >>> import torch
        >>> path = Graph(torch.eye(4), torch.tensor([[0, 1, 2], [1, 2, 3]]))
        >>> homophily([(path, ["a", "a", "b", None])])
        Homophily(same=1, pairs=2, chance=0.625)
    """
    same, pairs, ends = 0, 0, dict[str, int]()
    for graph, labels in examples:
        edges = graph.edges[:, graph.edges[0] != graph.edges[1]].sort(0).values.unique(dim=1)
        for one, other in edges.T.tolist():
            first, second = labels[one], labels[other]
            if first is None or second is None:
                continue
            same, pairs = same + (first == second), pairs + 1
            for label in (first, second):
                ends[label] = ends.get(label, 0) + 1
    return Homophily(same, pairs, sum((count / max(1, 2 * pairs)) ** 2 for count in ends.values()))
