"""Pairs of sentences to translate: those of a made-up language, and any in ranges of length."""

import itertools
import random
from collections.abc import Iterable, Sequence

__all__ = ["WORDS", "by_length", "reversed_sentences"]

WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
"""The words of the source; the translation of each is the word in capitals."""


def reversed_sentences(count: int, longest: int, seed: int) -> list[tuple[str, str]]:
    """Random sentences and their translations.

    Nothing of a sentence follows from the rest of it, so that a translator has to keep all of it.

    Args:
        count: the number of sentences.
        longest: the largest number of words; all numbers from 1 on are equally frequent.
        seed: the seed of the words and of their number.

    Example:
        >>> reversed_sentences(2, 3, seed=0)[0]
        ('eight five', 'FIVE EIGHT')
    """
    generator = random.Random(seed)
    pairs = []
    for _ in range(count):
        words = generator.choices(WORDS, k=generator.randint(1, longest))
        pairs.append((" ".join(words), " ".join(reversed(words)).upper()))
    return pairs


def by_length(pairs: Iterable[tuple[str, str]], limits: Sequence[int]) -> dict[int, list[tuple[str, str]]]:
    """Sort pairs by length: each goes to the smallest limit that its first text, in words, doesn't exceed.

    Pairs that are longer than the last limit are left out.

    Args:
        pairs: the pairs of texts.
        limits: the limits, in increasing order.

    Example:
        >>> by_length([("a b c", "x"), ("a", "y"), ("a b", "z")], (1, 3))
        {1: [('a', 'y')], 3: [('a b c', 'x'), ('a b', 'z')]}
    """
    pairs = list(pairs)
    return {
        limit: [pair for pair in pairs if shorter < len(pair[0].split()) <= limit]
        for shorter, limit in itertools.pairwise((0, *limits))
    }
