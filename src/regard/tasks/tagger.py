"""A trained tagger: words in, a label for each word out."""

import dataclasses
import time
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.inputs import FOLDS, Batch, as_sentences
from regard.tasks.answers import Label
from regard.tasks.examples import as_examples
from regard.tasks.model import Model
from regard.tasks.scoring import Scores, score_labels

__all__ = ["TaggedWord", "Tagger", "word_keys"]


class TaggedWord(NamedTuple):
    """A word, the label given, and its score: the softmax probability, from 0 to 1."""

    text: str
    label: str
    score: float


class Tagger(Model[Label]):
    """A trained tagger; `regard.train` makes one, `regard.load` reads one. Its `labels` are in the order of the scores.

    Example:
        >>> import regard
        >>> pairs = [(["a", "b"], ["X", "Y"])]
        >>> recipe = regard.Recipe(width=8, heads=2, hidden=8, layers=1, epochs=1)
        >>> tagger = regard.train(recipe, pairs, pairs, progress="none")
        >>> [[word.text for word in words] for words in tagger.tag([["a", "b", "a"], []])]
        [['a', 'b', 'a'], []]
    """

    kind = "tagger"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the net's scores."""
        return self.answer.names

    def score(self, batch: Batch) -> Tensor:
        """The scores (batch, length, label) of each word's labels, before the softmax; what is padding is noise."""
        self.network.eval()
        with torch.inference_mode():
            return self.network.output(self.network.hidden(batch))

    def tag(self, sentences: Iterable[Sequence[str]], *, batch_items: int = 2000) -> list[list[TaggedWord]]:
        """Tag sentences, given as words.

        Args:
            sentences: a list of lists of words; `regard.inputs.split_words` makes one of a text.
            batch_items: about how many words go through the net at a time.

        Returns:
            for each sentence, in the order given, its words with label and score.

        Raises:
            ArgumentError: a sentence is a string, or a word isn't one.
        """
        checked = as_sentences(sentences)
        results: list[list[TaggedWord]] = []
        for words, numbers in zip(checked, self._outputs(checked, batch_items), strict=True):
            answers = [] if numbers is None else self.answer.read(numbers)
            results.append([TaggedWord(text, *answer) for text, answer in zip(words, answers, strict=True)])
        return results

    def evaluate(self, sentences: Iterable[Any], *, batch_items: int = 2000) -> Scores:
        """Tag sentences whose labels are known, and compare.

        Args:
            sentences: (words, labels) pairs, or `TaggedSentence`s.
            batch_items: as in `tag`.

        Raises:
            ArgumentError: there is no word to judge, or a sentence is not of that form.
            MissingExtraError: scikit-learn is not installed.
        """
        examples = as_examples(sentences)
        started = time.perf_counter()
        given = self.tag([words for words, _ in examples], batch_items=batch_items)
        seconds = time.perf_counter() - started
        seen = None
        if self.seen is not None:
            known = set(self.seen.tolist())
            fold = self.recipe.input.features.fold
            seen = [[key in known for key in word_keys(words, fold).tolist()] for words, _ in examples]
        labels = [[word.label for word in words] for words in given]
        scores = score_labels([labels for _, labels in examples], labels, seen=seen)
        return dataclasses.replace(scores, seconds=seconds)


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
