"""The words of a sentence, as a tagger reads them."""

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from regard.cli.answering.reading import is_chinese
from regard.errors import DataError, OutOfDistribution
from regard.inputs import is_spaced, split_chinese, split_words
from regard.tasks.tagger.segmenting import segment

__all__ = ["split_warning", "words_of"]

# The time for attention grows with the square of the length: 10,000 words take seconds, a million take hours.
_MOST_TAGGED = 10_000


def words_of(model: Any, text: str, segmenter: Callable[[], Any] | None = None) -> list[str]:
    """Split a sentence into words.

    Args:
        model: the tagger.
        text: the sentence.
        segmenter: returns a model that splits Chinese without spaces; None: it is split into the longest words that the
            tagger knows.

    Raises:
        DataError: it is too long, or has only invisible characters.
    """
    words = _split(model, text, segmenter)
    if not words:
        raise DataError("there is no word in it, only invisible characters. Write a sentence.")
    count = f"the sentence has {len(words):,} words"
    if len(words) > _MOST_TAGGED:
        raise DataError(f"{count}, but may have {_MOST_TAGGED:,}. Put one sentence on a line.")
    if model.position_limit is not None and len(words) > model.position_limit:
        raise DataError(
            f"{count}, but {model.name} has learned {model.position_limit:,} positions. Put one sentence on a line."
        )
    return words


def _split(model: Any, text: str, segmenter: Callable[[], Any] | None) -> list[str]:
    if not is_chinese(text):
        return split_words(text)
    spaced = is_spaced(text)
    if segmenter is not None and not spaced:
        with warnings.catch_warnings():
            # The tagger already warns of the script.
            warnings.filterwarnings("ignore", message=".* is in .* characters", category=OutOfDistribution)
            return segment(segmenter(), [text])[0]
    words = split_chinese(text, _known(model.encoder))
    if warning := split_warning(text, words):
        warnings.warn(warning, OutOfDistribution, stacklevel=2)
    return words


def split_warning(text: str, words: Sequence[str]) -> str:
    """The warning that `words_of` gives of a text that it splits into words without a segmenter; "" for none."""
    if len(words) < 2 or not is_chinese(text) or is_spaced(text):
        return ""
    return (
        "the text has no spaces, so it is split into the longest words that the tagger knows. Use --split for "
        "a trained segmenter, or put spaces between the words."
    )


@cache
def _known(encoder: Any) -> frozenset[str]:
    """The vocabulary of a tagger, cached for all sentences."""
    return frozenset(encoder.vocabulary)
