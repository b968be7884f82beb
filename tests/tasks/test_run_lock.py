"""One process at a time trains in a folder."""

import json
import os
import socket

import pytest
from toys import SAWS, tiny

from regard.errors import ArgumentError
from regard.tasks import train
from regard.tasks.training import lock
from regard.tasks.training.lock import LOCK, locked
from regard.tasks.training.loop import Loop


def fit(out, **options):
    return train(SAWS, SAWS, recipe=tiny(epochs=2), out=out, device="cpu", **{"progress": "none", **options})


def test_a_folder_in_which_somebody_trains_is_refused_and_who_it_is_is_told(tmp_path, monkeypatch):
    start, refused = Loop.train_epoch, []

    def second(self, epoch):
        for options in ({"resume": True}, {}):
            with pytest.raises(ArgumentError) as caught:
                fit(tmp_path / "run", **options)
            refused.append(str(caught.value))
        return start(self, epoch)

    with monkeypatch.context() as patched:
        patched.setattr(Loop, "train_epoch", second)
        fit(tmp_path / "run")
    who = f"process {os.getpid()} on {socket.gethostname()} (since 20"
    assert f"`out` must be a folder in which nobody else trains, but {who}" in refused[0]
    assert "Wait until it has ended, or name another." in refused[0]
    assert "`out` must be a new or empty folder" in refused[1]
    assert not (tmp_path / "run" / LOCK).exists()


def test_two_that_begin_at_once_do_not_share_a_new_folder(tmp_path):
    with locked(tmp_path / "run"), pytest.raises(ArgumentError, match="nobody else trains"):
        fit(tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_the_lock_of_a_killed_process_is_told_and_holds_nobody_up(tmp_path, capfd):
    (tmp_path / "run").mkdir()
    held = {"process": 12345, "host": "elsewhere", "since": "2026-01-02 03:04:05+00:00"}
    (tmp_path / "run" / LOCK).write_text(json.dumps(held))
    fit(tmp_path / "run", progress="lines")
    said = capfd.readouterr().err
    assert "Note: process 12345 on elsewhere (since 2026-01-02 03:04:05+00:00) trained here before" in said
    assert not (tmp_path / "run" / LOCK).exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"[" * 10_000, b"{}", b"\xff"])
def test_a_lock_that_says_nothing_is_somebodys(tmp_path, content):
    with locked(tmp_path):
        (tmp_path / LOCK).write_bytes(content)
        with pytest.raises(ArgumentError, match="nobody else trains, but another process does"), locked(tmp_path):
            pass


def test_a_lock_file_that_is_removed_while_one_waits_locks_nobody_out(tmp_path, monkeypatch):
    real, removed = os.open, []

    def opened(path, *given):
        handle = real(path, *given)
        if str(path).endswith(LOCK) and not removed:
            removed.append(path)
            os.unlink(path)
        return handle

    monkeypatch.setattr(lock.os, "open", opened)
    with locked(tmp_path):
        assert (tmp_path / LOCK).exists()
        with pytest.raises(ArgumentError, match="nobody else trains"), locked(tmp_path):
            pass


def test_where_nothing_can_be_locked_training_works(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    fit(tmp_path / "run")
    assert not (tmp_path / "run" / LOCK).exists()


def test_a_folder_that_can_not_be_written_is_told_before_training(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(
        ArgumentError, match=r"`out` must be a folder that can be made and written, but .*file.* can't be"
    ):
        fit(tmp_path / "file" / "run")
    (tmp_path / "run").mkdir()

    def refuse(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(lock.os, "open", refuse)
    with pytest.raises(ArgumentError, match=r"`out` must be .* written, but .*run.lock can't be: Permission denied"):
        fit(tmp_path / "run")
    with pytest.raises(ArgumentError, match="zero byte"):
        fit("a\0b")
