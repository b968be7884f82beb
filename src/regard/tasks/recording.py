"""Records of predictions: the prediction for each source, and the attention weights behind it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from regard.inspection import CapturedAttention, LayerRecord, Record, capture_attention

if TYPE_CHECKING:
    from regard.tasks.model import Model

__all__ = ["MOST_ITEMS", "look"]

# A record holds n x n weights for each head: 2,000 words take 64 MB for each layer of four heads and each member.
MOST_ITEMS = 2000
# The number of weights for one head and layer, in a batch over all members: as many as for one sentence of 500 words.
_MOST_WEIGHTS = 500 * 500


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
    seen = _watched(model, [item for _, item in group if len(item)])
    kind = model.recipe.input
    for source, item in group:
        if not len(item):
            yield Record((), model=model.name, noun=kind.noun, answer=model.answer_of([], None))
            continue
        numbers, layers, pooling = next(seen)
        names = kind.names(model.encoder, source)
        answer = model.answer_of(names, numbers)
        # The prediction for an item is its name, a label or number and, for a label, its probability.
        own = [] if model.network.pooling is not None else answer
        yield Record(
            tuple(names),
            tuple(said if isinstance(said, str) else f"{said:.4g}" for _, said, *_ in own),
            tuple(share for _, _, *shares in own for share in shares),
            layers,
            model.name,
            pooling=pooling,
            answer=answer,
            noun=kind.noun,
            grid=kind.grid(model.encoder, source),
        )


def _watched(
    model: "Model[Any]", items: Sequence[Any]
) -> Iterator[tuple[Tensor, tuple[LayerRecord, ...], LayerRecord | None]]:
    """For each source: the outputs of the network, the weights of its layers, and those of its pooling."""
    if not items:
        return
    members, nothing = model.network.members, nn.Identity()
    few = max(map(len, items)) <= MOST_ITEMS
    with ExitStack() as stack:
        each = [stack.enter_context(capture_attention(member.network if few else nothing)) for member in members]
        # The pooling has one query: its weights are few, however long the source is.
        pooled = [stack.enter_context(capture_attention(member.pooling or nothing)) for member in members]
        numbers = model.numbers(items)
    layers, poolings = _side_by_side(each), _side_by_side(pooled)
    for place, (own, item) in enumerate(zip(numbers, items, strict=True)):
        count = len(item)
        found = (
            _layer(f"layer {number}", sighting, place, count, count) for number, sighting in enumerate(layers, start=1)
        )
        pooling = next((_layer("pooling", sighting, place, 1, count) for sighting in poolings), None)
        yield own, tuple(found), pooling


def _side_by_side(members: Sequence[Sequence[CapturedAttention]]) -> list[CapturedAttention]:
    """Concatenate the heads of all members, layer by layer."""
    return [
        same[0]._replace(weights=torch.cat([each.weights for each in same], dim=1))
        for same in zip(*members, strict=True)
    ]


def _layer(name: str, seen: CapturedAttention, place: int, queries: int, keys: int) -> LayerRecord:
    return LayerRecord(name, seen.weights[place, :, :queries, :keys], seen.source, seen.normaliser)
