"""Train a detector of digits, and measure what it finds."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any

import torch
from jaxtyping import Num
from torch import Tensor, nn

from regard.attention.validation import check_count, check_non_negative
from regard.errors import DivergedError, UnknownNameError
from regard.lab.pictures.average_precision import Detections, average_precision
from regard.lab.pictures.detectors import DETECTORS
from regard.lab.pictures.digit_canvases import Canvases, mnist_canvases
from regard.modules import Objects, iou
from regard.progress import progress_over
from regard.tasks.training.compute import choose_accelerator

__all__ = ["TRAINING", "detect", "detector_scores", "duplicates", "suppress", "train_detector", "true_objects"]

_EPOCH, _BATCH, _WARM_UP, _CLIP = 3200, 32, 100, 1.0
TRAINING = ("detector", "epochs", "learning_rate")


def detector_scores(setting: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Train a detector, and measure it.

    Args:
        setting: `detector`, `epochs` and `learning_rate` as in `train_detector`; the `split` of MNIST that is measured
            and the number of `canvases`.
        seed: of the training. The canvases that are measured are the same for all seeds.

    Returns:
        the average precision over all overlaps, "AP", and at an overlap of a half, "AP50"; the "duplicates" of a canvas
        and the number of parameters.
    """
    model = train_detector(seed=seed, **{name: setting[name] for name in TRAINING})
    canvases = mnist_canvases(setting["split"], setting["canvases"])
    found, true = detect(model, canvases.pixels), true_objects(canvases)
    return {
        "AP": average_precision(found, true),
        "AP50": average_precision(found, true, (0.5,)),
        "duplicates": duplicates(found),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }


def train_detector(
    detector: str,
    seed: int,
    *,
    epochs: int,
    learning_rate: float,
    device: str = "auto",
    progress: str = "none",
) -> Any:
    """Train a detector on canvases of MNIST's training digits: 3,200 new ones in each epoch, 32 in each step.

    Args:
        detector: a name in `DETECTORS`.
        seed: of the weights and the canvases.
        epochs: their number.
        learning_rate: of AdamW, after a warm-up; it falls to 0 along a cosine.
        device: as in `regard.train`: "cpu", "gpu", or "auto": a GPU if there is one.
        progress: as in `regard.train`: "bar", "lines", "none", or "auto": a bar on a terminal, else lines.

    Raises:
        UnknownNameError: there is no such detector or progress.
        ArgumentError: a number is out of its range.
        DivergedError: the loss isn't finite any more.
        DataError: MNIST isn't there; says how to get it.
    """
    if detector not in DETECTORS:
        raise UnknownNameError("detector", detector, DETECTORS)
    check_count("seed", seed, "an integer", least=0)
    check_count("epochs", epochs, "how many epochs it is trained for")
    check_non_negative("learning_rate", learning_rate)
    torch.manual_seed(seed)
    device = choose_accelerator(device)
    model = DETECTORS[detector]().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=1e-4)
    steps = epochs * (_EPOCH // _BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / _WARM_UP) * (1 + math.cos(math.pi * step / steps)) / 2
    )
    with progress_over(islice(_batches(seed, device), steps), steps, progress) as batches:
        for number, (pixels, labels, boxes) in enumerate(batches, start=1):
            optimizer.zero_grad()
            predicted = model(pixels)
            # Nothing can be assigned to what isn't finite.
            loss = model.loss(predicted, labels, boxes) if _finite(predicted) else torch.tensor(math.nan)
            if not loss.isfinite():
                raise DivergedError(
                    f"the loss became {loss.item()} in step {number}",
                    f"Try a smaller `learning_rate` than {learning_rate}.",
                )
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), _CLIP)
            optimizer.step()
            schedule.step()
    return model.eval()


def _finite(predicted: Sequence[Objects]) -> bool:
    return all(bool(tensor.isfinite().all()) for objects in predicted for tensor in objects)


def _batches(seed: int, device: str) -> Iterator[tuple[Tensor, ...]]:
    """Endless batches of new canvases."""
    for epoch in count():
        # Seeds of different runs and epochs never meet.
        canvases = mnist_canvases("train", _EPOCH, 1 + seed + 1000 * epoch)
        for at in range(0, _EPOCH, _BATCH):
            part = slice(at, at + _BATCH)
            yield tuple(tensor[part].to(device) for tensor in (canvases.pixels, canvases.labels, canvases.boxes))


@torch.no_grad()
def detect(model: Any, pixels: Num[Tensor, "canvas row column"]) -> list[Detections]:
    """The detections on each canvas: of each query or cell the most probable digit, however improbable it is.

    Boxes that overlap with a better one by more than the detector's `overlap` are left out.
    """
    device = next(model.parameters()).device
    predicted = [model(part.to(device))[-1] for part in pixels.split(500)]
    scores, labels = torch.cat([objects.scores for objects in predicted]).softmax(-1)[..., :-1].max(-1)
    boxes = torch.cat([objects.boxes for objects in predicted])
    by_canvas = zip(labels.cpu(), boxes.cpu(), scores.cpu(), strict=True)
    return [suppress(Detections(*canvas), model.overlap) for canvas in by_canvas]


def suppress(found: Detections, overlap: float) -> Detections:
    """Non-maximum suppression: the best detections, none of which overlaps by more than `overlap` with a better one.

    Example:
        >>> boxes = torch.tensor([[0.5, 0.5, 0.2, 0.2], [0.51, 0.5, 0.2, 0.2], [0.1, 0.1, 0.2, 0.2]])
        >>> found = Detections(torch.tensor([3, 5, 7]), boxes, torch.tensor([0.6, 0.9, 0.2]))
        >>> suppress(found, 0.5).labels.tolist()
        [5, 7]
    """
    order = found.scores.argsort(descending=True, stable=True)
    if overlap >= 1:
        return Detections(*(tensor[order] for tensor in found))
    overlapping = iou(found.boxes[order][:, None], found.boxes[order][None]).tolist()
    kept: list[int] = []
    for number, row in enumerate(overlapping):
        if all(row[better] <= overlap for better in kept):
            kept.append(number)
    return Detections(*(tensor[order[kept]] for tensor in found))


def true_objects(canvases: Canvases) -> list[Detections]:
    """What is on each canvas."""
    return [
        Detections(labels[labels >= 0], boxes[labels >= 0], boxes.new_ones(int((labels >= 0).sum())))
        for labels, boxes in zip(canvases.labels, canvases.boxes, strict=True)
    ]


def duplicates(found: Sequence[Detections], *, least: float = 0.5, overlap: float = 0.5) -> float:
    """How many detections of a canvas overlap with a better one, on average, of those with a score of at least `least`.

    Example:
        >>> boxes = torch.tensor([[0.5, 0.5, 0.2, 0.2], [0.51, 0.5, 0.2, 0.2], [0.1, 0.1, 0.2, 0.2]])
        >>> duplicates([Detections(torch.tensor([3, 5, 7]), boxes, torch.tensor([0.6, 0.9, 0.2]))])
        1.0
    """
    sure = [Detections(*(tensor[canvas.scores >= least] for tensor in canvas)) for canvas in found]
    return sum(len(canvas.labels) - len(suppress(canvas, overlap).labels) for canvas in sure) / max(len(sure), 1)
