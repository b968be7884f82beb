"""The linear part of a classifier: a model that is fitted before the network, and whose outputs are added to it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.attention import Lengths, attend
from regard.inputs import Batch
from regard.tasks.targets import Target

__all__ = ["ABSENT", "LinearPart", "fitted_places"]

_MOST_EXAMPLES = 20_000
ABSENT = -4.0
"""The bias of a label that the examples lack."""


class LinearPart(nn.Module, ABC):
    """A linear model of a source, which stands beside the network of a classifier.

    It is solved as a convex problem in seconds and isn't trained further. A kind of source says which part suits it
    (`Source.linear_part`), and what that is fitted to (`Source.linear_inputs`).

    Attributes:
        leaves: whether the network learns what the part leaves, and their outputs are added; else the network learns by
            itself, and the mean of both counts, as in an ensemble.
        most_folds: into how many folds sources are divided at most, to tell what the part says of a source that it
            wasn't fitted to.

    Source: Friedman 2001, Greedy Function Approximation (doi 10.1214/aos/1013203451), section 2, for fitting to what is
        left.
    """

    leaves: ClassVar[bool]
    most_folds: ClassVar[int]

    @abstractmethod
    def forward(self, batch: Batch) -> Float[Tensor, "batch output"]:
        """The outputs for each source."""

    @abstractmethod
    def fit(
        self, inputs: Iterable[Any], target: Target, wanted: Tensor, folds: Sequence[int]
    ) -> Float[Tensor, "source output"]:
        """Fit it to sources, and return what it says of each fold if it is fitted to the others.

        The outputs for sources that it was fitted to are of no use to the network beside it: they are right. Of more
        than 20,000 sources it is fitted to so many.

        Args:
            inputs: what `Source.linear_inputs` gives for the sources.
            target: the target.
            wanted: the encoded targets of the sources; it isn't fitted to unknown ones.
            folds: the fold of each source.
        """

    def joined(self, given: Float[Tensor, "source output"], batch: Batch) -> Float[Tensor, "source output"]:
        """The outputs of the network and of this part together."""
        both = given + self(batch)
        return both if self.leaves else both / 2

    @staticmethod
    def mean(
        values: Float[Tensor, "batch length feature"], lengths: Int64[Tensor, " batch"]
    ) -> Float[Tensor, "batch feature"]:
        """The mean over the items of each source, which attention with equal weights takes.

        So an item that is hidden from attention is hidden from a linear part, too.
        """
        equal = values.new_zeros(len(values), 1, values.shape[1], 1)
        return attend(equal[:, :, :1], equal, values[:, None], mask=Lengths(key=lengths)).flatten(1)


def fitted_places(places: Any) -> Any:
    """The places of the sources that a part is fitted to: these, or 20,000 of them."""
    if len(places) <= _MOST_EXAMPLES:
        return places
    return np.sort(np.random.default_rng(0).choice(places, _MOST_EXAMPLES, replace=False))
