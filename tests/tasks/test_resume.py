"""The proof: training that is killed (SIGKILL) at random moments and resumed ends with the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def run(folder: Path, seed: int, kills: int, seconds: float) -> str:
    ended = subprocess.run(
        [sys.executable, HERE / "killed_run.py", folder, str(seed), str(kills), str(seconds), "1"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def same_bits(first: Path, second: Path) -> None:
    # The whole last state too: the optimiser's averages would show a difference that the best epoch hides.
    for name in ("model/model.safetensors", "checkpoints/last/state.safetensors", "checkpoints/best/state.safetensors"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    assert not [path for path in second.rglob("*") if path.name.endswith((".part", ".old"))]
    assert len((second / "log.jsonl").read_text().splitlines()) == 12


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the children are made by fork")
def test_killed_four_times(tmp_path):
    assert run(tmp_path / "whole", 0, 0, 0) == "kills=0 status=0\n"
    run(tmp_path / "killed", 1, 4, 0.7)
    same_bits(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the children are made by fork")
@pytest.mark.parametrize("seed", range(2, 7))
def test_killed_twenty_times(tmp_path, seed):
    run(tmp_path / "whole", 0, 0, 0)
    run(tmp_path / "killed", seed, 20, 0.6)
    same_bits(tmp_path / "whole", tmp_path / "killed")
