"""Auxiliary targets: further targets, named by the recipe, that a network learns in training."""

from collections.abc import Iterable, Mapping
from typing import Any

from regard.errors import ArgumentError
from regard.inputs import as_list
from regard.tasks.recipe import Recipe

__all__ = ["auxiliary_targets", "auxiliary_weights"]


def auxiliary_weights(recipe: Recipe) -> Mapping[str, float]:
    """The weight in the loss of each auxiliary target that a recipe names; tasks without such targets have none."""
    return getattr(recipe.task, "auxiliary", {})


def auxiliary_targets(recipe: Recipe, given: Mapping[str, Iterable[Any]] | None) -> dict[str, list[Any]]:
    """The auxiliary targets, in the order in which the recipe names them.

    Args:
        recipe: names the auxiliary targets.
        given: the targets of the training examples, by name.

    Raises:
        ArgumentError: targets are missing, are not in the recipe, or aren't a list.

    Example:
        >>> recipe = Recipe(task={"auxiliary": {"xpos": 0.3}})
        >>> auxiliary_targets(recipe, {"xpos": [("NN", "VB")]})
        {'xpos': [('NN', 'VB')]}
    """
    given, wanted = {} if given is None else given, auxiliary_weights(recipe)
    if not isinstance(given, Mapping):
        raise ArgumentError(f"`auxiliary` must be a dict from names to targets, but is {given!r:.60}.")
    if set(given) == set(wanted):
        return {name: as_list(f"auxiliary[{name!r}]", given[name], "targets") for name in wanted}
    if not hasattr(recipe.task, "auxiliary"):
        raise ArgumentError(f"`auxiliary` must be None for {recipe.task.kind}, but has {list(given)}.")
    raise ArgumentError(
        f"`auxiliary` must have the labels of {list(wanted)}, which the recipe names, but has those of {list(given)}. "
        "Pass them, or leave them out of the recipe: "
        "dataclasses.replace(recipe, task=dataclasses.replace(recipe.task, auxiliary={}))."
    )
