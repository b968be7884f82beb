"""What a model predicts for each place of a record whose effects weren't measured."""

from regard.inspection.explain.outcomes import Outcomes, Place
from regard.inspection.record.record import Record
from regard.page.numbers import four_digits

__all__ = ["answered"]


def answered(record: Record) -> Outcomes:
    """The places of a record whose effects weren't measured, from its labels or its answer.

    Example:
        >>> answered(Record(("a", "saw"), ("DET", "NOUN"), (0.75, 0.5))).places[1]
        Place(name='saw', query=1, label='NOUN', score=0.5, likelier=None)
        >>> answered(Record(("a", "film"), answer=("positive", 0.75))).places
        (Place(name='the whole', query=None, label='positive', score=0.75, likelier=None),)
    """
    texts = record.query_items
    if record.labels:
        scores = record.scores or (None,) * len(texts)
        places = [Place(*each) for each in zip(texts, range(len(texts)), record.labels, scores, strict=True)]
        return Outcomes("labels", "item", tuple(places))
    match record.answer:
        case dict():
            found = [Place(name, None, "yes", chance) for name, chance in record.answer.items()]
            return Outcomes("labels", "item", tuple(found))
        case (str() as label, float() as chance):
            return Outcomes("labels", "item", (Place("the whole", None, label, chance),))
        case float() as number:
            return Outcomes("numbers", "item", (Place("the whole", None, four_digits(number), None),))
    generated = record.queries is not None
    found = [Place(text, place, text if generated else "", None) for place, text in enumerate(texts)]
    return Outcomes("labels" if generated else "vectors", "generated" if generated else "item", tuple(found))
