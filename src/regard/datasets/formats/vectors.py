"""Sequences of vectors with labels: a user's own, and the Japanese vowels."""

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

from torch import Tensor

from regard.datasets.dataset import Dataset, DatasetFile
from regard.datasets.example import Example
from regard.datasets.splits import split_by_hash
from regard.errors import DataError
from regard.inputs.lines import ErrorHandler
from regard.inputs.vector_files import read_vectors

__all__ = ["JAPANESE_VOWELS", "VECTORS", "read_labelled_vectors"]

VECTORS = (".ts", ".npy", ".npz")
"""The suffixes of files of vectors; tables may hold them, too (`series_tables`)."""

_AEON = (
    "https://raw.githubusercontent.com/aeon-toolkit/aeon/a101ddc8b35a65441609b45c9bcce5aeafa0c131/"
    "aeon/datasets/data/JapaneseVowels"
)


def read_labelled_vectors(path: str | Path) -> Iterator[Example[Tensor, Any]]:
    """The sequences (item, width) of a file of vectors (see `inputs.read_vectors`), with their labels or item labels.

    Raises:
        DataError: a broken file, or one without labels.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".ts") as file:
        ...     _ = file.write("@dimensions 1\\n@classLabel true yes no\\n@data\\n1,2:yes\\n7:no\\n")
        ...     file.flush()
        ...     [(example.source.tolist(), example.target) for example in read_labelled_vectors(file.name)]
        [([[1.0], [2.0]], 'yes'), ([[7.0]], 'no')]
    """
    read = read_vectors(path)
    labels = read.labels if read.item_labels is None else read.item_labels
    if labels is None:
        step = {
            ".npz": "Save them in it as the array `labels`, one for each of the others.",
            ".npy": "Save a .npz with an array for each series, and one called `labels`.",
        }.get(
            Path(path).suffix.lower(), "Write @classLabel true and the classes above @data, and each label at the end."
        )
        raise DataError(f"it has no labels, so there is nothing to learn. {step}", path=path)
    for vectors, label in zip(read.sequences, labels, strict=True):
        yield Example(vectors, label)


def _vowels(folder: Path, split: str, label: str, on_error: ErrorHandler) -> Iterator[Example[Tensor, str]]:
    file = "JapaneseVowels_TEST.ts" if split == "test" else "JapaneseVowels_TRAIN.ts"
    for example in read_labelled_vectors(folder / file):
        hashed = "test" if split == "test" else split_by_hash(example.source.numpy().tobytes().hex())
        # A tenth of the training file is dev; the tenth whose hash is test stays in train.
        if split == ("train" if hashed == "test" and split != "test" else hashed):
            yield example


JAPANESE_VOWELS = Dataset(
    name="japanese-vowels",
    title="Japanese Vowels: 9 men say /ae/; 12 cepstra a frame, 7 to 29 frames; dev is a tenth of train, by hash",
    language="Japanese",
    licence="CC BY 4.0",
    source="github.com/aeon-toolkit/aeon, commit a101ddc8b35a65441609b45c9bcce5aeafa0c131 (UCI 128)",
    citation="Kudo, Toyama, Shimbo 1999, Multidimensional curve classification using passing-through regions, PRL 20",
    label="speaker",
    fold="nothing",
    files=MappingProxyType(
        {
            "train": DatasetFile(
                url=f"{_AEON}/JapaneseVowels_TRAIN.ts",
                sha256="68a430eabd919cc77f40b1f5f3bc0dcafacc1486bca9260785aeb7d262cc78cd",
                size=487_971,
            ),
            "test": DatasetFile(
                url=f"{_AEON}/JapaneseVowels_TEST.ts",
                sha256="b3d41d6a0ca3bcad3afb9ca7d4365382aa51341e2e58bae2a574babdda5b9462",
                size=649_132,
            ),
        }
    ),
    modality="vectors",
    target_type="label",
    labels=("speaker",),
    read=_vowels,
)
