"""Hashed n-grams of words and of their characters, item by item: what a linear model of texts knows of a word."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from zlib import crc32

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

__all__ = ["WORD_COLUMNS", "hashed", "hashed_ngrams", "padded_ids"]

WORD_COLUMNS = 2
"""The columns of ids that are of words; those of characters follow."""

_SIZES = range(2, 6)
_UNSPACED_SIZES = range(1, 4)
_MOST, _MOST_UNSPACED = 60, 400


def hashed_ngrams(
    texts: Sequence[Sequence[str]], rows: int, *, unspaced: bool = False
) -> Int64[Tensor, "batch length ngram"]:
    """The ids of each item's n-grams: the word, the word with the one before it, and n-grams of its characters.

    Ids are hashes from 1 to `rows` - 1, of words and of characters each; 0 is none. Words are in lower case, and have a
    space at both ends where characters are counted. The first 60 n-grams of characters of a word count, and of what
    stands between two punctuation marks the first 400.

    Args:
        texts: the items of each text: words, or for a script without spaces what stands between two punctuation marks.
        rows: the number of rows of the tables that the ids are for.
        unspaced: whether the items have n-grams of one to three characters instead of two to five.

    Source: Weinberger et al. 2009, Feature Hashing (arXiv 0902.2206); the n-grams are those of
        `baselines.features.TextFeatures`.

    Example:
        >>> ids = hashed_ngrams([["a", "saw"], ["saw"]], 64)
        >>> ids.shape, bool(ids[0, 1, 0] == ids[1, 0, 0]), ids[1, 1].any().item()
        (torch.Size([2, 2, 12]), True, False)
    """
    found: list[list[tuple[int, ...]]] = []
    for words in texts:
        before, own = "", []
        for word in (each.lower() for each in words):
            pair = hashed(f"p{before} {word}", rows) if before else 0
            own.append((hashed(f"w{word}", rows), pair, *_of_characters(word, rows, unspaced)))
            before = word
        found.append(own)
    return padded_ids(found, WORD_COLUMNS)


@lru_cache(maxsize=1 << 16)
def _of_characters(word: str, rows: int, unspaced: bool) -> tuple[int, ...]:
    marked, sizes, most = (word, _UNSPACED_SIZES, _MOST_UNSPACED) if unspaced else (f" {word} ", _SIZES, _MOST)
    pieces = (marked[at : at + size] for size in sizes for at in range(len(marked) - size + 1))
    return tuple(hashed(f"c{piece}", rows) for piece in islice(pieces, most))


def padded_ids(found: Sequence[Sequence[Sequence[int]]], width: int) -> Int64[Tensor, "batch length id"]:
    """The ids of each item of each text as one tensor, padded with 0.

    Args:
        found: the ids.
        width: the number of columns if there is no item.

    Example:
        >>> padded_ids([[(5, 7), (6,)], []], 1).tolist()
        [[[5, 7], [6, 0]], [[0, 0], [0, 0]]]
    """
    longest = max(map(len, found), default=0)
    most = max((len(ids) for own in found for ids in own), default=width)
    padded = np.zeros((len(found), longest, most), np.int64)
    for place, own in enumerate(found):
        for item, ids in enumerate(own):
            padded[place, item, : len(ids)] = ids
    return torch.from_numpy(padded)


def hashed(text: str, rows: int) -> int:
    """The id of a text, from 1 to `rows` - 1.

    Example:
        >>> hashed("saw", 64)
        59
    """
    return crc32(text.encode("utf-8", "surrogatepass")) % (rows - 1) + 1
