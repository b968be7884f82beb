"""The proof: training that is killed (SIGKILL) at random moments and resumed ends with the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def run(folder: Path, kills: int, *seeds: int, sentences: int = 24, epochs: int = 12, seconds: float = 0.4) -> None:
    """A run that nobody kills, in `whole`, and for each seed one that is killed so often."""
    runs = [(folder / "whole", 0, 0, 0), *((folder / f"killed {seed}", seed, kills, seconds) for seed in seeds)]
    ended = subprocess.run(
        [
            sys.executable,
            HERE / "killed_run.py",
            "1",
            str(sentences),
            str(epochs),
            *(str(each) for one in runs for each in one),
        ],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert ended.returncode == 0, ended.stderr
    whole, *killed = ended.stdout.splitlines()
    assert whole == "kills=0 resumed=0 status=0"
    assert len(killed) == len(seeds)
    assert not [said for said in killed if "resumed=0" in said], "none went on from a checkpoint"


def same_bits(first: Path, second: Path, epochs: int = 12) -> None:
    # The whole last state too: the optimiser's averages would show a difference that the best epoch hides.
    for name in ("model/model.safetensors", "checkpoints/last/state.safetensors", "checkpoints/best/state.safetensors"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    assert not [path for path in second.rglob("*") if path.name.endswith((".part", ".old"))]
    assert len((second / "log.jsonl").read_text().splitlines()) == epochs


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the children are made by fork")
def test_killed_four_times(tmp_path):
    run(tmp_path, 4, 1, sentences=8, epochs=6, seconds=0.1)
    same_bits(tmp_path / "whole", tmp_path / "killed 1", epochs=6)


@pytest.mark.exhaustive
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the children are made by fork")
def test_killed_twenty_times(tmp_path):
    seeds = range(2, 7)
    run(tmp_path, 20, *seeds)
    for seed in seeds:
        same_bits(tmp_path / "whole", tmp_path / f"killed {seed}")
