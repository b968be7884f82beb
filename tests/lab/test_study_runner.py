"""Runs: in their order, once each, whatever happens."""

import dataclasses
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from lab.sample_studies import COINS, DIVERGING, FAILING, SLOW
from regard.errors import ArgumentError, DataError, DivergedError, RegardError
from regard.lab import Claim, Study, read_runs, run_study
from regard.lab.results import append_run, current_runs

TESTS = Path(__file__).parent.parent


def values(runs):
    return [(each.variant, each.seed, round(each.value("accuracy"), 6)) for each in runs]


EXPECTED = [("a", 0, 0.5), ("b", 0, 0.75), ("a", 1, 0.51), ("b", 1, 0.76), ("a", 2, 0.52), ("b", 2, 0.77)]


def test_runs_are_kept_and_not_repeated(tmp_path):
    path = tmp_path / "folder" / "coins.jsonl"
    first = run_study(COINS, path, processes=1, progress="none")
    assert values(first) == EXPECTED
    before = path.read_bytes()
    assert values(run_study(COINS, path, processes=1, progress="none")) == EXPECTED
    assert path.read_bytes() == before
    more = run_study(COINS, path, seeds=4, processes=1, progress="none")
    assert values(more) == [*EXPECTED, ("a", 3, 0.53), ("b", 3, 0.78)]
    assert len(read_runs(path)) == 8


@pytest.fixture(scope="module")
def side_by_side(tmp_path_factory):
    """A study whose example can't be sent to another process, and its runs in two."""
    study = dataclasses.replace(COINS, example=lambda setting, seed, progress: None)
    path = tmp_path_factory.mktemp("coins") / "coins.jsonl"
    return study, run_study(study, path, processes=2, progress="none")


@pytest.mark.slow
def test_runs_in_several_processes_are_those_of_one(side_by_side):
    study, runs = side_by_side
    assert values(runs) == EXPECTED
    assert all(each.seconds >= 0 and each.code == COINS.code == study.code for each in runs)


def test_an_example_need_not_be_sent_to_other_processes(side_by_side):
    study, runs = side_by_side
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(study)
    assert values(runs) == EXPECTED


def test_a_line_that_was_being_written_is_run_again(tmp_path):
    path = tmp_path / "coins.jsonl"
    run_study(COINS, path, processes=1, progress="none")
    whole = path.read_text()
    path.write_text(whole[:-20])
    assert len(read_runs(path)) == 5
    assert values(run_study(COINS, path, processes=1, progress="none")) == EXPECTED
    assert len(path.read_text().splitlines()) == 6
    assert len(read_runs(path)) == 6


@pytest.mark.parametrize("broken", ["{oops", "[" * 100_000, "[]", '{"seed": 3}'])
def test_a_broken_line_is_named(tmp_path, broken):
    path = tmp_path / "coins.jsonl"
    run_study(COINS, path, processes=1, progress="none")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], broken, *lines[1:]]) + "\n")
    with pytest.raises(DataError, match=r"coins\.jsonl, line 2: a line must be a run") as caught:
        run_study(COINS, path, processes=1, progress="none")
    assert caught.value.line == 2
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(DataError, match=r"line 1: a line must be a run"):
        read_runs(path)


def test_a_last_line_that_ends_within_a_character_is_run_again(tmp_path):
    path = tmp_path / "coins.jsonl"
    run_study(COINS, path, processes=1, progress="none")
    whole = path.read_bytes()
    path.write_bytes(whole + '{"variant": "中'.encode()[:-1])
    assert len(read_runs(path)) == 6
    append_run(path, read_runs(path)[0])
    assert path.read_bytes() == whole + whole.splitlines(keepends=True)[0]


@pytest.mark.slow
def test_results_of_another_function_are_stale(tmp_path):
    path = tmp_path / "coins.jsonl"
    runs = run_study(COINS, path, processes=1, progress="none")
    path.unlink()
    for each in runs:
        append_run(path, type(each)(**{**vars(each), "code": "0" * 12}))
    assert current_runs(COINS, read_runs(path), COINS.planned()) == []
    assert len(run_study(COINS, path, processes=1, progress="none")) == 6
    assert len(read_runs(path)) == 12


