"""People, their profiles, and the label that must not be among these."""

import pytest

from regard.datasets.formats.labelled_graph import read_labelled_graph
from regard.datasets.splits import split_by_hash
from regard.errors import DataError, UnknownNameError

NAMES = [f"person {number}" for number in range(23)]


@pytest.fixture
def files(tmp_path):
    friendships, profiles = tmp_path / "friends.csv", tmp_path / "people.csv"
    friendships.write_text("from,to\n" + "".join(f"{NAMES[n]},{NAMES[n + 1]}\n" for n in range(22)))
    lines = (f"{name},{20 + number},{'' if number == 5 else number % 2}\n" for number, name in enumerate(NAMES))
    profiles.write_text("name,age,buys\n" + "".join(lines))
    return friendships, profiles


def test_the_label_is_no_part_of_the_vectors(files):
    example = read_labelled_graph(*files, "buys")
    assert example.target == tuple(None if number == 5 else str(number % 2) for number in range(23))
    assert example.source.names == tuple(NAMES)
    assert example.source.vectors.shape == (23, 1)  # age
    assert example.source.edges.shape == (2, 44)
    assert read_labelled_graph(*files, "buys", directed=True).source.edges.shape == (2, 22)


def test_splits_have_each_label_once(files):
    splits = {split: read_labelled_graph(*files, "buys", split).target for split in ("train", "dev", "test")}
    for place, name in enumerate(NAMES):
        known = [split for split, target in splits.items() if target[place] is not None]
        assert known == ([] if place == 5 else [split_by_hash(name)])


def test_what_can_not_be_read_says_why(files):
    with pytest.raises(UnknownNameError, match=r"`label` must be one of age, buys, but is 'buy'. Did you mean 'buys'"):
        read_labelled_graph(*files, "buy")
    files[0].write_text("person 1,nobody\n")
    with pytest.raises(DataError, match=r"friends.csv, line 1: the name 'nobody' isn't in the table"):
        read_labelled_graph(*files, "buys")
