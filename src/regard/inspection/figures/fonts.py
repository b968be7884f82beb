"""The fonts of a figure: one for all text, and for characters that it lacks another that has them.

A character that no installed font has is written as an escape, such as \\u6211, and told as a warning: matplotlib would
draw a box.
"""

import unicodedata
import warnings
from contextlib import suppress
from functools import cache
from typing import Any

from regard.errors import ArgumentError, RecordWarning
from regard.extras import require
from regard.page.visible import escaped

__all__ = ["DEFAULT_FONT", "Fonts"]

DEFAULT_FONT = "DejaVu Sans"
"""It comes with matplotlib, so that a figure is the same on every machine."""

# Fonts with Chinese characters, which few others have, simplified ones first.
_PREFERRED = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "SimHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "Arial Unicode MS",
)
# It has a box for every character.
_LAST_RESORT = "last resort"
_MOST_TOLD = 5


class Fonts:
    """The fonts of one figure.

    Args:
        family: the name of the font of all text; None: that which comes with matplotlib.

    Raises:
        ArgumentError: no such font is installed.
    """

    def __init__(self, family: str | None = None):
        self.family = DEFAULT_FONT if family is None else family
        if self.family not in _names():
            raise ArgumentError(
                f"`font` must be the name of a font that matplotlib finds, but is {self.family!r:.60}. "
                f"Leave it out for {DEFAULT_FONT}."
            )
        self._missing: dict[str, None] = {}

    def fit(self, text: str, bold: bool = False) -> tuple[str, list[str]]:
        """The text as it can be drawn, and the names of the fonts that it takes."""
        families, drawn = [self.family], []
        for character in text:
            found = _family_of(character, self.family, bold)
            if found is None:
                if not _is_ignorable(character):
                    self._missing[character] = None
                    drawn.append(escaped(character))
                continue
            drawn.append(character)
            if found not in families:
                families.append(found)
        return "".join(drawn), families

    def tell_missing(self) -> None:
        """Warn of the characters that no font has."""
        if not self._missing:
            return
        told = list(self._missing)
        some = ", ".join(f"{each} ({escaped(each)})" for each in told[:_MOST_TOLD])
        rest = f" and {len(told) - _MOST_TOLD:,} more" if len(told) > _MOST_TOLD else ""
        advice = "Noto Sans CJK has those of Chinese" if any(map(_is_chinese, told)) else "Noto Sans has most"
        warnings.warn(
            f"no installed font has the characters {some}{rest}, so the figure shows them as escapes. Install a font "
            f"that has them; {advice}.",
            RecordWarning,
            stacklevel=4,
        )


def _is_chinese(character: str) -> bool:
    return "CJK" in unicodedata.name(character, "")


def _is_ignorable(character: str) -> bool:
    """Whether nothing is seen of a character by itself: joiners and variation selectors."""
    return character in "\u200c\u200d" or 0xFE00 <= ord(character) <= 0xFE0F


@cache
def _names() -> dict[str, None]:
    """The names of all fonts, in the order in which they are tried."""
    manager = require("matplotlib.font_manager", extra="figures").fontManager
    found = {each.name for each in manager.ttflist if _LAST_RESORT not in each.name.lower()}
    return dict.fromkeys([each for each in (DEFAULT_FONT, *_PREFERRED) if each in found] + sorted(found))


@cache
def _family_of(character: str, first: str, bold: bool) -> str | None:
    """The name of a font that has a character; None if there is none."""
    return next((each for each in (first, *_names()) if ord(character) in _characters(each, bold)), None)


@cache
def _characters(family: str, bold: bool) -> Any:
    """The numbers of the characters that a font has."""
    manager = require("matplotlib.font_manager", extra="figures")
    # A file that is broken, or holds pictures instead of outlines, as fonts of emoji do.
    with suppress(OSError, RuntimeError, ValueError):
        wanted = manager.FontProperties(family=[family], weight="bold" if bold else "normal")
        font = manager.get_font(manager.fontManager.findfont(wanted, fallback_to_default=False))
        if font.scalable:
            return font.get_charmap().keys()
    return ()
