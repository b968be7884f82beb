"""A linear model of simple features: the baseline of a classifier."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.extras import require
from regard.tasks.baselines.baseline import Baseline
from regard.tasks.baselines.features import SimpleFeatures
from regard.tasks.examples import Pair, spread
from regard.tasks.judging.evaluation import Evaluation, evaluate_predictions
from regard.tasks.targets import Target

__all__ = ["SourceBaseline"]

_CHOSEN_ON = 400
_FEWEST = 8
_FOLDS = 4


class SourceBaseline(Baseline):
    """An estimator of scikit-learn on simple features: labels, answers to several questions, or numbers.

    Args:
        features: the features of a source.
        target: the model's target.

    Example:
        >>> from regard.tasks.baselines.features import TextFeatures
        >>> from regard.tasks.targets import Label
        >>> baseline = SourceBaseline(TextFeatures(), Label(("no", "yes")))
        >>> baseline.fit([("good", "yes"), ("poor", "no"), ("very good", "yes"), ("very poor", "no")])
        >>> baseline.evaluate([("so good", "yes"), ("so poor", "no")]).score
        1.0
    """

    def __init__(self, features: SimpleFeatures, target: Target):
        self.name = features.name
        self._features, self._target = features, target
        self._fitted: list[Any] = []

    def fit(self, pairs: Sequence[Pair]) -> None:
        known = self._target.known(self._target.tensor([target for _, target in pairs])).tolist()
        pairs = [pair for pair, is_known in zip(pairs, known, strict=True) if is_known]
        if self._features.rivals and len(pairs) >= _FEWEST:
            self._features = self._best(spread(pairs, _CHOSEN_ON))
            self.name = self._features.name
        pairs = spread(pairs, self._features.most([source for source, _ in pairs]))
        found = self._features.fit_transform([source for source, _ in pairs])
        wanted = self._target.tensor([target for _, target in pairs]).numpy()
        self._fitted = self._estimators(self._features, found, wanted)

    def _best(self, pairs: Sequence[Pair]) -> SimpleFeatures:
        """The features with the best score over four folds; the features themselves don't see the targets."""
        kinds, scores = (self._features, *self._features.rivals), []
        wanted = self._target.tensor([target for _, target in pairs])
        folds = np.random.default_rng(0).permutation(len(pairs)) % _FOLDS
        for features in kinds:
            found = features.fit_transform([source for source, _ in pairs])
            outputs = torch.zeros(len(pairs), self._target.outputs)
            for fold in range(_FOLDS):
                fitted = self._estimators(features, found[folds != fold], wanted.numpy()[folds != fold])
                outputs[torch.from_numpy(folds == fold)] = self._outputs(fitted, found[folds == fold])
            score = self._target.score(outputs, wanted)
            scores.append(-score if self._target.measure.falls else score)
        return kinds[scores.index(max(scores))]

    def _estimators(self, features: SimpleFeatures, found: Any, wanted: Any) -> list[Any]:
        if self._target.labels:
            return [_fitted(features.classifier(), found, wanted)]
        if self._target.questions:
            answered = [~np.isnan(column) for column in wanted.T]
            return [
                _fitted(features.classifier(), found[asked], column[asked].astype(int))
                for asked, column in zip(answered, wanted.T, strict=True)
            ]
        mean = require("sklearn.dummy", extra="train").DummyRegressor()
        return [(features.regressor() if len(wanted) > 1 else mean).fit(found, wanted)]

    def evaluate(self, pairs: Sequence[Pair], *, lengths: Sequence[int] | None = None) -> Evaluation:
        """Predict for the examples, and compare.

        Args:
            pairs: the examples.
            lengths: if each is an item of a source, the number of items in each source.
        """
        wanted = self._target.tensor([target for _, target in pairs])
        found = self._features.transform([source for source, _ in pairs])
        scores = evaluate_predictions(self._target, self._outputs(self._fitted, found), wanted, lengths=lengths)
        # Its probabilities aren't those that the target's temperature was found for.
        return dataclasses.replace(scores, calibration=None)

    def _outputs(self, fitted: Sequence[Any], found: Any) -> Float[Tensor, "source output"]:
        """What a network would give for these features, in the order of its outputs."""
        if self._target.labels:
            outputs = _scores(fitted[0], found, self._target.outputs)
        elif self._target.questions:
            outputs = np.stack([_scores(each, found, 2) @ [-1.0, 1.0] for each in fitted], axis=1)
        else:
            outputs = fitted[0].predict(found).reshape(-1, 1)
        return torch.from_numpy(np.asarray(outputs, np.float32))


def _fitted(estimator: Any, found: Any, labels: Any) -> Any:
    """The fitted estimator; the only label if there is one, else the first: an estimator needs two."""
    known = np.unique(labels)
    return estimator.fit(found, labels) if len(known) > 1 else int(known[0]) if len(known) else 0


def _scores(fitted: Any, found: Any, count: int) -> Any:
    """A score for each of `count` labels, the highest for the one that is predicted."""
    scores = np.full((found.shape[0], count), -1e4)
    if isinstance(fitted, int):
        scores[:, fitted] = 0.0
        return scores
    if hasattr(fitted, "predict_proba"):
        given = np.log(np.maximum(fitted.predict_proba(found), 1e-30))
    else:
        given = fitted.decision_function(found)
        given = np.stack([-given, given], axis=1) if given.ndim == 1 else given
    scores[:, fitted.classes_] = given
    return scores
