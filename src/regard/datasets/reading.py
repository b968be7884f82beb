"""Reading a data set, by its name or by its path."""

import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from regard.datasets.catalog import CATALOG
from regard.datasets.class_folders import read_class_folders
from regard.datasets.columns import ColumnNames, check_column_names
from regard.datasets.example import Example
from regard.datasets.example_sets import EXAMPLE_SETS
from regard.datasets.fetching import Progress, fetch
from regard.datasets.graph_folders import read_graph_folder
from regard.datasets.segmentation import SEGMENTATION, segmented
from regard.datasets.tables import TABLES, file_format, file_suffix, read_table
from regard.datasets.text_formats import KNOWN_FORMATS
from regard.datasets.treebank import read_treebank
from regard.datasets.vectors import VECTORS, read_labelled_vectors
from regard.errors import ArgumentError, DataError, UnknownNameError
from regard.files import similar_paths
from regard.inputs import convert_script, is_graph_folder
from regard.inputs.lines import ErrorHandler, raise_error

__all__ = [
    "SPLITS",
    "Source",
    "check_columns",
    "is_tables",
    "is_treebank",
    "read",
    "read_examples",
    "resolve",
    "splits_of",
]

SPLITS = ("train", "dev", "test")
"""The splits of a data set: to learn from, to choose by, to measure on."""


class Source:
    """Where the sentences of a data set are: its splits' files, and how its words are read.

    Args:
        name: what to call it.
        label: the column that labels words.
        fold: the folding (a name in `inputs.FOLDINGS`) under which its splits spell alike.
        files: for each split, its file.
        simplify: the splits whose words become simplified.
    """

    def __init__(self, name: str, label: str, fold: str, files: dict[str, Path], simplify: frozenset[str]):
        self.name, self.label, self.fold, self.files, self.simplify = name, label, fold, files, simplify

    def convert(self, split: str) -> Callable[[str], str] | None:
        """What turns a split's words into those to use; None if they are used as they are."""
        return _simplified if split in self.simplify else None


def resolve(data: str | Path, *, progress: Progress | None = None) -> Source:
    """Find the treebank that `data` names: a data set of the catalog, a .conllu file, or a folder of them.

    A single file stands for every split. In a folder, the file of a split has the split's name in its own, as a word
    by itself in any case: en-train.conllu and Train.conllu, but not trained.conllu.

    Raises:
        UnknownNameError: neither a known name nor a path that is there.
        ArgumentError: a data set of another kind.
        DataError: no files in the folder, two for one split, or a file whose name ends otherwise.
    """
    if str(data) in EXAMPLE_SETS:
        known = EXAMPLE_SETS[str(data)]
        raise ArgumentError(
            f"`data` must be a treebank, sentences whose words have labels, as {', '.join(CATALOG)}, but {data} isn't: "
            f"its sources are {known.reads}."
        )
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
        return Source(path.name, "upos", "nothing", _splits(path, (".conllu",)), frozenset())
    if path.exists():
        if file_suffix(path) == ".txt" and file_format(path) == ".txt":
            raise DataError(
                f"it is a .txt file, in which this was looked for: {KNOWN_FORMATS}. It has none of these. Save it as a "
                "table whose first line names the columns, such as text and label.",
                path=path,
            )
        if file_format(path) != ".conllu":
            raise DataError(f"its name must end in .conllu, or, of examples, in {' or '.join(_EXAMPLES)}.", path=path)
        return Source(path.name, "upos", "nothing", dict.fromkeys(SPLITS, path), frozenset())
    if isinstance(data, Path) or os.sep in data or data.endswith(".conllu"):
        hint = "".join(f" Did you mean {path}?" for path in similar_paths(data))
        raise DataError(f"there is no such file or folder.{hint}", path=data)
    known = [*CATALOG, *EXAMPLE_SETS, "a path to a .conllu file or a folder of them"]
    raise UnknownNameError("data", data, known, similar_paths(data))


