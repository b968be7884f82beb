"""Evaluation of a tagger's labels: accuracy with its interval, figures for each label, confusions."""

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from regard.errors import ArgumentError
from regard.extras import require
from regard.tasks.judging.evaluation import Evaluation, LabelScore
from regard.tasks.judging.intervals import interval_of_share
from regard.tasks.judging.measure import ACCURACY

__all__ = ["evaluate_labels"]


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
