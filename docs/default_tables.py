"""The table of default trainings: what a first training scores beside the simple baseline, from the runs recorded."""

import json
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["table"]

LINES = Path(__file__).parent.parent / "benchmarks" / "results" / "defaults.jsonl"

Row = dict[str, Any]

_TITLES = {
    "custrev": "texts: customer reviews",
    "mpqa": "texts: phrases of opinion",
    "subj": "texts: subjective or objective",
    "sst2": "texts: sentences of film reviews",
    "hotel": "texts: Chinese hotel reviews",
    "ewt": "words: English parts of speech",
    "gsd": "words: Chinese parts of speech",
    "segmentation": "characters: where Chinese words begin",
    "vowels": "series: Japanese vowels by speaker",
    "gunpoint": "series: GunPoint",
    "power": "series: ItalyPowerDemand",
    "leaf": "series: OSULeaf",
    "gesture": "series: PickupGestureWiimoteZ",
    "digit": "recordings: spoken digits",
    "speaker": "recordings: speakers",
    "mnist": "pictures: written digits",
    "tox21": "molecules: toxicity",
    "bbbp": "molecules: blood-brain barrier",
    "esol": "molecules: solubility",
    "lipophilicity": "molecules: lipophilicity",
    "digits": "recordings: strings of digits",
    "letters": "pairs: letters to phonemes",
    "multi30k": "pairs: German to English",
    "tatoeba": "pairs: Chinese to English",
}
_SIZES = ("100", "1000", "all")
_SHARES = ("accuracy", "error", "character error rate", "mean ROC-AUC", "ROC-AUC")
"""The measures whose differences are points of a hundred; of others, the difference is in percent of the baseline's."""
_FALL = ("RMSE", "error", "character error rate")


def table(lines: Iterable[Row] | None = None) -> str:
    """A row for each data set and size: mean scores of the default and of its baseline on test, and their difference.

    Args:
        lines: the recorded runs; None: those in benchmarks/results/defaults.jsonl.
    """
    if lines is None:
        lines = map(json.loads, LINES.read_text(encoding="utf-8").splitlines())
    runs = [each for each in lines if (each["judged"], each["called"]) == ("test", "after")]
    head = ("data", "examples", "measure", "default", "baseline", "better by", "seeds", "CPU seconds")
    if not runs:
        return "Not measured yet: `python benchmarks/defaults.py --final` measures it.\n"
    rows = [head, ("---",) * len(head)]
    points: dict[str, float] = {}
    for size in _SIZES:
        for name, title in _TITLES.items():
            own = [each for each in runs if (each["set"], each["size"]) == (name, size)]
            if not own:
                continue
            # Of a smaller set, all examples are "1000", too.
            count = own[0]["train"] + own[0]["dev"]
            if (ahead := points_of(own)) is not None:
                points[f"{title} ({count:,})"] = ahead
            rows.append(_row(title, count, own))
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{text}\n\n{_summary(points)}{_conditions(runs)}\n"


def points_of(runs: Sequence[Row]) -> float | None:
    """By how many points the default is better in the mean; None by other measures or without a baseline."""
    measure = runs[0]["measure"]
    if measure not in _SHARES or runs[0]["baseline"] is None:
        return None
    score, baseline = _mean(runs, "score"), _mean(runs, "baseline")
    return 100 * (baseline - score if measure in _FALL else score - baseline)


def _row(title: str, count: int, runs: Sequence[Row]) -> tuple[str, ...]:
    measure, score = runs[0]["measure"], _mean(runs, "score")
    if runs[0]["baseline"] is None:
        said = _figure(measure, score), "none", ""
    else:
        said = _figure(measure, score), _figure(measure, _mean(runs, "baseline")), _better(runs)
    return title, f"{count:,}", measure, *said, str(len(runs)), f"{_mean(runs, 'cpu_seconds'):.0f}"


def _figure(measure: str, score: float) -> str:
    if measure in _SHARES:
        return f"{100 * score:.1f} %"
    return f"{score:.1f}" if measure == "BLEU" else f"{score:.3f}"


def _better(runs: Sequence[Row]) -> str:
    """By how much the default is better than the baseline."""
    if (ahead := points_of(runs)) is not None:
        return f"{ahead:+.1f}"
    score, baseline = _mean(runs, "score"), _mean(runs, "baseline")
    if min(score, baseline) <= 0:
        return ""
    return f"{100 * (baseline / score if runs[0]['measure'] in _FALL else score / baseline) - 100:+.1f} %"


def _summary(points: dict[str, float]) -> str:
    if not points:
        return ""
    name, least = min(points.items(), key=lambda each: each[1])
    behind = sum(each < -0.5 for each in points.values())
    mean = statistics.mean(points.values())
    said = f"In the mean of the {len(points)} rows that are shares the default is {mean:.1f} points better. "
    if not behind:
        return f"{said}In none is it more than half a point worse. "
    return f"{said}In {behind} of them it is more than half a point worse, at worst by {-least:.1f} points: {name}. "


def _conditions(runs: Sequence[Row]) -> str:
    machines = sorted({each["conditions"].rsplit("; ", 1)[0] for each in runs})
    return f"{'; '.join(machines)}. Every run: benchmarks/results/defaults.jsonl."


def _mean(runs: Sequence[Row], key: str) -> float:
    return statistics.mean(each[key] for each in runs)
