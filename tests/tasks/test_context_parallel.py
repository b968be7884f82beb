"""Processes that share sequences train as one does: the same updates, resumed alike, ended together."""

import json
import os
import signal

import pytest
import test_seq2seq_model as seq2seq
from test_processes import files, fit, rows, same_bits
from test_torchrun import Nodes, ended, wait_for_an_epoch
from toys import BY_HEART, SAWS, generated, tiny

from regard import load
from regard.cli.main import main
from regard.errors import ArgumentError

several = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="each process wants a processor")
MANY = BY_HEART | {"epochs": 4, "batch_items": 31}
LEARNED = {
    "attention": (tiny(**MANY, network="attention", position="sinusoidal"), generated(37)),
    "convolutions": (tiny(**MANY, network="convolution_attention", average=0.9), generated(37)),
    "writer": (seq2seq.RECIPE, seq2seq.PAIRS),
}


@several
@pytest.mark.parametrize(
    "kind",
    ["convolutions", pytest.param("attention", marks=pytest.mark.slow), pytest.param("writer", marks=pytest.mark.slow)],
)
def test_two_processes_share_sequences_and_make_the_updates_of_one(tmp_path, capfd, kind):
    recipe, pairs = LEARNED[kind]
    one = fit(recipe, pairs, out=tmp_path / "one")
    two = fit(recipe, pairs, out=tmp_path / "two", context_parallel=2)
    assert capfd.readouterr() == ("", "")
    assert files(tmp_path / "one") == files(tmp_path / "two")
    first, *others = zip(rows(tmp_path / "one"), rows(tmp_path / "two"), strict=True)
    # The first epoch differs by rounding alone, and what follows by what training makes of that.
    assert first[1]["loss"] == pytest.approx(first[0]["loss"], rel=1e-4)
    for own, shared in others:
        assert shared["loss"] == pytest.approx(own["loss"], rel=2e-2)
    told = two.about["training"]
    assert (told["devices"], told["context_parallel"]) == (2, 2)
    assert "context_parallel" not in one.about["training"]
    assert "- processes that share a sequence: 2" in two.card
    # What is saved is a model like any other, in one process.
    assert load(tmp_path / "two").about["training"]["context_parallel"] == 2


@pytest.mark.parametrize(
    ("options", "changes", "message"),
    [
        ({"context_parallel": 2, "devices": 1}, {}, "`context_parallel` must divide the number of processes, 1, but"),
        ({"context_parallel": 2, "devices": 3}, {}, "`context_parallel` must divide the number of processes, 3, but"),
        ({"context_parallel": 0}, {}, "`context_parallel` must be a whole number, 1 or more, but is 0"),
        (
            {"context_parallel": 2},
            {"network": "window"},
            "`context_parallel` must be 1 for a network without",
        ),
        (
            {"context_parallel": 2},
            {"network": "attention", "approximation": "linear", "position": "none", "attention_dropout": 0.0},
            "`context_parallel` must be 1 for LinearAttention, which needs the whole sequence in one process",
        ),
    ],
)
def test_what_processes_cannot_share_is_told_before_training(tmp_path, options, changes, message):
    with pytest.raises(ArgumentError, match=message):
        fit(tiny(**changes), SAWS, out=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists() or not [*(tmp_path / "run").iterdir()]


def test_the_command_line_names_its_option(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = Nodes(tmp_path).command("run", "--devices", "3", "--context-parallel", "2")[2:]
    assert main(command) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("regard: `--context-parallel` must divide the number of processes, 3, but is 2.")
    assert "Leave `--devices` out" in said


@several
@pytest.mark.slow
@pytest.mark.parametrize("killed", [pytest.param(0, marks=pytest.mark.exhaustive), 1])
def test_two_nodes_share_sequences_and_go_on_to_the_same_bits_after_one_is_killed(tmp_path, killed, monkeypatch):
    nodes = Nodes(tmp_path)
    nodes.recipe(epochs=40, patience=40, network="attention")
    sharing = ["--context-parallel", "2"]
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)
        assert main(nodes.command("whole", *sharing)[2:]) == 0
    nodes.killed_after_an_epoch(killed, *sharing)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["context_parallel"] == 2
    # What a run began with need not be said again.
    resumed = ended(nodes.pair(nodes.command("run", "--resume"), nodes.command("run", "--resume")))
    assert [code for code, _, _ in resumed] == [0, 0], resumed
    same_bits(tmp_path / "whole", tmp_path / "run")


@several
@pytest.mark.slow
def test_a_worker_that_is_killed_is_named(tmp_path, monkeypatch, capfd):
    """On one machine, where the first process learns why another has ended."""
    monkeypatch.chdir(tmp_path)
    nodes = Nodes(tmp_path)
    nodes.recipe(epochs=4000, patience=4000, network="attention", width=16)
    process = nodes.start(*nodes.command("run", "--context-parallel", "2"))
    wait_for_an_epoch(tmp_path / "run")
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
        [worker] = [int(each) for each in children.read().split() if _is_worker(int(each))]
    os.kill(worker, signal.SIGKILL)
    [(code, out, err)] = ended([process])
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("regard: Process 2 of 2 was ended by signal 9, so training stopped.")


def _is_worker(process: int) -> bool:
    with open(f"/proc/{process}/cmdline") as command:
        return "processes import begin" in command.read()
