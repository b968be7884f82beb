"""A pickle that would do harm does nothing; one that is broken is named."""

import os
import pickle
import struct
from collections import defaultdict

import numpy as np
import pytest

from regard.datasets.formats.safe_pickle import read_safe_pickle
from regard.errors import DataError


def array(values, code="f4"):
    """An array as NumPy wrote it with Python 2, of one axis or two."""
    values = np.asarray(values, dtype=code)
    shape = b"".join(b"K" + bytes([size]) for size in values.shape) + (b"\x85" if values.ndim == 1 else b"\x86")
    content = b"".join(  # a string of these characters, each a byte
        [
            b"X",
            struct.pack("<I", len(values.tobytes().decode("latin1").encode())),
            values.tobytes().decode("latin1").encode(),
        ]
    )
    dtype = b"cnumpy\ndtype\n" + b"U" + bytes([len(code)]) + code.encode() + b"K\0K\1\x87R"
    dtype += b"(K\3U\1<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"
    start = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\1b\x87R"
    return start + b"(K\1" + shape + dtype + b"\x89" + content + b"tb"


def matrix(height, width, starts, columns, values):
    """A sparse matrix as SciPy wrote it."""
    state = b"}(U\6_shapeK" + bytes([height]) + b"K" + bytes([width]) + b"\x86U\6indptr" + array(starts, "i4")
    state += b"U\7indices" + array(columns, "i4") + b"U\4data" + array(values) + b"u"
    return b"cscipy.sparse.csr\ncsr_matrix\n)\x81" + state + b"b"


def read(tmp_path, content):
    path = tmp_path / "a"
    path.write_bytes(content if content[:1] == b"\x80" else b"\x80\2" + content + b".")
    return read_safe_pickle(path)


def test_arrays_matrices_and_dictionaries_are_read(tmp_path):
    assert read(tmp_path, array([[1, 0], [0.5, -2]])).tolist() == [[1, 0], [0.5, -2]]
    assert read(tmp_path, array([3, 200, -7], "i4")).tolist() == [3, 200, -7]
    dense = read(tmp_path, matrix(3, 2, [0, 1, 1, 3], [1, 0, 1], [5, 6, 7]))
    assert dense.tolist() == [[0, 5], [0, 0], [6, 7]]
    graph = defaultdict(list, {0: [1, 2], 1: [0]})
    assert read(tmp_path, pickle.dumps(graph, protocol=2)) == graph


class Harm:
    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    ("function", "arguments"),
    [(os.system, ("mkdir harm",)), (os.mkdir, ("harm",)), (eval, ("__import__('os').mkdir('harm')",))],
)
def test_nothing_harmful_is_run(tmp_path, monkeypatch, protocol, function, arguments):
    monkeypatch.chdir(tmp_path)
    content = pickle.dumps(Harm(function, *arguments), protocol=protocol)
    (tmp_path / "evil").write_bytes(content)
    with pytest.raises(DataError, match=r"evil: it names \w+\.\w+, which no array needs: it may be harmful"):
        read_safe_pickle(tmp_path / "evil")
    assert not (tmp_path / "harm").exists()
    # The test can fail: Python's own reader does the harm.
    pickle.loads(content)
    assert (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"cnumpy\nload\n.",  # beside what is known
        b"cnumpy.core.multiarray\nfromfile\n.",
        b"cscipy.sparse.csr\ncsr_matrix.__init__\n.",
        b"c__builtin__\neval\n.",
        b"cbuiltins\nlist.__subclasses__\n.",
    ],
)
def test_neighbours_of_what_is_known_are_refused(tmp_path, content):
    with pytest.raises(DataError, match="which no array needs"):
        read(tmp_path, b"\x80\2" + content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x80\2", "it can't be read as a pickle"),
        (b"\x80\2" + array([1])[:-20], "it can't be read as a pickle"),
        (b"\x80\2.", "it can't be read as a pickle"),
        (b"\x80\xff.", "it can't be read as a pickle"),
        (array([1, 2]).replace(b"K\2\x85", b"K\3\x85"), r"an array of shape \(3,\) has 8 bytes"),
        (array([1, 2]).replace(b"U\2f4", b"U\2O8"), "an array holds 'O8', but only numbers are read"),
        (array([1, 2]).replace(b"U\1<", b"U\1?"), "only numbers are read"),
        (matrix(2, 2, [0, 1, 2], [0, 5], [1, 1]), "it can't be read as a pickle"),
        (matrix(2, 2, [0, 1, 1], [0, 1], [1, 1]), "the parts of a sparse matrix don't go together"),
        (matrix(2, 2, [0, 1], [0], [1]), "the parts of a sparse matrix don't go together"),
        (
            matrix(1, 1, [0, 0], [], []).replace(b"K\1K\1\x86U\6indptr", b"K\1J\xff\xff\xff\x7f\x86U\6indptr"),
            "is too large to be read",
        ),
        (b"U\1aQ", "it names something outside the file"),
        (b"Pa\n", "it names something outside the file"),
    ],
)
def test_a_broken_pickle_is_named(tmp_path, content, message):
    with pytest.raises(DataError, match=f"a: .*{message}"):
        read(tmp_path, content)


def test_a_file_must_be_there(tmp_path):
    with pytest.raises(DataError, match="there is no such file"):
        read_safe_pickle(tmp_path / "no")
