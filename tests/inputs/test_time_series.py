"""The .ts format: what the header promises holds, line by line."""

import pytest

from regard.errors import DataError
from regard.inputs.time_series import read_time_series
from regard.inputs.vector_files import read_vectors

HEADER = "@problemName toy\n@timeStamps false\n@univariate false\n@dimensions 2\n@classLabel true a b\n@data\n"


def written(folder, text):
    path = folder / "toy.ts"
    path.write_text(text, encoding="utf-8")
    return path


def test_series_of_different_lengths(tmp_path):
    read = read_time_series(written(tmp_path, f"# made up\n\n{HEADER}1, 2,3:4,5,6:a\n# a remark\n\n-1e1:.5:b\n"))
    assert [series.tolist() for series in read.sequences] == [[[1, 4], [2, 5], [3, 6]], [[-10, 0.5]]]
    assert read.labels == ("a", "b")
    assert read.names == ("0", "1")


def test_targets_are_numbers_and_labels_may_be_missing(tmp_path):
    read = read_time_series(written(tmp_path, "@TARGETLABEL True\n@DATA\n1,2:3,3:-1.5\n"))
    assert read.labels == (-1.5,)
    assert read.sequences[0].tolist() == [[1, 3], [2, 3]]
    without = read_time_series(written(tmp_path, "@univariate true\n@classLabel false\n@data\n1,2\n3,4,5\n"))
    assert without.labels is None
    assert [len(series) for series in without.sequences] == [2, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "1,2:3,4:a\n1,2:3:a\n", "line 8: dimension 2 must have 2 values, as the others, but has 1"),
        (HEADER + "1,2:a\n", "line 7: a series must have 2 dimensions and a label.* has 1 dimensions"),
        (HEADER + "1:2:3:a\n", "line 7: a series must have 2 dimensions.* has 3"),
        (HEADER + "1:2:c\n", "line 7: the label must be one of a, b, but is 'c'"),
        (HEADER + "1:2:\n", "line 7: the label must be one of a, b, but is ''"),
        (HEADER + "1,?:2,3:a\n", "line 7: a value must be a number .* is '\\?'. Missing values aren't supported"),
        (HEADER + "1,NaN:2,3:a\n", "line 7: .*Missing values"),
        (HEADER + "1,inf:2,3:a\n", "line 7: a value must be a number"),
        (HEADER + "1,,2:2,3,4:a\n", "line 7: a value must be a number .* is ''"),
        (HEADER + "1e39:2:a\n", "line 7: a value must be a number that float32 can hold"),
        (HEADER, "it holds no series"),
        ("@dimensions 2\n", "line 1: the file must have a line @data"),
        ("", "line 1: the file must have a line @data"),
        ("1,2:3\n", "line 1: data must stand behind a line @data"),
        ("@dimenson 2\n@data\n1\n", "line 1: .*Did you mean 'dimension'"),
        ("@dimensions two\n@data\n1\n", "line 1: @dimensions must be an integer above 0, but is 'two'"),
        ("@dimensions 0\n@data\n1\n", "line 1: @dimensions must be an integer"),
        ("@dimensions\n@data\n1\n", "line 1: @dimensions must have a value"),
        ("@univariate maybe\n@data\n1\n", "line 1: @univariate must be true or false"),
        ("@missing true\n@missing true\n@data\n1\n", "line 2: @missing stands twice"),
        ("@timeStamps true\n@data\n(0,1)\n", "line 2: series with time stamps aren't read"),
        ("@classLabel true\n@data\n1:a\n", "must name the classes"),
        ("@classLabel true a\n@targetLabel true\n@data\n1:a\n", "not both"),
        ("@targetLabel true\n@data\n1:a\n", "line 3: a value must be a number .* is 'a'"),
        ("@univariate true\n@data\n1,2:3,4\n", "line 3: a series must have 1 dimensions"),
        ("@data\n1:2\n1:2:3\n", "line 3: a series must have 2 dimensions"),
        ("@equalLength true\n@data\n1,2\n1\n", "line 4: dimension 1 must have 2 values"),
        ("@equalLength true\n@seriesLength 3\n@data\n1,2\n", "line 4: dimension 1 must have 3 values"),
    ],
)
def test_a_broken_file_names_its_line(tmp_path, text, message):
    with pytest.raises(DataError, match=f"toy.ts.* {message}" if "line" in message else message):
        read_time_series(written(tmp_path, text))


def test_japanese_vowels(real_data):
    folder = real_data / "japanese-vowels"
    train, test = (read_vectors(folder / f"JapaneseVowels_{split}.ts") for split in ("TRAIN", "TEST"))
    assert (len(train), len(test), train.width, test.width) == (270, 370, 12, 12)
    lengths = [len(series) for series in (*train.sequences, *test.sequences)]
    assert (min(lengths), max(lengths)) == (7, 29)
    assert [train.labels.count(str(speaker)) for speaker in range(1, 10)] == [30] * 9
    # The first numbers of the first two dimensions, as they stand in the file.
    assert train.sequences[0][0, :2].tolist() == pytest.approx([1.860936, -0.207383])
