"""The calls of a module that runs step by step as one call: the queries of all steps, and the keys of the last one.

Calls are told to belong together by their keys and values. Whether the parts of a call mean the same in the joined one
is decided by the weights of some of its queries, so it holds for any position scheme.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.attention import Mask, Sizes
from regard.attention.masks import as_mask
from regard.attention.parts import flatten_part, map_operands
from regard.errors import ArgumentError
from regard.inspection.capture.by_hand.rules import AsScores, KeyIntervals, interval_rule
from regard.inspection.capture.packed_heads import distinct_heads
from regard.inspection.record.joined_positions import JoinedCall, along_queries, joined_positions

if TYPE_CHECKING:
    from regard.inspection.record.seen_layer import SeenLayer

__all__ = ["joined_calls"]

# The same weights, computed with other sizes, may differ by rounding.
_ROUNDING = 1e-5


@dataclass(eq=False)
class _Steps:
    """Calls that follow each other.

    Attributes:
        calls: the calls, with the interval of keys of each query.
        numbers: their numbers in the record.
        needed: (batch or 1,), how many of the first keys of each item any query may attend to.
        given: the calls as they were recorded.
        reason: why the calls aren't steps of those before them.
    """

    calls: list[JoinedCall]
    numbers: list[int]
    needed: Tensor
    given: list["SeenLayer"]
    reason: str = ""

    def differs(self, call: JoinedCall) -> str:
        """Why a call is no further step; "" if it is one."""
        before, after = self.calls[-1].layer, call.layer
        for name in ("score", "normaliser", "projection", "dropout"):
            if not same_part(getattr(before, name), getattr(after, name)):
                return f"its {name} is another"
        for name in ("query", "key", "value"):
            one, other = _of_both(before, after, name)
            alike = one.shape[:2] == other.shape[:2] and one.shape[3] == other.shape[3]
            if not alike or one.dtype != other.dtype or one.device != other.device:
                return f"its {name} has another size or type"
        sizes = before.key.shape[2], after.key.shape[2]
        if sizes[1] < int(self.needed.max()):
            return "it has fewer keys"
        if not all(_begin_alike(*_of_both(before, after, name), self.needed) for name in ("key", "value")):
            return "the keys and values before aren't the first ones of its own"
        queries = after.query.shape[2]
        # A single query may be equal to the one before, as those of equal tokens in T5.
        is_step = queries == 1 or sizes[1] - sizes[0] == queries
        return "" if is_step or not _repeats(before, after) else "it computes the queries of that one again"

    def add(self, call: JoinedCall, number: int, given: "SeenLayer") -> None:
        self.calls.append(call)
        self.numbers.append(number)
        self.given.append(given)
        self.needed = torch.maximum(self.needed, call.needed)


def joined_calls(layers: Sequence["SeenLayer"]) -> list[tuple["SeenLayer", list[int]]]:
    """The calls with those that are steps of one module joined, each with its steps' numbers; see `Seen.joined`."""
    found: dict[str, list[_Steps]] = {}
    for number, layer in enumerate(layers):
        _sort_in(found.setdefault(layer.name, []), number, layer)
    joined = [each for steps in found.values() for each in steps]
    return [each for steps in sorted(joined, key=lambda each: each.numbers) for each in _joined(steps)]


def _sort_in(module: list[_Steps], number: int, layer: "SeenLayer") -> None:
    """Add a call to the steps of its module that it continues, or begin new ones."""
    intervals = _intervals(layer)
    if intervals is None:
        reason = "its mask allows other keys than one interval for each query" if module else ""
        module.append(_Steps([], [number], torch.zeros(1, dtype=torch.long), [layer], reason))
        return
    call = JoinedCall(layer, *intervals)
    reason = ""
    # The last ones first: a module that is called several times in each step has several that are open.
    for steps in reversed(module):
        why = steps.differs(call) if steps.calls else "the mask of that one allows other keys than one interval"
        if not why:
            steps.add(call, number, layer)
            return
        reason = reason or why
    module.append(_Steps([call], [number], call.needed, [layer], reason))


def _joined(steps: _Steps) -> list[tuple["SeenLayer", list[int]]]:
    """The calls as one, or as they are, with their numbers."""
    layers = steps.given
    reason = [f"Not joined with the calls before: {steps.reason}."] if steps.reason else []
    if len(layers) == 1:
        return [(_noted(layers[0], reason), steps.numbers)]
    for layer in _candidates(steps.calls):
        if all(_gives(layer, call, offset) for call, offset in zip(steps.calls, _offsets(steps.calls), strict=True)):
            return [(_noted(layer, reason), steps.numbers)]
    said = f"Not joined with {len(layers) - 1} other calls: its position scheme means something else there."
    return [(_noted(layer, [*reason, said]), [number]) for layer, number in zip(layers, steps.numbers, strict=True)]