def read(
    name_or_path: str | Path,
    split: str = "test",
    label: str | None = None,
    *,
    columns: ColumnNames | None = None,
    on_error: ErrorHandler | None = None,
) -> list[Any]:
    """One split of a data set: a `TaggedSentence` each from a treebank, an `Example` each from anything else.

    Args:
        name_or_path: a name in `CATALOG` or `EXAMPLE_SETS` (downloaded if need be), or a path:

            - a CoNLL-U file, a table (.csv, .tsv, .jsonl, and .gz), vectors (.ts, .npy, .npz): each is every split; a
              .txt file whose content is CoNLL-U or a table is read as such;
            - a folder of such files that are named after the splits;
            - a folder with a folder of sounds or pictures for each class, or folders train, dev and test with such;
            - a folder with a graph: `profiles.csv`, whose nodes have labels, and `edges.csv` (`read_graph_folder`).
        split: one of `SPLITS`.
        label: what the words, or the examples, are labelled with; by default what the data set says. Of a treebank
            a column, or "segmentation": the sentences are then their characters, and the labels where words begin.
        columns: of a table of the user's own, which of its columns stand for text, path or smiles, and for label,
            number, target, sound or (several) labels, where they are called otherwise: {"text": "review"}.
        on_error: is told of what is broken, which is then left out: a row of a table, a sentence with a broken line, a
            file in a class's folder. By default it is raise_error.

    Raises:
        UnknownNameError: a name, split or label that isn't known, or a name in `columns` that stands for nothing.
        ArgumentError: columns of what is no table, or that don't say which is which.
        DataError: a file that is missing or broken; names the file and the line.

    Example:
        >>> read("ud-english-ewt", split="exam")
        Traceback (most recent call last):
            ...
        regard.errors.UnknownNameError: `split` must be one of train, dev, test, but is 'exam'.
    """
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    if not is_treebank(name_or_path):
        return read_examples(name_or_path, split, label, columns=columns, on_error=on_error)
    check_columns(name_or_path, columns)
    source = resolve(name_or_path)
    if split not in source.files:
        raise DataError(
            f"it has no file for the split {split!r}: none named like {split}.conllu or en-{split}.conllu.",
            path=name_or_path,
        )
    column = source.label if label == SEGMENTATION else label or source.label
    sentences = read_treebank(source.files[split], column, convert=source.convert(split), on_error=on_error)
    return [segmented(each) for each in sentences] if label == SEGMENTATION else list(sentences)


def read_examples(
    name_or_path: str | Path,
    split: str = "test",
    label: str | None = None,
    *,
    columns: ColumnNames | None = None,
    on_error: ErrorHandler | None = None,
) -> list[Example[Any, Any]]:
    """One split of a data set that is no treebank, as `read` gives it.

    Args:
        name_or_path: as `read` takes it.
        split: as `read` takes it.
        label: as `read` takes it; a file of the user's own says itself what its labels are.
        columns: as `read` takes them.
        on_error: is told of what is broken or can't be used, and is left out. Without it, that is raise_error if the
            file is the user's own, and passed over if it is known what stands in the file, and how much of it is no
            use.

    Raises:
        UnknownNameError: a name, split or label that isn't known, or a name in `columns` that stands for nothing.
        ArgumentError: a label for a file of the user's own, or columns of what is no table, or that don't say which is
            which.
        DataError: a file that is missing or broken; names the file and the line.
    """
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    check_columns(name_or_path, columns)
    if str(name_or_path) in EXAMPLE_SETS:
        known = EXAMPLE_SETS[str(name_or_path)]
        if label is not None and label not in known.labels:
            raise UnknownNameError("label", label, known.labels)
        return list(known.read(fetch(known.name), split, label or known.label, on_error or (lambda _: None)))
    if label is not None:
        raise ArgumentError(
            f"`label` must be None for {name_or_path}, whose columns or folders say it, but is {label!r}. "
            f"Another column: --column label={label}; from Python: columns={{'label': {label!r}}}."
        )
    path, told = Path(name_or_path), on_error or raise_error
    if is_graph_folder(path):
        return [read_graph_folder(path, split)]
    if path.is_dir() and (parts := _parts(path)):
        if split not in parts:
            if next(iter(parts.values())).is_dir():
                raise DataError(f"it has no folder for the split {split!r}.", path=path)
            raise DataError(f"it has no file for the split {split!r}: none named like {split}.csv.", path=path)
        path = parts[split]
    if not path.is_dir() and file_format(path) not in VECTORS:
        return list(read_table(path, columns, on_error=told))
    # One split of a folder may be a table and another not.
    if columns:
        raise _no_table(path)
    return list(read_class_folders(path, on_error=told) if path.is_dir() else read_labelled_vectors(path))


