"""What a model answered for the whole: a label and how sure it is, several yes or no, a number, a text."""

from regard.inspection.record import Record
from regard.page import Page, Prose, Table
from regard.page.numbers import percent

__all__ = ["answered"]


def answered(record: Record) -> Page:
    """Show the one answer.

    Example:
        >>> from regard.page import as_text
        >>> print(as_text(answered(Record(("a", "warm", "film"), answer=("positive", 0.875)))), end="")
        answer    sure
        positive   88%
        >>> print(as_text(answered(Record((), noun="frame"))), end="")
        There is no frame in it, so there is no answer.
    """
    match record.answer:
        case None:
            block = Prose(f"There is no {record.noun} in it, so there is no answer.")
        case dict():
            rows = tuple((question, percent(share)) for question, share in record.answer.items())
            block = Table(("question", "yes"), rows, ("left", "right"))
        case (str() as text, float(), bool() as ended):
            block = Prose(text if ended else f"{text} ... (cut: it had not ended at the longest that is allowed)")
        case (label, share):
            block = Table(("answer", "sure"), ((label, percent(share)),), ("left", "right"))
        case number:
            block = Table(("answer",), ((f"{number:.4f}",),))
    return Page(record.model, (block,))
