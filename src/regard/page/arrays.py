"""Arrays of numbers inside a page: gathered in blocks of bytes, which the page unpacks into typed arrays."""

import base64
import hashlib
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Arrays"]

# The names that the page's own code has for them.
_KINDS = {"float32": "f32", "float16": "f16", "int32": "i32", "uint16": "u16", "uint8": "u8"}


class Arrays:
    """Gathers arrays, and gives for each what stands in the page's JSON instead. Equal arrays are kept once.

    The page unpacks the first block before it shows anything, and the others afterwards, in their order.

    Example:
        >>> import numpy as np
        >>> arrays = Arrays()
        >>> arrays.add(np.zeros((2, 3), np.float32))
        {'at': 0, 'shape': [2, 3], 'kind': 'f32'}
        >>> arrays.add(np.zeros((3, 2), np.float32))["at"], arrays.size
        (0, 24)
    """

    def __init__(self) -> None:
        self._blocks = [_Block()]
        self._places: dict[bytes, dict[str, int]] = {}
        self.block = 0
        """The number of the block to which arrays are added."""

    @property
    def size(self) -> int:
        """The bytes of the arrays."""
        return sum(each.size for each in self._blocks)

    @property
    def packed_size(self) -> int:
        """The bytes of what is written so far, compressed; as text they take a third more."""
        return sum(each.packed_size for each in self._blocks)

    def begin_block(self) -> None:
        """Add to another block from now on, unless nothing is in this one."""
        if self._blocks[self.block].size:
            self.block = len(self._blocks)
            self._blocks.append(_Block())

    def add(self, array: "np.ndarray") -> dict[str, Any]:
        """Keep an array; the result says where it is."""
        kind = _KINDS[array.dtype.name]
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        if kind == "f16":
            # First all low bytes, which are noise, then all high bytes, which are alike: they compress better apart.
            data = data[::2] + data[1::2]
        name = hashlib.sha256(data).digest()
        # What is in the first block is there when the others are unpacked.
        if name not in self._places or self._places[name].get("block", 0) not in (0, self.block):
            block = self._blocks[self.block]
            self._places[name] = {"at": block.size} | ({"block": self.block} if self.block else {})
            block.write(data)
        return {**self._places[name], "shape": list(array.shape), "kind": kind}

    def packed(self) -> str:
        """All blocks, compressed, as text, one after the other. The same arrays give the same text."""
        return "".join(each.packed() for each in self._blocks)

    def lengths(self) -> list[int]:
        """The lengths of the blocks in that text."""
        return [len(each.packed()) for each in self._blocks]


class _Block:
    def __init__(self) -> None:
        # 31: as gzip, which browsers read.
        self._compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
        self._parts: list[bytes] = []
        self.size = self.packed_size = 0

    def write(self, data: bytes) -> None:
        # Typed arrays must begin at a multiple of the size of their numbers.
        data += bytes(-len(data) % 4)
        self.size += len(data)
        self._parts.append(self._compressor.compress(data) + self._compressor.flush(zlib.Z_SYNC_FLUSH))
        self.packed_size += len(self._parts[-1])

    def packed(self) -> str:
        # The end of a copy, so that more can be added.
        return base64.b64encode(b"".join([*self._parts, self._compressor.copy().flush()])).decode("ascii")
