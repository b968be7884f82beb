"""One-hot words: the simplest vectors of words."""

from collections.abc import Iterable, Sequence

import torch

from regard.errors import ArgumentError
from regard.inputs.batch import Batch, pad_labels
from regard.inputs.text.sentences import as_sentences

__all__ = ["OneHotWords"]


class OneHotWords:
    """The one-hot code of words: a known word has a single 1; an out-of-vocabulary word is all zeros.

    There is no entry for unknown words: it would make them equal, but they are no more alike than other words. The
    vectors show the point of the notes (001): any two words are equally far apart (cat is as far from dog as from
    apple), so that the vectors say nothing about meaning, and they are as wide as the vocabulary is large.

    Args:
        vocabulary: the distinct words.

    Raises:
        ArgumentError: a duplicate word.

    Example:
        >>> words = OneHotWords.fit([["cat", "dog", "apple"]])
        >>> cat, dog, apple = words.encode([["cat", "dog", "apple"]]).vectors[0]
        >>> cat.tolist()
        [1.0, 0.0, 0.0]
        >>> bool(torch.dist(cat, dog) == torch.dist(cat, apple))
        True
    """

    def __init__(self, vocabulary: Sequence[str]):
        self.vocabulary = tuple(vocabulary)
        self._indices = {word: index for index, word in enumerate(self.vocabulary)}
        if len(self._indices) != len(self.vocabulary):
            raise ArgumentError("`vocabulary` must name each word once.")

    @classmethod
    def fit(cls, sentences: Iterable[Sequence[str]]) -> "OneHotWords":
        """Build the vocabulary from sentences, in the order of the words' first occurrence."""
        return cls(list(dict.fromkeys(word for sentence in sentences for word in sentence)))

    @property
    def width(self) -> int:
        """The size of a vector: the number of known words."""
        return len(self.vocabulary)

    def encode(self, sentences: Sequence[Sequence[str]], labels: Sequence[Sequence[int]] | None = None) -> Batch:
        """The vectors of the words of each sentence, padded with zeros.

        Args:
            sentences: sequences of words.
            labels: the labels of the words of each sentence.

        Raises:
            ArgumentError: a sentence is a string, or the labels don't match.
        """
        sentences = as_sentences(sentences)
        lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64, device="cpu")
        vectors = torch.zeros(len(sentences), max(map(len, sentences), default=0), self.width, device="cpu")
        for row, sentence in enumerate(sentences):
            for column, word in enumerate(sentence):
                if word in self._indices:
                    vectors[row, column, self._indices[word]] = 1
        return Batch(vectors, lengths, None if labels is None else pad_labels(labels, lengths))
