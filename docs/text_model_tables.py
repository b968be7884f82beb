"""The table of fine-tuned bases and static vectors beside linear models of the same texts, from the runs recorded."""

import json
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["table"]

LINES = Path(__file__).parent.parent / "benchmarks" / "results" / "text_models.jsonl"

Row = dict[str, Any]

_TITLES = {
    ("sst2", "all"): "SST-2, sentences",
    ("sst2-phrases", "all"): "SST-2, all phrases",
    ("ewt", "all"): "English parts of speech (EWT)",
    ("hotel", "all"): "Chinese hotel reviews",
    ("custrev", "400"): "customer reviews, 400",
    ("sst2", "16-a-class"): "SST-2, 16 a class",
    ("subj", "16-a-class"): "subjective or objective, 16 a class",
}
_WAYS = {
    "base": "pretrained base",
    "degrees": "pretrained base, degrees beside the labels",
    "static": "static vectors",
    "tf-idf": "tf-idf, logistic regression",
    "model2vec": "model2vec, logistic regression",
}
_COUNTING = "most frequent label of a word"


def table(lines: Iterable[Row] | None = None) -> str:
    """A row for each data set and way: the mean score on test, and what it took.

    Args:
        lines: the recorded runs; None: those in benchmarks/results/text_models.jsonl.
    """
    if lines is None:
        lines = map(json.loads, LINES.read_text(encoding="utf-8").splitlines()) if LINES.exists() else ()
    runs = [each for each in lines if each["judged"] == "test"]
    if not runs:
        return "Not measured yet: `python benchmarks/text_models.py BASE --final` measures it.\n"
    head = ("data", "examples", "model", "accuracy", "range", "seeds", "CPU minutes", "MB", "texts a second")
    rows = [head, ("---",) * len(head)]
    for (name, size), title in _TITLES.items():
        for way, said in _WAYS.items():
            own = [each for each in runs if (each["set"], each["size"], each["way"]) == (name, size, way)]
            if own:
                rows.append((title, *_row(_COUNTING if (name, way) == ("ewt", "tf-idf") else said, own)))
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    machines = sorted({each["conditions"].rsplit("; ", 1)[0] for each in runs})
    return f"{text}\n\n{'; '.join(machines)}. Every run: benchmarks/results/text_models.jsonl.\n"


def _row(way: str, runs: Sequence[Row]) -> tuple[str, ...]:
    scores = [100 * each["score"] for each in runs]
    spread = f"{min(scores):.1f} to {max(scores):.1f}" if len(scores) > 1 else ""
    minutes, size, speed = (
        statistics.median(each[key] for each in runs) for key in ("cpu_minutes", "megabytes", "texts_a_second")
    )
    return (
        f"{runs[0]['train']:,}",
        way,
        f"{statistics.mean(scores):.1f} %",
        spread,
        str(len(runs)),
        f"{minutes:.1f}",
        f"{size:.1f}",
        f"{speed:,.0f}",
    )
