"""Reading the sentences of a data set, by its name or by its path."""

import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from regard.datasets.catalog import CATALOG
from regard.datasets.fetching import Progress, fetch
from regard.datasets.sentences import TaggedSentence
from regard.datasets.treebank import read_treebank
from regard.errors import DataError, UnknownNameError
from regard.extras import require

__all__ = ["SPLITS", "Source", "read", "resolve"]

SPLITS = ("train", "dev", "test")
"""The splits of a data set: to learn from, to choose by, to measure on."""


class Source:
    """Where the sentences of a data set are: its splits' files, and how its words are read.

    Args:
        name: what to call it.
        label: the column that labels words.
        fold: the folding (a name in `inputs.FOLDS`) under which its splits spell alike.
        files: for each split, its file.
        simplify: the splits whose words become simplified.
    """

    def __init__(self, name: str, label: str, fold: str, files: dict[str, Path], simplify: frozenset[str]):
        self.name, self.label, self.fold, self.files, self.simplify = name, label, fold, files, simplify

    def convert(self, split: str) -> Callable[[str], str] | None:
        """What turns a split's words into those to use; None if they are used as they are."""
        return _simplifier() if split in self.simplify else None


def resolve(data: str | Path, *, progress: Progress | None = None) -> Source:
    """Find what `data` names: a data set of the catalog, a .conllu file, or a folder of them.

    A single file stands for every split. In a folder, the file of a split has the split's name in its own, as a word
    by itself in any case: en-train.conllu and Train.conllu, but not trained.conllu.

    Raises:
        UnknownNameError: neither a known name nor a path that is there.
        DataError: no files in the folder, or two for one split.
    """
    if str(data) in CATALOG:
        known = CATALOG[str(data)]
        folder = fetch(known.name, progress=progress)
        return Source(
            known.name,
            known.label,
            known.fold,
            {split: folder / file.filename for split, file in known.files.items()},
            frozenset(split for split, file in known.files.items() if file.simplify),
        )
    path = Path(data)
    if path.is_dir():
        return Source(path.name, "upos", "nothing", _splits(path), frozenset())
    if path.exists():
        return Source(path.name, "upos", "nothing", dict.fromkeys(SPLITS, path), frozenset())
    if isinstance(data, Path) or os.sep in data or data.endswith(".conllu"):
        raise DataError("there is no such file or folder.", path=data)
    raise UnknownNameError("data", data, [*CATALOG, "a path to a .conllu file or a folder of them"])


def read(name_or_path: str | Path, split: str = "test", label: str | None = None) -> list[TaggedSentence]:
    """The sentences of one split of a data set.

    Args:
        name_or_path: a name in `CATALOG` (downloaded if need be), a CoNLL-U file (whose split is then not looked at),
            or a folder whose files are named after the splits.
        split: one of `SPLITS`.
        label: the column that labels the words, one of `LABELS`; by default what the catalog says, else "upos".

    Raises:
        UnknownNameError: a name, split or label that isn't known.
        DataError: a file that is missing or broken; names the file and the line.

    Example:
        >>> read("ud-english-ewt", split="exam")
        Traceback (most recent call last):
            ...
        regard.errors.UnknownNameError: `split` must be one of train, dev, test, but is 'exam'.
    """
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    source = resolve(name_or_path)
    if split not in source.files:
        raise DataError(
            f"it has no file for the split {split!r}: none named like {split}.conllu or en-{split}.conllu.",
            path=name_or_path,
        )
    return list(read_treebank(source.files[split], label or source.label, convert=source.convert(split)))


def _splits(folder: Path) -> dict[str, Path]:
    """The file of each split in a folder: "latest-train" is no test, and "developers-train" no dev."""
    files: dict[str, Path] = {}
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".conllu")
    for split in SPLITS:
        named = [path for path in found if re.search(rf"(?<![^\W\d_]){split}(?![^\W\d_])", path.stem, re.IGNORECASE)]
        if len(named) > 1:
            raise DataError(
                f"a folder must have one file for the split {split!r}, but has "
                f"{', '.join(file.name for file in named)}. Name the file instead.",
                path=folder,
            )
        if named and named[0] in files.values():
            raise DataError("its name holds the names of two splits. Name it after one.", path=named[0])
        if named:
            files[split] = named[0]
    if not files:
        raise DataError("it has no file named like train.conllu, en-dev.conllu or Test.conllu.", path=folder)
    return files


@cache
def _simplifier() -> Callable[[str], str]:
    """Traditional characters to simplified ones, word by word, each word once."""
    # tw2s and not t2s: the two differ in 著, which Taiwan also writes for 着. Of the 24,591 words of dev and test that
    # stand in both scripts, tw2s turns all but 19 into GSDSimp's own spelling (punctuation folded), t2s all but 53.
    return cache(require("opencc", extra="data").OpenCC("tw2s").convert)
