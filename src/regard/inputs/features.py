"""What a word looks like, as ids: its beginnings, endings, pieces and shape, for words never seen before."""

from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any
from zlib import crc32

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs.folding import FOLDS
from regard.inputs.saving import check_types

__all__ = ["CASES", "WordFeatures", "word_shape"]

CASES = ("exact", "lower", "both")
"""Which spelling of a word has an id: as it stands, in lower case, or one id for each."""

_MAY_BE_NONE = ("prefixes", "suffixes", "first_characters", "last_characters")
_MAY_BE_NONE += ("longest_ngram", "most_ngrams", "length_buckets")


@dataclass(frozen=True)
class WordFeatures:
    """Which features a word has. All are read off the word alone, so they cost one look a word type, not a word.

    A piece of a word becomes an id by hashing: crc32 of its UTF-8 bytes, the same on every machine and in every year
    (Python's own `hash` is not), modulo the size of its table, less the id 0, which stands for "none" in every table.
    Two pieces that share an id share a vector: the network learns to live with it.

    Args:
        minimum_count: a word gets an id of its own if the training data has it at least so often.
        case: which spelling has the id, one of `CASES`; the other features use lower case except for the shape.
        fold: how a word is folded before anything else, a name in `inputs.FOLDS`.
        prefixes: beginnings of 1 up to so many characters; 0 for none.
        suffixes: endings, likewise.
        first_characters: so many single characters from the beginning, each with its place; for Chinese, whose words
            are short and whose characters mean something.
        last_characters: likewise from the end.
        shortest_ngram: pieces from anywhere in the word (with a mark at each end), from so many characters
        longest_ngram: up to so many; 0 for none.
        most_ngrams: a word has at most so many of them, so that one absurd word can't fill the memory.
        shape: whether "McDonald's" also has the feature "XxXxx'x".
        flags: whether it has the feature "begins with a capital, all capitals?, a digit?, a letter?, a hyphen?".
        length_buckets: whether (how many characters, at most this) is a feature; 0 for none.
        affix_ids: size of the table of prefixes, suffixes, first and last characters.
        ngram_ids: size of the table of pieces.
        shape_ids: size of the table of shapes, flags and lengths.

    Raises:
        ArgumentError: a number that can't be.

    Example:
        >>> WordFeatures(prefixes=2, suffixes=3).columns
        {'word': 1, 'affix': 5, 'shape': 2}
    """

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
        if self.fold not in FOLDS:
            raise UnknownNameError("fold", self.fold, FOLDS)
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
        """How many ids each kind of feature has for every word; n-grams, whose number varies, stand behind them."""
        return {
            "word": 2 if self.case == "both" else 1,
            "affix": self.prefixes + self.suffixes + self.first_characters + self.last_characters,
            "shape": int(self.shape) + int(self.flags) + int(self.length_buckets > 0),
        }

    @property
    def has_ngrams(self) -> bool:
        """Whether a word has n-grams at all."""
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
        pieces += [(place, f"P{place}{word[place - 1 : place]}") for place in range(1, self.first_characters + 1)]
        pieces += [(place, f"Q{place}{word[-place:][:1]}") for place in range(1, self.last_characters + 1)]
        return [_hashed(piece, self.affix_ids) if needed <= len(word) else 0 for needed, piece in pieces]

    def shapes(self, word: str) -> list[int]:
        """The ids of a folded word's shape, flags and length, as far as they are asked for."""
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
        """The ids of a folded word's pieces, shortest first.

        Example:
            >>> features = WordFeatures(shortest_ngram=3, longest_ngram=3)
            >>> len(features.ngrams("saw"))       # <sa saw aw>
            3
        """
        if not self.has_ngrams:
            return []
        # Cut before slicing: a "word" of five million characters must cost no more than a long one.
        marked = f"<{word.lower()}>"[: self.most_ngrams + self.longest_ngram]
        pieces = [
            marked[start : start + size]
            for size in range(self.shortest_ngram, self.longest_ngram + 1)
            for start in range(len(marked) - size + 1)
        ]
        return [_hashed(f"n{piece}", self.ngram_ids) for piece in pieces[: self.most_ngrams]]

    def to_json(self) -> dict[str, Any]:
        """The fields, as JSON holds them."""
        return asdict(self)

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "WordFeatures":
        """From what `to_json` gave.

        Raises:
            UnknownNameError: a field that this version doesn't know.
        """
        known = [field.name for field in fields(cls)]
        for name in saved:
            if name not in known:
                raise UnknownNameError("features", str(name), known)
        return cls(**saved)


def word_shape(word: str) -> str:
    """The shape of a word: X capital, x small, d digit, c other letter (Chinese), else the character; runs end at 2.

    Example:
        >>> [word_shape(word) for word in ["McDonald's", "2024", "看见", "USA", "saw"]]
        ["XxXxx'x", 'dd', 'cc', 'XX', 'xx']
    """
    kinds: list[str] = []
    # A shape longer than this never comes twice.
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
    # surrogatepass: half of a broken character (from a command line that isn't UTF-8) is still a word.
    return crc32(text.encode("utf-8", "surrogatepass")) % (size - 1) + 1
