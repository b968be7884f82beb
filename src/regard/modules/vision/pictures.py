"""Attention over pictures: every pixel is a vector of its channels, and each head has a group of channels."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.positional_encodings import PositionalEncoding
from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.modules.attention import MultiHeadAttention

__all__ = ["ChannelAttention", "GridPositions", "to_picture", "to_vectors"]


def to_vectors(picture: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch pixel channel"]:
    """A picture as a set of vectors, row by row: one of 5 x 10 pixels with three colours is 50 vectors of 3.

    Source: the notes, 001.

    Example:
        >>> import torch
        >>> to_vectors(torch.zeros(1, 3, 5, 10)).shape
        torch.Size([1, 50, 3])
    """
    return picture.flatten(2).transpose(1, 2)


def to_picture(
    vectors: Float[Tensor, "batch pixel channel"], height: int, width: int
) -> Float[Tensor, "batch channel height width"]:
    """The picture of these vectors; the inverse of `to_vectors`.

    Raises:
        ArgumentError: the number of vectors isn't the number of pixels.
    """
    if vectors.shape[1] != height * width:
        raise ArgumentError(
            f"`vectors` must be one for each of {height} x {width} = {height * width} pixels, but are "
            f"{vectors.shape[1]}."
        )
    return vectors.transpose(1, 2).unflatten(2, (height, width))


class GridPositions(PositionalEncoding):
    """Adds to the vectors of a grid, row by row, a learned vector for each row and one for each column, concatenated.

    Not inductive, and data-driven, as `Learned`.

    Args:
        width: the size of the vectors; an even number.
        rows, columns: those of the grid.

    Raises:
        ArgumentError: `width` is odd, or the vectors aren't those of the grid.

    Source: Carion et al. 2020 (arXiv 2005.12872), section A.4, spatial positional encoding, with learned vectors.

    Example:
        >>> GridPositions(8, rows=3, columns=5)(torch.zeros(2, 15, 8)).shape
        torch.Size([2, 15, 8])
    """

    inductive, data_driven = False, True

    def __init__(self, width: int, rows: int, columns: int):
        super().__init__(width)
        if width % 2:
            raise ArgumentError(f"`width` must be even, half for the row and half for the column, but is {width}.")
        check_count("rows", rows, "the number of rows")
        check_count("columns", columns, "the number of columns")
        self.rows = nn.Parameter(torch.empty(rows, width // 2))
        self.columns = nn.Parameter(torch.empty(columns, width // 2))
        for each in (self.rows, self.columns):
            nn.init.normal_(each)

    def encode(self, length: int | torch.SymInt) -> Float[Tensor, "length width"]:
        rows, columns = len(self.rows), len(self.columns)
        if length != rows * columns:
            raise ArgumentError(f"`vectors` must be {rows} x {columns} = {rows * columns}, but are {length}.")
        # (row feature), (column feature) -> ((row column) (2 feature))
        pairs = self.rows[:, None].expand(-1, columns, -1), self.columns[None].expand(rows, -1, -1)
        return torch.cat(pairs, dim=-1).flatten(0, 1)


class ChannelAttention(nn.Module):
    """Multi-head attention over a picture [B, C, H, W]: the C channels are M heads of size C / M.

    Every pixel attends to every pixel. The outputs of the heads are concatenated to C channels again and mixed by one
    linear layer, so that the output has the shape of the input. With as many heads as channels, each channel is a head.

    Args:
        channels: the number of channels.
        heads: the number of groups that the channels are split into.
        **parts: as in `MultiHeadAttention`.

    Raises:
        ArgumentError: `heads` doesn't divide `channels`, or the input isn't a picture with that many channels.

    Source: the notes, 002 (multi-head attention, BCHW).

    Example:
        >>> import torch
        >>> ChannelAttention(6, heads=3)(torch.zeros(2, 6, 5, 7)).shape
        torch.Size([2, 6, 5, 7])
    """

    __call__: Callable[..., Tensor]  # that of nn.Module gives Any

    def __init__(self, channels: int, heads: int, **parts: Any):
        super().__init__()
        self.attention = MultiHeadAttention(channels, heads, **parts)

    def forward(self, picture: Tensor, *, mask: Any = None) -> Tensor:
        """The picture after every pixel attended to the others; `mask` counts pixels row by row."""
        channels = self.attention.query.in_features
        if picture.ndim != 4 or picture.shape[1] != channels:
            raise ArgumentError(
                f"`picture` must be (batch, {channels} channels, height, width), but is {tuple(picture.shape)}."
            )
        return to_picture(self.attention(to_vectors(picture), mask=mask), *picture.shape[2:])
