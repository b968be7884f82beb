"""What a model says, and what it says when an item is hidden or a head removed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from regard.errors import ArgumentError

__all__ = ["Outcome", "Outcomes", "Place", "as_list"]

Kind = Literal["labels", "numbers", "vectors"]
_KEYS = {"kind", "form", "places", "hidden", "removed", "chosen", "note", "error"}
Form = Literal["item", "next", "generated"]


class Place(NamedTuple):
    """Something that the model predicts for.

    Args:
        name: its name: that of an item, "the whole", or a question.
        query: the number of the query from whose output it is predicted, from 0; None if all were pooled, or if it
            isn't known.
        label: what is predicted: a label, a number as text, or "" for a vector.
        score: the probability of the label; None for numbers and vectors.
        likelier: the likeliest piece and its probability, where another one was written: by a search, which looks for
            the likeliest text, or because it was given; None everywhere else.
    """

    name: str
    query: int | None
    label: str
    score: float | None
    likelier: tuple[str, float] | None = None


class Outcome(NamedTuple):
    """What is predicted for a place after a change.

    Args:
        label: the prediction; "" for a vector. Of a text that was written, though the model had likelier pieces: the
            piece that was written, unless the likeliest one changes.
        score: its probability; None for numbers and vectors.
        change: for labels, by how much the probability of the label that was predicted without the change grew; for
            numbers, by how much the number grew; for vectors, the length of the difference divided by that of the
            vector.
        noise_floor: the size that at most 1 in 20 changes as large in random directions exceed
            by chance, see `effects`; None if it wasn't measured.
    """

    label: str
    score: float | None
    change: float
    noise_floor: float | None = None

    @property
    def above_noise(self) -> bool | None:
        """Whether the change is larger than the noise floor; None if that wasn't measured."""
        return None if self.noise_floor is None else abs(self.change) > self.noise_floor


@dataclass(frozen=True)
class Outcomes:
    """The predictions of a model for one input, and those after each change.

    Args:
        kind: what is predicted: "labels", "numbers" or "vectors".
        form: what a place's prediction is of: "item", the item itself or the whole; "next", the item after it;
            "generated", itself, from what was generated before it.
        places: what is predicted for.
        hidden: for each item, the outcomes (one for each place) if it is hidden from all queries; empty if that wasn't
            measured.
        removed: for each of `every_layer` of the record and each of its heads, the outcomes if the head is removed;
            empty if not measured.
        chosen: the number of the place that is shown if none is asked for, from 0; None: the one that changes most.
        note: a sentence about what couldn't be measured; "" if all was.
        error: of numbers, by how much the model is wrong on examples that it hasn't seen: the root of the mean square
            (RMSE); None if that isn't known.

    Raises:
        ArgumentError: sizes that don't match.
    """

    kind: Kind
    form: Form
    places: tuple[Place, ...]
    hidden: tuple[tuple[Outcome, ...], ...] = ()
    removed: tuple[tuple[tuple[Outcome, ...], ...], ...] = ()
    chosen: int | None = None
    note: str = ""
    error: float | None = None

    def __post_init__(self) -> None:
        if not self.places:
            raise ArgumentError("`places` must hold at least one, but is empty.")
        rows = [*self.hidden, *(head for layer in self.removed for head in layer)]
        if any(len(row) != len(self.places) for row in rows):
            raise ArgumentError(f"`hidden` and `removed` must have {len(self.places)} outcomes for each change.")

    def largest_change(self, place: int) -> float:
        """How much the prediction for a place, by its number, changes at most if another item is hidden."""
        # What is generated has places of its own, which aren't those of the items.
        own = None if self.form == "generated" else self.places[place].query
        return max((abs(row[place].change) for item, row in enumerate(self.hidden) if item != own), default=0.0)

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "kind": self.kind,
            "form": self.form,
            "places": [list(place[:4] if place.likelier is None else place) for place in self.places],
            "hidden": _plain(self.hidden),
            "removed": [_plain(layer) for layer in self.removed],
            "chosen": self.chosen,
            "note": self.note,
            "error": self.error,
        }

    @classmethod
    def from_json(cls, saved: Any) -> "Outcomes":
        """Read what `to_json` gave.

        Raises:
            ValueError or TypeError: it is something else.
        """
        # Older files don't tell the model's error.
        if not isinstance(saved, dict) or {*saved, "error"} != _KEYS:
            raise ValueError(f"outcomes must have {', '.join(sorted(_KEYS))}, but are {saved!r:.60}")
        if saved["kind"] not in ("labels", "numbers", "vectors"):
            raise ValueError(f"`kind` must be labels, numbers or vectors, but is {saved['kind']!r:.60}")
        if saved["form"] not in ("item", "next", "generated"):
            raise ValueError(f"`form` must be item, next or generated, but is {saved['form']!r:.60}")
        places = tuple(map(_place, as_list(saved["places"], "`places`")))
        chosen = saved["chosen"]
        if chosen is not None and not 0 <= _whole(chosen) < len(places):
            raise ValueError(f"`chosen` must be the number of a place, but is {chosen!r:.60}")
        removed = tuple(_outcomes(each, "`removed`") for each in as_list(saved["removed"], "`removed`"))
        hidden, note = _outcomes(saved["hidden"], "`hidden`"), _text(saved["note"])
        if (error := saved.get("error")) is not None and not (type(error) is float and 0 <= error < math.inf):
            raise ValueError(f"`error` must be a number from 0 or null, but is {error!r:.60}")
        return cls(saved["kind"], saved["form"], places, hidden, removed, chosen, note, error)


