"""Reading vectors from files: NumPy arrays, tables, and time series."""

import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from regard.errors import ArgumentError, DataError
from regard.inputs.lines import existing_file, parse_number, read_table
from regard.inputs.time_series import read_time_series
from regard.inputs.vector_sequences import VectorSequences

__all__ = ["VECTOR_FILES", "read_vectors"]


_SAVED = (
    "Save a file of series by numpy.savez('series.npz', labels=labels, **{str(number): array for number, array in "
    "enumerate(series)}), where each array is (item, width), such as (time, 1) for one number at a time."
)
_SIZE = "an array must be of the shape (item, width), and all of one width; or one of (series, item, width)"


def read_vectors(path: str | Path) -> VectorSequences:
    """Read the sequences of vectors in a file; its suffix determines the format.

    | suffix | content |
    |---|---|
    | .npy | an array (item, width), one sequence; or (sequence, item, width) |
    | .npz | arrays (item, width), each a sequence with its name, or one (sequence, item, width); and maybe `labels` |
    | .csv, .tsv | a row for each vector, a column for each feature, and up to three columns with special names |
    | .ts | time series; see `read_time_series` |

    The first line of a table names its columns; if it has numbers alone, and not 0, 1, 2, ..., it is a vector, too. The
    column `sequence` names the sequence of a row (without it, all rows are one sequence), `label` is the label of the
    sequence, equal in all its rows, and `item_label` is the label of the row.

    Args:
        path: the file.

    Raises:
        DataError: a broken file, or a number that is missing, infinite or too large; names the line or the position.
        ArgumentError: an unknown suffix.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("sequence,x,y,label\\nfirst,1,2,yes\\nfirst,3,4,yes\\nsecond,5,6,no\\n")
        ...     file.flush()
        ...     read = read_vectors(file.name)
        >>> read.names, read.labels, read.sequences[0].tolist()
        (('first', 'second'), ('yes', 'no'), [[1.0, 2.0], [3.0, 4.0]])
    """
    path = Path(path)
    if path.suffix.lower() not in VECTOR_FILES:
        raise ArgumentError(f"`path` must end in one of {', '.join(VECTOR_FILES)}, but is {str(path)!r}.")
    return VECTOR_FILES[path.suffix.lower()](existing_file(path))


def _read_table(path: Path) -> VectorSequences:
    columns, rows = read_table(path)
    if not _are_names(columns):
        rows = [(1, [*columns]), *rows]
    roles = {name: columns.index(name) for name in ("sequence", "label", "item_label") if name in columns}
    features = [index for index in range(len(columns)) if index not in roles.values()]
    if not features:
        raise DataError("it has no column of numbers.", path=path, line=1)
    if not rows:
        raise DataError("it holds no vector below the names of its columns.", path=path)
    vectors: dict[str, list[list[float]]] = {}
    labels: dict[str, str] = {}
    item_labels: dict[str, list[str]] = {}
    for line, row in rows:
        for column, index in roles.items():
            if not row[index]:
                raise DataError(f"the column {column!r:.60} is empty.", path=path, line=line)
        name = row[roles["sequence"]] if "sequence" in roles else path.stem
        numbers = [_float(row[index], f"the column {columns[index]!r:.60}", path, line) for index in features]
        vectors.setdefault(name, []).append(numbers)
        if "label" in roles and labels.setdefault(name, row[roles["label"]]) != row[roles["label"]]:
            raise DataError(
                f"the sequence {name!r:.60} has the label {labels[name]!r:.60}, but here {row[roles['label']]!r:.60}. "
                "If each row has its own, name the column `item_label`.",
                path=path,
                line=line,
            )
        if "item_label" in roles:
            item_labels.setdefault(name, []).append(row[roles["item_label"]])
    return VectorSequences(
        tuple(torch.tensor(rows, device="cpu") for rows in vectors.values()),
        tuple(vectors),
        tuple(labels[name] for name in vectors) if "label" in roles else None,
        tuple(tuple(item_labels[name]) for name in vectors) if "item_label" in roles else None,
    )


def _are_names(columns: Sequence[str]) -> bool:
    """Whether the first line of a table has names, of which some may be numbers, and not a vector."""
    numbered = [str(place) for place in range(len(columns))]
    return [*columns] == numbered or any(parse_number(name) is None for name in columns)


