"""The table of the GPU: its rows run, on a CPU too, and one that fails takes no other with it."""

import dataclasses
import json
import subprocess
import sys
import warnings
from argparse import Namespace

import pytest

ASKED = Namespace(device="cpu", seed=0, seconds=0.0, quick=True)
# Nobody computes these on a CPU, or the peer isn't among what the tests install.
FLEX = "FlexAttention does not support backward on CPU"
MISSING = "is not installed"


def ignore(found):
    """What was known early."""


@pytest.fixture
def gpu(benchmark_module):
    return benchmark_module("gpu")


@pytest.fixture
def quick(gpu):
    return gpu.Small("cpu", quick=True)


@pytest.mark.slow
def test_every_row_runs(gpu, quick):
    """At tiny lengths, on a CPU: ours is measured and right, and so is the peer where it can run here."""
    with warnings.catch_warnings():
        # A peer warns that it is slow on a CPU.
        warnings.simplefilter("ignore")
        found = {row.name: gpu.measure(row, quick, 0.0, ignore) for row in gpu.GPU_ROWS}
    assert len(found) == len(gpu.GPU_ROWS) > 25
    for row in gpu.GPU_ROWS:
        result = found[row.name]
        assert result["ours"] > 0, (row.name, result)
        assert result["engine"], row.name
        assert "wrong" not in result, (row.name, result)
        assert result["ours_error"] < (2e-5 if "float32" in row.what else 1e-2), (row.name, result)
        problem = result.get("problem", "")
        assert not problem or FLEX in problem or MISSING in problem, (row.name, problem)
        assert problem or not row.peer or "published" in row.peer or result["ratio"] > 0, (row.name, result)
        assert len(gpu.cells(row, result, 1e15)) == len(gpu.COLUMNS)
    # At this length no peer is worse in bfloat16 than half a percent: what is compared is the same function.
    peers = {name: result["theirs_error"] for name, result in found.items() if "theirs_error" in result}
    assert len(peers) > 8
    assert all(error < 2e-2 for error in peers.values()), peers


def test_a_side_that_is_wrong_reaches_nothing(gpu, quick):
    row = next(row for row in gpu.GPU_ROWS if row.name == "causal-forward")

    def case(bench):
        made = row.case(bench)
        run = made.ours()
        return dataclasses.replace(made, ours=lambda: lambda: (run()[0] * 1.1,))

    found = gpu.measure(dataclasses.replace(row, case=case, least=0.0), quick, 0.0, ignore)
    assert found["wrong"].startswith("off by 1.0e-01")
    assert gpu.reached(row, found) == "no"


def test_what_is_missing_is_said_in_its_row(gpu, quick):
    row = next(row for row in gpu.GPU_ROWS if row.name == "softmax-forward")

    def nobody():
        import nobody_has_this

        return nobody_has_this

    def case(bench):
        return dataclasses.replace(row.case(bench), ours=nobody)

    found = gpu.measure(dataclasses.replace(row, case=case), quick, 0.0, ignore)
    assert "nobody_has_this is not installed" in found["problem"]
    assert found["theirs"] > 0
    assert "ours" not in found
    broken = gpu.measure(dataclasses.replace(row, case=lambda bench: bench.nothing), quick, 0.0, ignore)
    assert broken == {"problem": "AttributeError: 'Small' object has no attribute 'nothing'"}


def test_ours_is_known_before_the_peer_runs(gpu, quick):
    row = next(row for row in gpu.GPU_ROWS if row.name == "causal-both")
    early = []

    def case(bench):
        def peer():
            assert early
            raise RuntimeError("a peer that fails")

        return dataclasses.replace(row.case(bench), peers={"": peer})

    found = gpu.measure(dataclasses.replace(row, case=case), quick, 0.0, early.append)
    assert found["problem"] == "RuntimeError: a peer that fails"
    (known,) = early
    assert known["ours"] > 0
    assert known["ours_error"] < 1e-2
    assert known["engine"] == "fused"
    assert "problem" not in known


def test_who_stands_in_for_a_peer_decides_no_goal(gpu, quick):
    row = next(row for row in gpu.GPU_ROWS if row.name == "entmax-both")

    def case(bench):
        made = row.case(bench)
        return dataclasses.replace(made, stand_ins={"a slower one": made.ours})

    found = gpu.measure(dataclasses.replace(row, case=case), quick, 0.0, ignore)
    assert found["setting"] == "a slower one"
    assert found["ratio"] > 0
    assert gpu.reached(row, found | {"ratio": 1000.0}) == ""
    assert "adasplash is not installed" in gpu.cells(row, found, 0.0)[8]


