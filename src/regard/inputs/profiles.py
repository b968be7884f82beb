"""A person's profile as a vector: numbers standardised, words one-hot."""

import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs.profile_columns import ProfileColumns, read_column
from regard.inputs.saving import checked_list, checked_names
from regard.inputs.standardise import Standardise

__all__ = ["Profile", "ProfileEncoder"]

Profile = Mapping[str, Any]
"""What is known of a person (or of any node): a number or a word under each name, None where nothing is."""


@dataclass(frozen=True)
class ProfileEncoder:
    """How a profile becomes a vector, learned once, so that a new person is encoded alike.

    The vector reads: each number, standardised; for each of those that were missing somewhere in training, 1 if it is
    missing, else 0; for each column of words, a place for every word that was learned. A word that wasn't, or none, is
    all zeros there. A number that is missing is the mean, 0; where none was missing in training, that is all that the
    vector says of it, as nothing could be learned about a place that is always 0.

    Args:
        numbers: the columns that hold numbers.
        standardise: their means and spreads.
        words: the columns that hold words, each with the words that have a place.
        left_out: columns that a profile may have and the vector hasn't, such as the label.
        missing: those of `numbers` that have a place for whether they are missing.

    Raises:
        ArgumentError: parts that don't go together.

    Example:
        >>> people = [{"age": 20, "job": "cook"}, {"age": 40, "job": "smith"}]
        >>> encoder = ProfileEncoder.fit(people)
        >>> encoder.columns
        ('age', 'job: cook', 'job: smith')
        >>> encoder.encode([*people, {"age": None, "job": "nurse"}])
        tensor([[-1.,  1.,  0.],
                [ 1.,  0.,  1.],
                [ 0.,  0.,  0.]])
        >>> ProfileEncoder.fit([*people, {"age": None, "job": "cook"}]).columns
        ('age', 'age is missing', 'job: cook', 'job: smith')

    Source: the notes, 001 "Graph": a person's sex, age, job as a vector.
    """

    numbers: tuple[str, ...]
    standardise: Standardise
    words: tuple[tuple[str, tuple[str, ...]], ...]
    left_out: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.numbers) != self.standardise.width:
            raise ArgumentError(
                f"`standardise` must be {len(self.numbers)} wide, as there are so many `numbers`, "
                f"but is {self.standardise.width}."
            )
        names = [*self.numbers, *(name for name, _ in self.words), *self.left_out]
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise ArgumentError(
                f"`numbers`, `words` and `left_out` must name a column once, but {twice[0]!r} is twice."
            )
        if other := [*{*self.missing} - {*self.numbers}]:
            raise ArgumentError(f"`missing` must name columns of `numbers`, but names {other[0]!r}.")
        if len({*self.missing}) < len(self.missing):
            raise ArgumentError(f"`missing` must name a column once, but is {self.missing!r:.60}.")

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
        return cls.fit_columns(_columns(profiles), leave_out=leave_out)

    @classmethod
    def fit_columns(cls, columns: ProfileColumns, *, leave_out: Collection[str] = ()) -> "ProfileEncoder":
        """What `fit` learns, from what everybody has under each name: a table is read so, and much faster.

        Args:
            columns: for each name the value of each person, in one order; an array of float64 has NaN where nothing is
                known.
            leave_out: as `fit` takes it.

        Raises:
            ArgumentError, UnknownNameError: as `fit` raises them.

        Example:
            >>> ProfileEncoder.fit_columns({"age": [20, None], "job": ["cook", "smith"]}).columns
            ('age', 'age is missing', 'job: cook', 'job: smith')
        """
        for name in leave_out:
            if name not in columns:
                raise UnknownNameError("leave_out", name, columns)
        left_out = {*leave_out}
        missing: list[str] = []
        words: dict[str, set[str]] = {}
        parts: dict[str, Standardise] = {}
        for name, column in columns.items():
            if name in left_out:
                continue
            read = read_column(name, column)
            known = [value for value in read.distinct if value is not None]
            if not any(isinstance(value, float) for value in known):
                words[name] = {str(value) for value in known}
                continue
            values = read.numbers(name)
            if None in read.distinct:
                missing.append(name)
                values = values[~np.isnan(values)]
            parts[name] = Standardise.fit([torch.from_numpy(values)[:, None]])
        return cls(
            tuple(parts),
            Standardise(tuple(part.means[0] for part in parts.values()), tuple(p.spreads[0] for p in parts.values())),
            tuple((name, tuple(sorted(known))) for name, known in words.items()),
            tuple(name for name in columns if name in left_out),
            tuple(missing),
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """What each place of the vector means."""
        missing = tuple(f"{name} is missing" for name in self.missing)
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
        return self.encode_columns(_columns(profiles), len(profiles))

    def encode_columns(self, columns: ProfileColumns, people: int) -> Float[Tensor, "person width"]:
        """What `encode` gives, of what everybody has under each name; a name that isn't there is missing everywhere.

        Args:
            columns: as `fit_columns` takes them.
            people: how many they are.

        Raises:
            UnknownNameError, ArgumentError: as `encode` raises them.

        Example:
            >>> encoder = ProfileEncoder.fit([{"age": 20}, {"age": 40}])
            >>> encoder.encode_columns({"age": [50, None]}, 2)
            tensor([[2.],
                    [0.]])
        """
        known = dict.fromkeys([*self.numbers, *(name for name, _ in self.words), *self.left_out])
        for name in columns:
            if name not in known:
                raise UnknownNameError("profiles", name, known)
        nothing = [None] * people
        # A row for each column, so that each is written in one go.
        numbers = np.zeros((len(self.numbers), people))
        for place, name in enumerate(self.numbers):
            numbers[place] = read_column(name, columns.get(name, nothing)).numbers(name)
        unknown = np.isnan(numbers)
        places = {name: place for place, name in enumerate(self.numbers)}
        missing = torch.from_numpy(unknown[[places[name] for name in self.missing]]).T.float()
        filled = np.where(unknown, np.array(self.standardise.means)[:, None], numbers)
        one_hot = [torch.zeros(people, len(words)) for _, words in self.words]
        for (name, words), part in zip(self.words, one_hot, strict=True):
            read = read_column(name, columns.get(name, nothing))
            if number := [value for value in read.distinct if isinstance(value, float)]:
                raise ArgumentError(f"`profiles` must have a word for {name!r}, but has {number[0]:g}.")
            learned = {word: place for place, word in enumerate(words)}
            found = torch.tensor(
                [learned.get(str(value), -1) if value is not None else -1 for value in read.words()], dtype=torch.int64
            )
            part[found >= 0, found[found >= 0]] = 1
        return torch.cat([self.standardise.apply(torch.from_numpy(filled.T)).float(), missing, *one_hot], dim=1)

    def translated(
        self, vectors: Float[Tensor, "person other"], of: "ProfileEncoder"
    ) -> Float[Tensor, "person width"] | None:
        """The vectors of another encoder as this one makes them; None if the two differ in more than `missing`.

        Models that were saved when every number had a place for whether it is missing go on reading graphs whose
        numbers are all there.

        Args:
            vectors: what the other encoder made.
            of: the other encoder.

        Example:
            >>> new = ProfileEncoder.fit([{"age": 20}, {"age": 40}])
            >>> old = dataclasses.replace(new, missing=("age",))
            >>> old.translated(new.encode([{"age": 50}]), of=new)
            tensor([[2., 0.]])
        """
        if dataclasses.replace(of, missing=self.missing) != self:
            return None
        numbers, flags, words = vectors.split(
            [len(of.numbers), len(of.missing), of.width - len(of.numbers) - len(of.missing)], dim=1
        )
        # Where the other had no such place, nothing was missing, or nothing was said of it.
        missing = torch.zeros(len(vectors), len(self.missing))
        for place, name in enumerate(self.missing):
            if name in of.missing:
                missing[:, place] = flags[:, of.missing.index(name)]
        return torch.cat([numbers, missing, words], dim=1)

    def to_json(self) -> dict[str, Any]:
        """The fields, as JSON holds them."""
        return {
            "numbers": list(self.numbers),
            "standardise": self.standardise.to_json(),
            "words": {name: list(known) for name, known in self.words},
            "left_out": list(self.left_out),
            "missing": list(self.missing),
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "ProfileEncoder":
        """From what `to_json` gave.

        Raises:
            ArgumentError: something is missing, unknown or of the wrong kind.
        """
        if isinstance(saved, dict) and "missing" not in saved and "numbers" in saved:
            # Encoders that were saved before it was told had the place for every number.
            saved = {**saved, "missing": saved["numbers"]}
        saved = checked_names("profile encoder", saved, ["numbers", "standardise", "words", "left_out", "missing"])
        words = saved["words"]
        if not isinstance(words, dict):
            raise ArgumentError(f"`words` must be lists of words under names, but is {words!r:.60}. Save it again.")
        return cls(
            checked_list("numbers", saved["numbers"], str),
            Standardise.from_json(saved["standardise"]),
            tuple((name, checked_list(name, known, str)) for name, known in words.items()),
            checked_list("left_out", saved["left_out"], str),
            checked_list("missing", saved["missing"], str),
        )


def _columns(profiles: Sequence[Profile]) -> dict[str, Sequence[Any]]:
    """What everybody has under each name, in the order in which names come; None where somebody has nothing."""
    names = tuple(dict.fromkeys(name for profile in profiles for name in profile))
    return {name: [profile.get(name) for profile in profiles] for name in names}
