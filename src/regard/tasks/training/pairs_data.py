"""What training data share where each example is a source with one target."""

from collections.abc import Iterable
from typing import Any, TypeVar

from regard.errors import ArgumentError
from regard.tasks.auxiliary import auxiliary_targets
from regard.tasks.examples import Pair, as_pairs, digest_pairs
from regard.tasks.recipe import Recipe

__all__ = ["PairsData", "filled"]


class PairsData:
    """Pairs of a source and its target, checked for their form; subclasses check the targets.

    Args:
        recipe: how.
        examples: (source, target) pairs, or `Example`s.
        dev: more of them.
        auxiliary: for each further answer that the recipe names, the targets of `examples`, each None where it isn't
            known. None: there are no such answers.

    Raises:
        ArgumentError: an example that is none, no example, or auxiliary targets that don't fit.
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
        """The pairs, of which there is one at least; `argument` is what to call them in an error."""
        pairs = as_pairs(examples, argument=argument)
        if not pairs:
            raise ArgumentError(f"`{argument}` must hold at least one example, but holds none.")
        return pairs

    @property
    def digests(self) -> dict[str, str]:
        """A digest of the data, each by its argument's name."""
        beside = {name: digest_pairs(enumerate(targets)) for name, targets in self.auxiliary.items()}
        return beside | {"examples": digest_pairs(self.examples), "dev": digest_pairs(self.dev)}

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """How many examples there are in each split, for the card."""
        return {"train": {"examples": len(self.examples)}, "dev": {"examples": len(self.dev)}}


_Kind = TypeVar("_Kind", bound=Any)


def filled(dataset: _Kind, argument: str) -> _Kind:
    """The dataset itself, if it holds anything: examples whose sources are empty were left out of it.

    Raises:
        ArgumentError: it holds nothing.
    """
    if not dataset.lengths:
        raise ArgumentError(f"`{argument}` must hold at least one source that isn't empty, but holds none.")
    return dataset
