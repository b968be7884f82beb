"""Measures of generated texts: each text is reduced to a few counts, and the score is computed from their sums.

The scores of all bootstrap resamples are then one matrix product, without comparing texts again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from regard.extras import require
from regard.tasks.judging.measure import Measure

__all__ = ["TEXT_MEASURES", "TOKENIZERS", "TextMeasure"]

TOKENIZERS = ("13a", "zh", "char", "intl", "none")
"""The tokenizers of sacrebleu."""


@dataclass(frozen=True)
class TextMeasure:
    """A measure of generated texts, each of which is compared with one or several right ones.

    Args:
        measure: its name, its format and its direction.
        counts: (text, right texts, settings) -> counts; if several texts are right, the nearest one is compared. The
            settings are those of sacrebleu: tokenize, lowercase.
        figure: computes the score from the sums of the counts over all texts.
        counted: whether the score is the share of texts whose first count is 1 instead of 0.
    """

    measure: Measure
    counts: Callable[[str, Sequence[str], dict[str, Any]], Sequence[float]]
    figure: Callable[[Sequence[float]], float]
    counted: bool = False


def _bleu_counts(text: str, right: Sequence[str], settings: dict[str, Any]) -> list[float]:
    """The numbers of right n-grams and of all n-grams, for n from 1 to 4, and the lengths of both texts."""
    score = _bleu(**settings).sentence_score(text, list(right))
    return [*score.counts, *score.totals, score.sys_len, score.ref_len]


@cache
def _bleu(**settings: Any) -> Any:
    # The counts don't depend on smoothing and effective order, which a single sentence needs.
    return require("sacrebleu.metrics", extra="train").BLEU(effective_order=True, **settings)


def _bleu_figure(sums: Sequence[float]) -> float:
    compute = require("sacrebleu.metrics", extra="train").BLEU.compute_bleu
    whole = [round(each) for each in sums]
    return compute(whole[:4], whole[4:8], whole[8], whole[9], smooth_method="exp").score


def _edits(split: Callable[[str], list[str]]) -> Callable[[str, Sequence[str], dict[str, Any]], list[float]]:
    def counts(text: str, right: Sequence[str], settings: dict[str, Any]) -> list[float]:
        pairs = [(_distance(split(text), split(each)), len(split(each))) for each in right]
        return list(map(float, min(pairs, key=lambda pair: pair[0] / max(pair[1], 1))))

    return counts


def _distance(given: list[str], right: list[str]) -> int:
    """The edit distance: the number of insertions, deletions and substitutions."""
    if not given or not right:
        return len(given) + len(right)
    # Each piece becomes one word for jiwer, even if it contains spaces.
    numbers = {piece: str(place) for place, piece in enumerate(dict.fromkeys([*given, *right]))}
    said, wanted = (" ".join(numbers[piece] for piece in pieces) for pieces in (given, right))
    found = require("jiwer", extra="train").process_words(wanted, said)
    return found.substitutions + found.deletions + found.insertions


def _share(sums: Sequence[float]) -> float:
    return sums[0] / max(sums[1], 1.0)


def _wrong(text: str, right: Sequence[str], settings: dict[str, Any]) -> list[float]:
    return [float(text not in right), 1.0]


TEXT_MEASURES = {
    "bleu": TextMeasure(Measure("BLEU", digits=2), _bleu_counts, _bleu_figure),
    "word error rate": TextMeasure(
        Measure("word error rate", share=True, falls=True), _edits(lambda text: text.split()), _share
    ),
    "character error rate": TextMeasure(Measure("character error rate", share=True, falls=True), _edits(list), _share),
    "error": TextMeasure(Measure("error", share=True, falls=True), _wrong, _share, counted=True),
}
"""The measures of texts by name. "error" is the share of texts that aren't right as a whole."""
