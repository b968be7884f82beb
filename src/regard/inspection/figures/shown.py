"""What a figure shows of a record: one prediction, and the weights of the layer and the head that were chosen."""

from dataclasses import dataclass, replace

import numpy as np

from regard.errors import ArgumentError
from regard.inspection.explain.attributed_items import attributed_items
from regard.inspection.explain.outcomes import Outcomes, Place
from regard.inspection.explain.summaries import Selection, pooled_weights, select_weights
from regard.inspection.figures.weighed import heaviest
from regard.inspection.record.numbered import numbered
from regard.inspection.record.record import LayerRecord, Record
from regard.inspection.views.allowed_keys import allowed_keys
from regard.inspection.views.answered import answered
from regard.inspection.views.facts import chosen_place, place_name
from regard.inspection.views.outcome_text import rounded
from regard.inspection.views.uniform import uniform_over
from regard.page.numbers import probability

__all__ = ["Shown", "shown_of"]


@dataclass(frozen=True, eq=False)
class Shown:
    """One prediction of a record, and whose weights are drawn.

    Args:
        record: the record, which has outcomes; those of a record without them say what was predicted.
        number: the number of the place, from 0.
        layer, head: what was asked for, from 1; None: the last layer or the pooling, the average of the heads.
        asked: whether the place was asked for.
    """

    record: Record
    number: int
    layer: int | None
    head: int | None
    asked: bool

    @property
    def outcomes(self) -> Outcomes:
        """What is predicted."""
        outcomes = self.record.outcomes
        if outcomes is None:
            raise ArgumentError("`record` must have outcomes, but has none.")
        return outcomes

    @property
    def place(self) -> Place:
        """What is predicted for the place."""
        return self.outcomes.places[self.number]

    @property
    def allowed(self) -> int:
        """Over how many items equal weights would be spread; see `allowed_keys`."""
        return allowed_keys(self._weighed(), self.place.query)

    def _weighed(self) -> LayerRecord:
        """The layer whose weights are drawn, or the pooling."""
        select = pooled_weights if self.place.query is None else select_weights
        return select(self.record, self.layer, self.head).layer

    def written(self, weights: np.ndarray) -> list[int]:
        """The items whose weights are written: the largest ones; none if they are about equal, as a sentence says."""
        is_equal = not self._weighed().is_effective and uniform_over(weights.tolist(), self.allowed) > 0
        return [] if is_equal else heaviest(weights)

    @property
    def own(self) -> int | None:
        """The number of the item for which is predicted; None if it is none of those that are attended to."""
        return None if self.record.queries is not None else self.place.query

    @property
    def names(self) -> tuple[str, ...]:
        """The items, numbered where they repeat."""
        return numbered(self.record.items)

    @property
    def answer(self) -> str:
        """What is predicted, with its probability and for what; "" for a vector."""
        place = rounded(self.place, self.outcomes.error)
        if not place.label:
            return ""
        score = "" if place.score is None else f" {probability(place.score)}"
        if place.name == "the whole":
            return f"{place.label}{score}"
        name = place_name(self.record, place)
        return f"{name}{score}" if self.outcomes.form == "generated" else f"{name}: {place.label}{score}"

    def row(self) -> tuple[str, np.ndarray]:
        """Whose weights they are, and the weight of each item."""
        found = attributed_items(self.record, "raw", self.number, self.layer, self.head)
        return found.title, found.weights.double().numpy()

    def selection(self) -> Selection:
        """All weights of the layer and the head; those of the pooling, if there is no layer."""
        if not self.record.layers:
            return pooled_weights(self.record, self.layer, self.head)
        return select_weights(self.record, self.layer, self.head)

    def layers(self) -> tuple[LayerRecord, ...]:
        """The layers whose heads are drawn; the pooling, if there is no other."""
        pooling = self.record.pooling
        return self.record.layers or (() if pooling is None else (pooling,))


def shown_of(record: Record, layer: int | None, head: int | None, query: int | None) -> Shown:
    """What is shown.

    Args:
        record: a record with attention.
        layer, head, query: from 1, as in `story_of`.

    Raises:
        ArgumentError: the record has no attention, or there is no such layer, head or place.
    """
    if not record.layers and record.pooling is None:
        raise ArgumentError("`record` must hold the weights of a layer or of the pooling, but holds none.")
    if not record.items or not record.query_items:
        raise ArgumentError("`record` must hold an item or more, but holds none.")
    if record.outcomes is None:
        record = replace(record, outcomes=answered(record))
    if layer is not None or head is not None:
        select_weights(record, layer, head)  # which checks that they are there
    found = Shown(record, 0, layer, head, query is not None)
    return replace(found, number=chosen_place(record, found.outcomes, query))
