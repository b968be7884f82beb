"""Activation patching on the page of a comparison: what each head and position of A brings back in the run of B."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection.cases.case import Case
from regard.inspection.explain.patched_cases import patch_cases
from regard.inspection.explain.patching import Patching
from regard.inspection.explain.see import MOST_CHANGES
from regard.inspection.record.numbered import numbered
from regard.inspection.views.comparison import RecordDifference
from regard.inspection.views.facts import place_name
from regard.page import Block, Heading, Prose, Table
from regard.page.messages import say
from regard.page.visible import visible

__all__ = ["Patched", "patched_of"]


# The least difference of the answers, as that of the logarithms of their probabilities: a quarter more or less.
_LEAST = 0.25


class Patched(NamedTuple):
    """The patches of one prediction, from the run of A into that of B.

    Args:
        patching: the effects, as `patch_cases` measures them with A as the clean input.
        name: what is predicted, such as "saw (4)".
        items: the names of the queries of B, which are the positions.
        noun: the name of an item.

    Example:
        >>> from regard.inspection.explain.effect import Effect
        >>> from regard.inspection.explain.head_changes import RemoveHead
        >>> effect = Effect(RemoveHead(1, 1), -1.0, 0.5)
        >>> patching = Patching("denoising", -1.0, 2.0, ("a",), ((effect, effect),), ((effect, effect),))
        >>> found = Patched(patching, "b", ("a", "b"))
        >>> found.blocks()[2].rows, found.data()["positions"]
        ((('1', '50%', '50%'),), [[0.5, 0.5]])
    """

    patching: Patching
    name: str
    items: Sequence[str]
    noun: str = "item"

    def blocks(self) -> list[Block]:
        """The tables, for a terminal and for a browser without scripts."""
        heads, positions = self.patching.head_shares, self.patching.position_shares
        # What replaces everything gives everything back, which is no finding.
        if heads.numel() == positions.numel() == 1:
            return []
        layers = [f"layer {number}" for number in range(1, len(heads) + 1)]
        of_heads = [f"head {number}" for number in range(1, heads.shape[1] + 1)]
        means = say("patchedMeans", name=visible(self.name))
        of_positions = _table(self.noun, layers, [visible(each) for each in self.items], positions.T)
        # Of the only head of a model its number would be no finding.
        if heads.numel() == 1:
            return [Heading(say("patched")), Prose(f"{means} {say('patchedPositions')}"), of_positions]
        return [
            Heading(say("patched")),
            Prose(f"{means} {say('patchedHeads')}"),
            _table("layer", of_heads, [str(number) for number in range(1, len(heads) + 1)], heads),
            Prose(say("patchedPositions")),
            of_positions,
        ]

    def data(self) -> dict[str, Any]:
        """The same as plain values, for the page."""
        return {
            "name": visible(self.name),
            "items": [visible(each) for each in self.items],
            "heads": _plain(self.patching.head_shares),
            "positions": _plain(self.patching.position_shares),
        }


def patched_of(found: RecordDifference, first: Case, second: Case) -> Patched | None:
    """The patches from one case into another, of the prediction that a comparison shows.

    Args:
        found: the comparison of the records of both.
        first, second: the cases.

    Returns:
        None where there is nothing to patch: two models, inputs of different lengths, other predictions, answers that
        are nearly the same, or more patches than `see` measures unasked.

    Example:
        >>> import regard
        >>> from regard.inspection import comparison_of, see
        >>> from regard.tasks.recording import case_of
        >>> tagger = regard.load("english-pos")
        >>> cases = [case_of(tagger, ["I", "saw", word, "saw", "."]) for word in ("a", "you")]
        >>> found = patched_of(comparison_of(*map(see, cases), query=4), *cases)
        >>> found.name, found.data()["heads"][1][0] > 0.3
        ('saw (4)', True)
    """
    record, other = found.records
    place, outcomes = found.places[0], other.outcomes
    same = first.module is second.module and len(record.items) == len(other.items)
    if not same or outcomes is None or record.queries is not None or place is None or place != found.places[1]:
        return None
    layers = [*record.every_layer, *([] if record.pooling is None else [record.pooling])]
    if sum(each.heads + each.shape[0] for each in layers) > MOST_CHANGES:
        return None
    try:
        patching = patch_cases(first, second, place=place)
    except ArgumentError:
        # The two predict the same, or their lengths differ behind the same number of items.
        return None
    # Of a difference of next to nothing every share is large.
    if abs(patching.source - patching.target) < (_LEAST if first.kind == "labels" else 0.0):
        return None
    count = patching.position_shares.shape[1]
    names = numbered(other.items) if count == len(other.items) else tuple(map(str, range(1, count + 1)))
    return Patched(patching, place_name(other, outcomes.places[place]), names, other.noun)


def _table(first: str, columns: Sequence[str], rows: Sequence[str], shares: Tensor) -> Table:
    body = tuple((row, *map(_share, own)) for row, own in zip(rows, shares.tolist(), strict=True))
    return Table((first, *columns), body, ("left", *["right" for _ in columns]))


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{round(100 * value) + 0}%"


def _plain(shares: Tensor) -> list[list[float | None]]:
    return [[None if math.isnan(each) else round(each, 4) for each in row] for row in shares.tolist()]
