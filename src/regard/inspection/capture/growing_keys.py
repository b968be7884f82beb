"""Keys and values that calls of a module share: those of a step of generation begin with those of the step before.

So a record of n steps holds n keys, and not n copies of up to n keys.
"""

import torch
from torch import Tensor

__all__ = ["GrowingKeys"]

# A module that is called several times in each step, as where layers share it, goes on with as many keys.
_MOST = 32


class GrowingKeys:
    """The keys and values that were copied last, of each module.

    Example:
        >>> growing, key = GrowingKeys(), torch.randn(1, 2, 5, 4)
        >>> growing.begin("attention", key[:, :, :3], key[:, :, :3])
        >>> longer, _ = growing.continued("attention", key, key)
        >>> torch.equal(longer, key), growing.continued("attention", key + 1, key) is None
        (True, True)
    """

    def __init__(self):
        self._copies: dict[str, list[_Copies]] = {}

    def continued(self, name: str, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor] | None:
        """Copies that share what calls of a module had before; None if none of them begins alike.

        Args:
            name: the module.
            key, value: (batch, key_head, key, feature).
        """
        for copies in reversed(self._copies.get(name, [])):
            if copies.begin(key, value):
                return copies.extended(key, value)
        return None

    def begin(self, name: str, key: Tensor, value: Tensor) -> None:
        """Take copies of a call of a module as those that may be continued."""
        copies = self._copies.setdefault(name, [])
        copies.append(_Copies(key, value))
        del copies[:-_MOST]


class _Copies:
    """Copies of keys and values, with room for further ones."""

    def __init__(self, key: Tensor, value: Tensor):
        self._buffers, self._count = [key, value], key.shape[2]

    def begin(self, key: Tensor, value: Tensor) -> bool:
        """Whether keys and values begin with these."""
        pairs = list(zip(self._buffers, (key, value), strict=True))
        if not 0 < self._count <= key.shape[2] or not all(_alike(*pair) for pair in pairs):
            return False
        # Of other inputs the first key differs already.
        return all(
            torch.equal(own[:, :, :count], new[:, :, :count]) for count in (1, self._count) for own, new in pairs
        )

    def extended(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """These with those that come after them; earlier results stay what they are."""
        before, self._count = self._count, key.shape[2]
        for place, new in enumerate((key, value)):
            if self._buffers[place].shape[2] < self._count:
                self._buffers[place] = _with_room(self._buffers[place][:, :, :before], 2 * self._count)
            self._buffers[place][:, :, before : self._count].copy_(new[:, :, before:])
        own_key, own_value = (each[:, :, : self._count] for each in self._buffers)
        return own_key, own_value


def _alike(own: Tensor, new: Tensor) -> bool:
    return (own.dtype, own.device, own.shape[:2], own.shape[3]) == (new.dtype, new.device, new.shape[:2], new.shape[3])


def _with_room(tensor: Tensor, size: int) -> Tensor:
    batch, heads, count, feature = tensor.shape
    buffer = tensor.new_empty(batch, heads, size, feature)
    buffer[:, :, :count].copy_(tensor)
    return buffer
