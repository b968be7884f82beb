"""What is computed from a mask once, and kept for as long as the mask: a mask is used in every layer and step."""

import dataclasses
import weakref
from typing import Any, NamedTuple

import torch

from regard.attention.masks import Mask
from regard.attention.pairs.row_intervals import RowIntervals, row_intervals
from regard.attention.parts import operands
from regard.attention.sizes import Sizes

__all__ = ["kept_intervals", "stream_of"]


class _Kept(NamedTuple):
    mask: weakref.ref[Mask]
    versions: tuple[int, ...]
    stream: int
    found: RowIntervals


_KEPT: dict[tuple[Any, ...], _Kept] = {}
# What a CUDA graph reads lives on: the graph doesn't hold it, and its mask may not.
_OF_GRAPHS: list[RowIntervals] = []


def kept_intervals(mask: Mask, sizes: Sizes, device: torch.device) -> RowIntervals:
    """The mask's row intervals on a device, computed anew where one of its tensors was modified in place.

    While a CUDA graph is captured, those of a mask with tensors on a GPU become part of the graph, which may be
    replayed with other numbers in them; those of other masks may have been computed before.
    """
    tensors, here = operands(mask), dataclasses.replace(sizes, device=device)
    captured = device.type == "cuda" and torch.cuda.is_current_stream_capturing()
    if any(tensor.is_inference() or (captured and tensor.is_cuda) for tensor in tensors):
        return row_intervals(mask, here)  # that a tensor of inference mode was modified isn't known
    # Masks compare by their fields, where tensors don't compare as a whole: so by identity, while the mask lives.
    name = id(mask), sizes.batch, sizes.queries, sizes.keys, device
    versions = tuple(tensor._version for tensor in tensors)
    stream = stream_of(device)
    kept = _KEPT.get(name)
    if kept is not None and kept.mask() is mask and kept.versions == versions:
        if captured:  # all streams were waited for
            _OF_GRAPHS.append(kept.found)
            return kept.found
        if kept.stream == stream:
            return kept.found
    found = row_intervals(mask, here)
    if not captured:
        _KEPT[name] = _Kept(weakref.ref(mask, lambda _: _KEPT.pop(name, None)), versions, stream, found)
    return found


def stream_of(device: torch.device) -> int:
    """The stream that work on a device is given to now: on another one, its results may not be there yet."""
    return torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0
