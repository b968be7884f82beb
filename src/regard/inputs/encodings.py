"""Encodings of text files: found by the content of a file, which is then read as if it were UTF-8."""

import codecs
import gzip
import io
import re
import stat
import unicodedata
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from regard.errors import DataError, GuessedEncoding, UnknownNameError
from regard.extras import require

__all__ = ["UTF8", "check_encoding", "encoding_of", "open_text"]

UTF8 = "utf-8"
"""The name of the encoding that every file has which has no other."""

_NAMED = ("utf-8", "utf-16", "windows-1252", "windows-1250", "windows-1251", "gb18030", "big5", "shift_jis", "euc-kr")
_MARKS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_SAID = {"cp1252": "Windows-1252", "gb18030": "GB18030", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}
_COMPRESSED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")

# Beside the two that are accepted, those that they are mistaken for.
_CANDIDATES = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1257", "koi8_r", "mac_roman", "cp850"]
_CANDIDATES += ["gb18030", "big5", "cp932", "euc_jp", "cp949"]
_SAMPLE = 1 << 20  # bytes in which zero bytes are looked for
_MOST_BYTES = 1 << 16  # of the lines that aren't UTF-8, for a guess
_FEWEST = 5  # characters beyond ASCII: fewer are no evidence
# By how much the library's measures of two encodings must differ to mean something: of disorder, and of language.
_MARGIN, _COHERENCE_MARGIN = 0.03, 0.1

# What Western Europe writes beyond ASCII. Other letters of Windows-1252 are rare in it, and stand for other encodings.
_WESTERN = frozenset("àâäáãåæçéèêëíîïñóòôöõøœúùûüßÿÀÂÄÁÃÅÆÇÉÈÊËÍÎÏÑÓÒÔÖÕØŒÚÙÛÜŸìÌ")
_SIGNS = frozenset("‘’“”„‚–—…•€£¥§©®™°«»‹›¿¡·ºª²³½¼¾×´µ\u00a0\u00ad†")
_INSIDE = re.compile(r"[^\W\d_][£¥§©®™°¿¡ºª²³½¼¾×µ†•€‚„][^\W\d_]|[^\W\d_A-ZÀ-ÖØ-Þ][À-ÖØ-ÞŒŠŽŸ]|[^\W\d_a-zA-Z]{4}")


def check_encoding(name: str) -> str:
    """The name of an encoding, after checking that Python can read it.

    Raises:
        UnknownNameError: it can't.

    Example:
        >>> check_encoding("Windows-1252"), check_encoding("UTF-8")
        ('cp1252', 'utf-8')
    """
    try:
        found = codecs.lookup(name)
        # Some codecs, such as hex, are for no text.
        with suppress(UnicodeError):
            b"  ".decode(name)
    except (LookupError, ValueError):
        raise UnknownNameError("encoding", name, _NAMED) from None
    return found.name


def encoding_of(path: str | Path) -> str:
    """The encoding of a text file, by its content; whatever isn't another text is "utf-8".

    UTF-16 and UTF-32 are recognised by their byte order mark, UTF-16 also without. Of what isn't UTF-8, Windows-1252
    and GB18030 are guessed, unless a line of UTF-8 beyond ASCII contradicts, or too little speaks for them. A warning
    says once what a file is read as, since a guess may be wrong.

    Args:
        path: the file; a .gz file is decompressed.

    Raises:
        OSError: it can't be read.
        MissingExtraError: it isn't UTF-8, and the library `charset-normalizer` is not installed.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        ...     _ = file.write("schön")
        ...     file.flush()
        ...     encoding_of(file.name)
        'utf-8'
    """
    path = Path(path)
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        return UTF8  # a pipe can be read only once, and may never begin
    return _encoding_of(path.absolute(), str(path), state.st_size, state.st_mtime_ns)


# Cached, because each split reads the file anew, and a warning suffices.
@lru_cache(maxsize=256)
def _encoding_of(path: Path, given: str, size: int, changed: int) -> str:
    try:
        found = _found(lambda: open_text(path))
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return UTF8  # whoever reads its lines reports it
    if found != UTF8:
        guessed = found in ("cp1252", "gb18030")
        step = " If letters look wrong, name its encoding: --encoding NAME." if guessed else ""
        warnings.warn(
            f"{given} isn't UTF-8, and is read as {_SAID.get(found, found.upper())}.{step}",
            GuessedEncoding,
            stacklevel=3,
        )
    return found


def open_text(path: str | Path, encoding: str = UTF8) -> BinaryIO:
    """Open a text file of any encoding, to read it as UTF-8; a .gz file is decompressed.

    A byte that the encoding doesn't have stays as it is, which is no UTF-8, so that its line can be reported.

    Args:
        path: the file.
        encoding: its encoding, as Python calls it.

    Raises:
        OSError: it can't be opened.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("wb") as file:
        ...     _ = file.write("schön".encode("latin-1"))
        ...     file.flush()
        ...     open_text(file.name, "latin-1").read().decode()
        'schön'
    """
    path = Path(path)
    file: Any = (gzip.open if path.suffix == ".gz" else open)(path, "rb")
    if encoding == UTF8:
        return file
    return io.BufferedReader(_Recoded(file, encoding, path))


