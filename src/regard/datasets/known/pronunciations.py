"""The CMU Pronouncing Dictionary, and other dictionaries in its format: a word and its phonemes."""

import re
from collections.abc import Iterator
from pathlib import Path

from regard.datasets.dataset import Dataset, files_at, select_split
from regard.datasets.example import Example
from regard.errors import DataError
from regard.inputs.lines import ErrorHandler, raise_error, read_lines

__all__ = ["CMUDICT", "read_pronunciations"]

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


def _words(folder: Path, split: str, label: str, on_error: ErrorHandler) -> Iterator[Example[str, str]]:
    stress = label == "phonemes"
    return select_split(read_pronunciations(folder / "cmudict.dict", stress=stress, on_error=on_error), split)


CMUDICT = Dataset(
    name="cmudict",
    title="CMU Pronouncing Dictionary: 126,052 English words, 135,166 pronunciations; split by hash of the word 8:1:1",
    language="English",
    licence="BSD-2-Clause",
    source="github.com/cmusphinx/cmudict, commit 0f8072f814306c5ee4fbf992ed853601b12c01f9",
    citation="The CMU Pronouncing Dictionary, Carnegie Mellon University, 1993-2015",
    label="phonemes",
    fold="nothing",
    files=files_at(
        "https://raw.githubusercontent.com/cmusphinx/cmudict/0f8072f814306c5ee4fbf992ed853601b12c01f9",
        all=("cmudict.dict", "81917843c7f44ce2b094ac63873c2c7a4cf802040792c455ba3ca406891c3d22", 3_618_488),
    ),
    modality="text",
    target_type="text",
    labels=("phonemes", "unstressed"),
    read=_words,
)
