"""Plain vectors from NumPy's files and from tables."""

import io
import pickle
import re

import numpy as np
import pytest
import torch

from regard.errors import ArgumentError, DataError
from regard.inputs.batch import Batch
from regard.inputs.vector_files import VECTOR_FILES, read_vectors
from regard.inputs.vector_sequences import VectorSequences


def saved(path, array):
    np.save(path, array)
    return path


def written(folder, text, name="vectors.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_an_array_of_2_axes_is_one_sequence_and_of_3_are_several(tmp_path):
    array = np.arange(30).reshape(2, 3, 5)
    one = read_vectors(saved(tmp_path / "one.npy", array[0]))
    assert one.names == ("one",)
    assert one.labels is None
    assert one.sequences[0].equal(torch.arange(15.0).reshape(3, 5))
    several = read_vectors(saved(tmp_path / "several.NPY.npy", array.astype(np.float16)))
    assert several.names == ("0", "1")
    assert several.sequences[1].equal(torch.arange(15.0, 30).reshape(3, 5))
    assert len(read_vectors(saved(tmp_path / "none.npy", np.zeros((0, 3, 5))))) == 0
    assert read_vectors(saved(tmp_path / "empty.npy", np.zeros((0, 5)))).sequences[0].shape == (0, 5)
    fortran = read_vectors(saved(tmp_path / "f.npy", np.asfortranarray(array[0], dtype=">f8")))
    assert fortran.sequences[0].equal(one.sequences[0])


def test_named_arrays_are_sequences_of_any_length(tmp_path):
    path = tmp_path / "many.npz"
    np.savez(path, b=np.ones((2, 3)), a=np.zeros((5, 3)), labels=np.array(["yes", "no"]))
    read = read_vectors(path)
    assert read.names == ("b", "a")
    assert read.labels == ("yes", "no")
    assert Batch.pad(read.sequences).lengths.tolist() == [2, 5]
    np.savez_compressed(path, a=np.ones((2, 3)), labels=np.array([1.5]))
    assert read_vectors(path).labels == (1.5,)
    np.savez(path, a=np.ones((2, 3)), labels=np.array([7]))
    assert read_vectors(path).labels == ("7",)
    np.savez(path)
    assert len(read_vectors(path)) == 0


def test_series_of_one_length_may_be_one_array(tmp_path):
    np.savez(tmp_path / "one.npz", x=np.arange(12).reshape(2, 3, 2), labels=["yes", "no"])
    read = read_vectors(tmp_path / "one.npz")
    assert (read.labels, read.names) == (("yes", "no"), ("0", "1"))
    assert read.sequences[1].tolist() == [[6, 7], [8, 9], [10, 11]]


def test_the_layout_that_an_error_proposes_is_read(tmp_path):
    path = tmp_path / "series.npz"
    np.savez(path, x=np.ones(3))
    with pytest.raises(DataError) as told:
        read_vectors(path)
    call = re.search(r"numpy\.savez\('series.npz', (.*)\), where each", str(told.value))
    series, labels = [np.ones((2, 1)), np.ones((3, 1))], ["yes", "no"]
    exec(f"numpy.savez({str(path)!r}, {call[1]})", {"numpy": np, "series": series, "labels": labels})
    assert [len(each) for each in read_vectors(path).sequences] == [2, 3]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones(3), r"must be an array \(item, width\) or \(sequence, item, width\), but is of shape \(3,\)"),
        (np.ones((1, 1, 1, 1)), "but is of shape"),
        (np.array([["a"]]), "must hold numbers, but holds <U1"),
        (np.ones((2, 2), dtype=complex), "must hold numbers, but holds complex128"),
        (np.ones((2, 2), dtype=bool), "must hold numbers, but holds bool"),
        (np.array([[1, 2], [np.nan, 4]]), "the array must hold numbers .* item 1 is nan in column 0"),
        (np.array([[[1.0]], [[-np.inf]]]), "sequence 1 of the array .* item 0 is -inf"),
        (np.array([[1e39]]), r"item 0 is 1e\+39"),
    ],
)
def test_an_array_of_anything_else_is_refused(tmp_path, array, message):
    with pytest.raises(DataError, match=message):
        read_vectors(saved(tmp_path / "a.npy", array))


def test_a_pickle_is_never_opened(tmp_path):
    array = np.empty((1, 1), dtype=object)
    array[0, 0] = "anything"
    with pytest.raises(DataError, match=r"NumPy can't read it: Object arrays cannot be loaded"):
        read_vectors(saved(tmp_path / "a.npy", array))
    (tmp_path / "b.npy").write_bytes(pickle.dumps([1]))
    with pytest.raises(DataError, match="NumPy can't read it"):
        read_vectors(tmp_path / "b.npy")
    np.savez(tmp_path / "c.npz", a=array)
    with pytest.raises(DataError, match=r"NumPy can't read it: Object arrays .* Save a file of series by numpy.savez"):
        read_vectors(tmp_path / "c.npz")


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_broken_files_are_refused(tmp_path, name):
    whole = io.BytesIO()
    (np.save if name == "a.npy" else lambda file, array: np.savez(file, a=array))(whole, np.ones((20, 30)))
    for content in (b"", b"hello", whole.getvalue()[:100], whole.getvalue()[:-50], b"PK\x03\x04" + b"\0" * 50):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=r"a\.np.: "):
            read_vectors(tmp_path / name)


