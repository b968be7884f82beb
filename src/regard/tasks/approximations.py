"""Approximations of attention as a recipe describes them: a name, and one size."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from inspect import signature
from typing import Any, NamedTuple

from regard.attention import INPUT_POSITIONS
from regard.errors import ArgumentError
from regard.modules import APPROXIMATIONS, PerLayer
from regard.modules.efficient import validation
from regard.modules.projections import PROJECTIONS
from regard.page.numbers import plural
from regard.tasks.settings import Settings

__all__ = [
    "FIXED",
    "NONE",
    "Conflict",
    "approximation_part",
    "check_length",
    "check_recipe",
    "conflicts",
    "has_length",
    "has_size",
    "length_limit",
]

NONE = "none"
"""The name of exact attention."""

FIXED: Mapping[str, tuple[Any, str]] = {
    "score": validation.FIXED["score"],
    "weights": validation.FIXED["weights"],
    "attention_dropout": validation.FIXED["dropout"],
}
"""The fields of a recipe that can't be changed for an approximation, as in `Task.fixed`."""


def has_size(approximation: str) -> bool:
    """Whether an approximation has a size, which `approximation_size` sets."""
    return approximation in APPROXIMATIONS and APPROXIMATIONS[approximation].size_argument is not None


def has_length(approximation: str) -> bool:
    """Whether an approximation learns tables by position, and so needs a `max_length`."""
    return approximation in APPROXIMATIONS and "max_length" in signature(APPROXIMATIONS[approximation]).parameters


def approximation_part(recipe: Any) -> PerLayer | None:
    """What the `approximation` of attention modules is; None for exact attention."""
    if recipe.approximation == NONE:
        return None
    make = APPROXIMATIONS[recipe.approximation]
    sizes = {}
    if make.size_argument is not None and recipe.approximation_size is not None:
        sizes[make.size_argument] = recipe.approximation_size
    if has_length(recipe.approximation):
        sizes["max_length"] = recipe.max_length
    return PerLayer(functools.partial(make, **sizes))


def length_limit(recipe: Any) -> int | None:
    """The number of items of the longest source that a recipe's approximation can attend to; None for no limit."""
    return recipe.max_length if has_length(recipe.approximation) else None


def check_length(recipe: Any, longest: int, argument: str) -> None:
    """Check that a recipe's approximation has tables for the longest source, before anything is trained.

    Args:
        recipe: the recipe.
        longest: the number of items of the longest source.
        argument: the name of the argument that holds the sources.

    Raises:
        ArgumentError: it doesn't.
    """
    limit = length_limit(recipe)
    if limit is not None and longest > limit:
        raise ArgumentError(
            f"`max_length` must be at least {longest}, the number of {plural(recipe.input.noun)} of the longest source "
            f"in `{argument}`, for {recipe.approximation!r}, which learns tables by position, but is {limit}. Make the "
            "recipe's max_length larger, or use shorter sources."
        )


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


def conflicts(recipe: Any, name: str) -> Iterator[Conflict]:
    """The fields of a recipe that the approximation of this name can't have, since only exact attention has them.

    Example:
        >>> from regard.tasks import Recipe
        >>> [(field, value) for field, _, value in conflicts(Recipe(), "performer")]
        [('attention_dropout', 0.0), ('position', 'sinusoidal')]
    """
    for field, (value, why) in FIXED.items():
        if (given := getattr(recipe, field)) != value:
            yield Conflict(field, f"`{field}` must be {value!r} for {name!r}, which {why}, but is {given!r}.", value)
    if recipe.position not in (*INPUT_POSITIONS, "none"):
        yield Conflict(
            "position",
            f"`position` must be one of {', '.join(INPUT_POSITIONS)}, none for {name!r}, which has no scores of all "
            f"pairs to add it to, but is {recipe.position!r}.",
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
            f"`projections` must be {' or '.join(map(repr, shared))} for {name!r}, whose queries and keys are the same "
            f"vectors, but is {recipe.projections!r}.",
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


def check_recipe(recipe: Any) -> None:
    """Check that a recipe with an approximation asks for nothing that only exact attention has.

    Raises:
        ArgumentError: it does; the error names each field that must change, and a call that makes such a recipe.
    """
    found = list(conflicts(recipe, recipe.approximation))
    if found:
        changes = {field: value for field, _, value in found}
        raise ArgumentError(f"{' '.join(each.problem for each in found)} Use {_call(recipe, changes)}.")


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