def _candidates(calls: list[JoinedCall]) -> Iterator["SeenLayer"]:
    """The joined call, with each position scheme that may be theirs."""
    layers = [call.layer for call in calls]
    first, last = layers[0], layers[-1]
    start, stop = (along_queries([getattr(call, name) for call in calls]) for name in ("start", "stop"))
    mask = _on(first.query.device, interval_rule(start, stop, last.key.shape[2]))
    axis = 2 if first.projection is None else 1
    rows = [layer.rows + offset for layer, offset in zip(layers, _offsets(calls), strict=True)]
    notes = list(dict.fromkeys([note for layer in layers for note in layer.notes]))
    shared = {
        "query": torch.cat([layer.query for layer in layers], dim=2),
        "key": last.key,
        "value": last.value,
        "mask": mask,
        "rows": torch.cat(rows),
        "outputs": torch.cat([layer.outputs for layer in layers], dim=axis),
        "removed": any(layer.removed for layer in layers),
    }
    for position, said in joined_positions(calls, same_part):
        own = [*notes, f"Joined from {len(layers)} calls.", *said]
        yield replace(first, **shared, position=position, notes=own)


def _gives(joined: "SeenLayer", call: JoinedCall, offset: int) -> bool:
    """Whether the joined call has the weights of a call, for the queries whose outputs are kept, or the first and last.

    They differ if a part counts queries from the start of a call, or where it has other numbers for further keys.
    """
    layer = call.layer
    queries, keys = layer.query.shape[2], layer.key.shape[2]
    ends = torch.tensor([0, queries - 1] if queries else [], dtype=torch.long, device=layer.rows.device)
    rows = torch.cat([layer.rows, ends]).unique()
    try:
        weights, found = layer.weights(rows), joined.weights(rows + offset)
    except ArgumentError:
        # A part is made for the sizes of a call.
        return False
    own, further = found[..., :keys], found[..., keys:]
    close = torch.allclose(own, weights, rtol=_ROUNDING, atol=_ROUNDING, equal_nan=True)
    return close and not further.any()


def _offsets(calls: list[JoinedCall]) -> list[int]:
    """For each call, the number of queries before it."""
    counts = [call.layer.query.shape[2] for call in calls]
    return [sum(counts[:place]) for place in range(len(counts))]


def _intervals(layer: "SeenLayer") -> tuple[Tensor, Tensor] | None:
    """The keys that each query may attend to, start and stop, (batch, head, query); None if they are no interval."""
    mask = as_mask(layer.mask)
    if isinstance(mask, KeyIntervals):
        return mask.start.cpu(), mask.stop.cpu()
    batch, _, queries, _ = layer.query.shape
    spans = mask.spans(Sizes(batch, queries, layer.key.shape[2], *mask.lengths()))
    if not spans.exact:
        return None
    first, *others = spans.outer
    if any((each.start < each.stop).any() for each in others):
        return None
    return first.start.unsqueeze(1), first.stop.unsqueeze(1)


def _on(device: torch.device, mask: Mask | None) -> Mask | None:
    return None if mask is None else map_operands(lambda tensor: tensor.to(device), mask)


def _of_both(before: "SeenLayer", after: "SeenLayer", name: str) -> tuple[Tensor, Tensor]:
    """A tensor of both calls; of keys and values that were repeated for heads that share them, the distinct ones."""
    one, other = getattr(before, name), getattr(after, name)
    return one if name == "query" else distinct_heads(one, other.shape[1]), other


def _repeats(before: "SeenLayer", after: "SeenLayer") -> bool:
    """Whether a call has the queries of another: the same input was given again, or the model runs without a cache."""
    if isinstance(before.normaliser, AsScores):
        return same_part(before.position, after.position)
    one, other = before.query, after.query[:, :, : before.query.shape[2]]
    return one.shape == other.shape and torch.allclose(one, other, rtol=_ROUNDING, atol=_ROUNDING)


def _begin_alike(first: Tensor, second: Tensor, counts: Tensor) -> bool:
    """Whether the first keys of each item are equal; further ones may be padding, and are written over later."""
    most = int(counts.max())
    first, second = first[:, :, :most], second[:, :, :most]
    if torch.equal(first, second):
        return True
    counted = (torch.arange(most) < counts.unsqueeze(1)).to(first.device)
    return bool(((first == second).all(-1).all(1) | ~counted).all())


def same_part(first: Any, second: Any) -> bool:
    """Whether two parts are equal, with equal tensors."""
    (spec, tensors), (other, others) = flatten_part(first), flatten_part(second)
    return spec == other and len(tensors) == len(others) and all(map(torch.equal, tensors, others))


def _noted(layer: "SeenLayer", said: list[str]) -> "SeenLayer":
    return replace(layer, notes=[*layer.notes, *said]) if said else layer
