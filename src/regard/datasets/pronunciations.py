"""A dictionary of pronunciations, as the CMU Pronouncing Dictionary is written: a word, then its phonemes."""

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
    """The words of a dictionary, each with its phonemes and a space between them.

    A word with several pronunciations stands once for each; "(2)" behind the word marks the second. All of them have
    the word as their group: they belong on one side of a split, and an answer that is any of them is right.

    Args:
        path: the file. Blank lines and comments (from # on, behind a space, or from ;;; at the beginning) are skipped.
        stress: whether a vowel tells its stress, by 0, 1 or 2 behind it. Published figures of letters to phonemes are
            without it. Two pronunciations that only stress sets apart are then one.
        on_error: is told of each broken line, which is then left out; by default it is raise_error.

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
    told: set[tuple[str, str]] = set()
    for number, line in read_lines(path, on_error):
        said = "" if line.startswith((";;;", "#")) else line.split(" #", 1)[0].rstrip()
        word, _, phonemes = said.partition(" ")
        if len(word.split()) == 1 and _PHONEMES.fullmatch(phonemes):
            word = _VARIANT.sub("", word) if word.endswith(")") else word
            if not stress:
                phonemes = _STRESS.sub("", phonemes)
                if (word, phonemes) in told:
                    continue
                told.add((word, phonemes))
            yield Example(word, phonemes, group=word)
        elif said:
            wrong = f"a line must be a word and its phonemes, as 'saw S AO1', but is {line[:40]!r}."
            on_error(DataError(wrong, path=path, line=number))
