"""Patches of pictures that are shifted a little in training."""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.tasks.inputs.vectors import VectorEmbedding

__all__ = ["ShiftedEmbedding"]


class ShiftedEmbedding(VectorEmbedding):
    """A linear map of patches, of pictures that training shifts: a shifted 7 is still one.

    Args:
        size, width, item_dropout: as in `VectorEmbedding`. A vector begins with the patch; what stands behind it, its
            place, is not shifted.
        shape: rows and columns of patches, rows and columns of pixels in a patch, channels.
        most: by how many pixels a picture is shifted at most, up or down and to either side.
    """

    def __init__(self, size: int, width: int, *, item_dropout: float, shape: tuple[int, int, int, int, int], most: int):
        super().__init__(size, width, item_dropout=item_dropout)
        self.shape, self.most = shape, most

    def blanked(self, vectors: Float[Tensor, "batch length size"]) -> Float[Tensor, "batch length size"]:
        """The patches of the shifted pictures; what comes in at an edge repeats it."""
        rows, columns, high, wide, channels = self.shape
        batch, most, device = len(vectors), self.most, vectors.device
        levels, places = vectors.split([high * wide * channels, vectors.shape[2] - high * wide * channels], dim=2)
        # (b (rows columns) (high wide c)) -> (b c (rows high) (columns wide))
        split = levels.reshape(batch, rows, columns, high, wide, channels)
        pictures = split.permute(0, 5, 1, 3, 2, 4).reshape(batch, channels, rows * high, columns * wide)
        padded = torch.nn.functional.pad(pictures, (most, most, most, most), mode="replicate")
        down, across = (
            torch.randint(2 * most + 1, (batch, 1), device=device) + torch.arange(count, device=device)
            for count in (rows * high, columns * wide)
        )
        each = torch.arange(batch, device=device)[:, None, None]
        # (b (rows high) (columns wide) c), and back
        shifted = padded[each, :, down[:, :, None], across[:, None, :]]
        split = shifted.reshape(batch, rows, high, columns, wide, channels).transpose(2, 3)
        return super().blanked(torch.cat([split.reshape(levels.shape), places], dim=2))
