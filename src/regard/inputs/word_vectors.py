"""Words as vectors that mean something, from a file: word2vec's and GloVe's."""

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
from regard.inputs.lines import number_of, read_lines
from regard.inputs.sentences import as_sentences

__all__ = ["WordVectors"]

_LARGEST = torch.finfo(torch.float32).max
_COUNTS = re.compile(r"(\d{1,12}) (\d{1,6})")
_COORDINATE = re.compile(r"-?\d*\.\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Known words and their vectors: words that mean something alike lie near each other.

    A word that isn't known is all zeros, as in `OneHotWords`. There is no place that says "unknown": no real word is
    all zeros, so that the zeros say it, and the vectors stay those of the file. `knows` tells which ones are.

    Args:
        words: which must differ.
        vectors: (word, width) float, of each word.

    Raises:
        ArgumentError: a word twice, or another number of vectors than of words.

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
        if len(self._places) != len(self.words):
            raise ArgumentError("`words` must name each word once.")

    @classmethod
    def read(cls, path: str | Path, *, keep: Collection[str] | None = None) -> "WordVectors":
        """Read a text file: a line is a word and the numbers of its vector, separated by spaces.

        A first line of two whole numbers (how many words, how wide) is word2vec's header, and checked. Without it the
        first line tells the width, so the first word must be free of spaces; others need not be. A line of another
        width is refused.

        Args:
            path: the file, read line by line: memory is what the kept vectors need, and the list of words.
            keep: the words to keep, such as those of the training data; by default all. Of the others only the width
                is looked at.

        Raises:
            DataError: a line that is no vector, of another width, or of a word that stood before; a header that isn't
                true.
        """
        wanted = None if keep is None else frozenset(keep)
        count = width = None
        seen: set[str] = set()
        # A list of arrays: one array that grows would be twice as large while it is copied.
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
            # Words may hold spaces, but hardly end in a number: that is a vector that is too wide.
            if _COORDINATE.fullmatch(word.rpartition(" ")[2]) and " " in word:
                raise DataError(_wrong_width(line, width), path=path, line=number)
            if word in seen:
                raise DataError(f"the word {word!r:.60} stands twice. Take one of them out.", path=path, line=number)
            seen.add(word)
            if wanted is None or word in wanted:
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

    @property
    def width(self) -> int:
        """The size of a vector."""
        return self.vectors.shape[1]

    def knows(self, word: str) -> bool:
        """Whether a word has a vector."""
        return word in self._places

    def nearest(self, word: str, count: int = 10) -> list[tuple[str, float]]:
        """The words whose vectors point most nearly the same way, with the cosine, the nearest first.

        Words that are equally near come in the order of the file.

        Args:
            word: a known word; it isn't among its neighbours.
            count: how many, or as many as there are.

        Raises:
            ArgumentError: the word isn't known, or `count` is below 0.
        """
        if word not in self._places:
            raise ArgumentError(
                f"`word` must be one of the {len(self.words)} words that have a vector, but is {word!r:.60}."
            )
        if count < 0:
            raise ArgumentError(f"`count` must be at least 0, but is {count}.")
        place = self._places[word]
        cosines = self._directions @ self._directions[place]
        # One more than asked for: the word itself is among them.
        order = cosines.argsort(descending=True, stable=True)[: count + 1].tolist()
        near = (other for other in order if other != place)
        return [(self.words[other], float(cosines[other])) for other, _ in zip(near, range(count), strict=False)]

    def encode(self, sentences: Sequence[Sequence[str]], labels: Sequence[Sequence[int]] | None = None) -> Batch:
        """The vectors of every word, padded with zeros; zeros for a word that isn't known.

        Args:
            sentences: each a sequence of words.
            labels: for each sentence, the label of each word.

        Raises:
            ArgumentError: a sentence is a string, or labels that don't match.
        """
        sentences = as_sentences(sentences)
        lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64)
        vectors = torch.zeros(len(sentences), max(map(len, sentences), default=0), self.width, dtype=self.vectors.dtype)
        for row, sentence in zip(vectors, sentences, strict=True):
            known = [(place, self._places[word]) for place, word in enumerate(sentence) if word in self._places]
            if known:
                places, words = torch.tensor(known).T
                row[places] = self.vectors[words]
        return Batch(vectors, lengths, None if labels is None else pad_labels(labels, lengths))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    @cached_property
    def _directions(self) -> Tensor:
        """The vectors with length 1; zeros stay zeros."""
        largest = self.vectors.abs().amax(dim=1, keepdim=True) if self.width else self.vectors
        # By the largest number first: squares of very large or small numbers are infinite, or 0.
        scaled = torch.where(largest > 0, self.vectors / largest, 0.0)
        return torch.nn.functional.normalize(scaled, dim=1)


def _row(numbers: list[str], path: str | Path, line: int) -> np.ndarray:
    values = [number_of(text) for text in numbers]
    for text, value in zip(numbers, values, strict=True):
        if value is None or abs(value) > _LARGEST:
            raise DataError(
                f"a vector must be numbers that float32 can hold, but one is {text!r:.60}.", path=path, line=line
            )
    return np.array(values, dtype=np.float32)


def _wrong_width(line: str, width: int) -> str:
    has = line.count(" ")
    return f"a line must be a word and {width or 'its'} numbers, but {line[:40]!r} has {has} parts behind the first."
