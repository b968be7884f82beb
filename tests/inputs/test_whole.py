"""Features of a whole graph, and whether neighbours are alike: by hand, and whatever the order of the nodes."""

import pytest
import torch
from test_graph import random_graph

from regard.errors import ArgumentError
from regard.inputs import Graph, fingerprint, graph_counts
from regard.inputs.graph.homophily import homophily


def renumbered(graph, order):
    """The graph with its nodes in another order."""
    places = torch.empty_like(order)
    places[order] = torch.arange(len(order))
    return Graph(graph.vectors[order], places[graph.edges])


def test_counts_by_hand():
    # A path of a, b and b, with an edge given twice and a loop; a fourth node, an a, stands alone.
    labels = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    graph = Graph(labels, torch.tensor([[0, 1, 1, 2, 0, 3], [1, 0, 2, 1, 1, 3]]))
    total, mean, degrees, shares, sizes = graph_counts(graph).split([2, 2, 16, 16, 2])
    assert (total.tolist(), mean.tolist()) == ([2, 2], [0.5, 0.5])
    assert degrees.tolist() == [1, 2, 1, *[0] * 13]
    assert shares.tolist() == [0.25, 0.5, 0.25, *[0] * 13]
    assert sizes.exp().tolist() == pytest.approx([5, 5])


def test_a_hub_has_the_largest_degree_and_an_empty_graph_has_no_count():
    star = Graph(torch.ones(40, 1), torch.stack([torch.arange(1, 40), torch.zeros(39, dtype=torch.int64)]))
    assert graph_counts(star)[2:18].tolist() == [39, *[0] * 14, 1]
    assert graph_counts(Graph(torch.ones(0, 3), torch.zeros(2, 0, dtype=torch.int64))).abs().sum() == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_nodes_does_not_matter(seed):
    graph = random_graph(7, 19, seed)
    other = renumbered(graph, torch.randperm(7, generator=torch.Generator().manual_seed(seed)))
    torch.testing.assert_close(graph_counts(other), graph_counts(graph))


def test_fingerprints_count_surroundings():
    pytest.importorskip("rdkit")
    # In a size without collisions: methane has one surrounding. Of ethane each carbon has itself, and both share one.
    assert fingerprint("C", 4096).sort().values[-2:].tolist() == [0, 1]
    assert fingerprint("CC", 4096).sort().values[-3:].tolist() == [0, 1, 2]
    assert torch.equal(fingerprint("OCCN", 64), fingerprint("NCCO", 64))
    assert not torch.equal(fingerprint("CCO", 4096), fingerprint("CCN", 4096))
    assert fingerprint("C" * 300, 8).max() == 255
    with pytest.raises(ArgumentError, match="`size`"):
        fingerprint("C", 0)
    with pytest.raises(ArgumentError, match="`smiles` must be a molecule"):
        fingerprint("C(", 8)


def test_homophily_by_hand():
    # Of a - a - b - (unknown) two pairs count, in whichever direction, once; loops don't. Three of four ends are a's.
    both = Graph(torch.eye(4), torch.tensor([[0, 1, 2, 1, 0], [1, 0, 1, 1, 1]]))
    found = homophily([(both, ["a", "a", "b", None])])
    assert found == (1, 2, (3 / 4) ** 2 + (1 / 4) ** 2)
    assert found.share == 0.5
    twice = homophily([(both, ["a", "a", "b", None]), (both, ["b", "b", "b", "b"])])
    assert (twice.same, twice.pairs) == (3, 4)
    nothing = homophily([(both, [None, "a", None, None])])
    assert (nothing, nothing.share) == ((0, 0, 0), 0)
