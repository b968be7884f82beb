"""Which prediction of a record, or of two that are compared, is shown if none is asked for."""

from collections.abc import Sequence

import torch

from regard.inspection.explain.outcomes import Outcomes
from regard.inspection.record.record import Record

__all__ = ["default_place", "most_different_place"]

# A difference of probabilities below this may not change a percentage.
_NOTICED = 0.01
# Where no word of a text that was written changes by as much as this, the weights say more.
_LITTLE_CHANGE = 0.1


def default_place(record: Record, outcomes: Outcomes) -> int:
    """The number of the prediction to show, from 0: that of a word, and not of a mark, which changes most.

    The end of a text that was written is shown only if nothing else was. Where it wasn't measured which word of such a
    text changes most, or none changes much, the first one is no better than any other, and often an article: then it
    is the word with the largest weight in the last layer, averaged over the heads.

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
    if outcomes.chosen is not None:
        return outcomes.chosen
    words = _words(outcomes)
    if outcomes.hidden:
        most = max(words, key=outcomes.largest_change)
        if outcomes.form != "generated" or outcomes.largest_change(most) >= _LITTLE_CHANGE or not record.layers:
            return most
    elif outcomes.form != "generated" or not record.layers:
        return words[0]
    largest = torch.cat([each.mean(0).amax(-1) for each in record.layers[-1].blocks()]).nan_to_num().tolist()
    return max(words, key=lambda each: largest[outcomes.places[each].query or 0])


def most_different_place(
    record: Record, outcomes: tuple[Outcomes, Outcomes], places: Sequence[tuple[int | None, int | None]]
) -> int:
    """The number of the prediction of the first record that another one of the second stands for, or differs most.

    Of marks, such as a full stop, it is one only if no word differs.

    Args:
        record: the first record.
        outcomes: the predictions of both.
        places: the numbers of the predictions that correspond; None where there is no partner.
    """
    default, chosen = default_place(record, outcomes[0]), outcomes[0].chosen
    paired = {one: other for one, other in places if one is not None and other is not None}
    if not paired or (chosen is not None and chosen in paired):
        return default

    def gap(one: int) -> tuple[bool, float]:
        a, b = outcomes[0].places[one], outcomes[1].places[paired[one]]
        scores = a.score or 0.0, b.score or 0.0
        return (True, sum(scores)) if a.label != b.label else (False, abs(scores[0] - scores[1]))

    words = [each for each in _words(outcomes[0]) if each in paired]
    for some in (words, [*paired]):
        most = max(some, key=gap, default=None)
        if most is not None and gap(most) > (False, _NOTICED):
            return most
    return default if default in paired else max(words or [*paired], key=gap)


def _words(outcomes: Outcomes) -> list[int]:
    """The numbers of the predictions for words and other named items; where there are none, for all, or the first.

    The last one of a text that was written, which ends it, is none, if something was written before it.
    """
    numbers = [*range(len(outcomes.places))]
    if outcomes.form == "generated":
        numbers = [each for each in numbers if outcomes.places[each].query is not None][:-1] or numbers
    words = [each for each in numbers if any(map(str.isalnum, outcomes.places[each].name))]
    return words or (numbers[:1] if outcomes.form == "generated" else numbers)
