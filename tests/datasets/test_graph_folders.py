"""A graph of one's own in a folder: profiles, edges, labels and splits; and what is no such folder."""

import pytest

from regard.datasets import check, find_source, read, read_graph_folder, split_by_hash
from regard.errors import DataError

PROFILES = """name,age,job,label,split
Ann,31,cook,yes,train
Bob,33,smith,no,train
Cleo,35,cook,yes,dev
Dan,37,,no,test
Eve,39,smith,,
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "profiles.csv").write_text(PROFILES, "utf-8")
    (tmp_path / "edges.csv").write_text("from,to\nAnn,Bob\nBob,Cleo\nDan,Eve\n", "utf-8")
    return tmp_path


def test_every_split_sees_the_whole_graph_and_its_own_labels(folder):
    (train,), (dev,), (test,) = (read(folder, split) for split in ("train", "dev", "test"))
    assert train.target == ("yes", "no", None, None, None)
    assert dev.target == (None, None, "yes", None, None)
    assert test.target == (None, None, None, "no", None)
    assert train.source.names == ("Ann", "Bob", "Cleo", "Dan", "Eve")
    assert train.source.edges.tolist() == dev.source.edges.tolist() == [[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]]
    assert find_source(folder).splits == ("train", "dev", "test")


def test_neither_label_nor_split_is_seen(folder):
    (train,) = read(folder, "train")
    # The age and two jobs; Dan has none.
    assert train.source.vectors.shape == (5, 3)
    assert train.source.vectors[:, 1:].tolist() == [[1, 0], [0, 1], [1, 0], [0, 0], [0, 1]]


def test_another_folder_is_read_by_the_encoder_of_the_first(folder, tmp_path):
    (train,) = read(folder, "train")
    other = tmp_path / "other"
    other.mkdir()
    (other / "edges.csv").write_text("Fay,Gus\n", "utf-8")
    (other / "profiles.csv").write_text("name,age,job,label\nFay,35,smith,yes\nGus,,cook,no\n", "utf-8")
    seen = [read_graph_folder(other, split, encoder=train.source.encoder) for split in _splits_with_labels(other)]
    # The mean age of the first is 35, which a missing one is taken for.
    assert all(each.source.vectors.tolist() == [[0, 0, 1], [0, 1, 0]] for each in seen)
    (other / "profiles.csv").write_text("name,age,job,label\nFay,35,smith,yes\nGus,34,cook,no\n", "utf-8")
    (alone,) = read(other, _splits_with_labels(other)[0])
    again = read_graph_folder(folder, "train", encoder=alone.source.encoder)
    assert again.target == train.target


def _splits_with_labels(folder):
    names = [line.split(",")[0] for line in (folder / "profiles.csv").read_text().splitlines()[1:]]
    return [split for split in ("train", "dev", "test") if split in map(split_by_hash, names)]


def test_without_a_split_names_fall_by_their_hash(folder):
    rows = "\n".join(f"p{number},{number},{'no' if number % 2 else 'yes'}" for number in range(60))
    (folder / "profiles.csv").write_text(f"name,age,label\n{rows}\n", "utf-8")
    (folder / "edges.csv").write_text("p1,p2\n", "utf-8")
    labels = [read(folder, split)[0].target for split in ("train", "dev", "test")]
    assert [sum(each is not None for each in some) for some in zip(*labels, strict=True)] == [1] * 60


@pytest.mark.parametrize(
    ("profiles", "edges", "said"),
    [
        ("name,age\nAnn,3\n", "", "one column must be called label, but the columns are age"),
        ("name,label,split\nAnn,yes,exam\n", "", "the split of 'Ann' must be train, dev, test or empty, but is 'exam'"),
        ("name,age,label,split\nAnn,3,yes,dev\n", "", "no node of the split 'train' has a label"),
        (PROFILES, "Ann,Zoe\n", "the name 'Zoe' isn't in the table of profiles"),
    ],
)
def test_what_is_wrong_is_told_with_its_file(folder, profiles, edges, said):
    (folder / "profiles.csv").write_text(profiles, "utf-8")
    (folder / "edges.csv").write_text(edges, "utf-8")
    with pytest.raises(DataError, match=said) as told:
        read_graph_folder(folder, "train")
    assert str(folder) in str(told.value)


def test_it_can_be_looked_over(folder):
    report = check(folder)
    assert {split.split: split.labels for split in report.splits} == {
        "train": {"yes": 1, "no": 1},
        "dev": {"yes": 1},
        "test": {"no": 1},
    }
    assert (report.duplicates.distinct, report.problems, report.of_words) == (0, (), False)


def test_two_files_of_edges(folder):
    (folder / "edges.tsv").write_text("Ann\tBob\n", "utf-8")
    with pytest.raises(DataError, match=r"one of edges.csv, .* but holds edges.csv and edges.tsv"):
        read_graph_folder(folder, "train")
