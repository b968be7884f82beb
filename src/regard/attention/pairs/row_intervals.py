"""Row intervals: the spans of a mask as a kernel reads them, computed on its device without the host looking.

They are computed once, and kept for as long as the mask: a mask is used in every layer and step.
"""

import dataclasses
import weakref
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.attention.masks import Mask, spans_of
from regard.attention.parts import operands
from regard.attention.sizes import Sizes

__all__ = ["RowIntervals", "kept_intervals", "row_intervals", "stream_of"]


class RowIntervals(NamedTuple):
    """For each query, the one or two intervals of keys outside of which it may see none.

    Attributes:
        starts: (interval, batch or 1, query), int32, contiguous, on the device of the sizes; from 0 to the number of
            keys. The intervals of a query ascend and don't overlap.
        stops: likewise; the key after the interval's last, or where it is empty its start.
        exact: whether a query may see every key of its intervals, so that the mask needn't be asked.
    """

    starts: Tensor
    stops: Tensor
    exact: bool


def row_intervals(mask: Mask, sizes: Sizes) -> RowIntervals:
    """The keys that each query may see, as one or two intervals, on `sizes.device`.

    On another device than the CPU nothing is read back, so that the call can be captured in a CUDA graph: except by a
    user's own `spans`, and where the mask's tensors are elsewhere.

    Example:
        >>> from regard.attention.masks import Causal
        >>> starts, stops, exact = row_intervals(Causal(), Sizes(1, 3, 3))
        >>> starts.tolist(), stops.tolist(), exact
        ([[[0, 0, 0]]], [[[1, 2, 3]]], True)
    """
    spans = spans_of(mask, sizes)
    bounds = [*(one.start for one in spans.outer), *(one.stop for one in spans.outer)]
    # The rows are among them so that a bound that all queries share is repeated for each.
    *bounds, _ = torch.broadcast_tensors(*bounds, sizes.rows)
    starts, stops = torch.stack(bounds).clamp_(0, sizes.keys).int().unflatten(0, (2, -1))
    return RowIntervals(starts, stops, spans.exact)


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
