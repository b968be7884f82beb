"""Character folding: variants of characters are replaced by the form that the training data uses."""

import unicodedata
from collections.abc import Callable

__all__ = ["FOLDINGS", "fold_ascii", "fold_nothing", "fold_width"]

# 「」『』 are the quotation marks of traditional typesetting, “” those of simplified. NFKC maps ， to the comma, but
# not 。 to the full stop. The enumeration comma 、 is kept: it has no half-width form, and a tag of its own.
_WIDTH = str.maketrans({"。": ".", "「": "“", "」": "”", "『": "“", "』": "”"})
# The treebank's training data also has quotation marks of two ASCII characters, six times.
_MARKS = {"``": "“", "''": "”"}
_ASCII = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‟": '"', "‘": "'", "’": "'", "‚": "'", "‛": "'", "´": "'"}
    | {"‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "−": "-"}
)


def fold_nothing(word: str) -> str:
    """The word as it is."""
    return word


def fold_width(word: str) -> str:
    """Width folding: full-width characters become half-width (NFKC), 。 a full stop, and corner brackets “ and ”.

    The two parts of ud-chinese-gsd, eight years apart, agree on every punctuation mark after this folding.

    Example:
        >>> [fold_width(word) for word in ["，", "。", "「", "（", "、", "ＡＢＣ", "看见"]]
        [',', '.', '“', '(', '、', 'ABC', '看见']
    """
    # Most words need no folding, and normalising takes ten times as long as this check.
    if word.isascii():
        return _MARKS.get(word, word)
    return unicodedata.normalize("NFKC", word).translate(_WIDTH)


def fold_ascii(word: str) -> str:
    """ASCII folding: as `fold_width`, and curly quotation marks and dashes become ASCII, as in ud-english-ewt.

    Example:
        >>> [fold_ascii(word) for word in ["n’t", "“", "—", "café", "…"]]
        ["n't", '"', '-', 'café', '...']
    """
    return word if word.isascii() else fold_width(word.translate(_ASCII)).translate(_ASCII)


FOLDINGS: dict[str, Callable[[str], str]] = {"nothing": fold_nothing, "width": fold_width, "ascii": fold_ascii}
"""The foldings by name."""
