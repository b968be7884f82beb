"""What a model says about one input, what it attended to, and what changes if an item or a head is taken away."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection.capture.intervene import changed
from regard.inspection.capture.watch import record_calls
from regard.inspection.cases.case import Case
from regard.inspection.cases.memory import check_memory
from regard.inspection.explain.changes import Change, HideKey, HideKeys, can_be_hidden_from
from regard.inspection.explain.effect import Effect, check_noise
from regard.inspection.explain.effects import OneByOne, effects
from regard.inspection.explain.head_changes import RemoveHead
from regard.inspection.explain.outcomes import Outcome, Outcomes, Place
from regard.inspection.record.record import LayerRecord, Record
from regard.inspection.record.seen import Seen
from regard.page.numbers import four_digits

__all__ = ["MOST_CHANGES", "removal_of", "see"]

MOST_CHANGES = 300
"""More items than that are only hidden if effects are asked for; nor are heads removed, if both are more than that."""

# Changes in one run, after which the progress moves on.
_TOGETHER = 32


def see(
    case: Case,
    *,
    effects: bool | None = None,
    noise: int = 0,
    changes: Sequence[Change] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Record:
    """Run a model on one input, and record what it says, what it attended to and what mattered.

    What mattered is measured: each item is hidden from all queries, in all layers, and each head is removed, one at a
    time, and the model runs again.

    Args:
        case: the model and its input.
        effects: whether to measure what mattered; None: hide the items if they are at most 300, and remove the heads if
            both are together.
        noise: how many changes in random directions give each effect its noise floor (`Outcome.noise_floor`), such as
            19; 0: it isn't measured. It takes `noise` times as many runs more.
        changes: changes that the model is seen with, such as the removal of a head; `comparison` of the records
            without and with them shows what they do to the answers and to the attention of all layers.
        progress: called with how many changes have been measured, and how many there are.

    Raises:
        ArgumentError: the model attends to something else than the items, or one of `changes` applies to nothing; or
            there are so many items that their attention would need more than half of this machine's memory.

    Example:
        >>> layer = torch.nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
        >>> items, places = ("a", "b", "c"), (("a", 0), ("b", 1), ("c", 2))
        >>> case = Case("toy", layer, torch.randn(1, 3, 8), layer, lambda output: output, "vectors", items, places)
        >>> record = see(case)
        >>> len(record.layers), len(record.outcomes.hidden), len(record.outcomes.removed[0])
        (1, 3, 2)
        >>> see(case, changes=[RemoveHead(1, 2)]).model
        'toy, remove head 2 of layer 1'
    """
    check_noise(noise)
    check_memory(case.module, len(case.items), case.noun)
    with torch.no_grad(), record_calls(case.module, changes=changes) as seen:
        before = case.predict(case.run(case.inputs)).double()
    if before.ndim != 3 or before.shape[:2] != (1, len(case.places)):
        raise ArgumentError(
            f"`predict` must give (1, {len(case.places)}, class), one row for each place, but gave "
            f"{tuple(before.shape)}."
        )
    layers, pooling, encoder, decoder = case.layers_of(seen)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(seen.names), start=1)}
    # The channels of a state-space layer are no heads of attention.
    removable = [each for each in (*encoder, *decoder, *layers) if not each.is_effective]
    heads = [[_removal(layer, head, numbers) for head in range(layer.heads)] for layer in removable]
    hidden, unknown = _hidings(case, seen, numbers) if layers or pooling is not None else ([], [])
    every = list(dict.fromkeys(each for layer in heads for each in layer))
    asked: list[Change] = []
    if effects or (effects is None and len(hidden) <= MOST_CHANGES):
        asked += hidden
    if effects or (effects is None and len(hidden) + len(every) <= MOST_CHANGES):
        asked += every
    measured: dict[Change, tuple[Outcome, ...]] = {}
    # The model that is measured is the changed one.
    with changed(case.module, changes) if changes and asked else nullcontext():
        for effect in _measured(case, before[0], asked, noise, progress) if asked else ():
            measured[effect.change] = _outcomes(case, before[0], effect)
    outcomes = Outcomes(
        case.kind,
        case.form,
        tuple(_places(case, before[0])),
        tuple(measured[each] for each in hidden if each in measured),
        tuple(tuple(measured[each] for each in layer) for layer in heads if layer[0] in measured),
        case.chosen,
        " ".join(filter(None, (case.note, _note(unknown)))) if asked else "",
        case.error,
    )
    own = [place for place in outcomes.places if place.query is not None]
    queries = case.items if case.queries is None else case.queries
    each = [place.query for place in own] == list(range(len(queries)))
    return Record(
        case.items,
        tuple(place.label for place in own) if each and case.kind != "vectors" else (),
        tuple(place.score for place in own if place.score is not None) if each else (),
        layers,
        ", ".join((case.name, *map(str, changes))),
        queries=case.queries,
        encoder=encoder,
        decoder=decoder,
        previous=case.previous,
        pooling=pooling,
        noun=case.noun,
        grid=case.grid,
        seen=seen,
        outcomes=outcomes,
        input=case.input,
        warnings=case.warnings,
        without=tuple(_without(layers, changes, numbers)),
    )


def _hidings(case: Case, seen: Seen, numbers: dict[str, int]) -> tuple[list[Change], list[str]]:
    """The change that hides each item, and the names of the modules in which it can't be hidden."""
    hidden = [case.hide(key) for key in range(1, len(case.items) + 1)]
    own = [each for each in hidden if isinstance(each, HideKey | HideKeys)]
    if len(own) < len(hidden):
        return hidden, []
    calls = [each for each in seen if own[0].in_layer(numbers[each.name], each.name)]
    unknown = [each.name for each in calls if not can_be_hidden_from(each)]
    if not unknown:
        return hidden, []
    known = tuple(number for name, number in numbers.items() if name in {each.name for each in calls} - {*unknown})
    return [replace(each, layer=known) for each in own] if known else [], unknown


