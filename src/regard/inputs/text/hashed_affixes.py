"""Hashed features of words and of their neighbours: what a linear tagger knows of a word."""

from collections.abc import Sequence
from functools import lru_cache

from jaxtyping import Int64
from torch import Tensor

from regard.inputs.text.hashed_ngrams import hashed, padded_ids
from regard.inputs.text.word_features import word_shape

__all__ = ["TO_EACH_NEIGHBOUR", "hashed_affixes"]

TO_EACH_NEIGHBOUR = 3
"""The columns of ids of what a word is to the word after it; as many follow of what it is to the word before it."""

_PREFIXES, _SUFFIXES = range(1, 5), range(1, 6)


def hashed_affixes(sentences: Sequence[Sequence[str]], rows: int) -> Int64[Tensor, "batch length feature"]:
    """The ids of each word's features, hashes from 1 to `rows` - 1; 0 is none.

    To each of its neighbours a word is itself in lower case, its last three characters and its shape. Of its own there
    follow the word as it is and in lower case, its shape, whether it begins or ends the sentence, its first one to four
    characters and its last one to five.

    Args:
        sentences: the words of each sentence.
        rows: the number of rows of the table that the ids are for.

    Source: Ratnaparkhi 1996, A Maximum Entropy Model for Part-Of-Speech Tagging (EMNLP 1996, W96-0213), table 1, for
        affixes and neighbours; Weinberger et al. 2009, Feature Hashing (arXiv 0902.2206).

    Example:
        >>> ids = hashed_affixes([["I", "saw"], ["saw"]], 64)
        >>> ids.shape, bool((ids[0, 1, :6] == ids[1, 0, :6]).all()), ids[1, 1].any().item()
        (torch.Size([2, 2, 15]), True, False)
    """
    found: list[list[tuple[int, ...]]] = []
    for words in sentences:
        own = []
        for place, word in enumerate(words):
            ends = (place == 0, "first"), (place == len(words) - 1, "last")
            shape = word_shape(word)
            own.append((*_of_word(word, rows), *(hashed(f"{name}{shape}", rows) for at, name in ends if at)))
        found.append(own)
    return padded_ids(found, 2 * TO_EACH_NEIGHBOUR)


@lru_cache(maxsize=1 << 16)
def _of_word(word: str, rows: int) -> tuple[int, ...]:
    lower, shape = word.lower(), word_shape(word)
    beside = f"w{lower}", f"s{lower[-3:]}", f"h{shape}"
    own = [f"W{word}", f"w{lower}", f"h{shape}"]
    own += [f"p{lower[:size]}" for size in _PREFIXES if size < len(lower)]
    own += [f"s{lower[-size:]}" for size in _SUFFIXES if size < len(lower)]
    texts = (*(f"{side}{text}" for side in ("after ", "before ") for text in beside), *own)
    return tuple(hashed(text, rows) for text in texts)
