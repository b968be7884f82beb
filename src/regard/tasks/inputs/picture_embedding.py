"""Vectors of the patches of pictures that are all of one size: shifted in training, convolved."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.tasks.inputs.vectors import VectorEmbedding

__all__ = ["PictureEmbedding", "convolutions"]


class PictureEmbedding(VectorEmbedding):
    """A linear map of patches, of pictures that training shifts: a shifted 7 is still one.

    Args:
        size, width, item_dropout: as in `VectorEmbedding`. A vector begins with the patch; its place, which follows, is
            not shifted.
        shape: rows and columns of patches, rows and columns of pixels in a patch, channels.
        most: by how many pixels a picture is shifted at most, up or down and to either side.
        stem: how many channels convolutions make of a patch; 0: there are none, and the pixels are mapped themselves.
    """

    def __init__(
        self,
        size: int,
        width: int,
        *,
        item_dropout: float,
        shape: tuple[int, int, int, int, int],
        most: int,
        stem: int = 0,
    ):
        _, _, high, wide, channels = shape
        places = size - high * wide * channels
        super().__init__(places + stem if stem else size, width, item_dropout=item_dropout)
        self.shape, self.most = shape, most
        self.stem = convolutions(channels, stem, high) if stem else None

    def forward(self, vectors: Float[Tensor, "batch length size"]) -> Float[Tensor, "batch length width"]:
        if self.stem is None:
            return super().forward(vectors)
        levels, places = self.split(vectors)
        pictures = self.pictures(levels)
        if self.training and self.most:
            pictures = self.shifted(pictures)
        # (b c rows columns) -> (b (rows columns) c)
        found = self.stem(pictures).flatten(2).transpose(1, 2)
        vectors = torch.cat([found, places], dim=2)
        return self.linear(super().blanked(vectors) if self.training else vectors)

    def split(self, vectors: Float[Tensor, "batch length size"]) -> tuple[Tensor, Tensor]:
        """The pixels, and the places."""
        _, _, high, wide, channels = self.shape
        pixels = high * wide * channels
        return vectors[..., :pixels], vectors[..., pixels:]

    def pictures(self, levels: Float[Tensor, "batch length pixel"]) -> Float[Tensor, "batch channel height width"]:
        """The pictures that the patches are of."""
        rows, columns, high, wide, channels = self.shape
        # (b (rows columns) (high wide c)) -> (b c (rows high) (columns wide))
        split = levels.reshape(len(levels), rows, columns, high, wide, channels)
        return split.permute(0, 5, 1, 3, 2, 4).reshape(len(levels), channels, rows * high, columns * wide)

    def shifted(
        self, pictures: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channel height width"]:
        """The pictures, each shifted at random; what comes in at an edge repeats it."""
        batch, most, device = len(pictures), self.most, pictures.device
        padded = torch.nn.functional.pad(pictures, (most, most, most, most), mode="replicate")
        down, across = (
            torch.randint(2 * most + 1, (batch, 1), device=device) + torch.arange(count, device=device)
            for count in pictures.shape[2:]
        )
        each = torch.arange(batch, device=device)[:, None, None]
        # (b h w c) -> (b c h w)
        return padded[each, :, down[:, :, None], across[:, None, :]].permute(0, 3, 1, 2)

    def blanked(self, vectors: Float[Tensor, "batch length size"]) -> Float[Tensor, "batch length size"]:
        """The patches of the shifted pictures."""
        rows, columns, high, wide, channels = self.shape
        levels, places = self.split(vectors)
        shifted = self.shifted(self.pictures(levels))
        # (b c (rows high) (columns wide)) -> (b (rows columns) (high wide c))
        split = shifted.reshape(len(vectors), channels, rows, high, columns, wide).permute(0, 2, 4, 3, 5, 1)
        return super().blanked(torch.cat([split.reshape(levels.shape), places], dim=2))


def convolutions(channels: int, made: int, patch: int) -> nn.Module:
    """Convolutions that make one vector of each patch, step by step.

    Args:
        channels: of the picture.
        made: how many channels there are in the end.
        patch: the side of a patch in pixels.

    Example:
        >>> convolutions(3, 64, patch=4)(torch.zeros(1, 3, 32, 32)).shape
        torch.Size([1, 64, 8, 8])

    Source: Xiao et al. 2021 (arXiv 2106.14881), section 4.
    """
    layers: list[nn.Module] = [nn.Conv2d(channels, made // 2 or 1, 3, padding=1), nn.GELU()]
    have = made // 2 or 1
    while patch > 1:
        # Half as large each time; where that doesn't come out, all that is left at once.
        step = 2 if patch % 2 == 0 else patch
        layers += [nn.Conv2d(have, made, step + (step == 2), stride=step, padding=int(step == 2)), nn.GELU()]
        have, patch = made, patch // step
    if have != made:
        layers += [nn.Conv2d(have, made, 1), nn.GELU()]
    return nn.Sequential(*layers)