def test_a_file_under_another_name_is_said(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.ones((1, 1)))
    (tmp_path / "a.npz").rename(tmp_path / "a.npy")
    with pytest.raises(DataError, match=r"a \.npz under another name"):
        read_vectors(tmp_path / "a.npy")
    saved(tmp_path / "b.npy", np.ones((1, 1))).rename(tmp_path / "b.npz")
    with pytest.raises(DataError, match=r"a \.npy under another name"):
        read_vectors(tmp_path / "b.npz")


def test_named_arrays_that_do_not_go_together(tmp_path):
    for arrays, message in [
        ({"a": np.ones((2, 3)), "b": np.ones((2, 5))}, r"a: \(2, 3\), b: \(2, 5\)"),
        ({"a": np.ones(3)}, r"of the shape \(item, width\), .* a: \(3,\)\. Save a file of series by numpy.savez\("),
        ({"X": np.ones((4, 3)), "y": np.ones(4)}, r"X: \(4, 3\), y: \(4,\)\. Save a file of series by numpy.savez\("),
        ({"a": np.ones((2, 3)), "labels": np.array(["x", "y"])}, "`labels` must be 1 words or numbers"),
        ({"a": np.ones((2, 3)), "labels": np.array([np.nan])}, "`labels` must be finite"),
    ]:
        np.savez(tmp_path / "a.npz", **arrays)
        with pytest.raises(DataError, match=message):
            read_vectors(tmp_path / "a.npz")


def test_a_table_is_rows_of_numbers(tmp_path):
    read = read_vectors(written(tmp_path, "x,y\n1,2\n\n-3e0,.5\n"))
    assert read.names == ("vectors",)
    assert read.labels is read.item_labels is None
    assert read.sequences[0].tolist() == [[1, 2], [-3, 0.5]]


def test_a_table_of_several_sequences_with_labels(tmp_path):
    text = "item_label\tx\tsequence\tlabel\nnoun\t1\tb\tyes\nverb\t2\ta\tno\nnoun\t3\tb\tyes\n"
    read = read_vectors(written(tmp_path, text, "v.tsv"))
    assert read.names == ("b", "a")
    assert read.labels == ("yes", "no")
    assert read.item_labels == (("noun", "noun"), ("verb",))
    assert [sequence.tolist() for sequence in read.sequences] == [[[1], [3]], [[2]]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n1,2\n3,\n", "line 3: the column 'y' must be a number that float32 can hold, but is ''"),
        ("x\n1\n\nnan\n", "line 4: the column 'x' must be a number .* is 'nan'"),
        ("x\n1e39\n", "line 2: .* is '1e39'"),
        ("x,sequence\n1,a\n2,\n", "line 3: the column 'sequence' is empty"),
        ("x,sequence,label\n1,a,p\n1,b,q\n1,a,q\n", "line 4: the sequence 'a' has the label 'p', but here 'q'"),
        ("sequence,label\na,b\n", "line 1: it has no column of numbers"),
        ("x,y\n", "it holds no vector"),
        ("", "it is empty"),
    ],
)
def test_a_broken_table_names_its_line(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_vectors(written(tmp_path, text))


def test_paths_are_checked(tmp_path):
    with pytest.raises(ArgumentError, match=r"must end in one of .npy, .npz, .csv, .tsv, .ts, but is 'a.txt'"):
        read_vectors("a.txt")
    for ending in VECTOR_FILES:
        with pytest.raises(DataError, match="there is no such file"):
            read_vectors(tmp_path / f"none{ending}")
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(DataError, match="it is a folder"):
        read_vectors(tmp_path / "folder.npy")


def test_sequences_go_together():
    one = torch.ones(2, 3)
    assert VectorSequences((), ()).width == 0
    for arguments, message in [
        (((one, torch.ones(2, 5)), ("a", "b")), r"of one width, but the shapes are \[\(2, 3\), \(2, 5\)\]"),
        (((one,), ()), "`names` must be 1"),
        (((one,), ("a",), ("x", "y")), "`labels` must be 1"),
        (((one,), ("a",), None, (("x",),)), "a label for each of 2 items, but has 1"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            VectorSequences(*arguments)


def test_a_table_without_names_loses_no_vector(tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("0.5,1\n2,3\n", encoding="utf-8")
    assert read_vectors(path).sequences[0].tolist() == [[0.5, 1.0], [2.0, 3.0]]
    # As pandas writes columns without names.
    path.write_text("0,1\n2,3\n", encoding="utf-8")
    assert read_vectors(path).sequences[0].tolist() == [[2.0, 3.0]]
    path.write_text("x,1\n2,3\n", encoding="utf-8")
    assert read_vectors(path).sequences[0].tolist() == [[2.0, 3.0]]
