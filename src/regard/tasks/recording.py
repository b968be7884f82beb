"""What inspection is given of a tagger or a classifier: records of its predictions, or a case of one source."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inspection import Case, DrawnInput, LayerRecord, Record, Seen, SeenLayer
from regard.inspection.capture.watch import record_calls
from regard.inspection.cases.memory import check_memory
from regard.inspection.explain.changes import HideKey, HideKeys
from regard.page.numbers import four_digits
from regard.tasks.sources.source import Framed

if TYPE_CHECKING:
    from regard.tasks.model import Model

__all__ = ["calls_inside", "case_of", "drawn_input", "look", "side_by_side"]

# The number of weights for one head and layer, in a batch over all members: as many as for one sentence of 500 words.
_MOST_WEIGHTS = 500 * 500
# The bytes of what is drawn, which a record's file holds in its header: 17 minutes of sound at 8 kHz.
_MOST_DRAWN = 2**24
_UNHIDDEN = (
    "Beside what it attends to, the model reads features of the whole {whole}: they stay the same where one {noun} is "
    "hidden."
)


def look(model: "Model[Any]", sources: Iterable[Any], longest: int | None = None) -> Iterator[Record]:
    """The records of sources, in their order; see `Model.look`."""
    group: list[tuple[Any, Any]] = []
    most, allowed = 0, _MOST_WEIGHTS / len(model.network.members)
    for source in sources:
        item = model.read(source, longest)
        if group and (len(group) + 1) * max(most, len(item)) ** 2 > allowed:
            yield from _look(model, group)
            group, most = [], 0
        group.append((source, item))
        most = max(most, len(item))
    yield from _look(model, group)


def _look(model: "Model[Any]", group: Sequence[tuple[Any, Any]]) -> Iterator[Record]:
    seen = _watched(model, [(source, item) for source, item in group if len(item)])
    kind = model.recipe.input
    for source, item in group:
        if not len(item):
            yield Record((), model=model.name, noun=kind.noun, answer=model.answer_of([], None))
            continue
        framed = _frame(model, source, item)
        numbers, layers, pooling = next(seen)
        names = kind.names(model.encoder, source)
        answer = model.answer_of(names, numbers)
        # The prediction for an item is its name, a label or number and, for a label, its probability.
        own = [] if model.network.pooling is not None else answer
        labels = [said if isinstance(said, str) else four_digits(said) for _, said, *_ in own]
        scores = [share for _, _, *shares in own for share in shares]
        yield Record(
            framed.names,
            _framed(labels, framed, ""),
            _framed(scores, framed, 1.0),
            layers,
            model.name,
            pooling=pooling,
            answer=answer,
            noun=kind.noun,
            grid=kind.grid(model.encoder, source),
            input=drawn_input(model, source),
            warnings=tuple(map(str, model.warnings_about(source, item))),
        )


def drawn_input(model: "Model[Any]", source: Any) -> DrawnInput | None:
    """What a page draws of a source; None if the names of its items say all, or if it would be too large to keep."""
    found = model.recipe.input.drawn(model.encoder, source)
    return found if found is None or found.size <= _MOST_DRAWN else None


def _watched(
    model: "Model[Any]", pairs: Sequence[tuple[Any, Any]]
) -> Iterator[tuple[Tensor, tuple[LayerRecord, ...], LayerRecord | None]]:
    """For each source: the outputs of the network, the attention of its layers, and that of its pooling."""
    if not pairs:
        return
    network = model.network
    with record_calls(network) as seen:
        numbers = model.numbers([item for _, item in pairs])
    layers, poolings = side_by_side(network, seen)
    for place, (own, (source, item)) in enumerate(zip(numbers, pairs, strict=True)):
        bounds = _frame(model, source, item).bounds
        count = len(item) if bounds is None else bounds[-1]
        found = (
            LayerRecord(
                f"layer {number}",
                calls,
                item=place,
                queries=count,
                keys=count,
                query_bounds=bounds,
                key_bounds=bounds,
            )
            for number, calls in enumerate(layers, start=1)
        )
        pooling = next((LayerRecord("pooling", calls, item=place, keys=count) for calls in poolings), None)
        yield own, tuple(found), pooling


def _frame(model: "Model[Any]", source: Any, item: Any) -> Framed:
    """The items of a source as the network attends to them."""
    return model.recipe.input.framed(model.encoder, source, item)


def _framed(values: Sequence[Any], framed: Framed, neutral: Any) -> tuple[Any, ...]:
    """What is said of each item, and something neutral of those that the network adds; nothing if nothing is said."""
    if not values:
        return ()
    after = len(framed.names) - framed.first - len(values)
    return (*[neutral] * framed.first, *values, *[neutral] * after)


def calls_inside(seen: Seen, network: nn.Module, part: nn.Module | None) -> list[SeenLayer]:
    """The calls that were made inside of a part of a network; none if there is no such part."""
    if part is None:
        return []
    prefix = next(name for name, module in network.named_modules() if module is part)
    return [each for each in seen if f"{each.name}.".startswith(f"{prefix}." if prefix else "")]


def side_by_side(network: Any, seen: Seen) -> tuple[list[tuple[SeenLayer, ...]], list[tuple[SeenLayer, ...]]]:
    """The calls of all members of a network, layer by layer, and those of their poolings.

    The layers of an embedding that attends, such as a pretrained model, come first.
    """
    below, layers, poolings = (
        list(
            zip(*(calls_inside(seen, network, getattr(member, part, None)) for member in network.members), strict=True)
        )
        for part in ("embedding", "network", "pooling")
    )
    return below + layers, poolings


def case_of(model: "Model[Any]", source: Any, longest: int | None = None) -> Case:
    """The case of a model and a source.

    Raises:
        ArgumentError: the model can't read the source, or there is no item in it.
    """
    kind, network, target = model.recipe.input, model.network, model.target
    item = model.read(source, longest, warn=False)
    if not len(item):
        raise ArgumentError(f"a source must have a {kind.noun} or more, but {source!r:.40} has none.")
    # Before ten million items are looked at again.
    check_memory(network, len(item), kind.noun)
    told = tuple(model.warnings_about(source, item))
    for warning in told:
        warnings.warn(warning, stacklevel=2)
    framed = _frame(model, source, item)
    batch = kind.batch(model.encoder, [item]).to(next(network.parameters()).device)
    questions = target.questions
    if questions:
        places = tuple((name, None) for name in questions)
    elif network.pooling is not None:
        places = ((target.subject or "the whole", None),)
    else:
        names = kind.names(model.encoder, source)
        places = tuple((name, number) for number, name in enumerate(names, start=framed.first))

    def predict(output: Tensor) -> Tensor:
        values = target.values(output)
        if questions:
            return torch.stack([1 - values, values], dim=-1)
        return values.unflatten(0, (-1, len(places)))

    classes = ("no", "yes") if questions else target.labels
    return Case(
        model.name,
        network,
        batch,
        network,
        predict,
        "labels" if classes else "numbers",
        framed.names,
        places,
        classes=lambda number: classes[number],
        noun=kind.noun,
        grid=kind.grid(model.encoder, source),
        layers=lambda seen: _layers(network, seen, framed.bounds),
        hide=HideKey if framed.bounds is None else partial(_hide, framed.bounds),
        # A graph's edges have no axis for a batch.
        batched=batch.mask is None,
        note=_UNHIDDEN.format(noun=kind.noun, whole=kind.source_noun) if batch.whole is not None else "",
        input=drawn_input(model, source),
        warnings=tuple(map(str, told)),
        error=None if classes else _error(model.about.get("scores", {})),
    )


def _error(scores: Mapping[str, Any]) -> float | None:
    """The error of a model's numbers on examples that it hasn't seen, of test before dev; None if it isn't known."""
    for split in ("test", "dev"):
        if scores.get(split, {}).get("measure") == "RMSE":
            return float(scores[split]["score"])
    return None


def _hide(bounds: Sequence[int], item: int) -> HideKeys:
    """The change that hides an item, given its number from 1."""
    return HideKeys(bounds[item - 1] + 1, bounds[item])


def _layers(
    network: Any, seen: Seen, bounds: tuple[int, ...] | None
) -> tuple[tuple[LayerRecord, ...], LayerRecord | None]:
    layers, poolings = side_by_side(network, seen)
    found = tuple(
        LayerRecord(f"layer {number}", calls, query_bounds=bounds, key_bounds=bounds)
        for number, calls in enumerate(layers, start=1)
    )
    return found, next((LayerRecord("pooling", calls) for calls in poolings), None)
