"""What can't be compared of two records, A and B, and why."""

from collections.abc import Iterator, Sequence

from regard.inspection.explain.alignment import Alignment, Pair
from regard.inspection.record.record import Record
from regard.page.messages import say
from regard.page.numbers import counted, plural

__all__ = ["left_out"]


def left_out(first: Record, second: Record, alignment: Alignment) -> Iterator[str]:
    """What can't be compared, and why, in sentences."""
    records = first, second
    match alignment.obstacle:
        case "kinds":
            yield say("differentKinds", one=alignment.kinds[0], other=alignment.kinds[1])
        case "sizes":
            one, other = (counted(len(record.items), record.noun) for record in records)
            yield say("differentSizes", one=one, other=other)
        case "queries":
            yield say("differentQueries")
        case _:
            yield from _alone(alignment.items, (first.noun, second.noun))
            if alignment.queries is not alignment.items:
                yield from _alone(alignment.queries, ("piece", "piece"))
    if len(first.layers) != len(second.layers):
        yield say("otherLayers", count=len(first.layers), other=len(second.layers))
    if first.outcomes is None or second.outcomes is None:
        return
    if first.outcomes.kind != second.outcomes.kind:
        yield say("otherKindsNamed", one=first.outcomes.kind, other=second.outcomes.kind)
    measured = bool(first.outcomes.hidden), bool(second.outcomes.hidden)
    if measured[0] != measured[1]:
        yield say("unmeasured", side="B" if measured[0] else "A")


def _alone(pairs: Sequence[Pair], nouns: tuple[str, str]) -> Iterator[str]:
    counts = [sum(pair[other] is None for pair in pairs) for other in (1, 0)]
    items = [
        say("aloneIn", count=count, noun=noun if count == 1 else plural(noun), side=side)
        for count, noun, side in zip(counts, nouns, "AB", strict=True)
        if count
    ]
    if items:
        yield say("alone", items=say("and").join(items), count=sum(counts))
