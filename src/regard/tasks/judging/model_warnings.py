"""Warnings about a model that was just trained: problems that its score alone does not show."""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from regard.errors import UnreliablePrediction
from regard.page.numbers import counted
from regard.tasks.examples import as_pairs

__all__ = ["label_warnings", "model_warnings", "text_warnings"]

_FEW = 200
_FEW_DEV = 20
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
    unfinished = _unfinished(rows) if model.recipe.keep_epoch is None else ()
    return [*found, *_empty(splits["train"]), *_few(model, known, splits["dev"]), *unfinished]


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


def _few(model: Any, known: list[Any], dev: Sequence[Any]) -> Iterator[str]:
    what = "item" if model.task.per_item else "example"
    chosen_by = len(model.task.known_targets(dev))
    if len(known) < _FEW:
        yield f"It was trained on {len(known):,} {what}s: with fewer than {_FEW}, scores vary a lot between seeds."
    elif chosen_by < _FEW_DEV and model.recipe.keep_epoch is None:
        yield f"Dev has {counted(chosen_by, what)}, too few to choose an epoch by: another dev may choose another one."


def _unfinished(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A warning if the last epoch is the best, and the last fifth of the epochs still improved the score."""
    earlier = [row["best"] for row in rows if row["epoch"] <= 0.8 * len(rows)]
    if not earlier or rows[-1]["best_epoch"] != rows[-1]["epoch"]:
        return
    if abs(rows[-1]["best"] - earlier[-1]) > _GAIN * abs(earlier[-1]):
        yield "Its score still improved in the last epoch: more epochs may help (`epochs` of the recipe)."


def label_warnings(model: Any, splits: Mapping[str, Sequence[Any]], scores: Mapping[str, Any]) -> Iterator[str]:
    """Warnings about what the model predicts, as in `model_warnings`; those of dev and of test may be the same."""
    known = model.task.known_targets(splits["train"])
    for split, score in scores.items():
        yield from _of_labels(known, model.task.known_targets(splits[split]), score, split)
    yield from _of_figures(model, scores["dev"])


def _of_labels(known: list[Any], wanted: list[Any], score: Any, split: str) -> Iterator[str]:
    if not isinstance(known[0], str):
        return
    counts = Counter(known)
    if len(counts) == 1:
        yield f"All training examples have the label {known[0]}, so it can predict no other."
        return
    (usual, _), *_ = counts.most_common(1)
    share = wanted.count(usual) / len(wanted)
    right = score.score
    if right <= share:
        yield f"It is no better than always predicting {usual}, which is right for {100 * share:.2f}% of {split}."
    elif score.interval is not None and score.interval[0] <= share:
        yield (
            f"It is right for {100 * right:.2f}% of {split}, and always predicting {usual} for {100 * share:.2f}%: "
            f"{len(wanted):,} are too few to say that it is better."
        )
    if never := sorted({*wanted} - {*known}):
        lost = sum(each in never for each in wanted) / len(wanted)
        listed = ", ".join(never[:5]) + (", ..." if len(never) > 5 else "")
        yield (
            f"No training example has the label {listed}, but {100 * lost:.2f}% of {split} have it, and every "
            "prediction for them is wrong. Check its spelling."
        )


def _of_figures(model: Any, score: Any) -> Iterator[str]:
    if getattr(score, "r2", None) is not None and score.r2 <= 0:
        yield "It is no better than always predicting the mean."
    if model.target.chance is not None and score.score <= model.target.chance:
        yield f"It is no better than guessing, which has a mean area under the ROC curve of {model.target.chance}."


_SOURCES = 50


def text_warnings(model: Any, dev: Sequence[Any]) -> Iterator[str]:
    """Warnings about the texts that the model writes for some sources of dev."""
    pairs = as_pairs(dev[:_SOURCES])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliablePrediction)
        written = model.write([source for source, _ in pairs])
    texts = {"" if each is None else each.text for each in written}
    if texts == {""}:
        yield "It writes nothing for any source of dev."
    elif len(texts) == 1 and len({target for _, target in pairs}) > 1:
        yield f"It writes the same for every source of dev: {texts.pop()!r:.60}."