def is_treebank(name_or_path: str | Path) -> bool:
    """Whether a name or a path is not that of examples: then it is a treebank's, or nothing's.

    Example:
        >>> is_treebank("ud-english-ewt"), is_treebank("sst2")
        (True, False)
    """
    named = str(name_or_path)
    return named in CATALOG or (named not in EXAMPLE_SETS and not _holds_examples(Path(name_or_path)))


def check_columns(given: str | Path, columns: ColumnNames | None) -> None:
    """Refuse columns that don't say which is which, and those of what is no table. (What isn't there, who reads tells.)

    Raises:
        UnknownNameError: a name that stands for nothing.
        ArgumentError: they can't be used, or it is no table.
    """
    if columns is None:
        return
    check_column_names(columns)
    known = str(given) in EXAMPLE_SETS or str(given) in CATALOG
    if columns and (known or Path(given).exists()) and not is_tables(given):
        raise _no_table(given)


def _no_table(given: str | Path) -> ArgumentError:
    return ArgumentError(
        f"`columns` (--column) must be left out for {given}, but are there: only a table of your own "
        f"({', '.join(TABLES)}) has columns to name."
    )


def is_tables(name_or_path: str | Path) -> bool:
    """Whether a path is that of a table of the user's own, or of a folder of them.

    Example:
        >>> is_tables("sst2")
        False
    """
    path = Path(name_or_path)
    if str(name_or_path) in EXAMPLE_SETS or is_treebank(name_or_path) or is_graph_folder(path):
        return False
    return any(file_format(each) in TABLES for each in (_parts(path).values() if path.is_dir() else [path]))


def splits_of(name_or_path: str | Path) -> tuple[str, ...]:
    """The splits that a data set has; none if the same would be every split, as of a single file.

    Raises:
        UnknownNameError: neither a known name nor a path that is there.
        DataError: no files in the folder, or two for one split.

    Example:
        >>> splits_of("fsdd")
        ('train', 'dev', 'test')
    """
    named, path = str(name_or_path), Path(name_or_path)
    if named in EXAMPLE_SETS:
        return SPLITS
    if named in CATALOG:
        return tuple(CATALOG[named].files)
    if is_graph_folder(path):
        return SPLITS
    if path.is_dir():
        return tuple(_splits(path, (".conllu",)) if is_treebank(path) else _parts(path))
    # What isn't there is told as everywhere.
    if not path.is_file():
        resolve(name_or_path)
    return ()


_EXAMPLES = (*TABLES, *VECTORS)


def _parts(folder: Path) -> dict[str, Path]:
    """The file or the folder of each split of a folder of examples; none if all of it is every split."""
    if _files(folder, _EXAMPLES):
        return _splits(folder, _EXAMPLES)
    parts = {split: folder / split for split in SPLITS if (folder / split).is_dir()}
    return parts if "train" in parts else {}


def _holds_examples(path: Path) -> bool:
    """Whether a path is that of examples: a file by its name, a folder by what is in it, if that is no treebank."""
    if not path.is_dir():
        return file_format(path) in _EXAMPLES
    if is_graph_folder(path):
        return True
    if _files(path, (".conllu",)):
        return False
    return bool(_files(path, _EXAMPLES)) or any(
        each.is_dir() and not each.name.startswith(".") for each in path.iterdir()
    )


def _files(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """Its files whose names end so, but hidden ones, in the order of their names."""
    return sorted(
        path
        for path in folder.iterdir()
        if file_suffix(path) in suffixes and not path.name.startswith(".") and path.is_file()
    )


def _splits(folder: Path, suffixes: tuple[str, ...]) -> dict[str, Path]:
    """The file of each split in a folder: "latest-train" is no test, and "developers-train" no dev."""
    files: dict[str, Path] = {}
    found = _files(folder, suffixes)
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
        kind = suffixes[0]
        raise DataError(f"it has no file named like train{kind}, en-dev{kind} or Test{kind}.", path=folder)
    return files


@cache
def _simplified(word: str) -> str:
    """A word in simplified characters; each word once."""
    return convert_script(word, "simplified")
