"""Social networks: from files, and from networkx."""

import sys

import networkx
import pytest
import torch

from regard.errors import ArgumentError, DataError, MissingExtraError
from regard.inputs.graph.profile_encoder import ProfileEncoder
from regard.inputs.graph.social_graph import from_networkx, read_edge_list, read_social_graph, social_graph

PEOPLE = {"Ann": {"age": 31}, "Bob": {"age": 33}, "Cleo": {"age": 35}}
NAMES = ["Ann", "Bob", "Cleo"]
SIZED = ProfileEncoder.fit([{"size": 1}, {"size": 2}])


def written(folder, text, name="friends.txt"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "Ann Bob\nBob Cleo\n",
        "  Ann   Bob \r\n\r\n# and\r\nBob Cleo",
        "# friends\nsource,target\nAnn,Bob\nBob , Cleo\n",
        'From\tTo\nAnn\tBob\n"Bob"\tCleo\n',
        "person friend\nAnn Bob\nBob Cleo\n",
    ],
)
def test_edges_are_read_however_they_are_separated(tmp_path, text):
    assert read_edge_list(written(tmp_path, text), NAMES) == [("Ann", "Bob"), ("Bob", "Cleo")]


def test_a_header_is_never_a_person(tmp_path):
    path = written(tmp_path, "a b\nb c\n")
    assert read_edge_list(path, ["a", "b", "c"]) == [("a", "b"), ("b", "c")]
    assert read_edge_list(written(tmp_path, ""), NAMES) == []
    assert read_edge_list(written(tmp_path, "Ann de Vries,Bob\n"), ["Ann de Vries", "Bob"]) == [("Ann de Vries", "Bob")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Ann Bob\n\nAnn Dan\n", "line 3: the name 'Dan' isn't in the table"),
        ("Dan Eve\nAnn Bob\n", "line 1: the name 'Dan' isn't in"),
        ("Ann Bob\nfrom to\n", "line 2: the name 'from' isn't in"),
        ("Ann Bob 3\n", "line 1: a line must have two names.* has 3"),
        ("Ann,Bob\nAnn Bob\n", "line 2: a line must have two names.* has 1"),
        ('Ann,Bob\n"Ann,Bob\n', "line 2: the names can't be told apart"),
        ("Ann,\n", "line 1: the name '' isn't in"),
    ],
)
def test_a_broken_edge_names_its_line(tmp_path, text, message):
    with pytest.raises(DataError, match=f"friends.txt, {message}"):
        read_edge_list(written(tmp_path, text), NAMES)


def test_friendship_goes_both_ways_unless_it_is_directed():
    pairs = [("Bob", "Ann"), ("Bob", "Ann"), ("Cleo", "Cleo"), ("Ann", "Bob")]
    graph = social_graph(PEOPLE, pairs)
    assert graph.names == ("Ann", "Bob", "Cleo")
    assert graph.edges.tolist() == [[0, 1, 2], [1, 0, 2]]
    assert graph.vectors[:, 0].tolist() == pytest.approx([-(1.5**0.5), 0, 1.5**0.5])
    assert social_graph(PEOPLE, pairs[:3], directed=True).edges.tolist() == [[1, 2], [0, 2]]
    assert social_graph(PEOPLE, []).edges.shape == (2, 0)
    assert len(social_graph({}, [])) == 0


def test_a_given_encoder_is_used():
    encoder = ProfileEncoder.fit([{"age": 30}, {"age": 32}])
    assert social_graph(PEOPLE, [], encoder=encoder).vectors[:, 0].tolist() == [0, 2, 4]


def test_graphs_that_cannot_be():
    with pytest.raises(ArgumentError, match="names 'Dan'"):
        social_graph(PEOPLE, [("Ann", "Dan")])
    with pytest.raises(ArgumentError, match="must be pairs"):
        social_graph(PEOPLE, [("Ann", "Bob", "Cleo")])
    with pytest.raises(ArgumentError, match="`profiles` must have attributes"):
        social_graph({"Ann": {}, "Bob": {}}, [("Ann", "Bob")])


def test_two_files_make_a_graph(tmp_path):
    profiles = written(tmp_path, "name,sex\nAnn,f\nBob,m\n", "people.csv")
    graph = read_social_graph(written(tmp_path, "Bob Ann\n"), profiles, directed=True)
    assert graph.edges.tolist() == [[1], [0]]
    assert graph.vectors.tolist() == [[1, 0], [0, 1]]


def test_networkx_undirected_and_directed():
    graph = networkx.Graph([("x", "y"), ("y", "z"), ("z", "z")])
    networkx.set_node_attributes(graph, {"x": 1, "y": 2, "z": 3}, "size")
    assert from_networkx(graph).edges.tolist() == [[0, 1, 1, 2, 2], [1, 0, 2, 1, 2]]
    assert from_networkx(networkx.DiGraph(graph.edges), encoder=SIZED).edges.shape == (2, 3)
    directed = networkx.DiGraph([("x", "y")])
    networkx.set_node_attributes(directed, 1, "size")
    assert from_networkx(directed).edges.tolist() == [[0], [1]]
    several = networkx.MultiGraph([("x", "y"), ("y", "x")])
    networkx.set_node_attributes(several, 1, "size")
    assert from_networkx(several).edges.tolist() == [[0, 1], [1, 0]]


def test_the_karate_club():
    karate = from_networkx(networkx.karate_club_graph())
    degrees = karate.edges[1].bincount(minlength=34)
    assert (len(karate), karate.edges.shape[1], int(degrees.max()), int(degrees.argmax())) == (34, 156, 17, 33)
    assert karate.vectors.shape == (34, 2)
    assert torch.equal(karate.vectors.sum(dim=0), torch.tensor([17.0, 17.0]))


def test_networkx_that_cannot_be(monkeypatch):
    with pytest.raises(ArgumentError, match="must be a networkx graph, but is list"):
        from_networkx([(0, 1)])
    with pytest.raises(ArgumentError, match="`profiles` must have attributes"):
        from_networkx(networkx.path_graph(3))
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[graph\]'"):
        from_networkx(None)
