"""Evaluations: a score with its confidence interval, and other figures for each kind of target."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.extras import require
from regard.tasks.calibration import Calibration
from regard.tasks.intervals import Interval, interval_of_share, resampled
from regard.tasks.measure import ACCURACY
from regard.tasks.targets import Label, Regression, Target

__all__ = ["Evaluation", "LabelScore", "evaluate_predictions", "saved_evaluation"]

_RESAMPLES = 1000


@dataclass(frozen=True)
class LabelScore:
    """Precision, recall and their harmonic mean for one label, and how often it truly occurs."""

    precision: float
    recall: float
    f1: float
    examples: int


@dataclass(frozen=True)
class Evaluation:
    """What a model's `evaluate` found.

    Args:
        measure: what the score is.
        score: the figure.
        interval: between which it lies with 95 % confidence; None where there are too few examples to say.
        method: how the interval was found, and of what: of examples; of a tagger sources, or, of a single one, its
            items.
        examples: how many were evaluated: those of which something is known; of a tagger, items.
        sources: of a tagger, the sources that these items are of; else None.
        macro_f1: the mean F1 over the labels that truly occur; None where answers are no labels.
        labels: of a tagger of labels, label -> `LabelScore`, the labels that truly occur, most frequent first.
        confusions: (true label, label given, how often), most frequent first; of labels only.
        roc_auc: of a tagger of two labels, the area under the ROC curve: how often, of two items whose labels differ,
            the one with the second label (in alphabetical order) has the higher score for it. None of others, and
            where all items have the same label.
        out_of_vocabulary: of a tagger of words, how many have a form that training never had; None of others.
        out_of_vocabulary_accuracy: the accuracy on those; None if there are none.
        more: what else is usually told, by name: the chrF of translations.
        r2: of numbers, the share of their variance that is explained: 1 is perfect, 0 what their mean would do, and
            less is worse; None of others, and where the numbers wanted are all the same.
        spearman: of numbers, Spearman's rank correlation with those wanted: 1 if their order is right, -1 if it is
            turned round; None of others, and where it is undefined: either are all the same.
        calibration: how far the probabilities are from how often they come true; None where there are none.
        empty: sources that held nothing, which no answer was given for.
        seconds: how long prediction took, without the evaluation; None if it wasn't timed.
    """

    measure: str
    score: float
    interval: Interval
    method: str
    examples: int
    sources: int | None = None
    macro_f1: float | None = None
    labels: Mapping[str, LabelScore] = field(default_factory=dict)
    confusions: tuple[tuple[str, str, int], ...] = ()
    roc_auc: float | None = None
    out_of_vocabulary: int | None = None
    out_of_vocabulary_accuracy: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    r2: float | None = None
    spearman: float | None = None
    calibration: Calibration | None = None
    empty: int = 0
    seconds: float | None = None

    @property
    def accuracy(self) -> float:
        """The score, where it is an accuracy.

        Raises:
            AttributeError: the score is another measure.
        """
        if self.measure != ACCURACY.name:
            raise AttributeError(f"this evaluation has no accuracy: its score is the {self.measure}")
        return self.score

    def to_json(self) -> dict[str, Any]:
        """The evaluation as plain values."""
        return asdict(self)


_FORMER_NAMES = {
    "accuracy": "score",
    "words": "examples",
    "sentences": "sources",
    "unseen_words": "out_of_vocabulary",
    "unseen_accuracy": "out_of_vocabulary_accuracy",
}


def saved_evaluation(values: Mapping[str, Any]) -> dict[str, Any]:
    """What the description of a model holds of an evaluation, under today's names.

    Earlier versions saved the evaluation of a tagger's labels under names of its own.

    Args:
        values: one of a description's scores.

    Example:
        >>> saved_evaluation({"accuracy": 0.5, "words": 9})
        {'measure': 'accuracy', 'score': 0.5, 'examples': 9, 'sources': None}
    """
    if "measure" in values or "accuracy" not in values:
        return dict(values)
    renamed = {_FORMER_NAMES.get(name, name): value for name, value in values.items()}
    return {"measure": ACCURACY.name, **renamed, "sources": renamed.get("sources")}


def evaluate_predictions(
    target: Target, given: Tensor, wanted: Tensor, *, lengths: Sequence[int] | None = None
) -> Evaluation:
    """Compare a network's outputs with the targets.

    Args:
        target: what the numbers mean.
        given: (thing, outputs) the numbers.
        wanted: (thing, ...) the targets, some of them known.
        lengths: where the things are the items of sources, one source after the other, how many each has: items of
            one source are right or wrong together, so sources are drawn for the interval; of one alone, its items.

    Example:
        >>> found = evaluate_predictions(Label(("a", "b")), torch.eye(2), torch.tensor([0, 0]))
        >>> found.score, found.confusions
        (0.5, (('a', 'b', 1),))
    """
    known = target.known(wanted)
    given, wanted = given[known], wanted[known]
    counts = [] if lengths is None else [count for own in known.split([*lengths]) if (count := int(own.sum()))]
    if isinstance(target, Label):
        right = (given.argmax(-1) == wanted).numpy()
        interval, method = interval_of_share(
            right, np.array(counts) if counts else None, ("sources", "examples" if lengths is None else "items")
        )
    else:
        called = "examples" if lengths is None else "sources" if len(counts) > 1 else "items"
        sources = torch.arange(len(given)).split(counts) if called == "sources" else ()

        def draw(count: int) -> list[float]:
            # One after the other: a thousand times the frames of an hour would take gigabytes.
            return [target.score(given[each], wanted[each]) for each in _drawn(count, sources)]

        interval, method = resampled(len(sources) or len(given), draw, called)
    more: dict[str, Any] = {"calibration": target.calibration(given, wanted)}
    if isinstance(target, Label):
        more |= _of_labels(target, given, wanted)
    elif isinstance(target, Regression):
        more |= {"r2": _explained(given[:, 0], wanted), "spearman": _rank_correlation(given[:, 0], wanted)}
    score = target.score(given, wanted)
    count = None if lengths is None else len(counts)
    return Evaluation(target.measure.name, score, interval, method, len(given), count, **more)


def _drawn(count: int, sources: Sequence[Tensor]) -> Iterator[Tensor]:
    """As many as there are, again and again: of the things, or of the sources that hold them, if there are any."""
    generator = np.random.default_rng(0)
    for _ in range(_RESAMPLES):
        chosen = generator.integers(count, size=count)
        yield torch.cat([sources[each] for each in chosen.tolist()]) if sources else torch.from_numpy(chosen)


def _explained(given: Tensor, wanted: Tensor) -> float | None:
    if len(wanted.unique()) < 2:
        return None
    return float(require("sklearn.metrics", extra="train").r2_score(wanted.double(), given.double()))


def _rank_correlation(given: Tensor, wanted: Tensor) -> float | None:
    if len(given.unique()) < 2 or len(wanted.unique()) < 2:
        return None
    # SciPy comes with scikit-learn.
    return float(require("scipy.stats", extra="train").spearmanr(given.double(), wanted.double()).statistic)


def _of_labels(target: Label, given: Tensor, wanted: Tensor) -> dict[str, Any]:
    best = given.argmax(-1)
    known = wanted >= 0
    kinds, counts = torch.stack([wanted[known], best[known]]).unique(dim=1, return_counts=True)
    table = torch.zeros(len(target.names), len(target.names), dtype=torch.int64)
    table[kinds[0], kinds[1]] = counts
    true, found, right = table.sum(1), table.sum(0), table.diagonal()
    f1 = 2 * right / (true + found).clamp(min=1)
    wrong = [
        (target.names[a], target.names[b], int(table[a, b])) for a, b in (table - torch.diag(right)).nonzero().tolist()
    ]
    return {
        "macro_f1": float(f1[true > 0].double().mean()) if known.any() else 0.0,
        "confusions": tuple(sorted(wrong, key=lambda each: (-each[2], each))),
    }
