"""Data sources: a data set that regard knows by name, or a user's own files in one of several formats.

`find_source` looks a name up in `DATASETS`. For a path it takes the first of `FORMATS` that matches.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from regard.datasets.dataset import Dataset
from regard.datasets.example import SEGMENTATION
from regard.datasets.fetching import Progress, fetch
from regard.datasets.formats.class_folders import PICTURES, SOUNDS, read_class_folders
from regard.datasets.formats.columns import ColumnNames
from regard.datasets.formats.labelled_graph import read_graph_folder
from regard.datasets.formats.series_tables import find_series_table
from regard.datasets.formats.tables import TABLES, file_format, file_suffix, read_table
from regard.datasets.formats.tagged_text import TAG, column_labels, read_columns, read_tagged
from regard.datasets.formats.text_formats import KNOWN_FORMATS
from regard.datasets.formats.treebank import LABELS
from regard.datasets.formats.vectors import VECTORS, read_labelled_vectors
from regard.datasets.known.registry import DATASETS
from regard.datasets.known.treebanks import read_sentences
from regard.datasets.splits import SPLITS
from regard.errors import ArgumentError, DataError, RegardError, UnknownNameError
from regard.files import looks_like_path, similar_paths
from regard.inputs import is_graph_folder
from regard.inputs.encodings import check_encoding, encoding_of
from regard.inputs.file_kinds import unread_kind
from regard.inputs.lines import ErrorHandler, raise_error

__all__ = ["FORMATS", "DataSource", "KnownDataset", "find_source", "match_source"]

_TREEBANK_SUFFIXES = (".conllu", ".conll")
_TREEBANK_LABEL = "upos"
_EXAMPLE_SUFFIXES = (*TABLES, *VECTORS)
_NAME_ENCODING = "Save the file as UTF-8."


class DataSource:
    """What can be read as a data set.

    Attributes:
        name: its name, for messages.
        path: the user's own file or folder; a known data set has no path.
        label: the default label; None if the files determine it.
        labels: all labels that can be asked for.
        fold: the character folding (a name in `inputs.FOLDINGS`) that gives all splits the same spelling.
        is_treebank: whether its examples are sentences whose words have labels.
        dataset: its entry in `DATASETS`; None for a user's own files.
        encoding: the encoding of the files, as Python calls it; None: it is found by their content.
    """

    name: str
    path: Path
    label: str | None = None
    labels: tuple[str, ...] = ()
    encoding: str | None = None
    fold: str = "nothing"
    is_treebank: bool = False
    dataset: Dataset | None = None

    @property
    def has_columns(self) -> bool:
        """Whether it is a table, whose columns can be chosen."""
        return False

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that have files of their own; empty if every split has all examples, as of a single file.

        Raises:
            DataError: there are no files, or two for one split.
        """
        raise NotImplementedError

    @property
    def files(self) -> Mapping[str, Path]:
        """The file of each split of a treebank.

        Raises:
            ArgumentError: it isn't a treebank.
        """
        raise ArgumentError(f"`data` must be a treebank, sentences whose words have labels, but {self.name} isn't.")

    def read(
        self,
        split: str,
        label: str | None = None,
        *,
        columns: ColumnNames | None = None,
        on_error: ErrorHandler | None = None,
    ) -> list[Any]:
        """Read a split; see `regard.datasets.read`."""
        return list(self._read(split, label, columns, on_error))

    def _read(
        self, split: str, label: str | None, columns: ColumnNames | None, handler: ErrorHandler | None
    ) -> Iterable[Any]:
        raise NotImplementedError


class KnownDataset(DataSource):
    """A data set of `DATASETS`; its files are downloaded if necessary."""

    def __init__(self, dataset: Dataset):
        self.dataset = self._known = dataset
        self.name, self.label, self.fold = dataset.name, dataset.label, dataset.fold
        self.labels = dataset.labels
        self.is_treebank = dataset.is_treebank

    def fetch(self, progress: Progress | None = None) -> Path:
        """The folder with its files; see `regard.datasets.fetch`."""
        return fetch(self.name, progress=progress)

    @property
    def splits(self) -> tuple[str, ...]:
        return SPLITS

    @property
    def files(self) -> Mapping[str, Path]:
        if not self.is_treebank:
            known = ", ".join(name for name, dataset in DATASETS.items() if dataset.is_treebank)
            raise ArgumentError(
                f"`data` must be a treebank, sentences whose words have labels, as {known}, but {self.name} isn't: "
                f"its sources are {self._known.modality}."
            )
        folder = self.fetch()
        return {split: folder / file.filename for split, file in self._known.files.items()}

    def _read(
        self, split: str, label: str | None, columns: ColumnNames | None, handler: ErrorHandler | None
    ) -> Iterable[Any]:
        if label is not None and label not in self._known.labels:
            raise UnknownNameError("label", label, self._known.labels)
        # Its broken lines are known: they are skipped without an error.
        return self._known.read(self.fetch(), split, label or self._known.label, handler or (lambda _: None))


