"""Changes of attention: make a head uniform, hide a key or a pair, scale the temperature, or several.

A change is written in the terms of the operator, so it holds for every score, normaliser, mask and position. Its memory
is linear where that of the call is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.attention import Bias, Dot, Softmax, attend
from regard.attention.masks import Pairs, as_mask
from regard.attention.positions import POSITIONS, Both
from regard.errors import ArgumentError
from regard.inspection.capture.by_hand.rules import AsScores
from regard.inspection.capture.call import AttentionCall
from regard.inspection.explain.change_parts import Hidden, Scaled, Where, Zeroed
from regard.inspection.record.seen import Seen
from regard.inspection.record.seen_layer import SeenLayer

__all__ = [
    "Change",
    "HideKey",
    "HideKeys",
    "HidePair",
    "Layer",
    "Temperature",
    "Together",
    "UniformHead",
    "UniformRow",
    "can_be_hidden_from",
    "is_expressed_by_parts",
    "place_text",
    "unchanged_parts",
]


Layer = int | str | tuple[int | str, ...]


@dataclass(frozen=True)
class Change:
    """A change of the heads of some calls of attention.

    Layers, heads, queries and keys are counted from 1, and None stands for all. Layers are counted in the order in
    which they run; a layer may be given by the name of its module too, or of a module around it, and several layers as
    a tuple. Queries and keys are counted as the model sees them, special tokens and padding included.
    """

    numbers: ClassVar[tuple[str, ...]] = ("head", "query", "key")

    def __post_init__(self) -> None:
        for name in ("layer", *self.numbers):
            number = getattr(self, name, None)
            several = number if name == "layer" and isinstance(number, tuple) and number else (number,)
            if number is None or all(_is_number(each) or (name == "layer" and _is_name(each)) for each in several):
                continue
            kinds = "a number from 1, the name of a module or a tuple of them" if name == "layer" else "a number from 1"
            raise ArgumentError(f"`{name}` of {type(self).__name__} must be {kinds}, but is {number!r}.")

    @property
    def members(self) -> "tuple[Change, ...]":
        """The changes of single places that it is made of, in their order."""
        return (self,)

    @property
    def is_drawn(self) -> bool:
        """Whether chance decides what it puts in, so that its effect is an average over draws."""
        return False

    @property
    def needs_all_queries(self) -> bool:
        """Whether it names a query, or makes the outputs for one of those for others."""
        return getattr(self, "query", None) is not None

    def draws(self, others: tuple[Seen, ...] | None, count: int, seed: int) -> "tuple[Change, ...]":
        """The changes that are measured for this one: those of `count` draws if it is drawn, otherwise itself.

        Args:
            others: what was seen of other inputs; None: the change holds it itself.
            count: how many draws there are.
            seed: of the draws.
        """
        return (self,)

    def in_layer(self, number: int, name: str) -> bool:
        """Whether the change is one of this layer."""
        layer: Layer | None = getattr(self, "layer", None)
        several = layer if isinstance(layer, tuple) else (layer,)
        return any(
            each is None or each == number or (isinstance(each, str) and f"{name}.".startswith(f"{each}."))
            for each in several
        )

    def where(self, item: int | None = None) -> Where:
        """The pairs that change, in one item of the batch or in all."""
        numbers = {name: getattr(self, name, None) for name in self.numbers}
        return Where(item, **{name: None if each is None else each - 1 for name, each in numbers.items()})

    def missing(self, call: AttentionCall | SeenLayer) -> str:
        """The first of `numbers` that the call doesn't have; "" if it has all."""
        sizes = (call.query.shape[1], call.query.shape[2], call.key.shape[2])
        given = ((name, getattr(self, name, None), size) for name, size in zip(self.numbers, sizes, strict=True))
        return next((name for name, number, size in given if number is not None and number > size), "")

    def parts(self, call: AttentionCall, where: Where) -> dict[str, Any] | None:
        """The parts that the call has then; None if no parts express the change, and `heads` does."""
        return None

    def heads(self, call: AttentionCall, outputs: Tensor, where: Where) -> Tensor:
        """The outputs (batch, head, query, feature) then, given those of the parts."""
        return outputs


