"""The mask that a recipe sets for self-attention on a source, in addition to padding and edges."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from regard.attention import Window
from regard.attention.masks import Mask, as_mask
from regard.errors import ArgumentError
from regard.modules.efficient import BigBird, Longformer, Strided
from regard.tasks.architectures.part import Part

__all__ = ["SOURCE_MASKS", "SourceMask"]

# The masks that have a size: how to build each, and its smallest size.
_SIZED: Mapping[str, tuple[Callable[[int], Mask], int]] = {
    "window": (lambda size: Window(size, size), 0),
    "strided": (Strided, 1),
    "longformer": (Longformer, 0),
    "bigbird": (BigBird, 1),
}

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
            ArgumentError: it is 0, but the mask needs at least 1.
        """
        if self.attention_window is not None and self.attention_window < (least := _SIZED[self.mask][1]):
            raise ArgumentError(f"`attention_window` must be at least {least} for the mask {self.mask!r}, but is 0.")

    def build(self) -> Mask | None:
        """The mask; None for "none".

        Example:
            >>> SourceMask("window", 2).build()
            Window(before=2, after=2)
        """
        if self.mask == "none":
            return None
        return as_mask(self.mask) if self.attention_window is None else _SIZED[self.mask][0](self.attention_window)