@pytest.mark.parametrize(
    ("name", "found", "said"),
    [
        ("relu-both", {"ours": 1.0, "ratio": 1.2}, "yes"),
        ("relu-both", {"ours": 1.0, "ratio": 1.19}, "no"),
        ("relu-both", {"ours": 1.0, "problem": "no peer"}, ""),
        ("sigmoid-forward", {"ours": 1.0, "ratio": 9.0, "tflops": 444.0}, "no"),
        ("sigmoid-forward", {"ours": 1.0, "tflops": 446.0, "problem": "no peer"}, "yes"),
        ("host-softmax", {"ours": 59e-6}, "yes"),
        ("host-softmax", {"ours": 61e-6, "ratio": 9.0}, "no"),
        ("long-memory", {"ours_peak": 1000.0}, "yes"),
        ("long-memory", {"ours_peak": 2000.0}, "no"),
        ("additive-memory", {"ours_peak": 10.0, "theirs_peak": 1000.0, "ratio": 3.0}, "yes"),
        ("additive-memory", {"ours_peak": 11.0, "theirs_peak": 1000.0, "ratio": 3.0}, "no"),
        ("sigmoid-both", {"ours": 1.0, "ratio": 3.0}, ""),
    ],
)
def test_a_goal_is_reached_in_its_own_measure(gpu, name, found, said):
    row = next(row for row in gpu.GPU_ROWS if row.name == name)
    assert gpu.reached(row, found) == said


def test_a_process_that_ends_or_hangs_loses_its_row_only(gpu, monkeypatch):
    # What a process does with each row: measure it, crash, hang, or measure it and break the GPU.
    script = (
        "import json, sys, time\n"
        "for name in sys.argv[1:]:\n"
        "    if name == 'crashes': sys.exit(3)\n"
        "    if name == 'hangs': time.sleep(60)\n"
        "    print(json.dumps([{'ours': 2.0}, False]), flush=True)\n"
        "    if name == 'has a peer that crashes': sys.exit(4)\n"
        "    print(json.dumps([{'ours': 1.0}, True]), flush=True)\n"
        f"    if name == 'breaks': sys.exit({gpu.BROKEN})\n"
    )
    started = []

    def child(names, asked, *options):
        started.append(list(names))
        return subprocess.Popen([sys.executable, "-S", "-c", script, *names], stdout=subprocess.PIPE, text=True)

    monkeypatch.setattr(gpu, "child", child)
    monkeypatch.setattr(gpu, "PATIENCE", 1.0)
    names = ["first", "crashes", "hangs", "breaks", "has a peer that crashes", "last"]
    found = dict(gpu.measured_in_turn(names, ASKED, gpu.time.monotonic() + 60))
    assert found == {
        "first": {"ours": 1.0},
        "crashes": {"problem": "its process ended with 3"},
        "hangs": {"problem": "no result within 1 s"},
        "breaks": {"ours": 1.0},
        "has a peer that crashes": {"ours": 2.0, "problem": "its process ended with 4"},
        "last": {"ours": 1.0},
    }
    assert started == [names, names[2:], names[3:], names[4:], names[5:]]
    # When time is over, what is left isn't begun.
    assert dict(gpu.measured_in_turn(["first"], ASKED, gpu.time.monotonic())) == {}


def test_each_row_is_kept_at_once_beside_those_of_earlier_runs(gpu, monkeypatch, tmp_path):
    measuring = sys.modules["measuring"]
    monkeypatch.setattr(measuring, "RESULTS", tmp_path)
    monkeypatch.setattr(gpu, "machine", lambda device: "a card")
    rows = {row.name: row for row in gpu.GPU_ROWS}

    def read():
        return json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))

    gpu.kept(rows["relu-both"], {"ours": 2e-3, "ratio": 1.5}, "some facts", 1e15)
    gpu.kept(rows["softmax-forward"], {"problem": "it broke"}, "later facts", 1e15)
    gpu.kept(rows["relu-both"], {"ours": 1e-3, "ratio": 1.0}, "later facts", 1e15)
    saved = read()
    assert saved["columns"] == list(gpu.COLUMNS)
    assert list(saved["details"]) == ["softmax-forward", "relu-both"]
    assert [line[8] for line in saved["rows"]] == ["it broke", "no"]
    # Another card begins anew.
    monkeypatch.setattr(gpu, "machine", lambda device: "another card")
    gpu.kept(rows["softmax-forward"], {"ours": 1e-3, "ratio": 1.0}, "facts", 1e15)
    assert len(read()["rows"]) == 1
