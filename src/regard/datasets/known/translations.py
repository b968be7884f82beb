"""Translation: Multi30k and Tatoeba."""

from collections.abc import Iterable
from pathlib import Path

from regard.datasets.dataset import Dataset, files_at
from regard.datasets.example import Example
from regard.datasets.formats.pairs import read_aligned, read_pairs
from regard.datasets.splits import split_by_group
from regard.inputs.lines import ErrorHandler

__all__ = ["MULTI30K", "TATOEBA"]

_STEMS = {"train": "train", "dev": "val", "test": "test_2016_flickr"}


def _captions(folder: Path, split: str, label: str, on_error: ErrorHandler) -> Iterable[Example[str, str]]:
    first, second = label.split("-")
    files = (folder / f"{_STEMS[split]}.{language}.gz" for language in (first, second))
    return read_aligned(*files, on_error=on_error)


def _sentences(folder: Path, split: str, label: str, on_error: ErrorHandler) -> Iterable[Example[str, str]]:
    pairs = list(read_pairs(folder / "cmn.txt", on_error=on_error))
    splits = split_by_group((f"en {pair.source}", f"zh {pair.target}") for pair in pairs)
    pairs = [pair for pair, its in zip(pairs, splits, strict=True) if its == split]
    return pairs if label == "en-zh" else [Example(pair.target, pair.source) for pair in pairs]


MULTI30K = Dataset(
    name="multi30k",
    title="Multi30k: captions of 31,014 pictures in English, German and French; test is that of 2016",
    language="English, German, French",
    licence="CC BY-NC-SA (the pictures, which aren't here, have terms of their own)",
    source="github.com/multi30k/dataset, commit a3d2e0d26b56f3846f66a952536ffed4e401d05a",
    citation="Elliott et al. 2016, Multi30K: Multilingual English-German Image Descriptions (arXiv 1605.00459)",
    label="en-de",
    fold="nothing",
    files=files_at(
        "https://raw.githubusercontent.com/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw",
        **{
            f"{split}.{language}": (f"{_STEMS[split]}.{language}.gz", sha256, size)
            for split, language, sha256, size in (
                ("train", "en", "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f", 568_929),
                ("train", "de", "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6", 637_044),
                ("train", "fr", "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c", 604_242),
                ("dev", "en", "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28", 21_650),
                ("dev", "de", "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a", 24_681),
                ("dev", "fr", "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9", 23_001),
                ("test", "en", "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9", 21_077),
                ("test", "de", "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8", 22_890),
                ("test", "fr", "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90", 22_310),
            )
        },
    ),
    modality="text",
    target_type="text",
    labels=("en-de", "de-en", "en-fr", "fr-en", "de-fr", "fr-de"),
    read=_captions,
)

TATOEBA = Dataset(
    name="tatoeba-zh-en",
    title="Tatoeba: English sentences and Chinese translations; split by hash 8:1:1, pairs with a common side together",
    language="English, Chinese",
    licence="CC BY 2.0 FR (each line names its authors)",
    source="github.com/13luoyu/Transformer-machine-translation, commit aa43963320ccfacebd1d3542deae559bbca58d03",
    citation="Tatoeba (tatoeba.org), in the selection of manythings.org/anki",
    label="en-zh",
    fold="nothing",
    files=files_at(
        "https://raw.githubusercontent.com/13luoyu/Transformer-machine-translation/"
        "aa43963320ccfacebd1d3542deae559bbca58d03",
        all=("cmn.txt", "aa264a2447b26ab7c9d413f8321f9e2a779fd134b5118306b6e26a3499b3926e", 4_151_383),
    ),
    modality="text",
    target_type="text",
    labels=("en-zh", "zh-en"),
    read=_sentences,
)
