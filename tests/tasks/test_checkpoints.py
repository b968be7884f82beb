import contextlib
import errno
import json
import os
from pathlib import Path

import pytest
import torch

from regard.errors import ModelError
from regard.tasks.saving import folders
from regard.tasks.saving.folders import clean_up, find_folder, recover, write_folder
from regard.tasks.training.checkpoints import read_state, write_state

STATE = {
    "epoch": 3,
    "rate": 0.1 + 0.2,
    "none": None,
    "yes": True,
    "list": [1, (2, "three"), []],
    "optimizer": {"state": {0: {"step": torch.tensor(7.0), "avg": torch.randn(3, 5)}, 1: {}}, "betas": (0.9, 0.98)},
    "ids": torch.arange(5),
    "flag": torch.tensor([True, False]),
    "$odd": {"$tensor": "not one"},
}


def same(first, second) -> bool:
    if isinstance(first, torch.Tensor):
        return isinstance(second, torch.Tensor) and first.dtype == second.dtype and torch.equal(first, second)
    if isinstance(first, dict):
        return list(first) == list(second) and all(same(first[name], second[name]) for name in first)
    if isinstance(first, list | tuple):
        return type(first) is type(second) and len(first) == len(second) and all(map(same, first, second))
    return type(first) is type(second) and first == second


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_state_comes_back_to_the_bit_and_type(tmp_path):
    write_state(tmp_path / "last", STATE)
    assert same(read_state(tmp_path / "last"), STATE)


def test_the_folder_holds_safetensors_and_json_only(tmp_path):
    write_state(tmp_path / "last", STATE)
    assert {path.name for path in tmp_path.rglob("*")} == {"last", "state.json", "state.safetensors"}
    json.loads((tmp_path / "last" / "state.json").read_text())


def test_what_would_need_a_pickle_is_refused(tmp_path):
    with pytest.raises(TypeError, match="can't hold 'a/b', a object"):
        write_state(tmp_path / "last", {"a": {"b": object()}})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "state.json").unlink(), "state.json is missing"),
        (lambda folder: (folder / "state.safetensors").unlink(), "state.safetensors is missing"),
        (lambda folder: (folder / "state.json").write_bytes(b"{"), "can't be read"),
        (lambda folder: (folder / "state.json").write_bytes(b"[]"), "must have format 1, but has None"),
        (lambda folder: (folder / "state.json").write_bytes(b'{"format": 2}'), "must have format 1, but has 2"),
        (lambda folder: os.truncate(folder / "state.safetensors", 100), "is damaged"),
    ],
)
def test_a_damaged_checkpoint_is_never_loaded(tmp_path, damage, message):
    write_state(tmp_path / "last", STATE)
    damage(tmp_path / "last")
    with pytest.raises(ModelError, match=message):
        read_state(tmp_path / "last")


def test_no_checkpoint(tmp_path):
    with pytest.raises(ModelError, match="There is no checkpoint in"):
        read_state(tmp_path / "last")


@pytest.mark.parametrize("call", ["fsync", "rename"])
@pytest.mark.parametrize("fails_at", [0, 1, 2, 3])
def test_a_full_disk_leaves_the_old_folder(tmp_path, monkeypatch, call, fails_at):
    write_folder(tmp_path / "a", {"one": b"1", "two": b"2"})
    before = everything(tmp_path)
    real, calls = getattr(os, call), []

    def full(*arguments):
        calls.append(arguments)
        if len(calls) == fails_at + 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments)

    monkeypatch.setattr(folders.os, call, full)
    try:
        write_folder(tmp_path / "a", {"one": b"new", "two": b"new"})
    except OSError:
        assert everything(tmp_path) == before
    else:
        # Only calls after the new folder stands may fail without an error.
        assert everything(tmp_path) == {"a/one": b"new", "a/two": b"new"}


@pytest.mark.parametrize("stop", range(6))
def test_a_kill_between_any_two_steps_leaves_a_whole_folder(tmp_path, monkeypatch, stop):
    """A kill runs no clean-up: here every step after the fatal one does nothing at all."""
    write_folder(tmp_path / "a", {"one": b"old", "two": b"old"})
    steps = 0

    class Killed(BaseException):
        pass

    def counted(real):
        def step(*arguments, **options):
            nonlocal steps
            steps += 1
            if steps > stop:
                raise Killed
            return real(*arguments, **options)

        return step

    with monkeypatch.context() as patched:
        patched.setattr(folders.os, "rename", counted(os.rename))
        patched.setattr(folders.os, "fsync", counted(os.fsync))
        patched.setattr(folders.shutil, "rmtree", counted(folders.shutil.rmtree))
        with contextlib.suppress(Killed):
            write_folder(tmp_path / "a", {"one": b"new", "two": b"new"})
    recover(tmp_path / "a", ("one", "two"))
    held = {name: (tmp_path / "a" / name).read_bytes() for name in ("one", "two")}
    assert set(held.values()) in ({b"old"}, {b"new"})
    clean_up(tmp_path / "a", ("one", "two"))
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write_folder(tmp_path / "link", {"one": b"1"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "one").read_bytes() == b"1"


def test_a_folder_of_the_users_that_only_has_the_name_is_left_alone(tmp_path):
    for name in (".a.old", ".a.xyz.part"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis").write_text("mine")
    recover(tmp_path / "a", ["one"])
    assert find_folder(tmp_path / "a", ["one"]) == tmp_path / "a"
    write_folder(tmp_path / "a", {"one": b"1"})
    clean_up(tmp_path / "a", ["one"])
    with pytest.raises(FileExistsError, match="is in the way"):
        write_folder(tmp_path / "a", {"one": b"2"})
    assert (tmp_path / "a" / "one").read_bytes() == b"1"
    assert {path.name for path in tmp_path.iterdir()} == {"a", ".a.old", ".a.xyz.part"}
    assert (tmp_path / ".a.old" / "thesis").read_text() == "mine"


def test_reading_finds_what_a_kill_left_aside_and_moves_nothing(tmp_path):
    write_state(tmp_path / ".last.old", {"epoch": 3})
    assert read_state(tmp_path / "last") == {"epoch": 3}
    assert [path.name for path in tmp_path.iterdir()] == [".last.old"]


@pytest.mark.parametrize("state", ["gone", {"a": {"$tensor": "none"}}, {"$pairs": [[1]]}])
def test_json_that_does_not_fit_its_tensors(tmp_path, state):
    write_state(tmp_path / "last", {"a": torch.ones(2)})
    path = tmp_path / "last" / "state.json"
    header = json.loads(path.read_text()) | {"state": state}
    path.write_text(json.dumps({name: value for name, value in header.items() if value != "gone"}))
    with pytest.raises(ModelError, match="is damaged: its two files don't belong together"):
        read_state(tmp_path / "last")
