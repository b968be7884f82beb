"""Treebanks, whose words have labels: the English Web Treebank and Chinese GSD of Universal Dependencies."""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from regard.datasets.dataset import Dataset, DatasetFile
from regard.datasets.example import SEGMENTATION, TaggedSentence, segmented
from regard.datasets.formats.treebank import LABELS, read_treebank
from regard.inputs import convert_script
from regard.inputs.encodings import UTF8
from regard.inputs.lines import ErrorHandler

__all__ = ["CHINESE_GSD", "ENGLISH_EWT", "read_sentences", "treebank"]

_RAW = "https://raw.githubusercontent.com/UniversalDependencies"
# Full commits, so that a download always matches the checksums.
_EWT = f"{_RAW}/UD_English-EWT/15d613d8447b3478787d4c278730a1e48a945efb"
_GSD_2016 = f"{_RAW}/UD_Chinese-GSD/9eab5182234b0429e5dd738cfe2a5626fef96e58"
_GSD_SIMPLIFIED = f"{_RAW}/UD_Chinese-GSDSimp/eb3aed31ebb170897405ee5cd1db83a1a0b11864"


def read_sentences(
    path: Path,
    label: str,
    column: str,
    *,
    convert: Callable[[str], str] | None = None,
    encoding: str = UTF8,
    on_error: ErrorHandler | None = None,
) -> Iterator[TaggedSentence]:
    """The sentences of a CoNLL-U file, labelled with a column, or as characters with `SEGMENTATION`.

    Args:
        path, convert, encoding, on_error: as in `read_treebank`.
        label: one of `LABELS`, or `SEGMENTATION`.
        column: the column to read for `SEGMENTATION`, which doesn't use it.
    """
    if label == SEGMENTATION:
        return map(segmented, read_treebank(path, column, convert=convert, encoding=encoding, on_error=on_error))
    return read_treebank(path, label, convert=convert, encoding=encoding, on_error=on_error)


def treebank(*, label: str, files: Mapping[str, DatasetFile], simplify: Collection[str] = (), **about: Any) -> Dataset:
    """The entry of a treebank.

    Args:
        label: the default column.
        files: the file of each split.
        simplify: the splits that are in traditional characters, and are converted to simplified ones.
        **about: the other arguments of `Dataset`.
    """

    def read(folder: Path, split: str, name: str, on_error: ErrorHandler) -> Iterator[TaggedSentence]:
        convert = _simplified if split in simplify else None
        return read_sentences(folder / files[split].filename, name, label, convert=convert, on_error=on_error)

    return Dataset(
        modality="words",
        target_type="items",
        label=label,
        labels=(*LABELS, SEGMENTATION),
        read=read,
        files=MappingProxyType(dict(files)),
        **about,
    )


@cache
def _simplified(word: str) -> str:
    """A word in simplified characters; cached, because words repeat."""
    return convert_script(word, "simplified")


ENGLISH_EWT = treebank(
    name="ud-english-ewt",
    title="UD English Web Treebank: blogs, e-mails, reviews, answers; 17 universal parts of speech",
    language="English",
    licence="CC BY-SA 4.0",
    source="github.com/UniversalDependencies/UD_English-EWT, commit 15d613d8447b3478787d4c278730a1e48a945efb, May 2025",
    citation="Silveira et al. 2014, A Gold Standard Dependency Corpus for English, LREC",
    label="upos",
    fold="ascii",
    files={
        "train": DatasetFile(
            url=f"{_EWT}/en_ewt-ud-train.conllu",
            sha256="3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
            size=14_203_025,
        ),
        "dev": DatasetFile(
            url=f"{_EWT}/en_ewt-ud-dev.conllu",
            sha256="531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
            size=1_805_545,
        ),
        "test": DatasetFile(
            url=f"{_EWT}/en_ewt-ud-test.conllu",
            sha256="e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
            size=1_804_515,
        ),
    },
)

# The training data are eight years older than dev and test. Their language-specific tags (XPOS) agree on all but three
# of 24,675 words, while 9 % of the universal tags have changed, so XPOS is the default label. The characters differ:
# the words of the training file are converted to simplified ones when they are read, and its punctuation is half-width
# while that of dev and test is full-width. The encoder removes that difference by `fold`, also in a user's text, as do
# `regard data check` and the count of duplicates.
CHINESE_GSD = treebank(
    name="ud-chinese-gsd",
    title="UD Chinese GSD: encyclopedia; train is the 2016 release, simplified by OpenCC, dev and test are GSDSimp",
    language="Chinese",
    licence="CC BY-SA 4.0 (the 2016 readme of train said NC; lifted in 2019)",
    source=(
        "github.com/UniversalDependencies/UD_Chinese-GSD, commit 9eab5182234b0429e5dd738cfe2a5626fef96e58 (2016), "
        "for train; "
        "UD_Chinese-GSDSimp, commit eb3aed31ebb170897405ee5cd1db83a1a0b11864 (May 2025), for dev and test"
    ),
    citation="Universal Dependencies, Chinese GSD (Google, 2016); Chinese GSDSimp (Peng Qi, Koichi Yasuoka, 2019)",
    label="xpos",
    fold="width",
    simplify=("train",),
    files={
        "train": DatasetFile(
            url=f"{_GSD_2016}/zh-ud-train.conllu",
            sha256="94c1ad7f8f7d545169bafbef367852b965ec5eada13d614d8e8b6b9297ee6d0d",
            size=3_281_947,
        ),
        "dev": DatasetFile(
            url=f"{_GSD_SIMPLIFIED}/zh_gsdsimp-ud-dev.conllu",
            sha256="342a2969df6d6d08bdc25dbc067c93c86ab3099bb054a9921ae7067cbc2c53ad",
            size=1_180_003,
        ),
        "test": DatasetFile(
            url=f"{_GSD_SIMPLIFIED}/zh_gsdsimp-ud-test.conllu",
            sha256="573f59b799b499a920d2d5bdc0e3c1dbd7bcacf86bdece4334ecbd03e21b6150",
            size=1_120_900,
        ),
    },
)
