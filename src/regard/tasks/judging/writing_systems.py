"""Writing systems: whether a text is in letters that a model hardly knows, as English is for a model of Chinese."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from itertools import groupby
from typing import NamedTuple

__all__ = ["MOST_READ", "ForeignLetters", "count_letters", "foreign_letters"]

MOST_READ = 10_000
"""So many characters of a text say in which letters it is."""

# Of fewer letters nothing is said, neither of a text nor of a vocabulary.
_FEWEST_IN_TEXT, _FEWEST_KNOWN = 2, 20
# A system with a smaller part of the letters of a vocabulary is foreign to it if most words are unknown, too. Chinese
# vocabularies have 1 % of Latin letters, those of names and abbreviations.
_FOREIGN = 0.02
_MOST = 0.5
_MERGED = {"CJK": "Chinese", "HIRAGANA": "kana", "KATAKANA": "kana"}
_SAID = {"Chinese": "Chinese characters", "kana": "Japanese kana"}


class ForeignLetters(NamedTuple):
    """The kind of most letters of a text, and of most of a vocabulary, in words, such as "Latin letters"."""

    found: str
    known: str


def count_letters(texts: Iterable[str]) -> Counter[str]:
    """How many letters of texts are in each writing system, by its name in Unicode.

    Example:
        >>> dict(count_letters(["a film", "电影 2!", "фильм"]))
        {'Latin': 5, 'Chinese': 2, 'Cyrillic': 5}
    """
    return Counter(system for text in texts for letter in text if (system := _system(letter)) is not None)


def foreign_letters(
    text: str, known: Counter[str], unknown: Callable[[], float | None] = lambda: None
) -> ForeignLetters | None:
    """The letters of a text, if most of its words are in a writing system that a vocabulary doesn't have, or hardly.

    Args:
        text: the text, of which the first 10,000 characters are read.
        known: `count_letters` of the vocabulary of the training data.
        unknown: gives the part of the words of the text that isn't in a vocabulary of words; None: the vocabulary is
            another one, in which a writing system may have few entries and still be frequent in the data. Then only a
            system of which it has no letter is foreign.

    Example:
        >>> chinese = count_letters(["这个酒店非常好" * 40, "DVD"])
        >>> foreign_letters("a nice hotel", chinese, lambda: 1.0)
        ForeignLetters(found='Latin letters', known='Chinese characters')
        >>> foreign_letters("一张DVD", chinese, lambda: 1.0), foreign_letters("a nice hotel", chinese)
        (None, None)
    """
    text = text[:MOST_READ]
    letters, least = count_letters([text]), _FOREIGN * known.total()
    # Almost every text ends here, since it has letters of the usual kind alone.
    rare = {system for system in letters if known[system] < least}
    if not rare or letters.total() < _FEWEST_IN_TEXT or known.total() < _FEWEST_KNOWN:
        return None
    words = _count_words(text)
    (found, count), *_ = words.most_common(1)
    if found not in rare or count <= _MOST * words.total():
        return None
    if known[found] and (unknown() or 0.0) <= _MOST:
        return None
    return ForeignLetters(_said(found), _said(known.most_common(1)[0][0]))


def _count_words(text: str) -> Counter[str]:
    """How many words of a text are in each writing system: a Chinese character is as much as a word of letters."""
    counts: Counter[str] = Counter()
    for system, letters in groupby(text, _system):
        if system is not None:
            counts[system] += len([*letters]) if system in _MERGED.values() else 1
    return counts


def _said(system: str) -> str:
    return _SAID.get(system, f"{system} letters")


@cache
def _system(character: str) -> str | None:
    """The writing system of a letter; None of another character, or of a modifier, such as ʰ."""
    # Full-width and mathematical letters are those of another system.
    folded = unicodedata.normalize("NFKC", character)[:1]
    if not folded.isalpha() or unicodedata.category(character) == "Lm":
        return None
    name = unicodedata.name(folded, "").split(" ")[0].split("-")[0]
    return _MERGED.get(name, name.title()) or None
