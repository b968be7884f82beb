"""From examples and a recipe to what learns, and from what has learned to a classifier."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.tasks.answering import AnswerLearner
from regard.tasks.answers import ANSWERS, Answer
from regard.tasks.classifier import Classifier
from regard.tasks.corpus import Corpus
from regard.tasks.ensemble import source_network
from regard.tasks.examples import Pair
from regard.tasks.pairs_job import PairsJob, filled
from regard.tasks.recipe import Recipe

__all__ = ["ClassifierJob"]


class ClassifierJob(PairsJob):
    """Examples, each a source and what is wanted of it, for a classifier.

    Args:
        recipe: how.
        examples: (source, target) pairs, or `Example`s; the targets are all labels, all numbers, or all tuples of 1, 0
            or None, the answers to several questions; None where the answer isn't known.
        dev, auxiliary: as in `PairsJob`.

    Raises:
        ArgumentError: what `PairsJob` refuses, or targets of several kinds.
    """

    def __init__(self, recipe: Recipe, examples: Iterable[Any], dev: Iterable[Any], auxiliary: Any):
        super().__init__(recipe, examples, dev, auxiliary)
        self.kind = _kind([target for _, target in self.examples], "examples")
        if _kind([target for _, target in self.dev], "dev") is not self.kind:
            known = next(target for _, target in self.dev if target is not None)
            raise ArgumentError(f"`dev` must have targets like `examples`, but has {known!r:.60} among them.")
        self.beside = [_kind(targets, f"auxiliary[{name!r}]") for name, targets in self.auxiliary.items()]

    def learner(self) -> AnswerLearner:
        called = ["examples", *(f"auxiliary[{name!r}]" for name in self.auxiliary)]
        targets = [[target for _, target in self.examples], *self.auxiliary.values()]
        answers, wanted = [], []
        for kind, own, name in zip([self.kind, *self.beside], targets, called, strict=True):
            answers.append(kind.fit(own, name))
            answers[-1].check([[target] for target in own], name)
            wanted.append(answers[-1].tensor(own))
        answers[0].check([[target] for _, target in self.dev], "dev")
        known = torch.stack([answer.known(own) for answer, own in zip(answers, wanted, strict=True)]).any(0).tolist()
        # Of one of which nothing is known only agreement is learned; else it would cost time alone.
        kept = [place for place, some in enumerate(known) if some or self.recipe.consistency]
        examples = [self.examples[place] for place in kept]
        reader = self.recipe.input.fit([each for each, _ in examples])
        taught = [tuple(own[place] for own in wanted) for place in kept]
        items = [self.recipe.input.training_item(reader, each) for each, _ in examples]
        corpus = self._corpus(reader, answers[0], examples, items, taught, "examples")
        judged = [(each,) for each in answers[0].tensor([target for _, target in self.dev])]
        dev_items = [self.recipe.input.item(reader, each) for each, _ in self.dev]
        dev = self._corpus(reader, answers[0], self.dev, dev_items, judged, "dev")
        network = source_network(self.recipe, reader, answers[0].outputs)
        return AnswerLearner(network, self.recipe, corpus, dev, answers)

    def _corpus(
        self,
        reader: Any,
        answer: Answer,
        pairs: Sequence[Pair],
        items: Sequence[Any],
        wanted: list[tuple[Tensor, ...]],
        argument: str,
    ) -> Corpus:
        corpus = filled(Corpus(self.recipe.input, reader, items, wanted), argument)
        # Again, of those that are left: what is known may have been wanted of empty sources alone.
        answer.check([[target] for item, (_, target) in zip(items, pairs, strict=True) if len(item)], argument)
        return corpus

    def model(self, learner: AnswerLearner, about: dict[str, Any], name: str) -> Classifier:
        network, reader, answer = learner.network.cpu(), learner.corpus.reader, learner.answers[0]
        model = Classifier(network, reader, answer, self.recipe, about=about, name=name)
        model.calibrate(self.dev)
        return model


def _kind(targets: Sequence[Any], argument: str) -> type[Answer]:
    """What kind of answer the targets are, as far as they are known."""
    kinds: list[tuple[type[Answer], Any]] = []
    for place, target in enumerate(targets):
        if target is None:
            continue
        kind = next((kind for kind in ANSWERS.values() if kind.takes(target)), None)
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
