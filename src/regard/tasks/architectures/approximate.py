"""Approximations of attention as a recipe describes them: a name, and one size."""

import dataclasses
import functools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

from regard.attention import INPUT_POSITIONS
from regard.errors import ArgumentError
from regard.modules import APPROXIMATIONS, PerLayer
from regard.modules.efficient import validation
from regard.modules.projections import PROJECTIONS
from regard.tasks.architectures.architecture import Part
from regard.tasks.settings import Settings

__all__ = ["Approximate", "Conflict"]

_FIXED: Mapping[str, tuple[Any, str]] = {
    "score": validation.FIXED["score"],
    "weights": validation.FIXED["weights"],
    "attention_dropout": validation.FIXED["dropout"],
}
"""The fields of a recipe that can't be changed for an approximation: name -> (value, why)."""


class Conflict(NamedTuple):
    """A field of a recipe that an approximation can't have.

    Args:
        field: its name, with a dot if it is of a section.
        problem: what it must be, why, and what it is, as a sentence.
        value: a value that the approximation can have.
    """

    field: str
    problem: str
    value: Any


@dataclass(frozen=True)
class Approximate(Part):
    """What stands in for exact attention.

    Args:
        approximation: a name in `APPROXIMATIONS`; "none" for exact attention.
        approximation_size: of an approximation with a size; None for its default.
        max_length: of an approximation that learns tables by position: the number of items of the longest source.
    """

    approximation: str
    approximation_size: int | None
    max_length: int | None

    @classmethod
    def ignored(cls, values: Mapping[str, Any]) -> Collection[str]:
        made = APPROXIMATIONS.get(values["approximation"])
        size = made is not None and made.size_argument is not None
        length = made is not None and "max_length" in signature(made).parameters
        return [name for name, has in (("approximation_size", size), ("max_length", length)) if not has]

    def build(self) -> PerLayer | None:
        """The argument `approximation` of attention modules; None for exact attention."""
        if self.approximation not in APPROXIMATIONS:
            return None
        made = APPROXIMATIONS[self.approximation]
        given = {made.size_argument: self.approximation_size, "max_length": self.max_length}
        return PerLayer(functools.partial(made, **{name: size for name, size in given.items() if size is not None}))

    def check(self, recipe: Any) -> None:
        """Check that a recipe with an approximation asks for nothing that only exact attention has.

        Raises:
            ArgumentError: it does; the error names each field that must change, and a call that makes such a recipe.
        """
        if conflicts := [*self.conflicts(recipe)]:
            changes = {field: value for field, _, value in conflicts}
            raise ArgumentError(f"{' '.join(each.problem for each in conflicts)} Use {_call(recipe, changes)}.")

    def conflicts(self, recipe: Any) -> Iterator[Conflict]:
        """The fields of a recipe that the approximation can't have, since only exact attention has them.

        Example:
            >>> from regard.tasks import Recipe
            >>> [(field, value) for field, _, value in Approximate("performer", None, None).conflicts(Recipe())]
            [('attention_dropout', 0.0), ('position', 'sinusoidal')]
        """
        name = self.approximation
        if name not in APPROXIMATIONS:
            return
        for field, (value, why) in _FIXED.items():
            if (given := getattr(recipe, field)) != value:
                problem = f"`{field}` must be {value!r} for {name!r}, which {why}, but is {given!r}."
                yield Conflict(field, problem, value)
        if recipe.position not in (*INPUT_POSITIONS, "none"):
            yield Conflict(
                "position",
                f"`position` must be one of {', '.join(INPUT_POSITIONS)}, none for {name!r}, which has no scores of "
                f"all pairs to add it to, but is {recipe.position!r}.",
                "sinusoidal",
            )
        masks = ("none", "causal") if APPROXIMATIONS[name].causal else ("none",)
        if recipe.mask not in masks:
            yield Conflict(
                "mask",
                f"`mask` must be {' or '.join(map(repr, masks))} for {name!r}, which can't hide single pairs, but is "
                f"{recipe.mask!r}. A mask that saves work is exact: use it with approximation 'none'.",
                "none",
            )
        shared = [each for each, projections in PROJECTIONS.items() if projections.shared_key]
        if APPROXIMATIONS[name].shared_query_key and recipe.projections not in shared:
            yield Conflict(
                "projections",
                f"`projections` must be {' or '.join(map(repr, shared))} for {name!r}, whose queries and keys are the "
                f"same vectors, but is {recipe.projections!r}.",
                shared[0],
            )
        if getattr(recipe.input, "edges", False):
            yield Conflict(
                "input.edges",
                f"`input.edges` must be false for {name!r}, which attends to all of a source, but is true.",
                False,
            )
        if recipe.input.relations:
            yield Conflict(
                "input.reach",
                f"`input.reach` must be 0 for {name!r}, which has no scores of all pairs to add relations to, but is "
                f"{recipe.input.reach}.",
                0,
            )


def _call(recipe: Any, changes: Mapping[str, Any]) -> str:
    """The call that makes a recipe with other values of some fields."""
    usual = {field.name: field.default for field in dataclasses.fields(recipe)}
    arguments = {}
    for name, default in usual.items():
        given = getattr(recipe, name)
        if isinstance(given, Settings):
            inner = {
                field: value for field, value in given.to_json().items() if value != type(given)().to_json()[field]
            }
            prefix = f"{name}."
            inner |= {each.removeprefix(prefix): value for each, value in changes.items() if each.startswith(prefix)}
            if inner:
                arguments[name] = {"kind": given.kind, **inner}
            elif given != default:
                arguments[name] = given.kind
        elif name in changes:
            arguments[name] = changes[name]
        elif given != default:
            arguments[name] = given
    return f"Recipe({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"
