"""The linear part of a classifier or tagger: a model that is fitted before the network, and answers with it."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.attention import Lengths, attend
from regard.extras import require
from regard.inputs import Batch
from regard.tasks.targets import Target

__all__ = ["ABSENT", "LinearPart", "fitted_places", "fitted_weights"]

_MOST_EXAMPLES = 20_000
ABSENT = -4.0
"""The bias of a label that the examples lack."""


class LinearPart(nn.Module, ABC):
    """A linear model of a source or of its items, which stands beside the network of a classifier or tagger.

    It is solved as a convex problem in seconds and isn't trained further. A kind of source says which part suits it
    (`Source.linear_part`), and what that is fitted to (`Source.linear_inputs`).

    Attributes:
        leaves: whether the network learns what the part leaves, and their outputs are added; else the network learns by
            itself, and the mean of both counts, as in an ensemble.
        per_item: whether its outputs are for each item of a source, as those of a tagger.
        most_folds: into how many folds sources are divided at most, to tell what the part says of a source that it
            wasn't fitted to.

    Source: Friedman 2001, Greedy Function Approximation (doi 10.1214/aos/1013203451), section 2, for fitting to what is
        left.
    """

    leaves: ClassVar[bool]
    per_item: ClassVar[bool]
    most_folds: ClassVar[int]

    @abstractmethod
    def forward(self, batch: Batch) -> Float[Tensor, "..."]:
        """The outputs for each source, (batch, output), or for each item, (batch, length, output)."""

    @abstractmethod
    def fit(
        self, inputs: Iterable[Any], target: Target, wanted: Tensor, folds: Sequence[int]
    ) -> Float[Tensor, "target output"]:
        """Fit it to sources, and return what it says of each fold if it is fitted to the others.

        The outputs for sources that it was fitted to are of no use to the network beside it: they are right. Of more
        than 20,000 sources it is fitted to so many.

        Args:
            inputs: what `Source.linear_inputs` gives for the sources.
            target: the target.
            wanted: the encoded targets of the sources or of all their items; it isn't fitted to unknown ones.
            folds: the fold of each source.
        """

    def joined(self, given: Float[Tensor, "..."], batch: Batch) -> Float[Tensor, "..."]:
        """The outputs of the network and of this part together; those for items are (batch, length, output)."""
        both = given + self(batch)
        return both if self.leaves else both / 2

    @staticmethod
    def mean(
        values: Float[Tensor, "batch length feature"], lengths: Int64[Tensor, " batch"]
    ) -> Float[Tensor, "batch feature"]:
        """The mean over the items of each source, which attention with equal weights takes.

        So an item that is hidden from attention is hidden from a linear part, too.
        """
        equal = values.new_zeros(values.shape[0], 1, values.shape[1], 1)
        return attend(equal[:, :, :1], equal, values[:, None], mask=Lengths(key=lengths)).flatten(1)


def fitted_places(places: Any) -> Any:
    """The places of the sources that a part is fitted to: these, or 20,000 of them."""
    if len(places) <= _MOST_EXAMPLES:
        return places
    return np.sort(np.random.default_rng(0).choice(places, _MOST_EXAMPLES, replace=False))


def fitted_weights(features: Any, target: Target, wanted: Any, **logistic: Any) -> tuple[Any, Any]:
    """Fit a linear model of what a network's outputs mean to sparse features.

    Args:
        features: (example, feature).
        target: the target.
        wanted: the encoded targets, all known.
        logistic: arguments of scikit-learn's `LogisticRegression`, for labels and answers. A fit that stopped early is
            good enough to start from.

    Returns:
        weights (feature, output) and bias (output,).
    """
    linear = require("sklearn.linear_model", extra="train")
    convergence = require("sklearn.exceptions", extra="train").ConvergenceWarning

    def fitted(features: Any, wanted: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", convergence)
            return linear.LogisticRegression(**logistic).fit(features, wanted)

    weights = np.zeros((features.shape[1], target.outputs))
    bias = np.zeros(target.outputs)
    if target.labels:
        known = np.unique(wanted)
        bias[:] = ABSENT
        bias[known] = 0.0
        if len(known) == 2:
            found = fitted(features, wanted)
            weights[:, known] = found.coef_.T * [-0.5, 0.5]
            bias[known] = found.intercept_ * [-0.5, 0.5]
        elif len(known) > 2:
            found = fitted(features, wanted)
            weights[:, known], bias[known] = found.coef_.T, found.intercept_
    elif target.questions:
        for place, column in enumerate(wanted.T):
            asked = ~np.isnan(column)
            if len(answers := np.unique(column[asked])) == 2:
                found = fitted(features[asked], column[asked].astype(int))
                weights[:, place], bias[place] = found.coef_[0], found.intercept_[0]
            else:
                # All were answered alike: yes (1) or no (0).
                bias[place] = ABSENT * (1 - 2 * answers.sum()) if len(answers) else 0.0
    else:
        found = linear.Ridge(1.0).fit(features, wanted.reshape(-1))
        weights[:, 0], bias[0] = found.coef_, found.intercept_
    return weights, bias
