"""Several processes train as one does: the same updates, the same quality; resumed alike; ended together."""

import dataclasses
import itertools
import json
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
import test_classifier
import test_seq2seq_model as seq2seq
import test_sources
import test_synthesis
import torch
from toys import BY_HEART, SAWS, generated, tiny

from regard.errors import ArgumentError, RegardError
from regard.modules.networks import NETWORKS
from regard.modules.pooling import POOLINGS
from regard.tasks import Classifier, Seq2SeqModel, Tagger, train
from regard.tasks.registry import TASKS
from regard.tasks.training.loop import Loop
from regard.tasks.training.processes import with_workers

HERE = Path(__file__).parent
several = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="each process wants a processor")
TOY = list(zip(test_classifier.TEXTS, test_classifier.LABELS, strict=True))
# Nothing is dropped. Batches differ in size, halves of one in their items, and some hold a single source.
LEARNED = {
    "tagger": (tiny(**BY_HEART | {"epochs": 4, "batch_items": 31}, average=0.9), generated(37), Tagger),
    "classifier": (dataclasses.replace(test_classifier.RECIPE, patience=5, batch_items=7), TOY, Classifier),
    "writer": (
        dataclasses.replace(seq2seq.RECIPE, epochs=6, batch_items=12),
        seq2seq.PAIRS,
        Seq2SeqModel,
    ),
}


def fit(recipe, pairs, dev=None, **options):
    return train(pairs, pairs if dev is None else dev, recipe=recipe, **{"progress": "none", "device": "cpu"} | options)


