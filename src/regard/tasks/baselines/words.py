"""A tagger that counts: the most frequent label of a word, or of its longest known suffix."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from regard.tasks.baselines.baseline import Baseline
from regard.tasks.examples import Pair
from regard.tasks.judging.evaluation import Evaluation, evaluate_labels

__all__ = ["CountingTagger"]

_LONGEST_SUFFIX = 5
# With fewer words of a suffix, a single rare one would decide.
_LEAST = 2
_DIGIT = re.compile(r"\d")


class CountingTagger(Baseline):
    """The most frequent label of a word after the label before, of the word, of its longest known suffix, or of all.

    Source: after Brants 2000, TnT (arXiv cs/0003055), section 2.3, for suffixes.

    Example:
        >>> tagger = CountingTagger()
        >>> tagger.fit([(["I", "walked"], ["PRON", "VERB"]), (["you", "talked"], ["PRON", "VERB"])])
        >>> tagger.tag(["I", "jumped"])
        ['PRON', 'VERB']
    """

    name = "counts of words and suffixes"

    def __init__(self) -> None:
        self._counts: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)

    def fit(self, pairs: Sequence[Pair]) -> None:
        for words, labels in pairs:
            before = ""
            for word, label in zip(words, labels, strict=True):
                if label is not None:
                    for known in _contexts(word, before):
                        self._counts[known][label] += 1
                before = label or ""

    def tag(self, words: Sequence[str]) -> list[str]:
        """A label for each word."""
        labels: list[str] = []
        for word in words:
            before = labels[-1] if labels else ""
            found = (self._counts[known] for known in _contexts(word, before) if self._is_known(known))
            likely = next(found, Counter({"": 1}))
            labels.append(max(likely, key=lambda label: (likely[label], label)))
        return labels

    def _is_known(self, context: tuple[str, ...]) -> bool:
        least = _LEAST if context[:1] == ("suffix",) else 1
        return context in self._counts and self._counts[context].total() >= least

    def evaluate(self, pairs: Sequence[Pair]) -> Evaluation:
        both = [
            [(label, said) for label, said in zip(labels, self.tag(words), strict=True) if label is not None]
            for words, labels in pairs
        ]
        true, given = ([[pair[side] for pair in row] for row in both] for side in (0, 1))
        return evaluate_labels(true, given)


def _contexts(word: str, before: str) -> Iterator[tuple[str, ...]]:
    """What a label is counted for, the most particular first."""
    yield "after", before, word
    yield "word", word
    yield "folded", word.casefold()
    ending, capital = _DIGIT.sub("0", word[-_LONGEST_SUFFIX:]).casefold(), str(word[:1].isupper())
    for size in range(len(ending), 0, -1):
        yield "suffix", ending[-size:], capital
    yield ()
