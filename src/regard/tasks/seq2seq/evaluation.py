"""Evaluation of generated texts: the recipe's measure, its interval, and further figures."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.extras import require
from regard.tasks.judging.evaluation import Evaluation
from regard.tasks.judging.intervals import interval_of_share, interval_of_sums
from regard.tasks.seq2seq.measures import TEXT_MEASURES
from regard.tasks.seq2seq.settings import Seq2SeqSettings

__all__ = ["evaluate_texts"]


def evaluate_texts(
    task: Seq2SeqSettings, texts: Sequence[str], right: Sequence[Sequence[str]], *, thorough: bool = False
) -> Evaluation:
    """Compare generated texts with the right ones.

    Args:
        task: has the measure and its settings.
        texts: the generated texts.
        right: the right texts for each.
        thorough: with further figures; for BLEU, chrF and sacrebleu's signature.

    Raises:
        MissingExtraError: sacrebleu or jiwer is not installed.

    Example:
        >>> task = Seq2SeqSettings(measure="word error rate")
        >>> evaluate_texts(task, ["a saw", "saw"], [["a cat"], ["saw", "saw it"]]).score
        0.3333333333333333
    """
    measure = TEXT_MEASURES[task.measure]
    settings = {"tokenize": task.tokenize, "lowercase": task.lowercase}
    counts = np.array([measure.counts(text, known, settings) for text, known in zip(texts, right, strict=True)])
    score = float(measure.figure(counts.sum(0)))
    if measure.counted:
        interval, method = interval_of_share(counts[:, 0] > 0, called=("", "examples"))
    else:
        interval, method = interval_of_sums(counts, measure.figure)
    more = _beside_bleu(texts, right, settings) if thorough and task.measure == "bleu" else {}
    return Evaluation(measure.measure.name, score, interval, method, len(counts), more=more)


def _beside_bleu(texts: Sequence[str], right: Sequence[Sequence[str]], settings: dict[str, Any]) -> dict[str, Any]:
    metrics = require("sacrebleu.metrics", extra="train")
    most = max(map(len, right))
    # Sacrebleu takes a list of first right texts, one of second right texts, and so on, with None for missing ones.
    columns = [[known[place] if place < len(known) else None for known in right] for place in range(most)]
    bleu, chrf = metrics.BLEU(**settings), metrics.CHRF(lowercase=settings["lowercase"])
    bleu.corpus_score(list(texts), columns)
    return {"chrF": chrf.corpus_score(list(texts), columns).score, "signature": str(bleu.get_signature())}
