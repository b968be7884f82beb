"""How much each item contributes by a method of attribution, on the page of a record: beside its weights, as a part."""

import math
from typing import Any, NamedTuple

from regard.errors import ArgumentError
from regard.inspection.cases.case import Case
from regard.inspection.explain.across_layers import ATTRIBUTIONS, Attribution
from regard.inspection.explain.attributed_items import AttributedItems, attributed_items
from regard.inspection.explain.outcomes import Place
from regard.inspection.record.record import Record
from regard.inspection.views.facts import chosen_place
from regard.page.messages import say
from regard.page.visible import visible

__all__ = ["Attributed", "attributed_of", "meaning_of"]

# Shares, over all predictions, that a page holds; of more those of the prediction that is shown first.
_MOST_SHARES = 2**14


class Attributed(NamedTuple):
    """What a method of attribution gives for some predictions of a record.

    Args:
        method: the method.
        found: for the number of a prediction, from 0, what the method gives for it; that shown first comes first.
    """

    method: Attribution
    found: dict[int, AttributedItems]

    def data(self) -> dict[str, Any]:
        """The same as plain values, for the page."""
        return {
            "name": self.method.name,
            "means": self.method.means,
            "of_answer": is_of_answer(self.method),
            "misleads": self.method.misleads,
            "rows": [
                {
                    "place": place,
                    "title": visible(each.title),
                    "shares": [round(share, 6) if math.isfinite(share) else None for share in each.weights.tolist()],
                }
                for place, each in self.found.items()
            ],
        }


def attributed_of(
    record: Record,
    method: str,
    *,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    case: Case | None = None,
) -> Attributed:
    """What a method gives for the predictions of a record that a page can show: for all, where that takes no time.

    Args:
        record, method, layer, head, case: as in `attributed_items`.
        query: the number of the prediction that is shown first, from 1; None: the one that the story is of.

    Raises:
        UnknownNameError or ArgumentError: as in `attributed_items`.

    Example:
        >>> import regard
        >>> record = regard.load("english-pos").see("I saw a saw .")
        >>> found = attributed_of(record, "rollout", query=4).data()
        >>> found["rows"][0]["place"], found["rows"][0]["title"], len(found["rows"])
        (3, 'Rollout through layers 1-2 of 2', 5)
    """
    if record.outcomes is None:
        raise ArgumentError("`record` must have outcomes, as those of `see` have, but has none.")
    places = range(len(record.outcomes.places))
    first = chosen_place(record, record.outcomes, query)
    # Each gradient is a run of the model.
    is_quick = method != "gradient-weighted" and len(places) * len(record.items) <= _MOST_SHARES
    numbers = dict.fromkeys((first, *(places if is_quick else ())))
    found = {number: attributed_items(record, method, number, layer, head, case) for number in numbers}
    return Attributed(ATTRIBUTIONS[method], found)


def is_of_answer(method: Attribution) -> bool:
    """Whether the numbers of a method are parts of the answer, a number or a probability, which then is told."""
    return method.name == "gradient-weighted"


def meaning_of(method: Attribution, place: Place) -> str:
    """What the numbers of a method are for a prediction, as sentences."""
    if not is_of_answer(method):
        return method.means
    return method.means + say("ofNumber" if place.score is None else "ofProbability", label=place.label)
