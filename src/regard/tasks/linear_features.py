"""The linear part of a classifier of vectors: ridge regression on the mean of the items and features of the whole."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.extras import require
from regard.inputs import Batch
from regard.tasks.linear_part import ABSENT, LinearPart, fitted_places
from regard.tasks.targets import Label, Target

__all__ = ["LinearFeatures"]

_STRENGTHS = np.logspace(-4, 5, 19)
"""The penalties to choose among, in multiples of the mean eigenvalue."""
_WEIGHTS = (0.01, 0.1, 0.3, 1.0, 3.0)
"""How much the features of the whole may count, all together, beside the mean of the items."""
_CHOSEN_ON = 1000
"""The number of sources, evenly spaced, by which that is chosen."""
_VARIES = 1e-6


class LinearFeatures(LinearPart):
    """A linear model of the mean of a source's vectors, and of its features as a whole (`Batch.whole`).

    Each output is fitted by ridge regression. The strength of the penalty, and how much the features of the whole count
    beside those of the items, are those with the least squared error where each source is left out in turn; equal
    sources are left out together. By the same outputs, margins become logits: those of labels by a temperature, those
    of questions by logistic regression.

    Args:
        items: the size of an item's vector.
        whole: the number of features of the whole; 0: none.
        outputs: the number of outputs.

    Source: Dempster, Petitjean and Webb 2020, ROCKET (arXiv 1910.13051), section 3.3, for ridge classifiers of many
        features of few series; Hastie, Tibshirani and Friedman 2009, The Elements of Statistical Learning, section
        7.10, for leaving one out; Platt 1999, Probabilistic outputs for support vector machines, for logits.

    Example:
        >>> from regard.tasks.targets import Label
        >>> sources = [torch.tensor([[float(place % 2)], [place / 16]]) for place in range(16)]
        >>> part, wanted = LinearFeatures(1, 0, 2), torch.tensor([0, 1] * 8)
        >>> _ = part.fit([Batch.pad([each]) for each in sources], Label(("no", "yes")), wanted, folds=[*range(16)])
        >>> part(Batch.pad(sources)).argmax(1)[:4]
        tensor([0, 1, 0, 1])
    """

    # Of a few dozen sources a network that learns what this part leaves learns nothing; by itself it errs elsewhere.
    leaves: ClassVar[bool] = False
    per_item: ClassVar[bool] = False
    # Leaving out one source costs as little as leaving out a quarter, and says more.
    most_folds: ClassVar[int] = 1 << 31

    def __init__(self, items: int, whole: int, outputs: int):
        super().__init__()
        self.items = nn.Linear(items, outputs)
        self.whole = nn.Linear(whole, outputs, bias=False) if whole else None
        for each in self.parameters():
            nn.init.zeros_(each)
        self.requires_grad_(False)

    def forward(self, batch: Batch) -> Float[Tensor, "batch output"]:
        """The outputs for each source."""
        given = self.items(self.mean(batch.vectors, batch.lengths))
        return given if self.whole is None else given + self.whole(_whole(batch))

    def fit(
        self, inputs: Iterable[Batch], target: Target, wanted: Tensor, folds: Sequence[int]
    ) -> Float[Tensor, "source output"]:
        """Fit it to sources, a batch for each, as in `LinearPart.fit`.

        Raises:
            MissingExtraError: scikit-learn is not installed, for questions.
        """
        rows = [(batch.vectors[0].mean(0), _whole(batch)[0]) for batch in inputs]
        groups = [np.stack([row[group].numpy() for row in rows]).astype(np.float64) for group in (0, 1)]
        fitted = _fitted(groups, target, wanted, np.asarray(folds))
        with torch.no_grad():
            items, whole = np.split(fitted.weights, [groups[0].shape[1]])
            self.items.weight.copy_(torch.from_numpy(items.T))
            self.items.bias.copy_(torch.from_numpy(fitted.bias))
            if self.whole is not None:
                self.whole.weight.copy_(torch.from_numpy(whole.T))
        return torch.from_numpy(fitted.held_out).float()


def _whole(batch: Batch) -> Float[Tensor, "batch feature"]:
    """The features of the sources as a whole; none if the batch has none."""
    return batch.vectors.new_zeros(batch.vectors.shape[0], 0) if batch.whole is None else batch.whole


class _Fitted(NamedTuple):
    """A linear model.

    Args:
        weights: (feature, output).
        bias: (output,).
        held_out: what it says of each source if it is fitted to the others, (source, output).
    """

    weights: Any
    bias: Any
    held_out: Any


def _fitted(groups: Sequence[Any], target: Target, wanted: Tensor, folds: Any) -> _Fitted:
    """The model for what a network's outputs mean, of groups of features, each (source, feature)."""
    known = target.known(wanted).numpy()
    asked = wanted.numpy()
    if target.labels:
        labels = np.unique(asked[known])
        found = _blank(groups, target.outputs, ABSENT)
        found.bias[labels] = found.held_out[:, labels] = 0.0
        if len(labels) > 1:
            _set(found, labels, _of_labels(groups, np.searchsorted(labels, asked), len(labels), known, folds))
        return found
    if target.questions:
        found = _blank(groups, target.outputs, 0.0)
        for place, column in enumerate(asked.T):
            answered = ~np.isnan(column)
            if len(answers := np.unique(column[answered])) == 2:
                _set(found, [place], _of_question(groups, column, answered, folds))
            elif len(answers):
                # All were answered alike: yes (1) or no (0).
                found.bias[place] = found.held_out[:, place] = ABSENT * (1 - 2 * answers[0])
        return found
    return _solved(groups, asked.reshape(-1, 1), known, folds)


