"""A linear model of each item by itself: the baseline of a tagger of vectors, frames or nodes."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from regard.tasks.baselines.baseline import Baseline
from regard.tasks.baselines.features import SimpleFeatures
from regard.tasks.baselines.sources import SourceBaseline
from regard.tasks.examples import Pair
from regard.tasks.judging.evaluation import Evaluation
from regard.tasks.targets import Target

__all__ = ["ItemBaseline"]

_MOST_ITEMS = 50_000


class ItemBaseline(Baseline):
    """A linear model of the vector of each item, without its neighbours.

    Args:
        vectors: gives the vectors (item, feature) of a source.
        target: the model's target for one item.

    Example:
        >>> import torch
        >>> from regard.tasks.targets import Label
        >>> baseline = ItemBaseline(lambda source: source, Label(("high", "low")))
        >>> baseline.fit([(torch.tensor([[1.0], [2.0], [8.0], [9.0]]), ["low", "low", "high", "high"])])
        >>> baseline.evaluate([(torch.tensor([[0.0], [9.5]]), ["low", "high"])]).score
        1.0
    """

    name = "a linear model of each item by itself"

    def __init__(self, vectors: Callable[[Any], Any], target: Target):
        self._vectors = vectors
        self._of_items = SourceBaseline(_Plain(), target)

    def fit(self, pairs: Sequence[Pair]) -> None:
        self._of_items.fit(self._items(pairs))

    def evaluate(self, pairs: Sequence[Pair]) -> Evaluation:
        return self._of_items.evaluate(self._items(pairs), lengths=[len(targets) for _, targets in pairs])

    def _items(self, pairs: Sequence[Pair]) -> list[Pair]:
        return [
            (vector, target)
            for source, targets in pairs
            for vector, target in zip(np.asarray(self._vectors(source), np.float32), targets, strict=True)
        ]


class _Plain(SimpleFeatures):
    """Vectors as they are."""

    name: ClassVar[str] = "vectors with a linear model"

    def most(self, sources: Sequence[Any]) -> int:
        return _MOST_ITEMS

    def fit_transform(self, sources: Sequence[Any]) -> Any:
        return self.transform(sources)

    def transform(self, sources: Sequence[Any]) -> Any:
        return np.stack(sources)
