"""Training data whose examples are pairs of a source and one target, and the auxiliary targets that a recipe names."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from regard.errors import ArgumentError
from regard.inputs import as_list
from regard.tasks.examples import Pair, as_pairs, digest_pairs
from regard.tasks.recipe import Recipe

__all__ = ["PairsData", "auxiliary_targets", "auxiliary_weights", "filled"]


class PairsData:
    """Pairs of a source and its target, checked for their form. Subclasses check the targets.

    Args:
        recipe: how to train.
        examples: (source, target) pairs, or `Example`s.
        dev: further examples, which select the best epoch.
        auxiliary: for each auxiliary target that the recipe names, the targets of `examples`; use None for an unknown
            target. None: the recipe names none.

    Raises:
        ArgumentError: an invalid example, no examples, or auxiliary targets that don't fit.
    """

    def __init__(self, recipe: Recipe, examples: Iterable[Any], dev: Iterable[Any], auxiliary: Any):
        self.recipe = recipe
        self.examples, self.dev = self.checked(examples, "examples"), self.checked(dev, "dev")
        self.auxiliary = auxiliary_targets(recipe, auxiliary)
        for name, targets in self.auxiliary.items():
            if len(targets) != len(self.examples):
                raise ArgumentError(
                    f"`auxiliary[{name!r}]` must have a target for each of the {len(self.examples)} `examples`, but "
                    f"has {len(targets)}."
                )

    def checked(self, examples: Iterable[Any], argument: str) -> list[Pair]:
        """The examples as pairs, at least one; `argument` names them in errors."""
        pairs = as_pairs(examples, argument=argument)
        if not pairs:
            raise ArgumentError(f"`{argument}` must hold at least one example, but holds none.")
        return pairs

    @property
    def digests(self) -> dict[str, str]:
        """A digest of each argument that holds data, by its name."""
        beside = {name: digest_pairs(enumerate(targets)) for name, targets in self.auxiliary.items()}
        return beside | {
            "examples": digest_pairs(self.examples),
            "dev": digest_pairs(self.dev),
            **self.recipe.input.digests,
        }

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """The number of examples in each split, for the card."""
        return {"train": {"examples": len(self.examples)}, "dev": {"examples": len(self.dev)}}


_Kind = TypeVar("_Kind", bound=Any)


def filled(dataset: _Kind, argument: str) -> _Kind:
    """Return the dataset if it isn't empty: it leaves out examples with empty sources.

    Raises:
        ArgumentError: it is empty.
    """
    if not dataset.lengths:
        raise ArgumentError(f"`{argument}` must hold at least one source that isn't empty, but holds none.")
    return dataset


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
