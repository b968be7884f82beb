"""One-hot words: the simplest vectors, and what is wrong with them."""

from collections.abc import Iterable, Sequence

import torch

from regard.errors import ArgumentError
from regard.inputs.batch import Batch, pad_labels
from regard.inputs.sentences import as_sentences

__all__ = ["OneHotWords"]


class OneHotWords:
    """Each known word is a vector with a single 1, at the word's own place; a word never seen is all zeros.

    All zeros, and not a place for "unknown": two unknown words are then no likelier each other than anything else.
    The vectors show the notes' point (001): every two words are equally far apart, cat from dog as cat from apple, so
    nothing about meaning is in them; and the width is the size of the vocabulary.

    Args:
        vocabulary: the words, which must differ.

    Raises:
        ArgumentError: a word is named twice.

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
        self._places = {word: place for place, word in enumerate(self.vocabulary)}
        if len(self._places) != len(self.vocabulary):
            raise ArgumentError("`vocabulary` must name each word once.")

    @classmethod
    def fit(cls, sentences: Iterable[Sequence[str]]) -> "OneHotWords":
        """The words of some sentences, in the order in which they first come."""
        return cls(list(dict.fromkeys(word for sentence in sentences for word in sentence)))

    @property
    def width(self) -> int:
        """The size of a vector: the number of known words."""
        return len(self.vocabulary)

    def encode(self, sentences: Sequence[Sequence[str]], labels: Sequence[Sequence[int]] | None = None) -> Batch:
        """The vectors of every word, padded with zeros.

        Args:
            sentences: each a sequence of words.
            labels: for each sentence, the label of each word.

        Raises:
            ArgumentError: a sentence is a string, or labels that don't match.
        """
        sentences = as_sentences(sentences)
        lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64)
        vectors = torch.zeros(len(sentences), max(map(len, sentences), default=0), self.width)
        for row, sentence in enumerate(sentences):
            for column, word in enumerate(sentence):
                if word in self._places:
                    vectors[row, column, self._places[word]] = 1
        return Batch(vectors, lengths, None if labels is None else pad_labels(labels, lengths))
