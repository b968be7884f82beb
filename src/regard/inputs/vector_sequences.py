"""Sequences of vectors with their names and labels, as they are read from files."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from regard.errors import ArgumentError

__all__ = ["VectorSequences"]


@dataclass(frozen=True, eq=False)
class VectorSequences:
    """Several sequences of vectors, of one width and any lengths.

    Args:
        sequences: tensors (item, width) of float32.
        names: the name of each sequence.
        labels: the label of each sequence, a class name or a number; None without labels.
        item_labels: the labels of the items of each sequence; None without labels.

    Raises:
        ArgumentError: arguments that don't match.

    Example:
        >>> import torch
        >>> sequences = VectorSequences((torch.ones(3, 2), torch.ones(5, 2)), ("first", "second"), ("yes", "no"))
        >>> len(sequences), sequences.width
        (2, 2)
    """

    sequences: tuple[Float[Tensor, "_ width"], ...]
    names: tuple[str, ...]
    labels: tuple[str | float, ...] | None = None
    item_labels: tuple[tuple[str, ...], ...] | None = None

    def __post_init__(self) -> None:
        shapes = [tuple(sequence.shape) for sequence in self.sequences]
        if any(len(shape) != 2 for shape in shapes) or len({shape[1] for shape in shapes}) > 1:
            raise ArgumentError(
                f"`sequences` must be tensors (item, width) of one width, but the shapes are {sorted(set(shapes))[:8]}."
            )
        for name, values in (("names", self.names), ("labels", self.labels), ("item_labels", self.item_labels)):
            if values is not None and len(values) != len(shapes):
                raise ArgumentError(f"`{name}` must be {len(shapes)}, one for each sequence, but is {len(values)}.")
        for shape, labels in zip(shapes, self.item_labels or (), strict=False):
            if len(labels) != shape[0]:
                raise ArgumentError(
                    f"`item_labels` must have a label for each of {shape[0]} items, but has {len(labels)}."
                )

    def __len__(self) -> int:
        return len(self.sequences)

    @property
    def width(self) -> int:
        """The size of a vector; 0 if there is no sequence."""
        return self.sequences[0].shape[1] if self.sequences else 0
