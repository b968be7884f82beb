"""A mask that is given as a table of all pairs."""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.masks.mask import Mask
from regard.attention.sizes import Index, Sizes
from regard.attention.tables import check_broadcastable, table_indices
from regard.errors import ArgumentError

__all__ = ["Pairs"]


@dataclass(frozen=True)
class Pairs(Mask):
    """A pair may attend where the table is True.

    Args:
        table: bool, broadcastable to (batch, head, query, key).
        items: the required batch size; None: any that the table broadcasts to.

    Example:
        >>> from regard.attention import weigh
        >>> x = torch.zeros(1, 1, 2, 4)
        >>> weigh(x, x, mask=Pairs(torch.tensor([[True, False], [True, True]])))[0, 0]
        tensor([[1.0000, 0.0000],
                [0.5000, 0.5000]])
    """

    table: Tensor
    items: int | None = None

    def __post_init__(self) -> None:
        if self.table.dtype != torch.bool or not 2 <= self.table.ndim <= 4:
            raise ArgumentError(
                "`table` must be bool, True = may attend, of two to four axes up to (batch, head, query, key), "
                f"but is {self.table.dtype} of shape {tuple(self.table.shape)}. A float table is a position, Bias."
            )

    def allows(self, at: Index) -> Tensor:
        table, indices = table_indices(self.table, at)
        return table[indices]

    def hides_nothing(self, sizes: Sizes) -> bool:
        return bool(self.table.all())

    def check(self, sizes: Sizes) -> None:
        if self.items not in (None, sizes.batch):
            raise ArgumentError(
                f"`mask` must be for {sizes.batch} items, but is made of PyTorch's masks for {self.items}: a "
                "`key_padding_mask` is (batch, key), an `attn_mask` of three axes (batch x heads, query, key)."
            )
        # The number of heads isn't known here.
        check_broadcastable(self.table, (sizes.batch, None, sizes.queries, sizes.keys))
