"""Hallucination: further training pairs, made of those that there are by exchanging what a source and its text share.

Of "walk" -> "walked" and "answer" -> "answered": "answlk" -> "answlked". Nobody needs to know such a word, and who
writes it has learned to copy, which takes many examples otherwise.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import torch

__all__ = ["Hallucination", "common_part", "mean_common"]

_KEPT = 2  # characters beside what differs: an ending depends on them


class _Part(NamedTuple):
    """A common part of a source and its text that may be exchanged: where it begins in both, and its size."""

    source: int
    text: int
    size: int


def common_part(source: str, text: str) -> str:
    """The longest common substring of a source and its text.

    Example:
        >>> common_part("walk V;PST", "walked")
        'walk'
    """
    found = SequenceMatcher(None, source, text, autojunk=False).find_longest_match()
    return source[found.a : found.a + found.size]


def mean_common(pairs: Sequence[tuple[str, str]]) -> float:
    """The length of the longest common substrings, as a fraction of that of the texts.

    Example:
        >>> mean_common([("walk V;PST", "walked"), ("saw", "F AO")])
        0.4
    """
    common = sum(len(common_part(source, text)) for source, text in pairs)
    return common / max(1, sum(len(text) for _, text in pairs))


class Hallucination:
    """Exchanges the inside of the longest common substring of a pair for that of another pair.

    The two characters beside what differs stay, as an ending depends on them.

    Args:
        pairs: sources and texts.
        probability: the probability that a pair is changed, if it can be.

    Source: Anastasopoulos & Neubig 2019 (arXiv 1908.05838), section 3.2; there each character is exchanged for a random
        one.

    Example:
        >>> _ = torch.manual_seed(1)
        >>> made = Hallucination([("walk", "walked"), ("answer", "answered")], 1.0)
        >>> made.pair(0), made.pair(0)
        (('answlk', 'answlked'), ('walk', 'walked'))
    """

    def __init__(self, pairs: Sequence[tuple[str, str]], probability: float):
        self._pairs, self.probability = pairs, probability
        self._parts = [_inside(source, text) for source, text in pairs]
        self._donors = [
            source[part.source : part.source + part.size]
            for (source, _), part in zip(pairs, self._parts, strict=True)
            if part.size
        ]

    def pair(self, place: int) -> tuple[str, str] | None:
        """A pair made of the pair at this place; None if it stays as it is."""
        (source, text), part = self._pairs[place], self._parts[place]
        if not part.size or float(torch.rand((), device="cpu")) >= self.probability:
            return None
        donor = self._donors[int(torch.randint(len(self._donors), (), device="cpu"))]
        return (
            source[: part.source] + donor + source[part.source + part.size :],
            text[: part.text] + donor + text[part.text + part.size :],
        )


def _inside(source: str, text: str) -> _Part:
    """What may be exchanged of a pair; of size 0 if nothing may."""
    found = SequenceMatcher(None, source, text, autojunk=False).find_longest_match()
    before = _KEPT if found.a or found.b else 0
    after = _KEPT if (found.a + found.size, found.b + found.size) != (len(source), len(text)) else 0
    return _Part(found.a + before, found.b + before, max(0, found.size - before - after))
