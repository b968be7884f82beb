"""The examples of an experiment by split, and where they come from."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.datasets import split_by_source
from regard.errors import ArgumentError
from regard.inputs import as_list
from regard.tasks.examples import as_pairs

__all__ = ["Splits"]


@dataclass(frozen=True)
class Splits:
    """The examples of an experiment: to train on, to choose the best epoch by, and to judge the model by in the end.

    Args:
        train: what is trained on, as `regard.train` takes it.
        dev: further examples; they decide which epoch is best and when to stop. None: about a tenth of `train`, by a
            hash of their sources (`with_dev`).
        test: further examples, which are read once, when all choices are made; empty for none.
        auxiliary: for each auxiliary target that the recipe names, the targets of `train`.
        about: where the examples come from, for the card: name, title, licence, source, files.
        name: what the data are called in messages.
        title: what is learned from them in a few words, for the title of the card; "" for none.

    Example:
        >>> splits = Splits([("good", "yes"), ("dull", "no"), ("poor", "no")]).with_dev()
        >>> splits.train, splits.dev
        ([('good', 'yes'), ('dull', 'no')], [('poor', 'no')])
    """

    train: Sequence[Any] = field(repr=False)
    dev: Sequence[Any] | None = field(default=None, repr=False)
    test: Sequence[Any] = field(default=(), repr=False)
    auxiliary: Mapping[str, Sequence[Any]] | None = field(default=None, repr=False)
    about: Mapping[str, Any] = field(default_factory=dict)
    name: str = "the data"
    title: str = ""

    def with_dev(self) -> "Splits":
        """The same splits, if there is a dev; else with one that is taken from train, with its auxiliary targets.

        Raises:
            ArgumentError: so few sources differ that one of the two would be empty, or an example isn't a pair.
        """
        if self.dev is not None:
            return self
        given = as_list("examples", self.train, "(source, target) pairs")
        splits = split_by_source(as_pairs(given), ("train", "dev"))
        kept = [index for index, split in enumerate(splits) if split == "train"]
        dev = [item for item, split in zip(given, splits, strict=True) if split == "dev"]
        if not kept or not dev:
            raise ArgumentError(
                "`dev` must be given if `examples` have few different sources: the split by a hash puts all "
                f"{len(given)} into {'train' if kept else 'dev'}."
            )
        auxiliary = self.auxiliary
        if isinstance(auxiliary, Mapping):
            # A wrong number of targets is reported later, with the other errors.
            auxiliary = {
                name: [rows[index] for index in kept] if len(rows) == len(given) else rows
                for name, rows in auxiliary.items()
            }
        return dataclasses.replace(self, train=[given[index] for index in kept], dev=dev, auxiliary=auxiliary)

    def check_test(self) -> None:
        """Make sure that there are examples for test.

        Raises:
            ArgumentError: there are none.
        """
        if not self.test:
            raise ArgumentError(f"`final` needs examples for test, but {self.name} has none. Leave it out.")
