"""`torch.nn.functional.scaled_dot_product_attention`, which most models of today call."""

import math
import sys
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention import Causal, Dot
from regard.inspection.capture.by_hand.product import as_multiplied
from regard.inspection.capture.by_hand.rules import KeyIntervals, as_parts, mask_rule
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.packed_heads import packed_heads

__all__ = ["FUNCTION", "first_causal", "leading_axes", "read", "table_parts"]

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
    query, key, value = as_multiplied(query, key, value)
    result = (*_lead(query, key, value, enable_gqa), query.shape[-2], value.shape[-1])
    if packed_heads(query):
        query, attn_mask, enable_gqa = _unpacked(query), _unpacked(attn_mask), True
    lead = _lead(query, key, value, enable_gqa)
    lead = (1, *lead) if enable_gqa and len(lead) == 1 else lead
    batch, heads = leading_axes(lead)
    queries, keys = query.shape[-2], key.shape[-2]
    parts: dict[str, Any] = {"score": Dot(1 / math.sqrt(query.shape[-1]) if scale is None else float(scale))}
    causal = _as_causal_bias(attn_mask)
    if causal is not None:
        # As PyTorch decides it: a square bias counts from the first key too, whatever the lengths are.
        first = causal.variant.name == "UPPER_LEFT" or causal.seq_len_q == causal.seq_len_kv
        parts["mask"] = first_causal(queries, keys, query.device) if first else Causal()
    elif attn_mask is not None:
        parts |= table_parts(attn_mask, lead, queries, keys)
    elif is_causal:
        parts["mask"] = first_causal(queries, keys, query.device)

    if enable_gqa and key.shape[-3] != value.shape[-3]:
        # PyTorch groups keys and values each by itself; the operator takes as many of both.
        key, value = (each.repeat_interleave(lead[-1] // each.shape[-3], -3) for each in (key, value))

    def four(tensor: Tensor) -> Tensor:
        # Grouped keys have fewer heads.
        axes = (*lead[:-1], tensor.shape[-3]) if enable_gqa else lead
        return tensor.expand(*axes, *tensor.shape[-2:]).reshape(*leading_axes(axes), *tensor.shape[-2:])

    return AttentionCall(
        "scaled_dot_product_attention",
        four(query),
        four(key),
        four(value),
        parts,
        float(dropout_p),
        returned=lambda outputs: outputs.reshape(result).to(query.dtype),
        outputs=lambda given, rows: given.reshape(batch, heads, queries, given.shape[-1])[:, :, rows],
    )


def _lead(query: Tensor, key: Tensor, value: Tensor, grouped: bool) -> tuple[int, ...]:
    """The axes before those of queries and features that the function gives back."""
    if not grouped:
        return torch.broadcast_shapes(*(each.shape[:-2] for each in (query, key, value)))
    return *torch.broadcast_shapes(*(each.shape[:-3] for each in (query, key, value))), query.shape[-3]


def _as_causal_bias(mask: Tensor | None) -> Any:
    """The mask if it is a `CausalBias`, else None. Its module is only looked for, because it loads the compiler."""
    module = sys.modules.get("torch.nn.attention.bias")
    return mask if module is not None and isinstance(mask, module.CausalBias) else None


def _unpacked(tensor: Tensor | None) -> Any:
    """(batch, group, head, ...) -> (batch, group x head, 1, ...); a mask that all heads share is as it is."""
    return tensor if tensor is None or tensor.shape[-2] == 1 else tensor.flatten(1, 2).unsqueeze(2)


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


def first_causal(queries: int, keys: int, device: torch.device) -> Any:
    """The mask of PyTorch's `is_causal`, which counts from the first query and key; regard counts from the last."""
    if queries == keys:
        return Causal()
    stop = torch.arange(1, queries + 1, device=device).clamp(max=keys).view(1, 1, -1)
    return KeyIntervals(torch.zeros_like(stop), stop)


def leading_axes(lead: tuple[int, ...]) -> tuple[int, int]:
    """Batch and head, for any number of leading axes."""
    if len(lead) < 2:
        return math.prod(lead), 1
    return math.prod(lead[:-1]), lead[-1]
