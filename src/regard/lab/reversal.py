"""A made-up language to translate: each word has one translation, and the order of words is reversed."""

import random

__all__ = ["WORDS", "reversed_sentences"]

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
