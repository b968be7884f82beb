"""Reading a data set, by its name or by its path."""

from pathlib import Path
from typing import Any

from regard.datasets.formats.columns import ColumnNames, check_column_names
from regard.datasets.known.registry import DATASETS
from regard.datasets.sources import find_source, match_source, no_columns
from regard.datasets.splits import SPLITS
from regard.errors import UnknownNameError
from regard.inputs.lines import ErrorHandler

__all__ = ["check_columns", "read"]


def read(
    name_or_path: str | Path,
    split: str = "test",
    label: str | None = None,
    *,
    columns: ColumnNames | None = None,
    encoding: str | None = None,
    on_error: ErrorHandler | None = None,
) -> list[Any]:
    """Read one split of a data set: a list of `TaggedSentence` for a treebank, of `Example` for anything else.

    Args:
        name_or_path: a name in `DATASETS` (downloaded if necessary), or a path:

            - a CoNLL-U file, a table (.csv, .tsv, .jsonl, and .gz), or vectors (.ts, .npy, .npz): each is every split;
              a .txt file whose content is CoNLL-U or a table is read as such;
            - a .conll file (`read_columns`), or a .txt file of word/TAG (`read_tagged`);
            - a folder of such files that are named after the splits;
            - a folder of sounds or pictures with one table, whose column `path` names them;
            - a folder with a folder of sounds or pictures for each class, or folders train, dev and test with such;
            - a folder with a graph: `profiles.csv`, whose nodes have labels, and `edges.csv` (`read_graph_folder`).
        split: one of `SPLITS`.
        label: the label of the words or examples; by default that of the data set. For a treebank it is a column, or
            "segmentation": the items are then characters, labelled with where words begin. A user's own tables,
            folders and graphs determine it themselves.
        columns: the names of columns in a user's own table that aren't called by their standard names (text, path or
            smiles; label, number, target, sound, or labels for several): {"text": "review"}. Where the first line
            doesn't name the columns, {"header": ["text", "label"]} does.
        encoding: the encoding of a user's own tables and sentences, as Python calls it. By default it is found by their
            content: UTF-8, else UTF-16, Windows-1252 or GB18030, with a warning that says which.
        on_error: called for what is broken, which is then skipped: a row of a table, a sentence with a broken line, a
            file in the folder of a class. By default it is an error in a user's own files. In a known data set what is
            broken is known, and skipped.

    Raises:
        UnknownNameError: an unknown name, split, label or encoding, or an unknown standard name in `columns`.
        ArgumentError: a label for a user's own files, or columns that are invalid or for something that isn't a table.
        DataError: a missing or broken file; names the file and the line.

    Example:
        >>> read("ud-english-ewt", split="exam")
        Traceback (most recent call last):
            ...
        regard.errors.UnknownNameError: `split` must be one of train, dev, test, but is 'exam'.
    """
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    check_columns(name_or_path, columns, encoding)
    return find_source(name_or_path, encoding).read(split, label, columns=columns, on_error=on_error)


def check_columns(name_or_path: str | Path, columns: ColumnNames | None, encoding: str | None = None) -> None:
    """Check the names of columns, and that the data set is a table. A path that doesn't exist is no error here.

    Raises:
        UnknownNameError: an unknown standard name.
        ArgumentError: the names are invalid, or the data set isn't a table.
    """
    if columns is None:
        return
    check_column_names(columns)
    if columns and (str(name_or_path) in DATASETS or Path(name_or_path).exists()):
        source = match_source(name_or_path, encoding)
        if source is None or not source.has_columns:
            raise no_columns(name_or_path)
