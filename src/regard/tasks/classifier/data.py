"""Training data of classifiers: sources with a label, several labels, or a number."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.tasks.classifier.model import Classifier
from regard.tasks.examples import Pair
from regard.tasks.network import source_network
from regard.tasks.recipe import Recipe
from regard.tasks.targets import TARGETS, Target
from regard.tasks.training.dataset import Dataset
from regard.tasks.training.fitted_head import fit_head
from regard.tasks.training.linear_fit import fit_linear_part
from regard.tasks.training.objective import TargetObjective
from regard.tasks.training.pairs_data import PairsData, filled

__all__ = ["ClassifierData"]


class ClassifierData(PairsData):
    """Checked examples for a classifier: sources with their targets.

    Args:
        recipe: the recipe.
        examples: (source, target) pairs, or `Example`s; the targets are all labels, all numbers, or all tuples of 1, 0
            or None, the answers to several questions. Use None for unknown targets.
        dev, auxiliary: as in `PairsData`.

    Raises:
        ArgumentError: as in `PairsData`, or targets of several kinds.
    """

    def __init__(self, recipe: Recipe, examples: Iterable[Any], dev: Iterable[Any], auxiliary: Any):
        super().__init__(recipe, examples, dev, auxiliary)
        self.kind = _kind([target for _, target in self.examples], "examples")
        if _kind([target for _, target in self.dev], "dev") is not self.kind:
            known = next(target for _, target in self.dev if target is not None)
            raise ArgumentError(f"`dev` must have targets like `examples`, but has {known!r:.60} among them.")
        self.beside = [_kind(targets, f"auxiliary[{name!r}]") for name, targets in self.auxiliary.items()]

    def objective(self) -> TargetObjective:
        called = ["examples", *(f"auxiliary[{name!r}]" for name in self.auxiliary)]
        targets = [[target for _, target in self.examples], *self.auxiliary.values()]
        answers, wanted = [], []
        for kind, own, name in zip([self.kind, *self.beside], targets, called, strict=True):
            answers.append(kind.fit(own, name))
            answers[-1].check([[target] for target in own], name)
            wanted.append(answers[-1].tensor(own))
        answers[0].check([[target] for _, target in self.dev], "dev")
        known = torch.stack([answer.known(own) for answer, own in zip(answers, wanted, strict=True)]).any(0).tolist()
        # An example without any known target is useful only for consistency training.
        kept = [place for place, some in enumerate(known) if some or self.recipe.consistency]
        examples = [self.examples[place] for place in kept]
        encoder = self.recipe.input.fit([each for each, _ in examples])
        taught = [tuple(own[place] for own in wanted) for place in kept]
        items = [self.recipe.input.training_item(encoder, each) for each, _ in examples]
        dataset = self._corpus(encoder, answers[0], examples, items, taught, "examples")
        dev_targets = [(each,) for each in answers[0].tensor([target for _, target in self.dev])]
        dev_items = [self.recipe.input.item(encoder, each) for each, _ in self.dev]
        dev = self._corpus(encoder, answers[0], self.dev, dev_items, dev_targets, "dev")
        network = source_network(self.recipe, encoder, answers[0].outputs)
        fit_linear_part(network, self.recipe, dataset, answers[0])
        fit_head(network, self.recipe, dataset, answers[0])
        return TargetObjective(network, self.recipe, dataset, dev, answers)

    def _corpus(
        self,
        encoder: Any,
        answer: Target,
        pairs: Sequence[Pair],
        items: Sequence[Any],
        wanted: list[tuple[Tensor, ...]],
        argument: str,
    ) -> Dataset:
        dataset = filled(Dataset(self.recipe.input, encoder, items, wanted), argument)
        # Check again without the empty sources: they may have held all known targets.
        answer.check([[target] for item, (_, target) in zip(items, pairs, strict=True) if len(item)], argument)
        return dataset

    def model(self, objective: TargetObjective, about: dict[str, Any], name: str) -> Classifier:
        network, encoder, answer = objective.network.cpu(), objective.dataset.encoder, objective.answers[0]
        model = Classifier(network, encoder, answer, self.recipe, about=about, name=name)
        model.calibrate(self.dev)
        return model


def _kind(targets: Sequence[Any], argument: str) -> type[Target]:
    """The kind of the known targets."""
    kinds: list[tuple[type[Target], Any]] = []
    for place, target in enumerate(targets):
        if target is None:
            continue
        kind = next((kind for kind in TARGETS.values() if kind.accepts(target)), None)
        if kind is None:
            raise ArgumentError(
                f"the target of `{argument}[{place}]` must be a label, a number, a list of 1, 0 and None, or None, "
                f"but is {target!r:.60}."
            )
        if kinds and kinds[0][0] is not kind:
            raise ArgumentError(
                f"the targets of `{argument}` must be of one kind, but are {kinds[0][1]!r:.40} and {target!r:.40}."
            )
        kinds = kinds or [(kind, target)]
    if not kinds:
        raise ArgumentError(f"`{argument}` must hold a target that is known, but holds none.")
    return kinds[0][0]
