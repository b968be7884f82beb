"""Graphs: edges are checked, and the mask of several is the masks of each."""

import pytest
import torch

from regard.attention import attend, weigh
from regard.errors import ArgumentError
from regard.inputs.batch import Batch
from regard.inputs.graph.graph import Graph, edges_mask

PATH = torch.tensor([[0, 1], [1, 2]])


def edges(graph):
    return list(zip(*graph.edges.tolist(), strict=True))


def random_graph(nodes, count, seed):
    generator = torch.Generator().manual_seed(seed)
    ends = torch.randint(nodes, (2, count), generator=generator) if nodes else torch.zeros(2, 0, dtype=torch.int64)
    return Graph(torch.randn(nodes, 5, generator=generator), ends)


def test_nodes_have_names():
    assert Graph(torch.ones(3, 2), PATH).names == ("0", "1", "2")
    assert Graph(torch.ones(3, 2), PATH, ("x", "y", "z")).names == ("x", "y", "z")
    assert len(Graph(torch.ones(0, 2), PATH[:, :0])) == 0


def test_an_edge_leads_from_the_key_to_the_query():
    graph = Graph(torch.eye(3), PATH)
    x = graph.vectors[None, None]
    assert attend(x, x, x, mask=graph.mask())[0, 0].tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]


def test_loops_are_added_once_and_have_kind_0():
    graph = Graph(torch.ones(3, 2), torch.tensor([[0, 1, 1], [1, 1, 2]]), kinds=torch.tensor([5, 7, 11]))
    looped = graph.with_loops()
    assert edges(looped) == [(0, 1), (1, 1), (1, 2), (0, 0), (2, 2)]
    assert looped.kinds.tolist() == [5, 7, 11, 0, 0]
    assert looped.with_loops().edges.equal(looped.edges)
    assert Graph(torch.ones(3, 2), PATH).with_loops().kinds is None
    assert edges(Graph(torch.ones(2, 2), PATH[:, :0]).with_loops()) == [(0, 0), (1, 1)]


def test_both_ways_is_symmetric_and_has_no_doubles():
    graph = Graph(torch.ones(3, 2), torch.tensor([[2, 0, 1, 0, 1], [0, 1, 0, 1, 1]]))
    assert edges(graph.undirected()) == [(0, 1), (0, 2), (1, 0), (1, 1), (2, 0)]
    assert graph.undirected().undirected().edges.equal(graph.undirected().edges)
    assert graph.edges.shape == (2, 5)
    assert edges(Graph(torch.ones(2, 2), PATH[:, :0]).undirected()) == []


def test_kinds_go_with_their_edges():
    graph = Graph(torch.ones(3, 2), torch.tensor([[2, 0, 1], [0, 1, 0]]), kinds=torch.tensor([3, 1, 2]))
    both = graph.undirected()
    assert list(zip(edges(both), both.kinds.tolist(), strict=True)) == [
        ((0, 1), 1),
        ((0, 1), 2),
        ((0, 2), 3),
        ((1, 0), 1),
        ((1, 0), 2),
        ((2, 0), 3),
    ]


def test_several_graphs_attend_as_each_alone():
    graphs = [random_graph(7, 11, 1), random_graph(3, 2, 2), random_graph(5, 0, 3), random_graph(0, 0, 4)]
    batch = Batch.pad([graph.vectors for graph in graphs])
    x = batch.vectors[:, None]
    together = attend(x, x, x, mask=edges_mask(graphs))[:, 0]
    for row, graph in zip(together, graphs, strict=True):
        alone = graph.vectors[None, None]
        expected = attend(alone, alone, alone, mask=graph.mask())[0, 0]
        assert torch.allclose(row[: len(graph)], expected, atol=1e-6)
        # Padding attends to nothing.
        assert not row[len(graph) :].any()
    assert together[:2].any()
    assert not together[2].any()


