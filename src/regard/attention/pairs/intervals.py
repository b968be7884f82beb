"""Intervals of keys, one or two per query, and their algebra: intersection, union, complement.

Each operation handles all queries at once, in a few O(n) tensor operations. A set of keys is a tuple of intervals, in
order within each row: starts ascend, stops ascend, and no interval starts after it stops.

Intervals on the CPU are looked at, so that none is kept that is empty in every row. To look at those on another device,
the host would wait for it, and the call couldn't be captured in a CUDA graph; so how many of them are kept depends on
the operations alone.
"""

import itertools
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Interval", "complement", "intersection", "may_look", "outer_and_inner", "union"]


class Interval(NamedTuple):
    """For each query, (batch or 1, query): the keys from `start` up to but excluding `stop`; empty where equal."""

    start: Tensor
    stop: Tensor

    @classmethod
    def of(cls, start: Tensor, stop: Tensor) -> "Interval":
        """The interval with both bounds in one shape; empty where `stop` comes before `start`."""
        stop = torch.maximum(start, stop)
        return cls(start if start.shape == stop.shape else start.expand(stop.shape), stop)


def intersection(left: tuple[Interval, ...], right: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """The keys in both sets, as up to three intervals."""
    intervals = [
        Interval.of(torch.maximum(a.start, b.start), torch.minimum(a.stop, b.stop)) for a in left for b in right
    ]
    if len(intervals) == 4:
        # First with second, second with first: one of the two is empty, since each set's intervals are in order.
        one, other = intervals[1], intervals[2]
        empty = one.start >= one.stop
        intervals[1:3] = [
            Interval(torch.where(empty, other.start, one.start), torch.where(empty, other.stop, one.stop))
        ]
    return tuple(intervals)


def union(left: tuple[Interval, ...], right: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """The keys in at least one of the sets, as up to four intervals that may overlap."""
    intervals = left + right
    # A key is covered where more intervals have started than stopped, so starts and stops can be sorted separately.
    starts, stops = _sorted([a.start for a in intervals]), _sorted([a.stop for a in intervals])
    return tuple(map(Interval, starts, stops))


def complement(inside: tuple[Interval, ...], nothing: Tensor, keys: int) -> tuple[Interval, ...]:
    """The keys outside of all intervals, as up to three intervals. `nothing`: zeros, (1, query)."""
    bounds = [nothing, *(bound for interval in inside for bound in interval), nothing + keys]
    return tuple(Interval.of(start, stop) for start, stop in zip(bounds[::2], bounds[1::2], strict=True))


def outer_and_inner(intervals: tuple[Interval, ...]) -> tuple[tuple[Interval, ...], tuple[Interval, ...]]:
    """Bounds with at most two intervals each: an outer one that contains the set, and an inner one inside it.

    Where a row has three or more, the outer bound closes all gaps but the widest and the inner bound takes the two
    longest intervals. If both bounds are known to be the same set, they are the same object.
    """
    look = not intervals or may_look(intervals[0].start)
    if len(intervals) > 1 and look:
        intervals = tuple(interval for interval in intervals if not torch.equal(*interval)) or intervals[:1]
    if len(intervals) > 2:
        return _outer_and_inner_of_many(intervals, look)
    if len(intervals) == 2:
        (start, stop), (start2, stop2) = intervals
        gap = start2 > stop
        if not look or gap.any():
            intervals = (
                Interval.of(start, torch.where(gap, stop, stop2)),
                Interval.of(torch.where(gap, start2, stop2), stop2),
            )
        else:
            intervals = (Interval.of(start, stop2),)
    return intervals, intervals


def may_look(bound: Tensor) -> bool:
    """Whether reading these numbers makes nobody wait."""
    return bound.device.type == "cpu"


def _outer_and_inner_of_many(
    intervals: tuple[Interval, ...], look: bool
) -> tuple[tuple[Interval, ...], tuple[Interval, ...]]:
    """`outer_and_inner` of three or more intervals."""
    intervals = _disjoint(intervals)
    left, right = intervals[0].stop, intervals[1].start
    gap = right - left
    lossy = torch.zeros_like(gap, dtype=torch.bool)
    for last, interval in itertools.pairwise(intervals[1:]):
        other = interval.start - last.stop
        lossy |= (gap > 0) & (other > 0)
        wider = other > gap
        left, right = torch.where(wider, last.stop, left), torch.where(wider, interval.start, right)
        gap = torch.maximum(gap, other)
    start, stop = intervals[0].start, intervals[-1].stop
    if look and not gap.any():
        whole = (Interval(start, stop),)
        return whole, whole
    split = gap > 0
    outer = Interval(start, torch.where(split, left, stop)), Interval(torch.where(split, right, stop), stop)
    if look and not lossy.any():
        return outer, outer
    return outer, tuple(
        Interval(torch.where(lossy, kept.start, one.start), torch.where(lossy, kept.stop, one.stop))
        for kept, one in zip(_two_longest(intervals), outer, strict=True)
    )


def _disjoint(intervals: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """The same keys without overlaps; an empty interval stands at the previous stop, so that it opens no gap."""
    starts, stops = (torch.broadcast_tensors(*bounds) for bounds in zip(*intervals, strict=True))
    some = [start < stop for start, stop in zip(starts, stops, strict=True)]
    last = starts[-1]
    for start, there in zip(starts[-2::-1], some[-2::-1], strict=True):
        last = torch.where(there, start, last)
    found = []
    for start, stop, there in zip(starts, stops, some, strict=True):
        start, stop = torch.where(there, torch.maximum(start, last), last), torch.where(there, stop, last)
        found.append(Interval(start, stop))
        last = stop
    return tuple(found)


def _two_longest(intervals: tuple[Interval, ...]) -> tuple[Interval, Interval]:
    """The two longest intervals of each row, in order, after merging intervals that touch."""
    whole = [intervals[0]]
    for interval in intervals[1:]:
        last = whole[-1]
        touches = interval.start == last.stop
        whole[-1] = Interval(last.start, torch.where(touches, last.start, last.stop))
        whole.append(Interval(torch.where(touches, last.start, interval.start), interval.stop))
    first, second = whole[:2]
    for third in whole[2:]:
        one, two, three = (interval.stop - interval.start for interval in (first, second, third))
        without_first = (one <= two) & (one <= three)
        with_third = without_first | (two <= three)
        first = Interval(*(torch.where(without_first, b, a) for a, b in zip(first, second, strict=True)))
        second = Interval(*(torch.where(with_third, b, a) for a, b in zip(second, third, strict=True)))
    return first, second


def _sorted(bounds: list[Tensor]) -> list[Tensor]:
    """The same numbers sorted row by row, by a sorting network, since there are two to four."""
    bounds = list(bounds)
    for last in range(len(bounds) - 1, 0, -1):
        for i in range(last):
            bounds[i], bounds[i + 1] = torch.minimum(bounds[i], bounds[i + 1]), torch.maximum(bounds[i], bounds[i + 1])
    return bounds
