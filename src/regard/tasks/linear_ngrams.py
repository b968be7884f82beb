"""The linear part of a classifier of texts: a model of n-grams, which is fitted first, and whose outputs are added."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.extras import require
from regard.inputs import Batch
from regard.inputs.text.embedding_sum import EmbeddingSum
from regard.inputs.text.hashed_ngrams import WORD_COLUMNS
from regard.tasks.linear_part import JointFeatures, LinearPart, fitted_places, fitted_weights
from regard.tasks.targets import Target

__all__ = ["LinearNgrams"]


class LinearNgrams(LinearPart):
    """A linear model of the tf-idf of a text's n-grams, as a sum of what each item adds.

    An item adds the weights of its n-grams, divided by the norm of the text. The sum is `length` times a mean over the
    items. A fold is one of four quarters of the texts.

    Args:
        rows: the number of rows of each of the two tables, of words and pairs of words, and of characters.
        outputs: the number of outputs.

    Source: Wang and Manning 2012, Baselines and Bigrams (ACL 2012, P12-2018), for linear models of n-grams.

    Example:
        >>> import torch
        >>> from regard.inputs.text.hashed_ngrams import hashed_ngrams
        >>> from regard.tasks.targets import Label
        >>> part, ids = LinearNgrams(64, 2), hashed_ngrams([["good"], ["poor"]] * 8, 64)
        >>> _ = part.fit(ids, Label(("no", "yes")), torch.tensor([1, 0] * 8), folds=[0, 0, 1, 1] * 4)
        >>> batch = Batch(torch.zeros(16, 1, 1), torch.ones(16, dtype=torch.int64), ngrams=ids)
        >>> part(batch).argmax(1)[:2]
        tensor([1, 0])
    """

    leaves: ClassVar[bool] = True
    per_item: ClassVar[bool] = False
    most_folds: ClassVar[int] = 4

    def __init__(self, rows: int, outputs: int):
        super().__init__()
        self.rows, self.outputs = rows, outputs
        # A row has the weight for each output, times the idf, and the square of the idf, of which norms are made.
        self.words = EmbeddingSum(rows, outputs + 1)
        self.characters = EmbeddingSum(rows, outputs + 1)
        self.bias = nn.Parameter(torch.zeros(outputs))
        for table in (self.words, self.characters):
            nn.init.zeros_(table.weight)
        self.requires_grad_(False)

    def forward(self, batch: Batch) -> Float[Tensor, "batch output"]:
        """The outputs for each text."""
        added = torch.zeros(*batch.vectors.shape[:2], self.outputs, device=batch.vectors.device)
        for table, ids in zip((self.words, self.characters), _parts(batch.ngrams), strict=True):
            of_items = table(ids.flatten(0, 1)).unflatten(0, ids.shape[:2])
            norm = of_items[..., -1:].sum(1, keepdim=True).clamp(min=1e-6).sqrt()
            added = added + of_items[..., :-1] / norm
        return self.mean(added, batch.lengths) * batch.lengths[:, None] + self.bias

    def fit(
        self, inputs: Iterable[Int64[Tensor, "length ngram"]], target: Target, wanted: Tensor, folds: Sequence[int]
    ) -> Float[Tensor, "text output"]:
        """Fit it to the ids of texts, padded with 0, as in `LinearPart.fit`.

        Raises:
            MissingExtraError: scikit-learn is not installed.
        """
        counts = self._counts(inputs)
        known, own = target.known(wanted).numpy(), np.asarray(folds)
        whole = _solved(counts, target, wanted, known.nonzero()[0])
        held_out = torch.from_numpy(whole.outputs(counts)).float()
        for fold in {*folds}:
            inside, rest = own == fold, (known & (own != fold)).nonzero()[0]
            if len(rest) and (known & inside).any():
                outputs = _solved(counts, target, wanted, rest).outputs([part[inside & known] for part in counts])
                held_out[inside & known] = torch.from_numpy(outputs).float()
        self.assign(whole.weights, whole.idf, whole.bias)
        return held_out

    def joint(self, inputs: Iterable[Int64[Tensor, "length ngram"]]) -> "_JointNgrams":
        return _JointNgrams(self, self._counts(inputs))

    def assign(self, weights: Sequence[Any], idf: Sequence[Any], bias: Any) -> None:
        """Set the weights (row, output) and the inverse document frequencies of the tables, and the bias."""
        with torch.no_grad():
            self.bias.copy_(torch.from_numpy(bias))
            for module, own, each in zip((self.words, self.characters), weights, idf, strict=True):
                module.weight.copy_(torch.from_numpy(np.column_stack([own * each[:, None], each**2])))

    def _counts(self, ids: Iterable[Int64[Tensor, "length ngram"]]) -> list[Any]:
        """How often each text has each n-gram of words, and of characters: sparse (text, row)."""
        flat: tuple[list[Any], list[Any]] = [], []
        for each in ids:
            for kept, part in zip(flat, _parts(each), strict=True):
                kept.append(part[part > 0].numpy().astype(np.int32))
        matrix = require("scipy.sparse", extra="train").csr_matrix
        found = []
        for kept in flat:
            columns = np.concatenate([*kept, np.zeros(0, np.int32)])
            ends = np.cumsum([0, *map(len, kept)])
            counts = matrix((np.ones(len(columns), np.float32), columns, ends), shape=(len(kept), self.rows))
            counts.sum_duplicates()
            found.append(counts)
        return found


class _JointNgrams(JointFeatures):
    """The tf-idf of texts, in the columns that some text has."""

    def __init__(self, part: LinearNgrams, counts: Sequence[Any]):
        self._part = part
        self._idf = [_idf(each) for each in counts]
        self._used = np.concatenate(self._idf) > 0
        self.matrix = _joined(counts, self._idf)[:, self._used]

    def assign(self, weights: Any) -> None:
        every = np.zeros((len(self._used), weights.shape[1]), np.float32)
        every[self._used] = weights
        self._part.assign(np.split(every, len(self._idf)), self._idf, np.zeros(weights.shape[1]))


class _Solved(NamedTuple):
    """A linear model of texts.

    Args:
        weights: of each table, (row, output).
        idf: of each table, the inverse document frequency of each row.
        bias: (output,).
    """

    weights: Sequence[Any]
    idf: Sequence[Any]
    bias: Any

    def outputs(self, counts: Sequence[Any]) -> Any:
        """The outputs (text, output) for the counts of n-grams in each table."""
        parts = zip(counts, self.idf, self.weights, strict=True)
        return sum(_tf_idf(part, idf) @ weights for part, idf, weights in parts) + self.bias


def _solved(counts: Sequence[Any], target: Target, wanted: Tensor, places: Any) -> _Solved:
    """The model that is fitted to the texts at these places."""
    places = fitted_places(places)
    own = [part[places] for part in counts]
    idf = [_idf(part) for part in own]
    features = _joined(own, idf)
    # Most rows of the tables have no n-gram of these texts; without them, solving is several times as fast.
    used = np.concatenate(idf) > 0
    weights = np.zeros((len(used), target.outputs), np.float32)
    weights[used], bias = fitted_weights(features[:, used], target, wanted[places].numpy(), C=10.0, max_iter=300)
    return _Solved(np.split(weights, len(idf)), idf, bias)


def _joined(counts: Sequence[Any], idf: Sequence[Any]) -> Any:
    """The tf-idf of both tables, sparse (text, row)."""
    hstack = require("scipy.sparse", extra="train").hstack
    return hstack([_tf_idf(part, each) for part, each in zip(counts, idf, strict=True)], format="csr")


def _parts(ids: Tensor | None) -> tuple[Tensor, Tensor]:
    """The ids of words and those of characters."""
    if ids is None:
        raise ArgumentError("`ngrams` of a batch must be ids for a linear part, but is None. Let the model encode it.")
    return ids[..., :WORD_COLUMNS], ids[..., WORD_COLUMNS:]


def _idf(counts: Any) -> Any:
    """The smoothed inverse document frequency of each row; 0 of those that no text has, so that they add nothing."""
    texts = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.where(texts > 0, np.log((1 + counts.shape[0]) / (1 + texts)) + 1, 0.0).astype(np.float32)


def _tf_idf(counts: Any, idf: Any) -> Any:
    """The counts times the idf, divided by the norm of each text, in which an n-gram counts as often as it occurs."""
    norm = np.sqrt(np.maximum(counts @ idf**2, 1e-6))
    scaled = counts.copy()
    scaled.data *= idf[counts.indices] / np.repeat(norm, np.diff(counts.indptr))
    return scaled
