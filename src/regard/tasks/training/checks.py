"""What `regard.train` is given, checked before anything is computed."""

from collections.abc import Mapping
from typing import Any

from regard.errors import ArgumentError
from regard.page.numbers import plural
from regard.tasks.named_recipes import RECIPES
from regard.tasks.recipe import Recipe
from regard.tasks.saving.store import encode_json

__all__ = ["check_count", "check_data", "check_examples", "check_length", "check_recipe"]


def check_examples(examples: Any) -> None:
    """Raise an error if a recipe is passed as the examples."""
    if isinstance(examples, Recipe):
        raise ArgumentError(
            "`examples` must be examples, but is a Recipe. Give the recipe by its name: "
            "regard.train(examples, dev, recipe=recipe)."
        )


def check_recipe(recipe: Any) -> None:
    """Raise an error if this isn't a recipe, and say how to get one."""
    if recipe is None or isinstance(recipe, Recipe):
        return
    step = ""
    if isinstance(recipe, str) and recipe in RECIPES:
        step = f" Take regard.tasks.RECIPES[{recipe!r}]."
    elif isinstance(recipe, Mapping):
        step = " Make one by Recipe.from_json."
    raise ArgumentError(f"`recipe` must be a regard.Recipe, but is {recipe!r:.60}.{step}")


def check_length(recipe: Recipe, longest: int, argument: str) -> None:
    """Raise an error unless the approximation of a recipe has tables for the longest source, before training begins.

    Args:
        recipe: the recipe.
        longest: the number of items of the longest source.
        argument: the name of the argument that holds the sources.
    """
    limit = recipe.architecture.position_limit
    if limit is not None and longest > limit:
        raise ArgumentError(
            f"`max_length` must be at least {longest}, the number of {plural(recipe.input.noun)} of the longest source "
            f"in `{argument}`, for {recipe.approximation!r}, which learns tables by position, but is {limit}. Make the "
            "recipe's max_length larger, or use shorter sources."
        )


def check_data(data: Any) -> None:
    """Raise an error if this can't be stored in a card."""
    if not isinstance(data or {}, Mapping):
        raise ArgumentError(f"`data` must be an object of plain values, for the card, but is {data!r:.60}.")
    try:
        encode_json(dict(data or {}))
    except ArgumentError as error:
        raise ArgumentError(f"`data` must hold plain values, as JSON does, but: {error}") from error


def check_count(name: str, count: Any, most: int | None = None) -> None:
    """Raise an error unless a number of threads or processes is an integer from 1 to `most`; None: of at least 1."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1 or (most is not None and count > most):
        wanted = "a whole number, 1 or more" if most is None else f"a whole number from 1 to {most:,}"
        raise ArgumentError(f"`{name}` must be {wanted}, but is {count!r:.60}.")
