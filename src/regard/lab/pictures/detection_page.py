"""A page of what a detector finds and what its queries attend to."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from regard.inspection import watch
from regard.lab.pictures.detection import TRAINING, detect, train_detector
from regard.lab.pictures.detectors import GRID, QueryDetector
from regard.lab.pictures.digit_canvases import SIDE, Canvases, mnist_canvases
from regard.modules import Objects, box_corners
from regard.page import Block, Box, Page, Picture, Pictures, Prose
from regard.page.numbers import percent, probability

__all__ = ["detection_page", "query_weights", "show_detections"]

_SHOWN, _CLOSER, _COUNTED, _SURE = 6, 2, 200, 0.5


def detection_page(setting: Mapping[str, Any], seed: int, progress: str) -> Page:
    """Train a detector by object queries, with a setting as of `detector_scores`, and show what it does on dev."""
    given = {name: setting[name] for name in TRAINING}
    model = train_detector(seed=seed, **given, progress=progress)
    return show_detections(model.cpu(), mnist_canvases("dev", _COUNTED))


def show_detections(model: QueryDetector, canvases: Canvases) -> Page:
    """The detections on some canvases, what each query attended to, and which part of the canvas each query is for.

    Args:
        model: the detector, on the CPU.
        canvases: what it looks at.
    """
    objects, weights = query_weights(model, canvases.pixels)
    chances, labels = objects.scores.softmax(-1)[..., :-1].max(-1)
    pixels = canvases.pixels / 255
    blocks: list[Block] = [Prose(_told(objects, weights))]
    shown = [
        Picture.of(
            pixels[canvas],
            boxes=[_box(label, box, chance) for label, box, chance in zip(*detections, strict=True) if chance >= _SURE],
        )
        for canvas, detections in enumerate(detect(model, canvases.pixels[:_SHOWN]))
    ]
    blocks.append(Pictures("Detections with a probability of at least 50 %", tuple(shown)))
    for canvas in range(min(_CLOSER, len(canvases))):
        sure = (chances[canvas] >= _SURE).nonzero()[:, 0].tolist()
        pictures = [
            Picture.of(
                pixels[canvas],
                f"query {query + 1}",
                weights[canvas, query],
                [_box(labels[canvas, query], objects.boxes[canvas, query], chances[canvas, query])],
            )
            for query in sure
        ]
        none = [query for query in range(chances.shape[1]) if query not in sure]
        pictures += (
            [Picture.of(pixels[canvas], f"query {none[0] + 1}: no object", weights[canvas, none[0]])] if none else []
        )
        title = f"What the queries attend to on canvas {canvas + 1}, on average over the heads of the last layer"
        blocks.append(Pictures(title, tuple(pictures)))
    blocks.append(
        Pictures(f"Where each query finds its digits on {len(canvases)} canvases", tuple(_places(objects, chances)))
    )
    return Page("A detector by object queries", tuple(blocks))


def query_weights(model: QueryDetector, pixels: Tensor) -> tuple[Objects, Tensor]:
    """What the queries find, and the weights (canvas, query, row, column) with which they attend in the last layer.

    Example:
        >>> found, weights = query_weights(QueryDetector().eval(), torch.zeros(2, 64, 64, dtype=torch.uint8))
        >>> weights.shape
        torch.Size([2, 10, 8, 8])
    """
    with torch.no_grad(), watch(model) as seen:
        objects = model(pixels)[-1]
    last = [layer for layer in seen if layer.name.endswith("source_attention")][-1]
    return objects, last.weights().mean(1).unflatten(-1, (GRID, GRID))


def _box(label: Tensor, box: Tensor, chance: Tensor) -> Box:
    left, top, right, bottom = (SIDE * box_corners(box)).tolist()
    return Box(left, top, right, bottom, f"{int(label)} {probability(float(chance))}")


def _told(objects: Objects, weights: Tensor) -> str:
    """How much of the weight lies in a query's own box, beside how much of the canvas the box is."""
    sure = objects.scores.softmax(-1)[..., :-1].amax(-1) >= _SURE
    left, top, right, bottom = (GRID * box_corners(objects.boxes)).unbind(-1)
    at = torch.arange(GRID)

    def covered(low: Tensor, high: Tensor) -> Tensor:
        """The part of each row or column of cells that the boxes cover."""
        return (high[..., None].minimum(at + 1.0) - low[..., None].maximum(at.float())).clamp(0, 1)

    # (canvas query row 1) x (canvas query 1 column)
    inside = covered(top, bottom)[..., :, None] * covered(left, right)[..., None, :]
    if not sure.any():
        return f"On {len(sure)} canvases no query is sure of a digit."
    in_box = float((weights * inside).sum((-2, -1))[sure].mean())
    area = float(inside.mean((-2, -1))[sure].mean())
    return (
        f"A query that found a digit has {percent(in_box)} of its weight in the cells of its own box, on average over "
        f"{int(sure.sum()):,} digits on {len(sure)} canvases. The box is {percent(area)} of the canvas."
    )


def _places(objects: Objects, chances: Tensor) -> list[Picture]:
    """For each query the parts of its boxes whose middles lie in each cell, over an empty canvas."""
    pictures = []
    for query in range(chances.shape[1]):
        middles = (objects.boxes[:, query, :2][chances[:, query] >= _SURE] * GRID).long().clamp(0, GRID - 1)
        counts = torch.zeros(GRID, GRID)
        counts.index_put_((middles[:, 1], middles[:, 0]), torch.ones(len(middles)), accumulate=True)
        caption = f"query {query + 1}: {len(middles)} digits"
        pictures.append(Picture.of(torch.zeros(SIDE, SIDE), caption, counts / max(len(middles), 1)))
    return pictures
