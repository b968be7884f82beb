"""`torch.nn.functional.scaled_dot_product_attention`, which most models of today call."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention import Causal, Dot
from regard.inspection.call import AttentionCall
from regard.inspection.rules import KeyIntervals, as_parts, mask_rule

__all__ = ["FUNCTION", "leading_axes", "read", "table_parts"]

FUNCTION = functional.scaled_dot_product_attention


def read(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> AttentionCall:
    """The call with these arguments."""
    lead = query.shape[:-2]
    if not enable_gqa:
        lead = torch.broadcast_shapes(lead, key.shape[:-2], value.shape[:-2])
    batch, heads = leading_axes(lead)
    parts: dict[str, Any] = {"score": Dot(1 / math.sqrt(query.shape[-1]) if scale is None else float(scale))}
    if is_causal:
        parts["mask"] = _causal(query.shape[-2], key.shape[-2], query.device)
    if attn_mask is not None:
        parts |= table_parts(attn_mask, lead, query.shape[-2], key.shape[-2])
    result = (*lead, query.shape[-2], value.shape[-1])

    def four(tensor: Tensor) -> Tensor:
        if enable_gqa:
            return tensor.reshape(-1, *tensor.shape[-3:])
        return tensor.expand(*lead, *tensor.shape[-2:]).reshape(batch, heads, *tensor.shape[-2:])

    return AttentionCall(
        "scaled_dot_product_attention",
        four(query),
        four(key),
        four(value),
        parts,
        float(dropout_p),
        returned=lambda outputs: outputs.reshape(result).to(query.dtype),
        outputs=lambda given, rows: given.reshape(batch, heads, *given.shape[-2:])[:, :, rows],
    )


def table_parts(table: Tensor, lead: tuple[int, ...], queries: int, keys: int) -> dict[str, Any]:
    """The mask and the position of a table that broadcasts to (*lead, query, key).

    Args:
        table: bool, True = may attend; or numbers, which are added to the scores.
    """
    batch, heads = leading_axes(lead)
    if len(lead) == 2:
        table = table.view((1,) * (4 - table.ndim) + table.shape) if table.ndim < 4 else table
        table = table.expand(*table.shape[:2], queries, keys)
    elif table.ndim == 2 or all(size == 1 for size in table.shape[:-2]):
        table = table.reshape(1, 1, *table.shape[-2:]).expand(1, 1, queries, keys)
    else:
        table = table.expand(*lead, queries, keys).reshape(batch, heads, queries, keys)
    if table.dtype == torch.bool:
        return {"mask": mask_rule(table)}
    mask, position = as_parts(table)
    return {"mask": mask, "position": position}


def _causal(queries: int, keys: int, device: torch.device) -> Any:
    """PyTorch counts from the first query and key, regard from the last."""
    if queries == keys:
        return Causal()
    stop = torch.arange(1, queries + 1, device=device).clamp(max=keys).view(1, 1, -1)
    return KeyIntervals(torch.zeros_like(stop), stop)


def leading_axes(lead: tuple[int, ...]) -> tuple[int, int]:
    """Batch and head, for any number of leading axes."""
    if len(lead) < 2:
        return math.prod(lead), 1
    return math.prod(lead[:-1]), lead[-1]
