"""What training sets for itself, and leaves as it was: threads, random generators, how matrices are multiplied."""

import json
from contextlib import contextmanager

import pytest
import torch
from toys import SAWS, tiny

from regard.cli.main import main
from regard.cli.train import Precision
from regard.errors import ArgumentError
from regard.tasks import train
from regard.tasks.training import loop
from regard.tasks.training import train as training
from regard.tasks.training.compute import MATMUL
from regard.tasks.training.loop import Loop
from regard.tasks.training.rank import ProcessRank


def said():
    """By PyTorch's older and newer ways: how matrices are multiplied."""
    backends = torch.backends.cuda.matmul.fp32_precision, torch.backends.mkldnn.matmul.fp32_precision
    return torch.get_float32_matmul_precision(), backends


@pytest.fixture
def precisions(monkeypatch):
    """By which precision the matrices of each epoch are multiplied; and in the end all is as it was."""
    seen, before = [], said()
    start = Loop.train_epoch

    def note(self, epoch):
        seen.append(torch.get_float32_matmul_precision())
        return start(self, epoch)

    monkeypatch.setattr(Loop, "train_epoch", note)
    yield seen
    assert said() == before


def fitted(**options):
    return train(SAWS, SAWS, recipe=tiny(epochs=2, patience=2), **{"progress": "none", "device": "cpu"} | options)


def test_matrices_are_multiplied_as_asked(precisions, tmp_path):
    assert fitted(matmul="medium", out=tmp_path).about["training"]["matmul"] == "medium"
    assert "- precision of float32 products: medium\n" in (tmp_path / "model" / "README.md").read_text()
    assert precisions == ["medium"] * 2


def test_unasked_they_are_multiplied_as_pytorch_is_set(precisions, tmp_path):
    before = said()[1]
    torch.set_float32_matmul_precision("high")
    try:
        assert fitted(out=tmp_path).about["training"]["matmul"] is None
        assert "float32 products" not in (tmp_path / "model" / "README.md").read_text()
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")
        torch.backends.cuda.matmul.fp32_precision, torch.backends.mkldnn.matmul.fp32_precision = before
    assert precisions == ["high"] * 2


def test_a_pytorch_that_is_set_in_its_newer_way_stays_so():
    before = torch.backends.mkldnn.matmul.fp32_precision
    torch.backends.mkldnn.matmul.fp32_precision = "bf16"
    try:
        with pytest.raises(ArgumentError, match=r"`matmul` must be None if `torch\.backends` sets the precision"):
            fitted(matmul="high")
        fitted()
        assert torch.backends.mkldnn.matmul.fp32_precision == "bf16"
    finally:
        torch.backends.mkldnn.matmul.fp32_precision = before


def test_a_resumed_run_multiplies_as_it_began(precisions, tmp_path, monkeypatch):
    note = Loop.train_epoch

    def stop(self, epoch):
        if epoch == 1:
            raise RuntimeError("stopped")
        return note(self, epoch)

    with monkeypatch.context() as patched:
        patched.setattr(Loop, "train_epoch", stop)
        with pytest.raises(RuntimeError, match="stopped"):
            fitted(matmul="medium", out=tmp_path / "run")
    begun = tmp_path / "run" / "run.json"
    held = json.loads(begun.read_text())
    begun.write_text(json.dumps({**held, "matmul": "meduim"}))
    with pytest.raises(ArgumentError, match="`matmul` must be one of highest, high, medium, but is 'meduim'"):
        fitted(out=tmp_path / "run", resume=True)
    begun.write_text(json.dumps(held))
    assert fitted(out=tmp_path / "run", resume=True).about["training"]["matmul"] == "medium"
    assert precisions == ["medium"] * 2


def test_a_helper_multiplies_as_the_first(monkeypatch):
    seen, handed = [], []

    @contextmanager
    def with_workers(devices, work, *arguments):
        handed.append((work, arguments))
        yield ProcessRank()

    monkeypatch.setattr(training, "with_workers", with_workers)
    fitted(matmul="medium")
    ((work, arguments),) = handed
    before = said()
    monkeypatch.setattr(loop, "fit", lambda *_: seen.append(torch.get_float32_matmul_precision()))
    work(ProcessRank(), *arguments)
    assert (seen, said()) == (["medium"], before)


def test_the_command_says_how(monkeypatch, tmp_path, precisions):
    assert [*Precision] == [*MATMUL]
    rows = "text,label\na warm film,good\na cold film,bad\n"
    for split in ("train", "dev"):
        (tmp_path / f"{split}.csv").write_text(rows)
    (tmp_path / "small.json").write_text('{"task": {"kind": "classifier"}, "width": 8, "heads": 2, "epochs": 1}')
    monkeypatch.chdir(tmp_path)
    words = ["train", "classifier", "--data", ".", "--recipe", "small.json", "--progress", "none", "--device", "cpu"]
    assert main([*words, "--out", "quick", "--matmul", "medium"]) == 0
    assert main([*words, "--out", "usual"]) == 0
    assert precisions == ["medium", "highest"]


def test_a_precision_that_is_none():
    with pytest.raises(ArgumentError, match=r"`matmul` must be one of highest, high, medium, but is .meduim.\."):
        fitted(matmul="meduim")
