"""Pretrained word vectors, read from files in the format of word2vec and GloVe."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import ArgumentError, DataError
from regard.inputs.batch import Batch, pad_labels
from regard.inputs.lines import parse_number, read_lines
from regard.inputs.text.sentences import as_sentences

__all__ = ["WordVectors"]

_LARGEST = torch.finfo(torch.float32).max
_COUNTS = re.compile(r"(\d{1,12}) (\d{1,6})")
_COORDINATE = re.compile(r"-?\d*\.\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Pretrained word vectors: words with similar meanings have similar vectors.

    An out-of-vocabulary word is all zeros, as in `OneHotWords`. No known word is all zeros, so that no flag for unknown
    words is needed, and the vectors are exactly those of the file.

    Args:
        words: the distinct words.
        vectors: (word, width) float, the vector of each word.

    Raises:
        ArgumentError: a duplicate word, or a number of vectors that isn't that of the words.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w") as file:
        ...     _ = file.write("cat 2 1\\ndog 1.5 1\\napple -1 2\\n")
        ...     file.flush()
        ...     words = WordVectors.read(file.name)
        >>> [(word, round(near, 2)) for word, near in words.nearest("cat", 2)]
        [('dog', 0.99), ('apple', 0.0)]
        >>> words.encode([["cat", "unicorn"]]).vectors
        tensor([[[2., 1.],
                 [0., 0.]]])

    Source: the notes, 001 "Word Embedding"; Mikolov et al. 2013 (arXiv 1301.3781); Pennington et al. 2014, GloVe.
    """

    words: tuple[str, ...]
    vectors: Float[Tensor, "word width"]

    def __post_init__(self) -> None:
        if self.vectors.dim() != 2 or len(self.vectors) != len(self.words) or not self.vectors.is_floating_point():
            raise ArgumentError(
                f"`vectors` must be floats ({len(self.words)}, width), one for each of `words`, but is "
                f"{self.vectors.dtype} of shape {tuple(self.vectors.shape)}."
            )
        if len(self._indices) != len(self.words):
            raise ArgumentError("`words` must name each word once.")

    @classmethod
    def read(cls, path: str | Path, *, keep: Collection[str] | None = None, first: int = 0) -> "WordVectors":
        """Read a text file: each line has a word and the numbers of its vector, separated by spaces.

        A first line of two integers (the number of words, and the width) is word2vec's header, which is checked.
        Without it the first line determines the width, so that the first word must not contain spaces; others may. A
        line of another width is refused.

        Args:
            path: the file, which is read line by line, so that only the kept vectors and the words are in memory.
            keep: the words to keep, such as those of the training data; by default all. Other lines are checked for
                their width only.
            first: how many words from the beginning of the file to keep besides; most files begin with the most
                frequent words.

        Raises:
            DataError: a line that isn't a vector or has another width, a duplicate word, or a wrong header.
        """
        wanted = None if keep is None else frozenset(keep)
        count = width = None
        seen: set[str] = set()
        # A list of arrays, because a growing array would take twice the memory while it is copied.
        words, rows = [], []
        number = 0
        for number, line in read_lines(path):
            if "\t" in line:
                raise DataError("a line must be separated by spaces, but has a tab.", path=path, line=number)
            line = line.rstrip(" ")
            header = _COUNTS.fullmatch(line) if number == 1 else None
            if header:
                count, width = int(header[1]), int(header[2])
                continue
            width = line.count(" ") if width is None else width
            word, *numbers = line.rsplit(" ", width) if width else [line]
            if not numbers or len(numbers) != width or not word:
                raise DataError(_wrong_width(line, width), path=path, line=number)
            # Words may contain spaces, but a word that ends in a number is a vector that is too wide.
            if _COORDINATE.fullmatch(word.rpartition(" ")[2]) and " " in word:
                raise DataError(_wrong_width(line, width), path=path, line=number)
            if word in seen:
                raise DataError(f"the word {word!r:.60} occurs twice. Remove one of them.", path=path, line=number)
            seen.add(word)
            if wanted is None or len(seen) <= first or word in wanted:
                words.append(word)
                rows.append(_row(numbers, path, number))
        if width is None or (count is None and not seen):
            raise DataError("it is empty.", path=path)
        if count is not None and len(seen) != count:
            raise DataError(
                f"its first line promises {count} words, but it has {len(seen)}. Get the whole file.",
                path=path,
                line=number,
            )
        vectors = np.stack(rows) if rows else np.zeros((0, width), dtype=np.float32)
        return cls(tuple(words), torch.from_numpy(vectors))

    @staticmethod
    def width_of(path: str | Path) -> int:
        """The size of the vectors of a text file, by its first line.

        Raises:
            DataError: it has none.

        Example:
            >>> import tempfile
            >>> with tempfile.NamedTemporaryFile("w") as file:
            ...     _ = file.write("cat 2 1\\n")
            ...     file.flush()
            ...     WordVectors.width_of(file.name)
            2
        """
        for number, line in read_lines(path):
            line = line.rstrip(" ")
            header = _COUNTS.fullmatch(line)
            width = int(header[2]) if header else line.count(" ")
            if not width:
                raise DataError(_wrong_width(line, 0), path=path, line=number)
            return width
        raise DataError("it is empty.", path=path)

    @property
    def width(self) -> int:
        """The size of a vector."""
        return self.vectors.shape[1]

    def knows(self, word: str) -> bool:
        """Whether a word has a vector."""
        return word in self._indices

    def nearest(self, word: str, count: int = 10) -> list[tuple[str, float]]:
        """The words with the largest cosine similarity, each with the cosine, the largest first.

        Words with equal cosines keep the order of the file.

        Args:
            word: a known word; the result doesn't include it.
            count: the maximum number of words.

        Raises:
            ArgumentError: the word is unknown, or `count` is below 0.
        """
        if word not in self._indices:
            raise ArgumentError(
                f"`word` must be one of the {len(self.words)} words that have a vector, but is {word!r:.60}."
            )
        if count < 0:
            raise ArgumentError(f"`count` must be at least 0, but is {count}.")
        index = self._indices[word]
        cosines = self._directions @ self._directions[index]
        # One more than requested, because the word itself is among them.
        order = cosines.argsort(descending=True, stable=True)[: count + 1].tolist()
        near = (other for other in order if other != index)
        return [(self.words[other], float(cosines[other])) for other, _ in zip(near, range(count), strict=False)]

    def encode(self, sentences: Sequence[Sequence[str]], labels: Sequence[Sequence[int]] | None = None) -> Batch:
        """The vectors of every word, padded with zeros; out-of-vocabulary words are zeros.

        Args:
            sentences: sequences of words.
            labels: the labels of the words of each sentence.

        Raises:
            ArgumentError: a sentence is a string, or the labels don't match.
        """
        sentences = as_sentences(sentences)
        lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64, device=self.vectors.device)
        vectors = self.vectors.new_zeros(len(sentences), max(map(len, sentences), default=0), self.width)
        for row, sentence in zip(vectors, sentences, strict=True):
            known = [(at, self._indices[word]) for at, word in enumerate(sentence) if word in self._indices]
            if known:
                positions, words = torch.tensor(known, device=vectors.device).T
                row[positions] = self.vectors[words]
        return Batch(vectors, lengths, None if labels is None else pad_labels(labels, lengths))

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.words)}

    @cached_property
    def _directions(self) -> Tensor:
        """The vectors normalised to length 1; zeros stay zeros."""
        largest = self.vectors.abs().amax(dim=1, keepdim=True) if self.width else self.vectors
        # Divided by the largest number first, because squares of very large or small numbers overflow or underflow.
        scaled = torch.where(largest > 0, self.vectors / largest, 0.0)
        return torch.nn.functional.normalize(scaled, dim=1)


def _row(numbers: list[str], path: str | Path, line: int) -> np.ndarray:
    values = [parse_number(text) for text in numbers]
    for text, value in zip(numbers, values, strict=True):
        if value is None or abs(value) > _LARGEST:
            raise DataError(
                f"a vector must be numbers that float32 can hold, but one is {text!r:.60}.", path=path, line=line
            )
    return np.array(values, dtype=np.float32)


def _wrong_width(line: str, width: int) -> str:
    has = line.count(" ")
    return f"a line must be a word and {width or 'its'} numbers, but {line[:40]!r} has {has} parts behind the first."
