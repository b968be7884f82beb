"""Training data whose examples are pairs of a source and one target."""

from collections.abc import Iterable
from typing import Any, TypeVar

from regard.errors import ArgumentError
from regard.tasks.auxiliary import auxiliary_targets
from regard.tasks.examples import Pair, as_pairs, digest_pairs
from regard.tasks.recipe import Recipe

__all__ = ["PairsData", "filled"]


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
        return beside | {"examples": digest_pairs(self.examples), "dev": digest_pairs(self.dev)}

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
