"""Pictures of handwritten digits: MNIST, and the small ones that come with scikit-learn."""

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import torch
from torch import Tensor

from regard.datasets.dataset import Dataset, DatasetFile
from regard.datasets.example import Example
from regard.datasets.formats.idx import read_idx
from regard.datasets.splits import split_by_hash
from regard.errors import DataError
from regard.extras import require
from regard.inputs.lines import ErrorHandler

__all__ = ["DIGITS", "MNIST"]

_DEV = 5000


def _mnist(folder: Path, split: str, label: str, on_error: ErrorHandler) -> list[Example[Tensor, str]]:
    stem = "t10k" if split == "test" else "train"
    pictures = read_idx(folder / f"{stem}-images-idx3-ubyte.gz")
    numbers = read_idx(folder / f"{stem}-labels-idx1-ubyte.gz")
    if pictures.dim() != 3 or numbers.shape != pictures.shape[:1]:
        raise DataError(
            f"{stem} must have a label for each picture, but is {tuple(pictures.shape)} and {tuple(numbers.shape)}.",
            path=folder,
        )
    part = {"train": slice(None, -_DEV), "dev": slice(-_DEV, None), "test": slice(None)}[split]
    return [
        Example(picture, str(number)) for picture, number in zip(pictures[part], numbers[part].tolist(), strict=True)
    ]


def _digits(folder: Path, split: str, label: str, on_error: ErrorHandler) -> Iterator[Example[Tensor, str]]:
    loaded = require("sklearn.datasets", extra="train").load_digits()
    # The levels 0 to 16 become floats from 0 to 1.
    pictures = torch.from_numpy(loaded.images).float() / 16
    for picture, levels, number in zip(pictures, loaded.images, loaded.target.tolist(), strict=True):
        if split_by_hash(levels.astype("u1").tobytes().hex()) == split:
            yield Example(picture, str(number))


def _packed(name: str, sha256: str, size: int) -> DatasetFile:
    return DatasetFile(url=None, sha256=sha256, size=size, path=f"{name}.gz", unpacked=True)


MNIST = Dataset(
    name="mnist",
    title="MNIST: handwritten digits, 28 x 28; dev is the last 5,000 of the 60,000 to train on",
    language="",
    licence="CC BY-SA 3.0",
    source="yann.lecun.com/exdb/mnist: four IDX files, packed by gzip",
    citation="LeCun, Bottou, Bengio, Haffner 1998, Gradient-based learning applied to document recognition, Proc. IEEE",
    label="digit",
    fold="nothing",
    files=MappingProxyType(
        {
            "train.pictures": _packed(
                "train-images-idx3-ubyte",
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                47_040_016,
            ),
            "train.labels": _packed(
                "train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5", 60_008
            ),
            "test.pictures": _packed(
                "t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7", 7_840_016
            ),
            "test.labels": _packed(
                "t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2", 10_008
            ),
        }
    ),
    by_hand="get the four files train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz and "
    "t10k-labels-idx1-ubyte.gz from any mirror; what is packed in them is compared.",
    modality="picture",
    target_type="label",
    labels=("digit",),
    read=_mnist,
)

DIGITS = Dataset(
    name="digits",
    title="Optical Recognition of Handwritten Digits: 1,797 pictures, 8 x 8; split by hash 8:1:1",
    language="",
    licence="CC BY 4.0",
    source="scikit-learn, load_digits (UCI Machine Learning Repository 80, its test half)",
    citation="Alpaydin, Kaynak 1998, Optical Recognition of Handwritten Digits, UCI",
    label="digit",
    fold="nothing",
    files=MappingProxyType({}),
    library="sklearn",
    extra="train",
    modality="picture",
    target_type="label",
    labels=("digit",),
    read=_digits,
)
