"""A picture as a set of vectors: one for each pixel, or for each square patch of pixels."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int64, Shaped
from torch import Tensor
from torch.nn.functional import interpolate, pad

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs.picture import CHANNELS
from regard.inputs.saved import Saved

__all__ = ["PictureVectors"]

_LARGEST_PATCH = 1024
_LONGEST_SIDE = 8192


@dataclass(frozen=True)
class PictureVectors(Saved):
    """Turns a picture into vectors: one for each patch of `patch` x `patch` pixels, row by row.

    With a patch size of 1, a picture of 5 x 10 pixels in three colours is 50 vectors of 3. Within a vector the pixels
    are row by row, too, with the channels of a pixel next to each other. If `patch` doesn't divide a side, the last row
    or column of pixels is repeated at the bottom or at the right; nothing is cropped.

    A picture is a tensor or an array, (height, width, channel), or (height, width) if it is grey: floats from 0 to 1,
    or uint8 from 0 to 255.

    Args:
        patch: the side of a patch in pixels, 1 to 1,024.
        size: (height, width) in pixels that every picture is resized to first, up to 8,192 each: bilinear, antialiased,
            without preserving the aspect ratio. None keeps the size.
        channels: "grey" or "rgb".

    Raises:
        ArgumentError: an invalid value.

    Example:
        >>> picture = torch.arange(150).reshape(5, 10, 3) / 150
        >>> PictureVectors(channels="rgb").vectors(picture).shape
        torch.Size([50, 3])
        >>> in_patches = PictureVectors(patch=2, channels="rgb")
        >>> in_patches.grid(picture), in_patches.vectors(picture).shape
        ((3, 5), torch.Size([15, 12]))
        >>> PictureVectors.from_json(PictureVectors(size=(28, 28)).to_json())
        PictureVectors(patch=1, size=(28, 28), channels='grey')

    Source: the notes, 001 (pixels); A. Dosovitskiy et al., 2021, "An image is worth 16x16 words", section 3.1.
    """

    json_name: ClassVar[str] = "field"
    json_defaults: ClassVar[bool] = True

    patch: int = 1
    size: tuple[int, int] | None = None
    channels: str = "grey"

    def __post_init__(self) -> None:
        # `type` and not isinstance: True is an int.
        if type(self.patch) is not int or not 1 <= self.patch <= _LARGEST_PATCH:
            raise ArgumentError(f"`patch` must be an integer from 1 to {_LARGEST_PATCH:,}, but is {self.patch!r}.")
        size = self.size
        if size is not None and not (
            isinstance(size, tuple)
            and len(size) == 2
            and all(type(side) is int and 1 <= side <= _LONGEST_SIDE for side in size)
        ):
            raise ArgumentError(
                f"`size` must be (height, width), integers from 1 to {_LONGEST_SIDE:,}, or None, but is {size!r}."
            )
        if not isinstance(self.channels, str) or self.channels not in CHANNELS:
            raise UnknownNameError("channels", self.channels, CHANNELS)

    @property
    def width(self) -> int:
        """The size of a vector.

        Example:
            >>> PictureVectors(patch=4, channels="rgb").width
            48
        """
        return self.patch**2 * CHANNELS[self.channels]

    def vectors(self, picture: Shaped[Tensor, "..."] | np.ndarray) -> Float[Tensor, "item feature"]:
        """The vectors of a picture, row by row.

        Raises:
            ArgumentError: an invalid shape or dtype, no pixels, or floats out of range.
        """
        levels = self._levels(picture)
        if self.size is not None:
            # (h w c) -> (1 c h w) and back
            scaled = interpolate(levels.permute(2, 0, 1)[None], self.size, mode="bilinear", antialias=True)
            levels = scaled[0].permute(1, 2, 0).clamp(0, 1)
        rows, columns = self._grid(levels)
        below, beside = rows * self.patch - levels.shape[0], columns * self.patch - levels.shape[1]
        if below or beside:
            # (h w c) -> (c h w) and back
            levels = pad(levels.permute(2, 0, 1), (0, beside, 0, below), mode="replicate").permute(1, 2, 0)
        # ((rows p) (columns q) c) -> ((rows columns) (p q c))
        split = levels.unflatten(1, (columns, self.patch)).unflatten(0, (rows, self.patch))
        return split.transpose(1, 2).reshape(rows * columns, self.width)

    def grid(self, picture: Shaped[Tensor, "..."] | np.ndarray) -> tuple[int, int]:
        """The number of rows and columns of patches of a picture."""
        return self._grid(self._levels(picture))

    def positions(self, picture: Shaped[Tensor, "..."] | np.ndarray) -> Int64[Tensor, "item 2"]:
        """The row and column of each patch, counted from 0.

        Example:
            >>> PictureVectors().positions(torch.zeros(2, 2)).tolist()
            [[0, 0], [0, 1], [1, 0], [1, 1]]
        """
        rows, columns = self.grid(picture)
        return torch.cartesian_prod(*(torch.arange(size, device="cpu") for size in (rows, columns)))

    def to_picture(
        self, vectors: Float[Tensor, "item feature"], grid: tuple[int, int]
    ) -> Float[Tensor, "height width channel"]:
        """The picture of these vectors; the inverse of `vectors`.

        It has the size of all patches together: resized to `size`, and with the pixels that were repeated to fill the
        last patches.

        Args:
            vectors: one for each patch, row by row.
            grid: the number of rows and columns of patches, as from `grid`.

        Raises:
            ArgumentError: the number of vectors isn't that of the patches, or their width is another.
        """
        rows, columns = grid
        if rows < 1 or columns < 1 or tuple(vectors.shape) != (rows * columns, self.width):
            raise ArgumentError(
                f"`vectors` must be one of {self.width} numbers for each patch of the grid of {rows} x {columns}, but "
                f"the shape is {tuple(vectors.shape)}."
            )
        # ((rows columns) (p q c)) -> ((rows p) (columns q) c)
        split = vectors.reshape(rows, columns, self.patch, self.patch, CHANNELS[self.channels])
        return split.transpose(1, 2).reshape(rows * self.patch, columns * self.patch, CHANNELS[self.channels])

    def _grid(self, levels: Float[Tensor, "height width channel"]) -> tuple[int, int]:
        height, width = self.size or levels.shape[:2]
        return -(-height // self.patch), -(-width // self.patch)

    def _levels(self, picture: Shaped[Tensor, "..."] | np.ndarray) -> Float[Tensor, "height width channel"]:
        """The picture as float32 from 0 to 1, checked."""
        wanted = CHANNELS[self.channels]
        shape = tuple(picture.shape)
        if (shape[2:] != (wanted,) and not (len(shape) == 2 and wanted == 1)) or 0 in shape:
            raise ArgumentError(
                f"`picture` must be (height, width, {wanted}){' or (height, width)' * (wanted == 1)} for "
                f"channels={self.channels!r}, but its shape is {shape}. "
                "(channel, height, width) is turned by permute(1, 2, 0); `channels` says grey or rgb."
            )
        if isinstance(picture, np.ndarray) and (picture.dtype == np.uint8 or picture.dtype.kind == "f"):
            # A copy: arrays may be read-only or of another byte order, which tensors can't be.
            picture = torch.from_numpy(picture.astype(np.uint8 if picture.dtype == np.uint8 else np.float32))
        if not isinstance(picture, Tensor) or not (picture.dtype == torch.uint8 or picture.is_floating_point()):
            raise ArgumentError(f"`picture` must be floats from 0 to 1, or uint8, but is {picture.dtype}.")
        # A copy, so that changing the vectors doesn't change the picture.
        picture = picture.float() / 255 if picture.dtype == torch.uint8 else picture.to(torch.float32, copy=True)
        # Comparisons with NaN are false, so NaN is refused, too.
        if not ((picture >= 0) & (picture <= 1)).all():
            raise ArgumentError(
                f"`picture` must lie between 0 and 1, but reaches from {float(picture.min()):g} to "
                f"{float(picture.max()):g}. Divide levels up to 255 by 255."
            )
        return picture.reshape(*shape[:2], wanted)
