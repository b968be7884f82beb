"""PyTorch's masks, which are tables of all pairs, converted to arguments of `MultiHeadAttention`.

Masks like `Causal` and `Window`, functions and position schemes need no table and take linear memory; this is for
tables that exist already.
"""

from typing import Any

import torch
from torch import Tensor

from regard.attention.masks import Pairs
from regard.errors import ArgumentError

__all__ = ["torch_masks"]


def torch_masks(
    attn_mask: Tensor | None = None, key_padding_mask: Tensor | None = None, *, heads: int
) -> dict[str, Any]:
    """Convert the masks of PyTorch's `nn.MultiheadAttention` to arguments of `MultiHeadAttention`: `mask` and `bias`.

    In PyTorch's masks True hides, as does minus infinity in a float table; here True allows. A row in which everything
    is hidden gives NaN in PyTorch, and zeros here (before the output projection).

    Args:
        attn_mask: (query, key) or (batch x heads, query, key), bool or float. PyTorch's `is_causal`, a hint that this
            is the causal mask, has no counterpart: `mask="causal"` needs no table here.
        key_padding_mask: (batch, key), or (key,) for an input without a batch axis, bool or float.
        heads: the number of heads, which splits the first axis of a table with three.

    Raises:
        ArgumentError: a table has the wrong dtype or number of axes, or the two have different batch sizes.

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
    if bias is not None and shown is None and items is not None:
        # It hides nothing, but checks the batch size of the bias.
        shown = bias.new_ones(1, 1, 1, 1, dtype=torch.bool)
    return {"mask": None if shown is None else Pairs(shown, items), "bias": bias}
