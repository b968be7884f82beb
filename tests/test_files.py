import errno
import os

import pytest

from regard import files
from regard.files import write_bytes


def full(*arguments, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("step", ["mkstemp", "fsync", "replace"])
def test_a_full_disk_names_the_file_that_was_asked_for(monkeypatch, tmp_path, step):
    (tmp_path / "a.bin").write_bytes(b"old")
    monkeypatch.setattr(files.tempfile if step == "mkstemp" else files.os, step, full)
    with pytest.raises(OSError, match="No space left") as raised:
        write_bytes(tmp_path / "a.bin", b"new")
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(tmp_path / "a.bin"))
    assert (tmp_path / "a.bin").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_folder_that_is_a_file_is_said_to_be_one(tmp_path):
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file" / "a.bin", tmp_path / "file" / "new" / "a.bin"):
        with pytest.raises(NotADirectoryError) as raised:
            write_bytes(path, b"new")
        assert raised.value.filename == str(path)
    assert (tmp_path / "file").read_text() == "mine"