def _float(text: str, where: str, path: Path, line: int) -> float:
    number = parse_number(text)
    if number is None or abs(number) > torch.finfo(torch.float32).max:
        raise DataError(f"{where} must be a number that float32 can hold, but is {text!r:.60}.", path=path, line=line)
    return number


def _read_array(path: Path) -> VectorSequences:
    array = _load(path)
    if not isinstance(array, np.ndarray) or array.ndim not in (2, 3):
        shape = f" of shape {array.shape}" if isinstance(array, np.ndarray) else " a .npz under another name"
        raise DataError(f"it must be an array (item, width) or (sequence, item, width), but is{shape}.", path=path)
    if array.ndim == 2:
        return VectorSequences((_tensor(array, "the array", path),), (path.stem,))
    parts = (_tensor(part, f"sequence {number} of the array", path) for number, part in enumerate(array))
    return VectorSequences(tuple(parts), tuple(str(number) for number in range(len(array))))


def _read_arrays(path: Path) -> VectorSequences:
    arrays = _load(path)
    if isinstance(arrays, np.ndarray):
        raise DataError("it is a .npy under another name.", path=path)
    labels = arrays.pop("labels", None)
    if len(arrays) == 1 and (several := next(iter(arrays.values()))).ndim == 3:
        arrays = {str(number): array for number, array in enumerate(several)}
    for array in arrays.values():
        if array.ndim != 2 or array.shape[1] != next(iter(arrays.values())).shape[-1]:
            shapes = ", ".join(f"{name}: {array.shape}" for name, array in list(arrays.items())[:8])
            raise DataError(f"{_SIZE}, but the shapes are {shapes}. {_SAVED}", path=path)
    if labels is not None and (labels.shape != (len(arrays),) or labels.dtype.kind not in "Uiuf"):
        raise DataError(
            f"`labels` must be {len(arrays)} words or numbers, one for each array, but is {labels.dtype} of shape "
            f"{labels.shape}. {_SAVED}",
            path=path,
        )
    return VectorSequences(
        tuple(_tensor(array, f"the array {name!r:.60}", path) for name, array in arrays.items()),
        tuple(arrays),
        None if labels is None else tuple(_label(label, path) for label in labels.tolist()),
    )


def _label(label: str | float, path: Path) -> str | float:
    """A label: words and integers are class names, other numbers are numbers."""
    if isinstance(label, float) and not np.isfinite(label):
        raise DataError("`labels` must be finite, but one is NaN or infinity.", path=path)
    return label if isinstance(label, float) else str(label)


def _load(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    """Load a file with NumPy, without pickles, which can run code."""
    try:
        # Opened here, because NumPy doesn't close a file that it can't read.
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            with loaded:
                return {name: loaded[name] for name in loaded.files}
    except (ValueError, OSError, EOFError, KeyError, MemoryError, zipfile.BadZipFile) as error:
        reason = " ".join(str(error).split())
        # Such are made of a list of arrays of several lengths.
        step = f". {_SAVED}" if "Object arrays" in reason else ""
        raise DataError(f"NumPy can't read it: {reason[:200] or type(error).__name__}{step}", path=path) from error


def _tensor(array: np.ndarray, where: str, path: Path) -> Tensor:
    """A sequence as float32."""
    if array.dtype.kind not in "iuf":
        raise DataError(f"{where} must hold numbers, but holds {array.dtype}.", path=path)
    # Checked before the conversion to float32, which would only warn of numbers that are too large.
    wrong = np.argwhere(~(np.abs(array.astype(np.float64)) <= np.finfo(np.float32).max))
    if len(wrong):
        item, column = wrong[0].tolist()
        raise DataError(
            f"{where} must hold numbers that float32 can hold, but item {item} is {array[item, column]} in column "
            f"{column}.",
            path=path,
        )
    return torch.from_numpy(array.astype(np.float32))


VECTOR_FILES: dict[str, Callable[[Path], VectorSequences]] = {
    ".npy": _read_array,
    ".npz": _read_arrays,
    ".csv": _read_table,
    ".tsv": _read_table,
    ".ts": read_time_series,
}
"""The function that reads each format, by suffix."""
