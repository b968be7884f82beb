"""Baselines of models that write texts: the text of the most similar source, and rules of suffixes."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.extras import require
from regard.tasks.baselines.baseline import Baseline
from regard.tasks.baselines.features import as_text
from regard.tasks.examples import Pair
from regard.tasks.judging.evaluation import Evaluation
from regard.tasks.seq2seq.evaluation import evaluate_texts
from regard.tasks.seq2seq.measures import TEXT_MEASURES
from regard.tasks.seq2seq.settings import Seq2SeqSettings

__all__ = ["PairsBaseline"]

_LONGEST_SUFFIX = 24
_BATCH = 200
_HELD = 300


class PairsBaseline(Baseline):
    """Rules of suffixes, or the text of the most similar source; some of the training examples decide which.

    A rule replaces the end of a source: of "walk" -> "walked", the rules "" -> "ed", "k" -> "ked", ... The rule of the
    longest suffix that is known applies. Sources are similar by tf-idf of their words or, for single words, of n-grams
    of characters.

    Args:
        task: has the measure.

    Example:
        >>> baseline = PairsBaseline(Seq2SeqSettings(measure="word error rate"))
        >>> baseline.fit([("walk", "walked"), ("talk", "talked"), ("try", "tried"), ("cry", "cried")] * 3)
        >>> baseline.write(["balk", "dry"])
        ['balked', 'dried']
    """

    name = "rules of suffixes"

    def __init__(self, task: Seq2SeqSettings):
        self._task = task
        self._fitted: Any = None

    def fit(self, pairs: Sequence[Pair]) -> None:
        pairs = [(as_text(source), text) for source, text in pairs]
        step = max(10, len(pairs) // _HELD)
        held, kept = pairs[::step], [pair for place, pair in enumerate(pairs) if place % step]
        sources, right = [source for source, _ in held], [[text] for _, text in held]
        scores = {
            kind: evaluate_texts(self._task, kind(kept or pairs).write(sources), right).score
            for kind in (_Rules, _MostSimilar)
        }
        measure = TEXT_MEASURES[self._task.measure].measure
        best = _MostSimilar if measure.better(scores[_MostSimilar], than=scores[_Rules]) else _Rules
        self._fitted, self.name = best(pairs), best.name

    def write(self, sources: Sequence[Any]) -> list[str]:
        """A text for each source."""
        return self._fitted.write([as_text(source) for source in sources])

    def evaluate(self, pairs: Sequence[Pair]) -> Evaluation:
        from regard.tasks.seq2seq.model import grouped

        sources, right = zip(*grouped(pairs), strict=True)
        return evaluate_texts(self._task, self.write(sources), right)


class _Rules:
    name = "rules of suffixes"

    def __init__(self, pairs: Sequence[Pair]):
        self._rules: defaultdict[str, Counter[tuple[int, str]]] = defaultdict(Counter)
        for source, text in pairs:
            common = _common(source, text)
            for size in range(len(source) - common, min(len(source), _LONGEST_SUFFIX) + 1):
                suffix = source[len(source) - size :]
                # What is cut off, and what is put in its place.
                self._rules[suffix][len(source) - common, text[common:]] += 1

    def write(self, sources: Sequence[str]) -> list[str]:
        return [self._written(source) for source in sources]

    def _written(self, source: str) -> str:
        for size in range(min(len(source), _LONGEST_SUFFIX), -1, -1):
            if (rules := self._rules.get(source[len(source) - size :])) is not None:
                cut, put = max(rules, key=lambda rule: (rules[rule], rule))
                return source[: len(source) - cut] + put
        return source


def _common(source: str, text: str) -> int:
    """The number of characters at which two texts begin alike."""
    places = enumerate(zip(source, text, strict=False))
    return next((place for place, (one, other) in places if one != other), min(len(source), len(text)))


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
