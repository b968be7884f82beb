"""A file that is called a sound or a picture, but is something else, is told by what it holds."""

import pytest

from regard.errors import DataError
from regard.inputs import read_picture, read_sound

FILES = [
    ("a.mp3", b"\0\0\0\x18ftypM4A \0\0\0\0", "its name ends in .mp3, but it holds MPEG-4 (M4A or MP4), which can't"),
    (
        "a",
        b"\0\0\0\x18ftypmp42\0\0\0\0",
        ": it holds MPEG-4 (M4A or MP4), which can't be read as a sound. Convert it to",
    ),
    ("a.wav", b"\xff\xf1P\x80", "but it holds AAC sound, which can't be read as a sound. Convert it to WAV or FLAC."),
    ("a.wav", b"\n<!DOCTYPE html><html>", "holds a web page (HTML), which can't be read as a sound. Get it anew from"),
    ("a.wav", b"\x89PNG\r\n\x1a\n", "but it holds a PNG picture, which can't be read as a sound."),
    ("a.wav", b"version https://git-lfs.github.com/spec/v1\n", "but it holds a pointer of Git LFS instead of the file"),
    ("a.jpg", b"\0\0\0\x18ftypheic\0\0\0\0", "its name ends in .jpg, but it holds a HEIC picture, which can't be read"),
    ("a.png", b"RIFF\0\0\0\0WAVEfmt ", "but it holds WAV sound, which can't be read as a picture. Convert it to PNG"),
    # What is of the right kind is merely broken.
    ("a.mp3", b"ID3\x04", "it can't be read as a sound ("),
    ("a.wav", b"", "it can't be read as a sound (it is empty)"),
    ("a.wav", b"nothing known", "it can't be read as a sound ("),
    ("a.png", b"nothing known", "its format is not known. Save it as PNG or JPEG."),
]


@pytest.mark.parametrize(("name", "content", "message"), FILES)
def test_it_is_told_by_its_name_and_its_content(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        (read_picture if name.endswith(("png", "jpg")) else read_sound)(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
