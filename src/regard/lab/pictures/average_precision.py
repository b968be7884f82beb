"""Average precision: how well detections with scores rank before false ones, at one overlap or over several."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.modules import iou

__all__ = ["OVERLAPS", "Detections", "average_precision"]

OVERLAPS = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))
"""The overlaps over which COCO takes the mean."""


class Detections(NamedTuple):
    """What a detector found on a picture, or what is on it (with any scores).

    Args:
        labels: the class of each.
        boxes: (x, y, width, height).
        scores: how sure each one is.
    """

    labels: Int[Tensor, " box"]
    boxes: Float[Tensor, "box 4"]
    scores: Float[Tensor, " box"]


def average_precision(
    predicted: Sequence[Detections], true: Sequence[Detections], overlaps: Sequence[float] = OVERLAPS
) -> float:
    """The mean over classes and overlaps of the area under the curve of precision by recall.

    From the highest score on, a detection is correct if its IoU with a true box of its class on its picture is at least
    the overlap. Of several that have the same best box, the first is correct and the others are false, as in PASCAL;
    COCO gives each of them the best box that is still free. Precision at a recall is the highest at that recall or
    beyond, at all points (not at 101 as in COCO's own code). Classes without a true box don't count.

    Args:
        predicted: the detections of each picture.
        true: what is there.
        overlaps: the least IoU of a correct detection; (0.5,) gives AP50.

    Source: Everingham et al. 2010, The PASCAL visual object classes challenge, section 4.2; Lin et al. 2014
        (arXiv 1405.0312), the mean over overlaps.

    Example:
        >>> box = torch.tensor([[0.5, 0.5, 0.2, 0.2]])
        >>> there = Detections(torch.tensor([7]), box, torch.ones(1))
        >>> twice = Detections(torch.tensor([7, 7]), torch.cat([box + 0.1, box]), torch.tensor([0.9, 0.8]))
        >>> average_precision([there], [there]), average_precision([twice], [there])
        (1.0, 0.5)
    """
    classes = sorted({int(label) for objects in true for label in objects.labels})
    counts = {label: sum(int((objects.labels == label).sum()) for objects in true) for label in classes}
    labels, scores, best, overlapping = _best(predicted, true)
    areas = []
    for label in classes:
        of_class = np.nonzero(labels == label)[0]
        of_class = of_class[np.argsort(-scores[of_class], kind="stable")]
        for overlap in overlaps:
            enough = np.nonzero(overlapping[of_class] >= overlap)[0]
            # Of the detections of one true box, the first in the order of scores.
            _, first = np.unique(best[of_class[enough]], return_index=True)
            correct = np.zeros(len(of_class), bool)
            correct[enough[first]] = True
            areas.append(_area(correct, counts[label]))
    return float(np.mean(areas)) if areas else 0.0


def _best(
    predicted: Sequence[Detections], true: Sequence[Detections]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of all detections the labels, the scores, the true box of their class that they overlap most, and by how much."""
    parts, before = [], 0
    for detections, objects in zip(predicted, true, strict=True):
        if len(detections.labels) and len(objects.labels):
            overlapping = iou(detections.boxes[:, None], objects.boxes[None])
            most = overlapping.masked_fill(detections.labels[:, None] != objects.labels[None], -1.0).max(1)
            parts.append((detections.labels, detections.scores, before + most.indices, most.values))
        else:
            parts.append(
                (
                    detections.labels,
                    detections.scores,
                    detections.labels,
                    detections.scores.new_full((len(detections.labels),), -1.0),
                )
            )
        before += len(objects.labels)
    if not parts:
        return np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0)
    labels, scores, best, overlapping = (torch.cat(tensors).numpy() for tensors in zip(*parts, strict=True))
    return labels, scores, best, overlapping


def _area(correct: np.ndarray, count: int) -> float:
    """The area under precision by recall, where precision never rises again.

    Args:
        correct: whether each detection is, from the highest score on.
        count: the number of true boxes.
    """
    if not len(correct):
        return 0.0
    precision = np.cumsum(correct) / np.arange(1, len(correct) + 1)
    highest = np.maximum.accumulate(precision[::-1])[::-1]
    # The recall grows by 1 / count at each correct detection.
    return float(highest[correct].sum() / count)