def _note(unknown: Sequence[str]) -> str:
    """What couldn't be measured in the layers of these names."""
    if not unknown:
        return ""
    named = ", ".join(dict.fromkeys(unknown))
    return f"Items couldn't be hidden in {named}: how its weights come about isn't known."


def _removal(layer: LayerRecord, head: int, numbers: dict[str, int]) -> RemoveHead:
    name, own = _module_and_head(layer, head)
    return RemoveHead(numbers[name], own)


def _module_and_head(layer: LayerRecord, head: int) -> tuple[str, int]:
    """The module of a head of a layer, whose heads may be those of several calls, and its number there, from 1."""
    for call in layer.calls:
        if head < call.heads:
            return call.name, head + 1
        head -= call.heads
    raise ArgumentError(f"`head` must be one of {layer.heads}.")


def _without(
    layers: Sequence[LayerRecord], changes: Sequence[Change], numbers: dict[str, int]
) -> Iterator[tuple[int, int]]:
    """The heads, (layer, head) from 1, that some changes remove."""
    removals = [each for change in changes for each in change.members if isinstance(each, RemoveHead)]
    for number, layer in enumerate(layers, start=1):
        for head in range(layer.heads) if removals and not layer.is_effective else ():
            name, own = _module_and_head(layer, head)
            if any(each.head in (None, own) and each.in_layer(numbers[name], name) for each in removals):
                yield number, head + 1


def removal_of(case: Case, layer: int, head: int) -> RemoveHead:
    """The removal of a head of one of the layers that the record of a case has.

    Args:
        case: the model and its input.
        layer, head: its numbers there, from 1, as a story names them.

    Raises:
        ArgumentError: the record has no such layer or head.
    """
    with torch.no_grad(), record_calls(case.module, rows=0) as seen:
        case.run(case.inputs)
    layers = case.layers_of(seen).layers
    heads = 0 if not 1 <= layer <= len(layers) or layers[layer - 1].is_effective else layers[layer - 1].heads
    if not 1 <= head <= heads:
        there = f"layer {layer} has {heads} heads" if heads else f"there are {len(layers)} layers"
        raise ArgumentError(f"Head {head} of layer {layer} can't be removed: {there}. Both count from 1.")
    numbers = {name: number for number, name in enumerate(dict.fromkeys(seen.names), start=1)}
    return _removal(layers[layer - 1], head - 1, numbers)


