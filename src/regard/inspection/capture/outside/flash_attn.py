"""The functions of flash-attn, versions 2, 3 and 4: (batch, length, head, feature), or packed without padding.

The versions differ in the order of their arguments, so these are read by name. An argument that says something of the
weights and that isn't read here keeps the call out of the record.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from regard.attention import Dot, Mask
from regard.inspection.capture.by_hand.rules import Distances, interval_rule
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.outside.call_arguments import given_arguments, window_mask
from regard.modules.huggingface import SoftCapped

__all__ = ["READERS"]

_READ = {"q", "k", "v", "dropout_p", "softmax_scale", "causal", "window_size", "softcap", "alibi_slopes"}
_PACKED = {"cu_seqlens_q", "cu_seqlens_k", "max_seqlen_q", "max_seqlen_k"}
# What has no influence on the weights.
_OTHER = {
    "deterministic",
    "return_attn_probs",
    "return_softmax_lse",
    "return_lse",
    "num_splits",
    "pack_gqa",
    "sm_margin",
}
_OTHER |= {"attention_chunk", "out"}


def _read(function: Callable[..., Any], *args: Any, **kwargs: Any) -> AttentionCall:
    """`flash_attn_func`: queries (batch, query, head, feature), keys and values (batch, key, key_head, feature)."""
    given = given_arguments(function, args, kwargs, _READ | _OTHER)
    query, key, value = (given[name].transpose(1, 2) for name in ("q", "k", "v"))
    queries, keys = query.shape[2], key.shape[2]
    mask = window_mask(*_window(given), queries, keys)
    return AttentionCall(
        "flash_attn_func",
        query,
        key,
        value,
        {"score": _score(given), "mask": mask, "position": _alibi(given.get("alibi_slopes"), queries, keys)},
        float(given.get("dropout_p", 0.0)),
        returned=lambda outputs: _with_outputs(function(*args, **kwargs), outputs.transpose(1, 2)),
        outputs=lambda result, rows: _outputs(result).transpose(1, 2)[:, :, rows],
    )


def _read_packed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> AttentionCall:
    """`flash_attn_varlen_func`: the items one behind the other, (all queries, head, feature), without padding.

    They are recorded as one item, whose mask hides from each query the keys of other items.
    """
    given = given_arguments(function, args, kwargs, _READ | _PACKED | _OTHER)
    if given.get("alibi_slopes") is not None:
        raise NotImplementedError("`alibi_slopes` of packed items isn't read")
    if any(given.get(name) is None for name in ("cu_seqlens_q", "cu_seqlens_k")):
        raise NotImplementedError("without `cu_seqlens_q` and `cu_seqlens_k` it isn't read")
    query, key, value = (given[name].unsqueeze(0).transpose(1, 2) for name in ("q", "k", "v"))
    starts = given["cu_seqlens_q"].long(), given["cu_seqlens_k"].long()
    before, after = _window(given)
    return AttentionCall(
        "flash_attn_varlen_func",
        query,
        key,
        value,
        {"score": _score(given), "mask": _own_keys(*starts, query.shape[2], key.shape[2], before, after)},
        float(given.get("dropout_p", 0.0)),
        returned=lambda outputs: _with_outputs(function(*args, **kwargs), outputs.transpose(1, 2)[0]),
        outputs=lambda result, rows: _outputs(result).unsqueeze(0).transpose(1, 2)[:, :, rows],
    )


READERS: dict[tuple[str, str], Callable[..., AttentionCall]] = {
    (module, name): read
    for module in (
        # Version 2, 3 and 4.
        *("flash_attn", "flash_attn.flash_attn_interface"),
        *("flash_attn_interface", "flash_attn_3.flash_attn_interface"),
        *("flash_attn.cute", "flash_attn.cute.interface"),
    )
    for name, read in (("flash_attn_func", _read), ("flash_attn_varlen_func", _read_packed))
}


def _score(given: Mapping[str, Any]) -> Dot | SoftCapped:
    scale = given.get("softmax_scale")
    scale = 1 / math.sqrt(given["q"].shape[-1]) if scale is None else float(scale)
    cap = float(given.get("softcap", 0.0))
    return SoftCapped(scale, cap) if cap else Dot(scale)


def _window(given: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """How many keys before and after its own position a query may attend to, None: all of them.

    Positions are counted so that the last query has that of the last key.
    """
    before, after = (None if each is None or each < 0 else int(each) for each in given.get("window_size", (-1, -1)))
    return before, 0 if given.get("causal", False) else after


def _own_keys(
    query_starts: Tensor, key_starts: Tensor, queries: int, keys: int, before: int | None, after: int | None
) -> Mask | None:
    """The mask of items that stand one behind the other.

    Args:
        query_starts, key_starts: where the items start, and where the last one ends.
        queries, keys: how many there are of all items.
        before, after: the window inside of an item.
    """
    places = torch.arange(queries, device=query_starts.device)
    item = torch.searchsorted(query_starts, places, right=True) - 1
    first, last = key_starts[item], key_starts[item + 1]
    position = last - (query_starts[item + 1] - places)
    start = first if before is None else torch.maximum(first, position - before)
    stop = last if after is None else torch.minimum(last, position + after + 1)
    return interval_rule(start.clamp(min=0).view(1, 1, -1), stop.clamp(min=0).view(1, 1, -1), keys)


def _alibi(slopes: Tensor | None, queries: int, keys: int) -> Distances | None:
    if slopes is None:
        return None
    if slopes.ndim != 1:
        raise NotImplementedError("`alibi_slopes` that differ between items aren't read")
    offsets = torch.arange(1 - keys, queries, device=slopes.device).abs()
    return Distances(-slopes.float().unsqueeze(1) * offsets, keys - 1)


def _outputs(result: Any) -> Tensor:
    return result[0] if isinstance(result, tuple | list) else result


def _with_outputs(result: Any, outputs: Tensor) -> Any:
    """What the function returned with other outputs; its log-sums stay, since they don't depend on the values."""
    outputs = outputs.to(_outputs(result).dtype)
    return (outputs, *result[1:]) if isinstance(result, tuple | list) else outputs
