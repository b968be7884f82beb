"""Row intervals: the spans of a mask as a kernel reads them, computed on its device without the host looking."""

from typing import NamedTuple

import torch
from torch import Tensor

from regard.attention.masks import Mask, spans_of
from regard.attention.sizes import Sizes

__all__ = ["RowIntervals", "row_intervals"]


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
