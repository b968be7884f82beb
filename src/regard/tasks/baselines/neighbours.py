"""The nearest neighbour of a series: the label or the number of the most similar training series."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from regard.extras import require
from regard.tasks.baselines.features import SimpleFeatures

__all__ = ["Resampled"]

_POINTS = 256
_MOST_NUMBERS = 2048


class Resampled(SimpleFeatures):
    """A series as it is, all with the same number of points, and the nearest neighbour by Euclidean distance.

    The number of points is that of the longest training series, but at most 256, and at most 2,048 numbers in all;
    a series of another length is interpolated.

    Args:
        kind: the settings of a kind of source whose encoded sources are vectors (item, feature).
        encoder: its encoder.

    Source: Bagnall et al. 2017, The great time series classification bake off (arXiv 1602.01711), section 4.1.

    Example:
        >>> import torch
        >>> from regard.tasks.sources import Vectors
        >>> series = [torch.tensor([[0.0], [1.0]]), torch.tensor([[0.0], [2.0], [4.0]])]
        >>> Resampled(Vectors(), Vectors().fit(series)).fit_transform(series).shape
        (2, 3)
    """

    name: ClassVar[str] = "the nearest neighbour"

    def __init__(self, kind: Any, encoder: Any):
        self._kind, self._encoder = kind, encoder
        self._points = 1

    def fit_transform(self, sources: Sequence[Any]) -> Any:
        read = [self._read(source) for source in sources]
        width = read[0].shape[-2]
        self._points = max(1, min(max(each.shape[-1] for each in read), _POINTS, _MOST_NUMBERS // width))
        return self._rows(read)

    def transform(self, sources: Sequence[Any]) -> Any:
        return self._rows([self._read(source) for source in sources])

    def classifier(self) -> Any:
        return require("sklearn.neighbors", extra="train").KNeighborsClassifier(1, algorithm="brute")

    def regressor(self) -> Any:
        return require("sklearn.neighbors", extra="train").KNeighborsRegressor(1, algorithm="brute")

    def _read(self, source: Any) -> torch.Tensor:
        """(1, feature, item)."""
        series = torch.as_tensor(self._kind.item(self._encoder, source)).float().T[None]
        return series if series.shape[-1] else series.new_zeros(1, series.shape[1], 1)

    def _rows(self, read: Sequence[torch.Tensor]) -> Any:
        resize = torch.nn.functional.interpolate
        rows = [resize(each, self._points, mode="linear", align_corners=True).flatten() for each in read]
        return torch.stack(rows).numpy().astype(np.float32)
