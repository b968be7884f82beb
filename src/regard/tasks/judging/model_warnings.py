"""Warnings about a model that was just trained: problems that its score alone does not show."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from regard.page.numbers import counted
from regard.tasks.examples import as_pairs

__all__ = ["model_warnings"]

_FEW = 200
_GAIN = 0.02


def model_warnings(
    model: Any, splits: Mapping[str, Sequence[Any]], scores: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Warnings, the most serious first.

    Args:
        model: the trained model.
        splits: the examples of "train", "dev" and "test".
        scores: the evaluations on "dev" and maybe "test".
        rows: the rows of the training log, one for each epoch.
    """
    found = [*dict.fromkeys(model.task.warnings(model, splits, scores)), *_lower_on_test(model, scores)]
    known = model.task.known_targets(splits["train"])
    return [*found, *_empty(splits["train"]), *_few(model, known), *_unfinished(rows)]


def _lower_on_test(model: Any, scores: Mapping[str, Any]) -> Iterator[str]:
    dev, test = scores["dev"], scores.get("test")
    if test is None or test.interval is None or dev.interval is None:
        return
    known, own = dev.score, test.score
    within = any(low <= other <= high for (low, high), other in ((test.interval, known), (dev.interval, own)))
    if model.measure.better(known, than=own) and not within:
        yield (
            f"It does worse on test than on dev ({model.measure.format(own)}, {model.measure.format(known)}), by which "
            "its epoch was chosen: it does not generalise well. More examples may help."
        )


def _empty(examples: Sequence[Any]) -> Iterator[str]:
    empty = sum(isinstance(source, str) and not source.strip() for source, _ in as_pairs(examples))
    if empty:
        yield f"{counted(empty, 'training text')} {'was' if empty == 1 else 'were'} empty and left out."


def _few(model: Any, known: list[Any]) -> Iterator[str]:
    if len(known) < _FEW:
        what = "items" if model.task.per_item else "examples"
        yield f"It was trained on {len(known):,} {what}: with fewer than {_FEW}, scores vary a lot between seeds."


def _unfinished(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A warning if the last epoch is the best, and the last fifth of the epochs still improved the score."""
    earlier = [row["best"] for row in rows if row["epoch"] <= 0.8 * len(rows)]
    if not earlier or rows[-1]["best_epoch"] != rows[-1]["epoch"]:
        return
    if abs(rows[-1]["best"] - earlier[-1]) > _GAIN * abs(earlier[-1]):
        yield "Its score still improved in the last epoch: more epochs may help (`epochs` of the recipe)."
