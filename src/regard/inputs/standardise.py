"""Standardisation of numbers: subtract the mean and divide by the standard deviation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import ArgumentError
from regard.inputs.saved import Saved

__all__ = ["Standardise"]


@dataclass(frozen=True)
class Standardise(Saved):
    """The mean and spread (standard deviation) of each column of the training data: (x - mean) / spread.

    A column that is constant in the training data has spread 0, and all its values become 0, because its unit is
    unknown.

    Args:
        means: the mean of each column.
        spreads: the population standard deviation of each column.

    Raises:
        ArgumentError: differing widths, a number that isn't finite, or a spread below 0.

    Example:
        >>> standardise = Standardise.fit([torch.tensor([[1.0, 5.0], [3.0, 5.0]])])
        >>> standardise.means, standardise.spreads
        ((2.0, 5.0), (1.0, 0.0))
        >>> standardise.apply(torch.tensor([[4.0, 9.0]]))
        tensor([[2., 0.]])
        >>> Standardise.from_json(standardise.to_json()) == standardise
        True
    """

    json_name: ClassVar[str] = "standardise"

    means: tuple[float, ...]
    spreads: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("means", "spreads"):
            values = getattr(self, name)
            if not all(map(math.isfinite, values)):
                raise ArgumentError(f"`{name}` must be finite numbers, one for each column, but is {values!r:.60}.")
        if len(self.means) != len(self.spreads):
            raise ArgumentError(
                f"`spreads` must be {len(self.means)} numbers, as many as `means`, but is {len(self.spreads)}."
            )
        if min(self.spreads, default=0) < 0:
            raise ArgumentError(f"`spreads` must be at least 0, but one is {min(self.spreads)}.")

    @classmethod
    def fit(cls, sequences: Sequence[Float[Tensor, "..."]]) -> "Standardise":
        """Compute the means and spreads over all items of all sequences.

        Args:
            sequences: tensors (item, width) of one width.

        Raises:
            ArgumentError: there are no items, the widths differ, or a number isn't finite.
        """
        shapes = {tuple(sequence.shape) for sequence in sequences}
        if any(len(shape) != 2 for shape in shapes) or len({shape[1] for shape in shapes}) > 1:
            raise ArgumentError(
                f"`sequences` must be tensors (item, width) of one width, but the shapes are {sorted(shapes)[:8]}."
            )
        if not any(len(sequence) for sequence in sequences):
            raise ArgumentError("`sequences` must hold at least one vector, but holds none.")
        # In float64, because the float32 mean of a million numbers around 1e6 would be wrong in its third digit.
        values = torch.cat([sequence.double() for sequence in sequences]).cpu().numpy()
        if not np.isfinite(values).all():
            raise ArgumentError("`sequences` must hold finite numbers, but holds NaN or infinity.")
        # The computed spread of equal numbers may be slightly above 0 by rounding.
        constant = values.max(axis=0) == values.min(axis=0)
        means = np.where(constant, values[0], values.mean(axis=0))
        return cls(tuple(means.tolist()), tuple(np.where(constant, 0, values.std(axis=0)).tolist()))

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.means)

    def apply(self, vectors: Float[Tensor, "item width"]) -> Float[Tensor, "item width"]:
        """Standardise vectors; the result has their dtype.

        Raises:
            ArgumentError: another width, or a result too large for the dtype.
        """
        means, spreads = self._tensors("vectors", vectors)
        centred = torch.where(spreads > 0, vectors.double() - means, 0.0)
        standard = (centred / torch.where(spreads > 0, spreads, 1.0)).to(vectors.dtype)
        if not standard.isfinite().all():
            raise ArgumentError(
                "`vectors` must hold finite numbers in the range that was learned, but holds NaN, infinity or a number "
                "too far out."
            )
        return standard

    def undo(self, standard: Float[Tensor, "item width"]) -> Float[Tensor, "item width"]:
        """Invert `apply`; a column that is constant in the training data becomes that constant.

        Raises:
            ArgumentError: another width.

        Example:
            >>> Standardise((2.0, 5.0), (3.0, 0.0)).undo(torch.tensor([[1.0, 9.0]]))
            tensor([[5., 5.]])
        """
        means, spreads = self._tensors("standard", standard)
        return (standard.double() * spreads + means).to(standard.dtype)

    def _tensors(self, name: str, vectors: Float[Tensor, "item width"]) -> tuple[Tensor, Tensor]:
        """The means and spreads on the device of these vectors, whose width is checked."""
        if vectors.shape[1] != self.width:
            raise ArgumentError(f"`{name}` must be {self.width} wide, but is {vectors.shape[1]}.")
        means, spreads = torch.tensor((self.means, self.spreads), dtype=torch.float64, device=vectors.device)
        return means, spreads
