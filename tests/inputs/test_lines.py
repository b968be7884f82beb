"""Lines of text, packed or not; whatever is no text is named."""

import gzip
import re

import pytest

from regard.errors import DataError
from regard.inputs.lines import read_lines


def write(tmp_path, content, name="a.txt"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_only_line_feeds_end_a_line(tmp_path, name):
    content = "\ufeffone\r\ntwo\u2028x\x85\x0b\n\nlast\r".encode()
    assert list(read_lines(write(tmp_path, content, name))) == [
        (1, "one"),
        (2, "two\u2028x\x85\x0b"),
        (3, ""),
        (4, "last"),
    ]
    assert list(read_lines(write(tmp_path, b"", name))) == []


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"a\ncaf\xe9\n", "a.txt", ", line 2: byte 4 of the line (0xe9) is not UTF-8. Save the file as UTF-8."),
        (b"a\n\0\n", "a.txt", ", line 2: it holds a zero byte"),
        ("a\n".encode("utf-16"), "a.txt", ", line 1: it is UTF-16"),
        (
            gzip.compress(b"a", mtime=0),
            "a.txt",
            ", line 1: it is compressed. Unpack it first, or let a gzip's",
        ),
        (b"caf\xe9\n", "a.txt.gz", ", line 1: byte 4 of the line"),
    ],
)
def test_what_is_no_text_is_named(tmp_path, content, name, message):
    path = write(tmp_path, content, name)
    with pytest.raises(DataError, match=re.escape(f"{path}{message}")):
        list(read_lines(path))


@pytest.mark.parametrize("cut", [-9, -3, 12])
def test_a_packed_file_that_breaks_off_or_is_none_is_named(tmp_path, cut):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"one\ntwo\n", mtime=0)[:cut])
    with pytest.raises(DataError, match=r"a.gz: it can't be unpacked any further than line \d"):
        list(read_lines(path))
    path.write_bytes(b"no gzip at all")
    with pytest.raises(DataError, match=r"a.gz: it can't be unpacked any further than line 0"):
        list(read_lines(path))


def test_a_line_that_is_not_utf8_can_be_told_and_left_out(tmp_path):
    problems = []
    path = write(tmp_path, b"a\n\xff\nb\n")
    assert list(read_lines(path, problems.append)) == [(1, "a"), (3, "b")]
    assert [str(each).split(": ")[0] for each in problems] == [f"{path}, line 2"]


def test_a_file_must_be_there(tmp_path):
    with pytest.raises(DataError, match=r"no.txt: there is no such file."):
        list(read_lines(tmp_path / "no.txt"))
    with pytest.raises(DataError, match="it is a folder, not a file"):
        list(read_lines(tmp_path))
