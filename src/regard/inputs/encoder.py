"""Words to ids of features, fast."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from regard.errors import ArgumentError, ModelError
from regard.inputs.batch import Batch, pad_labels
from regard.inputs.features import WordFeatures
from regard.inputs.folding import FOLDS
from regard.inputs.sentences import as_sentences

__all__ = ["WordEncoder"]

UNKNOWN = 1
"""The id of a word that has none of its own. Id 0 is padding; the vocabulary begins at 2."""

_MOST_TYPES = 1 << 16  # about 12 MB of remembered words; a service that tags for a year must not grow


class WordEncoder:
    """Words to ids of features: an id for each known word, hashed beginnings, endings, pieces and shape for any word.

    A row of ids reads: word (1 or 2 ids), prefixes and suffixes, shapes, then n-grams as many as the longest word of
    the batch has; `features.columns` tells where each begins. A word is looked at once, then remembered.

    Args:
        features: which features a word has.
        vocabulary: the spellings that have an id of their own, the first one id 2. They must differ.

    Raises:
        ArgumentError: the vocabulary names a word twice.

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
        self._ids = {word: index for index, word in enumerate(self.vocabulary, start=UNKNOWN + 1)}
        if len(self._ids) != len(self.vocabulary):
            twice = Counter(self.vocabulary).most_common(1)[0][0]
            raise ArgumentError(f"`vocabulary` must name each word once, but has {twice!r} more than once.")
        self._fold = FOLDS[features.fold]
        self._forget()

    @classmethod
    def fit(
        cls, sentences: Iterable[Sequence[str]], *, features: WordFeatures | None = None, **changes: Any
    ) -> "WordEncoder":
        """Learn the vocabulary: the words that come often enough, the most frequent first.

        Args:
            sentences: the training sentences, each a sequence of words.
            features: which features a word has; by default `WordFeatures()`.
            **changes: fields of `WordFeatures` to set, as `minimum_count=1`; not together with `features`.

        Raises:
            ArgumentError: both `features` and `changes`, or a field that can't be.
        """
        if features is not None and changes:
            raise ArgumentError(f"give `features` or {', '.join(f'`{name}`' for name in changes)}, not both.")
        features = features if features is not None else WordFeatures.from_json(changes)
        fold = FOLDS[features.fold]
        counts: Counter[str] = Counter()
        for word, count in Counter(word for sentence in sentences for word in sentence).items():
            # A set: with case "both", a word in lower case has one spelling, not two.
            for spelling in set(features.spellings(fold(word))):
                counts[spelling] += count
        # to_json ends each word with a newline, so a word that holds one can't be in the vocabulary.
        kept = [word for word, count in counts.items() if count >= features.minimum_count and "\n" not in word]
        return cls(features, sorted(kept, key=lambda word: (-counts[word], word)))

    @property
    def word_ids(self) -> int:
        """The size of the table of words: the vocabulary, the unknown word and padding."""
        return len(self.vocabulary) + UNKNOWN + 1

    def knows(self, word: str) -> bool:
        """Whether a word has an id of its own.

        Example:
            >>> WordEncoder.fit([["saw"]], minimum_count=1).knows("Saw")
            True
        """
        return any(spelling in self._ids for spelling in self.features.spellings(self._fold(word)))

    def unknown(self, words: Sequence[str]) -> int:
        """How many of these words have no id of their own.

        Example:
            >>> WordEncoder.fit([["saw"]], minimum_count=1).unknown(["I", "saw", "a", "Saw"])
            2
        """
        # Of a word that isn't remembered only this is asked: its other features are worked out when it is encoded.
        places, unknown = self._places, self._unknown
        return sum(word in unknown if word in places else not self.knows(word) for word in words)

    def encode(self, sentences: Sequence[Sequence[str]], labels: Sequence[Sequence[int]] | None = None) -> Batch:
        """The ids of the features of every word, padded with id 0.

        Args:
            sentences: each a sequence of words; an empty one has length 0.
            labels: for each sentence, the label of each word.

        Raises:
            ArgumentError: a sentence is a string (a text has to be split first), or labels that don't match.
        """
        sentences = as_sentences(sentences)
        lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64)
        rows = self._rows([word for sentence in sentences for word in sentence])
        # Row 0 of the table is padding: all ids 0.
        places = np.zeros((len(sentences), int(lengths.max()) if len(sentences) else 0), dtype=np.int64)
        places[np.arange(places.shape[1]) < lengths.numpy()[:, None]] = rows
        fixed = sum(self.features.columns.values())
        # One column of padding at least: a table can't be asked for no ids at all, as for the empty word alone.
        longest = max(int(self._ngrams[rows].max(initial=0)), int(self.features.has_ngrams and len(rows) > 0))
        ids = torch.from_numpy(self._table[:, : fixed + longest][places].astype(np.int64))
        return Batch(ids, lengths, None if labels is None else pad_labels(labels, lengths))

    def to_json(self) -> dict[str, Any]:
        """What JSON needs to hold to make this encoder again: the features, and the vocabulary as one string."""
        return {"features": self.features.to_json(), "vocabulary": "\n".join(self.vocabulary)}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "WordEncoder":
        """From what `to_json` gave.

        Raises:
            ModelError: something is missing or isn't what `to_json` writes.

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

    def _forget(self) -> None:
        """Start remembering anew, with the row of padding alone."""
        self._places: dict[str, int] = {}
        self._unknown: set[str] = set()
        width = sum(self.features.columns.values()) + self.features.most_ngrams
        self._table = np.zeros((1024, width), dtype=np.int32)
        self._ngrams = np.zeros(1024, dtype=np.int64)
        self._used = 1

    def _rows(self, words: list[str]) -> np.ndarray:
        """Where each word's ids stand in the table."""
        places = self._places
        new = [word for word in dict.fromkeys(words) if word not in places]
        if new and self._used + len(new) > _MOST_TYPES and self._used > 1:
            self._forget()
            places, new = self._places, list(dict.fromkeys(words))
        for word in new:
            self._look(word)
        return np.fromiter(map(places.__getitem__, words), dtype=np.int64, count=len(words))

    def _look(self, word: str) -> None:
        """Work out a word's ids and remember them."""
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
        self._places[word] = self._used
        self._used += 1
