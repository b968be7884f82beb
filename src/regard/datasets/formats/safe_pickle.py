"""Safe reading of old pickles of NumPy arrays and SciPy matrices, without calling the functions that they name."""

import math
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import DataError
from regard.inputs.lines import existing_file

__all__ = ["read_safe_pickle"]

_NUMBERS = ("f4", "f8", "i1", "i4", "i8", "u1")


def read_safe_pickle(path: str | Path) -> Any:
    """Read a pickle of Python 2 that contains only arrays of numbers, sparse matrices, and dictionaries of lists.

    A pickle can call arbitrary functions when Python loads it. This function accepts only the six names that old
    versions of NumPy and SciPy use. Lists and dictionaries are created as they are; arrays and matrices are replaced by
    records that only store their state. A sparse matrix becomes a dense array.

    Args:
        path: the file.

    Raises:
        DataError: it contains any other name, is broken, or isn't a pickle.
    """
    path = existing_file(path)
    try:
        with path.open("rb") as file:
            # Python 2 stored bytes as strings, which this encoding preserves.
            return _plain(_Reader(file, encoding="latin1").load())
    except DataError as error:
        raise DataError(str(error), path=path) from error
    # A broken pickle can raise any error.
    except Exception as error:
        raise DataError(f"it can't be read as a pickle of arrays ({error!r:.80}).", path=path) from error


class _Kind:
    """The dtype of an array."""

    def __init__(self, code: str, *_: Any):
        self.code, self.order = code, "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]


class _Array:
    """An array: its shape, dtype, order and bytes."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, self.kind, self.by_columns, self.content = state

    def numpy(self) -> np.ndarray:
        if self.kind.code not in _NUMBERS or self.kind.order not in ("<", ">", "|"):
            raise DataError(f"an array holds {self.kind.code!r:.20}, but only numbers are read.")
        kind = np.dtype(self.kind.order + self.kind.code)
        content = self.content.encode("latin1")
        if len(content) != math.prod(self.shape) * kind.itemsize:
            raise DataError(f"an array of shape {self.shape} has {len(content):,} bytes.")
        array = np.frombuffer(content, dtype=kind).astype(kind.newbyteorder("="))
        return array.reshape(self.shape, order="F" if self.by_columns else "C")


class _Rows:
    """A sparse matrix in CSR format."""

    _shape: tuple[int, int]
    indptr: _Array
    indices: _Array
    data: _Array

    def numpy(self) -> np.ndarray:
        starts, columns, values = self.indptr.numpy(), self.indices.numpy(), self.data.numpy()
        height, width = self._shape
        if len(starts) != height + 1 or len(columns) != len(values) or int(starts[-1]) != len(values):
            raise DataError("the parts of a sparse matrix don't go together.")
        if height * width > 1 << 28:
            raise DataError(f"a sparse matrix of {height:,} x {width:,} is too large to be read.")
        dense = np.zeros((height, width), dtype=values.dtype)
        dense[np.repeat(np.arange(height), np.diff(starts)), columns] = values
        return dense


_KNOWN: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): lambda *_: _Array(),
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Kind,
    ("scipy.sparse.csr", "csr_matrix"): _Rows,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
}


class _Reader(pickle.Unpickler):
    """An unpickler that replaces the allowed names by records and refuses all others."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN:
            raise DataError(f"it names {module}.{name}, which no array needs: it may be harmful, and isn't read.")
        return _KNOWN[module, name]

    def persistent_load(self, pid: Any) -> Any:
        raise DataError("it names something outside the file, which isn't read.")


def _plain(value: Any) -> Any:
    return value.numpy() if isinstance(value, _Array | _Rows) else value
