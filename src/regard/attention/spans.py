"""Spans: where the allowed keys of each query lie, as intervals of keys."""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.intervals import Interval, complement, intersection, outer_and_inner, union
from regard.attention.sizes import Sizes

__all__ = ["Spans"]


@dataclass(frozen=True)
class Spans:
    """Per query, where its allowed keys lie: outside of `outer` nothing is allowed, inside of `inner` everything is.

    Each is up to two stretches, the first before the second, that neither overlap nor touch unless one is empty; the
    outer is at least one. They are on the CPU: spans decide what runs. `&` and `|` are those of the masks; where their
    result is more than two stretches in some row, it is no longer exact.
    """

    outer: tuple[Interval, ...]
    inner: tuple[Interval, ...]

    @property
    def exact(self) -> bool:
        """Whether the two are known to be one, so that no pair need be asked about."""
        return self.outer is self.inner

    @classmethod
    def only(cls, start: Tensor, stop: Tensor, keys: int) -> "Spans":
        """Exactly the keys in [start, stop)."""
        interval = (Interval.of(start.clamp(0, keys), stop.clamp(0, keys)),)
        return cls(interval, interval)

    @classmethod
    def unknown(cls, sizes: Sizes) -> "Spans":
        """Anything may be allowed, nothing is known to be."""
        nothing = torch.zeros(1, sizes.queries, dtype=torch.long)
        return cls((Interval(nothing, nothing + sizes.keys),), ())

    def __and__(self, other: "Spans") -> "Spans":
        outer, inner = outer_and_inner(intersection(self.outer, other.outer))
        if not (self.exact and other.exact):
            inner = outer_and_inner(intersection(self.inner, other.inner))[1]
        return Spans(outer, inner)

    def __or__(self, other: "Spans") -> "Spans":
        outer, inner = outer_and_inner(union(self.outer, other.outer))
        if not (self.exact and other.exact):
            inner = outer_and_inner(union(self.inner, other.inner))[1]
        return Spans(outer, inner)

    def complement(self, sizes: Sizes) -> "Spans":
        """Those of the keys that these are not: what is outside of the inner, and what is outside of the outer."""
        outer, inner = outer_and_inner(complement(self.inner, sizes.queries, sizes.keys))
        if not self.exact:
            inner = outer_and_inner(complement(self.outer, sizes.queries, sizes.keys))[1]
        return Spans(outer, inner)

    def covers(self, keys: int) -> bool:
        """Whether every query is known to see all of so many keys."""
        if not self.inner:
            return False
        whole = [(interval.start <= 0) & (interval.stop >= keys) for interval in self.inner]
        return bool((whole[0] if len(whole) == 1 else whole[0] | whole[1]).all())
