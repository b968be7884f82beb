"""Relative positions of Shaw et al.: a learned vector for each distance, which acts as an addition to key or value."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from regard.attention.positions.position import Both, Position, PositionModule, check_per_head
from regard.attention.positions.skewing import offset_products, sum_by_offset
from regard.attention.sizes import Index, Sizes
from regard.attention.validation import check_count, check_tensor
from regard.errors import ArgumentError

__all__ = ["Relative", "RelativeKeys", "RelativeValues"]


@dataclass(frozen=True)
class RelativeKeys(Position):
    """score_ij += q_i . r_c / sqrt(d), where c = clip(j - i, -reach, reach) picks one of 2 reach + 1 learned vectors.

    The products of a query with all 2 reach + 1 vectors are computed first, and each pair then selects its own: n x
    reach x d work and n x reach memory, instead of n x n x d.

    Args:
        table: (2 reach + 1, feature), or (head, 2 reach + 1, feature) with vectors for each head.

    Source: Shaw et al. 2018 (arXiv 1803.02155), equation 4 with section 3.2, on keys.
    """

    table: Tensor

    by_offset: ClassVar[bool] = True
    formulas: ClassVar[Mapping[str, str]] = {"scores": "sum_f q_f * r_(j - i)f / sqrt(d)"}

    def __post_init__(self) -> None:
        check_tensor("table", self.table, "(2 reach + 1, feature) or (head, 2 reach + 1, feature)", (2, 3))

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        table = _checked(self.table, query.shape[-1]).to(query.dtype) * _scale(query)
        return scores + offset_products(query, table, at, scores.shape[-1])

    def scores_vjp(self, grad_scores: Tensor, query: Tensor, key: Tensor, at: Index) -> tuple[Tensor | None, ...]:
        grad_products = sum_by_offset(grad_scores, at, self.table.shape[-2]) * _scale(query)
        return grad_products @ self.table.to(query.dtype), None, _of_table(self.table, grad_products.mT @ query)

    def check(self, heads: int, sizes: Sizes) -> None:
        if self.table.ndim == 3:
            check_per_head(self.table, heads, "vectors")

    def select(self, heads: Tensor) -> "RelativeKeys":
        per_head = self.table.ndim == 3
        return dataclasses.replace(self, table=self.table[heads]) if per_head else self


@dataclass(frozen=True)
class RelativeValues(Position):
    """o_i += sum_j w_ij r_c, where c = clip(j - i, -reach, reach) picks one of 2 reach + 1 learned vectors.

    A row's weights are first summed by distance, into 2 reach + 1 numbers.

    Args:
        table: (2 reach + 1, value), or (head, 2 reach + 1, value) with vectors for each head.

    Source: Shaw et al. 2018 (arXiv 1803.02155), equation 3 with section 3.2, on values.
    """

    table: Tensor

    by_offset: ClassVar[bool] = True
    formulas: ClassVar[Mapping[str, str]] = {"outputs": "sum_j w_j * r_(j - i)c"}

    def __post_init__(self) -> None:
        check_tensor("table", self.table, "(2 reach + 1, value) or (head, 2 reach + 1, value)", (2, 3))

    def outputs(self, output: Tensor, weights: Tensor, at: Index) -> Tensor:
        table = _checked(self.table, output.shape[-1]).to(weights.dtype)
        return output + sum_by_offset(weights, at, table.shape[-2]) @ table

    def outputs_vjp(self, grad_output: Tensor, weights: Tensor, at: Index) -> tuple[Tensor | None, ...]:
        table = self.table.to(grad_output.dtype)
        grad_table = sum_by_offset(weights, at, table.shape[-2]).mT @ grad_output
        return offset_products(grad_output, table, at, weights.shape[-1]), _of_table(self.table, grad_table)

    def check(self, heads: int, sizes: Sizes) -> None:
        if self.table.ndim == 3:
            check_per_head(self.table, heads, "vectors")

    def select(self, heads: Tensor) -> "RelativeValues":
        per_head = self.table.ndim == 3
        return dataclasses.replace(self, table=self.table[heads]) if per_head else self


class Relative(PositionModule):
    """Learned vectors for relative positions, so that what two items exchange depends on their distance.

    All distances of `reach` or more share a vector, so any length works, even lengths that were not trained on. There
    are (2 reach + 1) x head_size parameters for keys, and as many for values, times `heads` if each head has its own.

    Args:
        head_size: the feature size of a head.
        reach: the largest distance that has its own vector.
        heads: with a number, each head has its own vectors; otherwise all heads share them.
        on: "keys", where the vectors affect what is attended to; "values", where they affect what is passed on; "both".
        value_size: the size of a head's values, if it isn't `head_size`.

    Raises:
        ArgumentError: `reach` is negative, or `on` has another value.

    Source: Shaw et al. 2018 (arXiv 1803.02155), section 3.2. Liu et al. 2020 (arXiv 2003.09229), table 1, count it as
        data-driven and parameter efficient, and as not inductive: distances beyond the reach are not distinguished.

    Example:
        >>> from regard import attend
        >>> x = torch.zeros(1, 2, 5, 8)
        >>> attend(x, x, x, position=Relative(8, reach=3, on="both")).shape
        torch.Size([1, 2, 5, 8])
    """

    def __init__(
        self,
        head_size: int,
        reach: int = 16,
        heads: int | None = None,
        on: str = "keys",
        value_size: int | None = None,
    ):
        super().__init__()
        check_count("reach", reach, "a distance", least=0)
        check_count("head_size", head_size, "the feature size of a head", least=0)
        for name, count in (("heads", heads), ("value_size", value_size)):
            if count is not None:
                check_count(name, count, "how many there are")
        if on not in ("keys", "values", "both"):
            raise ArgumentError(f"`on` must be 'keys', 'values' or 'both', but is {on!r}.")
        self.table = _vectors(heads, reach, head_size) if on != "values" else None
        self.value_table = _vectors(heads, reach, value_size or head_size) if on != "keys" else None

    def part(self) -> Position:
        """The part for `attend`, with the tables as its operands."""
        if self.value_table is None:
            return RelativeKeys(self.table)  # pyright: ignore[reportArgumentType]
        values = RelativeValues(self.value_table)
        return values if self.table is None else Both(RelativeKeys(self.table), values)


def _vectors(heads: int | None, reach: int, size: int) -> nn.Parameter:
    shape = (2 * reach + 1, size) if heads is None else (heads, 2 * reach + 1, size)
    table = nn.Parameter(torch.empty(shape))
    nn.init.normal_(table, std=max(size, 1) ** -0.5)
    return table


def _scale(query: Tensor) -> float:
    return 1.0 / math.sqrt(max(query.shape[-1], 1))


def _checked(table: Tensor, size: int) -> Tensor:
    if table.shape[-1] != size or table.shape[-2] % 2 == 0:
        raise ArgumentError(
            f"`position` must have a table (2 reach + 1, {size}) for heads of that size, "
            f"but its table is {tuple(table.shape)}."
        )
    return table


def _of_table(table: Tensor, gradient: Tensor) -> Tensor:
    """The gradient of a table, summed over groups if all heads share it."""
    return gradient if table.ndim == 3 else gradient.sum(0)