def _of_labels(groups: Sequence[Any], numbers: Any, count: int, known: Any, folds: Any) -> _Fitted:
    found = _solved(groups, np.eye(count)[np.where(known, numbers, 0)], known, folds)
    names = Label(tuple(map(str, range(count))))
    scale = 1 / names.calibrated(*map(torch.from_numpy, (found.held_out[known], numbers[known]))).temperature
    return _Fitted(found.weights * scale, found.bias * scale, found.held_out * scale)


def _of_question(groups: Sequence[Any], answers: Any, answered: Any, folds: Any) -> _Fitted:
    found = _solved(groups, answers[:, None], answered, folds)
    own, yes = found.held_out[answered], answers[answered].astype(int)
    # Of unit spread, so that the penalty of the logistic regression is the same for all questions.
    spread = own.std() or 1.0
    logistic = require("sklearn.linear_model", extra="train").LogisticRegression().fit(own / spread, yes)
    slope, shift = float(logistic.coef_[0, 0]) / spread, float(logistic.intercept_[0])
    if slope <= 0:
        # Margins that say the opposite where a source is left out know nothing: what is left is the share of yes.
        slope, shift = 0.0, float(np.log(yes.sum() / (len(yes) - yes.sum())))
    return _Fitted(found.weights * slope, found.bias * slope + shift, found.held_out * slope + shift)


