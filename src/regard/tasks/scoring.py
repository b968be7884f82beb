"""How good a tagger is: right labels among all words, with an interval, and where it goes wrong."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from regard.errors import ArgumentError
from regard.extras import require
from regard.tasks.calibration import Calibration
from regard.tasks.intervals import Interval, interval_of_share

__all__ = ["LabelScore", "Scores", "score_labels"]


@dataclass(frozen=True)
class LabelScore:
    """Precision, recall and their harmonic mean for one label, and how often it truly occurs."""

    precision: float
    recall: float
    f1: float
    words: int


@dataclass(frozen=True)
class Scores:
    """What `Tagger.evaluate` found.

    Args:
        accuracy: right words / all words.
        interval: between which the accuracy lies with 95 % confidence.
        method: how the interval was found, and of what: sentences were drawn anew; of a few, or where all are alike,
            it is Wilson's.
        words: words judged.
        sentences: sentences judged: those that have a word whose label is known.
        macro_f1: the mean F1 over the labels that truly occur.
        labels: label -> `LabelScore`, the labels that truly occur, most frequent first.
        confusions: (true label, label given, how often), most frequent first.
        roc_auc: where there are two labels, the area under the ROC curve: how often, of two items whose labels differ,
            the one with the second label (in alphabetical order) has the higher score for it. None of more labels, or
            where all items have the same.
        unseen_words: words whose form didn't occur in training; None if the training words aren't known.
        unseen_accuracy: the accuracy on those; None if there are none.
        calibration: how far the probabilities are from how often they come true.
        empty: sources that held nothing, which no answer was given for.
        seconds: how long tagging took, without judging; None if it wasn't timed.
    """

    accuracy: float
    interval: Interval
    method: str
    words: int
    sentences: int
    macro_f1: float
    labels: dict[str, LabelScore]
    confusions: tuple[tuple[str, str, int], ...]
    roc_auc: float | None = None
    unseen_words: int | None = None
    unseen_accuracy: float | None = None
    calibration: Calibration | None = None
    empty: int = 0
    seconds: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The scores as plain values."""
        return asdict(self)


def score_labels(
    true: Sequence[Sequence[str]],
    given: Sequence[Sequence[str]],
    *,
    seen: Sequence[Collection[bool]] | None = None,
    called: tuple[str, str] = ("sentences", "words"),
) -> Scores:
    """Compare the labels given with the true ones.

    Args:
        true: the true labels of each sentence.
        given: the labels that the tagger gave.
        seen: whether each word occurred in training, for the accuracy on the others.
        called: what to call sources and their items, where they are something else.

    Raises:
        ArgumentError: there is no word to judge, or the shapes differ.
        MissingExtraError: scikit-learn is not installed.

    Example:
        >>> scores = score_labels([["DET", "NOUN"], ["VERB"]], [["DET", "VERB"], ["VERB"]])
        >>> round(scores.accuracy, 4), scores.confusions
        (0.6667, (('NOUN', 'VERB', 1),))
    """
    if [len(row) for row in true] != [len(row) for row in given]:
        raise ArgumentError("`given` must hold one label for each word of `true`, but the lengths differ.")
    flat_true = [label for row in true for label in row]
    flat_given = [label for row in given for label in row]
    if not flat_true:
        raise ArgumentError("`true` must hold at least one word to judge, but holds none.")
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
    unseen_words = unseen_accuracy = None
    if seen is not None:
        unseen = ~np.array([known for row in seen for known in row], dtype=bool)
        unseen_words = int(unseen.sum())
        unseen_accuracy = float(right[unseen].mean()) if unseen_words else None
    return Scores(
        accuracy=float(right.mean()),
        interval=interval,
        method=method,
        words=len(flat_true),
        sentences=len(lengths),
        macro_f1=float(np.mean(f1)),
        labels=by_label,
        confusions=tuple((a, b, n) for (a, b), n in sorted(wrong.items(), key=lambda item: (-item[1], item[0]))),
        unseen_words=unseen_words,
        unseen_accuracy=unseen_accuracy,
    )