def _plain(rows: Sequence[Sequence[Outcome]]) -> list[Any]:
    return [[_plain_outcome(each) for each in row] for row in rows]


def _plain_outcome(outcome: Outcome) -> list[Any]:
    # JSON has no NaN, so a change that isn't a number is null.
    numbers = [outcome.change] if outcome.noise_floor is None else [outcome.change, outcome.noise_floor]
    return [outcome.label, outcome.score, *(each if math.isfinite(each) else None for each in numbers)]


def as_list(value: Any, name: str = "", size: int | None = None) -> list[Any]:
    """A value of JSON that must be a list.

    Args:
        value: the value.
        name: what the error begins with.
        size: how many entries it must have; None: any number.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(value, list) or size not in (None, len(value)):
        form = "a list" if size is None else f"a list of {size}"
        raise ValueError(f"{name} must be {form}, but is {value!r:.60}".strip())
    return value


def _place(saved: Any) -> Place:
    size = 5 if isinstance(saved, list) and len(saved) == 5 else 4
    name, query, label, score, *rest = as_list(saved, "a place", size)
    likelier = None
    if rest:
        piece, chance = as_list(rest[0], "what is likelier at a place", 2)
        likelier = (_text(piece), _real(chance))
    return Place(_text(name), None if query is None else _whole(query), _text(label), _score(score), likelier)


def _outcomes(rows: Any, name: str) -> tuple[tuple[Outcome, ...], ...]:
    return tuple(tuple(_outcome(each, name) for each in as_list(row, name)) for row in as_list(rows, name))


def _outcome(saved: Any, name: str) -> Outcome:
    # Older records have no noise floor, and so have those for which it wasn't measured.
    size = 4 if isinstance(saved, list) and len(saved) == 4 else 3
    label, score, *numbers = as_list(saved, f"an outcome of {name}", size)
    return Outcome(_text(label), _score(score), *(math.nan if each is None else _real(each) for each in numbers))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a name or a label must be text, but is {value!r:.60}")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"a number of a query or place must be a whole number, but is {value!r:.60}")
    return value


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"a change must be a number, but is {value!r:.60}")
    return float(value)


def _score(value: Any) -> float | None:
    return None if value is None else _real(value)