class _OwnFiles(DataSource):
    """A user's own file or folder."""

    def __init__(self, given_path: str | Path, encoding: str | None = None):
        # As given, the path is for messages.
        self.given_path, self.path = given_path, Path(given_path)
        self.name, self.encoding = self.path.name, encoding

    @staticmethod
    def matches(path: Path, encoding: str | None = None) -> bool:
        """Whether a path has this format."""
        raise NotImplementedError

    def read(
        self,
        split: str,
        label: str | None = None,
        *,
        columns: ColumnNames | None = None,
        on_error: ErrorHandler | None = None,
    ) -> list[Any]:
        handler = on_error or raise_error
        try:
            return list(self._read(split, label, columns, lambda error: handler(self._explained(error))))
        except DataError as error:
            explained = self._explained(error)
            if explained is error:
                raise
            raise explained from error

    def _explained(self, error: DataError) -> DataError:
        """The error; if something isn't UTF-8, with the step that names the encoding."""
        if not error.reason.endswith(_NAME_ENCODING):
            return error
        step = f"{_NAME_ENCODING[:-1]}, or name its encoding: --encoding NAME; from Python: encoding=NAME."
        return DataError(f"{error.reason.removesuffix(_NAME_ENCODING)}{step}", path=error.path, line=error.line)

    def _encoding_of(self, path: Path) -> str:
        return encoding_of(path) if self.encoding is None else self.encoding

    def _check_no_label(self, label: str | None) -> None:
        if label is not None:
            raise ArgumentError(
                f"`label` must be None for {self.given_path}, whose columns or folders give the label, but is "
                f"{label!r:.60}. To take another column: --column label={label}; from Python: "
                f"columns={{'label': {label!r:.60}}}."
            )


class GraphFolder(_OwnFiles):
    """A folder with a graph: its nodes' profiles, and its edges."""

    @staticmethod
    def matches(path: Path, encoding: str | None = None) -> bool:
        return is_graph_folder(path)

    @property
    def splits(self) -> tuple[str, ...]:
        return SPLITS

    def _read(
        self, split: str, label: str | None, columns: ColumnNames | None, handler: ErrorHandler | None
    ) -> Iterable[Any]:
        self._check_no_label(label)
        return [read_graph_folder(self.path, split)]


class Treebank(_OwnFiles):
    """A file of CoNLL-U, of words in other columns, or of word/TAG; or a folder with one for each split."""

    def __init__(self, given_path: str | Path, encoding: str | None = None):
        super().__init__(given_path, encoding)
        self.is_treebank = True
        first = _files_in(self.path, _TREEBANK_SUFFIXES)[0] if self.path.is_dir() else self.path
        self.format = file_format(first, encoding)
        if self.format == ".conllu":
            self.label, self.labels = _TREEBANK_LABEL, (*LABELS, SEGMENTATION)
        elif self.format == ".conll":
            self.labels = column_labels(first, encoding=self._encoding_of(first))
            self.label = self.labels[-1] if self.labels else None
        else:
            self.label, self.labels = TAG, (TAG,)

    @staticmethod
    def matches(path: Path, encoding: str | None = None) -> bool:
        return (
            bool(_files_in(path, _TREEBANK_SUFFIXES))
            if path.is_dir()
            else path.exists() and file_format(path, encoding) in (*_TREEBANK_SUFFIXES, ".tagged")
        )

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.files) if self.path.is_dir() else ()

    @property
    def files(self) -> Mapping[str, Path]:
        return _split_files(self.path, _TREEBANK_SUFFIXES) if self.path.is_dir() else dict.fromkeys(SPLITS, self.path)

    def _read(
        self, split: str, label: str | None, columns: ColumnNames | None, handler: ErrorHandler | None
    ) -> Iterable[Any]:
        files = self.files
        if split not in files:
            raise DataError(
                f"it has no file for the split {split!r}: none named like {split}.conllu or en-{split}.conllu.",
                path=self.given_path,
            )
        if label is not None and label not in self.labels:
            raise UnknownNameError("label", label, self.labels)
        path, handler = files[split], handler or raise_error
        encoding = self._encoding_of(path)
        if self.format == ".conll":
            return read_columns(path, label, encoding=encoding, on_error=handler)
        if self.format == ".tagged":
            return read_tagged(path, encoding=encoding, on_error=handler)
        return read_sentences(path, label or _TREEBANK_LABEL, _TREEBANK_LABEL, encoding=encoding, on_error=handler)


