"""Splitters: the ids of a text's words in a table of static vectors, by a list of words or by a tokenizer."""

import json
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from regard.errors import ArgumentError
from regard.extras import require
from regard.inputs.saved import checked_list, checked_names
from regard.inputs.text.special_ids import numbered

__all__ = ["FIRST", "UNKNOWN", "Splitter", "TokenizerSplitter", "WordSplitter", "read_tokenizer", "splitter_from_json"]

UNKNOWN, FIRST = 1, 2
"""The id of what has no vector, and the first id of what has one. Id 0 is padding."""


class Splitter(ABC):
    """Finds the ids of the words of a text."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of ids, with padding and unknown."""

    @abstractmethod
    def ids(self, words: Sequence[str], text: str) -> list[list[int]]:
        """The ids of each word.

        Args:
            words: the words of a text, in its order.
            text: the text.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The splitter as a JSON object."""


class WordSplitter(Splitter):
    """Gives each word of a list an id.

    A word that isn't in the list is looked up in lower case.

    Args:
        words: the distinct words that have a vector.

    Raises:
        ArgumentError: a word twice.

    Example:
        >>> WordSplitter(["i", "saw"]).ids(["I", "saw", "it"], "I saw it")
        [[2], [3], [1]]
    """

    def __init__(self, words: Sequence[str]):
        self.words = tuple(words)
        self._ids = numbered("words", self.words, noun="word", first=FIRST)

    @property
    def size(self) -> int:
        return FIRST + len(self.words)

    def ids(self, words: Sequence[str], text: str) -> list[list[int]]:
        known = self._ids
        return [[known[word] if word in known else known.get(word.lower(), UNKNOWN)] for word in words]

    def to_json(self) -> dict[str, Any]:
        return {"kind": "words", "words": list(self.words)}


class TokenizerSplitter(Splitter):
    """Splits a text by a tokenizer of the library `tokenizers`, without special tokens; a word has several pieces.

    A piece belongs to the word in which it begins, so a word may be left without any.

    Args:
        tokenizer: the tokenizer.

    Example:
        >>> from tokenizers import Tokenizer, models, pre_tokenizers
        >>> tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "saw": 1, "##s": 2}, unk_token="[UNK]"))
        >>> tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        >>> TokenizerSplitter(tokenizer).ids(["saw", "saws", "x"], "saw saws x")
        [[3], [3, 4], [1]]
    """

    def __init__(self, tokenizer: Any):
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._unknown = _unknown_id(tokenizer)
        # The ids of added tokens may leave gaps.
        self._size = FIRST + max(tokenizer.get_vocab().values(), default=-1) + 1

    @property
    def size(self) -> int:
        return self._size

    def ids(self, words: Sequence[str], text: str) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in words]
        ends, end = [], 0
        for word in words:
            end = max(text.find(word, end), end) + len(word)
            ends.append(end)
        read = self._tokenizer.encode(text, add_special_tokens=False)
        for number, (start, stop) in zip(read.ids, read.offsets, strict=True):
            # A piece may begin with the space before its word.
            piece = text[start:stop]
            place = bisect_right(ends, start + len(piece) - len(piece.lstrip()))
            if place < len(found):
                found[place].append(UNKNOWN if number == self._unknown else FIRST + number)
        return found

    def to_json(self) -> dict[str, Any]:
        return {"kind": "tokenizer", "tokenizer": self._tokenizer.to_str()}


def splitter_from_json(saved: Any) -> Splitter:
    """The splitter of the JSON object that `to_json` returned.

    Raises:
        ArgumentError: something is missing or invalid.
        MissingExtraError: the library `tokenizers` is not installed, and it has a tokenizer.

    Example:
        >>> splitter_from_json(WordSplitter(["saw"]).to_json()).ids(["saw"], "saw")
        [[2]]
    """
    if isinstance(saved, dict) and saved.get("kind") == "tokenizer":
        return TokenizerSplitter(read_tokenizer(checked_names("splitter", saved, ["kind", "tokenizer"])["tokenizer"]))
    values = checked_names("splitter", saved, ["kind", "words"])
    if values["kind"] != "words":
        raise ArgumentError(f"`splitter` must be what `to_json` gave, but is of the kind {values['kind']!r:.60}.")
    return WordSplitter(checked_list("words", values["words"], str))


def read_tokenizer(written: Any) -> Any:
    """The tokenizer that the library `tokenizers` wrote as JSON.

    Raises:
        ArgumentError: the library can't read it.
        MissingExtraError: the library is not installed.
    """
    library = require("tokenizers", extra="text")
    try:
        return library.Tokenizer.from_str(written)
    # The library raises no more specific error.
    except Exception as error:
        raise ArgumentError(
            f"`tokenizer` must be what the library tokenizers writes, but can't be read ({error}). Save it again."
        ) from error


def _unknown_id(tokenizer: Any) -> int | None:
    """The id of the unknown token of a tokenizer; None if it has none."""
    named = getattr(tokenizer.model, "unk_token", None)
    # A Unigram model tells it in its JSON alone.
    return json.loads(tokenizer.to_str())["model"].get("unk_id") if named is None else tokenizer.token_to_id(named)
