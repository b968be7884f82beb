"""The encoder of profiles (the attributes of a person or any node) as vectors: numbers standardised, words one-hot."""

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
from regard.inputs.graph.profile_columns import ProfileColumns, read_column
from regard.inputs.saved import checked_list, checked_names
from regard.inputs.standardise import Standardise

__all__ = ["Profile", "ProfileEncoder"]

Profile = Mapping[str, Any]
"""The attributes of a person (or of any node): a number or a word for each name, None if it is missing."""


@dataclass(frozen=True)
class ProfileEncoder:
    """Encodes profiles as vectors, as fitted on the training data.

    The vector consists of the standardised numbers; for each number that was missing in some training profile, a flag
    that is 1 if it is missing; and a one-hot code for each column of words. An unknown or missing word is all zeros. A
    missing number becomes the mean, 0. It has no flag if it was never missing in training, because nothing could be
    learned about a feature that is always 0.

    Args:
        numbers: the columns that hold numbers.
        standardise: their means and standard deviations.
        words: the columns that hold words, each with its known words.
        left_out: columns that a profile may have but that aren't in the vector, such as the label.
        missing: those of `numbers` that have a flag for missing values.

    Raises:
        ArgumentError: arguments that don't match.

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
                f"`standardise` must be {len(self.numbers)} wide, the number of `numbers`, "
                f"but is {self.standardise.width}."
            )
        names = [*self.numbers, *(name for name, _ in self.words), *self.left_out]
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise ArgumentError(
                f"`numbers`, `words` and `left_out` must name a column once, but {twice[0]!r:.60} is twice."
            )
        if other := [*{*self.missing} - {*self.numbers}]:
            raise ArgumentError(f"`missing` must name columns of `numbers`, but names {other[0]!r:.60}.")
        if len({*self.missing}) < len(self.missing):
            raise ArgumentError(f"`missing` must name a column once, but is {self.missing!r:.60}.")

    @classmethod
    def fit(cls, profiles: Sequence[Profile], *, leave_out: Collection[str] = ()) -> "ProfileEncoder":
        """Fit the encoder to the profiles of the training data.

        Args:
            profiles: the profile of every person; attributes that a profile lacks are missing values.
            leave_out: the columns that aren't part of the vector, such as the label.

        Raises:
            ArgumentError: a column that holds words and numbers, or something else.
            UnknownNameError: a column to leave out that doesn't exist.
        """
        return cls.fit_columns(_columns(profiles), leave_out=leave_out)

    @classmethod
    def fit_columns(cls, columns: ProfileColumns, *, leave_out: Collection[str] = ()) -> "ProfileEncoder":
        """Fit the encoder to columns, as a table is read; this is much faster than `fit`.

        Args:
            columns: the columns by name, each with the value of every person in the same order; in a float64 array NaN
                is missing.
            leave_out: as in `fit`.

        Raises:
            ArgumentError, UnknownNameError: as in `fit`.

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
            known = [value for value in read.unique if value is not None]
            if not any(isinstance(value, float) for value in known):
                words[name] = {str(value) for value in known}
                continue
            values = read.numbers(name)
            if None in read.unique:
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
        """The name of each feature of the vector."""
        missing = tuple(f"{name} is missing" for name in self.missing)
        return self.numbers + missing + tuple(f"{name}: {word}" for name, known in self.words for word in known)

    @property
    def width(self) -> int:
        """The size of a vector."""
        return len(self.columns)

    def encode(self, profiles: Sequence[Profile]) -> Float[Tensor, "person width"]:
        """The vector of each person.

        Raises:
            UnknownNameError: an unknown column.
            ArgumentError: a word in a column of numbers or the reverse, or a number too large.
        """
        return self.encode_columns(_columns(profiles), len(profiles))

    def encode_columns(self, columns: ProfileColumns, people: int) -> Float[Tensor, "person width"]:
        """The vector of each person, from columns; a column that isn't given is missing for all people.

        Args:
            columns: as in `fit_columns`.
            people: the number of people.

        Raises:
            UnknownNameError, ArgumentError: as in `encode`.

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
        all_missing = [None] * people
        # Transposed, so that each column is written at once.
        numbers = np.zeros((len(self.numbers), people))
        for index, name in enumerate(self.numbers):
            numbers[index] = read_column(name, columns.get(name, all_missing)).numbers(name)
        unknown = np.isnan(numbers)
        indices = {name: index for index, name in enumerate(self.numbers)}
        missing = torch.from_numpy(unknown[[indices[name] for name in self.missing]]).T.float()
        filled = np.where(unknown, np.array(self.standardise.means)[:, None], numbers)
        one_hot = [torch.zeros(people, len(words), device="cpu") for _, words in self.words]
        for (name, words), part in zip(self.words, one_hot, strict=True):
            read = read_column(name, columns.get(name, all_missing))
            if number := [value for value in read.unique if isinstance(value, float)]:
                raise ArgumentError(f"`profiles` must have a word for {name!r}, but has {number[0]:g}.")
            learned = {word: index for index, word in enumerate(words)}
            ids = [learned.get(str(value), -1) if value is not None else -1 for value in read.words()]
            known = torch.tensor(ids, dtype=torch.int64, device="cpu")
            part[known >= 0, known[known >= 0]] = 1
        return torch.cat([self.standardise.apply(torch.from_numpy(filled.T)).float(), missing, *one_hot], dim=1)

    def translated(
        self, vectors: Float[Tensor, "person other"], of: "ProfileEncoder"
    ) -> Float[Tensor, "person width"] | None:
        """Convert the vectors of another encoder to those of this one; None if they differ in more than `missing`.

        In models of earlier versions every number has a flag for missing values. With this conversion they can read
        graphs whose numbers are complete.

        Args:
            vectors: the vectors of the other encoder.
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
        # If the other encoder has no flag for a number, no value was missing when it was fitted.
        missing = torch.zeros(len(vectors), len(self.missing), device=vectors.device)
        for index, name in enumerate(self.missing):
            if name in of.missing:
                missing[:, index] = flags[:, of.missing.index(name)]
        return torch.cat([numbers, missing, words], dim=1)

    def to_json(self) -> dict[str, Any]:
        """The fields as a JSON object."""
        return {
            "numbers": list(self.numbers),
            "standardise": self.standardise.to_json(),
            "words": {name: list(known) for name, known in self.words},
            "left_out": list(self.left_out),
            "missing": list(self.missing),
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "ProfileEncoder":
        """The encoder of the JSON object that `to_json` returned.

        Raises:
            ArgumentError: something is missing, unknown or of the wrong type.
        """
        if isinstance(saved, dict) and "missing" not in saved and "numbers" in saved:
            # Encoders of earlier versions have a flag for every number, and don't save this field.
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
    """Profiles as columns, in the order of the attributes' first occurrence, with None for missing values."""
    names = tuple(dict.fromkeys(name for profile in profiles for name in profile))
    return {name: [profile.get(name) for profile in profiles] for name in names}
