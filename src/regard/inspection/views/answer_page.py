"""The answer for a whole source: a label, yes or no for several questions, a number, a text or a sound."""

from collections.abc import Iterator

from regard.inspection.record.record import Record
from regard.page import Block, Page, Prose, Table
from regard.page.numbers import decimals_of, in_decimals, probability

__all__ = ["answer_page"]

_CUT = "cut: it had not ended at the longest that is allowed"


def answer_page(record: Record) -> Page:
    """Show the model's answer for the whole source.

    Example:
        >>> from regard.page import as_text
        >>> print(as_text(answer_page(Record(("a", "warm", "film"), answer=("positive", 0.875)))), end="")
        answer    sure
        positive   88%
        >>> print(as_text(answer_page(Record((), noun="frame"))), end="")
        There is no frame in it, so there is no answer.
    """
    return Page(record.model, tuple(_blocks(record)))


def _blocks(record: Record) -> Iterator[Block]:
    match record.answer:
        case None:
            yield Prose(f"There is no {record.noun} in it, so there is no answer.")
        case dict():
            rows = tuple((question, probability(chance)) for question, chance in record.answer.items())
            yield Table(("question", "yes"), rows, ("left", "right"))
        case (str() as text, float(), bool() as ended):
            yield Prose(text if ended else f"{text} ... ({_CUT})")
        case (sound, bool() as ended, tuple() as begins):
            yield Prose(f"{sound.seconds:.2f} s" + ("" if ended else f" ({_CUT})"))
            # In a sound that was cut, the last items may be missing.
            times = tuple(f"{time:.2f} s" if time < sound.seconds else "not said" for time in begins)
            if times:
                yield Table((record.noun, "begins at"), tuple(zip(record.items, times, strict=True)), ("left", "right"))
        case (label, chance):
            yield Table(("answer", "sure"), ((label, probability(chance)),), ("left", "right"))
        case number:
            error = None if record.outcomes is None else record.outcomes.error
            decimals = None if error is None else decimals_of(error)
            yield Table(("answer",), ((in_decimals(number, 4 if decimals is None else decimals),),))
