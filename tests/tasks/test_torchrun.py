"""Processes that torchrun started: what it says is checked; they train as `devices` does, and end together."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
import torch
from toys import SAWS, tiny

from regard.cli.main import main
from regard.errors import ArgumentError, RegardError
from regard.tasks import train
from regard.tasks.training.compute import Compute
from regard.tasks.training.rank import ProcessRank
from regard.tasks.training.state import read_best, read_last
from regard.tasks.training.torchrun import check_agreement, joined, launched

several = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="each process wants a processor")
SAID = {
    "TORCHELASTIC_RUN_ID": "none",
    "WORLD_SIZE": "2",
    "RANK": "1",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
}
SAYS_WHY = "Another of the processes that torchrun started has ended, so training stopped."


def test_what_torchrun_says_is_read():
    launch = launched(SAID)
    assert (launch.rank, launch.processes, launch.address, launch.port) == (1, 2, "127.0.0.1", 29500)


def test_what_another_launcher_says_is_not():
    assert launched({name: value for name, value in SAID.items() if name != "TORCHELASTIC_RUN_ID"}) is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("WORLD_SIZE", None, "WORLD_SIZE must be a whole number, 1 or more, as torchrun sets it, but isn't set."),
        ("WORLD_SIZE", "two", "WORLD_SIZE must be a whole number, 1 or more, as torchrun sets it, but is 'two'."),
        ("WORLD_SIZE", "0", "WORLD_SIZE must be .* but is '0'."),
        ("RANK", "2", "RANK must be a whole number from 0 to 1, as torchrun sets it, but is '2'."),
        ("RANK", "-1", "RANK must be a whole number from 0 to 1, as torchrun sets it, but is '-1'."),
        ("RANK", None, "RANK must be a whole number from 0 to 1, as torchrun sets it, but isn't set."),
        ("MASTER_ADDR", None, "MASTER_ADDR must be the address of the first machine, as torchrun sets it, but isn't"),
        ("MASTER_PORT", "65536", "MASTER_PORT must be a whole number from 1 to 65535, as torchrun sets it, but is '6"),
    ],
)
def test_a_variable_that_is_wrong_is_told_before_training(monkeypatch, tmp_path, name, value, message):
    for key, each in {**SAID, name: value}.items():
        monkeypatch.delenv(key, raising=False) if each is None else monkeypatch.setenv(key, each)
    with pytest.raises(ArgumentError, match=f"The environment variable {message}"):
        train(SAWS, SAWS, recipe=tiny(), out=tmp_path / "run", progress="none", device="cpu")
    assert not (tmp_path / "run").exists()


def test_what_does_not_go_with_torchrun_is_refused():
    launch = launched(SAID)
    with pytest.raises(ArgumentError, match=r"`devices` must be 1 where torchrun says how many .* is 2\. Leave it out"):
        launch.compute(Compute("cpu", devices=2), "cpu")
    with pytest.raises(ArgumentError, match="`device` must be cpu or auto where several processes share each batch"):
        launch.compute(Compute("cuda"), "gpu")
    assert launch.compute(Compute("cuda", threads=3), "auto") == Compute("cpu", threads=3, devices=2)


def test_one_process_of_torchrun_trains_as_without_it(monkeypatch):
    for name, value in {**SAID, "WORLD_SIZE": "1", "RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    model = train(SAWS, SAWS, recipe=tiny(epochs=1), progress="none", device="cpu")
    assert model.about["training"]["devices"] == 1
    assert not torch.distributed.is_initialized()


def test_a_process_that_is_in_a_group_is_refused(monkeypatch):
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    with pytest.raises(ArgumentError, match="this one is in a group already"), joined(launched(SAID)):
        raise AssertionError("it joined another")


def test_all_must_be_asked_for_the_same():
    class Group(ProcessRank):
        def gather(self, value):
            return [value, value, {**value, "data": {"dev": "other"}, "threads": 2}]

    with pytest.raises(ArgumentError, match="must train alike, but process 2 has other threads and data than process"):
        check_agreement(Group(0, 3), {"recipe": {}, "threads": 1, "data": {"dev": "same"}})


def test_the_others_that_do_not_come_are_told(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        launch = launched({**SAID, "MASTER_PORT": str(taken.getsockname()[1])})
    monkeypatch.setattr("regard.tasks.training.torchrun._ARRIVAL", timedelta(seconds=1))
    message = r"Not all of torchrun's 2 processes have connected to 127\.0"
    with pytest.raises(RegardError, match=message), joined(launch):
        raise AssertionError("it was alone")


@pytest.fixture
def store(monkeypatch):
    """The store that torchrun itself keeps for its processes."""
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    return torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)


def test_processes_that_meet_but_can_not_connect_are_told_about_interfaces(monkeypatch, store):
    def fail(*_, **__):
        raise RuntimeError("Gloo connectFullMesh failed with timed out connecting")

    monkeypatch.setattr(torch.distributed, "init_process_group", fail)
    monkeypatch.setattr("regard.tasks.training.torchrun._GROUPS", iter([5]))
    store.set("regard/5/started/0", "yes")
    message = r"all connected to 127\.0.* but can't connect to each other.* GLOO_SOCKET_IFNAME"
    with pytest.raises(RegardError, match=message), joined(launched({**SAID, "MASTER_PORT": str(store.port)})):
        raise AssertionError("it was alone")


class Nodes:
    """Machines that train together, each a process here with the variables that torchrun would have set."""

    def __init__(self, folder: Path):
        self.folder = folder
        rows = "".join(f"a {word} film,{label}\n" for word, label in (("warm", "good"), ("cold", "bad")) for _ in "123")
        (folder / "films").mkdir()
        for split in ("train", "dev"):
            (folder / "films" / f"{split}.csv").write_text(f"text,label\n{rows}")
        self.recipe(epochs=3)

    def recipe(self, **changes) -> None:
        values = {"task": {"kind": "classifier"}, "width": 8, "heads": 2, "batch_items": 9, "average": 0.8, **changes}
        (self.folder / "small.json").write_text(json.dumps(values))

    def command(self, out: str, *words: str) -> list[str]:
        shown = ["--progress", "lines", "--device", "cpu"]
        given = ["--data", "films", "--recipe", "small.json", "--out", out]
        return ["-m", "regard", "train", "classifier", *given, *shown, *words]

    def start(self, *command: str, **variables: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=self.folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def pair(self, first: list[str], second: list[str]) -> list[subprocess.Popen]:
        """The processes 0 and 1, which meet on loopback."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        return [
            self.start(*command, **{**SAID, "RANK": str(rank), "MASTER_PORT": port})
            for rank, command in enumerate((first, second))
        ]

    def killed_after_an_epoch(self, killed: int, *words: str) -> str:
        """What the other node says when one of two is killed; checks that it is one sentence which says why."""
        processes = self.pair(self.command("run", *words), self.command("run", *words))
        wait_for_an_epoch(self.folder / "run")
        processes[killed].send_signal(signal.SIGKILL)
        code, out, err = ended(processes)[1 - killed]
        assert (code, out) == (1, "")
        assert [line for line in err.splitlines() if line.startswith("regard: ")] == [err.splitlines()[-1]]
        assert err.splitlines()[-1].startswith(f"regard: {SAYS_WHY}")
        return err


