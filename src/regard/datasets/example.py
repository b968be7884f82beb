"""An example: a source and its target."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

__all__ = ["BinaryLabels", "Example"]

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class BinaryLabels(tuple[int | None, ...]):
    """A multi-label target: 1 or 0 (yes or no) for each of several questions, None if unknown; with their names.

    Args:
        answers: the answer to each question.
        names: the names of the questions.

    Example:
        >>> found = BinaryLabels((1, None), ("toxic", "bitter"))
        >>> found == (1, None), found.names
        (True, ('toxic', 'bitter'))
    """

    names: tuple[str, ...]

    def __new__(cls, answers: Iterable[int | None], names: Iterable[str]) -> "BinaryLabels":
        made = super().__new__(cls, answers)
        made.names = tuple(names)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self), self.names


@dataclass(frozen=True, slots=True)
class Example(Generic[_In, _Out]):
    """An example: a source and its target.

    One class serves all kinds of data: the input encoder knows what the source is (see `Dataset.modality`), and the
    type of the target says what it is.

    | target | what it is |
    |---|---|
    | `str` | a label of the source, or a target text (`Dataset.target_type` says which) |
    | `float` | a number |
    | `Sound` | a sound to synthesise |
    | tuple of `str` or None | a label for each item of the source; None if it is unknown or belongs to another split |
    | tuple of `float` or None | a number for each item of the source; None if it is unknown |
    | `BinaryLabels`, or a tuple of `int` or None | 1 or 0 (yes or no) for each question; None if it is unknown |

    Args:
        source: a text, the path of a file, a sound, a picture (height, width), vectors (length, width), a molecule as
            SMILES, or a graph.
        target: the target.
        group: the group, whose examples must not be separated by a split: a speaker, a word, a scaffold; None for none.

    Example:
        >>> Example("a warm , funny , engaging film .", "positive").target
        'positive'
    """

    source: _In
    target: _Out
    group: str | None = None
