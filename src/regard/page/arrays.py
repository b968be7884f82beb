"""Arrays of numbers inside a page: gathered in one block of bytes, which the page unpacks into typed arrays."""

import base64
import gzip
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Arrays"]

# The names that the page's own code has for them.
_KINDS = {"float32": "f32", "float16": "f16", "int32": "i32", "uint16": "u16", "uint8": "u8"}


class Arrays:
    """Gathers arrays, and gives for each what stands in the page's JSON instead.

    Example:
        >>> import numpy as np
        >>> arrays = Arrays()
        >>> arrays.add(np.zeros((2, 3), np.float32))
        {'at': 0, 'shape': [2, 3], 'kind': 'f32'}
        >>> arrays.size
        24
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.size = 0

    def add(self, array: "np.ndarray") -> dict[str, Any]:
        """Keep an array; the result says where it is."""
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        at = self.size
        # Typed arrays must begin at a multiple of the size of their numbers.
        data += bytes(-len(data) % 4)
        self._parts.append(data)
        self.size += len(data)
        return {"at": at, "shape": list(array.shape), "kind": _KINDS[array.dtype.name]}

    def packed(self) -> str:
        """All of them, compressed, as text. The same arrays give the same text."""
        return base64.b64encode(gzip.compress(b"".join(self._parts), mtime=0)).decode("ascii")