class _Recoded(io.RawIOBase):
    """The bytes of a file, from its encoding to UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str, path: Path):
        # Half a character of UTF-16 moves all that follow, so it can't be reported as one of a line.
        wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
        self._decoder = codecs.getincrementaldecoder(encoding)("strict" if wide else "surrogateescape")
        self._file, self._path, self._encoding, self._rest = file, path, encoding, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        while not self._rest:
            raw = self._file.read(1 << 16)
            try:
                self._rest = self._decoder.decode(raw, not raw).encode(UTF8, "surrogateescape")
            except UnicodeError as error:
                # UTF-16 may hold half a surrogate pair, which UTF-8 can't.
                why = getattr(error, "reason", str(error))
                wrong = f"it isn't {self._encoding} to its end ({why}). Save it as UTF-8."
                with open_text(self._path, UTF8) as file:
                    if b"\0" not in file.read(_SAMPLE) and not file.seek(0) and _is_utf8(file):
                        wrong = (
                            f"it isn't {self._encoding}, but UTF-8. Leave --encoding out; from Python: encoding=None."
                        )
                raise DataError(wrong, path=self._path) from error
            if not raw:
                break
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def _found(opened: Callable[[], BinaryIO]) -> str:
    with opened() as file:
        beginning = file.read(_SAMPLE)
    for mark, name in _MARKS.items():
        # Of an empty text, the mark alone.
        if beginning.startswith(mark):
            return name
    if beginning.startswith(_COMPRESSED):
        return UTF8
    if b"\0" in beginning:
        return next((name for name in ("utf-16-le", "utf-16-be") if _is_utf16(beginning, name)), UTF8)
    with opened() as file:
        if _is_utf8(file):
            return UTF8
    with opened() as file:
        return _guess(file) or UTF8


def _is_utf8(file: BinaryIO) -> bool:
    decoder = codecs.getincrementaldecoder(UTF8)()
    try:
        while chunk := file.read(_SAMPLE):
            decoder.decode(chunk)
        decoder.decode(b"", True)
    except UnicodeDecodeError:
        return False
    return True


def _is_utf16(beginning: bytes, encoding: str) -> bool:
    """Whether bytes without a mark are UTF-16: a text of lines, and no text of one byte a letter with some zeros."""
    try:
        text = beginning[: len(beginning) // 2 * 2].decode(encoding)
    except UnicodeDecodeError as error:
        # Cut in the middle of a pair of surrogates.
        if error.end < len(beginning) - 4:
            return False
        text = beginning[: error.start].decode(encoding)
    # In the wrong order, a line feed is a character that doesn't exist.
    strange = any(unicodedata.category(character) in ("Cc", "Cn", "Co") for character in {*text} - {*"\t\n\r"})
    if strange or "\n" not in text:
        return False
    try:
        beginning.replace(b"\0", b"").decode(UTF8)
    except UnicodeDecodeError:
        return True
    return beginning.count(b"\0") > len(beginning) / 3


def _guess(file: BinaryIO) -> str | None:
    """The encoding of a file that isn't UTF-8; None if too little speaks for one."""
    sample: list[bytes] = []
    broken = whole = size = 0
    while line := file.readline(_SAMPLE):
        if line.isascii():
            continue
        try:
            line.decode(UTF8)
            whole += 1
        except UnicodeDecodeError:
            broken += 1
            if not sample or size + len(line) <= _MOST_BYTES:
                sample.append(line)
                size += len(line)
    # Few lines of another encoding happen to be UTF-8. With more, the file is UTF-8, and the others are broken.
    return None if 10 * whole > broken else _accepted(b"".join(sample)[:_SAMPLE])


def _accepted(raw: bytes) -> str | None:
    normalizer = require("charset_normalizer", extra="data")
    matches = [*normalizer.from_bytes(raw, cp_isolation=_CANDIDATES, preemptive_behaviour=False, threshold=0.5)]
    found = {match.encoding: match for match in matches}
    if not matches:
        return None
    least = min(match.chaos for match in matches)
    for name, is_usual in (("gb18030", _is_chinese), ("cp1252", _is_western)):
        match = found.get(name)
        try:
            text = raw.decode(name)
        except UnicodeDecodeError:
            continue
        if match is None:
            # The library drops an encoding that gives the same text as another.
            match = next((other for other in matches if str(other) == text), None)
        if match is None or match.chaos > least + _MARGIN or not is_usual(text):
            continue
        rivals = [other for other in matches if str(other) != text and other.chaos <= match.chaos + _MARGIN]
        if all(other.coherence <= match.coherence + _COHERENCE_MARGIN for other in rivals):
            return name
    return None


def _is_western(text: str) -> bool:
    beyond = [character for character in text if not character.isascii()]
    letters = sum(character.isalpha() for character in text)
    strange = sum(character not in _WESTERN and character not in _SIGNS for character in beyond)
    accented = sum(character.isalpha() for character in beyond)
    return (
        len(beyond) >= _FEWEST
        and strange <= len(beyond) / 50
        and accented <= letters / 3
        and len(_INSIDE.findall(text)) <= len(beyond) / 50
    )


def _is_chinese(text: str) -> bool:
    beyond = [character for character in text if not character.isascii()]
    han = sum("\u4e00" <= character <= "\u9fff" for character in beyond)
    # The first level of GB 2312 has the 3,755 characters that nearly all of a text is made of.
    usual = sum(
        b"\xb0\xa1" <= character.encode("gb18030") <= b"\xd7\xf9" for character in beyond if character.isalpha()
    )
    return len(beyond) >= _FEWEST and han >= len(beyond) / 2 and usual >= 0.8 * han
