"""Evaluations: a score with its confidence interval, and other figures for each kind of target."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.extras import require
from regard.tasks.judging.calibration import Calibration
from regard.tasks.judging.intervals import Interval, interval_of_share, resampled
from regard.tasks.judging.measure import ACCURACY
from regard.tasks.judging.moments import Moments
from regard.tasks.judging.out_of_distribution import Difference
from regard.tasks.targets import Target

__all__ = ["Evaluation", "LabelScore", "evaluate_labels", "evaluate_predictions", "saved_evaluation"]

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
    """The result of a model's `evaluate`.

    Args:
        measure: the name of the measure.
        score: its value.
        interval: its 95 % confidence interval; None if there are too few examples.
        method: the method of the interval, and the units that it resamples or counts: examples; for a tagger sources,
            or the items of a single source.
        examples: the number of evaluated examples, those with a known target; for a tagger, of items.
        sources: for a tagger, the number of sources that these items are from; else None.
        macro_f1: the mean F1 over the labels that occur among the targets; None for targets that aren't labels.
        labels: for a tagger of labels, label -> `LabelScore` of the labels that occur, the most frequent first.
        confusions: (true label, predicted label, count), the most frequent first; for labels only.
        roc_auc: for a tagger with two labels, the area under the ROC curve: of two items with different labels, the
            probability that the one with the second label (in alphabetical order) has the higher score for it. None for
            other models, and if all items have the same label.
        out_of_vocabulary: for a tagger of words, the number of words that don't occur in training; else None.
        out_of_vocabulary_accuracy: the accuracy on these words; None if there are none.
        more: further figures by name, such as the chrF of translations.
        r2: for numbers, the coefficient of determination: 1 is perfect, 0 is as good as always predicting the mean, and
            less is worse. None for other targets, and if all true numbers are equal.
        spearman: for numbers, Spearman's rank correlation with the true numbers: 1 for the same order, -1 for the
            reverse order. None for other targets, and if all true or all predicted numbers are equal.
        calibration: the calibration of the probabilities; None for predictions without probabilities.
        doubt: the moments of one minus the probability of what is predicted, by which the confidence on another set is
            compared; None for predictions without probabilities.
        unlike: in what the sources as a whole are unlike the model's own data, such as a mean of unknown words that one
            in a thousand other draws of the same data exceeds; empty if in nothing.
        empty: the number of empty sources, which have no prediction.
        seconds: the time for prediction, without the evaluation; None if it wasn't measured.
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
    doubt: Moments | None = None
    unlike: tuple[Difference, ...] = ()
    empty: int = 0
    seconds: float | None = None

    @property
    def accuracy(self) -> float:
        """The score, if it is an accuracy.

        Raises:
            AttributeError: the score is another measure.
        """
        if self.measure != ACCURACY.name:
            raise AttributeError(f"this evaluation has no accuracy: its score is the {self.measure}")
        return self.score

    def to_json(self) -> dict[str, Any]:
        """The evaluation as plain values, without the moments."""
        return {name: value for name, value in asdict(self).items() if name != "doubt"}


_FORMER_NAMES = {
    "accuracy": "score",
    "words": "examples",
    "sentences": "sources",
    "unseen_words": "out_of_vocabulary",
    "unseen_accuracy": "out_of_vocabulary_accuracy",
}


