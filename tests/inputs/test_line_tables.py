"""Lines and tables: every line is read or named."""

import pytest

from regard.errors import ArgumentError, DataError, UnknownNameError
from regard.inputs.lines import parse_number, read_table
from regard.inputs.saved import checked_names


def written(folder, content):
    path = folder / "file.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_table_keeps_the_lines_of_its_rows(tmp_path):
    path = written(tmp_path, '\n a , b\n\n"1\n2","x"\n,\n3,"say ""no"", Ann"\n')
    assert read_table(path) == (["a", "b"], [(4, ["1\n2", "x"]), (7, ["3", 'say "no", Ann'])])
    assert read_table(written(tmp_path, "a\tb\n1,5\t2\n")) == (["a", "b"], [(2, ["1,5", "2"])])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it is empty"),
        ("\n\n", "it is empty"),
        ("a,,b\n", "line 1: column 2 has no name"),
        ("a,b,a\n", "line 1: two columns have the name 'a'"),
        ("a,b\n1,2\n\n1\n", "line 4: a line must have 2 columns, as the first one has, but has 1"),
        ("a,b\n1,2,3\n", "line 2: a line must have 2 columns, as the first one has, but has 3"),
        ('a,b\n1,2\n"1,2\n3,4\n', "line 3: the columns can't be told apart"),
        ('a,b\n"1"2,3\n', "line 2: the columns can't be told apart"),
    ],
)
def test_a_broken_table_names_its_line(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        read_table(written(tmp_path, content))


def test_numbers_are_those_of_files():
    assert [parse_number(text) for text in ("1", " -.5 ", "1e-3", "+2.")] == [1, -0.5, 0.001, 2]
    strange = ("", " ", "1_0", "٣", "nan", "inf", "-Infinity", "1e999", "0x10", "1,5", "9" * 400)
    assert [parse_number(text) for text in strange] == [None] * len(strange)


def test_saved_names_are_checked():
    assert checked_names("part", {"a": 1, "b": 2}, ["a", "b"]) == {"a": 1, "b": 2}
    with pytest.raises(UnknownNameError, match="Did you mean 'means'"):
        checked_names("part", {"mean": 1}, ["means"])
    with pytest.raises(ArgumentError, match="has no b"):
        checked_names("part", {"a": 1}, ["a", "b"])
    with pytest.raises(ArgumentError, match="must be what `to_json` gave"):
        checked_names("part", [1], ["a"])
