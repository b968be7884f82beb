"""What a change does to the attention of all layers: the weights with it beside those without it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inspection.capture.watch import record_calls
from regard.inspection.explain.changes import Change, Together
from regard.inspection.record.seen import Seen

__all__ = ["WeightChanges", "downstream"]


@dataclass(frozen=True, eq=False)
class WeightChanges:
    """The attention of a model without a change and with it.

    Attributes:
        change: the change.
        before, after: what was seen without it and with it, call by call.
    """

    change: Change
    before: Seen
    after: Seen

    @cached_property
    def distances(self) -> tuple[tuple[float, ...], ...]:
        """For each call and head, the share of the weight that moved to other keys.

        It is half the sum of the differences of a row without their signs, averaged over queries and items: for weights
        that sum to 1 the total variation distance, from 0 (nothing moved) to 1. A removed head keeps its weights, and
        so do the layers before it.
        """
        found = []
        for before, after in zip(self.before, self.after, strict=True):
            total, rows = torch.zeros(before.heads, dtype=torch.double), 0
            # A few rows at a time, so that memory grows with the length and not with its square.
            for some, weights in before.blocks():
                gaps = (after.weights(some).double() - weights.double()).abs().sum(-1) / 2
                total += gaps.sum((0, 2)).cpu()
                rows += gaps.shape[0] * gaps.shape[2]
            found.append(tuple((total / max(rows, 1)).tolist()))
        return tuple(found)

    def difference(
        self, layer: int, head: int | None = None, *, item: int = 0, rows: Sequence[int] | None = None
    ) -> Tensor:
        """The weights (query, key) with the change minus those without it.

        Args:
            layer: the number of the call, from 1.
            head: its number, from 1; None: the average over the heads.
            item: of the batch, from 0.
            rows: the numbers of some queries, from 0; None: all, which takes memory for all pairs.

        Raises:
            ArgumentError: there is no such layer, head or item.
        """
        self._check("layer", layer, len(self.before))
        before, after = self.before[layer - 1], self.after[layer - 1]
        if head is not None:
            self._check("head", head, before.heads)
        if not 0 <= item < before.query.shape[0]:
            raise ArgumentError(f"`item` must be below {before.query.shape[0]}, but is {item}.")
        moved = after.weights(rows)[item] - before.weights(rows)[item]
        return moved.mean(0) if head is None else moved[head - 1]

    @staticmethod
    def _check(name: str, number: int, most: int) -> None:
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
            raise ArgumentError(f"`{name}` must be from 1 to {most}, but is {number!r}.")

    def __str__(self) -> str:
        most = max(map(len, self.distances))
        lines = [f"The share of each head's weight that moves: {self.change}"]
        lines.append("    head  " + " ".join(f"{number:>6}" for number in range(1, most + 1)))
        lines += [
            f"layer {layer:>2}  " + " ".join(f"{each:>6.2f}" for each in row)
            for layer, row in enumerate(self.distances, 1)
        ]
        return "\n".join(lines)


def downstream(
    model: nn.Module, run: Callable[[], Any], change: Change | Sequence[Change], *, rows: int = 16
) -> WeightChanges:
    """See what a change, such as the removal of a head, does to the attention of all layers.

    Two records of `see` can be compared as well: `see(case)` and `see(case, changes=[change])`, on the page of
    `comparison`.

    Args:
        model: any model that `regard.watch` sees, in evaluation mode.
        run: runs the model; the same each time.
        change: the change, or several at once.
        rows: see `regard.watch`.

    Raises:
        ArgumentError: nothing was seen, the change applies to nothing, or with it the model makes other calls.

    Example:
        >>> from regard.inspection import RemoveHead
        >>> encoder = nn.TransformerEncoder(
        ...     nn.TransformerEncoderLayer(8, nhead=2, batch_first=True), 2, enable_nested_tensor=False
        ... ).eval()
        >>> vectors = torch.randn(1, 5, 8)
        >>> found = downstream(encoder, lambda: encoder(vectors), RemoveHead(1, 2))
        >>> found.distances[0], found.distances[1][0] > 0, found.difference(2, 1).shape
        ((0.0, 0.0), True, torch.Size([5, 5]))
    """
    change = change if isinstance(change, Change) else Together(tuple(change))
    with torch.no_grad():
        with record_calls(model, rows=rows) as before:
            run()
        with record_calls(model, rows=rows, changes=[change]) as after:
            run()
    if not before:
        raise ArgumentError(f"`model` must have attention that is seen. {before.nothing}")
    calls = [[(each.name, each.query.shape[:3], each.key.shape[2]) for each in some] for some in (before, after)]
    if calls[0] != calls[1]:
        raise ArgumentError(
            f"`run` must make the same calls of attention with the change, but made {len(before)} without it and "
            f"{len(after)} with it, or of other sizes. Let it run the model on an input of fixed length."
        )
    return WeightChanges(change, before, after)
