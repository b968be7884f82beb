"""Making any text safe to show: nothing in it may act on the terminal, and nothing in it may hide."""

import unicodedata

from rich.cells import cell_len

__all__ = ["clip", "visible"]

# Joiners are Cf like the direction controls, but words (Persian, Hindi) and emoji are written with them.
_KEPT = {"\u200c", "\u200d"}
# Controls, formats (direction overrides, byte-order marks, tags), lone surrogates, line and paragraph separators.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def visible(text: str) -> str:
    r"""Write what can't be seen, or would act on a terminal, as an escape such as \x1b.

    Example:
        >>> print(visible("a\x1b[31mb\u202e"))
        a\x1b[31mb\u202e
        >>> print(visible("  "), visible("\u0301"))
        ␠␠ ◌́
    """
    if text.isascii() and text.isprintable() and not text.isspace():
        return text
    if text and not text.strip(" "):
        return "␠" * len(text)
    safe = "".join(_escape(character) for character in text)
    # A combining mark at the start would sit on whatever stands to the left of the token.
    return "◌" + safe if safe and unicodedata.category(safe[0]) in ("Mn", "Me") else safe


def clip(text: str, width: int) -> str:
    """Make text visible and cut it to at most `width` terminal cells, with a mark that says so.

    Example:
        >>> clip("attention", 5), clip("常威在打来福", 5)
        ('atte…', '常威…')
    """
    # A token of a megabyte is cut before anything is measured; an escape only makes text longer.
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


def _escape(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _HIDDEN:
        return character
    code = ord(character)
    if character in "\n\r\t":
        return repr(character)[1:-1]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