class ExampleFiles(_OwnFiles):
    """A table, a file of vectors, or a folder with a folder for each class; or a folder with one of these per split.

    A folder with sounds or pictures may have a single table, which names them.
    """

    @staticmethod
    def matches(path: Path, encoding: str | None = None) -> bool:
        if not path.is_dir():
            return path.exists() and file_format(path, encoding) in _EXAMPLE_SUFFIXES
        return bool(_files_in(path, _EXAMPLE_SUFFIXES)) or any(
            member.is_dir() and not member.name.startswith(".") for member in path.iterdir()
        )

    @property
    def has_columns(self) -> bool:
        parts = (self._parts.values() or [self._table or self.path]) if self.path.is_dir() else [self.path]
        return any(file_format(part, self.encoding) in TABLES for part in parts)

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self._parts) if self.path.is_dir() else ()

    def _read(
        self, split: str, label: str | None, columns: ColumnNames | None, handler: ErrorHandler | None
    ) -> Iterable[Any]:
        self._check_no_label(label)
        path, handler = self.path, handler or raise_error
        if path.is_dir() and (parts := self._parts):
            if split not in parts:
                if next(iter(parts.values())).is_dir():
                    raise DataError(f"it has no folder for the split {split!r}.", path=path)
                raise DataError(f"it has no file for the split {split!r}: none named like {split}.csv.", path=path)
            path = parts[split]
        elif path.is_dir() and (table := self._table) is not None:
            path = table
        if not path.is_dir() and file_format(path, self.encoding) not in VECTORS:
            encoding = self._encoding_of(path)
            if (series := find_series_table(path, columns, encoding=encoding)) is not None:
                series.tell()
                return series.examples(handler)
            if (series := find_series_table(path, columns, encoding=encoding, labelled=False)) is not None:
                raise series.unlabelled()
            return read_table(path, columns, encoding=encoding, on_error=handler)
        # The splits of a folder may have different formats.
        if columns:
            raise no_columns(path)
        return read_class_folders(path, on_error=handler) if path.is_dir() else read_labelled_vectors(path)

    @property
    def _parts(self) -> dict[str, Path]:
        """The file or the folder of each split of a folder; empty if every split has all examples."""
        if self._table is not None:
            return {}
        if _files_in(self.path, _EXAMPLE_SUFFIXES):
            return _split_files(self.path, _EXAMPLE_SUFFIXES)
        parts = {split: self.path / split for split in SPLITS if (self.path / split).is_dir()}
        return parts if "train" in parts else {}

    @property
    def _table(self) -> Path | None:
        """The only table of a folder, if it isn't named after a split, and the folder has sounds or pictures, too."""
        tables = _files_in(self.path, _EXAMPLE_SUFFIXES)
        if len(tables) != 1 or file_suffix(tables[0]) not in TABLES or any(_names(tables[0], each) for each in SPLITS):
            return None
        folders = [self.path, *(each for each in sorted(self.path.iterdir()) if each.is_dir())]
        return tables[0] if any(_has_media(folder) for folder in folders) else None


FORMATS: tuple[type[GraphFolder] | type[Treebank] | type[ExampleFiles], ...] = (GraphFolder, Treebank, ExampleFiles)
"""The formats of a user's own files, in the order in which they are tried."""


def match_source(name_or_path: str | Path, encoding: str | None = None) -> DataSource | None:
    """The data source that a name or a path stands for; None if there is none. `encoding` is as in `find_source`."""
    encoding = None if encoding is None else check_encoding(encoding)
    if str(name_or_path) in DATASETS:
        return KnownDataset(DATASETS[str(name_or_path)])
    path = Path(name_or_path)
    found = next((own_files for own_files in FORMATS if own_files.matches(path, encoding)), None)
    return None if found is None else found(name_or_path, encoding)