def test_a_failed_run_is_named_and_the_others_are_kept(tmp_path):
    path = tmp_path / "failing.jsonl"
    with pytest.raises(RegardError, match=r"the run 'b' of the study 'failing' with seed 0 failed: ValueError: a bias"):
        run_study(FAILING, path, processes=1, progress="none")
    assert [(each.variant, each.seed) for each in read_runs(path)] == [("a", 0)]


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.slow
def test_a_run_that_diverged_is_named_and_those_beside_it_are_kept(tmp_path, processes):
    path = tmp_path / "diverging.jsonl"
    with pytest.raises(DivergedError) as caught:
        run_study(DIVERGING, path, processes=processes, progress="none")
    assert str(caught.value) == (
        "The run 'b' of the study 'diverging' with seed 1 diverged: the loss became nan in epoch 1, batch 2. The runs "
        "that are done are kept. Give it a smaller learning rate, or leave its variant out."
    )
    # With two processes, "a" takes longer than the two runs of "b", and is under way when the second one diverges.
    # Where the process of "b" starts late, it has ended, and the next run of "a" is under way.
    done = [(each.variant, each.seed) for each in read_runs(path)]
    assert sorted(done) in ([("a", 0), ("b", 0)], [("a", 0), ("a", 1), ("b", 0)])
    assert processes == 2 or done == [("b", 0), ("a", 0)]


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_study_may_allow_for_runs_that_diverge(tmp_path, capsys, processes):
    path = tmp_path / "diverging.jsonl"
    study = dataclasses.replace(DIVERGING, may_diverge=True)
    runs = run_study(study, path, processes=processes, progress="lines")
    assert [(each.variant, each.seed) for each in runs if each.diverged] == [("b", 1)]
    (lost,) = (each for each in read_runs(path) if each.diverged)
    assert (lost.measures, lost.diverged) == ({}, "the loss became nan in epoch 1, batch 2")
    assert lost.value("accuracy") is None
    assert "b, seed 1: diverged, the loss became nan in epoch 1, batch 2  " in capsys.readouterr().err
    # It isn't run again.
    before = path.read_bytes()
    assert run_study(study, path, processes=processes, progress="none") == runs
    assert path.read_bytes() == before


def test_a_function_that_no_process_can_import_is_refused():
    study = Study("s", "?", lambda setting, seed: {"accuracy": 0.0}, {"a": {}}, (Claim("a", 0.5),))
    with pytest.raises(ArgumentError, match="must be a function of a module"):
        run_study(study, processes=2, progress="none")
    assert len(run_study(study, processes=1, progress="none")) == 3


@pytest.mark.parametrize(("name", "value"), [("seeds", 0), ("seeds", True), ("processes", 0), ("processes", 1.5)])
def test_numbers_are_checked(name, value):
    with pytest.raises(ArgumentError, match=f"`{name}` must be a whole number"):
        run_study(COINS, progress="none", **{name: value})


@pytest.mark.slow
def test_a_killed_study_goes_on_and_leaves_no_process(tmp_path, monkeypatch):
    path, ran = tmp_path / "slow.jsonl", tmp_path / "ran"
    code = (
        "if __name__ == '__main__':\n"
        "    from lab.sample_studies import SLOW\n"
        "    from regard.lab import run_study\n"
        f"    run_study(SLOW, {str(path)!r}, processes=2, progress='none')\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    settings = {**os.environ, "RAN": str(ran), "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    process = subprocess.Popen([sys.executable, str(script)], env=settings)
    deadline = time.monotonic() + 90
    while not (path.exists() and len(read_runs(path)) >= 2):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = [each.key for each in read_runs(path)]
    assert 2 <= len(kept) < 8
    workers = {int(line.split()[2]) for line in ran.read_text().splitlines()}
    while any(Path(f"/proc/{each}").exists() for each in workers):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.1)
    # A run is what the study says, in whatever process; this one has imported all.
    monkeypatch.setenv("RAN", str(ran))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    run_study(SLOW, path, processes=1, progress="none")
    runs = read_runs(path)
    assert [each.key for each in runs[: len(kept)]] == kept
    assert Counter(each.key for each in runs) == Counter(each.key for each in SLOW.planned())
