"""IDX: every type, and sizes that lie."""

import gzip
import struct

import pytest
import torch

from regard.datasets.formats.idx import read_idx
from regard.errors import DataError


def idx(kind, sizes, content):
    return bytes([0, 0, kind, len(sizes)]) + struct.pack(f">{len(sizes)}I", *sizes) + content


@pytest.mark.parametrize(
    ("kind", "form", "dtype"),
    [
        (0x08, "B", torch.uint8),
        (0x09, "b", torch.int8),
        (0x0B, "h", torch.int16),
        (0x0C, "i", torch.int32),
        (0x0D, "f", torch.float32),
        (0x0E, "d", torch.float64),
    ],
)
@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_every_type_is_read(tmp_path, kind, form, dtype, name):
    content = idx(kind, (2, 3), struct.pack(f">6{form}", *range(6)))
    (tmp_path / name).write_bytes(gzip.compress(content, mtime=0) if name == "a.gz" else content)
    read = read_idx(tmp_path / name)
    assert read.dtype == dtype
    assert read.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_nothing_and_one_number_are_read(tmp_path):
    (tmp_path / "a").write_bytes(idx(8, (0, 28, 28), b""))
    assert read_idx(tmp_path / "a").shape == (0, 28, 28)
    (tmp_path / "a").write_bytes(idx(8, (), b"\x05"))
    assert read_idx(tmp_path / "a").item() == 5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "an IDX file must begin with two zero bytes and a type, but it begins with ''"),
        (b"\x89PNG", "must begin with two zero bytes and a type, but it begins with '89 50 4e 47'"),
        (bytes([0, 0, 7, 1, 0, 0, 0, 1, 5]), "must begin with two zero bytes and a type"),
        (gzip.compress(idx(8, (1,), b"\1"), mtime=0), "A packed one must have a name that ends in .gz"),
        (idx(8, (3,), b"\1\2"), r"its sizes \(3,\) need 3 bytes, but it has 2"),
        (idx(8, (3,), b"\1\2\3\4"), r"its sizes \(3,\) need 3 bytes, but it has more"),
        (idx(8, (2**32 - 1,) * 5, b"\1"), "but it has 1"),
        (idx(8, (1, 2), b"")[:-4], "but it has 0"),
        (idx(8, (1, 2), b"")[:-1], "it breaks off"),
    ],
)
def test_what_is_no_idx_is_named(tmp_path, content, message):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DataError, match=f"a: .*{message}"):
        read_idx(tmp_path / "a")


def test_a_packed_file_that_breaks_off_is_named(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(idx(8, (64,), bytes(range(64))))[:-12])
    with pytest.raises(DataError, match="it breaks off or can't be unpacked"):
        read_idx(tmp_path / "a.gz")
