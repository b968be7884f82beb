"""Old pickles of NumPy arrays and SciPy matrices, read without running anything that they name."""

import math
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import DataError
from regard.inputs.lines import existing_file

__all__ = ["read_harmless_pickle"]

_NUMBERS = ("f4", "f8", "i1", "i4", "i8", "u1")


def read_harmless_pickle(path: str | Path) -> Any:
    """What a pickle from Python 2 holds, if that is plain: arrays of numbers, sparse matrices, dictionaries of lists.

    A pickle is a program, and Python's own reader runs whatever function it names. This one knows six names, as old
    NumPy and SciPy wrote them; of these it calls lists and dictionaries alone, and in place of the arrays and matrices
    of the libraries puts records of its own, which only keep what they are told. A sparse matrix becomes a dense array.

    Args:
        path: the file.

    Raises:
        DataError: it names anything else, is broken, or is no pickle.
    """
    path = existing_file(path)
    try:
        with path.open("rb") as file:
            # Python 2 wrote bytes as strings of these 256 characters.
            return _plain(_Reader(file, encoding="latin1").load())
    except DataError as error:
        raise DataError(str(error), path=path) from error
    # A broken pickle fails in as many ways as a broken program.
    except Exception as error:
        raise DataError(f"it can't be read as a pickle of arrays ({error!r:.80}).", path=path) from error


class _Kind:
    """The type of an array's numbers."""

    def __init__(self, code: str, *_: Any):
        self.code, self.order = code, "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]


class _Array:
    """An array: its shape, type, order and bytes."""

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
    """A sparse matrix: behind `indptr`, row by row, the columns and the values of what isn't 0."""

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
    """Puts records in the place of everything that a pickle may name."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN:
            raise DataError(f"it names {module}.{name}, which no array needs: it may be harmful, and isn't read.")
        return _KNOWN[module, name]

    def persistent_load(self, pid: Any) -> Any:
        raise DataError("it names something outside the file, which isn't read.")


def _plain(value: Any) -> Any:
    return value.numpy() if isinstance(value, _Array | _Rows) else value
