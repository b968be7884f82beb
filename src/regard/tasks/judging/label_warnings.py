"""Warnings about a tagger or a classifier that was just trained: what it predicts is no better than a guess."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["label_warnings"]


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
