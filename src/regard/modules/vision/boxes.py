"""Boxes on a picture, and how much they overlap.

A box is (x, y, width, height): the middle and the size, in parts of the picture's width and height.
"""

from jaxtyping import Float
from torch import Tensor, finfo, stack

__all__ = ["box_corners", "generalised_iou", "iou"]


def box_corners(boxes: Float[Tensor, "*box 4"]) -> Float[Tensor, "*box 4"]:
    """The left, upper, right and lower edges of boxes.

    Example:
        >>> import torch
        >>> box_corners(torch.tensor([0.5, 0.5, 0.5, 0.25]))
        tensor([0.2500, 0.3750, 0.7500, 0.6250])
    """
    x, y, width, height = boxes.unbind(-1)
    return stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], dim=-1)


def iou(one: Float[Tensor, "*#box 4"], other: Float[Tensor, "*#box 4"]) -> Float[Tensor, "*#box"]:
    """Intersection over union: the area that two boxes share, divided by the area that they cover together.

    Args:
        one, other: boxes, which are broadcast: iou(a[:, None], b[None]) compares all with all.

    Returns:
        from 0, apart, to 1, equal; 0 if both have no area, also if they are equal.

    Example:
        >>> import torch
        >>> iou(torch.tensor([0.25, 0.5, 0.5, 1.0]), torch.tensor([0.5, 0.5, 1.0, 1.0]))
        tensor(0.5000)
    """
    shared, union = _areas(one, other)
    return shared / _positive(union)


def generalised_iou(one: Float[Tensor, "*#box 4"], other: Float[Tensor, "*#box 4"]) -> Float[Tensor, "*#box"]:
    """Generalised intersection over union: IoU - (C - U) / C, with U the union and C the smallest box around both.

    Unlike IoU it has a gradient for boxes that lie apart: it grows as they come closer.

    Args:
        one, other: boxes, which are broadcast.

    Returns:
        from -1, far apart, to 1, equal; -1 for equal boxes without area.

    Source: Rezatofighi et al. 2019 (arXiv 1902.09630), algorithm 1.

    Example:
        >>> import torch
        >>> generalised_iou(torch.tensor([0.125, 0.5, 0.25, 1.0]), torch.tensor([0.875, 0.5, 0.25, 1.0]))
        tensor(-0.5000)
    """
    shared, union = _areas(one, other)
    first, second = box_corners(one), box_corners(other)
    size = first[..., 2:].maximum(second[..., 2:]) - first[..., :2].minimum(second[..., :2])
    around = _positive(size.prod(-1))
    return shared / _positive(union) - (around - union) / around


def _positive(area: Tensor) -> Tensor:
    """An area that can be divided by: boxes of any size have one, and only the smallest numbers are raised."""
    return area.clamp(min=finfo(area.dtype).tiny)


def _areas(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """The areas of the intersection and of the union."""
    first, second = box_corners(one), box_corners(other)
    size = first[..., 2:].minimum(second[..., 2:]) - first[..., :2].maximum(second[..., :2])
    shared = size.clamp(min=0).prod(-1)
    return shared, one[..., 2:].prod(-1) + other[..., 2:].prod(-1) - shared