def test_padding_cannot_matter():
    graphs = [random_graph(7, 11, 1), random_graph(3, 2, 2)]
    x = Batch.pad([graph.vectors for graph in graphs]).vectors[:, None]
    poisoned = x.clone()
    poisoned[1, 0, 3:] = torch.nan
    assert attend(poisoned, poisoned, poisoned, mask=edges_mask(graphs)).equal(attend(x, x, x, mask=edges_mask(graphs)))


def test_one_graph_is_a_batch_of_one():
    graph = random_graph(5, 7, 1)
    x = graph.vectors[None, None]
    assert weigh(x, x, mask=edges_mask([graph])).equal(weigh(x, x, mask=graph.mask()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.ones(3), PATH), r"`vectors` must be a float tensor \(node, width\), but is torch.float32 of shape"),
        ((torch.ones(3, 2).long(), PATH), "`vectors` must be a float tensor"),
        ((torch.ones(3, 2), PATH.int()), "`edges` must be an int64 tensor"),
        ((torch.ones(5, 2), torch.ones(3, 2).long()), "Transpose it"),
        ((torch.ones(2, 2), PATH), "from 0 to 1, as `vectors` has 2, but holds 2"),
        ((torch.ones(3, 2), PATH - 1), "holds -1"),
        ((torch.ones(3, 2), PATH, ("a", "b")), "`names` must be 3"),
        ((torch.ones(3, 2), PATH, (), torch.tensor([1])), r"`kinds` must be an int64 tensor \(2,\)"),
        ((torch.ones(3, 2), PATH, (), torch.tensor([1, 0])), "0 for an edge that is no loop"),
        ((torch.ones(3, 2), PATH, (), torch.tensor([1, -3])), "`kinds` must be 1 or more.* is -3"),
    ],
)
def test_what_is_no_graph_is_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        Graph(*arguments)


def test_a_mask_needs_a_graph():
    with pytest.raises(ArgumentError, match="`graphs` must hold at least one"):
        edges_mask([])


def test_relations_by_hand():
    # A ring of four with a tail: 0 - 1 = 2 - 3 - 0, and 4 behind 3; 0 and 1 have two edges, and the larger counts.
    ends = torch.tensor([[0, 0, 1, 2, 3, 3], [1, 1, 2, 3, 0, 4]])
    graph = Graph(torch.eye(5), ends, kinds=torch.tensor([1, 3, 2, 1, 1, 1])).undirected().with_loops()
    assert graph.relations(reach=1).tolist() == [
        [1, 4, 0, 2, 0],
        [4, 1, 3, 0, 0],
        [0, 3, 1, 2, 0],
        [2, 0, 2, 1, 2],
        [0, 0, 0, 2, 1],
    ]
    assert graph.relations(reach=3)[4].tolist() == [2, 3, 2, 4, 1]
    # Edges lead from the key to the query, and one without a kind is of kind 1.
    assert Graph(torch.eye(3), PATH).relations(reach=2).tolist() == [[1, 0, 0], [3, 1, 0], [2, 3, 1]]
    assert Graph(torch.ones(0, 2), PATH[:, :0]).relations(reach=2).shape == (0, 0)
    with pytest.raises(ArgumentError, match=r"`reach` must be the largest distance .*, 1 or more, but is 0"):
        graph.relations(reach=0)


@pytest.mark.parametrize("seed", range(5))
def test_relations_are_the_shortest_paths(seed):
    networkx = pytest.importorskip("networkx")
    graph, reach = random_graph(11, 13, seed), 3
    # Turned round: who looks follows an edge back to where it comes from.
    back = networkx.DiGraph([(query, key) for key, query in edges(graph)])
    back.add_nodes_from(range(11))
    found = graph.relations(reach)
    for query, lengths in networkx.all_pairs_shortest_path_length(back):
        named = {0: 1, 1: reach + 1, **{distance: distance for distance in range(2, reach + 1)}}
        wanted = [named.get(lengths.get(key, 99), 0) for key in range(11)]
        assert found[query].tolist() == wanted
