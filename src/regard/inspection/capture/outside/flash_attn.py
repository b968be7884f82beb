"""The functions of flash-attn, versions 2, 3 and 4: (batch, length, head, feature), or packed without padding.

Queries, keys and values come as three tensors, as two or one in which they are stacked, or with keys from a cache.
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
_OTHER |= {"out", "scheduler_metadata"}
_CACHE = {"k_cache", "v_cache", "cache_seqlens", "cache_batch_idx", "cache_leftpad", "block_table", "page_table"}

Given = dict[str, Any]


def _read(function: Callable[..., Any], *args: Any, **kwargs: Any) -> AttentionCall:
    """`flash_attn_func`: queries (batch, query, head, feature), keys and values (batch, key, key_head, feature)."""
    return _whole(function, args, kwargs, given_arguments(function, args, kwargs, _READ | _OTHER))


def _read_stacked(function: Callable[..., Any], *args: Any, **kwargs: Any) -> AttentionCall:
    """`flash_attn_qkvpacked_func` and `flash_attn_kvpacked_func`: the same with an axis for the two or three."""
    known = _READ | _OTHER | {"qkv", "kv", "num_heads_q"}
    return _whole(function, args, kwargs, _unstacked(given_arguments(function, args, kwargs, known)))


def _read_packed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> AttentionCall:
    """`flash_attn_varlen_func`: the items one behind the other, (all queries, head, feature), without padding.

    They are recorded as one item, whose mask hides from each query the keys of other items.
    """
    return _packed(function, args, kwargs, given_arguments(function, args, kwargs, _READ | _PACKED | _OTHER))


def _read_packed_stacked(function: Callable[..., Any], *args: Any, **kwargs: Any) -> AttentionCall:
    """`flash_attn_varlen_qkvpacked_func` and `flash_attn_varlen_kvpacked_func`."""
    known = _READ | _PACKED | _OTHER | {"qkv", "kv", "cu_seqlens", "max_seqlen"}
    given = _unstacked(given_arguments(function, args, kwargs, known))
    if "cu_seqlens" in given:
        given |= dict.fromkeys(("cu_seqlens_q", "cu_seqlens_k"), given["cu_seqlens"])
    return _packed(function, args, kwargs, given)


def _read_cache(function: Callable[..., Any], *args: Any, **kwargs: Any) -> AttentionCall:
    """`flash_attn_with_kvcache`: keys and values from a cache, to which those of the call are written first."""
    given = given_arguments(function, args, kwargs, _READ | _OTHER | _CACHE)
    query, new = given["q"], given.get("k")
    batch, queries = query.shape[:2]
    items, pages = given.get("cache_batch_idx"), given.get("block_table", given.get("page_table"))
    if new is not None and given.get("cache_seqlens") is None:
        raise NotImplementedError("new keys without `cache_seqlens` aren't read")
    key, value = given["k_cache"], given["v_cache"]
    if pages is not None:
        # (block within_block key_head feature) -> (batch key key_head feature); blocks that aren't used may be below 0.
        key, value = (each[pages.long().clamp(min=0)].flatten(1, 2) for each in (key, value))
    elif items is not None:
        key, value = (each[items.long()] for each in (key, value))
    before = given.get("cache_seqlens", key.shape[1])
    before = torch.as_tensor(before, device=key.device).long().expand(batch)
    counts = before + (0 if new is None else new.shape[1])
    most = int(counts.max()) if batch else 0
    key, value = (each[:batch, :most].clone() for each in (key, value))
    if new is not None:
        places = before.unsqueeze(1) + torch.arange(new.shape[1], device=key.device)
        rows = torch.arange(batch, device=key.device).unsqueeze(1)
        key[rows, places], value[rows, places] = new.to(key.dtype), given["v"].to(value.dtype)
    slopes = given.get("alibi_slopes")
    if slopes is not None and not bool((counts == most).all()):
        raise NotImplementedError("`alibi_slopes` of items of other lengths aren't read")
    first = given.get("cache_leftpad")
    first = torch.zeros_like(counts) if first is None else first.long()
    position = counts.unsqueeze(1) - queries + torch.arange(queries, device=key.device)
    return AttentionCall(
        function.__name__,
        query.transpose(1, 2),
        key.transpose(1, 2),
        value.transpose(1, 2),
        {
            "score": _score(given),
            "mask": _intervals(first.unsqueeze(1), counts.unsqueeze(1), position, _window(given), most),
            "position": _alibi(slopes, queries, most),
        },
        0.0,
        returned=lambda outputs: _with_outputs(function(*args, **kwargs), outputs.transpose(1, 2)),
        outputs=lambda result, rows: _outputs(result).transpose(1, 2)[:, :, rows],
    )


def _whole(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], given: Given) -> AttentionCall:
    """The call of items of one length."""
    query, key, value = (given[name].transpose(1, 2) for name in ("q", "k", "v"))
    queries, keys = query.shape[2], key.shape[2]
    mask = window_mask(*_window(given), queries, keys)
    return AttentionCall(
        function.__name__,
        query,
        key,
        value,
        {"score": _score(given), "mask": mask, "position": _alibi(given.get("alibi_slopes"), queries, keys)},
        float(given.get("dropout_p", 0.0)),
        returned=lambda outputs: _with_outputs(function(*args, **kwargs), outputs.transpose(1, 2)),
        outputs=lambda result, rows: _outputs(result).transpose(1, 2)[:, :, rows],
    )


def _packed(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], given: Given) -> AttentionCall:
    """The call of items one behind the other."""
    if given.get("alibi_slopes") is not None:
        raise NotImplementedError("`alibi_slopes` of packed items isn't read")
    if any(given.get(name) is None for name in ("cu_seqlens_q", "cu_seqlens_k")):
        raise NotImplementedError("without `cu_seqlens_q` and `cu_seqlens_k` it isn't read")
    query, key, value = (given[name].unsqueeze(0).transpose(1, 2) for name in ("q", "k", "v"))
    starts = given["cu_seqlens_q"].long(), given["cu_seqlens_k"].long()
    return AttentionCall(
        function.__name__,
        query,
        key,
        value,
        {"score": _score(given), "mask": _own_keys(*starts, query.shape[2], key.shape[2], _window(given))},
        float(given.get("dropout_p", 0.0)),
        returned=lambda outputs: _with_outputs(function(*args, **kwargs), outputs.transpose(1, 2)[0]),
        outputs=lambda result, rows: _outputs(result).unsqueeze(0).transpose(1, 2)[:, :, rows],
    )


def _unstacked(given: Given) -> Given:
    """The arguments with queries, keys and values each by itself."""
    if "kv" in given:
        key, value = given["kv"].unbind(-3)
        return given | {"k": key, "v": value}
    heads = given.get("num_heads_q")
    if heads is None:
        return given | dict(zip(("q", "k", "v"), given["qkv"].unbind(-3), strict=True))
    # Version 3 takes them also one behind the other, in the axis of the heads.
    rest = (given["qkv"].shape[-2] - heads) // 2
    return given | dict(zip(("q", "k", "v"), given["qkv"].split([heads, rest, rest], -2), strict=True))


_FUNCTIONS: dict[str, Callable[..., AttentionCall]] = {
    "flash_attn_func": _read,
    "flash_attn_qkvpacked_func": _read_stacked,
    "flash_attn_kvpacked_func": _read_stacked,
    "flash_attn_varlen_func": _read_packed,
    "flash_attn_varlen_qkvpacked_func": _read_packed_stacked,
    "flash_attn_varlen_kvpacked_func": _read_packed_stacked,
    "flash_attn_with_kvcache": _read_cache,
}

READERS: dict[tuple[str, str], Callable[..., AttentionCall]] = {
    (module, name): read
    for module in (
        # Version 2, 3 and 4.
        *("flash_attn", "flash_attn.flash_attn_interface"),
        *("flash_attn_interface", "flash_attn_3.flash_attn_interface"),
        *("flash_attn.cute", "flash_attn.cute.interface"),
    )
    for name, read in _FUNCTIONS.items()
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
    query_starts: Tensor, key_starts: Tensor, queries: int, keys: int, window: tuple[int | None, int | None]
) -> Mask | None:
    """The mask of items that stand one behind the other.

    Args:
        query_starts, key_starts: where the items start, and where the last one ends.
        queries, keys: how many there are of all items.
        window: how many keys before and after its position a query may attend to.
    """
    places = torch.arange(queries, device=query_starts.device)
    item = torch.searchsorted(query_starts, places, right=True) - 1
    first, last = key_starts[item], key_starts[item + 1]
    position = last - (query_starts[item + 1] - places)
    return _intervals(first[None], last[None], position[None], window, keys)


def _intervals(
    first: Tensor, last: Tensor, position: Tensor, window: tuple[int | None, int | None], keys: int
) -> Mask | None:
    """The mask of a window among the keys from `first` up to `last`; all are (batch, query), or broadcast to that."""
    before, after = window
    start = first if before is None else torch.maximum(first, position - before)
    stop = last if after is None else torch.minimum(last, position + after + 1)
    start, stop = (each.clamp(min=0).expand(position.shape).unsqueeze(1) for each in (start, stop))
    return interval_rule(start, stop, keys)


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