@dataclass(frozen=True)
class Together(Change):
    """Several changes at once, such as the removal of a group of heads, or of words.

    Args:
        changes: the changes, which are applied in their order. Those that are drawn take the same other input.

    Raises:
        ArgumentError: there are none, or something else is among them.

    Example:
        >>> print(Together((HideKey(2, head=1), HideKey(3))))
        hide key 2 in head 1 of all layers and hide key 3 in all heads of all layers
    """

    changes: tuple[Change, ...]

    def __post_init__(self) -> None:
        changes = tuple(self.changes) if isinstance(self.changes, Sequence) else (self.changes,)
        if not changes or not all(isinstance(each, Change) for each in changes):
            raise ArgumentError(f"`changes` of Together must hold changes such as HideKey(3), but is {self.changes!r}.")
        object.__setattr__(self, "changes", changes)

    @property
    def members(self) -> tuple[Change, ...]:
        """The changes of single places that it is made of, in their order."""
        return tuple(member for each in self.changes for member in each.members)

    @property
    def is_drawn(self) -> bool:
        """Whether one of them is."""
        return any(each.is_drawn for each in self.changes)

    def draws(self, others: tuple[Seen, ...] | None, count: int, seed: int) -> tuple[Change, ...]:
        """See `Change`."""
        if not self.is_drawn:
            return (self,)
        drawn = [each.draws(others, count, seed) for each in self.changes]
        return tuple(Together(tuple(each[number % len(each)] for each in drawn)) for number in range(count))

    def __str__(self) -> str:
        *first, last = map(str, self.changes)
        return f"{', '.join(first)} and {last}" if first else last


@dataclass(frozen=True)
class _Uniform(Change):
    def parts(self, call: AttentionCall, where: Where) -> dict[str, Any] | None:
        parts = _rule(call, self)
        if _is_softmax(parts.get("weights", "softmax")):
            return {**parts, "position": _then(parts.get("position"), Zeroed(where))}
        return None

    def heads(self, call: AttentionCall, outputs: Tensor, where: Where) -> Tensor:
        if _is_softmax(call.parts.get("weights", "softmax")) or isinstance(call.parts["weights"], AsScores):
            return outputs
        # For other normalisers equal scores needn't give weights that sum to 1.
        position = _then(call.parts.get("position"), Zeroed(where))
        parts = {**call.parts, "weights": "softmax", "position": position}
        uniform = attend(call.query, call.key, call.value, **parts, dropout=call.dropout)
        return torch.where(where.rows(outputs), uniform, outputs)


@dataclass(frozen=True)
class UniformHead(_Uniform):
    """Give equal weights, in one head, to all keys that a query may attend to; see `Change` for the arguments."""

    layer: Layer | None
    head: int | None

    def __str__(self) -> str:
        return f"make {place_text(self.layer, self.head)} uniform"


@dataclass(frozen=True)
class UniformRow(_Uniform):
    """Give equal weights to all keys that one query may attend to; see `Change` for the arguments."""

    query: int
    layer: Layer | None = None
    head: int | None = None

    def __str__(self) -> str:
        return f"make query {self.query} uniform in {place_text(self.layer, self.head)}"


@dataclass(frozen=True)
class _Hide(Change):
    def parts(self, call: AttentionCall, where: Where) -> dict[str, Any] | None:
        parts = _rule(call, self)
        hidden, mask = Hidden(where), parts.get("mask")
        return {**parts, "mask": hidden if mask is None else as_mask(mask) & hidden}


@dataclass(frozen=True)
class HideKey(_Hide):
    """Hide a key from all queries; see `Change` for the arguments."""

    key: int
    layer: Layer | None = None
    head: int | None = None

    def __str__(self) -> str:
        return f"hide key {self.key} in {place_text(self.layer, self.head)}"


@dataclass(frozen=True)
class HideKeys(_Hide):
    """Hide several keys that follow each other, such as the frames of a word that was spoken, from all queries.

    Args:
        first, last: the first key and the last one.
        layer, head: see `Change`.

    Raises:
        ArgumentError: a number is below 1, or the last key comes before the first.
    """

    numbers: ClassVar[tuple[str, ...]] = ("head", "first", "last")

    first: int
    last: int
    layer: Layer | None = None
    head: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.last < self.first:
            raise ArgumentError(f"`last` of HideKeys must be {self.first} or more, as `first` is, but is {self.last}.")

    def where(self, item: int | None = None) -> Where:
        """The pairs that change, in one item of the batch or in all."""
        return Where(item, None if self.head is None else self.head - 1, key=range(self.first - 1, self.last))

    def missing(self, call: AttentionCall | SeenLayer) -> str:
        """The first of `numbers` that the call doesn't have; "" if it has all."""
        if self.head is not None and self.head > call.query.shape[1]:
            return "head"
        keys = call.key.shape[2]
        return "first" if self.first > keys else "last" if self.last > keys else ""

    def __str__(self) -> str:
        return f"hide keys {self.first} to {self.last} in {place_text(self.layer, self.head)}"


