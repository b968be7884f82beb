"""How a tagger learns: batches of sentences, the loss of their labels, the share of right ones."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.errors import ArgumentError
from regard.inputs import IGNORED
from regard.tasks.batching import Batches, batches_by_length, shuffled_batches
from regard.tasks.corpus import Corpus, label_ids
from regard.tasks.examples import Example, as_examples, digest
from regard.tasks.learner import Learner, Loss
from regard.tasks.measure import ACCURACY
from regard.tasks.network import TaggerNetwork
from regard.tasks.recipe import Recipe
from regard.tasks.tagger import Tagger, word_keys

__all__ = ["TaggerJob", "TaggerLearner"]


class TaggerJob:
    """Sentences with labels, for a tagger.

    Args:
        recipe: how.
        sentences: (words, labels) pairs, or `TaggedSentence`s.
        dev: more of them.
        auxiliary: for each label set that the recipe names, the labels of `sentences`.

    Raises:
        ArgumentError: a sentence that is none, no word at all, or labels that don't fit.
    """

    def __init__(
        self,
        recipe: Recipe,
        sentences: Iterable[Any],
        dev: Iterable[Any],
        auxiliary: Mapping[str, Sequence[Sequence[str]]] | None,
    ):
        self.recipe = recipe
        self.sentences, self.dev = as_examples(sentences), as_examples(dev, argument="dev")
        for name, given in (("sentences", self.sentences), ("dev", self.dev)):
            if not any(words for words, _ in given):
                raise ArgumentError(f"`{name}` must hold at least one word, but holds none.")
        self.auxiliary = self._checked(auxiliary or {})

    @property
    def digests(self) -> dict[str, str]:
        rows = {"sentences": self.sentences, "dev": self.dev}
        for name, labels in self.auxiliary.items():
            rows[name] = [(words, tuple(row)) for (words, _), row in zip(self.sentences, labels, strict=True)]
        return {name: digest(examples) for name, examples in rows.items()}

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        return {"train": _counts(self.sentences), "dev": _counts(self.dev)}

    def learner(self) -> "TaggerLearner":
        words = [words for words, _ in self.sentences]
        reader = self.recipe.input.fit(words)
        rows = [[labels for _, labels in self.sentences], *self.auxiliary.values()]
        names = [sorted({label for row in labels for label in row}) for labels in rows]
        corpus = Corpus(reader, words, label_ids(rows, names))
        dev_labels = label_ids([[labels for _, labels in self.dev]], names[:1])
        dev = Corpus(reader, [words for words, _ in self.dev], dev_labels)
        network = TaggerNetwork(self.recipe, reader, len(names[0]))
        return TaggerLearner(network, self.recipe, corpus, dev, names)

    def model(self, learner: "TaggerLearner", about: dict[str, Any], name: str) -> Tagger:
        known = {word for words, _ in self.sentences for word in words}
        seen = word_keys(known, self.recipe.input.features.fold).unique()
        network, reader = learner.network.cpu(), learner.corpus.reader
        return Tagger(network, reader, learner.labels, self.recipe, seen=seen, about=about, name=name)

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
                    f"`auxiliary[{name!r}]` must have a label for each word of `sentences`, but has not."
                )
        return {name: given[name] for name in wanted}


class TaggerLearner(Learner):
    """A tagger that learns, with a head for each auxiliary label set beside its own.

    Args:
        network: the net to train.
        recipe: how.
        corpus: the training sentences.
        dev: those it is judged by.
        names: the labels of its own set, then of each auxiliary one.
    """

    network: TaggerNetwork

    def __init__(
        self, network: TaggerNetwork, recipe: Recipe, corpus: Corpus, dev: Corpus, names: Sequence[Sequence[str]]
    ):
        super().__init__(network, ACCURACY)
        self.auxiliary = nn.ModuleList(nn.Linear(recipe.width, len(labels)) for labels in names[1:])
        self.recipe, self.corpus, self.dev, self.labels = recipe, corpus, dev, names[0]

    def batches(self, epoch: int) -> Batches:
        members = shuffled_batches(self.corpus.lengths, self.recipe.batch_items, seed=self.recipe.seed, epoch=epoch)
        return Batches(self.corpus.batch, members)

    def loss(self, batch: tuple[Tensor, Tensor, Tensor]) -> Loss:
        features, lengths, labels = batch
        hidden = self.network.hidden(features, lengths)
        own = cross_entropy(
            self.network.output(hidden).flatten(0, 1),
            labels[..., 0].flatten(),
            ignore_index=IGNORED,
            label_smoothing=self.recipe.smoothing,
        )
        total = own
        shares = self.recipe.task.auxiliary.values()
        for index, (head, share) in enumerate(zip(self.auxiliary, shares, strict=True), start=1):
            more = cross_entropy(head(hidden).flatten(0, 1), labels[..., index].flatten(), ignore_index=IGNORED)
            # A batch without one auxiliary label has the mean of nothing, NaN.
            total = total + share * more.nan_to_num()
        return Loss(total, own.item(), int((labels[..., 0] != IGNORED).sum()))

    def judge(self) -> float:
        right = 0
        device = next(self.parameters()).device
        for members in batches_by_length(self.dev.lengths, 2 * self.recipe.batch_items):
            features, lengths, labels = (part.to(device) for part in self.dev.batch(members))
            right += int((self.network(features, lengths).argmax(-1) == labels[..., 0]).sum())
        return right / sum(self.dev.lengths)


def _counts(examples: list[Example]) -> dict[str, int]:
    return {"sentences": len(examples), "words": sum(len(words) for words, _ in examples)}
