"""Data sets that regard knows by name: where they are, under which terms, and how to tell that they are whole."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["CATALOG", "Dataset", "DatasetFile"]

_RAW = "https://raw.githubusercontent.com/UniversalDependencies"
# Full commits, so that what is downloaded in ten years is what the checksums were taken from.
_EWT = f"{_RAW}/UD_English-EWT/15d613d8447b3478787d4c278730a1e48a945efb"
_GSD_2016 = f"{_RAW}/UD_Chinese-GSD/9eab5182234b0429e5dd738cfe2a5626fef96e58"
_GSD_SIMPLIFIED = f"{_RAW}/UD_Chinese-GSDSimp/eb3aed31ebb170897405ee5cd1db83a1a0b11864"


@dataclass(frozen=True)
class DatasetFile:
    """One file of a data set, or a folder of many small ones.

    Args:
        url: where it is downloaded from; None if it has to be put into place by hand.
        sha256: the checksum of its bytes, in hexadecimal; of a folder, that of its files' names and checksums.
        size: how many bytes it has.
        simplify: whether its words are in traditional characters, and become simplified ones when read.
        path: its path in the data set's folder; by default the last part of its URL.
        count: how many files it has, if it is a folder; 0 if it is a file.
        unpacked: whether checksum and size are those of what is packed in it: the same is packed in many ways.
    """

    url: str | None
    sha256: str
    size: int
    simplify: bool = False
    path: str = ""
    count: int = 0
    unpacked: bool = False

    @property
    def filename(self) -> str:
        """The file's name, with the folders above it inside the data set's."""
        return self.path or (self.url or "").rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Dataset:
    """A data set that regard knows by name.

    Args:
        name: what to call it by.
        title: what it is, in a few words.
        language: of the text.
        licence: its terms, as its source states them.
        source: where it comes from, with the version.
        citation: the paper to cite.
        label: what its words are labelled with by default, a column of CoNLL-U.
        fold: the folding (a name in `inputs.FOLDINGS`) under which its splits spell alike.
        files: for each split, its file.
        folder: the name of the folder with its files; by default its own name.
        by_hand: for what can't be downloaded, how to get it: a sentence.
        library: the library that brings it, which then has no files; "" for none.
        extra: the extra that brings the library.
    """

    name: str
    title: str
    language: str
    licence: str
    source: str
    citation: str
    label: str
    fold: str
    files: Mapping[str, DatasetFile]
    folder: str = ""
    by_hand: str = ""
    library: str = ""
    extra: str = ""

    @property
    def size(self) -> int:
        """How many bytes all its files have."""
        return sum(file.size for file in self.files.values())


_ENGLISH = Dataset(
    name="ud-english-ewt",
    title="UD English Web Treebank: blogs, e-mails, reviews, answers; 17 universal parts of speech",
    language="English",
    licence="CC BY-SA 4.0",
    source="github.com/UniversalDependencies/UD_English-EWT, commit 15d613d8447b (May 2025)",
    citation="Silveira et al. 2014, A Gold Standard Dependency Corpus for English, LREC",
    label="upos",
    fold="ascii",
    files=MappingProxyType(
        {
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
        }
    ),
)

# The two halves are eight years apart. Their language-specific tags (XPOS) still agree on all but three words in
# 24,675, while the universal ones changed for 9 %; so XPOS it is. No label needs changing. What differs is the
# characters: the words of the training file become simplified when it is read, and its punctuation is half-width
# where that of dev and test is full-width, which `fold` evens out inside the encoder, so that a user's text is treated
# the same. `regard data check` and the count of duplicates fold too.
_CHINESE = Dataset(
    name="ud-chinese-gsd",
    title="UD Chinese GSD: encyclopedia; train is the 2016 release, simplified by OpenCC, dev and test are GSDSimp",
    language="Chinese",
    licence="CC BY-SA 4.0 (the 2016 readme of train said NC; lifted in 2019)",
    source=(
        "github.com/UniversalDependencies/UD_Chinese-GSD, commit 9eab5182234b (2016), for train; "
        "UD_Chinese-GSDSimp, commit eb3aed31ebb1 (May 2025), for dev and test"
    ),
    citation="Universal Dependencies, Chinese GSD (Google, 2016); Chinese GSDSimp (Peng Qi, Koichi Yasuoka, 2019)",
    label="xpos",
    fold="width",
    files=MappingProxyType(
        {
            "train": DatasetFile(
                url=f"{_GSD_2016}/zh-ud-train.conllu",
                sha256="94c1ad7f8f7d545169bafbef367852b965ec5eada13d614d8e8b6b9297ee6d0d",
                size=3_281_947,
                simplify=True,
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
        }
    ),
)

CATALOG: Mapping[str, Dataset] = MappingProxyType({dataset.name: dataset for dataset in (_ENGLISH, _CHINESE)})
"""The treebanks by name: sentences whose words have labels. Data sets of other kinds are in `EXAMPLE_SETS`."""
