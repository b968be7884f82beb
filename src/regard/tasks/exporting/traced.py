"""What is exported of a model: a network that reads tensors by name, and what its output means."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from regard.attention.masks import allows
from regard.attention.sizes import Sizes
from regard.inputs import Batch
from regard.modules import Pairs

__all__ = ["BATCH_AXES", "Traced", "TracedModule", "TracedNetwork", "batch_of", "tensors_of"]

BATCH_AXES: Mapping[str, tuple[str, ...]] = {
    "vectors": ("batch", "length", "feature"),
    "lengths": ("batch",),
    "allowed": ("batch", "length", "length"),
    "relations": ("batch", "length", "length"),
    "ngrams": ("batch", "length", "ngram"),
    "whole": ("batch", "feature"),
}
"""The axes of the tensors of a batch, by name. An axis whose size is always the same has a number in the file."""

MEANINGS: Mapping[str, str] = {
    "vectors": "the items of each source, filled up with zeros",
    "lengths": "the number of items of each source, 1 or more",
    "allowed": "whether each item (second axis) may attend to each other (third axis)",
    "relations": "the relation of each item (third axis) to each other (second axis)",
    "ngrams": "ids of n-grams or affixes of each item, filled up with zeros",
    "whole": "features of each source as a whole",
}
"""What the tensors of a batch mean, likewise."""


def tensors_of(batch: Batch) -> dict[str, Tensor]:
    """The tensors of a batch by name; a mask becomes the table of all its pairs, as `allowed`.

    Example:
        >>> {name: tuple(tensor.shape) for name, tensor in tensors_of(Batch.pad([torch.ones(2, 3)])).items()}
        {'vectors': (1, 2, 3), 'lengths': (1,)}
    """
    found: dict[str, Any] = {"vectors": batch.vectors, "lengths": batch.lengths}
    if batch.mask is not None:
        count, length = batch.vectors.shape[:2]
        item, place = torch.arange(count), torch.arange(length)
        at = Sizes(count, length, length).index(
            item.view(-1, 1, 1), torch.zeros(1, 1, 1, dtype=torch.int64), place.view(1, -1, 1), place.view(1, 1, -1)
        )
        found["allowed"] = allows(batch.mask, at).expand(count, length, length).contiguous()
    found |= {name: getattr(batch, name) for name in ("relations", "ngrams", "whole")}
    return {name: tensor for name, tensor in found.items() if tensor is not None}


def batch_of(tensors: Mapping[str, Tensor]) -> Batch:
    """The batch of these tensors; the inverse of `tensors_of`."""
    allowed = tensors.get("allowed")
    mask = None if allowed is None else Pairs(allowed[:, None])
    return Batch(**{name: tensor for name, tensor in tensors.items() if name != "allowed"}, mask=mask)


class TracedNetwork:
    """A network that can be exported: which tensors it reads of a batch, and its outputs for these tensors.

    By default they are those of the batch. A network that is known elsewhere by other names, or reads another form,
    overrides all of it.
    """

    input_axes: ClassVar[Mapping[str, tuple[str, ...]]] = BATCH_AXES
    """The names of the axes of each tensor."""
    item_axis: ClassVar[str] = "length"
    """The name of the axis along which it reads items."""
    input_meanings: ClassVar[Mapping[str, str]] = MEANINGS
    """What each tensor holds."""

    def inputs_of(self, batch: Batch) -> dict[str, Tensor]:
        """The tensors that it reads of a batch, by name."""
        return tensors_of(batch)

    def outputs_for(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """The outputs for these tensors, (batch, ..., output), those at padding included."""
        raise NotImplementedError(f"{type(self).__name__} must give outputs for tensors")


@dataclass(frozen=True)
class Traced:
    """What is exported of a model.

    Args:
        network: the network.
        values: turns its outputs into what the file gives.
        name: the name of that.
        axes: the names of its axes.
        meaning: what it is, in a sentence.
        labels: the names along its last axis; empty if they have none.
        shown: a prediction, for the usage: Python on `row`, the output for a source without padding, and `labels`.
        left_out: a sentence on what of the model isn't exported; None if that is nothing.
    """

    network: TracedNetwork
    values: Callable[[Tensor], Tensor]
    name: str
    axes: tuple[str, ...]
    meaning: str
    labels: tuple[str, ...]
    shown: str
    left_out: str | None = None


class TracedModule(nn.Module):
    """What is exported as a module whose arguments are tensors in a fixed order."""

    def __init__(self, traced: Traced, names: tuple[str, ...]):
        super().__init__()
        self.network, self.values, self.names = traced.network, traced.values, names

    def forward(self, *tensors: Tensor) -> Tensor:
        return self.values(self.network.outputs_for(dict(zip(self.names, tensors, strict=True))))
