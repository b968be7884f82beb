"""Spans: between which keys the allowed keys of each query lie."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.pairs.intervals import Interval, complement, intersection, outer_and_inner, union
from regard.attention.sizes import Sizes

__all__ = ["Spans"]


@dataclass(frozen=True)
class Spans:
    """For each query, bounds on its allowed keys: none lies outside of `outer`, and every key in `inner` is allowed.

    Each bound is a tuple of at most two intervals in ascending order, which neither overlap nor touch unless one is
    empty; `outer` has at least one. They are on the device of the sizes. `&` and `|` combine spans as they
    combine masks. Where the result has more than two intervals in some row, it is no longer exact; on another device
    than the CPU, where rows aren't looked at, already where it might have more.
    """

    outer: tuple[Interval, ...]
    inner: tuple[Interval, ...]

    @property
    def exact(self) -> bool:
        """Whether `outer` and `inner` are the same, so that the mask need not be evaluated pair by pair."""
        return self.outer is self.inner

    @classmethod
    def only(cls, start: Tensor, stop: Tensor, keys: int, *, exact: bool = True) -> "Spans":
        """The keys in [start, stop): exactly those, or if not `exact`, an unknown part of them."""
        interval = (Interval.of(start.clamp(0, keys), stop.clamp(0, keys)),)
        return cls(interval, interval if exact else ())

    @classmethod
    def unknown(cls, sizes: Sizes) -> "Spans":
        """Spans that say nothing: any key may be allowed, and none is known to be."""
        nothing = torch.zeros_like(sizes.rows)
        return cls((Interval(nothing, nothing + sizes.keys),), ())

    def __and__(self, other: "Spans") -> "Spans":
        return self._combined(intersection, other)

    def __or__(self, other: "Spans") -> "Spans":
        return self._combined(union, other)

    def _combined(self, operation: Callable[..., tuple[Interval, ...]], other: "Spans") -> "Spans":
        outer, inner = outer_and_inner(operation(self.outer, other.outer))
        if not (self.exact and other.exact):
            inner = outer_and_inner(operation(self.inner, other.inner))[1]
        return Spans(outer, inner)

    def shifted(self, by: int) -> "Spans":
        """The same spans with each key `by` places later."""
        outer, inner = (
            tuple(Interval(one.start + by, one.stop + by) for one in bound) for bound in (self.outer, self.inner)
        )
        return Spans(outer, outer if self.exact else inner)

    def on(self, device: torch.device) -> "Spans":
        """The same spans on a device."""
        if all(one.start.device == device for one in self.outer + self.inner):
            return self
        outer, inner = (
            tuple(Interval(*(each.to(device) for each in one)) for one in bound) for bound in (self.outer, self.inner)
        )
        return Spans(outer, outer if self.exact else inner)

    def columns(self, rows: slice) -> Tensor:
        """The keys between the first and the last that any of these queries may see, for each outer interval."""
        found = []
        for start, stop in self.outer:
            start, stop = start[:, rows], stop[:, rows]
            some = start < stop
            if some.any():
                found.append(torch.arange(int(start[some].min()), int(stop[some].max()), device="cpu"))
        return torch.cat(found) if found else torch.zeros(0, dtype=torch.long, device="cpu")

    def complement(self, sizes: Sizes) -> "Spans":
        """The spans of the opposite mask: the keys outside of `inner`, and the keys outside of `outer`."""
        nothing = torch.zeros_like(sizes.rows)
        outer, inner = outer_and_inner(complement(self.inner, nothing, sizes.keys))
        if not self.exact:
            inner = outer_and_inner(complement(self.outer, nothing, sizes.keys))[1]
        return Spans(outer, inner)

    def covers(self, keys: int) -> bool:
        """Whether every query is known to see all of `keys` keys."""
        if not self.inner:
            return False
        whole = [(interval.start <= 0) & (interval.stop >= keys) for interval in self.inner]
        return bool((whole[0] if len(whole) == 1 else whole[0] | whole[1]).all())
