"""`torch.nn.functional.multi_head_attention_forward`: what `nn.MultiheadAttention` and PyTorch's transformers call.

Its inner calls can't be intercepted, so queries, keys and values are projected once more from its arguments.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention import Dot, weigh
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.functions.scaled_dot_product import first_causal, table_parts

__all__ = ["FUNCTION", "read"]

FUNCTION = functional.multi_head_attention_forward


def read(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> AttentionCall:
    """The call with these arguments; vectors are (length, batch, width), or (length, width)."""
    single = query.ndim == 2
    if single:
        query, key, value = (each.unsqueeze(1) for each in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    size = width // num_heads
    biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
    if use_separate_proj_weight:
        maps: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
    else:
        maps = in_proj_weight.chunk(3)  # pyright: ignore[reportOptionalMemberAccess]
    queries, keys, values = (
        functional.linear(each, weight, bias)
        for each, weight, bias in zip((query, key, value), maps, biases, strict=True)
    )
    added = 0
    if bias_k is not None and bias_v is not None:
        keys, values = (
            torch.cat([each, more.expand(1, batch, -1)]) for each, more in ((keys, bias_k), (values, bias_v))
        )
        added += 1
    # (length batch (head feature)) -> (batch head length feature)
    queries, keys, values = (each.unflatten(2, (num_heads, -1)).permute(1, 2, 0, 3) for each in (queries, keys, values))
    keys = keys if static_k is None else static_k.unflatten(0, (batch, num_heads))
    values = values if static_v is None else static_v.unflatten(0, (batch, num_heads))
    if add_zero_attn:
        keys, values = (functional.pad(each, (0, 0, 0, 1)) for each in (keys, values))
        added += 1
    if is_causal and key_padding_mask is None and not need_weights:
        # PyTorch takes the mask for a mere hint then, and counts from the first key, so that it hides added ones.
        parts: dict[str, Any] = {"mask": first_causal(length, keys.shape[2], keys.device)}
    else:
        parts = _masks(attn_mask, key_padding_mask, (batch, num_heads), length, keys.shape[2], added)
    parts["score"] = Dot(1 / math.sqrt(size))

    def returned(outputs: Tensor) -> tuple[Tensor, Tensor | None]:
        joined = functional.linear(
            outputs.transpose(1, 2).flatten(2).to(out_proj_weight.dtype), out_proj_weight, out_proj_bias
        )
        # (batch length width) -> (length batch width)
        joined = joined[0] if single else joined.transpose(0, 1)
        if not need_weights:
            return joined, None
        weights = weigh(queries, keys, **parts)
        weights = weights.mean(1) if average_attn_weights else weights
        return joined, weights[0] if single else weights

    def outputs(given: tuple[Tensor, Any], rows: Tensor) -> Tensor:
        return (given[0].unsqueeze(1) if single else given[0])[rows].transpose(0, 1)

    return AttentionCall(
        "multi_head_attention_forward",
        queries,
        keys,
        values,
        parts,
        dropout_p if training else 0.0,
        returned,
        outputs,
        projection=(out_proj_weight, out_proj_bias),
    )


def _masks(
    table: Tensor | None, padding: Tensor | None, items: tuple[int, int], queries: int, keys: int, added: int
) -> dict[str, Any]:
    """The parts of PyTorch's two masks, in which True hides and a float is added; added keys may be seen by all.

    `items` are how many items and heads there are.
    """
    tables = []
    if table is not None:
        # (batch x head query key) or (query key)
        tables.append(table.unflatten(0, items) if table.ndim == 3 else table.view(1, 1, *table.shape))
    if padding is not None:
        tables.append(padding.view(items[0], 1, 1, -1))
    parts: dict[str, Any] = {"mask": None}
    if not tables:
        return parts
    if all(each.dtype == torch.bool for each in tables):
        # Each by itself: a mask and the padding are rules, and both together would be a table of all items.
        for each in tables:
            shown = functional.pad(~each, (0, added), value=True)
            found = table_parts(shown, items, queries, keys)["mask"]
            parts["mask"] = (
                found if parts["mask"] is None else parts["mask"] if found is None else parts["mask"] & found
            )
        return parts
    added_up = torch.zeros((), device=tables[0].device)
    for each in tables:
        if each.dtype == torch.bool:
            each = torch.zeros(each.shape, device=each.device).masked_fill(each, -torch.inf)
        added_up = added_up + each
    return table_parts(functional.pad(added_up, (0, added)), items, queries, keys)