def same_bits(first: Path, second: Path) -> None:
    for name in ("model/model.safetensors", "checkpoints/last/state.safetensors", "checkpoints/best/state.safetensors"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def rows(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


@several
@pytest.mark.parametrize(
    "kind",
    ["tagger", pytest.param("classifier", marks=pytest.mark.slow), pytest.param("writer", marks=pytest.mark.slow)],
)
def test_two_processes_make_the_updates_of_one_and_leave_no_trace(tmp_path, capfd, kind):
    recipe, pairs, made = LEARNED[kind]
    one = fit(recipe, pairs, out=tmp_path / "one")
    before = dict(os.environ), signal.getsignal(signal.SIGTERM), sys.excepthook, list(warnings.filters)
    two = fit(recipe, pairs, out=tmp_path / "two", devices=2)
    assert (dict(os.environ), signal.getsignal(signal.SIGTERM), sys.excepthook, list(warnings.filters)) == before
    assert not torch.distributed.is_initialized()
    assert capfd.readouterr() == ("", "")
    assert isinstance(two, made)
    assert two.about["training"]["devices"] == 2
    assert files(tmp_path / "one") == files(tmp_path / "two")
    for first, second in zip(rows(tmp_path / "one"), rows(tmp_path / "two"), strict=True):
        assert second["loss"] == pytest.approx(first["loss"], rel=1e-3)
        assert second["score"] == pytest.approx(first["score"], abs=0.01)
    for (name, alone), together in zip(
        one.network.state_dict().items(), two.network.state_dict().values(), strict=True
    ):
        # The softmax doesn't see a key's bias: its gradient is nothing but rounding, which AdamW makes as large as any.
        if not name.endswith("key.bias"):
            torch.testing.assert_close(together, alone, rtol=0.02, atol=0.02, msg=name)


@several
@pytest.mark.slow
def test_a_resumed_run_has_as_many_processes_as_it_began_with_and_the_same_bits(tmp_path):
    recipe = tiny(epochs=4, average=0.9)
    fit(recipe, SAWS, out=tmp_path / "whole", devices=2)
    start = Loop.train_epoch

    def stop(self, epoch):
        if epoch == 2:
            raise RuntimeError("stopped")
        return start(self, epoch)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Loop, "train_epoch", stop)
        with pytest.raises(RuntimeError, match="stopped"):
            fit(recipe, SAWS, out=tmp_path / "run", devices=2)
    torch.manual_seed(3)
    resumed = fit(recipe, SAWS, out=tmp_path / "run", resume=True)
    assert resumed.about["training"]["devices"] == 2
    same_bits(tmp_path / "whole", tmp_path / "run")
    assert [row["epoch"] for row in rows(tmp_path / "run")] == [1, 2, 3, 4]


@several
@pytest.mark.slow
def test_killed_runs_resume_to_the_same_bits(tmp_path):
    runs = ["whole", "0", "0", "0", "killed", "1", "3", "2"]
    ended = subprocess.run(
        [sys.executable, HERE / "killed_run.py", "2", "60", "6", *runs],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert ended.returncode == 0, ended.stderr
    assert "resumed=0" not in ended.stdout.splitlines()[1]
    same_bits(tmp_path / "whole", tmp_path / "killed")
    assert len(rows(tmp_path / "killed")) == 6


@several
@pytest.mark.slow
@pytest.mark.parametrize(("number", "last"), [(signal.SIGINT, ["KeyboardInterrupt"]), (signal.SIGTERM, [])])
def test_a_script_runs_once_and_a_signal_ends_all(tmp_path, number, last):
    """The script has no guard, and its whole group is told, as by a terminal."""
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        "from toys import SAWS, tiny\n"
        "from regard import train\n"
        "print('once', flush=True)\n"
        "recipe = tiny(epochs=9999, patience=9999)\n"
        "train(SAWS, SAWS, recipe=recipe, devices=2, device='cpu', progress='none', out='run')\n"
    )
    process = subprocess.Popen(
        [sys.executable, script],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 100
    while not (tmp_path / "run" / "log.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, number)
    # That the pipes are at their end says that nobody is left who could write to them.
    said, told = process.communicate(timeout=60)
    assert said == "once\n"
    assert process.returncode > 0
    assert told.splitlines()[-1:] == last


@several
@pytest.mark.slow
def test_a_killed_helper_ends_all_in_one_sentence(tmp_path, monkeypatch):
    real, begun, judged = subprocess.Popen, [], Loop.evaluate

    def popen(*given, **options):
        begun.append(real(*given, **options))
        return begun[-1]

    def kill(self):
        begun[0].kill()
        return judged(self)

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(Loop, "evaluate", kill)
    with pytest.raises(RegardError, match=r"Process 2 of 2 was ended by signal 9, so training stopped. If memory is"):
        fit(tiny(), SAWS, devices=2, out=tmp_path / "run")
    assert not torch.distributed.is_initialized()


class Poison:
    """What can be handed over, and not be taken."""

    def __init__(self, does, *what):
        self.does, self.what = does, what

    def __reduce__(self):
        return self.does, self.what


@several
@pytest.mark.parametrize(
    ("poison", "message"),
    [
        (Poison(os._exit, 3), "Process 2 of 2 was ended with exit code 3, so training stopped"),
        (Poison(int, "three"), "Process 2 of 2 failed, so training stopped: ValueError: invalid literal for int"),
    ],
)
def test_a_helper_that_fails_is_heard_before_training(poison, message):
    with pytest.raises(RegardError, match=message), with_workers(2, print, poison) as process:
        process.join()


def test_what_can_not_be_handed_over_is_refused():
    message = "`devices` must be 1 if something can't be pickled for another process, but is 2"
    with pytest.raises(ArgumentError, match=message), with_workers(2, print, lambda: None):
        raise AssertionError("it was handed over")


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        (0, "`devices` must be a whole number, 1 or more, but is 0"),
        (1.5, "`devices` must be a whole number, 1 or more, but is 1.5"),
        (True, "`devices` must be a whole number, 1 or more, but is True"),
        (10**6, "`devices` must be at most the number of this machine's processors, .*, but is 1000000"),
    ],
)
def test_a_number_of_processes_that_can_not_be(devices, message, tmp_path):
    with pytest.raises(ArgumentError, match=message):
        fit(tiny(), SAWS, devices=devices, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_several_are_refused_on_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(ArgumentError, match=r"`devices` must be 1 on a GPU, but is 2\. Use device='cpu' for several"):
        fit(tiny(), SAWS, devices=2, device="gpu")


NETS = {
    f"{network} {pooling}": (
        dataclasses.replace(test_classifier.RECIPE, network=network, task={"kind": "classifier", "pooling": pooling}),
        TOY,
    )
    for network, pooling in itertools.product(NETWORKS, POOLINGS)
}
SOURCES = {
    kind: (
        dataclasses.replace(test_classifier.RECIPE, input=source),
        list(zip(sources, test_sources.TARGETS, strict=True)),
    )
    for kind, (source, sources, _) in test_sources.CASES.items()
}
WRITERS = {name: (seq2seq.with_task(architecture=name), seq2seq.PAIRS) for name in seq2seq.ARCHITECTURES}


OTHERS = {
    "spelling": (seq2seq.with_task(monotonic=0.5), seq2seq.PAIRS),
    "speaker": (test_synthesis.RECIPE, test_synthesis.PAIRS),
}


@pytest.mark.parametrize("name", [*NETS, *SOURCES, *WRITERS, *OTHERS])
def test_whatever_learns_can_be_shared(name):
    """It can be handed over, and all of it learns from every batch, as Fabric's strategy wants it."""
    if name in ("speech", "molecules", "speaker"):
        pytest.importorskip("rdkit" if name == "molecules" else "librosa")
    recipe, pairs = {**NETS, **SOURCES, **WRITERS, **OTHERS}[name]
    objective = pickle.loads(pickle.dumps(TASKS[recipe.task.kind].data(recipe, pairs, pairs, None).objective()))
    for batch in objective.batches(0):
        objective.zero_grad()
        objective.loss(batch).total.backward()
        learning = [(name, each) for name, each in objective.named_parameters() if each.requires_grad]
        assert [name for name, each in learning if each.grad is None] == []


@pytest.mark.parametrize("name", ["transformer", "spelling", "speaker"])
def test_the_terms_of_a_shared_batch_make_its_loss(name):
    """Each is a mean over items of its own: pieces and texts, frames and steps."""
    if name == "speaker":
        pytest.importorskip("librosa")
    recipe, pairs = {**WRITERS, **OTHERS}[name]
    objective = TASKS[recipe.task.kind].data(recipe, pairs, pairs, None).objective().eval()
    every = list(range(len(objective.dataset.lengths)))
    whole = objective.loss(objective.dataset.batch(every))
    parts = [objective.loss(objective.dataset.batch(share)) for share in (every[:1], every[1:])]
    for term, *shares in zip(whole.terms, *(part.terms for part in parts), strict=True):
        assert term.items == sum(share.items for share in shares)
        together = sum(share.mean * share.items for share in shares) / term.items
        torch.testing.assert_close(together, term.mean)
