"""What was seen of one input: its items, what the model said of them, and each layer's weights."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError

__all__ = ["LayerRecord", "Record"]


@dataclass(frozen=True, eq=False)
class LayerRecord:
    """The weights of one attention layer.

    Args:
        name: what a person calls it, such as "layer 1".
        weights: (head, query, key); kept detached, in float32, on the CPU.
        source: the dotted name of the module inside the model.
        normaliser: what made the weights of the scores, such as "softmax"; "" where it isn't known.

    Raises:
        ArgumentError: `weights` hasn't three axes, or no head.
    """

    name: str
    weights: Tensor
    source: str = ""
    normaliser: str = ""

    def __post_init__(self) -> None:
        if self.weights.ndim != 3 or self.weights.shape[0] == 0:
            raise ArgumentError(
                f"`weights` must be (head, query, key) with a head or more, but is {tuple(self.weights.shape)}."
            )
        object.__setattr__(self, "weights", self.weights.detach().to("cpu", torch.float32))

    @property
    def heads(self) -> int:
        """How many heads there are."""
        return self.weights.shape[0]


@dataclass(frozen=True, eq=False)
class Record:
    """Everything that the views draw from.

    Args:
        items: the text of each item that could be looked at, such as the words of a sentence.
        labels: what the model said of each item that looked; none where it answered for the whole.
        scores: how likely the model holds each label, from 0 to 1; none where the labels are numbers.
        layers: the attention layers in the order in which they ran; none for a model without attention.
        model: the model's name.
        queries: the text of each item that looked, where others did than were looked at: the words of a translation,
            beside those of the source. None: the items looked at each other.
        pooling: the weights (head, 1, item) by which all items became the one vector that was answered for; None where
            no attention did that.
        answer: what the model answered, as it answers without being watched.
        noun: what an item is called.
        grid: (rows, columns) where the items are places, row by row, as the patches of a picture are.

    Raises:
        ArgumentError: the parts don't fit each other.

    Example:
        >>> layer = LayerRecord("layer 1", torch.full((3, 2, 2), 0.5))
        >>> Record(("I", "saw"), ("PRON", "VERB"), (0.9, 0.8), (layer,)).layers[0].heads
        3
    """

    items: tuple[str, ...]
    labels: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    layers: tuple[LayerRecord, ...] = ()
    model: str = ""
    queries: tuple[str, ...] | None = None
    pooling: LayerRecord | None = None
    answer: Any = None
    noun: str = "item"
    grid: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        keys, queries = len(self.items), len(self.looking)
        for name, there in (("labels", len(self.labels)), ("scores", len(self.scores))):
            if there not in (0, queries):
                raise ArgumentError(f"`{name}` must have {queries} entries, one an item, or none, but has {there}.")
        for name, layers, rows in (("layers", self.layers, queries), ("pooling", (self.pooling,), 1)):
            for layer in layers:
                if layer is not None and layer.weights.shape[1:] != (rows, keys):
                    raise ArgumentError(
                        f"`{name}` must hold weights (head, {rows}, {keys}), one for each query and key, but "
                        f"{layer.name} has {tuple(layer.weights.shape)}."
                    )
        if self.grid is not None and math.prod(self.grid) != keys:
            raise ArgumentError(f"`grid` must have {keys} places, one for each of `items`, but is {self.grid}.")

    @property
    def looking(self) -> tuple[str, ...]:
        """The text of each item that looked."""
        return self.items if self.queries is None else self.queries
