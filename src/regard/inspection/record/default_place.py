"""Which prediction of a record is shown if none is asked for."""

import torch

from regard.inspection.explain.outcomes import Outcomes
from regard.inspection.record.record import Record

__all__ = ["default_place"]


def default_place(record: Record, outcomes: Outcomes) -> int:
    """The number of the prediction to show, from 0: `Outcomes.default`, but of a text that was written a telling word.

    Where it wasn't measured which word changes most, the first one is no better than any other, and often an article.
    Then it is the word with the largest weight in the last layer, averaged over the heads: not the last one, which ends
    the text, and no punctuation while there is something else.

    Args:
        record: whose weights.
        outcomes: its predictions, or those that stand for them.

    Example:
        >>> from regard.inspection import LayerRecord, Place
        >>> layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.5, 0.5], [0.1, 0.9], [0.0, 1.0]]]))
        >>> written = ("A", "dog", "(end)")
        >>> places = tuple(Place(text, number, text, 0.9) for number, text in enumerate(written))
        >>> record = Record(("ein", "Hund"), layers=(layer,), queries=written)
        >>> default_place(record, Outcomes("labels", "generated", places))
        1
    """
    if outcomes.form != "generated" or outcomes.hidden or outcomes.chosen is not None or not record.layers:
        return outcomes.default()
    largest = torch.cat([each.mean(0).amax(-1) for each in record.layers[-1].blocks()]).nan_to_num().tolist()
    written = [number for number, place in enumerate(outcomes.places) if place.query is not None]
    words = [each for each in written[:-1] if any(map(str.isalnum, outcomes.places[each].name))] or written[:1]
    return max(words, key=lambda each: largest[outcomes.places[each].query or 0], default=0)
