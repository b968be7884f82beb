"""Detectors of digits: by object queries, and by a convolution that predicts at each cell of a grid."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor, nn

from regard.attention.masks import NoSelf
from regard.lab.pictures.digit_canvases import CLASSES
from regard.modules import Encoder, GridPositions, Matches, ObjectQueries, Objects, SetLoss, to_vectors
from regard.modules.vision.object_queries import BoxHead

__all__ = ["DETECTORS", "GRID", "GridDetector", "QueryDetector"]

GRID = 8
"""The rows and columns of the feature map, whose cells are the items that queries attend to."""

_WIDTH, _HEADS, _HIDDEN, _QUERIES = 64, 4, 128, 10


def _convolution(channels: int, width: int, stride: int) -> nn.Sequential:
    # With a kernel of 4, a cell of stride 2 sees as far to the left as to the right of its middle; with 3 it does not.
    layer = nn.Conv2d(channels, width, 4 if stride == 2 else 3, stride=stride, padding=1, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(width), nn.ReLU())


class _Backbone(nn.Sequential):
    """Convolutions from pixels (canvas, row, column) of 0 to 255 to a feature map of 8 x 8 cells."""

    def __init__(self) -> None:
        sizes = (1, 16, 32, _WIDTH)
        super().__init__(*(_convolution(*sizes[at : at + 2], stride=2) for at in range(3)))

    def forward(self, input: Num[Tensor, "canvas row column"]) -> Float[Tensor, "canvas width grid grid"]:
        return super().forward(input[:, None].float() / 255)


class QueryDetector(nn.Module):
    """DETR in small: a backbone, an encoder, and object queries.

    Args:
        together: whether the queries attend to each other; if not, each attends only to itself.
        no_object: as in `SetLoss`. With 10 queries instead of 100, 0.5 balances what the paper's 0.1 does.

    Source: Carion et al. 2020 (arXiv 2005.12872), figure 2.

    Example:
        >>> found = QueryDetector()(torch.zeros(2, 64, 64, dtype=torch.uint8))
        >>> found[-1].boxes.shape
        torch.Size([2, 10, 4])
    """

    overlap = 1.0

    def __init__(self, *, together: bool = True, no_object: float = 0.5):
        super().__init__()
        sizes: dict[str, Any] = {"layers": 2, "heads": _HEADS, "hidden": _HIDDEN}
        self.backbone = _Backbone()
        self.positions = GridPositions(_WIDTH, GRID, GRID)
        self.encoder = Encoder(_WIDTH, position=self.positions, **sizes)
        mask = None if together else ~NoSelf()
        self.finder = ObjectQueries(_WIDTH, _QUERIES, CLASSES, target_mask=mask, **sizes)
        self.set_loss = SetLoss(no_object=no_object)

    def forward(self, pixels: Num[Tensor, "canvas row column"]) -> list[Objects]:
        """The objects after each layer of the decoder, the last of which are the answer."""
        # The positions are added again, so that the queries can find them in the encoder's output.
        return self.finder(self.positions(self.encoder(to_vectors(self.backbone(pixels)))))

    def loss(self, predicted: Sequence[Objects], labels: Int[Tensor, "canvas digit"], boxes: Tensor) -> Tensor:
        """The sum over all layers of the decoder: the auxiliary losses of the paper's section 3.2."""
        return torch.stack([self.set_loss(objects, labels, boxes) for objects in predicted]).sum()


class GridDetector(nn.Module):
    """The convolutional baseline: the same backbone, more convolutions, and a prediction at each cell.

    The cell that the middle of a digit lies in has to find it. Several cells may find the same digit, so the best of
    overlapping boxes is chosen by `suppress`.

    Args:
        no_object: as in `SetLoss`.

    Source: Redmon et al. 2016 (arXiv 1506.02640), section 2, a class and a box for each cell.

    Example:
        >>> found = GridDetector()(torch.zeros(2, 64, 64, dtype=torch.uint8))
        >>> found[0].boxes.shape
        torch.Size([2, 64, 4])
    """

    overlap = 0.5

    def __init__(self, *, no_object: float = 0.1):
        super().__init__()
        self.backbone = _Backbone()
        # As many as give about the parameters of a `QueryDetector`.
        self.convolutions = nn.Sequential(*(_convolution(_WIDTH, _WIDTH, stride=1) for _ in range(4)))
        self.scores = nn.Linear(_WIDTH, CLASSES + 1)
        self.boxes = BoxHead(_WIDTH)
        self.set_loss = SetLoss(no_object=no_object)

    def forward(self, pixels: Num[Tensor, "canvas row column"]) -> list[Objects]:
        """The objects of all cells, row by row."""
        cells = to_vectors(self.convolutions(self.backbone(pixels)))
        inside, size = self.boxes(cells).sigmoid().split(2, dim=-1)
        at = torch.arange(GRID * GRID, device=cells.device)
        corner = torch.stack([at % GRID, at // GRID], dim=-1)
        return [Objects(self.scores(cells), torch.cat([(corner + inside) / GRID, size], dim=-1))]

    def loss(self, predicted: Sequence[Objects], labels: Int[Tensor, "canvas digit"], boxes: Tensor) -> Tensor:
        """The loss of sets, whose assignment is given by the cells."""
        canvas, target = (labels >= 0).nonzero(as_tuple=True)
        column, row = (boxes[canvas, target, :2] * GRID).long().clamp(max=GRID - 1).unbind(-1)
        return self.set_loss(predicted[0], labels, boxes, Matches(canvas, row * GRID + column, target))


DETECTORS = {
    "object queries": QueryDetector,
    "queries alone": lambda **others: QueryDetector(together=False, **others),
    "convolution": GridDetector,
}
"""The detectors by name."""
