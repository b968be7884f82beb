"""From examples and a recipe to what learns, and from what has learned to a classifier."""

from collections.abc import Iterable
from typing import Any

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
            or None, the answers to several questions.
        dev, auxiliary: as in `PairsJob`.

    Raises:
        ArgumentError: what `PairsJob` refuses, or targets of several kinds.
    """

    def __init__(self, recipe: Recipe, examples: Iterable[Any], dev: Iterable[Any], auxiliary: Any):
        super().__init__(recipe, examples, dev, auxiliary)
        self.kind = _kind(self.examples, "examples")
        if _kind(self.dev, "dev") is not self.kind:
            raise ArgumentError(f"`dev` must have targets like `examples`, but has {self.dev[0][1]!r:.60} among them.")

    def learner(self) -> AnswerLearner:
        source = self.recipe.input
        reader = source.fit([each for each, _ in self.examples])
        answer = self.kind.fit([target for _, target in self.examples])

        def corpus(pairs: list[Pair], name: str) -> Corpus:
            answer.check([[target] for _, target in pairs], name)
            items = [source.item(reader, each) for each, _ in pairs]
            wanted: Tensor = answer.tensor([target for _, target in pairs])
            return filled(Corpus(source, reader, items, list(wanted)), name)

        network = source_network(self.recipe, reader, answer.outputs)
        return AnswerLearner(network, self.recipe, corpus(self.examples, "examples"), corpus(self.dev, "dev"), [answer])

    def model(self, learner: AnswerLearner, about: dict[str, Any], name: str) -> Classifier:
        return Classifier(
            learner.network.cpu(), learner.corpus.reader, learner.answers[0], self.recipe, about=about, name=name
        )


def _kind(pairs: list[Pair], argument: str) -> type[Answer]:
    """What kind of answer the targets are."""
    kinds: list[tuple[type[Answer], Any]] = []
    for place, (_, target) in enumerate(pairs):
        kind = next((kind for kind in ANSWERS.values() if kind.takes(target)), None)
        if kind is None:
            raise ArgumentError(
                f"the target of `{argument}[{place}]` must be a label, a number, or a list of 1, 0 and None, "
                f"but is {target!r:.60}."
            )
        if kinds and kinds[0][0] is not kind:
            raise ArgumentError(
                f"the targets of `{argument}` must be of one kind, but are {kinds[0][1]!r:.40} and {target!r:.40}."
            )
        kinds = kinds or [(kind, target)]
    return kinds[0][0]
