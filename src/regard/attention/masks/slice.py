"""A slice of a larger request: some of its queries and keys, with the mask of the whole."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.masks.mask import Causal, Dense, Mask, allows, as_mask, spans_of
from regard.attention.pairs.intervals import Interval
from regard.attention.pairs.spans import Spans
from regard.attention.sizes import Index, ItemLengths, Origin, Sizes
from regard.errors import ArgumentError

__all__ = ["Reach", "Slice", "slice_of"]


@dataclass(frozen=True)
class Slice(Mask):
    """The pairs of some queries with contiguous keys of a larger request, numbered as they are there.

    Position schemes and dropout see these numbers too, so that a request can be computed slice by slice. A mask that is
    combined with it by & or | has those numbers, too: the result is a slice of both.

    Args:
        mask: that of the whole.
        origin: where the slice lies.

    Example:
        >>> import torch
        >>> from regard.attention import weigh
        >>> x = torch.zeros(1, 1, 2, 4)
        >>> weigh(x, x, mask=Slice(Causal(), Origin(2, 1, 0, 4, 4)))[0, 0]  # queries 2 and 3, keys 1 and 2
        tensor([[0.5000, 0.5000],
                [0.5000, 0.5000]])
    """

    mask: Mask
    origin: Origin  # pyright: ignore[reportIncompatibleVariableOverride]

    def __and__(self, other: Any) -> "Slice":
        return dataclasses.replace(self, mask=self.mask & self._of_whole(other))

    __rand__ = __and__

    def __or__(self, other: Any) -> "Slice":
        return dataclasses.replace(self, mask=self.mask | self._of_whole(other))

    __ror__ = __or__

    def __invert__(self) -> "Slice":
        return dataclasses.replace(self, mask=~self.mask)

    def _of_whole(self, other: Any) -> Mask:
        other = as_mask(other)
        if not isinstance(other, Slice):
            return other
        if other.origin != self.origin:
            raise ArgumentError(
                f"`mask` must not combine slices of different places, but combines {self.origin} and {other.origin}. "
                "Combine the masks of the whole, and make a Slice of the result."
            )
        return other.mask

    def allows(self, at: Index) -> Tensor:
        return allows(self.mask, dataclasses.replace(at, head=at.whole_head, first_head=0))

    def spans(self, sizes: Sizes) -> Spans:
        whole, origin = spans_of(self.mask, self._whole(sizes)), self.origin
        pieces = origin.slices(slice(0, sizes.queries))

        def cut(bound: Tensor) -> Tensor:
            if bound.shape[1] > 1 or origin.queries == 1:
                bound = bound[:, pieces[0]] if len(pieces) == 1 else torch.cat([bound[:, each] for each in pieces], 1)
            else:
                bound = bound.expand(-1, sizes.queries)
            return (bound - origin.key).clamp(0, sizes.keys)

        outer, inner = (tuple(Interval(cut(a), cut(b)) for a, b in bound) for bound in (whole.outer, whole.inner))
        return Spans(outer, outer if whole.exact else inner)

    def columns(self, sizes: Sizes, rows: slice) -> Tensor | None:
        origin, whole = self.origin, self._whole(sizes)
        keys: list[Tensor] = []
        for each in origin.slices(rows):
            found = self.mask.columns(whole, each)
            if found is None:
                return None
            keys.append(found[(found >= origin.key) & (found < origin.key + sizes.keys)] - origin.key)
        return keys[0] if len(keys) == 1 else torch.cat(keys).unique()

    def lengths(self) -> ItemLengths:
        return self.mask.lengths()

    def check(self, sizes: Sizes) -> None:
        origin = self.origin
        rows = origin.numbers(sizes.queries - 1) + 1 if sizes.queries else 0
        for name, end, most in (("queries", rows, origin.queries), ("keys", origin.key + sizes.keys, origin.keys)):
            if end > most:
                raise ArgumentError(
                    f"`mask` must be a Slice of as many {name} as there are, but the last one of these would be "
                    f"number {end - 1} of {most}. Give its Origin the numbers of the whole."
                )
        self.mask.check(self._whole(sizes))

    def _whole(self, sizes: Sizes) -> Sizes:
        """The sizes of the whole, on the same device."""
        return Sizes(sizes.batch, self.origin.queries, self.origin.keys, *self.mask.lengths(), device=sizes.device)


def slice_of(
    mask: Mask, origin: Origin, batch: int, queries: int, keys: int, *, by_number: bool, by_offset: bool
) -> Mask:
    """The mask of a slice: one that engines know better, if it allows the same pairs and nothing else asks for it.

    Args:
        by_number: whether something else than the mask depends on the numbers of queries, keys or heads.
        by_offset: whether something else depends on the offset of a key and a query.
    """
    shift = origin.query + origin.keys - origin.queries - origin.key
    if type(mask) is Causal and shift == keys - queries and not by_number:
        return mask
    slice = Slice(mask, origin)
    if by_number or by_offset:
        return slice
    if type(mask) is Dense or (type(mask) is Causal and shift >= keys - 1):
        return Dense()
    if slice.hides_nothing(Sizes(batch, queries, keys, *mask.lengths(), origin=origin)):
        return Dense()
    return slice


class Reach:
    """Which keys the queries of a request may see, asked for ranges of queries and of keys.

    Example:
        >>> reach = Reach(Causal(), Sizes(1, 8, 8))
        >>> reach.hull(slice(0, 4), slice(2, 8)), reach.pairs(slice(0, 4), slice(2, 8))
        ((2, 4), 3)
    """

    def __init__(self, mask: Mask, sizes: Sizes):
        self._mask, self._sizes, self._spans = mask, sizes, spans_of(mask, sizes)

    def hull(self, rows: slice, keys: slice) -> tuple[int, int]:
        """The first of these keys that any of these queries may see, and the one after the last; equal if none."""
        nothing = keys.start, keys.start
        if rows.start >= rows.stop or keys.start >= keys.stop:
            return nothing
        picked = self._mask.columns(self._sizes, rows)
        if picked is not None:
            picked = picked[(picked >= keys.start) & (picked < keys.stop)]
            return (int(picked[0]), int(picked[-1]) + 1) if len(picked) else nothing
        found = [(start[start < stop], stop[start < stop]) for start, stop in self._cut(rows, keys)]
        found = [(int(start.min()), int(stop.max())) for start, stop in found if len(start)]
        return (min(start for start, _ in found), max(stop for _, stop in found)) if found else nothing

    def pairs(self, rows: slice, keys: slice) -> int:
        """How many pairs of these, of one head and of the average item, lie within the spans."""
        cut = self._cut(rows, keys)
        counts = sum((stop - start).clamp(min=0).sum() / max(len(start), 1) for start, stop in cut)
        return int(counts)

    @property
    def is_exact(self) -> bool:
        """Whether the spans say exactly which keys each query may see, which are the same in every head then."""
        return self._spans.exact

    def counts(self) -> Tensor | None:
        """How many keys each query may see, (batch or 1, query), if the spans say it exactly; otherwise None."""
        if not self.is_exact:
            return None
        return sum((stop - start).clamp(min=0) for start, stop in self._spans.outer)  # pyright: ignore[reportReturnType]

    def _cut(self, rows: slice, keys: slice) -> list[tuple[Tensor, Tensor]]:
        length = rows.stop - rows.start
        return [
            tuple(
                (bound[:, rows] if bound.shape[1] == self._sizes.queries else bound.expand(-1, length)).clamp(
                    keys.start, keys.stop
                )
                for bound in interval
            )
            for interval in self._spans.outer
        ]  # pyright: ignore[reportReturnType]
