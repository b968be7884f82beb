"""The mask of self-attention on a source that a recipe describes, beside padding and edges."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from regard.attention import Window
from regard.attention.masks import Mask, as_mask
from regard.errors import ArgumentError
from regard.modules.efficient import BigBird, Longformer, Strided
from regard.tasks.architectures.part import Part

__all__ = ["SOURCE_MASKS", "SourceMask"]

_SIZED: Mapping[str, Callable[[int], Mask]] = {
    "window": lambda size: Window(size, size),
    "strided": Strided,
    "longformer": Longformer,
    "bigbird": BigBird,
}
_AT_LEAST_ONE = ("strided", "bigbird")

SOURCE_MASKS = ("none", "no_self", "causal", *_SIZED)
"""All masks by name."""


@dataclass(frozen=True)
class SourceMask(Part):
    """Which items of a source attend to which.

    Args:
        mask: a name in `SOURCE_MASKS`.
        attention_window: the size of a mask that has one.
    """

    mask: str
    attention_window: int | None

    @classmethod
    def ignored(cls, values: Mapping[str, Any]) -> Collection[str]:
        return () if values["mask"] in _SIZED else ("attention_window",)

    def check(self) -> None:
        """Check the size.

        Raises:
            ArgumentError: it is 0 for a mask that can't be so small.
        """
        if self.mask in _AT_LEAST_ONE and not self.attention_window:
            raise ArgumentError(f"`attention_window` must be at least 1 for the mask {self.mask!r}, but is 0.")

    def build(self) -> Mask | None:
        """The mask; None for "none".

        Example:
            >>> SourceMask("window", 2).build()
            Window(before=2, after=2)
        """
        if self.mask == "none":
            return None
        return as_mask(self.mask) if self.attention_window is None else _SIZED[self.mask](self.attention_window)
