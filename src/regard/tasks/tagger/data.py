"""Training data of taggers: sources whose items have labels, or numbers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from regard.errors import ArgumentError
from regard.tasks.examples import Pair, digest_pairs
from regard.tasks.network import source_network
from regard.tasks.recipe import Recipe
from regard.tasks.tagger.model import Tagger, check_items, check_rows
from regard.tasks.targets import Label, Regression, Target
from regard.tasks.training.dataset import ItemDataset
from regard.tasks.training.fitted_head import fit_head
from regard.tasks.training.linear_fit import fit_linear_part
from regard.tasks.training.objective import TargetObjective
from regard.tasks.training.pairs_data import auxiliary_targets

__all__ = ["TaggerData"]


class TaggerData:
    """Checked examples for a tagger: sources with a target for each item.

    Args:
        recipe: the recipe.
        examples: pairs (source, targets), `TaggedSentence`s or `Example`s, with a label or a number for each item of a
            source, or None if it is unknown.
        dev: the dev examples.
        auxiliary: the auxiliary targets of `examples`, by name; None for unknown ones.

    Raises:
        ArgumentError: an example of another form, no known target, or targets that don't match the items.
    """

    def __init__(
        self,
        recipe: Recipe,
        examples: Iterable[Any],
        dev: Iterable[Any],
        auxiliary: Mapping[str, Iterable[Sequence[Any]]] | None,
    ):
        self.recipe = recipe
        self.examples: list[Pair] = [*recipe.input.as_labelled(examples)]
        self.dev: list[Pair] = [*recipe.input.as_labelled(dev, argument="dev")]
        self.target = _kind(self.examples, "examples")
        if _kind(self.dev, "dev") is not self.target:
            raise ArgumentError(f"`dev` must have targets like `examples`, but has {self.dev[0][1]!r:.60} among them.")
        self.auxiliary = auxiliary_targets(recipe, auxiliary)
        self.beside: list[type[Target]] = []
        for name, rows in self.auxiliary.items():
            called = f"auxiliary[{name!r}]"
            self.beside.append(_kind([((), row) for row in rows], called))
            if [len(row) for row in rows] != [len(targets) for _, targets in self.examples]:
                raise ArgumentError(f"`{called}` must have a target for each item of `examples`, but has not.")

    @property
    def digests(self) -> dict[str, str]:
        beside = {name: digest_pairs(enumerate(rows)) for name, rows in self.auxiliary.items()}
        return beside | {
            "examples": digest_pairs(self.examples),
            "dev": digest_pairs(self.dev),
            **self.recipe.input.digests,
        }

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        return {
            split: dict(
                zip(self.recipe.input.counted, (len(pairs), sum(len(targets) for _, targets in pairs)), strict=True)
            )
            for split, pairs in (("train", self.examples), ("dev", self.dev))
        }

    def objective(self) -> TargetObjective:
        source = self.recipe.input
        encoder = source.fit([each for each, _ in self.examples])
        rows = [[targets for _, targets in self.examples], *self.auxiliary.values()]
        called = ["examples", *(f"auxiliary[{name!r}]" for name in self.auxiliary)]
        answers = [
            kind.fit([each for targets in own for each in targets], name)
            for kind, own, name in zip([self.target, *self.beside], rows, called, strict=True)
        ]
        wanted = [
            tuple(answer.tensor(targets) for answer, targets in zip(answers, each, strict=True))
            for each in zip(*rows, strict=True)
        ]
        dataset = ItemDataset(
            source, encoder, self._items(source.training_item, encoder, self.examples, "examples"), wanted
        )
        answers[0].check([targets for _, targets in self.dev], "dev")
        dev_targets = [(answers[0].tensor(targets),) for _, targets in self.dev]
        dev = ItemDataset(source, encoder, self._items(source.item, encoder, self.dev, "dev"), dev_targets)
        network = source_network(self.recipe, encoder, answers[0].outputs)
        fit_linear_part(network, self.recipe, dataset, answers[0])
        fit_head(network, self.recipe, dataset, answers[0])
        return TargetObjective(network, self.recipe, dataset, dev, answers)

    def model(self, objective: TargetObjective, about: dict[str, Any], name: str) -> Tagger:
        keys = self.recipe.input.item_keys([source for source, _ in self.examples])
        seen = None if keys is None else keys.unique()
        network, encoder, answer = objective.network.cpu(), objective.dataset.encoder, objective.answers[0]
        model = Tagger(network, encoder, answer, self.recipe, seen=seen, about=about, name=name)
        model.calibrate(self.dev)
        return model

    def _items(self, read: Callable[[Any, Any], Any], encoder: Any, pairs: Sequence[Pair], argument: str) -> list[Any]:
        """Read the sources, and check that each has as many items as targets."""
        items = [read(encoder, source) for source, _ in pairs]
        check_items(items, pairs, argument)
        return items


def _kind(pairs: Sequence[Pair], argument: str) -> type[Target]:
    """The kind of the items' targets."""
    found: Any = None
    check_rows(pairs, argument)
    for place, (_, targets) in enumerate(pairs):
        for each in targets:
            if each is not None and not Label.accepts(each) and not Regression.accepts(each):
                raise ArgumentError(
                    f"the targets of `{argument}[{place}]` must be labels or numbers, but one is {each!r:.60}."
                )
            if each is not None and found is not None and isinstance(each, str) != isinstance(found, str):
                raise ArgumentError(
                    f"the targets of `{argument}` must be of one kind, but are {found!r:.40} and {each!r:.40}."
                )
            found = each if found is None else found
    if found is None:
        wanted = "at least one word" if all(not targets for _, targets in pairs) else "a target that is known"
        raise ArgumentError(f"`{argument}` must hold {wanted}, but holds none.")
    return Label if isinstance(found, str) else Regression
