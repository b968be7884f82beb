"""Fixed convolutions of a series: how much of each part of it resembles short patterns at several scales."""

import functools
import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import conv1d, pad

from regard.errors import ArgumentError
from regard.inputs.saved import Saved

__all__ = ["FixedConvolutions"]

_TAPS = 9
_KERNELS = tuple(itertools.combinations(range(_TAPS), 3))
_SERIES = 200
"""The number of training series, evenly spread, that thresholds and scales are computed from."""
_PER_SERIES = 500
"""The number of outputs of a kernel, evenly spread over a series, among which thresholds are looked for."""
_LEAST_SPREAD = 0.01
"""Of a share over the training series: what hardly varies there must not decide about a series in which it does."""


@dataclass(frozen=True)
class FixedConvolutions(Saved):
    """The share of a convolution's outputs that exceed a threshold, for each part of a series.

    The kernels aren't trained: 84 kernels have nine weights, three of which are 2 and six are -1, so that they don't
    see the level of a series. Each stands at several dilations. The thresholds are outputs for training series. What
    is returned is standardised, so that the share over a whole series has mean 0 and variance 1 in training. Of
    vectors with several columns, each kernel reads some, about half; of short ones, a dilation stands several times.

    Args:
        together: the number of vectors in a part.
        width: the number of columns of a vector.
        dilations: the distances between two weights of a kernel, one or more.
        thresholds: as many for each kernel of each dilation.
        means, spreads: of each share over a whole series, in training.

    Raises:
        ArgumentError: numbers that don't fit each other.

    Source: Dempster, Schmidt and Webb 2021, MiniRocket (arXiv 2012.08791), section 3.1. There a share is of the whole
        series; here it is of each part, whose mean it is, so that attention can say which part counted. There
        thresholds are outputs for one series, here for several.

    Example:
        >>> found = FixedConvolutions.fit([torch.arange(20.0).sin()[:, None]] * 3, together=8, count=100)
        >>> found.apply(torch.ones(20, 1)).shape, found.count
        (torch.Size([3, 84]), 84)
    """

    json_name: ClassVar[str] = "convolutions"

    together: int
    width: int
    dilations: tuple[int, ...]
    thresholds: tuple[float, ...]
    means: tuple[float, ...]
    spreads: tuple[float, ...]

    def __post_init__(self) -> None:
        for name, least in (("together", 1), ("width", 1)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise ArgumentError(f"`{name}` must be an integer of at least {least}, but is {value!r:.60}.")
        if not self.dilations or min(self.dilations) < 1:
            raise ArgumentError(f"`dilations` must be positive integers, one or more, but are {self.dilations!r:.60}.")
        kernels = len(_KERNELS) * len(self.dilations)
        if not self.thresholds or len(self.thresholds) % kernels:
            raise ArgumentError(
                f"`thresholds` must be a multiple of {kernels} numbers, as many for each kernel, but are "
                f"{len(self.thresholds)}."
            )
        for name in ("thresholds", "means", "spreads"):
            values = getattr(self, name)
            if len(values) != self.count or not all(map(math.isfinite, values)):
                raise ArgumentError(f"`{name}` must be {self.count} finite numbers, but is {values!r:.60}.")
        if min(self.spreads) <= 0:
            raise ArgumentError(f"`spreads` must be above 0, but one is {min(self.spreads)}.")

    @classmethod
    def fit(
        cls, sequences: Sequence[Float[Tensor, "_ width"]], *, together: int = 1, count: int = 1000
    ) -> "FixedConvolutions":
        """Choose dilations by the length of the training series, and thresholds among their outputs.

        Args:
            sequences: standardised training series, of one width.
            together: the number of vectors in a part.
            count: about how many shares are wanted; 84 or a multiple of it are computed.

        Raises:
            ArgumentError: there are no vectors.
        """
        sequences = [each for each in sequences if len(each)]
        if not sequences:
            raise ArgumentError("`sequences` must hold at least one vector, but holds none.")
        sequences = sequences[:: -(-len(sequences) // _SERIES)]
        width, lengths = sequences[0].shape[1], sorted(map(len, sequences))
        most = max(1.0, (lengths[len(lengths) // 2] - 1) / (_TAPS - 1))
        scales = max(1, min(5, count // len(_KERNELS)))
        steps = [most ** (place / max(1, scales - 1)) for place in range(scales)]
        dilations = tuple(sorted(int(step + 1e-6) for step in steps))
        if width == 1:
            # Of several columns, kernels of the same dilation read others each time.
            dilations = tuple(sorted({*dilations}))
        each = max(1, round(count / (len(_KERNELS) * len(dilations))))
        thresholds: list[float] = []
        for place, dilation in enumerate(dilations):
            some = [_outputs(series, place, dilation)[:, :: -(-len(series) // _PER_SERIES)] for series in sequences]
            some = torch.cat(some, 1).sort(1).values
            for kernel, row in enumerate(some):
                first = (place * len(_KERNELS) + kernel) * each
                # Multiples of the golden ratio, modulo 1, spread evenly however many there are.
                at = [int((first + number + 1) * 0.6180339887 % 1 * len(row)) for number in range(each)]
                thresholds += row[at].tolist()
        blank = (0.0,) * len(thresholds), (1.0,) * len(thresholds)
        plain = cls(together, width, dilations, tuple(thresholds), *blank)
        whole = torch.stack([plain._shares(series, len(series))[0] for series in sequences]).double()
        spreads = whole.std(0, correction=0).clamp(min=_LEAST_SPREAD)
        return cls(
            together, width, dilations, tuple(thresholds), tuple(whole.mean(0).tolist()), tuple(spreads.tolist())
        )

    @property
    def count(self) -> int:
        """The number of shares of a part."""
        return len(self.thresholds)

    def apply(self, vectors: Float[Tensor, "item width"]) -> Float[Tensor, "part share"]:
        """The standardised shares of each part; the last part may be shorter.

        Raises:
            ArgumentError: vectors of another width.
        """
        self._check(vectors)
        shares = self._shares(vectors, self.together)
        means, spreads = (torch.tensor(values, device=vectors.device) for values in (self.means, self.spreads))
        return (shares - means) / spreads

    def maxima(self, vectors: Float[Tensor, "item width"]) -> Float[Tensor, " output"]:
        """The largest output of each kernel at each dilation over the whole series; zeros of an empty series.

        Raises:
            ArgumentError: vectors of another width.
        """
        self._check(vectors)
        if not len(vectors):
            return vectors.new_zeros(len(_KERNELS) * len(self.dilations))
        outputs = [_outputs(vectors, place, dilation) for place, dilation in enumerate(self.dilations)]
        return torch.cat([each.amax(1) for each in outputs])

    def _check(self, vectors: Float[Tensor, "item width"]) -> None:
        if vectors.shape[1] != self.width:
            raise ArgumentError(f"`vectors` must be {self.width} wide, but is {vectors.shape[1]}.")

    def _shares(self, vectors: Float[Tensor, "item width"], together: int) -> Float[Tensor, "part share"]:
        if not len(vectors):
            return vectors.new_zeros(0, self.count)
        parts = -(-len(vectors) // together)
        sizes = (len(vectors) - together * torch.arange(parts, device=vectors.device)).clamp(max=together)
        thresholds = torch.tensor(self.thresholds, device=vectors.device).view(
            len(self.dilations), len(_KERNELS), -1, 1
        )
        found = []
        for place, dilation in enumerate(self.dilations):
            above = _outputs(vectors, place, dilation).unsqueeze(1) > thresholds[place]
            # Padding exceeds nothing. (kernel threshold item) -> (part kernel*threshold)
            above = pad(above, (0, parts * together - len(vectors))).unflatten(-1, (parts, together))
            found.append(above.sum(-1).flatten(0, 1).T)
        return torch.cat(found, 1) / sizes.unsqueeze(1)


def _outputs(vectors: Float[Tensor, "item width"], place: int, dilation: int) -> Float[Tensor, "kernel item"]:
    """The outputs of all kernels at one dilation, the `place`-th, with zeros beyond the ends of the series."""
    weights = _weights(place, vectors.shape[1]).to(vectors.device)
    return conv1d(vectors.T[None].float(), weights, padding=dilation * (_TAPS // 2), dilation=dilation)[0]


@functools.lru_cache(maxsize=32)
def _weights(place: int, width: int) -> Float[Tensor, "kernel width tap"]:
    """The weights of all kernels; the columns that they read differ from dilation to dilation."""
    taps = [[2.0 if tap in raised else -1.0 for tap in range(_TAPS)] for raised in _KERNELS]
    # The numbers of `random()` are the same in all versions of Python, so a saved model needs no list of columns.
    draws = random.Random(place)
    reads = [[float(draws.random() < 0.5) for _ in range(width)] for _ in _KERNELS]
    for row in reads:
        row[int(draws.random() * width)] = 1.0
    read = torch.tensor(reads, device="cpu")
    return torch.tensor(taps, device="cpu").unsqueeze(1) * (read / read.sum(1, keepdim=True).sqrt()).unsqueeze(-1)
