"""Baselines of models that write texts: rules of affixes, rules of letters, the text of the most similar source."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.extras import require
from regard.tasks.baselines.affixes import AffixRules, held_out
from regard.tasks.baselines.baseline import Baseline
from regard.tasks.baselines.features import as_text
from regard.tasks.baselines.letters import LetterRules
from regard.tasks.examples import Pair, spread
from regard.tasks.judging.evaluation import Evaluation
from regard.tasks.seq2seq.evaluation import evaluate_texts
from regard.tasks.seq2seq.measures import TEXT_MEASURES
from regard.tasks.seq2seq.settings import Seq2SeqSettings

__all__ = ["PairsBaseline"]

_BATCH = 200
_LONGEST = 30
_CHOSEN_ON = 10_000


class PairsBaseline(Baseline):
    """Rules of affixes or of letters, or the text of the most similar source; some training examples decide which.

    Sources are similar by tf-idf of their words or, for single words, of n-grams of characters. Rules of letters are
    tried for sources of up to 30 characters on average.

    Args:
        task: has the measure.

    Example:
        >>> baseline = PairsBaseline(Seq2SeqSettings(measure="word error rate"))
        >>> baseline.fit([("walk", "walked"), ("talk", "talked"), ("try", "tried"), ("cry", "cried")] * 3)
        >>> baseline.write(["balk", "dry"])
        ['balked', 'dried']
    """

    name = "rules of affixes, rules of letters or the text of the most similar source"

    def __init__(self, task: Seq2SeqSettings):
        self._task = task
        self._fitted: Any = None

    def fit(self, pairs: Sequence[Pair]) -> None:
        pairs = [(as_text(source), text) for source, text in pairs]
        kept, held = held_out(spread(pairs, _CHOSEN_ON))
        sources, right = [source for source, _ in held], [[text] for _, text in held]
        short = sum(len(source) for source in sources) <= _LONGEST * len(sources)
        kinds = (AffixRules, _MostSimilar, LetterRules) if short else (AffixRules, _MostSimilar)
        scores = {kind: evaluate_texts(self._task, kind(kept or pairs).write(sources), right).score for kind in kinds}
        falls = TEXT_MEASURES[self._task.measure].measure.falls
        best = min(kinds, key=lambda kind: scores[kind] if falls else -scores[kind])
        self._fitted, self.name = best(pairs), best.name

    def write(self, sources: Sequence[Any]) -> list[str]:
        """A text for each source."""
        return self._fitted.write([as_text(source) for source in sources])

    def evaluate(self, pairs: Sequence[Pair]) -> Evaluation:
        from regard.tasks.seq2seq.model import grouped

        sources, right = zip(*grouped(pairs), strict=True)
        return evaluate_texts(self._task, self.write(sources), right)


class _MostSimilar:
    name = "the text of the most similar source"

    def __init__(self, pairs: Sequence[Pair]):
        self._texts = [text for _, text in pairs]
        text = require("sklearn.feature_extraction.text", extra="train")
        of_words = 2 * sum(len(source.split()) > 1 for source, _ in pairs) > len(pairs)
        how = {"token_pattern": r"\S+"} if of_words else {"analyzer": "char_wb", "ngram_range": (2, 4)}
        # Hashed, as a vocabulary may be empty.
        self._vectorizer = text.HashingVectorizer(**how, n_features=2**18, alternate_sign=False, norm=None)
        self._weighting = text.TfidfTransformer(sublinear_tf=True)
        counts = self._vectorizer.transform([source for source, _ in pairs])
        self._known = self._weighting.fit_transform(counts).T.tocsr()

    def write(self, sources: Sequence[str]) -> list[str]:
        found = self._weighting.transform(self._vectorizer.transform(sources))
        return [
            self._texts[int(place)]
            for first in range(0, len(sources), _BATCH)
            for place in np.asarray((found[first : first + _BATCH] @ self._known).argmax(1)).ravel()
        ]
