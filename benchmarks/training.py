"""Run `regard train`, from the beginning or resumed, and make a record of the run."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.lab.measurement import processor
from regard.tasks.judging.evaluation import saved_evaluation

ROOT = Path(__file__).parent.parent
RUNS = ROOT / "runs"

# The scores that a record has under other names or leaves out, such as those of hundreds of labels.
_SAID = ("measure", "score", "interval", "method", "labels")


def train(
    name: str,
    command: Sequence[str],
    *,
    seed: int,
    final: bool = False,
    threads: int = 1,
    devices: int = 1,
    matmul: str | None = None,
) -> dict[str, Any]:
    """Run a training command in runs/NAME-SEED, unless its model is there; resume it if it was stopped.

    Args:
        name: the name of the run.
        command: the command, without the folder, the seed and the threads.
        seed: the seed.
        final: evaluate on test too; a finished run is evaluated now.
        threads: the number of CPU threads.
        devices: the number of processes that share each batch.
        matmul: the precision of float32 matrix products; None: PyTorch's default.

    Returns:
        the record of the run: command, recipe, scores, time, machine, versions.

    Raises:
        SystemExit: the command failed.
    """
    folder = RUNS / f"{name}-{seed}"
    words = [*command, "--out", str(folder.relative_to(ROOT)), "--seed", str(seed)]
    for option, given, usual in (
        ("--threads", threads, 1),
        ("--devices", devices, 1),
        ("--matmul", matmul, None),
    ):
        if given != usual:
            words += [option, str(given)]
    if final:
        words += ["--final"]
    if not _is_evaluated(folder, "test" if final else "dev"):
        resume = ["--resume"] if (folder / "run.json").exists() else []
        run = subprocess.Popen(
            [sys.executable, "-m", *words, "--progress", "lines", *resume],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        )
        for line in run.stderr or ():
            print(f"{folder.name}: {line}", end="", flush=True)
        if run.wait():
            raise SystemExit(f"`{' '.join(words)}` failed")
    return described(" ".join(words), json.loads((folder / "model" / "model.json").read_text(encoding="utf-8")))


def _is_evaluated(folder: Path, split: str) -> bool:
    """Whether a run is complete: its model is saved after training, and again after evaluation."""
    model = folder / "model" / "model.json"
    return model.exists() and split in json.loads(model.read_text(encoding="utf-8"))["about"].get("scores", {})


def test_reads(lines: Sequence[dict[str, Any]]) -> int:
    """The number of reads of test for a recipe: the recorded number, or the number of runs with a test score.

    Args:
        lines: the recorded runs of the recipe.

    Example:
        >>> test_reads([{"test": 0.9}, {"test": None}, {"test": 0.8}]), test_reads([{"test": 0.9, "test_reads": 5}])
        (2, 5)
    """
    return max([sum(line["test"] is not None for line in lines), *(line.get("test_reads", 0) for line in lines)])


def described(command: str, model: dict[str, Any]) -> dict[str, Any]:
    """The record of a run, made from the description of its model.

    Args:
        command: the training command.
        model: the content of its model.json.
    """
    about = model["about"]
    training = about["training"]
    scores = {split: saved_evaluation(score) for split, score in about["scores"].items()}
    test = scores.get("test", {})
    return {
        "command": command,
        "data": about["data"]["name"],
        "label": about["data"]["label"],
        "seed": training["seed"],
        "recipe": model["recipe"],
        "parameters": model["parameters"],
        "measure": scores["dev"]["measure"],
        "dev": scores["dev"]["score"],
        "test": test.get("score"),
        "interval": test.get("interval"),
        "more": {key: value for key, value in test.items() if key not in _SAID and isinstance(value, int | float)},
        "seconds": training["seconds"],
        "epochs": training["epochs"],
        "threads": training["threads"],
        "devices": training["devices"],
        "matmul": training.get("matmul"),
        "versions": training["versions"],
        "machine": processor(),
    }
