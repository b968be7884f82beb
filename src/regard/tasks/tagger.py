"""A trained tagger: words in, a label for each word out."""

import dataclasses
import time
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.inputs import FOLDS, Batch, WordEncoder, as_sentences
from regard.tasks.batching import batches_by_length
from regard.tasks.card import model_card
from regard.tasks.examples import as_examples
from regard.tasks.network import TaggerNetwork
from regard.tasks.recipe import Recipe
from regard.tasks.scoring import Scores, score_labels
from regard.tasks.store import write_model

__all__ = ["SEEN", "TaggedWord", "Tagger", "word_keys"]

# The name under which a saved model keeps the keys of the words of its training.
SEEN = "seen_words"


class TaggedWord(NamedTuple):
    """A word, the label given, and its score: the softmax probability, from 0 to 1."""

    text: str
    label: str
    score: float


class Tagger:
    """A trained tagger; `regard.train` makes one, `regard.load` reads one.

    Args:
        network: the net: feature ids and lengths in, scores of the labels out.
        reader: words -> feature ids.
        labels: the labels, in the order of the net's scores.
        recipe: how it was trained.
        seen: the keys of the words of training (`word_keys`), to tell apart the words it has never seen.
        about: where it comes from: plain values, for the card.
        name: what to call it.

    Example:
        >>> import regard
        >>> pairs = [(["a", "b"], ["X", "Y"])]
        >>> recipe = Recipe(width=8, heads=2, hidden=8, layers=1, epochs=1)
        >>> tagger = regard.train(recipe, pairs, pairs, progress="none")
        >>> [[word.text for word in words] for words in tagger.tag([["a", "b", "a"], []])]
        [['a', 'b', 'a'], []]
    """

    def __init__(
        self,
        network: TaggerNetwork,
        reader: WordEncoder,
        labels: Sequence[str],
        recipe: Recipe,
        *,
        seen: Tensor | None = None,
        about: dict[str, Any] | None = None,
        name: str = "tagger",
    ):
        self.network = network.eval()
        self.reader = reader
        self.labels = tuple(labels)
        self.recipe = recipe
        self.seen = seen
        self.about = about or {}
        self.name = name

    def __repr__(self) -> str:
        return f"Tagger({self.name!r}, {len(self.labels)} labels, {self.parameters:,} parameters)"

    @property
    def parameters(self) -> int:
        """How many numbers the net has learned."""
        return sum(parameter.numel() for parameter in self.network.parameters())

    def encode(self, sentences: Sequence[Sequence[str]]) -> Batch:
        """The feature ids of sentences, as one batch, in the order given, where the net is."""
        return self.reader.encode(sentences).to(next(self.network.parameters()).device)

    def score(self, batch: Batch) -> Tensor:
        """The scores (batch, length, label) of each word's labels, before the softmax; what is padding is noise."""
        self.network.eval()
        with torch.inference_mode():
            return self.network(batch.vectors, batch.lengths)

    def tag(self, sentences: Iterable[Sequence[str]], *, batch_words: int = 2000) -> list[list[TaggedWord]]:
        """Tag sentences, given as words.

        Args:
            sentences: a list of lists of words; `regard.inputs.split_words` makes one of a text.
            batch_words: about how many words go through the net at a time.

        Returns:
            for each sentence, in the order given, its words with label and score.

        Raises:
            ArgumentError: a sentence is a string, or a word isn't one.
        """
        if isinstance(batch_words, bool) or not isinstance(batch_words, int) or batch_words < 1:
            raise ArgumentError(f"`batch_words` must be a whole number, 1 or more, but is {batch_words!r}.")
        checked = as_sentences(sentences)
        results: list[list[TaggedWord]] = [[] for _ in checked]
        wordy = [index for index, words in enumerate(checked) if words]
        for places in batches_by_length([len(checked[index]) for index in wordy], batch_words):
            members = [wordy[place] for place in places]
            best = self.score(self.encode([checked[index] for index in members])).softmax(-1).max(-1)
            for index, scores, labels in zip(members, best.values.tolist(), best.indices.tolist(), strict=True):
                # The rows are padded to the longest of the batch, so the words decide where each ends.
                words = zip(checked[index], labels, scores, strict=False)
                results[index] = [TaggedWord(text, self.labels[label], score) for text, label, score in words]
        return results

    def evaluate(self, sentences: Iterable[Any], *, batch_words: int = 2000) -> Scores:
        """Tag sentences whose labels are known, and compare.

        Args:
            sentences: (words, labels) pairs, or `TaggedSentence`s.
            batch_words: as in `tag`.

        Raises:
            ArgumentError: there is no word to judge, or a sentence is not of that form.
            MissingExtraError: scikit-learn is not installed.
        """
        examples = as_examples(sentences)
        started = time.perf_counter()
        given = self.tag([words for words, _ in examples], batch_words=batch_words)
        seconds = time.perf_counter() - started
        seen = None
        if self.seen is not None:
            known = set(self.seen.tolist())
            fold = self.recipe.input.features.fold
            seen = [[key in known for key in word_keys(words, fold).tolist()] for words, _ in examples]
        labels = [[word.label for word in words] for words in given]
        scores = score_labels([labels for _, labels in examples], labels, seen=seen)
        return dataclasses.replace(scores, seconds=seconds)

    def save(self, folder: str | Path) -> Path:
        """Write the model as one folder: the weights rounded to float16, their description in JSON, and a card.

        Raises:
            ArgumentError: `folder` holds something that isn't a model; nothing is overwritten.
            OSError: the disk is full, or the place can't be written; what was there is as it was.
        """
        description = {
            "kind": "tagger",
            "recipe": self.recipe.to_json(),
            "labels": list(self.labels),
            "reader": self.reader.to_json(),
            "parameters": self.parameters,
            "about": self.about,
        }
        tensors = dict(self.network.state_dict())
        if self.seen is not None:
            tensors[SEEN] = self.seen
        return write_model(folder, tensors, description, model_card(self.name, description))


def word_keys(words: Iterable[str], fold: str) -> Tensor:
    """A 32-bit key for each word, the same on every machine: enough to know later which words were seen.

    Args:
        words: the words.
        fold: how words are folded before anything else, a name in `inputs.FOLDS`.

    Example:
        >>> word_keys(["saw"], "nothing").tolist()
        [-1687047838]
    """
    # crc32 is unsigned; int32, the type that safetensors and torch share, is not.
    keys = [zlib.crc32(FOLDS[fold](word).encode("utf-8", "surrogatepass")) - 2**31 for word in words]
    return torch.tensor(keys, dtype=torch.int32)
