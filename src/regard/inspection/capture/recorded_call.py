"""A call of attention as it is kept: copies of its queries, keys and values, its parts, and some of its outputs."""

from typing import Any

import torch
from torch import Tensor

from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.growing_keys import GrowingKeys
from regard.inspection.record.seen_layer import SeenLayer

__all__ = ["recorded_call"]


def recorded_call(name: str, call: AttentionCall, result: Any, rows: int, growing: GrowingKeys) -> SeenLayer:
    """A record of a call.

    Queries, keys and values are copied, because models change tensors in place; the tensors of parts aren't, because
    layers share them.

    Args:
        name: the module that made the call.
        call: the call.
        result: what the function returned.
        rows: for how many queries the outputs are kept.
        growing: what was copied of the calls before.
    """
    count = call.query.shape[2]
    # Copies of inference tensors that are made outside of inference mode are normal ones.
    with torch.inference_mode(False), torch.no_grad():
        which = torch.linspace(0, max(count - 1, 0), min(rows, count), device=call.query.device).long()
        shared = growing.continued(name, call.key.detach(), call.value.detach())
        if shared is None:
            query, key, value = _copied_together(call.query, call.key, call.value)
            growing.begin(name, key, value)
        else:
            query, (key, value) = _copied(call.query), shared
        parts = call.parts
        return SeenLayer(
            name,
            call.function,
            query,
            key,
            value,
            parts.get("score", "scaled_dot"),
            parts.get("weights", "softmax"),
            parts.get("mask"),
            parts.get("position"),
            call.dropout,
            which,
            _copied(call.outputs(result, which)),
            _copied_projection(call),
            list(call.notes),
            after=call.after,
        )


def _copied_projection(call: AttentionCall) -> tuple[Tensor, Tensor | None] | None:
    if call.projection is None:
        return None
    weight, bias = call.projection
    return _copied(weight), None if bias is None else _copied(bias)


def _copied_together(*tensors: Tensor) -> list[Tensor]:
    """Copies in one block of memory: smaller ones lie scattered in the heap, whose gaps then add half as much again."""
    first = tensors[0]
    if any((each.dtype, each.device) != (first.dtype, first.device) for each in tensors):
        return [_copied(each) for each in tensors]
    sizes = [each.numel() for each in tensors]
    block = torch.empty(sum(sizes), dtype=first.dtype, device=first.device)
    copies = [part.view(each.shape) for part, each in zip(block.split(sizes), tensors, strict=True)]
    return [copy.copy_(each) for copy, each in zip(copies, tensors, strict=True)]


def _copied(tensor: Tensor) -> Tensor:
    return tensor.detach().clone(memory_format=torch.contiguous_format)
