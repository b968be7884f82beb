"""Capture the attention weights inside a module during a `with` block, by the interception that `watch` uses."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import weigh
from regard.inspection.call import AttentionCall
from regard.inspection.interception import Interception
from regard.inspection.module_names import ModuleNames

__all__ = ["CapturedAttention", "capture_attention"]


class CapturedAttention(NamedTuple):
    """The weights of one pass through one attention layer.

    Args:
        source: the layer's dotted name inside the module.
        weights: (batch, head, query, key), detached, in float32, on the CPU.
        normaliser: the function that turned scores into weights, such as "softmax"; "" if it is unknown.
    """

    source: str
    weights: Tensor
    normaliser: str


@contextmanager
def capture_attention(module: nn.Module) -> Iterator[list[CapturedAttention]]:
    """Capture the weights of every attention layer inside a module, in memory that grows with the square of the length.

    `watch` sees the same calls and keeps what weights can be computed from, in linear memory.

    Args:
        module: the model, or any part of it; only what it calls itself is captured.

    Yields:
        a list to which each layer appends its weights, in the order in which the layers run.

    Example:
        >>> from regard.modules import MultiHeadAttention
        >>> model = nn.Sequential(MultiHeadAttention(6, heads=2), MultiHeadAttention(6, heads=3))
        >>> with capture_attention(model) as seen:
        ...     output = model(torch.zeros(1, 5, 6))
        >>> [(captured.source, tuple(captured.weights.shape)) for captured in seen]
        [('0', (1, 2, 5, 5)), ('1', (1, 3, 5, 5))]
    """
    seen: list[CapturedAttention] = []
    names = ModuleNames(module)

    def append(call: AttentionCall, result: Any) -> None:
        source = names.inside()
        if source is None:
            return
        with torch.no_grad():
            weights = weigh(call.query, call.key, **call.parts)
        normaliser = call.parts.get("weights", "softmax")
        seen.append(
            CapturedAttention(
                source,
                weights.detach().to("cpu", torch.float32),
                normaliser if isinstance(normaliser, str) else "",
            )
        )

    with Interception(append):
        yield seen
