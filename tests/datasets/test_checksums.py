"""Files, what is packed in them, and folders: there, and the right ones."""

import gzip
import hashlib

import pytest

from regard.datasets import DatasetFile
from regard.datasets.fetching import is_complete, sha256_of

CONTENT = b"saw" * 1009
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def test_a_file(tmp_path):
    file, path = DatasetFile("https://example.org/a", SHA256, len(CONTENT)), tmp_path / "a"
    assert not is_complete(path, file)
    path.write_bytes(CONTENT)
    assert is_complete(path, file)
    assert sha256_of(path, file) == SHA256
    path.write_bytes(CONTENT + b"x")
    assert not is_complete(path, file)


@pytest.mark.parametrize("level", [1, 9])
def test_what_is_packed_counts_and_not_how(tmp_path, level):
    file, path = DatasetFile(None, SHA256, len(CONTENT), path="a.gz", unpacked=True), tmp_path / "a.gz"
    path.write_bytes(gzip.compress(CONTENT, level))
    assert is_complete(path, file)
    assert sha256_of(path, file) == SHA256
    path.write_bytes(gzip.compress(CONTENT + b"x"))
    assert sha256_of(path, file) != SHA256
    path.write_bytes(gzip.compress(CONTENT)[:-9])
    assert sha256_of(path, file) == ""


def test_a_folder_is_its_names_and_its_files(tmp_path):
    members = {"b.wav": b"two", "a.wav": b"one"}
    lines = "".join(f"{hashlib.sha256(members[name]).hexdigest()}  {name}\n" for name in sorted(members))
    file = DatasetFile(None, hashlib.sha256(lines.encode()).hexdigest(), 6, path="sounds", count=2)
    folder = tmp_path / "sounds"
    assert not is_complete(folder, file)
    folder.mkdir()
    for name, content in members.items():
        (folder / name).write_bytes(content)
    (folder / ".DS_Store").touch()
    assert is_complete(folder, file)
    assert sha256_of(folder, file) == file.sha256
    (folder / "b.wav").rename(folder / "c.wav")
    assert is_complete(folder, file)
    assert sha256_of(folder, file) != file.sha256
    (folder / "d.wav").touch()
    assert not is_complete(folder, file)
