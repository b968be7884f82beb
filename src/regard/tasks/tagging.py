"""From labelled sentences and a recipe to what learns, and from what has learned to a tagger."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from regard.errors import ArgumentError
from regard.tasks.answering import AnswerLearner
from regard.tasks.answers import Label
from regard.tasks.corpus import ItemCorpus
from regard.tasks.examples import Example, as_examples, digest
from regard.tasks.network import SourceNetwork
from regard.tasks.recipe import Recipe
from regard.tasks.tagger import Tagger, word_keys

__all__ = ["TaggerJob"]


class TaggerJob:
    """Sentences with labels, for a tagger.

    Args:
        recipe: how.
        examples: (words, labels) pairs, or `TaggedSentence`s.
        dev: more of them.
        auxiliary: for each label set that the recipe names, the labels of `examples`.

    Raises:
        ArgumentError: a sentence that is none, no word at all, or labels that don't fit.
    """

    def __init__(
        self,
        recipe: Recipe,
        examples: Iterable[Any],
        dev: Iterable[Any],
        auxiliary: Mapping[str, Sequence[Sequence[str]]] | None,
    ):
        self.recipe = recipe
        self.sentences, self.dev = as_examples(examples), as_examples(dev, argument="dev")
        for name, given in (("examples", self.sentences), ("dev", self.dev)):
            if not any(words for words, _ in given):
                raise ArgumentError(f"`{name}` must hold at least one word, but holds none.")
        self.auxiliary = self._checked(auxiliary or {})

    @property
    def digests(self) -> dict[str, str]:
        rows = {"examples": self.sentences, "dev": self.dev}
        for name, labels in self.auxiliary.items():
            rows[name] = [(words, tuple(row)) for (words, _), row in zip(self.sentences, labels, strict=True)]
        return {name: digest(examples) for name, examples in rows.items()}

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        return {"train": _counts(self.sentences), "dev": _counts(self.dev)}

    def learner(self) -> AnswerLearner:
        source = self.recipe.input
        words = [words for words, _ in self.sentences]
        reader = source.fit(words)
        rows = [[labels for _, labels in self.sentences], *self.auxiliary.values()]
        answers = [Label.fit([label for row in labels for label in row]) for labels in rows]
        wanted = [
            torch.stack([answer.tensor(labels) for answer, labels in zip(answers, each, strict=True)], dim=-1)
            for each in zip(*rows, strict=True)
        ]
        if not self.auxiliary:
            wanted = [each.squeeze(-1) for each in wanted]
        corpus = ItemCorpus(source, reader, [source.item(reader, each) for each in words], wanted)
        judged = [source.item(reader, each) for each, _ in self.dev]
        dev = ItemCorpus(source, reader, judged, [answers[0].tensor(labels) for _, labels in self.dev])
        network = SourceNetwork(self.recipe, reader, answers[0].outputs)
        return AnswerLearner(network, self.recipe, corpus, dev, answers, tuple(self.recipe.task.auxiliary.values()))

    def model(self, learner: AnswerLearner, about: dict[str, Any], name: str) -> Tagger:
        known = {word for words, _ in self.sentences for word in words}
        seen = word_keys(known, self.recipe.input.features.fold).unique()
        network, reader, answer = learner.network.cpu(), learner.corpus.reader, learner.answers[0]
        return Tagger(network, reader, answer, self.recipe, seen=seen, about=about, name=name)

    def _checked(self, given: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, Sequence[Sequence[str]]]:
        wanted = self.recipe.task.auxiliary
        if set(given) != set(wanted):
            raise ArgumentError(
                f"`auxiliary` must have the labels of {list(wanted)}, which the recipe names, but has those of "
                f"{list(given)}. Pass them, or leave them out of the recipe: "
                "dataclasses.replace(recipe, task={'auxiliary': {}})."
            )
        for name, rows in given.items():
            if [len(row) for row in rows] != [len(words) for words, _ in self.sentences]:
                raise ArgumentError(
                    f"`auxiliary[{name!r}]` must have a label for each word of `examples`, but has not."
                )
        return {name: given[name] for name in wanted}


def _counts(examples: list[Example]) -> dict[str, int]:
    return {"sentences": len(examples), "words": sum(len(words) for words, _ in examples)}
