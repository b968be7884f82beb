"""Tables of all pairs, as PyTorch's attention takes them: what they hide, and what they add to the scores.

Rules (`Causal`, `Window`, a function) and position schemes need no table, and linear memory; this is for tables that
exist already.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention import Index, Mask, Sizes
from regard.attention.broadcast_tables import check_broadcastable, table_indices
from regard.errors import ArgumentError

__all__ = ["Pairs", "torch_masks"]


@dataclass(frozen=True)
class Pairs(Mask):
    """A pair may attend where the table is True.

    Args:
        table: bool, broadcastable to (batch, head, query, key).
        items: how many items the batch must have; None: as many as the table broadcasts to.

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
        # A mask is not told how many heads there are.
        check_broadcastable(self.table, (sizes.batch, None, sizes.queries, sizes.keys))


def torch_masks(
    attn_mask: Tensor | None = None, key_padding_mask: Tensor | None = None, *, heads: int
) -> dict[str, Any]:
    """The masks of PyTorch's `nn.MultiheadAttention` as arguments of ours: `mask` and `bias`.

    There True hides, and minus infinity in a table of floats does too; here True allows. A row that is hidden whole
    gives NaN there, and here zeros (before the last linear).

    Args:
        attn_mask: (query, key) or (batch x heads, query, key), bool or float; as `is_causal` there is but a hint that
            this is the causal mask, it has no counterpart: `mask="causal"` here needs no table.
        key_padding_mask: (batch, key), or (key,) of an input without a batch, bool or float.
        heads: the number of heads, to tell the axes of a table of three apart.

    Raises:
        ArgumentError: a table has the wrong type or axes, or the two are for different numbers of items.

    Example:
        >>> padding = torch.tensor([[False, False, True]])
        >>> torch_masks(key_padding_mask=padding, heads=2)["mask"].table
        tensor([[[[ True,  True, False]]]])
    """
    shown: Tensor | None = None
    bias: Tensor | None = None
    items: int | None = None
    for name, table, axes in (("attn_mask", attn_mask, (2, 3)), ("key_padding_mask", key_padding_mask, (1, 2))):
        if table is None:
            continue
        if table.ndim not in axes or not (table.dtype == torch.bool or table.is_floating_point()):
            raise ArgumentError(
                f"`{name}` must be bool or float, of {axes[0]} or {axes[1]} axes, "
                f"but is {table.dtype} of shape {tuple(table.shape)}."
            )
        if name == "key_padding_mask":
            # (key) or (batch key) -> (batch 1 1 key)
            table = table.reshape(-1, 1, 1, table.shape[-1])
        elif table.ndim == 3:
            if len(table) % heads:
                raise ArgumentError(
                    f"`attn_mask` of three axes must be (batch x heads, query, key), but {len(table)} is no multiple "
                    f"of {heads} heads."
                )
            # (batch*head query key) -> (batch head query key)
            table = table.unflatten(0, (-1, heads))
        if name == "key_padding_mask" or table.ndim == 4:
            if items not in (None, len(table)):
                raise ArgumentError(
                    "`attn_mask` and `key_padding_mask` must be for as many items, "
                    f"but are for {items} and {len(table)}."
                )
            items = len(table)
        table = table[(None,) * (4 - table.ndim)]
        if table.dtype == torch.bool:
            allowed, added = ~table, None
        else:
            hidden = table == -torch.inf
            allowed, added = (~hidden if bool(hidden.any()) else None), table.masked_fill(hidden, 0.0)
        if allowed is not None:
            shown = allowed if shown is None else shown & allowed
        if added is not None:
            bias = added if bias is None else bias + added
    if shown is None and items is not None:
        # It hides nothing, but knows for how many items the bias is.
        shown = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=None if bias is None else bias.device)
    return {"mask": None if shown is None else Pairs(shown, items), "bias": bias}
