"""The heads of a record: the pattern of each, and what is predicted without it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from regard.inspection.explain.outcomes import Outcome
from regard.inspection.explain.patterns import head_patterns
from regard.inspection.record.record import LayerRecord, Record

__all__ = ["RemovedHead", "head_names", "layer_patterns", "removed_heads"]


class RemovedHead(NamedTuple):
    """A head and what is predicted without it.

    Args:
        layer, head: its numbers, from 1.
        pattern: its measured pattern; "" if it has none.
        outcome: the outcome if it is removed.
        attention: of an encoder-decoder whose self-attention was recorded, which layers are counted: "encoder",
            "decoder" or "cross".
    """

    layer: int
    head: int
    pattern: str
    outcome: Outcome
    attention: str = ""

    @property
    def name(self) -> str:
        """Its name in a table, such as "2.4" or "encoder 2.4"."""
        return f"{self.attention} {self.layer}.{self.head}".strip()


def removed_heads(record: Record, place: int) -> Iterator[RemovedHead]:
    """Each head of a record with what is predicted for a place, from 0, without it; none if that wasn't measured."""
    if record.outcomes is None or not record.outcomes.removed:
        return
    rows = iter(record.outcomes.removed)
    several = bool(record.encoder or record.decoder)
    for attention, layers, items, cross in (
        ("encoder", record.encoder, record.items, False),
        ("decoder", record.decoder, record.previous, False),
        ("cross" if several else "", record.layers, record.items, record.queries is not None),
    ):
        for number, layer in enumerate(layers, start=1):
            patterns = layer_patterns(record, number) if layers is record.layers else head_names(layer, items, cross)
            for head, (pattern, row) in enumerate(zip(patterns, next(rows), strict=True), start=1):
                yield RemovedHead(number, head, pattern, row[place], attention)


def layer_patterns(record: Record, number: int) -> list[str]:
    """The pattern of each head of one of `record.layers`, from 1: "removed" of one that the model ran without."""
    found = head_names(record.layers[number - 1], record.items, record.queries is not None)
    return ["removed" if (number, head) in record.without else name for head, name in enumerate(found, start=1)]


def head_names(layer: LayerRecord, items: Sequence[str], cross: bool) -> list[str]:
    """The measured pattern of each head of a layer; "" if it runs step by step."""
    if layer.along == "query" or layer.is_effective:
        return [""] * layer.heads
    # Names of items that are several keys say nothing of single keys.
    names = tuple(items) if layer.key_bounds is None else None
    return [
        "" if head.name == "none" else head.name
        for call in layer.calls
        for head in head_patterns(call, items=names, item=layer.item, cross=cross)
    ]
