"""The Free Spoken Digit Dataset, digit by digit and as strings of digits."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

from regard.datasets.dataset import Dataset, DatasetFile
from regard.datasets.example import Example
from regard.datasets.known.digit_strings import STRING_LABELS, make_digit_strings
from regard.errors import DataError
from regard.inputs.lines import ErrorHandler

__all__ = ["FSDD", "FSDD_STRINGS", "read_spoken_digits"]

_NAME = re.compile(r"([0-9])_([a-z]+)_([0-9]{1,4})\.wav")
_STRINGS = {"train": (2000, 1), "dev": (200, 2), "test": (200, 3)}  # the number of strings, and the seed


def read_spoken_digits(folder: Path, split: str, label: str, on_error: ErrorHandler) -> Iterator[Example[Path, str]]:
    """The recordings of a split, sorted by name; the files are named DIGIT_SPEAKER_INDEX.wav, and aren't opened.

    The index determines the split: 0 to 4 is test, as defined by the authors, 5 to 9 is dev, and the others are train.

    Args:
        folder: the folder that contains `recordings`.
        split: train, dev or test.
        label: digit or speaker.
        on_error: called for each file with another name.
    """
    for path in sorted((folder / "recordings").iterdir()):
        named = _NAME.fullmatch(path.name)
        if named is None:
            if not path.name.startswith("."):
                on_error(DataError("its name must be DIGIT_SPEAKER_INDEX.wav, as 7_jackson_32.wav.", path=path))
            continue
        digit, speaker, index = named.groups()
        if split == ("test" if int(index) < 5 else "dev" if int(index) < 10 else "train"):
            yield Example(path, digit if label == "digit" else speaker, group=speaker)


def _strings(folder: Path, split: str, label: str, on_error: ErrorHandler) -> list[Example[Any, Any]]:
    count, seed = _STRINGS[split]
    return make_digit_strings(list(read_spoken_digits(folder, split, "digit", on_error)), count, seed=seed, label=label)


FSDD = Dataset(
    name="fsdd",
    title="Free Spoken Digit Dataset: 3,000 recordings of English digits by 6 speakers, 8 kHz",
    language="English",
    licence="CC BY-SA 4.0",
    source="github.com/Jakobovski/free-spoken-digit-dataset, commit 26eb9aaf76e81b692f806f9140c2d2777410d7a1",
    citation="Jackson et al. 2018, Jakobovski/free-spoken-digit-dataset (Zenodo 1342401)",
    label="digit",
    fold="nothing",
    files=MappingProxyType(
        {
            "recordings": DatasetFile(
                url=None,
                sha256="1801eae019c063377d98f831d3f93574f259475df7332bb0e3d1b080fb5e6959",
                size=21_128_848,
                path="recordings",
                count=3000,
            )
        }
    ),
    by_hand=(
        "git clone https://github.com/Jakobovski/free-spoken-digit-dataset fsdd, then in it "
        "git checkout 26eb9aaf76e81b692f806f9140c2d2777410d7a1."
    ),
    modality="sound",
    target_type="label",
    labels=("digit", "speaker"),
    read=read_spoken_digits,
)

FSDD_STRINGS = dataclasses.replace(
    FSDD,
    name="fsdd-strings",
    title="Strings of 3 to 8 spoken digits by one speaker, joined from fsdd with silences: 2,000, 200 and 200",
    label="digits",
    folder="fsdd",
    target_type=MappingProxyType(
        {"digits": "text", "frames": "items", "speaker": "label", "energy": "items", "speech": "sound"}
    ),
    labels=STRING_LABELS,
    read=_strings,
)
