"""What is computed from a mask once, and kept for as long as the mask: a mask is used in every layer and step."""

import dataclasses
import weakref
from typing import Any, NamedTuple

import torch

from regard.attention.masks import Mask
from regard.attention.parts import operands
from regard.attention.row_intervals import RowIntervals, row_intervals
from regard.attention.sizes import Sizes

__all__ = ["kept_intervals"]


class _Kept(NamedTuple):
    mask: weakref.ref[Mask]
    versions: tuple[int, ...]
    found: RowIntervals


_KEPT: dict[tuple[Any, ...], _Kept] = {}


def kept_intervals(mask: Mask, sizes: Sizes, device: torch.device) -> RowIntervals:
    """The mask's row intervals on a device, computed anew where one of its tensors was modified in place."""
    # Masks compare by their fields, where tensors don't compare as a whole: so by identity, while the mask lives.
    name = id(mask), sizes.batch, sizes.queries, sizes.keys, device
    versions = tuple(0 if tensor.is_inference() else tensor._version for tensor in operands(mask))
    kept = _KEPT.get(name)
    if kept is not None and kept.mask() is mask and kept.versions == versions:
        return kept.found
    found = row_intervals(mask, dataclasses.replace(sizes, device=device))
    _KEPT[name] = _Kept(weakref.ref(mask, lambda _: _KEPT.pop(name, None)), versions, found)
    return found
