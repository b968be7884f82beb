"""Multi-scale deformable attention, as transformers' detectors have it: each query samples a few points of pictures.

A point lies between four pixels, whose values are mixed by its distance to them. So each pixel has a weight: the sum
over points of the point's weight times the pixel's share in it. Points outside of a picture have none.
"""

import inspect
from typing import Any

import torch
from torch import Tensor

from regard.attention import Dot
from regard.inspection.capture.by_hand.rules import AsScores
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.layers.sampled import Sampled

__all__ = ["READERS", "pixels_of", "read"]


def read(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> AttentionCall:
    """The call that a layer was: from queries to the pixels of all levels, one behind the other.

    Source: Zhu et al. 2021, Deformable DETR (arXiv 2010.04159), equation 3.
    """
    given = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    # (batch length head feature) -> (batch head length feature)
    value = given["value"].transpose(1, 2)
    sizes = [(int(height), int(width)) for height, width in given["value_spatial_shapes_list"]]
    # (batch query head level point [2]) -> (batch head query level point [2])
    points, weights = (given[name].transpose(1, 2) for name in ("sampling_locations", "attention_weights"))
    batch, heads, queries = points.shape[:3]
    found, first = [], 0
    for level, (height, width) in enumerate(sizes):
        places, shares = pixels_of(points[..., level, :, :].float(), height, width)
        found.append((places + first, shares * weights[..., level, :, None].float()))
        first += height * width
    places, shares = (torch.cat([each.flatten(-2) for each in parts], -1) for parts in zip(*found, strict=True))
    nothing = value.new_zeros(batch, heads, 1, 1)
    return AttentionCall(
        type(module).__name__,
        nothing.expand(-1, -1, queries, -1),
        nothing.expand(-1, -1, value.shape[2], -1),
        value,
        {"score": Dot(), "weights": AsScores(), "mask": None, "position": Sampled(places, shares)},
        0.0,
        returned=lambda outputs: outputs.transpose(1, 2).flatten(2).to(result.dtype),
        outputs=lambda given, rows: given[:, rows].unflatten(-1, (heads, -1)).transpose(1, 2),
        notes=["Each query has weights for the pixels around the points that it samples."],
    )


def pixels_of(points: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """The four pixels around each point, by their numbers row by row, and their shares; a share outside is 0.

    Args:
        points: (..., 2), the part of the width and of the height at which they lie, from 0 to 1.
        height, width: the size of the picture.

    Example:
        >>> pixels_of(torch.tensor([0.5, 0.75]), 2, 2)
        (tensor([2, 3, 2, 3]), tensor([0.5000, 0.5000, 0.0000, 0.0000]))
    """
    # Pixels are squares whose centres lie between whole numbers.
    x, y = points[..., 0] * width - 0.5, points[..., 1] * height - 0.5
    left, top = x.floor(), y.floor()
    places, shares = [], []
    for down in (0, 1):
        for right in (0, 1):
            column, row = left + right, top + down
            share = (1 - (x - column).abs()) * (1 - (y - row).abs())
            inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
            shares.append(torch.where(inside, share, 0.0))
            places.append((row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).long())
    return torch.stack(places, -1), torch.stack(shares, -1)


_FAMILIES = ("deformable_detr", "grounding_dino", "lw_detr", "mm_grounding_dino", "omdet_turbo", "pp_doclayout_v2")
_FAMILIES += ("pp_doclayout_v3", "pp_doclayout_v4", "rf_detr", "rt_detr")

READERS = {
    (f"transformers.models.{family}.modeling_{family}", "MultiScaleDeformableAttention"): read for family in _FAMILIES
}