def find_source(name_or_path: str | Path, encoding: str | None = None, *, of_words: bool | None = None) -> DataSource:
    """The data source that a name or a path stands for.

    A single file is every split. In a folder, the file of a split has the name of the split in its own name, as a
    separate word in upper or lower case: en-train.conllu and Train.conllu, but not trained.conllu.

    Args:
        name_or_path: the name or the path.
        encoding: the encoding of a user's own tables and treebanks, as Python calls it; None: it is found by their
            content (`inputs.encodings.encoding_of`).
        of_words: what is wanted, for the advice in errors: sentences whose words have labels (True), examples (False),
            or either (None).

    Raises:
        UnknownNameError: neither a known name nor an existing path, or no encoding.
        DataError: a path that doesn't exist, a folder without files of a known format, or a file of an unknown format.

    Example:
        >>> find_source("ud-english-ewt").is_treebank, find_source("fsdd").splits
        (True, ('train', 'dev', 'test'))
    """
    source = match_source(name_or_path, encoding)
    if source is None:
        raise _not_found(name_or_path, encoding, of_words)
    return source


def no_columns(name_or_path: str | Path) -> ArgumentError:
    """The error for columns of something that isn't a table."""
    return ArgumentError(
        f"`columns` (--column) must be left out for {name_or_path}, but are there: only a table of your own "
        f"({', '.join(TABLES)}) has columns to name."
    )


def _not_found(name_or_path: str | Path, encoding: str | None, of_words: bool | None) -> RegardError:
    """The error for a name or a path that isn't a data source."""
    path = Path(name_or_path)
    if path.is_dir() and _has_media(path):
        return DataError(
            "it has sounds or pictures, but nothing that labels them. Move each into a folder for its class, or add a "
            "table with the columns path and label.",
            path=path,
        )
    if path.is_dir():
        return _no_files(path, _TREEBANK_SUFFIXES[:1])
    if path.exists():
        if (kind := unread_kind(path)) is not None:
            return DataError(kind, path=path)
        if file_suffix(path) == ".txt" and file_format(path, encoding) == ".txt":
            table = "Save it as a table whose first line names the columns, such as text and label."
            words = "Write a sentence on each line, as word/TAG word/TAG, or a word and its label on each line."
            either = f"{table} For a tagger: {words[0].lower()}{words[1:]}"
            step = either if of_words is None else words if of_words else table
            return DataError(
                f"it is a .txt file, but has none of the known formats: {KNOWN_FORMATS}. {step}", path=path
            )
        of = f"it must be a .txt file of word/TAG, or its name must end in {' or '.join(_TREEBANK_SUFFIXES)}"
        for_ = f"for examples its name must end in {', '.join(_EXAMPLE_SUFFIXES[:-1])} or {_EXAMPLE_SUFFIXES[-1]}"
        told = {True: of, False: for_, None: f"for a tagger {of}, and {for_}"}[of_words]
        return DataError(f"{told}.", path=path)
    if isinstance(name_or_path, Path) or looks_like_path(name_or_path):
        hint = "".join(f" Did you mean {near}?" for near in similar_paths(name_or_path))
        return DataError(f"there is no such file or folder.{hint}", path=name_or_path)
    known = [*DATASETS, "the path of an existing file or folder"]
    return UnknownNameError("data", name_or_path, known, similar_paths(name_or_path))


def _no_files(folder: Path, suffixes: tuple[str, ...]) -> DataError:
    suffix = suffixes[0]
    return DataError(f"it has no file named like train{suffix}, en-dev{suffix} or Test{suffix}.", path=folder)


def _has_media(folder: Path) -> bool:
    return any(path.suffix.lower() in (*SOUNDS, *PICTURES) for path in folder.iterdir())


def _names(path: Path, split: str) -> bool:
    """Whether a file is named after a split, as a separate word: "latest-train" isn't a test file."""
    return bool(re.search(rf"(?<![^\W\d_]){split}(?![^\W\d_])", path.stem, re.IGNORECASE))


def _files_in(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """The files of a folder with these suffixes, without hidden ones, sorted by name."""
    return sorted(
        path
        for path in folder.iterdir()
        if file_suffix(path) in suffixes and not path.name.startswith(".") and path.is_file()
    )


def _split_files(folder: Path, suffixes: tuple[str, ...]) -> dict[str, Path]:
    """The file of each split in a folder."""
    files: dict[str, Path] = {}
    candidates = _files_in(folder, suffixes)
    for split in SPLITS:
        matching = [path for path in candidates if _names(path, split)]
        if len(matching) > 1:
            raise DataError(
                f"a folder must have one file for the split {split!r}, but has "
                f"{', '.join(file.name for file in matching)}. Name the file instead.",
                path=folder,
            )
        if matching and matching[0] in files.values():
            raise DataError("its name holds the names of two splits. Name it after one.", path=matching[0])
        if matching:
            files[split] = matching[0]
    if not files:
        raise _no_files(folder, suffixes)
    return files
