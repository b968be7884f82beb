"""Tables that name sounds and pictures, wherever these lie; and files that can't be opened."""

import wave

import pytest

from regard.datasets import check, find_source, read
from regard.errors import DataError

M4A = b"\0\0\0\x18ftypM4A \0\0\0\0"


def sound(path, level=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(level.to_bytes(2, "little") * 800)
    return path


def table(folder, *rows, name="labels.csv", header="path,label"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join([header, *rows]) + "\n", "utf-8")
    return folder / name


def test_a_flat_folder_is_read_by_its_table(tmp_path):
    table(tmp_path, "1.wav,yes", "2.wav,no")
    for level in (1, 2):
        sound(tmp_path / f"{level}.wav", level)
    source = find_source(tmp_path)
    assert (source.has_columns, source.splits) == (True, ())
    assert [(example.source, example.target) for example in read(tmp_path)] == [
        (tmp_path / "1.wav", "yes"),
        (tmp_path / "2.wav", "no"),
    ]
    assert check(tmp_path).problems == ()
    (split,) = check(tmp_path).splits
    assert (split.split, split.sentences) == ("all", 2)


@pytest.mark.parametrize("place", ["clips/1.wav", "../1.wav", "1.wav"])
@pytest.mark.parametrize("named", ["1.wav", "1"])
def test_files_are_found_beside_the_table(tmp_path, place, named):
    folder = tmp_path / "data"
    path = table(folder, f"{named},yes", name="train.csv")
    sound(folder / place)
    (example,) = read(path)
    assert example.source.resolve() == (folder / place).resolve()
    assert read(folder, "train")[0].source.samefile(folder / place)


def test_a_file_that_is_found_twice_or_nowhere_is_named(tmp_path):
    path = table(tmp_path, "1.wav,yes")
    for folder in ("a", "b"):
        sound(tmp_path / folder / "1.wav")
    with pytest.raises(DataError, match=r"line 2: 1.wav may be .*a/1.wav or .*b/1.wav. Name the file by its path from"):
        read(path)
    with pytest.raises(DataError, match=r"line 2: there is no file .*none.wav."):
        read(table(tmp_path, "none.wav,yes"))
    # A folder that is named is no file.
    with pytest.raises(DataError, match="line 2: there is no file"):
        read(table(tmp_path, "a,yes"))


@pytest.mark.parametrize("cell", ["1.wav", "1"])
def test_the_column_of_files_is_told(tmp_path, cell):
    path = table(tmp_path, f"{cell},yes", header="file_name,label")
    sound(tmp_path / "1.wav")
    with pytest.raises(
        DataError, match=r"The column file_name names files: --column path=file_name; from Python: colum"
    ):
        read(path)
    assert len(read(tmp_path, columns={"path": "file_name"})) == 1


def test_sounds_without_labels_are_told(tmp_path):
    sound(tmp_path / "1.wav")
    with pytest.raises(
        DataError, match=r"it has sounds or pictures, but nothing that labels them. Move each into a folder"
    ):
        read(tmp_path)
    # Of two tables none can be chosen, and without files there is nothing to name.
    table(tmp_path, name="a.csv")
    table(tmp_path, name="b.csv")
    with pytest.raises(DataError, match=r"it has no file named like train.csv"):
        read(tmp_path)
    table(tmp_path / "texts", "a,b", header="text,label")
    with pytest.raises(DataError, match=r"it has no file named like train.csv"):
        read(tmp_path / "texts")


def test_each_file_is_opened(tmp_path):
    for level, place in enumerate(["yes/1.wav", "yes/2.wav", "no/3.wav"]):
        sound(tmp_path / place, level)
    assert check(tmp_path).problems == ()
    (tmp_path / "yes" / "4.mp3").write_bytes(M4A)
    (tmp_path / "no" / "5.wav").write_bytes(sound(tmp_path / "no/3.wav", 3).read_bytes()[:500])
    report = check(tmp_path)
    assert [problem.removeprefix(f"{tmp_path}/") for problem in report.problems] == [
        "no/5.wav: it breaks off before its end. Copy or convert it again from its source.",
        "yes/4.mp3: its name ends in .mp3, but it holds MPEG-4 (M4A or MP4), which can't be read as a sound. "
        "Convert it to WAV or FLAC.",
    ]
    # What is left is what can be trained on.
    assert report.splits[0].labels == {"yes": 2, "no": 1}


def test_without_the_library_the_files_are_not_opened(tmp_path, monkeypatch):
    sound(tmp_path / "yes" / "1.wav")
    monkeypatch.setitem(__import__("sys").modules, "soundfile", None)
    report = check(tmp_path)
    assert report.splits[0].sentences == 1
    (problem,) = report.problems
    assert problem.startswith("its files weren't opened: `soundfile` is not installed.")
