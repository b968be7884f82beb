"""How good written texts are: each text gives a few counts, and their sums over all texts give the figure.

So a figure over resampled texts, for its interval, costs a matrix product and no new comparison.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from regard.extras import require
from regard.tasks.measure import Measure

__all__ = ["TEXT_MEASURES", "TOKENIZERS", "TextMeasure"]

TOKENIZERS = ("13a", "zh", "char", "intl", "none")
"""How sacrebleu cuts texts into what it compares."""


@dataclass(frozen=True)
class TextMeasure:
    """A figure over texts, each compared with one or several right ones.

    Args:
        measure: its name, and which of two is better.
        counts: (text, right texts, settings) -> numbers; where several are right, the nearest counts. The settings are
            those of sacrebleu: tokenize, lowercase.
        figure: the sums of the numbers over all texts -> the figure.
        counted: whether it is the share of texts whose first number is 1, not 0.
    """

    measure: Measure
    counts: Callable[[str, Sequence[str], dict[str, Any]], Sequence[float]]
    figure: Callable[[Sequence[float]], float]
    counted: bool = False


def _bleu_counts(text: str, right: Sequence[str], settings: dict[str, Any]) -> list[float]:
    """How many n-grams are right and how many there are, for n from 1 to 4, and both lengths."""
    score = _bleu(**settings).sentence_score(text, list(right))
    return [*score.counts, *score.totals, score.sys_len, score.ref_len]


@cache
def _bleu(**settings: Any) -> Any:
    # On the smoothing and the order, which a single sentence needs, the counts don't depend.
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
    """How many pieces have to be put in, taken out or replaced."""
    if not given or not right:
        return len(given) + len(right)
    # Each piece as one word for jiwer, whatever it holds.
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