def saved_evaluation(values: Mapping[str, Any]) -> dict[str, Any]:
    """Read a saved evaluation, with the current names of its fields.

    Earlier versions used other names for the evaluation of a tagger's labels.

    Args:
        values: one of the scores in model.json.

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
        target: the kind of target, which decodes the outputs.
        given: (target, output), the outputs.
        wanted: (target, ...), the targets, which may be unknown.
        lengths: for targets of items, the number of items in each source. Items of one source depend on each other, so
            the interval resamples sources; if there is only one, it resamples items.

    Example:
        >>> from regard.tasks.targets import Label
        >>> found = evaluate_predictions(Label(("a", "b")), torch.eye(2), torch.tensor([0, 0]))
        >>> found.score, found.confusions
        (0.5, (('a', 'b', 1),))
    """
    known = target.known(wanted)
    given, wanted = given[known], wanted[known]
    counts = [] if lengths is None else [count for own in known.split([*lengths]) if (count := int(own.sum()))]
    if (right := target.hits(given, wanted)) is not None:
        interval, method = interval_of_share(
            right.numpy(), np.array(counts) if counts else None, ("sources", "examples" if lengths is None else "items")
        )
    else:
        called = "examples" if lengths is None else "sources" if len(counts) > 1 else "items"
        sources = torch.arange(len(given)).split(counts) if called == "sources" else ()

        def draw(count: int) -> list[float]:
            # One resample at a time: a thousand resamples of the frames of an hour would take gigabytes.
            return [target.score(given[each], wanted[each]) for each in _drawn(count, sources)]

        interval, method = resampled(len(sources) or len(given), draw, called)
    more = {"calibration": target.calibration(given, wanted), **target.figures(given, wanted)}
    score = target.score(given, wanted)
    count = None if lengths is None else len(counts)
    return Evaluation(target.measure.name, score, interval, method, len(given), count, **more)


def _drawn(count: int, sources: Sequence[Tensor]) -> Iterator[Tensor]:
    """Bootstrap resamples: the indices of targets, drawn one by one or, if `sources` are given, by source."""
    generator = np.random.default_rng(0)
    for _ in range(_RESAMPLES):
        chosen = generator.integers(count, size=count)
        yield torch.cat([sources[each] for each in chosen.tolist()]) if sources else torch.from_numpy(chosen)


def evaluate_labels(
    true: Sequence[Sequence[str]],
    given: Sequence[Sequence[str]],
    *,
    seen: Sequence[Collection[bool]] | None = None,
    called: tuple[str, str] = ("sentences", "words"),
) -> Evaluation:
    """Compare predicted labels with the true ones.

    Args:
        true: the true labels of each sentence.
        given: the predicted labels.
        seen: whether each word occurs in training, for the accuracy on the others.
        called: the plural nouns for sources and items.

    Raises:
        ArgumentError: there is no word to evaluate, or the shapes differ.
        MissingExtraError: scikit-learn is not installed.

    Example:
        >>> scores = evaluate_labels([["DET", "NOUN"], ["VERB"]], [["DET", "VERB"], ["VERB"]])
        >>> round(scores.accuracy, 4), scores.confusions
        (0.6667, (('NOUN', 'VERB', 1),))
    """
    if [len(row) for row in true] != [len(row) for row in given]:
        raise ArgumentError("`given` must hold one label for each word of `true`, but the lengths differ.")
    flat_true = [label for row in true for label in row]
    flat_given = [label for row in given for label in row]
    if not flat_true:
        raise ArgumentError("`true` must hold at least one word to evaluate, but holds none.")
    right = np.array([a == b for a, b in zip(flat_true, flat_given, strict=True)])
    lengths = np.array([len(row) for row in true if row])
    interval, method = interval_of_share(right, lengths, called)

    metrics = require("sklearn.metrics", extra="train")
    labels = [label for label, _ in sorted(Counter(flat_true).items(), key=lambda item: (-item[1], item[0]))]
    precision, recall, f1, words = metrics.precision_recall_fscore_support(
        flat_true, flat_given, labels=labels, zero_division=0.0
    )
    by_label = {
        label: LabelScore(float(precision[i]), float(recall[i]), float(f1[i]), int(words[i]))
        for i, label in enumerate(labels)
    }
    wrong = Counter((a, b) for a, b in zip(flat_true, flat_given, strict=True) if a != b)
    unknown = unknown_accuracy = None
    if seen is not None:
        new = ~np.array([known for row in seen for known in row], dtype=bool)
        unknown = int(new.sum())
        unknown_accuracy = float(right[new].mean()) if unknown else None
    return Evaluation(
        measure=ACCURACY.name,
        score=float(right.mean()),
        interval=interval,
        method=method,
        examples=len(flat_true),
        sources=len(lengths),
        macro_f1=float(np.mean(f1)),
        labels=by_label,
        confusions=tuple((a, b, n) for (a, b), n in sorted(wrong.items(), key=lambda item: (-item[1], item[0]))),
        out_of_vocabulary=unknown,
        out_of_vocabulary_accuracy=unknown_accuracy,
    )
