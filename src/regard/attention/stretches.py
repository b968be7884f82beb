"""Stretches of keys, one or two per query, and their algebra: what two sets share, hold together, and leave out.

Everything is done for all queries at once, in a few operations that take O(n) each: masks are asked once per call.
Here a set of keys is a tuple of stretches. Within a row they are in order: starts ascend, stops do, and none starts
after it stops.
"""

import itertools
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Stretch", "fewest", "rest", "shared", "together"]


class Stretch(NamedTuple):
    """Per query, (batch or 1, query): the keys from `start` up to, not including, `stop`; none where they meet."""

    start: Tensor
    stop: Tensor

    @classmethod
    def of(cls, start: Tensor, stop: Tensor) -> "Stretch":
        """The two in one shape; where `stop` comes before `start`, no key."""
        stop = torch.maximum(start, stop)
        return cls(start if start.shape == stop.shape else start.expand(stop.shape), stop)


def shared(left: tuple[Stretch, ...], right: tuple[Stretch, ...]) -> tuple[Stretch, ...]:
    """The keys that are in both, as up to three stretches."""
    parts = [Stretch.of(torch.maximum(a.start, b.start), torch.minimum(a.stop, b.stop)) for a in left for b in right]
    if len(parts) == 4:
        # Of first with second and second with first, one is empty: neither can be both before the other's other.
        one, other = parts[1], parts[2]
        empty = one.start >= one.stop
        parts[1:3] = [Stretch(torch.where(empty, other.start, one.start), torch.where(empty, other.stop, one.stop))]
    return tuple(parts)


def together(left: tuple[Stretch, ...], right: tuple[Stretch, ...]) -> tuple[Stretch, ...]:
    """The keys that are in at least one of the two, as up to four stretches that may overlap."""
    parts = left + right
    # A key is covered where more stretches started than stopped, whichever they were: starts and stops sort alone.
    return tuple(map(Stretch, _sorted([part.start for part in parts]), _sorted([part.stop for part in parts])))


def rest(inside: tuple[Stretch, ...], queries: int, keys: int) -> tuple[Stretch, ...]:
    """The keys that are in none of the stretches, as up to three."""
    nothing = torch.zeros(1, queries, dtype=torch.long)
    edges = [nothing, *(edge for part in inside for edge in part), nothing + keys]
    return tuple(Stretch.of(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True))


def fewest(parts: tuple[Stretch, ...]) -> tuple[tuple[Stretch, ...], tuple[Stretch, ...]]:
    """At most two stretches that hold all these, and at most two that these hold; one object where they are the same.

    Where three remain in a row, the outer closes the smallest gap and the inner takes the two longest.
    """
    if len(parts) > 1:
        parts = tuple(part for part in parts if not torch.equal(*part)) or parts[:1]
    if len(parts) > 2:
        return _reduced(parts)
    if len(parts) == 2:
        (start, stop), (start2, stop2) = parts
        gap = start2 > stop
        if gap.any():
            parts = Stretch.of(start, torch.where(gap, stop, stop2)), Stretch.of(torch.where(gap, start2, stop2), stop2)
        else:
            parts = (Stretch.of(start, stop2),)
    return parts, parts


def _reduced(parts: tuple[Stretch, ...]) -> tuple[tuple[Stretch, ...], tuple[Stretch, ...]]:
    """`fewest` of three or more."""
    parts = _closed_up(parts)
    left, right = parts[0].stop, parts[1].start
    gap = right - left
    lossy = torch.zeros_like(gap, dtype=torch.bool)
    for last, part in itertools.pairwise(parts[1:]):
        other = part.start - last.stop
        lossy |= (gap > 0) & (other > 0)
        wider = other > gap
        left, right = torch.where(wider, last.stop, left), torch.where(wider, part.start, right)
        gap = torch.maximum(gap, other)
    start, stop = parts[0].start, parts[-1].stop
    if not gap.any():
        whole = (Stretch(start, stop),)
        return whole, whole
    split = gap > 0
    outer = Stretch(start, torch.where(split, left, stop)), Stretch(torch.where(split, right, stop), stop)
    if not lossy.any():
        return outer, outer
    return outer, tuple(
        Stretch(torch.where(lossy, kept.start, one.start), torch.where(lossy, kept.stop, one.stop))
        for kept, one in zip(_longest(parts), outer, strict=True)
    )


def _closed_up(parts: tuple[Stretch, ...]) -> tuple[Stretch, ...]:
    """The same with no overlap, and an empty one where the last one stopped, so that it makes no gap of its own."""
    starts, stops = (torch.broadcast_tensors(*edges) for edges in zip(*parts, strict=True))
    some = [start < stop for start, stop in zip(starts, stops, strict=True)]
    last = starts[-1]
    for start, there in zip(starts[-2::-1], some[-2::-1], strict=True):
        last = torch.where(there, start, last)
    found = []
    for start, stop, there in zip(starts, stops, some, strict=True):
        start, stop = torch.where(there, torch.maximum(start, last), last), torch.where(there, stop, last)
        found.append(Stretch(start, stop))
        last = stop
    return tuple(found)


def _longest(parts: tuple[Stretch, ...]) -> tuple[Stretch, Stretch]:
    """The two longest of each row, in their order, where those that touch are one."""
    whole = [parts[0]]
    for part in parts[1:]:
        last = whole[-1]
        touches = part.start == last.stop
        whole[-1] = Stretch(last.start, torch.where(touches, last.start, last.stop))
        whole.append(Stretch(torch.where(touches, last.start, part.start), part.stop))
    first, second = whole[:2]
    for third in whole[2:]:
        one, two, three = (part.stop - part.start for part in (first, second, third))
        without_first = (one <= two) & (one <= three)
        with_third = without_first | (two <= three)
        first = Stretch(*(torch.where(without_first, b, a) for a, b in zip(first, second, strict=True)))
        second = Stretch(*(torch.where(with_third, b, a) for a, b in zip(second, third, strict=True)))
    return first, second


def _sorted(edges: list[Tensor]) -> list[Tensor]:
    """The same numbers, row by row in ascending order: a network of exchanges, since there are two to four."""
    edges = list(edges)
    for last in range(len(edges) - 1, 0, -1):
        for i in range(last):
            edges[i], edges[i + 1] = torch.minimum(edges[i], edges[i + 1]), torch.maximum(edges[i], edges[i + 1])
    return edges
