"""Readers of splits: a data set by name, a treebank, or a user's own files become the `Splits` of a task.

A reader knows which tasks its targets are for, which kinds of source read it, and which recipe is usual. It reads what
is asked for once, and refuses what doesn't suit.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from regard.datasets import ColumnNames, check_columns, find_source
from regard.errors import UnknownNameError
from regard.files import similar_paths
from regard.tasks.readers.kinds import DatasetReader, OwnFilesReader, TreebankReader
from regard.tasks.readers.reader import SplitsReader
from regard.tasks.readers.suitable import fitting_data
from regard.tasks.registry import TASKS
from regard.tasks.splits import Splits

__all__ = ["SplitsReader", "find_reader", "read_splits"]


def read_splits(
    name_or_path: str | Path,
    task: str,
    label: str | None = None,
    *,
    columns: ColumnNames | None = None,
    names: Mapping[str, str] | None = None,
    encoding: str | None = None,
) -> Splits:
    """Read the examples for a task as `regard train` does: splits that the data lack are made by a hash of each source.

    Args:
        name_or_path: a data set, a file or a folder, as in `regard.datasets.read`.
        task: the kind of the task, a name in `TASKS`.
        label: the label to predict, if there are several.
        columns: as in `regard.datasets.read`.
        names: new names of labels, as in `regard.datasets.rename_labels`.
        encoding: as in `regard.datasets.read`.

    Raises:
        UnknownNameError: an unknown name, label or task.
        ArgumentError: the targets don't suit this task, or there are too few examples to be split.
        DataError: the path doesn't exist, there are no files in the folder, or one is broken.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "words.csv"
        ...     lines = [f"word {number},{'even' if number % 2 == 0 else 'odd'}" for number in range(20)]
        ...     _ = path.write_text("\\n".join(["text,label", *lines]), encoding="utf-8")
        ...     splits = read_splits(path, "classifier")
        >>> len(splits.train), len(splits.dev), len(splits.test), splits.title
        (16, 3, 1, 'words.csv')
    """
    if task not in TASKS:
        raise UnknownNameError("task", task, TASKS)
    reader = find_reader(str(name_or_path), task, label, columns, encoding=encoding).with_splits()
    return dataclasses.replace(reader, names=names).read_all()


def find_reader(
    given: str,
    task: str,
    label: str | None = None,
    columns: ColumnNames | None = None,
    *,
    encoding: str | None = None,
    usual_label: str | None = None,
    other: str = "task={!r}",
) -> SplitsReader:
    """Find the reader of data by their name or path.

    Args:
        given: the name of a data set, or a path.
        task: the kind of the task.
        label: the label to predict, if there are several.
        columns, encoding: as in `read_splits`.
        usual_label: the label to predict if none is given, and the data have one of this name.
        other: as in `SplitsReader`.

    Raises:
        UnknownNameError: an unknown name or label.
        ArgumentError: the targets don't suit this kind of task, or the data have no columns to name.
        DataError: the path doesn't exist, or there are no files in the folder.
    """
    check_columns(given, columns, encoding)
    try:
        source = find_source(given, encoding, of_words=TASKS[task].per_item)
    except UnknownNameError as error:
        if str(error).startswith("`encoding`"):
            raise
        known = [*fitting_data(TASKS[task]), "the path of an existing file or folder"]
        raise UnknownNameError("data", given, known, similar_paths(given)) from None
    kind = TreebankReader if source.is_treebank else OwnFilesReader if source.dataset is None else DatasetReader
    return kind.of(source, given, TASKS[task], label, usual_label, columns=columns, other=other)
