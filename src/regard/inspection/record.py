"""What was seen of one input: its items, what the model said of them, and each layer's weights."""

from dataclasses import dataclass

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
        items: the text of each item, such as the words of a sentence.
        labels: the label that the model gave to each.
        scores: how likely the model holds each label, from 0 to 1.
        layers: the attention layers in the order in which they ran; none for a model without attention.
        model: the model's name.

    Raises:
        ArgumentError: the parts don't fit each other.

    Example:
        >>> layer = LayerRecord("layer 1", torch.full((3, 2, 2), 0.5))
        >>> Record(("I", "saw"), ("PRON", "VERB"), (0.9, 0.8), (layer,)).layers[0].heads
        3
    """

    items: tuple[str, ...]
    labels: tuple[str, ...]
    scores: tuple[float, ...]
    layers: tuple[LayerRecord, ...] = ()
    model: str = ""

    def __post_init__(self) -> None:
        count = len(self.items)
        for name, there in (("labels", len(self.labels)), ("scores", len(self.scores))):
            if there != count:
                raise ArgumentError(f"`{name}` must have {count} entries, one an item, but has {there}.")
        for layer in self.layers:
            if layer.weights.shape[1:] != (count, count):
                raise ArgumentError(
                    f"`layers` must hold weights (head, {count}, {count}), one query and one key an item, but "
                    f"{layer.name} has {tuple(layer.weights.shape)}."
                )
