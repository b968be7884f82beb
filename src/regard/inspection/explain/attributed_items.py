"""How much each item of a record contributes to one of its predictions, by a method of attribution."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.errors import ArgumentError, UnknownNameError
from regard.inspection.cases.case import Case
from regard.inspection.explain.across_layers import ATTRIBUTIONS, gradient_weighted, through_layers, value_weighted
from regard.inspection.explain.head_gradients import head_gradients
from regard.inspection.explain.outcomes import Place
from regard.inspection.explain.summaries import pooled_weights, select_weights
from regard.inspection.record.record import LayerRecord, Record
from regard.inspection.record.seen_layer import SeenLayer
from regard.page.numbers import plural

__all__ = ["AttributedItems", "attributed_items"]

# Numbers in memory at once.
_BUDGET = 2**22


class AttributedItems(NamedTuple):
    """What a method gives for one prediction.

    Args:
        title: which method it is, and of which layer and head.
        weights: (key,); those of "raw" are the weights themselves, and of the others shares, whose sizes sum to 1
            unless all are 0.
    """

    title: str
    weights: Tensor


def attributed_items(
    record: Record,
    method: str,
    number: int,
    layer: int | None = None,
    head: int | None = None,
    case: Case | None = None,
) -> AttributedItems:
    """How much each item contributes to the prediction for one place.

    Args:
        record: a record that `see` made.
        method: a name of `ATTRIBUTIONS`.
        number: the number of the place in `record.outcomes.places`, from 0.
        layer, head: whose weights, from 1; None: the last layer, or the pooling of a pooled answer, and the average of
            the heads. For rollout, the last layer that is followed.
        case: the model that the record was made with; only "gradient-weighted" needs it.

    Raises:
        UnknownNameError: there is no such method.
        ArgumentError: the record lacks what the method needs; the error says what.
    """
    if method not in ATTRIBUTIONS:
        raise UnknownNameError("attribution", method, ATTRIBUTIONS)
    outcomes = record.outcomes
    if outcomes is None:
        raise ArgumentError("`record` must have outcomes, as those of `see` have, but has none.")
    place = outcomes.places[number]
    if method == "rollout":
        return _rollout(record, place, layer, head)
    selection = (pooled_weights if place.query is None else select_weights)(record, layer, head)
    rows = range(selection.layer.shape[0]) if place.query is None else [place.query]
    if method == "raw":
        # One row is computed where one is shown: all of them would grow with the square of the length.
        if place.query is None:
            return AttributedItems(selection.title, selection.weights[0])
        return AttributedItems(selection.title, _of_head(selection.layer.weights(rows)[:, 0], selection.head))
    measure = _of_values if method == "value-weighted" else _of_gradients(record, case, number)
    found = _shares(_of_head(_summed(selection.layer, rows, measure), selection.head))
    return AttributedItems(f"{selection.title}, {method}, as shares", found)


def _of_head(weights: Tensor, head: int | None) -> Tensor:
    return weights.mean(0) if head is None else weights[head]


def _shares(weights: Tensor) -> Tensor:
    total = weights.abs().sum()
    return weights / total if total > 0 else weights


def _of_values(call: SeenLayer, rows: Tensor) -> Tensor:
    if not call.value.shape[3]:
        raise ArgumentError(
            f"`attribution` must not be value-weighted here: the record of {call.name!r} has weights without values. "
            "Use another one."
        )
    return value_weighted(call, rows)


def _of_gradients(record: Record, case: Case | None, number: int) -> Callable[[SeenLayer, Tensor], Tensor]:
    if case is None or record.seen is None:
        raise ArgumentError(
            "`attribution` must not be gradient-weighted for a record: it needs the gradient of the answer, which only "
            "the running model gives. Give the model and its input instead, or use raw, rollout or value-weighted."
        )
    found = head_gradients(case, number)
    # The model makes the same calls again.
    gradients: Mapping[int, Tensor] = {id(call): each for call, each in zip(record.seen, found, strict=True)}
    return lambda call, rows: gradient_weighted(call, gradients[id(call)], rows)


def _summed(layer: LayerRecord, rows: Sequence[int], measure: Callable[[SeenLayer, Tensor], Tensor]) -> Tensor:
    """The sum (head, key) over rows of what is measured of each call, (batch, head, row, key)."""
    by_step = layer.along == "query"
    own = layer.shape[0] // len(layer.calls) if by_step else layer.calls[0].query.shape[2]
    # An item of several queries counts as one.
    spans = layer.queries_of(rows)
    queries = torch.tensor([query for span in spans for query in span], dtype=torch.long)
    shares = torch.tensor([1 / len(span) for span in spans for _ in span], dtype=torch.double)
    found = []
    for place, call in enumerate(layer.calls):
        first = place * own if by_step else 0
        here = ((queries >= first) & (queries < first + own)).nonzero().flatten()
        total = torch.zeros(call.heads, layer.shape[1], dtype=torch.double)
        in_row = call.query.shape[0] * call.heads * call.key.shape[2]
        for some in here.split(max(1, _BUDGET // max(1, in_row))) if len(here) else ():
            measured = measure(call, (queries[some] - first).to(call.query.device))[layer.item].double()
            total += layer.by_item((measured * shares[some].to(measured.device)[:, None]).sum(1)).cpu()
        found.append(total.mean(0, keepdim=True) if call.is_of_channels else total)
    return torch.stack(found).sum(0) if by_step else torch.cat(found)


def _rollout(record: Record, place: Place, layer: int | None, head: int | None) -> AttributedItems:
    if head is not None:
        raise ArgumentError("`head` must be left out: rollout averages the heads of each layer.")
    if not record.layers:
        raise ArgumentError(
            "`attribution` must not be rollout here: it follows layers whose items attend to each other, and there "
            "is none. Use another one."
        )
    select_weights(record, layer)  # which checks that the layer is there
    followed = record.layers[:layer]
    if record.queries is not None or any(each.along == "query" for each in followed):
        what = (
            "its layers run step by step" if record.queries is None else f"they attend to other {plural(record.noun)}"
        )
        raise ArgumentError(
            f"`attribution` must not be rollout here: it follows layers whose items attend to each other, but {what}. "
            "Use raw or value-weighted."
        )
    members = {len(each.calls) for each in followed}
    if len(members) > 1:
        raise ArgumentError("`attribution` must not be rollout here: its layers have different numbers of members.")
    items = len(record.items)
    found = []
    for member in range(members.pop()):
        calls = [each.calls[member] for each in followed]
        batch, _, queries, _ = calls[0].query.shape
        shares = torch.full((items,), 1 / items, dtype=torch.double)
        if place.query is not None:
            shares = torch.zeros(items, dtype=torch.double)
            shares[place.query] = 1.0
        elif record.pooling is not None and layer is None:
            shares = record.pooling.weights().mean(0)[0].double()
        vector = torch.zeros(batch, 1, queries, dtype=torch.double, device=calls[0].query.device)
        for share, span in zip(shares.tolist(), followed[-1].queries_of(range(items)), strict=True):
            vector[..., span.start : span.stop] = share / len(span)
        through = through_layers(calls, vector)[followed[0].item, 0]
        found.append(followed[0].by_item(through.double().cpu()))
    names = "layer 1" if len(followed) == 1 else f"layers 1-{len(followed)}"
    return AttributedItems(f"Rollout through {names} of {len(record.layers)}", torch.stack(found).mean(0))
