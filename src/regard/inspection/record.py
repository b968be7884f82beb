"""The record of one input: its items, the model's predictions, and the weights of each layer."""

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
        name: the name that is shown, such as "layer 1".
        weights: (head, query, key); stored detached, in float32, on the CPU.
        source: the dotted name of the module inside the model.
        normaliser: the function that turned scores into weights, such as "softmax"; "" if it is unknown.

    Raises:
        ArgumentError: `weights` doesn't have three axes, or has no head.
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
        """The number of heads."""
        return self.weights.shape[0]


@dataclass(frozen=True, eq=False)
class Record:
    """Everything that the views show.

    Args:
        items: the text of each item that was attended to (the keys), such as the words of a sentence.
        labels: the label of each query item; empty if the model predicts one answer for the whole source.
        scores: the probability of each label, from 0 to 1; empty if the labels are numbers.
        layers: the attention layers in the order in which they ran; empty for a model without attention.
        model: the model's name.
        queries: the text of each query item, if queries and keys are different items: the words of a translation
            attend to those of the source. None: the items attend to each other.
        pooling: the weights (head, 1, item) with which attention pooled all items into one vector; None without
            attention pooling.
        answer: what the model answer, as it answers without being watched.
        noun: the name of an item, such as "word".
        grid: (rows, columns) if the items form a grid, row by row, as the patches of a picture do.

    Raises:
        ArgumentError: sizes that don't match.

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
        keys, queries = len(self.items), len(self.query_items)
        for name, count in (("labels", len(self.labels)), ("scores", len(self.scores))):
            if count not in (0, queries):
                raise ArgumentError(
                    f"`{name}` must have {queries} entries, one for each item, or none, but has {count}."
                )
        for name, layers, rows in (("layers", self.layers, queries), ("pooling", (self.pooling,), 1)):
            for layer in layers:
                if layer is not None and layer.weights.shape[1:] != (rows, keys):
                    raise ArgumentError(
                        f"`{name}` must hold weights (head, {rows}, {keys}), one for each query and key, but "
                        f"{layer.name} has {tuple(layer.weights.shape)}."
                    )
        if self.grid is not None and math.prod(self.grid) != keys:
            raise ArgumentError(f"`grid` must have {keys} cells, one for each of `items`, but is {self.grid}.")

    @property
    def query_items(self) -> tuple[str, ...]:
        """The text of each query item."""
        return self.items if self.queries is None else self.queries
