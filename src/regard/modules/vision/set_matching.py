"""Set prediction: the best assignment of predicted objects to true ones, and the loss that follows from it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from regard.attention.validation import check_non_negative, check_number, check_tensor, integer_tensor
from regard.errors import ArgumentError
from regard.extras import require
from regard.modules.vision.boxes import generalised_iou

__all__ = ["Matches", "Objects", "SetLoss", "match_sets"]


class Objects(NamedTuple):
    """A set of predicted objects, in no order.

    Args:
        scores: of each class before the softmax; the last one is "no object".
        boxes: (x, y, width, height), as in `regard.modules.vision.boxes`.
    """

    scores: Float[Tensor, "batch query class"]
    boxes: Float[Tensor, "batch query 4"]


class Matches(NamedTuple):
    """Pairs of a predicted and a true object.

    Args:
        item: the number of the batch's item that a pair belongs to.
        query: the number of the predicted object.
        target: the number of the true object.
    """

    item: Int[Tensor, " pair"]
    query: Int[Tensor, " pair"]
    target: Int[Tensor, " pair"]


def match_sets(cost: Float[Tensor, "batch query target"], counts: Sequence[int]) -> Matches:
    """The one-to-one assignment of least total cost, for each item of a batch (the Hungarian algorithm).

    Args:
        cost: of each pair.
        counts: how many of the targets are real, for each item; the first ones are.

    Returns:
        a pair for each real target, or for each query if there are fewer of them.

    Raises:
        ArgumentError: `cost` hasn't three axes, `counts` aren't integers or don't fit it, or a cost isn't finite.
        MissingExtraError: SciPy is not installed.

    Source: Carion et al. 2020 (arXiv 2005.12872), equation 1; Kuhn 1955.

    Example:
        >>> cost = torch.tensor([[[1.0, 2.0], [3.0, 9.0], [8.0, 8.0]]])
        >>> match_sets(cost, [2])
        Matches(item=tensor([0, 0]), query=tensor([0, 1]), target=tensor([1, 0]))
    """
    check_tensor("cost", cost, "(batch, query, target)", (3,))
    counts = integer_tensor(counts, "counts", "match_sets", "an integer for each item", (1,)).tolist()
    if len(counts) != len(cost) or any(not 0 <= count <= cost.shape[2] for count in counts):
        raise ArgumentError(
            f"`counts` must be {len(cost)} numbers of targets from 0 to {cost.shape[2]}, but is {[*counts]!r:.60}."
        )
    if not cost.isfinite().all():
        raise ArgumentError("`cost` must be finite, but isn't. Training diverged; try a smaller learning rate.")
    assign: Any = require("scipy.optimize", extra="train").linear_sum_assignment
    values = cost.detach().to("cpu", torch.float64).numpy()
    items, queries, targets = [], [], []
    for item, count in enumerate(counts):
        rows, columns = assign(values[item, :, :count])
        items += [item] * len(rows)
        queries += rows.tolist()
        targets += columns.tolist()
    return Matches(*(torch.tensor(each, dtype=torch.long, device=cost.device) for each in (items, queries, targets)))


@dataclass(frozen=True)
class SetLoss:
    """The loss of predicted sets: each true object is compared with the predicted one that is assigned to it.

    Assigned predictions are trained to give the class and the box of their object, all others to give "no object". The
    loss of a box is its L1 distance and 1 - its generalised IoU. The classes are averaged with the weights 1 and
    `no_object`, the boxes over all true objects of the batch, also those that no prediction is left for. The loss
    doesn't depend on the order of the queries or of the targets, and is 0 for an empty batch.

    Args:
        box: the coefficient of the L1 distance of the boxes.
        overlap: the coefficient of 1 - generalised IoU.
        no_object: the weight of the predictions without an object, above 0. With 1, they dominate, as they are most.

    Raises:
        ArgumentError: a coefficient is negative, or `no_object` isn't above 0.

    Source: Carion et al. 2020 (arXiv 2005.12872), equations 1 and 2, and sections A.2 and A.4 for the coefficients.

    Example:
        >>> scores = torch.tensor([[[9.0, 0.0, 0.0], [0.0, 0.0, 9.0]]])
        >>> boxes = torch.tensor([[[0.5, 0.5, 0.2, 0.2], [0.1, 0.1, 0.1, 0.1]]])
        >>> labels = torch.tensor([[0]])
        >>> float(SetLoss()(Objects(scores, boxes), labels, boxes[:, :1])) < 0.01
        True
    """

    box: float = 5.0
    overlap: float = 2.0
    no_object: float = 0.1

    def __post_init__(self) -> None:
        check_non_negative("box", self.box)
        check_non_negative("overlap", self.overlap)
        check_number("no_object", self.no_object)
        # With 0, a batch without objects would have no weight at all.
        if not 0 < self.no_object < math.inf:
            raise ArgumentError(f"`no_object` must be a number above 0, but is {self.no_object}.")

    def __call__(
        self,
        objects: Objects,
        labels: Int[Tensor, "batch target"],
        boxes: Float[Tensor, "batch target 4"],
        matches: Matches | None = None,
    ) -> Tensor:
        """The loss of a batch.

        Args:
            objects: the predictions.
            labels: the class of each true object; -1 after the last one of an item.
            boxes: their boxes; what stands after the last one of an item doesn't count.
            matches: which prediction is assigned to which object; None: the assignment of least cost.

        Raises:
            ArgumentError: the shapes don't fit each other, a label isn't a class or stands after a -1, a box isn't
                finite, or a match isn't of a prediction and a true object.
        """
        labels = _checked_labels(objects, labels, boxes)
        classes = objects.scores.shape[2] - 1
        if not objects.scores.numel():
            return objects.scores.sum() + objects.boxes.sum()  # 0, with gradients
        if matches is None:
            matches = self.match(objects, labels, boxes)
        else:
            _check_matches(matches, objects, labels)
        wanted = labels.new_full(objects.scores.shape[:2], classes)
        wanted[matches.item, matches.query] = labels[matches.item, matches.target]
        weights = objects.scores.new_ones(classes + 1)
        weights[-1] = self.no_object
        loss = cross_entropy(objects.scores.flatten(0, 1), wanted.flatten(), weights)
        found, true = objects.boxes[matches.item, matches.query], boxes[matches.item, matches.target]
        distances = self.box * (found - true).abs().sum() + self.overlap * (1 - generalised_iou(found, true)).sum()
        return loss + distances / max(int((labels >= 0).sum()), 1)

    @torch.no_grad()
    def match(
        self, objects: Objects, labels: Int[Tensor, "batch target"], boxes: Float[Tensor, "batch target 4"]
    ) -> Matches:
        """The assignment of least cost: the loss of the boxes, minus the probability of the class.

        Raises:
            ArgumentError: as of a call.
        """
        labels = _checked_labels(objects, labels, boxes)
        real = labels >= 0
        chances = objects.scores.softmax(-1)
        index = labels.clamp(min=0)[:, None].expand(-1, chances.shape[1], -1)
        found, true = objects.boxes[:, :, None], boxes[:, None]
        distance = self.box * (found - true).abs().sum(-1) - self.overlap * generalised_iou(found, true)
        cost = (distance - chances.gather(2, index)).masked_fill(~real[:, None], 0.0)
        return match_sets(cost, real.sum(1).tolist())


def _checked_labels(objects: Objects, labels: Any, boxes: Any) -> Tensor:
    """The labels, if they and the boxes can be compared with the predictions.

    Raises:
        ArgumentError: they can't.
    """
    check_tensor("scores", objects.scores, "(batch, query, class)", (3,))
    check_tensor("boxes", objects.boxes, "(batch, query, 4)", (3,))
    batch, queries, classes = objects.scores.shape
    if objects.boxes.shape != (batch, queries, 4):
        raise ArgumentError(
            f"`boxes` of the predictions must be {(batch, queries, 4)}, as there are {queries} for each of {batch} "
            f"items, but are {tuple(objects.boxes.shape)}."
        )
    labels = integer_tensor(labels, "labels", "SetLoss", "integers (batch, target)", (2,))
    check_tensor("boxes", boxes, "(batch, target, 4)", (3,))
    if len(labels) != batch:
        raise ArgumentError(f"`labels` must be of the {batch} items of the predictions, but are of {len(labels)}.")
    if boxes.shape != (*labels.shape, 4):
        raise ArgumentError(
            f"`boxes` must be {(*labels.shape, 4)}, four numbers for each label, but are {tuple(boxes.shape)}."
        )
    wrong = labels[(labels < -1) | (labels >= classes - 1)]
    if len(wrong):
        raise ArgumentError(f"`labels` must be from 0 to {classes - 2}, or -1 for none, but one is {int(wrong[0])}.")
    real = labels >= 0
    if (real[:, 1:] & ~real[:, :-1]).any():
        raise ArgumentError("`labels` must be -1 only after the last object of an item, but isn't.")
    if not boxes[real].isfinite().all():
        raise ArgumentError("`boxes` must be finite for all objects, but aren't.")
    return labels


def _check_matches(matches: Matches, objects: Objects, labels: Tensor) -> None:
    item, query, target = (
        integer_tensor(each, "matches", "SetLoss", "three lists of integers", (1,)) for each in matches
    )
    if not len(item) == len(query) == len(target):
        raise ArgumentError(
            f"`matches` must be an item, a query and a target for each pair, but are {len(item)}, {len(query)} and "
            f"{len(target)} of them."
        )
    sizes = (*objects.scores.shape[:2], labels.shape[1])
    for name, numbers, size in zip(Matches._fields, (item, query, target), sizes, strict=True):
        wrong = numbers[(numbers < 0) | (numbers >= size)]
        if len(wrong):
            raise ArgumentError(f"`{name}` of `matches` must be from 0 to {size - 1}, but one is {int(wrong[0])}.")
    if (labels[item, target] < 0).any():
        raise ArgumentError("`target` of `matches` must be numbers of true objects, but the label of one is -1.")
