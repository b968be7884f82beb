"""A person's profile as a vector: numbers standardised, words one-hot."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs.saving import checked_list, checked_names
from regard.inputs.standardise import Standardise

__all__ = ["Profile", "ProfileEncoder"]

Profile = Mapping[str, Any]
"""What is known of a person (or of any node): a number or a word under each name, None where nothing is."""

_LARGEST = torch.finfo(torch.float32).max


@dataclass(frozen=True)
class ProfileEncoder:
    """How a profile becomes a vector, learned once, so that a new person is encoded alike.

    The vector reads: each number, standardised; for each of them, 1 if it is missing (it is then the mean, 0), else 0;
    for each column of words, a place for every word that was learned. A word that wasn't, or none, is all zeros there.

    Args:
        numbers: the columns that hold numbers.
        standardise: their means and spreads.
        words: the columns that hold words, each with the words that have a place.
        left_out: columns that a profile may have and the vector hasn't, such as the label.

    Raises:
        ArgumentError: parts that don't go together.

    Example:
        >>> people = [{"age": 20, "job": "cook"}, {"age": 40, "job": "smith"}]
        >>> encoder = ProfileEncoder.fit(people)
        >>> encoder.columns
        ('age', 'age is missing', 'job: cook', 'job: smith')
        >>> encoder.encode([*people, {"age": None, "job": "nurse"}])
        tensor([[-1.,  0.,  1.,  0.],
                [ 1.,  0.,  0.,  1.],
                [ 0.,  1.,  0.,  0.]])

    Source: the notes, 001 "Graph": a person's sex, age, job as a vector.
    """

    numbers: tuple[str, ...]
    standardise: Standardise
    words: tuple[tuple[str, tuple[str, ...]], ...]
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.numbers) != self.standardise.width:
            raise ArgumentError(
                f"`standardise` must be {len(self.numbers)} wide, as there are so many `numbers`, "
                f"but is {self.standardise.width}."
            )
        names = [*self.numbers, *(name for name, _ in self.words), *self.left_out]
        twice = [name for place, name in enumerate(names) if name in names[:place]]
        if twice:
            raise ArgumentError(
                f"`numbers`, `words` and `left_out` must name a column once, but {twice[0]!r} is twice."
            )

    @classmethod
    def fit(cls, profiles: Sequence[Profile], *, leave_out: Collection[str] = ()) -> "ProfileEncoder":
        """Learn the columns, their means and their words from the profiles of the training data.

        Args:
            profiles: of every person. A column that one of them lacks is missing there.
            leave_out: the columns that are no part of the vector, such as the label.

        Raises:
            ArgumentError: a column that holds words and numbers, or something else.
            UnknownNameError: a column to leave out that isn't there.
        """
        columns = dict.fromkeys(name for profile in profiles for name in profile)
        for name in leave_out:
            if name not in columns:
                raise UnknownNameError("leave_out", name, columns)
        numbers: dict[str, list[float]] = {}
        words: dict[str, set[str]] = {}
        for name in columns:
            if name in leave_out:
                continue
            values = [_value(name, profile.get(name)) for profile in profiles]
            known = [value for value in values if value is not None]
            if any(isinstance(value, float) for value in known):
                numbers[name] = [_number(name, value) for value in known]
            else:
                words[name] = {str(value) for value in known}
        parts = [Standardise.fit([torch.tensor(values, dtype=torch.float64)[:, None]]) for values in numbers.values()]
        return cls(
            tuple(numbers),
            Standardise(tuple(part.means[0] for part in parts), tuple(part.spreads[0] for part in parts)),
            tuple((name, tuple(sorted(known))) for name, known in words.items()),
            tuple(name for name in columns if name in leave_out),
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """What each place of the vector means."""
        missing = tuple(f"{name} is missing" for name in self.numbers)
        return self.numbers + missing + tuple(f"{name}: {word}" for name, known in self.words for word in known)

    @property
    def width(self) -> int:
        """The size of a vector."""
        return len(self.columns)

    def encode(self, profiles: Sequence[Profile]) -> Float[Tensor, "person width"]:
        """The vector of each person.

        Raises:
            UnknownNameError: a column that wasn't learned.
            ArgumentError: a word where a number has to be or the other way round, or a number too far out.
        """
        names = [*self.numbers, *(name for name, _ in self.words), *self.left_out]
        for profile in profiles:
            for name in profile:
                if name not in names:
                    raise UnknownNameError("profiles", name, names)
        numbers = torch.tensor(self.standardise.means, dtype=torch.float64).repeat(len(profiles), 1)
        missing = torch.zeros(len(profiles), len(self.numbers))
        one_hot = torch.zeros(len(profiles), sum(len(known) for _, known in self.words))
        places = {}
        for name, known in self.words:
            places |= {(name, word): len(places) + place for place, word in enumerate(known)}
        for row, profile in enumerate(profiles):
            for column, name in enumerate(self.numbers):
                value = _value(name, profile.get(name))
                if value is None:
                    missing[row, column] = 1
                else:
                    numbers[row, column] = _number(name, value)
            for name, _ in self.words:
                value = _value(name, profile.get(name))
                if isinstance(value, float):
                    raise ArgumentError(f"`profiles` must have a word for {name!r}, but has {value:g}.")
                if (name, value) in places:
                    one_hot[row, places[name, value]] = 1
        return torch.cat([self.standardise.apply(numbers).float(), missing, one_hot], dim=1)

    def to_json(self) -> dict[str, Any]:
        """The fields, as JSON holds them."""
        return {
            "numbers": list(self.numbers),
            "standardise": self.standardise.to_json(),
            "words": {name: list(known) for name, known in self.words},
            "left_out": list(self.left_out),
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "ProfileEncoder":
        """From what `to_json` gave.

        Raises:
            ArgumentError: something is missing, unknown or of the wrong kind.
        """
        saved = checked_names("profile encoder", saved, ["numbers", "standardise", "words", "left_out"])
        words = saved["words"]
        if not isinstance(words, dict):
            raise ArgumentError(f"`words` must be lists of words under names, but is {words!r:.60}. Save it again.")
        return cls(
            checked_list("numbers", saved["numbers"], str),
            Standardise.from_json(saved["standardise"]),
            tuple((name, checked_list(name, known, str)) for name, known in words.items()),
            checked_list("left_out", saved["left_out"], str),
        )


def _value(name: str, value: Any) -> str | float | None:
    """What a profile holds under a name: a word, a number as float, or None; an empty word is None."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"`profiles` must hold numbers and words, but {name!r} is {value!r:.60}.") from None
    if not math.isfinite(number) or abs(number) > _LARGEST:
        raise ArgumentError(
            f"`profiles` must hold numbers that float32 can hold, but {name!r} is {number}. What isn't known is None."
        )
    return number


def _number(name: str, value: str | float) -> float:
    if isinstance(value, str):
        raise ArgumentError(
            f"`profiles` must have a number for {name!r}, as others have, but has the word {value!r:.60}. "
            "What isn't known is None."
        )
    return value
