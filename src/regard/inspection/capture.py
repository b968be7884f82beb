"""Capture the attention weights inside a module during a `with` block."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

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
    """Capture the weights of every attention layer inside a module.

    An attention layer is any module with a method `observe(callback)` that calls the callback with an object that has
    `.weights` after each pass, and returns a handle with `remove()`. The observers are removed at the end of the block,
    even after an error.

    Args:
        module: the model, or any part of it.

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
    # An exit stack removes every handle, even if observing a later layer or removing another handle fails.
    with ExitStack() as stack:
        for name, part in module.named_modules():
            observe = getattr(part, "observe", None)
            if callable(observe):
                handle: Any = observe(partial(_append, seen, name))
                stack.callback(handle.remove)
        yield seen


def _append(seen: list[CapturedAttention], source: str, observation: Any) -> None:
    weights = observation.weights.detach().to("cpu", torch.float32)
    normaliser = getattr(getattr(observation, "module", None), "weights", "")
    seen.append(CapturedAttention(source, weights, normaliser if isinstance(normaliser, str) else ""))
