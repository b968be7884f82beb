"""A small graph in Planetoid's eight files: who stands where."""

import pickle
from collections import defaultdict

import pytest
from test_safe_pickle import array, matrix

import regard
from regard.datasets.formats import planetoid
from regard.datasets.formats.planetoid import PLANETOID_FILES, read_planetoid
from regard.errors import DataError
from regard.tasks import Recipe
from regard.tasks.sources import Graphs

TRAIN = [(0, [1, 0]), (1, [0, 1])]
ALL = [*TRAIN, (2, [1, 0]), (3, [0, 1])]
TEST = [(6, [1, 0]), (4, [0, 1]), (5, [1, 0])]  # rows in the order of test.index


def rows(members):
    """A matrix whose node n has n + 1 in its first column and 1 in its second."""
    values = [value for node, _ in members for value in (node + 1, 1)]
    count = len(members)
    return matrix(count, 3, range(0, 2 * count + 1, 2), [0, 1] * count, values)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(planetoid, "_DEV", 2)
    parts = {"": TRAIN, "all": ALL, "t": TEST}
    for prefix, members in parts.items():
        write(tmp_path, f"{prefix}x", rows(members))
        write(tmp_path, f"{prefix}y", array([label for _, label in members], "i4"))
    graph = defaultdict(list, {0: [1, 1, 6], 1: [0], 2: [2], 6: [0], 3: [4]})
    (tmp_path / "ind.toy.graph").write_bytes(pickle.dumps(graph, protocol=2))
    (tmp_path / "ind.toy.test.index").write_text("6\n4\n5\n")
    return tmp_path


def write(folder, part, content):
    (folder / f"ind.toy.{part}").write_bytes(b"\x80\2" + content + b".")


def test_nodes_stand_where_the_index_says(folder):
    graph = read_planetoid(folder, "toy", "train").source
    assert graph.vectors.tolist() == [[node + 1, 1, 0] for node in range(7)]
    # Both ways, each once, no loop, also where one direction wasn't there.
    assert sorted(graph.edges.T.tolist()) == [[0, 1], [0, 6], [1, 0], [3, 4], [4, 3], [6, 0]]


def test_splits_are_labels_that_are_there_or_not(folder):
    targets = [read_planetoid(folder, "toy", split, classes=("a", "b")).target for split in ("train", "dev", "test")]
    assert targets == [
        ("a", "b", None, None, None, None, None),
        (None, None, "a", "b", None, None, None),
        (None, None, None, None, "b", "a", "a"),
    ]


@pytest.mark.parametrize("index", ["6\n4\n", "6\n4\n4\n", "6\n4\n7\n", "6\n4\n3\n"])
def test_an_index_that_does_not_match_is_named(folder, index):
    (folder / "ind.toy.test.index").write_text(index)
    with pytest.raises(DataError, match=r"test.index: it must hold the 3 nodes of test: different numbers from 4 to 6"):
        read_planetoid(folder, "toy", "train")


@pytest.fixture
def gaps(folder):
    """As in CiteSeer: nodes 5 and 8 stand in the graph, with no edge, and in no other file."""
    graph = defaultdict(list, {0: [1, 1, 6], 1: [0], 2: [2], 6: [0], 3: [4], 4: [3], 5: [], 7: [0], 8: []})
    (folder / "ind.toy.graph").write_bytes(pickle.dumps(graph, protocol=2))
    (folder / "ind.toy.test.index").write_text("7\n4\n6\n")
    return folder


def test_nodes_that_the_index_leaves_out_are_zeros_without_a_label(gaps):
    splits = [read_planetoid(gaps, "toy", split, classes=("a", "b")) for split in ("train", "dev", "test")]
    # The first line of the index is the first row of tx, which the toy calls 6; and so on.
    rows = [1, 2, 3, 4, 5, 0, 6, 7, 0]
    assert splits[0].source.vectors.tolist() == [[value, int(value > 0), 0] for value in rows]
    assert splits[2].target == (None, None, None, None, "b", None, "a", "a", None)
    assert [sum(each is not None for each in split.target) for split in splits] == [2, 2, 3]
    assert {5, 8}.isdisjoint(splits[0].source.edges.flatten().tolist())


def test_a_graph_with_isolated_nodes_trains_and_is_judged(gaps):
    train, dev, test = (read_planetoid(gaps, "toy", split) for split in ("train", "dev", "test"))
    for source in (Graphs(), Graphs(normalise=True, standardise=False)):
        recipe = Recipe(task="tagger", input=source, width=8, heads=1, network="graph_attention", epochs=2)
        model = regard.train([train], [dev], recipe=recipe, progress="none")
        assert model.evaluate([test]).examples == 3
        # The two of which nothing is known look the same, and have an answer. They are summed over different columns,
        # so rounding may differ.
        (answers,) = model.tag([test.source])
        assert answers[5].label == answers[8].label
        assert answers[5].score == pytest.approx(answers[8].score, rel=1e-6)


@pytest.mark.parametrize("index", ["9\n4\n6\n", "7\n4\n4\n", "7\n4\n3\n"])
def test_an_index_with_gaps_names_nodes_of_the_graph_once(gaps, index):
    (gaps / "ind.toy.test.index").write_text(index)
    with pytest.raises(DataError, match="the 3 nodes of test: different numbers from 4 to 8"):
        read_planetoid(gaps, "toy", "train")


@pytest.mark.parametrize("line", ["x", "-6", "1.5", "٦", "9" * 40])
def test_a_broken_line_of_the_index_is_named(folder, line):
    (folder / "ind.toy.test.index").write_text(f"6\n{line}\n5\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"test.index, line 2: a line must be the number of a node"):
        read_planetoid(folder, "toy", "train")


def test_files_that_do_not_go_together_are_named(folder):
    (folder / "ind.toy.graph").write_bytes(pickle.dumps(defaultdict(list, {0: [7]}), protocol=2))
    with pytest.raises(DataError, match=r"ind.toy.graph: an edge leads to a node that isn't there"):
        read_planetoid(folder, "toy", "train")
    write(folder, "ally", array([[1, 0]] * 3, "i4"))
    with pytest.raises(DataError, match="its files have 7 vectors, but 6 labels"):
        read_planetoid(folder, "toy", "train")
    for part in PLANETOID_FILES:
        (folder / f"ind.toy.{part}").unlink()
    with pytest.raises(DataError, match=r"ind.toy.x: there is no such file"):
        read_planetoid(folder, "toy", "train")
