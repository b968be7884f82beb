"""Receptive fields of attention over a picture: how much weight each head gives to each offset from the query pixel."""

import torch
from torch import Tensor

from regard.attention.validation import check_count, check_tensor
from regard.errors import ArgumentError

__all__ = ["receptive_fields"]


def receptive_fields(weights: Tensor, query: Tensor, key: Tensor, *, reach: int = 3) -> Tensor:
    """The mean weight of each head by offset, key pixel minus query pixel, in a window around the query.

    The mean is over the queries that have a key at that offset, so that the edge of the picture doesn't fade. An offset
    that no query has a key at gets 0.

    Args:
        weights: (head, query, key), as `SeenLayer.weights` returns for one item.
        query: the row and column of each query, (query, 2), as integers.
        key: the row and column of each key, (key, 2).
        reach: how far the window reaches in each direction.

    Returns:
        (head, 2 reach + 1, 2 reach + 1). Entry [h, reach + r, reach + c] belongs to keys r rows below and c columns to
        the right of the query.

    Raises:
        ArgumentError: the sizes don't fit together, rows and columns aren't integers, or `reach` is negative.

    Source: Cordonnier et al. 2020 (arXiv 1911.03584), section 4, which draws them for heads of trained self-attention.

    Example:
        >>> from regard.inspection import watch
        >>> from regard.modules import ConvolutionAttention
        >>> layer = ConvolutionAttention.from_conv2d(torch.nn.Conv2d(1, 1, kernel_size=(1, 2)))
        >>> with watch(layer) as seen:
        ...     _ = layer(torch.zeros(1, 1, 4, 5))
        >>> receptive_fields(seen[0].weights()[0], *layer.pixels(4, 5), reach=1)[1].tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    check_tensor("weights", weights, "(head, query, key)", (3,))
    check_count("reach", reach, "a number of pixels", least=0)
    for name, pixels, count in (("query", query, weights.shape[1]), ("key", key, weights.shape[2])):
        check_tensor(name, pixels, f"({name}, 2)", (2,))
        if pixels.shape != (count, 2) or pixels.is_floating_point():
            raise ArgumentError(
                f"`{name}` must be the row and column of each {name}, integers ({count}, 2), but is {pixels.dtype} of "
                f"shape {tuple(pixels.shape)}. `torch.cartesian_prod` makes them for a picture."
            )
    side = 2 * reach + 1
    offset = key[None] - query[:, None] + reach
    inside = ((offset >= 0) & (offset < side)).all(-1)
    cell = offset[inside] @ offset.new_tensor([side, 1])
    pairs = torch.bincount(cell, minlength=side * side)
    sums = weights.new_zeros(len(weights), side * side).index_add(1, cell, weights.detach()[:, inside])
    return (sums / pairs.clamp(min=1)).unflatten(1, (side, side))
