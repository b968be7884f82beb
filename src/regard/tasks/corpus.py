"""Sentences with labels as numbers, and what a batch of them is."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from regard.inputs import IGNORED, WordEncoder

__all__ = ["Corpus", "label_ids"]


class Corpus:
    """Sentences to train on or to judge by: their words, and for each the labels (length, 1 + auxiliary) by number."""

    def __init__(self, reader: WordEncoder, sentences: Sequence[Sequence[str]], labels: Sequence[Tensor]):
        kept = [index for index, words in enumerate(sentences) if words]
        self.reader = reader
        self._sentences = [sentences[index] for index in kept]
        self._labels = [labels[index] for index in kept]
        self.lengths = [len(words) for words in self._sentences]

    def batch(self, members: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Features, lengths and labels of some sentences, padded to the longest."""
        # The reader remembers each word it has looked at, so that encoding anew every epoch costs next to nothing.
        batch = self.reader.encode([self._sentences[index] for index in members])
        labels = pad_sequence([self._labels[index] for index in members], batch_first=True, padding_value=IGNORED)
        return batch.vectors, batch.lengths, labels


def label_ids(sets: Sequence[Sequence[Sequence[str]]], names: Sequence[list[str]]) -> list[Tensor]:
    """For each sentence (length, sets): each label's number in its set; `IGNORED` for one that training didn't have."""
    numbers = [{name: number for number, name in enumerate(known)} for known in names]
    return [
        torch.tensor([[known.get(label, IGNORED) for label in row] for known, row in zip(numbers, rows, strict=True)]).T
        for rows in zip(*sets, strict=True)
    ]
