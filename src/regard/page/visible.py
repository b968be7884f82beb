"""Escape text so that it is safe to show: no control characters for the terminal, and no invisible characters."""

import unicodedata

from rich.cells import cell_len

__all__ = ["clip", "escaped", "visible"]

# Joiners have the category Cf like direction controls, but words (Persian, Hindi) and emoji contain them.
_KEPT = {"\u200c", "\u200d"}
# Controls, formats (direction overrides, byte-order marks, tags), lone surrogates, line and paragraph separators.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def visible(text: str) -> str:
    r"""Replace invisible characters and those that control a terminal by escapes such as \x1b.

    Example:
        >>> print(visible("a\x1b[31mb\u202e"))
        a\x1b[31mb\u202e
        >>> print(visible("  "), visible("\u0301"))
        ␣␣ ◌́
    """
    if text.isascii() and text.isprintable() and not text.isspace():
        return text
    if text and not text.strip(" "):
        # U+2423, which more fonts have than U+2420.
        return "␣" * len(text)
    safe = "".join(_escape(character) for character in text)
    # A combining mark at the start would combine with the character to the left of the token.
    return "◌" + safe if safe and unicodedata.category(safe[0]) in ("Mn", "Me") else safe


def clip(text: str, width: int) -> str:
    """Escape text and cut it to at most `width` terminal cells, with an ellipsis where it was cut.

    Example:
        >>> clip("attention", 5), clip("常威在打来福", 5)
        ('atte…', '常威…')
    """
    # A token of a megabyte is cut before it is measured; escapes only make text longer.
    text = visible(text[: 4 * width + 1]) if len(text) > 4 * width else visible(text)
    if cell_len(text) <= width:
        return text
    cut, used = [], 0
    for character in text:
        used += cell_len(character)
        if used > width - 1:
            break
        cut.append(character)
    return "".join(cut) + "…"


def escaped(character: str) -> str:
    r"""The escape of a character.

    Example:
        >>> print(escaped("我"), escaped("\n"), escaped("\x1b"))
        \u6211 \n \x1b
    """
    code = ord(character)
    if character in "\n\r\t":
        return repr(character)[1:-1]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escape(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _HIDDEN:
        return character
    return escaped(character)
