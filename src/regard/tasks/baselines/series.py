"""Random convolutions of series, with a ridge classifier."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import conv1d

from regard.extras import require
from regard.tasks.baselines.features import SimpleFeatures
from regard.tasks.baselines.neighbours import Resampled

__all__ = ["RandomConvolutions"]

_KERNELS = 1000
_LENGTH = 9


class RandomConvolutions(SimpleFeatures):
    """For each of 1,000 random kernels, the largest output, and the share of outputs above a threshold.

    Kernels have nine weights, a random dilation up to the length of the series, and read one or more features of a
    vector. The threshold is an output of the kernel at a random place of a random training series.

    Args:
        kind: the settings of a kind of source whose encoded sources are vectors (item, feature).
        encoder: its encoder.

    Source: Dempster, Petitjean and Webb 2020, ROCKET (arXiv 1910.13051), section 3; thresholds as in MiniRocket (arXiv
        2012.08791), section 3.1.
    """

    name: ClassVar[str] = "random convolutions with a ridge classifier"

    def __init__(self, kind: Any, encoder: Any):
        self._kind, self._encoder = kind, encoder
        self._groups: list[tuple[int, Tensor, Tensor]] = []

    @property
    def rivals(self) -> tuple[SimpleFeatures, ...]:
        return (Resampled(self._kind, self._encoder),)

    def fit_transform(self, sources: Sequence[Any]) -> Any:
        series = self._read(sources)
        generator = torch.Generator().manual_seed(0)
        most = np.log2(max(1.0, (max(map(_length, series)) - 1) / (_LENGTH - 1)))
        drawn = (2 ** (torch.rand(_KERNELS, generator=generator) * most)).int().tolist()
        width = series[0].shape[0]
        self._groups = []
        for dilation in sorted({*drawn}):
            count = drawn.count(dilation)
            weights = torch.randn(count, width, _LENGTH, generator=generator)
            weights -= weights.mean(-1, keepdim=True)
            # A kernel reads about half of the features, at least one.
            read = torch.rand(count, width, generator=generator) < 0.5
            read[torch.arange(count), torch.randint(width, (count,), generator=generator)] = True
            weights *= read.unsqueeze(-1) / read.sum(-1).sqrt()[:, None, None]
            thresholds = torch.empty(count)
            for kernel in range(count):
                example = series[int(torch.randint(len(series), (1,), generator=generator))]
                outputs = _convolved(example, weights[kernel : kernel + 1], dilation)[0]
                thresholds[kernel] = outputs[int(torch.randint(len(outputs), (1,), generator=generator))]
            self._groups.append((dilation, weights, thresholds))
        return self._features(series)

    def transform(self, sources: Sequence[Any]) -> Any:
        return self._features(self._read(sources))

    def classifier(self) -> Any:
        linear = require("sklearn.linear_model", extra="train").RidgeClassifierCV(np.logspace(-3, 3, 13))
        scaler = require("sklearn.preprocessing", extra="train").StandardScaler()
        return require("sklearn.pipeline", extra="train").make_pipeline(scaler, linear)

    def _read(self, sources: Sequence[Any]) -> list[Float[Tensor, "feature item"]]:
        read = [torch.as_tensor(self._kind.item(self._encoder, source)).float().T for source in sources]
        return [series if _length(series) else series.new_zeros(len(series), 1) for series in read]

    def _features(self, series: Sequence[Float[Tensor, "feature item"]]) -> Any:
        rows = []
        for each in series:
            parts = [torch.stack([each.mean(-1), each.std(-1, correction=0)]).flatten()]
            for dilation, weights, thresholds in self._groups:
                outputs = _convolved(each, weights, dilation)
                parts += [outputs.amax(-1), (outputs > thresholds[:, None]).float().mean(-1)]
            rows.append(torch.cat(parts))
        return torch.stack(rows).numpy()


def _convolved(
    series: Float[Tensor, "feature item"], weights: Float[Tensor, "kernel feature tap"], dilation: int
) -> Float[Tensor, "kernel item"]:
    return conv1d(series[None], weights, padding=dilation * (_LENGTH // 2), dilation=dilation)[0]


def _length(series: Tensor) -> int:
    return series.shape[-1]
