"""The encoder of words: it maps each word to the ids of its features, and caches them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from regard.errors import ArgumentError, ModelError
from regard.inputs.batch import Batch, pad_labels
from regard.inputs.text.character_folding import FOLDINGS
from regard.inputs.text.sentences import as_sentences
from regard.inputs.text.special_ids import numbered
from regard.inputs.text.word_features import WordFeatures

__all__ = ["WordEncoder"]

UNKNOWN = 1
"""The id of out-of-vocabulary words. Id 0 is padding; the ids of the vocabulary start at 2."""

_MOST_CACHED = 1 << 16  # about 12 MB, so that the memory of a long-running service stays bounded


class WordEncoder:
    """Encodes words as ids of features: an id for each known word, and hashed affixes, n-grams and shapes for any word.

    A row of ids consists of the word (1 or 2 ids), prefixes and suffixes, shapes, and n-grams, as many as the word of
    the batch with the most has; `features.columns` gives the number of each. The ids of a word are computed once and
    cached.

    Args:
        features: the features of a word.
        vocabulary: the distinct spellings that have an id of their own; the ids start at 2.

    Raises:
        ArgumentError: the vocabulary has a word twice.

    Example:
        >>> encoder = WordEncoder.fit([["I", "saw", "a", "saw"]], minimum_count=2)
        >>> encoder.vocabulary
        ('saw',)
        >>> batch = encoder.encode([["I", "saw", "a", "saw", "."], ["saw"]])
        >>> batch.vectors[:, :, 0].tolist(), batch.lengths.tolist()
        ([[1, 2, 1, 2, 1], [2, 0, 0, 0, 0]], [5, 1])
    """

    def __init__(self, features: WordFeatures, vocabulary: Sequence[str]):
        self.features = features
        self.vocabulary = tuple(vocabulary)
        self._ids = numbered("vocabulary", self.vocabulary, noun="word", first=UNKNOWN + 1)
        self._fold = FOLDINGS[features.fold]
        self._clear_cache()

    @classmethod
    def fit(
        cls, sentences: Iterable[Sequence[str]], *, features: WordFeatures | None = None, **changes: Any
    ) -> "WordEncoder":
        """Build the vocabulary from the words that are frequent enough, the most frequent first.

        Args:
            sentences: the training sentences, each a sequence of words.
            features: the features of a word; by default `WordFeatures()`.
            **changes: fields of `WordFeatures` to set, such as `minimum_count=1`; not together with `features`.

        Raises:
            ArgumentError: both `features` and `changes`, or an invalid field.
        """
        if features is not None and changes:
            raise ArgumentError(f"give `features` or {', '.join(f'`{name}`' for name in changes)}, not both.")
        features = features if features is not None else WordFeatures.from_json(changes)
        fold = FOLDINGS[features.fold]
        counts: Counter[str] = Counter()
        for word, count in Counter(word for sentence in sentences for word in sentence).items():
            # A set, because with case "both" a word in lower case has only one spelling.
            for spelling in set(features.spellings(fold(word))):
                counts[spelling] += count
        # to_json separates words by newlines, so a word that contains one can't be in the vocabulary.
        kept = [word for word, count in counts.items() if count >= features.minimum_count and "\n" not in word]
        return cls(features, sorted(kept, key=lambda word: (-counts[word], word)))

    @property
    def word_ids(self) -> int:
        """The number of ids of words: the vocabulary, the unknown word and padding."""
        return len(self.vocabulary) + UNKNOWN + 1

    def knows(self, word: str) -> bool:
        """Whether a word is in the vocabulary.

        Example:
            >>> WordEncoder.fit([["saw"]], minimum_count=1).knows("Saw")
            True
        """
        return any(spelling in self._ids for spelling in self.features.spellings(self._fold(word)))

    def count_unknown(self, words: Sequence[str]) -> int:
        """The number of out-of-vocabulary words among these.

        Example:
            >>> WordEncoder.fit([["saw"]], minimum_count=1).count_unknown(["I", "saw", "a", "Saw"])
            2
        """
        # Words that aren't cached are only looked up: their other features are computed when they are encoded.
        cached, unknown = self._rows_by_word, self._unknown
        return sum(word in unknown if word in cached else not self.knows(word) for word in words)

    def encode(self, sentences: Sequence[Sequence[str]], labels: Sequence[Sequence[int]] | None = None) -> Batch:
        """The ids of the features of every word, padded with id 0.

        Args:
            sentences: sequences of words, which may be empty.
            labels: the labels of the words of each sentence.

        Raises:
            ArgumentError: a sentence is a string (a text has to be split first), or the labels don't match.
        """
        sentences = as_sentences(sentences)
        lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64, device="cpu")
        rows = self._rows([word for sentence in sentences for word in sentence])
        # Row 0 of the table is padding: its ids are all 0.
        padded = np.zeros((len(sentences), int(lengths.max()) if len(sentences) else 0), dtype=np.int64)
        padded[np.arange(padded.shape[1]) < lengths.numpy()[:, None]] = rows
        fixed = sum(self.features.columns.values())
        # At least one column of n-grams, even for the empty word alone: an embedding can't look up zero ids.
        longest = max(int(self._ngrams[rows].max(initial=0)), int(self.features.has_ngrams and len(rows) > 0))
        ids = torch.from_numpy(self._table[:, : fixed + longest][padded].astype(np.int64))
        return Batch(ids, lengths, None if labels is None else pad_labels(labels, lengths))

    def to_json(self) -> dict[str, Any]:
        """The encoder as a JSON object: the features, and the vocabulary as one string."""
        return {"features": self.features.to_json(), "vocabulary": "\n".join(self.vocabulary)}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "WordEncoder":
        """The encoder of the JSON object that `to_json` returned.

        Raises:
            ModelError: something is missing or invalid.

        Example:
            >>> encoder = WordEncoder.fit([["saw", "saw"]])
            >>> WordEncoder.from_json(encoder.to_json()).vocabulary
            ('saw',)
        """
        try:
            features, words = saved["features"], saved["vocabulary"]
            if not isinstance(features, dict) or not isinstance(words, str):
                raise TypeError("`features` must be an object and `vocabulary` a string")
            return cls(WordFeatures.from_json(features), words.split("\n") if words else ())
        except (KeyError, TypeError, ArgumentError) as error:
            raise ModelError(
                f"the saved word encoder can't be read ({type(error).__name__}: {error}). Save the model again."
            ) from error

    def _clear_cache(self) -> None:
        """Clear the cache, which then has only the row of padding."""
        self._rows_by_word: dict[str, int] = {}
        self._unknown: set[str] = set()
        width = sum(self.features.columns.values()) + self.features.most_ngrams
        self._table = np.zeros((1024, width), dtype=np.int32)
        self._ngrams = np.zeros(1024, dtype=np.int64)
        self._used = 1

    def _rows(self, words: list[str]) -> np.ndarray:
        """The row of each word in the table of ids."""
        rows = self._rows_by_word
        new = [word for word in dict.fromkeys(words) if word not in rows]
        if new and self._used + len(new) > _MOST_CACHED and self._used > 1:
            self._clear_cache()
            rows, new = self._rows_by_word, list(dict.fromkeys(words))
        for word in new:
            self._cache(word)
        return np.fromiter(map(rows.__getitem__, words), dtype=np.int64, count=len(words))

    def _cache(self, word: str) -> None:
        """Compute the ids of a word and cache them."""
        if self._used == len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
            self._ngrams = np.concatenate([self._ngrams, np.zeros_like(self._ngrams)])
        folded, features = self._fold(word), self.features
        ids = [self._ids.get(spelling, UNKNOWN) for spelling in features.spellings(folded)]
        if max(ids) == UNKNOWN:
            self._unknown.add(word)
        ngrams = features.ngrams(folded)
        ids += features.affixes(folded) + features.shapes(folded) + ngrams
        self._table[self._used, : len(ids)] = ids
        self._ngrams[self._used] = len(ngrams)
        self._rows_by_word[word] = self._used
        self._used += 1