def _solved(groups: Sequence[Any], wanted: Any, known: Any, folds: Any) -> _Fitted:
    """Ridge regression of the known targets (source, output); unknown ones are NaN or anything."""
    places = fitted_places(known.nonzero()[0])
    standard = [_standardised(group, places) for group in groups]
    few = places[:: -(-len(places) // _CHOSEN_ON)]
    weights = _WEIGHTS if all(len(scale) and scale.any() for _, _, scale in standard) else (1.0,)
    own = [(values[few], mean, scale) for values, mean, scale in standard]
    errors = [_ridge(_joined(own, weight), wanted[few], folds[few]).error for weight in weights]
    weight = weights[int(np.argmin(errors))]
    features = _joined(standard, weight)
    found = _ridge(features[places], wanted[places], folds[places])
    held_out = features @ found.weights + found.bias
    held_out[places] = found.held_out
    # The weights of the features as they are, before they were standardised.
    scale = np.concatenate([scale * factor for (_, _, scale), factor in zip(standard, (1.0, weight**0.5), strict=True)])
    raw = found.weights * scale[:, None]
    return _Fitted(raw, found.bias - np.concatenate([mean for _, mean, _ in standard]) @ raw, held_out)


def _standardised(group: Any, places: Any) -> tuple[Any, Any, Any]:
    """Features (source, feature) of mean 0 and a total variance of 1 at these places; their means, and the factors."""
    mean, spread = group[places].mean(0), group[places].std(0)
    varies = spread > _VARIES
    scale = np.where(varies, 1 / np.where(varies, spread, 1.0), 0.0) / max(1, varies.sum()) ** 0.5
    return (group - mean) * scale, mean, scale


def _joined(standard: Sequence[tuple[Any, Any, Any]], weight: float) -> Any:
    (items, *_), (whole, *_) = standard
    return np.concatenate([items, whole * weight**0.5], axis=1)


class _Ridge(NamedTuple):
    """The solution of a ridge regression with its error, the mean square where each fold is left out."""

    weights: Any
    bias: Any
    held_out: Any
    error: float
    strength: float


def _ridge(features: Any, wanted: Any, folds: Any) -> _Ridge:
    """The solution with the strength whose error is least.

    The outputs of a fold that is left out follow from those of the whole: wanted - (1 - H)^-1 (wanted - given), where
    H are the rows and columns of the fold in the matrix that maps the targets to the outputs.
    """
    centre, mean = features.mean(0), wanted.mean(0)
    # The features are U root(e) V^T; the smaller of the two products of the features with themselves gives both.
    centred = features - centre
    if len(centred) <= centred.shape[1]:
        values, left = np.linalg.eigh(centred @ centred.T)
        kept = values > values[-1] * 1e-10 if len(values) else values > 0
        values, left = values[kept], left[:, kept]
        right = centred.T @ left / values**0.5
    else:
        values, right = np.linalg.eigh(centred.T @ centred)
        kept = values > values[-1] * 1e-10 if len(values) else values > 0
        values, right = values[kept], right[:, kept]
        left = centred @ right / values**0.5
    along, together = left.T @ wanted, _together(folds)
    tried = []
    for strength in _STRENGTHS * (values.mean() if len(values) else 1.0):
        shrunk = values / (values + strength)
        held_out = wanted - _left_out(together, left, shrunk, wanted - mean - left @ (shrunk[:, None] * along))
        tried.append((float(((held_out - wanted) ** 2).mean()), float(strength), held_out))
    error, strength, held_out = min(tried, key=lambda each: each[0])
    weights = right @ ((values**0.5 / (values + strength))[:, None] * along)
    return _Ridge(weights, mean - centre @ weights, held_out, error, strength)


def _together(folds: Any) -> list[Any]:
    """The places of each fold of several sources."""
    numbers, counts = np.unique(folds, return_inverse=True, return_counts=True)[1:]
    return [(numbers == number).nonzero()[0] for number in (counts > 1).nonzero()[0]]


def _left_out(together: Sequence[Any], left: Any, shrunk: Any, errors: Any) -> Any:
    """The errors of each fold if it is left out; `errors` are those of the whole."""
    share = 1 / len(left)
    found = errors / np.maximum(1 - share - (left**2 * shrunk).sum(1), _VARIES)[:, None]
    for own in together:
        inside = np.eye(len(own)) * (1 + _VARIES) - share - (left[own] * shrunk) @ left[own].T
        found[own] = np.linalg.solve(inside, errors[own])
    return found


def _blank(groups: Sequence[Any], outputs: int, bias: float) -> _Fitted:
    size = sum(group.shape[1] for group in groups)
    return _Fitted(np.zeros((size, outputs)), np.full(outputs, bias), np.full((len(groups[0]), outputs), bias))


def _set(found: _Fitted, outputs: Any, own: _Fitted) -> None:
    """Set these outputs of a model."""
    found.weights[:, outputs], found.bias[outputs], found.held_out[:, outputs] = own