HERE = Path(__file__).parent
SCRIPT = """
import os, sys
from regard.cli.main import main
def run(*words):
    code = main(words)
    for stream in (sys.stdout, sys.stderr):
        print("ended with", code, file=stream, flush=True)
out, port = sys.argv[1:]
command = ["train", "classifier", "--data", "films", "--recipe", "small.json", "--out", out]
command += ["--progress", "lines", "--device", "cpu"]
run(*command)
# From here on all meet at the store that torchrun itself keeps.
os.environ |= {"TORCHELASTIC_USE_AGENT_STORE": "True", "MASTER_PORT": port}
run(*command, "--resume")
from toys import SAWS, tiny
from regard import train
for _ in range(2):
    train(SAWS, SAWS, recipe=tiny(epochs=1), device="cpu", progress="none")
"""


@pytest.fixture
def nodes(tmp_path):
    return Nodes(tmp_path)


def ended(processes: list[subprocess.Popen]) -> list[tuple[int, str, str]]:
    try:
        said = [process.communicate(timeout=400) for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
    return [(process.returncode, *each) for process, each in zip(processes, said, strict=True)]


def wait_for_an_epoch(run: Path) -> None:
    deadline = time.monotonic() + 100
    while not (run / "log.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def same_bits(first: Path, second: Path) -> None:
    for name in ("model/model.safetensors", "checkpoints/last/state.safetensors", "checkpoints/best/state.safetensors"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


@pytest.mark.slow
@several
def test_two_nodes_train_as_two_devices_do_and_only_the_first_speaks(nodes, tmp_path, store, monkeypatch):
    """And a script can train more than once: each pair of processes imports PyTorch, so one does all."""
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)
        assert main(nodes.command("devices", "--devices", "2")[2:]) == 0
    monkeypatch.delenv("TORCHELASTIC_USE_AGENT_STORE")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]))
    first, second = ended(nodes.pair(*(["-c", SCRIPT, out, str(store.port)] for out in ("nodes", "elsewhere"))))
    assert (first[0], second[0]) == (0, 0), (first, second)
    same_bits(tmp_path / "devices", tmp_path / "nodes")
    (out, again, rest), (err, told, remaining) = (said.split("ended with 0\n") for said in first[1:])
    assert "epoch 3/3" in err
    assert "Saved in nodes" in out
    assert second[1:] == ("ended with 0\n" * 2,) * 2
    assert not (tmp_path / "elsewhere").exists()
    # A finished run is loaded by the first, and its model goes to the others.
    assert "is finished; its model is in" in told, again
    assert (rest, remaining) == ("", "")


