"""One thing to learn from: what goes in, and what should come out."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

__all__ = ["Answers", "Example"]

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class Answers(tuple[int | None, ...]):
    """1 or 0, yes or no, for each of several questions, None where nobody measured; and what the questions are called.

    Args:
        answers: one for each question.
        names: of the questions.

    Example:
        >>> found = Answers((1, None), ("toxic", "bitter"))
        >>> found == (1, None), found.names
        (True, ('toxic', 'bitter'))
    """

    names: tuple[str, ...]

    def __new__(cls, answers: Iterable[int | None], names: Iterable[str]) -> "Answers":
        made = super().__new__(cls, answers)
        made.names = tuple(names)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self), self.names


@dataclass(frozen=True, slots=True)
class Example(Generic[_In, _Out]):
    """One thing to learn from: what goes in, and what should come out.

    One class for every kind, because a task needs only the two halves: what the source is, an input encoder knows
    (`Dataset.reads` says which), and what the target is, its own type says.

    | target | what it is |
    |---|---|
    | `str` | a label of the whole, or a text to be written (`Dataset.gives` says which) |
    | `float` | a number |
    | `Sound` | what is to be heard |
    | tuple of `str` or None | a label for each item of the source; None where it isn't to be learned or isn't known |
    | tuple of `float` or None | a number for each item of the source; None where it isn't known |
    | `Answers`, or a tuple of `int` or None | 1 or 0, yes or no, for each question; None where nobody measured |

    Args:
        source: a text, the path of a file, a sound, a picture (height, width), vectors (length, width), a molecule as
            SMILES, or a graph.
        target: what should come out.
        group: what must stay on one side of a split: a speaker, a word, a scaffold; None if nothing must.

    Example:
        >>> Example("a warm , funny , engaging film .", "positive").target
        'positive'
    """

    source: _In
    target: _Out
    group: str | None = None
