"""Long rows of a graph, cut into segments, so that no program is busy for long with a node of very many edges."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from regard.attention.engines.triton.tiling import interpreted

__all__ = ["Segments", "longest", "segments"]

LONGEST = 256


class Segments(NamedTuple):
    """The segments of the rows that have more edges than a segment takes.

    Attributes:
        rows: (segment,), whose each is.
        firsts: (segment,), its first edge.
        long_rows: (long_row,), the rows' numbers.
        bounds: (long_row + 1,), the first segment of each.
    """

    rows: Tensor
    firsts: Tensor
    long_rows: Tensor
    bounds: Tensor

    def __len__(self) -> int:
        return self.rows.shape[0]


def longest() -> int:
    """How many edges one program works on. In the interpreter few, so that small graphs have long rows, too."""
    return 8 if interpreted() else LONGEST


# Their number is the size of a grid, which the host has to know: it waits for the GPU once for each graph.
_KEPT: WeakTensorKeyDictionary = WeakTensorKeyDictionary()


def segments(starts: Tensor) -> Segments:
    """The segments of a graph's rows. starts: (row + 1,), the first edge of each row.

    Example:
        >>> graph = segments(torch.tensor([0, 2, 302, 303]))
        >>> graph.rows.tolist(), graph.firsts.tolist(), graph.long_rows.tolist(), graph.bounds.tolist()
        ([1, 1], [2, 258], [1], [0, 2])
    """
    version = 0 if starts.is_inference() else starts._version
    kept = _KEPT.get(starts)
    if kept is None or kept[0] != version:
        kept = _KEPT[starts] = version, _segments(starts, longest())
    return kept[1]


def _segments(starts: Tensor, most: int) -> Segments:
    counts = -(-starts.diff() // most)
    rows = (counts > 1).nonzero().flatten()
    bounds = torch.nn.functional.pad(counts[rows].cumsum(0), (1, 0))
    of_segment = torch.arange(len(rows), device=starts.device).repeat_interleave(counts[rows])
    place = torch.arange(len(of_segment), device=starts.device) - bounds[of_segment]
    return Segments(rows[of_segment], starts[rows[of_segment]] + place * most, rows, bounds)
