"""Attention to a window and to global tokens, as rules: the pairs that may attend, and Longformer's second projections.

Global tokens attend to all keys and are attended to by all queries. In Longformer they attend by queries, keys and
values of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from regard.attention import Index, Mask, Position
from regard.inspection.capture.by_hand.rules import interval_rule

__all__ = ["GlobalProjections", "WindowWithGlobals", "window_rule"]


@dataclass(frozen=True)
class WindowWithGlobals(Mask):
    """A query may attend to a window around it and to the global tokens; a global token, to all that is shown.

    Args:
        reach: how many keys before and after its own position a query sees.
        chosen: (batch, length) bool, which tokens are global.
        shown: (batch, length) bool, which tokens take part; the others neither attend nor are attended to.

    Example:
        >>> from regard.attention import weigh
        >>> chosen, shown = torch.tensor([[True, False, False, False, False]]), torch.ones(1, 5, dtype=torch.bool)
        >>> x = torch.zeros(1, 1, 5, 4)
        >>> (weigh(x, x, mask=WindowWithGlobals(1, chosen, shown))[0, 0] > 0).long()
        tensor([[1, 1, 1, 1, 1],
                [1, 1, 1, 0, 0],
                [1, 1, 1, 1, 0],
                [1, 0, 1, 1, 1],
                [1, 0, 0, 1, 1]])
    """

    reach: int
    chosen: Tensor
    shown: Tensor

    def allows(self, at: Index) -> Tensor:
        query, key = (at.batch, at.query), (at.batch, at.key)
        near = (at.key - at.query).abs() <= self.reach
        return self.shown[query] & self.shown[key] & (near | self.chosen[query] | self.chosen[key])


@dataclass(frozen=True)
class GlobalProjections(Position):
    """The chosen queries attend by vectors of their own: score_ij = q'_i . k'_j, and o_i = sum_j w_ij (v_j + d_j).

    Args:
        query, key: (batch, head, length, feature), what the chosen queries are multiplied by and with.
        shift: (batch, head, length, feature), what their values have more than those of the other queries.
        chosen: (batch, length) bool, which queries these are.

    Source: Beltagy et al. 2020 (arXiv 2004.05150), section 3.1, "Linear Projections for Global Attention".
    """

    query: Tensor
    key: Tensor
    shift: Tensor
    chosen: Tensor

    adds: ClassVar[bool] = False
    formulas: ClassVar[Mapping[str, str]] = {}

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        rows = self.query[at.batch, at.head, at.query].squeeze(-2)
        columns = self.key[at.batch, at.head, at.key].squeeze(-3)
        products = (rows @ columns.mT).to(scores.dtype)
        return torch.where(self.chosen[at.batch, at.query], products, scores)

    def outputs(self, output: Tensor, weights: Tensor, at: Index) -> Tensor:
        shift = self.shift[at.batch, at.head, at.key].squeeze(-3).to(weights.dtype)
        # Of all other queries nothing is added, whatever the shift holds.
        return output + torch.where(self.chosen[at.batch, at.query], weights @ shift, 0.0)


def window_rule(reach: int, chosen: Tensor, shown: Tensor) -> Mask | None:
    """The rule of a window with global tokens, as simple as it is.

    Args:
        reach, chosen, shown: as in `WindowWithGlobals`.

    Example:
        >>> nothing, everything = torch.zeros(1, 6, dtype=torch.bool), torch.ones(1, 6, dtype=torch.bool)
        >>> window_rule(2, nothing, everything)
        Window(before=2, after=2)
    """
    count = shown.sum(1, keepdim=True)
    first = shown.byte().argmax(1, keepdim=True)
    places = torch.arange(shown.shape[1], device=shown.device)
    in_one_interval = torch.equal(shown, (places >= first) & (places < first + count))
    if chosen.any() or not in_one_interval:
        return WindowWithGlobals(reach, chosen, shown)
    start, stop = (places - reach).maximum(first), (places + reach + 1).minimum(first + count)
    start, stop = (torch.where(shown, each, 0).unsqueeze(1) for each in (start, stop))
    if torch.equal(start, start[:1].expand_as(start)) and torch.equal(stop, stop[:1].expand_as(stop)):
        start, stop = start[:1], stop[:1]
    return interval_rule(start, stop, shown.shape[1])
