"""Bucketed distances, as in T5: each short distance has its own bias, long ones share one with similar distances."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from regard.attention.positions.offset_bias import OffsetBias
from regard.attention.positions.position import PositionModule, check_per_head
from regard.attention.positions.skewing import sum_by_index
from regard.attention.sizes import Sizes
from regard.attention.validation import check_count, check_number, check_tensor
from regard.errors import ArgumentError

__all__ = ["Bucketed", "Buckets", "bucket"]


@dataclass(frozen=True)
class Buckets(OffsetBias):
    """score_ij += b_c, where c = bucket(j - i) is one of a few buckets that become wider with the distance.

    Args:
        table: (bucket,), or (head, bucket) with biases for each head.
        reach: from this distance on, all distances share the last bucket.
        causal: whether all buckets are for keys before the query; otherwise half of them are for keys after it.

    Source: Raffel et al. 2020 (arXiv 1910.10683), section 2.1; edges of the buckets as in its published code.
    """

    table: Tensor
    reach: int = 128
    causal: bool = False

    by_offset: ClassVar[bool] = True
    formulas: ClassVar[Mapping[str, str]] = {"scores": "b(bucket of j - i)"}

    def __post_init__(self) -> None:
        check_tensor("table", self.table, "(bucket,) or (head, bucket)", (1, 2))
        check_number("reach", self.reach)

    def bias(self, offset: Tensor) -> Tensor:
        index = self._bucket(offset)
        groups = max(len(index), self.table.shape[0] if self.table.ndim == 2 else 1)
        table = self.table.view(-1, 1, self.table.shape[-1])
        return table.expand(groups, index.shape[1], -1).gather(-1, index.expand(groups, -1, -1))

    def bias_vjp(self, gradient: Tensor, offset: Tensor) -> tuple[Tensor | None, ...]:
        sums = sum_by_index(gradient, self._bucket(offset), self.table.shape[-1]).sum(1)
        return (sums if self.table.ndim == 2 else sums.sum(0),)

    def check(self, heads: int, sizes: Sizes) -> None:
        if self.table.ndim == 2:
            check_per_head(self.table, heads, "biases")

    def select(self, heads: Tensor) -> "Buckets":
        if self.table.ndim == 1:
            return self
        return dataclasses.replace(self, table=self.table[heads])

    def _bucket(self, offset: Tensor) -> Tensor:
        return bucket(offset, self.table.shape[-1], self.reach, causal=self.causal)


class Bucketed(PositionModule):
    """Learned biases for distances: one for each short distance, shared by ever more of the long ones. Any length.

    There are heads x buckets parameters. T5 itself adds them to scores that are not divided by sqrt(d), `score="dot"`,
    and shares one such module between all layers.

    Args:
        heads: how many heads there are; each has its own biases.
        buckets: how many biases a head has.
        reach: from this distance on, all distances share the last bucket.
        causal: whether all buckets are for keys before the query (a decoder); otherwise half of them are for keys after
            it.

    Raises:
        ArgumentError: there are too few buckets, or `reach` leaves none to be shared.

    Source: Raffel et al. 2020 (arXiv 1910.10683), section 2.1.

    Example:
        >>> from regard import attend
        >>> x = torch.zeros(1, 2, 5, 8)
        >>> attend(x, x, x, position=Bucketed(heads=2)).shape
        torch.Size([1, 2, 5, 8])
    """

    def __init__(self, heads: int, buckets: int = 32, reach: int = 128, *, causal: bool = False):
        super().__init__()
        check_count("heads", heads, "how many heads there are")
        check_count("buckets", buckets, "how many biases a head has", least=2)
        check_number("reach", reach)
        side = buckets if causal else buckets // 2
        if side < 2 or (buckets % 2 and not causal):
            raise ArgumentError(
                f"`buckets` must be 2 or more{'' if causal else ' on each side, so an even number from 4 on'}, "
                f"but is {buckets}."
            )
        if reach <= side // 2:
            raise ArgumentError(
                f"`reach` must be more than the {side // 2} distances that have a bucket to themselves, but is {reach}."
            )
        self.table = nn.Parameter(torch.empty(heads, buckets))
        nn.init.normal_(self.table, std=0.02)
        self.reach, self.causal = reach, causal

    def part(self) -> Buckets:
        """The part for `attend`, with the table as its operand."""
        return Buckets(self.table, self.reach, self.causal)


def bucket(offset: Tensor, buckets: int, reach: int, *, causal: bool) -> Tensor:
    """The bucket of a distance, which is the position of the key minus that of the query.

    Of the buckets of a side, half are for one distance each; the others are spaced logarithmically, and the last one
    takes all longer distances.

    Example:
        >>> bucket(torch.tensor([-999, -8, -3, -1, 0, 1, 3, 8, 999]), 8, 16, causal=False)
        tensor([3, 3, 2, 1, 0, 5, 6, 7, 7])
        >>> bucket(torch.tensor([-999, -8, -3, -1, 0, 1, 3]), 8, 16, causal=True)
        tensor([7, 6, 3, 1, 0, 0, 0])
    """
    side = buckets if causal else buckets // 2
    after = 0 if causal else side * (offset > 0)
    distance = (-offset).clamp(min=0) if causal else offset.abs()
    single = side // 2
    # In float32 and in this order, as in the published code: at the edge of a bucket the last bit matters.
    ratio = torch.log(distance.clamp(min=1).float() / single) / math.log(reach / single)
    shared = (single + (ratio * (side - single)).long()).clamp(max=side - 1)
    return after + torch.where(distance < single, distance, shared)
