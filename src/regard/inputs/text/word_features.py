"""The features of a word's spelling, as ids: affixes, n-grams and shape, also of out-of-vocabulary words."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar
from zlib import crc32

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs.saved import Saved, check_types
from regard.inputs.text.character_folding import FOLDINGS

__all__ = ["CASES", "WordFeatures", "word_shape"]

CASES = ("exact", "lower", "both")
"""Which spelling of a word has an id: the exact one, that in lower case, or both."""

_MAY_BE_NONE = ("prefixes", "suffixes", "first_characters", "last_characters")
_MAY_BE_NONE += ("longest_ngram", "most_ngrams", "length_buckets")


@dataclass(frozen=True)
class WordFeatures(Saved):
    """The features of a word. They depend on the word alone, so they are computed once for each distinct word.

    Affixes, n-grams and shapes get their ids by hashing: the crc32 of their UTF-8 bytes, which unlike Python's `hash`
    is the same on all machines and in all versions, modulo the size of the table. Id 0 is reserved for "none" in every
    table. Features with the same hash share a vector.

    Args:
        minimum_count: the minimum count in the training data of a word with an id of its own.
        case: which spelling has an id, one of `CASES`; the other features use lower case except for the shape.
        fold: the character folding that is applied first, a name in `inputs.FOLDINGS`.
        prefixes: the maximum length of prefixes; all from 1 character on are features. 0 for none.
        suffixes: the same for suffixes.
        first_characters: the number of characters at the beginning that are features, each with its position; for
            Chinese, whose words are short and whose characters have meanings.
        last_characters: the same at the end.
        shortest_ngram: the minimum length of character n-grams (of the word with a mark at each end).
        longest_ngram: their maximum length; 0 for none.
        most_ngrams: the maximum number of n-grams of a word, so that a very long word can't fill the memory.
        shape: whether the shape is a feature: "XxXxx'x" for "McDonald's".
        flags: whether there is a feature "starts with a capital?, all capitals?, a digit?, a letter?, a hyphen?".
        length_buckets: the number of characters up to which the length is a feature; 0 for none.
        affix_ids: the size of the table of prefixes, suffixes, first and last characters.
        ngram_ids: the size of the table of n-grams.
        shape_ids: the size of the table of shapes, flags and lengths.

    Raises:
        ArgumentError: a number out of range.

    Example:
        >>> WordFeatures(prefixes=2, suffixes=3).columns
        {'word': 1, 'affix': 5, 'shape': 2}
    """

    json_name: ClassVar[str] = "features"
    json_defaults: ClassVar[bool] = True

    minimum_count: int = 2
    case: str = "lower"
    fold: str = "nothing"
    prefixes: int = 4
    suffixes: int = 5
    first_characters: int = 0
    last_characters: int = 0
    shortest_ngram: int = 3
    longest_ngram: int = 4
    most_ngrams: int = 24
    shape: bool = True
    flags: bool = True
    length_buckets: int = 0
    affix_ids: int = 4096
    ngram_ids: int = 4096
    shape_ids: int = 256

    def __post_init__(self) -> None:
        check_types(self)
        if self.case not in CASES:
            raise UnknownNameError("case", self.case, CASES)
        if self.fold not in FOLDINGS:
            raise UnknownNameError("fold", self.fold, FOLDINGS)
        for name in ("minimum_count", "shortest_ngram"):
            if getattr(self, name) < 1:
                raise ArgumentError(f"`{name}` must be at least 1, but is {getattr(self, name)}.")
        for name in _MAY_BE_NONE:
            if getattr(self, name) < 0:
                raise ArgumentError(f"`{name}` must be at least 0 (none), but is {getattr(self, name)}.")
        for name in ("affix_ids", "ngram_ids", "shape_ids"):
            if getattr(self, name) < 2:
                raise ArgumentError(f"`{name}` must be at least 2 (id 0 is reserved), but is {getattr(self, name)}.")

    @cached_property
    def columns(self) -> dict[str, int]:
        """The number of ids of each kind of feature; n-grams, whose number varies, follow them."""
        return {
            "word": 2 if self.case == "both" else 1,
            "affix": self.prefixes + self.suffixes + self.first_characters + self.last_characters,
            "shape": int(self.shape) + int(self.flags) + int(self.length_buckets > 0),
        }

    @property
    def has_ngrams(self) -> bool:
        """Whether words have n-grams."""
        return self.longest_ngram >= self.shortest_ngram and self.most_ngrams > 0

    def spellings(self, word: str) -> tuple[str, ...]:
        """The spellings of a folded word that may have an id.

        Example:
            >>> WordFeatures(case="both").spellings("Saw")
            ('Saw', 'saw')
        """
        return {"exact": (word,), "lower": (word.lower(),), "both": (word, word.lower())}[self.case]

    def affixes(self, word: str) -> list[int]:
        """The ids of a folded word's prefixes, suffixes, first and last characters; 0 where the word is too short."""
        word = word.lower()
        pieces = [(size, f"p{word[:size]}") for size in range(1, self.prefixes + 1)]
        pieces += [(size, f"s{word[-size:]}") for size in range(1, self.suffixes + 1)]
        pieces += [(at, f"P{at}{word[at - 1 : at]}") for at in range(1, self.first_characters + 1)]
        pieces += [(at, f"Q{at}{word[-at:][:1]}") for at in range(1, self.last_characters + 1)]
        return [_hashed(piece, self.affix_ids) if needed <= len(word) else 0 for needed, piece in pieces]

    def shapes(self, word: str) -> list[int]:
        """The ids of a folded word's shape, flags and length, if these are features."""
        named = []
        if self.shape:
            named.append("S" + word_shape(word))
        if self.flags:
            facts = (
                word[:1].isupper(),
                word.isupper(),
                any(map(str.isdigit, word)),
                any(map(str.isalpha, word)),
                "-" in word,
            )
            named.append("F" + "".join("01"[fact] for fact in facts))
        if self.length_buckets:
            named.append(f"L{min(len(word), self.length_buckets)}")
        return [_hashed(name, self.shape_ids) for name in named]

    def ngrams(self, word: str) -> list[int]:
        """The ids of a folded word's n-grams, the shortest first.

        Example:
            >>> features = WordFeatures(shortest_ngram=3, longest_ngram=3)
            >>> len(features.ngrams("saw"))       # <sa saw aw>
            3
        """
        if not self.has_ngrams:
            return []
        # Cut first, so that a "word" of five million characters takes no longer than a long one.
        marked = f"<{word.lower()}>"[: self.most_ngrams + self.longest_ngram]
        pieces = [
            marked[start : start + size]
            for size in range(self.shortest_ngram, self.longest_ngram + 1)
            for start in range(len(marked) - size + 1)
        ]
        return [_hashed(f"n{piece}", self.ngram_ids) for piece in pieces[: self.most_ngrams]]


def word_shape(word: str) -> str:
    """The shape of a word: X capital, x small, d digit, c other letter (Chinese), else the character; runs cut to 2.

    Example:
        >>> [word_shape(word) for word in ["McDonald's", "2024", "看见", "USA", "saw"]]
        ["XxXxx'x", 'dd', 'cc', 'XX', 'xx']
    """
    kinds: list[str] = []
    # Longer shapes are practically unique.
    for character in word[:64]:
        kind = (
            "X"
            if character.isupper()
            else "x"
            if character.islower()
            else "d"
            if character.isdigit()
            else "c"
            if character.isalpha()
            else character
        )
        if kinds[-2:] != [kind, kind]:
            kinds.append(kind)
    return "".join(kinds)


def _hashed(text: str, size: int) -> int:
    # surrogatepass: lone surrogates, from a command line that isn't UTF-8, may be part of a word.
    return crc32(text.encode("utf-8", "surrogatepass")) % (size - 1) + 1
