"""Statistics of texts: which vocabulary suits them, and whether their script puts spaces between words."""

import re
from collections.abc import Sequence
from typing import Any

__all__ = ["mostly_unspaced", "vocabulary_settings"]

_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_FEW_CHARACTERS = 200
_SHORT = 40  # characters
_FEW_TEXTS = 5000


def vocabulary_settings(texts: Sequence[str]) -> dict[str, Any]:
    """The vocabulary for texts: characters for single words and for a few short texts, else subwords."""
    characters = {*"".join(texts)}
    short = sum(map(len, texts)) <= _SHORT * len(texts)
    spelt = not any(len(text.split()) > 1 for text in texts)
    if len(characters) <= _FEW_CHARACTERS and (spelt or (short and len(texts) <= _FEW_TEXTS)):
        return {"vocabulary": "characters", "size": _FEW_CHARACTERS + 8}
    return {"vocabulary": "subwords"}


def mostly_unspaced(texts: Sequence[str]) -> bool:
    """Whether most characters belong to a script without spaces between words."""
    letters = sum(map(len, texts))
    return bool(letters) and 2 * sum(len(_UNSPACED.findall(text)) for text in texts) > letters