@dataclass(frozen=True)
class HidePair(_Hide):
    """Hide a key from one query; see `Change` for the arguments."""

    query: int
    key: int
    layer: Layer | None = None
    head: int | None = None

    def __str__(self) -> str:
        return f"hide key {self.key} from query {self.query} in {place_text(self.layer, self.head)}"


@dataclass(frozen=True)
class Temperature(Change):
    """Divide the scores, biases included, by a number before they are normalised.

    Args:
        factor: above 0. Below 1 it sharpens the weights, above 1 it flattens them.
        layer, head: see `Change`.

    Raises:
        ArgumentError: the factor isn't above 0.
    """

    factor: float
    layer: Layer | None = None
    head: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        right = isinstance(self.factor, int | float) and not isinstance(self.factor, bool)
        if not right or not 0 < self.factor < math.inf:
            raise ArgumentError(f"`factor` of Temperature must be a number above 0, but is {self.factor!r}.")

    def parts(self, call: AttentionCall, where: Where) -> dict[str, Any] | None:
        parts = _rule(call, self)
        return {**parts, "position": _then(parts.get("position"), Scaled(where, 1 / self.factor))}

    def __str__(self) -> str:
        return f"temperature x {self.factor:g} in {place_text(self.layer, self.head)}"


def is_expressed_by_parts(change: Change, call: AttentionCall) -> bool:
    """Whether the parts of a call express a change."""
    return change.parts(call, change.where()) is not None


def can_be_hidden_from(layer: AttentionCall | SeenLayer) -> bool:
    """Whether keys can be hidden in a layer: not if its weights are a table that no softmax made."""
    table = layer.parts.get("weights")
    return not isinstance(table, AsScores) or (table.normaliser == "softmax" and not layer.dropout)


def unchanged_parts(call: AttentionCall) -> dict[str, Any]:
    """Parts that say the same as those of a call in the form that changes have, to see their rounding error."""
    nowhere = Where(key=-1)
    mask = as_mask(call.parts.get("mask")) & Hidden(nowhere)
    return {**call.parts, "mask": mask, "position": _then(call.parts.get("position"), Scaled(nowhere, 1.0))}


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def place_text(layer: Layer | None, head: int | None) -> str:
    """The heads of a change, in words."""
    several = isinstance(layer, tuple)
    where = "all layers" if layer is None else f"layers {', '.join(map(str, layer))}" if several else f"layer {layer}"
    return f"all heads of {where}" if head is None else f"head {head} of {where}"


def _is_softmax(normaliser: Any) -> bool:
    return normaliser == "softmax" if isinstance(normaliser, str) else isinstance(normaliser, Softmax)


def _then(position: Any, last: Any) -> Any:
    """The position scheme, and then another one."""
    if isinstance(position, str):
        position = POSITIONS[position]()
    position = position.part() if hasattr(position, "part") else position
    return last if position is None else Both(position, last)


def _rule(call: AttentionCall, change: Change) -> dict[str, Any]:
    """The parts, in which a table of the weights of a softmax is one of scores, which can be changed.

    Raises:
        ArgumentError: it is a table of weights that are made in another way.
    """
    table = call.parts.get("weights")
    if not isinstance(table, AsScores):
        return call.parts
    if not can_be_hidden_from(call):
        raise ArgumentError(
            f"{change} can't be computed: the weights of this layer follow no known rule, and how they would change "
            "isn't known. Heads can be removed."
        )
    weights: Tensor = call.parts["position"].table
    shown = weights > 0
    scores = torch.where(shown, weights, 1.0).float().log()
    return {"score": Dot(), "weights": "softmax", "mask": Pairs(shown), "position": Bias(scores)}
