"""One call of `attend` that several ranks share: what each holds, wants of the others, and computes."""

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from regard.attention.attend import run
from regard.attention.known import Known, signature
from regard.attention.masks import Causal, Dense, Reach, Slice, allows, slice_of
from regard.attention.parts import declares, select
from regard.attention.positions import Position
from regard.attention.precision import wide_dtype
from regard.attention.request import Parts, Request
from regard.attention.scores import Dot, ScaledDot
from regard.attention.sizes import Origin, Sizes
from regard.attention.weights import Softmax
from regard.distributed.layout import Layout
from regard.distributed.peers import Peers

__all__ = ["Call"]

_PAIRS = 2**22
"""Of which a mask is asked at once, to count."""


@dataclass(frozen=True)
class Call:
    """A call that several ranks share.

    Attributes:
        peers: the ranks.
        queries, keys: what each holds.
        parts: those of the whole request.
        batch, heads, key_heads, feature, value_size: its sizes.
        itemsize: bytes of a number.
        threads: of a rank at most, on a CPU.
        first_head: the number of the first of these heads in the whole.
        whole: the call that these are some heads of, if they are.
    """

    peers: Peers
    queries: Layout
    keys: Layout
    parts: Parts
    batch: int
    heads: int
    key_heads: int
    feature: int
    value_size: int
    itemsize: int
    device: torch.device
    dropout: float
    seed: int
    engine: str
    threads: int
    first_head: int = 0
    whole: "Call | None" = None

    @cached_property
    def reach(self) -> Reach:
        """Which keys may be seen."""
        return self.whole.reach if self.whole else Reach(self.parts.mask, self.sizes)

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of the whole request."""
        return self.parts.sizes(self.batch, self.queries.length, self.keys.length)

    @cached_property
    def blocks(self) -> list[list[list[list[tuple[int, int]]]]]:
        """Of a rank's queries and another's keys, for each slice of the one and of the other: which keys are seen."""
        if self.whole:
            return self.whole.blocks
        return [
            [[[self.reach.hull(rows, keys) for keys in held] for rows in own] for held in self.keys.slices]
            for own in self.queries.slices
        ]

    @cached_property
    def wanted(self) -> list[list[list[tuple[int, int]]]]:
        """What each rank wants of each other, for each of that one's slices."""
        if self.whole:
            return self.whole.wanted
        return [
            [[_hull(each) for each in zip(*of_rows, strict=True)] for of_rows in of_rank] for of_rank in self.blocks
        ]

    @property
    def counts_of_wanted(self) -> list[list[int]]:
        """How many keys each rank wants of each."""
        return [[sum(stop - start for start, stop in of_other) for of_other in of_rank] for of_rank in self.wanted]

    @property
    def bytes_of_wanted(self) -> list[int]:
        """The bytes of the keys and values that each rank wants of others."""
        return [
            (sum(of_rank) - of_rank[rank]) * self.bytes_of_key for rank, of_rank in enumerate(self.counts_of_wanted)
        ]

    @property
    def bytes_of_key(self) -> int:
        """The bytes of a key and its value, of all heads and items."""
        return self.batch * self.key_heads * (self.feature + self.value_size) * self.itemsize

    @cached_property
    def pairs(self) -> list[int]:
        """How many pairs each rank computes if it keeps its queries, of one head and the average item."""
        return [sum(self.reach.pairs(rows, slice(0, self.keys.length)) for rows in own) for own in self.queries.slices]

    @property
    def by_kernel(self) -> bool:
        """Whether PyTorch's kernel can compute slices: inner products with softmax, and no mask or a causal one."""
        parts = self.parts
        return (
            self.engine == "auto"
            and self.device.type == "cpu"
            and not self.dropout
            and type(parts.score) in (Dot, ScaledDot)
            and type(parts.weights) is Softmax
            and type(parts.mask) in (Dense, Causal)
            and type(parts.position) is Position
        )

    def bounds(self, rank: int) -> tuple[int, int]:
        """The first key that a rank wants of any, and the one after the last."""
        return _hull([each for of_rank in self.wanted[rank] for each in of_rank])

    def of_heads(self, first_key_head: int, key_heads: int) -> "Call":
        """The call for these heads of the keys alone, and those of the queries that share them."""
        group = self.heads // self.key_heads
        first, heads = first_key_head * group, key_heads * group
        parts = self.parts_of_heads(first, heads)
        return dataclasses.replace(
            self, parts=parts, heads=heads, key_heads=key_heads, first_head=self.first_head + first, whole=self
        )

    def compute(
        self, query: Tensor, key: Tensor, value: Tensor, parts: Parts, first: tuple[int, int, int] = (0, 0, 0)
    ) -> Tensor:
        """The result of a slice of queries with one of keys, with log-sums if the parts say so."""
        return run(self.request(query, key, value, parts, first), self.engine)

    def request(
        self, query: Tensor, key: Tensor, value: Tensor, parts: Parts, first: tuple[int, int, int] = (0, 0, 0)
    ) -> Request:
        """The request of a slice of queries with one of keys.

        Args:
            parts: as for these heads.
            first: the numbers of the first query and key, and of the first head among those of this call.
        """
        first = first[0], first[1], first[2] + self.first_head
        batch, _, rows, _ = query.shape
        by_offset = bool(declares(type(parts.position), "by_offset"))
        by_number = self.dropout > 0 or not (by_offset or type(parts.position) is Position)
        origin = Origin(*first, self.queries.length, self.keys.length)
        mask = parts.mask
        whole = first[:2] == (0, 0) and rows == origin.queries and key.shape[2] == origin.keys
        # Of some heads all pairs: unless something asks for the number of a head, these are like any others.
        if not (whole and (first[2] == 0 or (self.reach.is_exact and not by_number))):
            mask = slice_of(mask, origin, batch, rows, key.shape[2], by_number=by_number, by_offset=by_offset)
        parts = dataclasses.replace(parts, mask=mask)
        known = signature(parts.score, parts.weights, self.parts.mask, parts.position) is not None
        # Parts that are known capture no tensor, so they needn't be tried out.
        form = {"parts": parts} if known else {}
        return Request(query, key, value, parts, self.dropout, self.seed, Known({}, {}, form))

    def own_request(self, query: Tensor, key: Tensor, first_key: int = 0) -> Request:
        """The request of all queries of this rank with contiguous keys of the whole, without dropout.

        Its mask is a `Slice`, so that everything sees the numbers of the whole. Its values have no features.
        """
        origin = self.origin(first_key)
        parts = dataclasses.replace(self.parts, mask=Slice(self.parts.mask, origin))
        return Request(query, key, key[..., :0], parts, 0.0, 0)

    def origin(self, first_key: int = 0) -> Origin:
        """Where this rank's queries lie in the whole, with keys from this one on."""
        own = self.queries.slices[self.peers.rank]
        return Origin.of_slices(own, self.queries.length, self.keys.length, first_key)

    def parts_of_heads(self, first: int, count: int) -> Parts:
        """The parts for these heads alone, whose parameters are counted from the first."""
        heads = torch.arange(first, first + count)
        score, weights, position = (
            select(part, heads) for part in (self.parts.score, self.parts.weights, self.parts.position)
        )
        return dataclasses.replace(self.parts, score=score, weights=weights, position=position)

    def counts(self, like: Tensor) -> Tensor:
        """How many keys each of this rank's queries may see, (batch or 1, head or 1, query); at least 1."""
        found = (self.whole or self)._counts
        own = slice(self.first_head, self.first_head + self.heads) if found.shape[1] > 1 else slice(None)
        return found[:, own].to(wide_dtype(like))

    @cached_property
    def _counts(self) -> Tensor:
        own, known, found = self.queries.slices[self.peers.rank], self.reach.counts(), []
        if known is not None:
            return torch.cat([known[:, rows] for rows in own], 1).unsqueeze(1).clamp(min=1).to(self.device)
        step = max(1, _PAIRS // max(self.keys.length, 1))
        for rows in own:
            found += [
                self._counts_of(slice(start, min(start + step, rows.stop)))
                for start in range(rows.start, rows.stop, step)
            ]
        if not found:
            return torch.ones(1, 1, 0, dtype=torch.int64, device=self.device)
        shape = torch.broadcast_shapes(*(each.shape[:2] for each in found))
        return torch.cat([each.expand(*shape, -1) for each in found], 2).clamp(min=1)

    def _counts_of(self, rows: slice) -> Tensor:
        def axis(start: int, stop: int, place: int) -> Tensor:
            return torch.arange(start, stop, device=self.device).view([-1 if each == place else 1 for each in range(4)])

        at = self.sizes.index(
            axis(0, self.batch, 0),
            axis(0, self.heads, 1),
            axis(rows.start, rows.stop, 2),
            axis(0, self.keys.length, 3),
        )
        allowed = allows(self.parts.mask, at)
        allowed = allowed[(None,) * (4 - allowed.ndim)]
        return allowed.expand(-1, -1, rows.stop - rows.start, self.keys.length).sum(-1)


def _hull(ranges: list[tuple[int, int]] | tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """The range that holds all of these."""
    some = [each for each in ranges if each[0] < each[1]]
    return (min(start for start, _ in some), max(stop for _, stop in some)) if some else (0, 0)
