"""Reading a dictionary of pronunciations in the format of the CMU Pronouncing Dictionary: a word and its phonemes."""

import re
from collections.abc import Iterator
from pathlib import Path

from regard.datasets.example import Example
from regard.errors import DataError
from regard.inputs.lines import ErrorHandler, raise_error, read_lines

__all__ = ["read_pronunciations"]

_PHONEMES = re.compile(r"[A-Z]+[0-2]?(?: [A-Z]+[0-2]?)*")
_STRESS = re.compile(r"[0-2]")
_VARIANT = re.compile(r"(?<=.)\([0-9]+\)$")


def read_pronunciations(
    path: str | Path, *, stress: bool = True, on_error: ErrorHandler = raise_error
) -> Iterator[Example[str, str]]:
    """The words of a dictionary, each with its phonemes, separated by spaces.

    A word with several pronunciations gives one example for each; "(2)" after the word marks the second. Their group is
    the word, so that a split doesn't separate them, and any of them counts as correct.

    Args:
        path: the file. Blank lines and comments (after " #", or lines that start with ;;;) are skipped.
        stress: whether vowels keep their stress, a digit 0, 1 or 2. Published results of grapheme-to-phoneme conversion
            are without stress. Without it, pronunciations that differ only in stress are one.
        on_error: called for each broken line, which is then skipped; by default it raises the error.

    Raises:
        DataError: a broken line.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".dict") as file:
        ...     _ = file.write("a AH0\\na(2) EY1\\naalto AA1 L T OW2 # name, finnish\\n")
        ...     file.flush()
        ...     [(example.source, example.target) for example in read_pronunciations(file.name)]
        [('a', 'AH0'), ('a', 'EY1'), ('aalto', 'AA1 L T OW2')]
    """
    seen: set[tuple[str, str]] = set()
    for number, line in read_lines(path, on_error):
        content = "" if line.startswith((";;;", "#")) else line.split(" #", 1)[0].rstrip()
        word, _, phonemes = content.partition(" ")
        if len(word.split()) == 1 and _PHONEMES.fullmatch(phonemes):
            word = _VARIANT.sub("", word) if word.endswith(")") else word
            if not stress:
                phonemes = _STRESS.sub("", phonemes)
                if (word, phonemes) in seen:
                    continue
                seen.add((word, phonemes))
            yield Example(word, phonemes, group=word)
        elif content:
            wrong = f"a line must be a word and its phonemes, as 'saw S AO1', but is {line[:40]!r}."
            on_error(DataError(wrong, path=path, line=number))
