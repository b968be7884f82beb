"""The CMU Pronouncing Dictionary: words and their phonemes."""

from collections.abc import Iterator
from pathlib import Path

from regard.datasets.dataset import Dataset, files_at, select_split
from regard.datasets.example import Example
from regard.datasets.pronunciations import read_pronunciations
from regard.inputs.lines import ErrorHandler

__all__ = ["CMUDICT"]


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
