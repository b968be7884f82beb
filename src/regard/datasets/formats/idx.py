"""Reading IDX files, the format of MNIST: one array of numbers with a header of its sizes."""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from regard.errors import DataError
from regard.inputs.lines import existing_file

__all__ = ["read_idx"]

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: str | Path) -> Tensor:
    """Read the array of an IDX file; a .gz file is decompressed.

    Raises:
        DataError: it isn't IDX, or the number of bytes doesn't match its sizes.

    Source: LeCun, Cortes, Burges, the MNIST database, "the IDX file format": two zero bytes, a byte for the type of the
        numbers, one for the count of axes, a big-endian uint32 for each axis, the numbers.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile(suffix="-idx1-ubyte") as file:
        ...     _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 2, 5, 7]))
        ...     file.flush()
        ...     read_idx(file.name)
        tensor([5, 7], dtype=torch.uint8)
    """
    path = existing_file(path)
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            head = file.read(4)
            if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _TYPES:
                raise DataError(
                    f"an IDX file must begin with two zero bytes and a type, but it begins with {head.hex(' ')!r}. "
                    "A packed one must have a name that ends in .gz.",
                    path=path,
                )
            kind = np.dtype(_TYPES[head[2]])
            sizes = np.frombuffer(file.read(4 * head[3]), dtype=">u4").tolist()
            wanted = math.prod(sizes) * kind.itemsize
            # In pieces, and at most one byte too many, because the sizes may be wrong.
            content = bytearray()
            while len(content) <= wanted and (piece := file.read(min(1 << 20, wanted + 1 - len(content)))):
                content += piece
    except (EOFError, ValueError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"it breaks off or can't be unpacked ({error}). Get it anew.", path=path) from error
    if len(sizes) != head[3] or len(content) != wanted:
        have = "more" if len(content) > wanted else f"{len(content):,}"
        raise DataError(f"its sizes {tuple(sizes)} need {wanted:,} bytes, but it has {have}.", path=path)
    array = np.frombuffer(bytes(content), dtype=kind).astype(kind.newbyteorder("="))
    return torch.from_numpy(array.reshape(sizes))
