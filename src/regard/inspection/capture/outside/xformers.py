"""`xformers.ops.memory_efficient_attention`: (batch, length, head, feature)."""

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor

from regard.attention import Causal, Dot
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.functions.scaled_dot_product import first_causal, table_parts
from regard.inspection.capture.outside.call_arguments import given_arguments

__all__ = ["READERS"]

_KNOWN = {"query", "key", "value", "attn_bias", "p", "scale", "op", "output_dtype"}


def _read(function: Callable[..., Any], *args: Any, **kwargs: Any) -> AttentionCall:
    """The call with these arguments; queries, keys and values may have no axis of heads, or one of groups of heads."""
    given = given_arguments(function, args, kwargs, _KNOWN)
    query, key, value = (_four(given[name]) for name in ("query", "key", "value"))
    scale, shape = given.get("scale"), given["query"].shape

    def returned(outputs: Tensor) -> Tensor:
        # (batch head query feature) -> (batch query head feature), and the axes that were given
        return outputs.transpose(1, 2).reshape(*shape[:-1], -1).to(given.get("output_dtype") or given["query"].dtype)

    return AttentionCall(
        "memory_efficient_attention",
        query,
        key,
        value,
        {
            "score": Dot(1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)),
            **_bias(given.get("attn_bias"), query, key),
        },
        float(given.get("p", 0.0)),
        returned=returned,
        outputs=lambda result, rows: _four(result)[:, :, rows],
    )


READERS: dict[tuple[str, str], Callable[..., AttentionCall]] = {
    (module, "memory_efficient_attention"): _read for module in ("xformers.ops", "xformers.ops.fmha")
}


def _four(tensor: Tensor) -> Tensor:
    """(batch, length, feature), (batch, length, head, feature) or with groups -> (batch, head, length, feature)."""
    if tensor.ndim == 3:
        return tensor.unsqueeze(1)
    # Heads that share keys are an expanded axis.
    return tensor.flatten(2, -2).transpose(1, 2)


def _bias(bias: Any, query: Tensor, key: Tensor) -> dict[str, Any]:
    """The mask and the position of `attn_bias`: a table of numbers, or an object that says what it hides."""
    items, queries, keys = tuple(query.shape[:2]), query.shape[2], key.shape[2]
    if bias is None:
        return {}
    if isinstance(bias, Tensor):
        if bias.ndim == 5:
            bias = bias.flatten(1, 2)
        return table_parts(bias.unsqueeze(1) if bias.ndim == 3 else bias, items, queries, keys)
    # Its subclasses hide more, so they are told by their names alone.
    if type(bias).__name__ == "LowerTriangularMask":
        return {"mask": first_causal(queries, keys, query.device)}
    if type(bias).__name__ == "LowerTriangularFromBottomRightMask":
        return {"mask": Causal()}
    table = bias.materialize((1, 1, queries, keys), device=query.device)
    return table_parts(table.reshape(1, 1, queries, keys), items, queries, keys)
