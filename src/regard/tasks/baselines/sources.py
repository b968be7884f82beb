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
        pairs = spread(pairs, self._features.most([source for source, _ in pairs]))
        found = self._features.fit_transform([source for source, _ in pairs])
        wanted = self._target.tensor([target for _, target in pairs]).numpy()
        if self._target.labels:
            self._fitted = [_fitted(self._features.classifier(), found, wanted)]
        elif self._target.questions:
            answered = [~np.isnan(column) for column in wanted.T]
            self._fitted = [
                _fitted(self._features.classifier(), found[asked], column[asked].astype(int))
                for asked, column in zip(answered, wanted.T, strict=True)
            ]
        else:
            mean = require("sklearn.dummy", extra="train").DummyRegressor()
            self._fitted = [(self._features.regressor() if len(pairs) > 1 else mean).fit(found, wanted)]

    def evaluate(self, pairs: Sequence[Pair], *, lengths: Sequence[int] | None = None) -> Evaluation:
        """Predict for the examples, and compare.

        Args:
            pairs: the examples.
            lengths: if each is an item of a source, the number of items in each source.
        """
        wanted = self._target.tensor([target for _, target in pairs])
        found = self._features.transform([source for source, _ in pairs])
        scores = evaluate_predictions(self._target, self._outputs(found), wanted, lengths=lengths)
        # Its probabilities aren't those that the target's temperature was found for.
        return dataclasses.replace(scores, calibration=None)

    def _outputs(self, found: Any) -> Float[Tensor, "source output"]:
        """What a network would give for these features, in the order of its outputs."""
        if self._target.labels:
            outputs = _scores(self._fitted[0], found, self._target.outputs)
        elif self._target.questions:
            outputs = np.stack([_scores(each, found, 2) @ [-1.0, 1.0] for each in self._fitted], axis=1)
        else:
            outputs = self._fitted[0].predict(found).reshape(-1, 1)
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