def _measured(
    case: Case, before: Tensor, changes: Sequence[Change], noise: int, progress: Callable[[int, int], None]
) -> Iterator[Effect]:
    inputs = case.inputs if case.batched else None

    def run(given: object = case.inputs) -> object:
        return case.run(given)

    def measure(output: object) -> Tensor:
        now = _compared(case, before, case.predict(output))
        return now if case.batched else now[0]

    for first in range(0, len(changes), _TOGETHER):
        progress(first, len(changes))
        with warnings.catch_warnings():
            # That they are measured one by one says nothing about the result.
            warnings.simplefilter("ignore", OneByOne)
            some = changes[first : first + _TOGETHER]
            yield from effects(case.module, run, measure, some, inputs=inputs, noise=noise)
    progress(len(changes), len(changes))


def _compared(case: Case, before: Tensor, after: Tensor) -> Tensor:
    """For each item of the batch and each place: the change, and for labels what follows and its probability."""
    after = after.double()
    if case.kind == "labels":
        first, best = _answers(case, before).unsqueeze(-1), after.argmax(-1, keepdim=True)
        # A class that was likelier than the answer before, too, as where a search wrote a text, is not what it becomes.
        best = torch.where(best == before.argmax(-1, keepdim=True), first, best)
        kept = after.gather(-1, first.expand(len(after), -1, 1)) - before.gather(-1, first)
        return torch.cat([kept, best.double(), after.gather(-1, best)], -1)
    if case.kind == "numbers":
        return after - before
    size = before.norm(dim=-1).clamp(min=torch.finfo(torch.float32).tiny)
    return ((after - before).norm(dim=-1) / size).unsqueeze(-1)


def _outcomes(case: Case, before: Tensor, effect: Effect) -> tuple[Outcome, ...]:
    rows = torch.as_tensor(effect.after).reshape(len(case.places), -1)
    # What only rounding changed is no change.
    found = (torch.as_tensor(effect.before).reshape(rows.shape) if effect.unchanged else rows).tolist()
    floors: list[float | None] = [None] * len(found)
    if effect.noise_floor is not None:
        floors = torch.as_tensor(effect.noise_floor).reshape(rows.shape)[:, 0].tolist()
    if case.kind == "labels":
        return tuple(
            Outcome(case.classes(int(best)), score, change, floor)
            for (change, best, score), floor in zip(found, floors, strict=True)
        )
    if case.kind == "numbers":
        return tuple(
            Outcome(four_digits(number + change), None, change, floor)
            for number, (change,), floor in zip(before[:, 0].tolist(), found, floors, strict=True)
        )
    return tuple(Outcome("", None, change, floor) for (change,), floor in zip(found, floors, strict=True))


def _places(case: Case, before: Tensor) -> Iterator[Place]:
    if case.kind != "labels":
        for (name, query), row in zip(case.places, before.tolist(), strict=True):
            yield Place(name, query, four_digits(float(row[0])) if case.kind == "numbers" else "", None)
        return
    answers, likeliest = _answers(case, before).tolist(), before.argmax(-1).tolist()
    for (name, query), row, answer, first in zip(case.places, before.tolist(), answers, likeliest, strict=True):
        # Two classes that are equally likely are no sign of a search.
        likelier = (case.classes(first), row[first]) if row[first] > row[answer] else None
        yield Place(name, query, case.classes(answer), row[answer], likelier)


def _answers(case: Case, before: Tensor) -> Tensor:
    """The number of the class at each place."""
    return before.argmax(-1) if case.answers is None else torch.tensor(case.answers, device=before.device)
