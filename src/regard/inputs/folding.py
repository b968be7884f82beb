"""Folding: writing a word in the one form that the training data uses for it."""

import unicodedata
from collections.abc import Callable

__all__ = ["FOLDS", "fold_ascii", "fold_nothing", "fold_width"]

# 「」『』 are the quotation marks of traditional typesetting, “” those of simplified. Unicode relates ， to the comma,
# but not 。 to the full stop. The pause 、 stays: it has no half-width form, and a tag of its own.
_WIDTH = str.maketrans({"。": ".", "「": "“", "」": "”", "『": "“", "』": "”"})
# The treebank's training half also has quotation marks of two typewriter characters, six times.
_MARKS = {"``": "“", "''": "”"}
_ASCII = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‟": '"', "‘": "'", "’": "'", "‚": "'", "‛": "'", "´": "'"}
    | {"‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "−": "-"}
)


def fold_nothing(word: str) -> str:
    """The word as it is."""
    return word


def fold_width(word: str) -> str:
    """Full-width characters become half-width (Unicode's NFKC), 。 becomes a full stop, corner brackets “ and ”.

    The two halves of ud-chinese-gsd, set eight years apart, agree on every punctuation mark once folded like this.

    Example:
        >>> [fold_width(word) for word in ["，", "。", "「", "（", "、", "ＡＢＣ", "看见"]]
        [',', '.', '“', '(', '、', 'ABC', '看见']
    """
    # Almost every word is already folded, and normalising costs ten times what looking does.
    if word.isascii():
        return _MARKS.get(word, word)
    return unicodedata.normalize("NFKC", word).translate(_WIDTH)


def fold_ascii(word: str) -> str:
    """As `fold_width`, and curly quotation marks and dashes become those of a typewriter, as in ud-english-ewt.

    Example:
        >>> [fold_ascii(word) for word in ["n’t", "“", "—", "café", "…"]]
        ["n't", '"', '-', 'café', '...']
    """
    return word if word.isascii() else fold_width(word.translate(_ASCII)).translate(_ASCII)


FOLDS: dict[str, Callable[[str], str]] = {"nothing": fold_nothing, "width": fold_width, "ascii": fold_ascii}
"""The foldings by name."""
