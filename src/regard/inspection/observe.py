"""Watching the attention inside a module for the length of a `with` block; nothing outlives it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

__all__ = ["Sighting", "observed"]


class Sighting(NamedTuple):
    """One pass through one attention layer.

    Args:
        source: the layer's dotted name inside the observed module.
        weights: (batch, head, query, key), detached, in float32, on the CPU.
        normaliser: what made the weights of the scores, such as "softmax"; "" where the layer doesn't say.
    """

    source: str
    weights: Tensor
    normaliser: str


@contextmanager
def observed(module: nn.Module) -> Iterator[list[Sighting]]:
    """Collect the weights of every attention layer inside a module.

    A layer is whatever has `observe(callback)`, which calls back with `.weights` after each pass and returns a handle
    with `remove()`. The observers are removed at the end, also after an error.

    Args:
        module: the model, or any part of it.

    Yields:
        a list that fills as the layers run, in the order in which they do.

    Example:
        >>> from regard.modules import MultiHeadAttention
        >>> model = nn.Sequential(MultiHeadAttention(6, heads=2), MultiHeadAttention(6, heads=3))
        >>> with observed(model) as seen:
        ...     output = model(torch.zeros(1, 5, 6))
        >>> [(sighting.source, tuple(sighting.weights.shape)) for sighting in seen]
        [('0', (1, 2, 5, 5)), ('1', (1, 3, 5, 5))]
    """
    seen: list[Sighting] = []
    # An exit stack removes every handle, even if observing a later layer, or removing an earlier handle, fails.
    with ExitStack() as stack:
        for name, part in module.named_modules():
            observe = getattr(part, "observe", None)
            if callable(observe):
                handle: Any = observe(partial(_see, seen, name))
                stack.callback(handle.remove)
        yield seen


def _see(seen: list[Sighting], source: str, observation: Any) -> None:
    weights = observation.weights.detach().to("cpu", torch.float32)
    normaliser = getattr(getattr(observation, "module", None), "weights", "")
    seen.append(Sighting(source, weights, normaliser if isinstance(normaliser, str) else ""))
