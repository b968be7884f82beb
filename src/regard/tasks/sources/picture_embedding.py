"""The embedding of patches of pictures of one size, with augmentation and convolutions."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.tasks.sources.vectors import VectorEmbedding

__all__ = ["PictureAugmentation", "PictureEmbedding", "convolutions"]


@dataclass(frozen=True)
class PictureAugmentation:
    """The random changes to a picture in training that leave its label as it is.

    Args:
        shift: the largest shift in pixels, in each direction.
        zoom: the largest relative change of the width, and of the height.
        turn: the largest rotation in degrees, to either side.
        invert: the probability that the levels change their sign.
    """

    shift: int = 0
    zoom: float = 0.0
    turn: float = 0.0
    invert: float = 0.0


class PictureEmbedding(VectorEmbedding):
    """A linear map of patches, after augmentation of the pictures and optional convolutions.

    Args:
        size, width, item_dropout: as in `VectorEmbedding`. A vector holds the pixels of a patch, then its position,
            which isn't augmented.
        shape: the rows and columns of patches, the rows and columns of pixels in a patch, and the channels.
        augmentation: how the pictures are augmented in training.
        stem: the number of channels that convolutions make of a patch; 0: the pixels are mapped directly.
    """

    def __init__(
        self,
        size: int,
        width: int,
        *,
        item_dropout: float,
        shape: tuple[int, int, int, int, int],
        augmentation: PictureAugmentation,
        stem: int = 0,
    ):
        _, _, high, wide, channels = shape
        places = size - high * wide * channels
        super().__init__(places + stem if stem else size, width, item_dropout=item_dropout)
        self.shape, self.augmentation = shape, augmentation
        self.stem = convolutions(channels, stem, high) if stem else None

    def forward(self, vectors: Float[Tensor, "batch length size"]) -> Float[Tensor, "batch length width"]:
        if self.stem is None:
            return super().forward(vectors)
        levels, places = self.split(vectors)
        pictures = self.pictures(levels)
        if self.training:
            pictures = self.changed(pictures)
        # (b c rows columns) -> (b (rows columns) c)
        found = self.stem(pictures).flatten(2).transpose(1, 2)
        vectors = torch.cat([found, places], dim=2)
        return self.linear(super().blanked(vectors) if self.training else vectors)

    def split(self, vectors: Float[Tensor, "batch length size"]) -> tuple[Tensor, Tensor]:
        """The pixels, and the positions."""
        _, _, high, wide, channels = self.shape
        pixels = high * wide * channels
        return vectors[..., :pixels], vectors[..., pixels:]

    def pictures(self, levels: Float[Tensor, "batch length pixel"]) -> Float[Tensor, "batch channel height width"]:
        """Join patches to pictures."""
        rows, columns, high, wide, channels = self.shape
        # (b (rows columns) (high wide c)) -> (b c (rows high) (columns wide))
        split = levels.reshape(len(levels), rows, columns, high, wide, channels)
        return split.permute(0, 5, 1, 3, 2, 4).reshape(len(levels), channels, rows * high, columns * wide)

    def changed(
        self, pictures: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Augment each picture at random; pixels from outside repeat the edge."""
        batch, device = len(pictures), pictures.device
        most = self.augmentation.shift
        if self.augmentation.zoom or self.augmentation.turn:
            pictures = self._warped(pictures)
        elif most:
            padded = nn.functional.pad(pictures, (most, most, most, most), mode="replicate")
            down, across = (
                torch.randint(2 * most + 1, (batch, 1), device=device) + torch.arange(count, device=device)
                for count in pictures.shape[2:]
            )
            each = torch.arange(batch, device=device)[:, None, None]
            # (b h w c) -> (b c h w)
            pictures = padded[each, :, down[:, :, None], across[:, None, :]].permute(0, 3, 1, 2)
        if self.augmentation.invert:
            signs = 1 - 2 * (torch.rand(batch, 1, 1, 1, device=device) < self.augmentation.invert).to(pictures)
            pictures = pictures * signs
        return pictures

    def _warped(
        self, pictures: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Shift, zoom and rotate in one step."""
        height, width = pictures.shape[2:]
        shift, zoom = self.augmentation.shift, self.augmentation.zoom
        drawn = 2 * torch.rand(5, len(pictures), device=pictures.device) - 1
        angle = drawn[0] * (self.augmentation.turn * math.pi / 180)
        high, wide = 1 + zoom * drawn[1], 1 + zoom * drawn[2]
        # Maps positions in the new picture to positions in the old one; coordinates run from -1 to 1.
        rows = torch.stack(
            [
                torch.stack([angle.cos() / wide, angle.sin() / wide * (height / width), 2 * shift / width * drawn[3]]),
                torch.stack(
                    [-angle.sin() / high * (width / height), angle.cos() / high, 2 * shift / height * drawn[4]]
                ),
            ]
        )
        grid = nn.functional.affine_grid(rows.permute(2, 0, 1), list(pictures.shape), align_corners=False)
        return nn.functional.grid_sample(pictures, grid, padding_mode="border", align_corners=False)

    def blanked(self, vectors: Float[Tensor, "batch length size"]) -> Float[Tensor, "batch length size"]:
        """The patches of the augmented pictures."""
        rows, columns, high, wide, channels = self.shape
        levels, places = self.split(vectors)
        changed = self.changed(self.pictures(levels))
        # (b c (rows high) (columns wide)) -> (b (rows columns) (high wide c))
        split = changed.reshape(len(vectors), channels, rows, high, columns, wide).permute(0, 2, 4, 3, 5, 1)
        return super().blanked(torch.cat([split.reshape(levels.shape), places], dim=2))


def convolutions(channels: int, made: int, patch: int) -> nn.Module:
    """Strided convolutions that map each patch to one vector.

    Args:
        channels: the channels of the picture.
        made: the channels of the result.
        patch: the side of a patch in pixels.

    Example:
        >>> convolutions(3, 64, patch=4)(torch.zeros(1, 3, 32, 32)).shape
        torch.Size([1, 64, 8, 8])

    Source: Xiao et al. 2021 (arXiv 2106.14881), section 4.
    """
    steps = []
    while patch > 1:
        # Each step halves the size; an odd rest is done in one step.
        steps.append(2 if patch % 2 == 0 else patch)
        patch //= steps[-1]
    widths = [channels, *(made // 2 or 1 for _ in steps[:1]), *(made for _ in steps)]
    layers: list[nn.Module] = []
    for step, have, width in zip(steps, widths, widths[1:], strict=False):
        layers.append(nn.Conv2d(have, width, step + (step == 2), stride=step, padding=int(step == 2)))
        # Without normalisation, pictures that vary in much besides their class aren't learned at all.
        layers += [nn.GroupNorm(1, width), nn.GELU()]
    return nn.Sequential(*layers, nn.Conv2d(widths[len(steps)], made, 3, padding=1), nn.GELU())