@several
@pytest.mark.slow
def test_what_differs_or_does_not_go_together_is_one_sentence_everywhere(nodes, tmp_path):
    threads = ended(nodes.pair(nodes.command("run"), nodes.command("run", "--threads", "2")))
    for code, out, err in threads:
        assert (code, out) == (2, "")
        assert err.splitlines()[-1].startswith("regard: All processes of torchrun must train alike, but process 1 has ")
    # Where only the first sees it, the other ends with it.
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("mine")
    (code, _, err), (other, _, told) = ended(nodes.pair(nodes.command("taken"), nodes.command("taken")))
    assert (code, other) == (2, 1)
    assert "`--out` must be a new or empty folder" in err.splitlines()[-1]
    [line] = told.splitlines()
    assert line.startswith(f"regard: {SAYS_WHY}")


@several
@pytest.mark.slow
@pytest.mark.parametrize("killed", [pytest.param(0, marks=pytest.mark.exhaustive), 1])
def test_a_killed_node_ends_the_other_in_one_sentence_and_the_run_goes_on_to_the_same_bits(nodes, tmp_path, killed):
    nodes.recipe(epochs=40, patience=40)
    whole = ended(nodes.pair(nodes.command("whole"), nodes.command("whole")))
    assert [code for code, _, _ in whole] == [0, 0], whole
    assert "Traceback" not in nodes.killed_after_an_epoch(killed)
    assert read_last(tmp_path / "run" / "checkpoints" / "last")
    assert read_best(tmp_path / "run" / "checkpoints" / "best")
    resumed = ended(nodes.pair(nodes.command("run", "--resume"), nodes.command("run", "--resume")))
    assert [code for code, _, _ in resumed] == [0, 0], resumed
    same_bits(tmp_path / "whole", tmp_path / "run")


@several
@pytest.mark.slow
def test_torchrun_itself_on_one_machine_and_a_resume_of_another_number(nodes, tmp_path):
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    ((code, out, err),) = ended([nodes.start(*torchrun, *nodes.command("run"))])
    assert code == 0, err
    assert out.count("Saved in run") == err.count("epoch 3/3") == 1
    (alone,) = ended([nodes.start(*nodes.command("devices", "--devices", "2"))])
    assert alone[0] == 0
    same_bits(tmp_path / "devices", tmp_path / "run")
    nodes.recipe(epochs=3, seed=0)
    (tmp_path / "run" / "run.json").write_text(
        (tmp_path / "run" / "run.json").read_text().replace('"devices": 2', '"devices": 3')
    )
    resumed = ended(nodes.pair(nodes.command("run", "--resume"), nodes.command("run", "--resume")))
    assert [code for code, _, _ in resumed] == [2, 1]
    assert "as many processes as run began with, 3, but torchrun started 2." in resumed[0][2]
