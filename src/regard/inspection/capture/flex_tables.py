"""The functions of flex attention as rules or tables of all pairs, so that a file can hold them."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.attention import Bias, Dot, Mask, weigh
from regard.attention.masks import And, Pairs, Predicate
from regard.inspection.capture.by_hand.rules import AsScores, as_parts, mask_rule
from regard.inspection.capture.functions import flex

if TYPE_CHECKING:
    from regard.inspection.record.seen_layer import SeenLayer

__all__ = ["MOST_PAIRS", "without_functions"]

MOST_PAIRS = 2**24
"""The most pairs (items x heads x queries x keys) that are evaluated, as a table of which may be kept in 64 MiB."""

# Pairs in one evaluation, each of which has five numbers as arguments.
_BUDGET = 2**20
_ROUNDING = 1e-5


def without_functions(layer: "SeenLayer") -> "SeenLayer":
    """A call of flex attention whose `mask_mod` and `score_mod` are replaced by what they evaluate to.

    Where that follows a rule (causal, a window, a number for each distance) the rule is kept, and else a table of all
    pairs, as the notes say. Other calls, and those of more than `MOST_PAIRS` pairs, stay as they are.
    """
    batch, heads, queries, _ = layer.query.shape
    keys = layer.key.shape[2]
    if layer.function != "flex_attention" or not 0 < batch * heads * queries * keys <= MOST_PAIRS:
        return layer
    mask, position, notes = layer.mask, layer.position, list(layer.notes)
    if isinstance(mask, Mask) and _has_function(mask):
        mask = mask_rule(_allowed(layer))
        if isinstance(mask, Pairs):
            notes.append(_kept("mask_mod follows no known rule", "what it gives"))
    if isinstance(position, flex.ScoreMod):
        table, is_bias = _added(layer)
        hidden, position = as_parts(table)
        if not is_bias:
            notes.append(_kept("score_mod is no bias", "what it adds to these scores"))
        elif isinstance(hidden, Pairs) or isinstance(position, Bias):
            notes.append(_kept("score_mod follows no known rule", "what it adds"))
        mask = hidden if mask is None else mask if hidden is None else mask & hidden
    return replace(layer, mask=mask, position=position, notes=notes)


def _kept(why: str, what: str) -> str:
    return f"Its {why}, so {what} is kept as a table of all pairs."


def _has_function(mask: Mask) -> bool:
    return isinstance(mask, Predicate) or (
        isinstance(mask, And) and any(_has_function(each) for each in (mask.left, mask.right))
    )


def _allowed(layer: "SeenLayer") -> Tensor:
    """Which pairs may attend, (batch, head, query, key)."""
    one = Bias(torch.ones(1, 1, device=layer.query.device))
    nothing = {"score": Dot(), "weights": AsScores(), "position": one, "mask": layer.mask}
    query, key = torch.zeros_like(layer.query), torch.zeros_like(layer.key)
    return _shared(_in_blocks(layer, lambda rows: weigh(query, key, **nothing, rows=rows) > 0))


def _added(layer: "SeenLayer") -> tuple[Tensor, bool]:
    """What `score_mod` adds to each score, (batch, head, query, key), and whether it adds that to any score."""
    parts: dict[str, Any] = {"score": layer.score, "weights": AsScores()}
    zeros = torch.zeros_like(layer.query)

    def bias(rows: Tensor) -> Tensor:
        return weigh(zeros, layer.key, **parts, position=layer.position, rows=rows)

    def of_scores(rows: Tensor) -> Tensor:
        return weigh(layer.query, layer.key, **parts, position=layer.position, rows=rows)

    def scores(rows: Tensor) -> Tensor:
        return weigh(layer.query, layer.key, **parts, rows=rows)

    # What is added to 0 has no rounding error, so that it can be recognised as a rule.
    table = _in_blocks(layer, bias)
    is_bias = all(
        torch.allclose(of_scores(rows), scores(rows) + table[:, :, rows], rtol=_ROUNDING, atol=_ROUNDING)
        for rows in _rows(layer)
    )
    if not is_bias:
        table = _in_blocks(layer, lambda rows: of_scores(rows) - scores(rows))
    return _shared(table), is_bias


def _in_blocks(layer: "SeenLayer", compute: Callable[[Tensor], Tensor]) -> Tensor:
    with torch.no_grad():
        return torch.cat([compute(rows) for rows in _rows(layer)], dim=2)


def _rows(layer: "SeenLayer") -> tuple[Tensor, ...]:
    batch, heads, queries, _ = layer.query.shape
    numbers = torch.arange(queries, device=layer.query.device)
    return numbers.split(max(1, _BUDGET // (batch * heads * layer.key.shape[2])))


def _shared(table: Tensor) -> Tensor:
    """The table, with an axis of size 1 for items or heads that all have the same."""
    for axis in (0, 1):
        first = table.narrow(axis, 0, 1)
        if torch.equal(table, first.expand_as(table)):
            table = first
    return table
