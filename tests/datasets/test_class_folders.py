"""folder/class/file, and whatever else stands there."""

import pytest

from regard.datasets.example import Example
from regard.datasets.formats.class_folders import read_class_folders
from regard.errors import DataError


def make(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


def test_files_are_sorted_and_labelled_by_their_folders(tmp_path):
    make(tmp_path, "b/2.WAV", "b/1.flac", "a/x.ogg", ".hidden/1.wav", "a/.DS_Store", "LICENSE", "read.me")
    assert list(read_class_folders(tmp_path)) == [
        Example(tmp_path / "a" / "x.ogg", "a"),
        Example(tmp_path / "b" / "1.flac", "b"),
        Example(tmp_path / "b" / "2.WAV", "b"),
    ]


@pytest.mark.parametrize(
    ("names", "place", "message"),
    [
        (["a/1.wav", "2.wav"], "2.wav", "it isn't in the folder of a class"),
        (["a/1.wav", "a/notes.txt"], "a/notes.txt", "it is neither a sound nor a picture"),
        (["a/1.wav", "a/b/2.wav"], "a/b", "it is a folder in a class's folder"),
        (["a/1.wav", "b/.keep"], "b", "this class has no file"),
        (["a/1.wav", "b/1.png"], "", "it holds both sounds and pictures"),
        (["a/1.wav", "b\udcff/1.wav"], "b\udcff", "the name of a class must be UTF-8"),
        (["a.txt"], "", "it has no folder with sounds or pictures in it"),
        ([], "no", "there is no such folder"),
    ],
)
def test_what_is_in_the_way_is_named(tmp_path, names, place, message):
    make(tmp_path, *names)
    with pytest.raises(DataError) as caught:
        list(read_class_folders(tmp_path / place if place == "no" else tmp_path))
    assert str(caught.value).startswith(f"{tmp_path / place}: {message}")


def test_problems_can_be_collected(tmp_path):
    problems = []
    make(tmp_path, "0.wav", "a/1.wav", "a/notes.txt")
    assert len(list(read_class_folders(tmp_path, on_error=problems.append))) == 1
    assert len(problems) == 2
    with pytest.raises(DataError, match="it is a file, not a folder"):
        list(read_class_folders(tmp_path / "0.wav"))
