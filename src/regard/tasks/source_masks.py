"""The masks of self-attention on a source that a recipe describes, beside padding and edges."""

from collections.abc import Callable, Mapping
from typing import Any

from regard.attention import Window
from regard.attention.masks import Mask, as_mask
from regard.modules.efficient import BigBird, Longformer, Strided

__all__ = ["SIZED_MASKS", "SOURCE_MASKS", "source_mask"]

SIZED_MASKS: Mapping[str, Callable[[int], Mask]] = {
    "window": lambda size: Window(size, size),
    "strided": Strided,
    "longformer": Longformer,
    "bigbird": BigBird,
}
"""The masks that have a size, `attention_window`, by name."""

SOURCE_MASKS = ("none", "no_self", "causal", *SIZED_MASKS)
"""All masks by name."""


def source_mask(recipe: Any) -> Mask | None:
    """The mask that a recipe describes; None for "none"."""
    if recipe.mask == "none":
        return None
    sized = SIZED_MASKS.get(recipe.mask)
    return as_mask(recipe.mask) if sized is None else sized(recipe.attention_window)
