"""The linear part of a tagger of words: a model of each word's spelling and neighbours, which is fitted first."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.attention import Lengths, NoSelf, Window, attend
from regard.errors import ArgumentError
from regard.extras import require
from regard.inputs import Batch
from regard.inputs.text.embedding_sum import EmbeddingSum
from regard.inputs.text.hashed_affixes import TO_EACH_NEIGHBOUR
from regard.tasks.linear_part import LinearPart, fitted_places, fitted_weights
from regard.tasks.targets import Target

__all__ = ["LinearWords"]

_NEIGHBOURS = 2 * TO_EACH_NEIGHBOUR
# The neighbours of an item: the one before it, and the one after it.
_BESIDE = Window(1, 0) & NoSelf(), Window(0, 1) & NoSelf()


class LinearWords(LinearPart):
    """A linear model of each word's affixes, its shape, and its two neighbours.

    What a neighbour adds comes by attention to it alone, so a word that is hidden from attention adds nothing to its
    neighbours. A fold is one of four quarters of the sentences.

    Args:
        rows: the number of rows of the table.
        outputs: the number of outputs.

    Source: Ratnaparkhi 1996, A Maximum Entropy Model for Part-Of-Speech Tagging (EMNLP 1996, W96-0213); Defazio et al.
        2014, SAGA (arXiv 1407.0202), by which it is solved.

    Example:
        >>> import torch
        >>> from regard.inputs.text.hashed_affixes import hashed_affixes
        >>> from regard.tasks.targets import Label
        >>> part, ids = LinearWords(64, 2), hashed_affixes([["I", "saw"], ["a", "saw"]] * 4, 64)
        >>> _ = part.fit(ids, Label(("NOUN", "OTHER")), torch.tensor([1, 1, 1, 0] * 4), folds=[0, 0, 1, 1] * 2)
        >>> batch = Batch(torch.zeros(8, 2, 1), torch.full((8,), 2), ngrams=ids)
        >>> part(batch).argmax(2)[:2].tolist()
        [[1, 1], [1, 0]]
    """

    leaves: ClassVar[bool] = True
    per_item: ClassVar[bool] = True
    most_folds: ClassVar[int] = 4

    def __init__(self, rows: int, outputs: int):
        super().__init__()
        self.rows, self.outputs = rows, outputs
        self.weights = EmbeddingSum(rows, outputs)
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.zeros_(self.weights.weight)
        self.requires_grad_(False)

    def forward(self, batch: Batch) -> Float[Tensor, "batch length output"]:
        """The outputs for each word; those at padding are meaningless."""
        if batch.ngrams is None:
            raise ArgumentError(
                "`ngrams` of a batch must be ids for a linear part, but is None. Let the model encode it."
            )
        if not batch.ngrams.shape[1]:
            return self.bias.new_zeros(len(batch), 0, self.outputs)
        *beside, own = batch.ngrams.split(
            [TO_EACH_NEIGHBOUR, TO_EACH_NEIGHBOUR, batch.ngrams.shape[2] - _NEIGHBOURS], 2
        )
        found = self._sums(own) + self.bias
        equal, lengths = found.new_zeros(found.shape[0], 1, found.shape[1], 1), Lengths(batch.lengths)
        for ids, mask in zip(beside, _BESIDE, strict=True):
            added = self._sums(ids)[:, None]
            found = found + attend(equal, equal, added, mask=lengths & mask)[:, 0]
        return found

    def _sums(self, ids: Int64[Tensor, "batch length feature"]) -> Float[Tensor, "batch length output"]:
        return self.weights(ids.flatten(0, 1)).unflatten(0, ids.shape[:2])

    def fit(
        self, inputs: Iterable[Int64[Tensor, "length feature"]], target: Target, wanted: Tensor, folds: Sequence[int]
    ) -> Float[Tensor, "item output"]:
        """Fit it to the ids of sentences, padded with 0, as in `LinearPart.fit`.

        Raises:
            MissingExtraError: scikit-learn is not installed.
        """
        features, lengths = self._features(inputs)
        known, fold = target.known(wanted).numpy(), np.repeat(np.asarray(folds), lengths)
        # Whole sentences are left out of very many, in every fold.
        fitted = np.isin(np.repeat(np.arange(len(lengths)), lengths), fitted_places(np.arange(len(lengths))))
        weights, bias = self._solved(features, target, wanted, known & fitted)
        held_out = np.zeros((len(fold), self.outputs))
        for own in {*folds}:
            inside, rest = fold == own, known & fitted & (fold != own)
            # A part that was fitted to nothing says nothing.
            if rest.any():
                of_others, bias_of_others = self._solved(features, target, wanted, rest)
                held_out[inside] = features[inside] @ of_others + bias_of_others
        with torch.no_grad():
            self.bias.copy_(torch.from_numpy(bias))
            self.weights.weight.copy_(torch.from_numpy(weights))
        return torch.from_numpy(held_out).float()

    def _features(self, ids: Iterable[Int64[Tensor, "length feature"]]) -> tuple[Any, list[int]]:
        """The features of all words, sparse (word, row), and the number of words of each sentence."""
        columns, counts, lengths = [], [], []
        for each in ids:
            read, beside = each.numpy(), np.zeros((len(each), _NEIGHBOURS), np.int64)
            beside[1:, :TO_EACH_NEIGHBOUR] = read[:-1, :TO_EACH_NEIGHBOUR]
            beside[:-1, TO_EACH_NEIGHBOUR:] = read[1:, TO_EACH_NEIGHBOUR:_NEIGHBOURS]
            read = np.concatenate([beside, read[:, _NEIGHBOURS:]], 1)
            columns.append(read[read > 0].astype(np.int32))
            counts.append((read > 0).sum(1))
            lengths.append(len(read))
        matrix = require("scipy.sparse", extra="train").csr_matrix
        flat = np.concatenate([*columns, np.zeros(0, np.int32)])
        ends = np.cumsum([0, *np.concatenate([*counts, np.zeros(0, np.int64)])])
        features = matrix((np.ones(len(flat)), flat, ends), shape=(len(ends) - 1, self.rows))
        features.sum_duplicates()
        return features, lengths

    def _solved(self, features: Any, target: Target, wanted: Tensor, chosen: Any) -> tuple[Any, Any]:
        """Weights (row, output) and bias, fitted to the chosen words."""
        own = features[chosen]
        used = np.bincount(own.indices, minlength=self.rows) > 0
        weights = np.zeros((self.rows, self.outputs))
        weights[used], bias = fitted_weights(
            own[:, used],
            target,
            wanted.numpy()[chosen],
            C=3.0,
            solver="saga",
            # It is as good as the exact solution after a tenth of its time.
            tol=0.01,
            max_iter=30,
            random_state=0,
        )
        return weights, bias
