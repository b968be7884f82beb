"""Sequences of plain vectors, and the embedding of all sources of floating-point vectors."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.datasets import find_series_table
from regard.errors import ArgumentError
from regard.inputs import Batch, FixedConvolutions, Standardise, read_vectors
from regard.inputs.saved import Saved
from regard.modules.dropout import Dropout
from regard.tasks.settings import boolean, fraction, integer
from regard.tasks.sources.source import Source

if TYPE_CHECKING:
    from regard.inspection import DrawnTable
    from regard.tasks.baselines import SimpleFeatures
    from regard.tasks.linear_part import LinearPart

__all__ = ["VectorEmbedding", "VectorEncoder", "Vectors", "labelled_series"]

_ITEMS = 24
"""About how many items a series of usual length has in a default recipe for a target of the whole series."""
_MOST_ITEMS = 240_000
"""How many items all series together may have there."""
_FEW_SERIES = 2500
"""Up to how many series a thousand shares describe an item there; with more series, 252."""


@dataclass(frozen=True)
class VectorEncoder(Saved):
    """Encodes a series as its standardised vectors with the shares of fixed convolutions.

    Args:
        standard: standardises the columns.
        convolutions: computes the shares of each part of a series.
    """

    json_name: ClassVar[str] = "reader"

    standard: Standardise
    convolutions: FixedConvolutions


@dataclass(frozen=True)
class Vectors(Source):
    """Sources that are sequences of vectors: tensors or arrays (item, width), all of one width.

    Each feature is standardised by its mean and standard deviation in training.

    Args:
        item_dropout: the probability that a vector is replaced by zeros in training.
        together: the number of neighbouring vectors that are joined to one item; the last item is padded with zeros.
        convolutions: about how many shares of `FixedConvolutions` describe each item beside its vectors; 0: none.
        linear: of a classifier: whether a linear model stands beside the network (`tasks.linear_features`), of the mean
            of the items and of the whole series: the mean, spread, minimum and maximum of each column, and the maximum
            of each convolution.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "vectors"
    noun: ClassVar[str] = "vector"
    source_noun: ClassVar[str] = "series"
    given: ClassVar[str] = "an array (item, width)"
    vectors: ClassVar[str] = "its rows, standardised, or parts of several rows"
    argument: ClassVar[str] = "file"
    example: ClassVar[str] = "vectors"
    encoding: ClassVar[str] = (
        "Each column is standardised by its mean and spread, and neighbouring vectors are joined to one item; with "
        "`convolutions`, the shares of fixed convolutions follow. A share counts outputs above a threshold, so "
        "rounding may change one."
    )
    modalities: ClassVar[Mapping[str, int]] = {"vectors": 3}
    recognised_by: ClassVar[str] = "the content of {data}"

    item_dropout: float = fraction(0.0)
    together: int = integer(1, 1, 10_000)
    convolutions: int = integer(0, 0, 100_000)
    linear: bool = boolean(False)

    @classmethod
    def suits(cls, source: Any) -> int:
        return 3 if isinstance(source, Tensor | np.ndarray) and source.ndim == 2 else 0

    def fit(self, sources: Iterable[Any]) -> Standardise | VectorEncoder:
        sources = [_tensor(source) for source in sources]
        standard = Standardise.fit(sources)
        if not self.convolutions:
            return standard
        found = [standard.apply(source) for source in sources]
        return VectorEncoder(standard, FixedConvolutions.fit(found, together=self.together, count=self.convolutions))

    def encoder(self, saved: Any) -> Standardise | VectorEncoder:
        return VectorEncoder.from_json(saved) if self.convolutions else Standardise.from_json(saved)

    def item(self, encoder: Standardise | VectorEncoder, source: Any) -> "Float[Tensor, 'item width'] | _Described":
        vectors = _standard(encoder).apply(_tensor(source))
        items = _joined(vectors, self.together)
        if isinstance(encoder, VectorEncoder):
            items = torch.cat([items, encoder.convolutions.apply(vectors)], dim=1)
        return _Described(items, _whole(encoder, vectors)) if self.linear else items

    def batch(self, encoder: Standardise | VectorEncoder, items: Sequence[Any]) -> Batch:
        if not self.linear:
            return Batch.pad([getattr(item, "vectors", item) for item in items])
        return replace(Batch.pad([item.vectors for item in items]), whole=torch.stack([item.whole for item in items]))

    def random_items(self, encoder: Standardise | VectorEncoder, lengths: Sequence[int]) -> "list[Tensor | _Described]":
        width = _standard(encoder).width
        means, spreads = torch.tensor(_standard(encoder).means), torch.tensor(_standard(encoder).spreads)
        draws = torch.Generator().manual_seed(0)
        series = (torch.randn(length * self.together, width, generator=draws) for length in lengths)
        return [self.item(encoder, means + spreads * each) for each in series]

    def encoder_file(self, encoder: Standardise | VectorEncoder) -> str:
        return "vectors"

    def numpy_example(self, encoder: Standardise | VectorEncoder) -> str:
        return f"np.zeros(({8 * self.together}, {_standard(encoder).width}), np.float32)"

    def embedding(self, encoder: Standardise | VectorEncoder, width: int) -> nn.Module:
        return VectorEmbedding(self._size(encoder), width, item_dropout=self.item_dropout)

    def _size(self, encoder: Standardise | VectorEncoder) -> int:
        shares = encoder.convolutions.count if isinstance(encoder, VectorEncoder) else 0
        return self.together * _standard(encoder).width + shares

    def linear_part(self, encoder: Standardise | VectorEncoder, outputs: int) -> "LinearPart | None":
        if not self.linear:
            return None
        from regard.tasks.linear_features import LinearFeatures

        whole = _whole(encoder, torch.zeros(0, _standard(encoder).width))
        return LinearFeatures(self._size(encoder), len(whole), outputs)

    def from_argument(self, encoder: Standardise | VectorEncoder, argument: str) -> list[tuple[str, Any]]:
        # A file may hold several series.
        ((path, _),) = super().from_argument(encoder, argument)
        width = _standard(encoder).width
        if (table := find_series_table(Path(path), labelled=False)) is not None and table.layout.width == width:
            return [(f"{path}: {name}", vectors) for name, vectors in table.named()]
        read = read_vectors(path)
        several = len(read) > 1
        return [
            (f"{path}: {name}" if several else path, vectors)
            for name, vectors in zip(read.names, read.sequences, strict=True)
        ]

    def names(self, encoder: Standardise | VectorEncoder, source: Any) -> list[str]:
        count = len(_tensor(source))
        firsts = range(1, count + 1, self.together)
        lasts = [min(first + self.together - 1, count) for first in firsts]
        return [
            str(first) if first == last else f"{first}\N{EN DASH}{last}"
            for first, last in zip(firsts, lasts, strict=True)
        ]

    def simple_features(self, encoder: Standardise | VectorEncoder) -> "SimpleFeatures":
        from regard.tasks.baselines.series import RandomConvolutions

        return RandomConvolutions(Vectors(), _standard(encoder))

    def simple_items(self, encoder: Standardise | VectorEncoder, source: Any) -> Float[Tensor, "item feature"]:
        return _joined(_standard(encoder).apply(_tensor(source)), self.together)

    def drawn(self, encoder: Standardise | VectorEncoder, source: Any) -> "DrawnTable":
        from regard.inspection import DrawnTable

        vectors = _tensor(source).detach().cpu()
        # Cells after the end of a series are empty.
        return DrawnTable(_joined(vectors, self.together, filler=math.nan).numpy(), self._columns(vectors.shape[1]))

    def _columns(self, width: int) -> tuple[str, ...]:
        """The names of the columns of an item: its vectors, counted from 1, and their columns."""
        if self.together == 1:
            return ()
        names = itertools.product(range(1, self.together + 1), range(1, width + 1))
        return tuple(str(place) if width == 1 else f"{place}: {column}" for place, column in names)


def labelled_series(pairs: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    """The settings of `Vectors` in a default recipe for series with a label each, whose vectors are then joined."""
    lengths = sorted(len(_tensor(source)) for source, _ in pairs)
    # The shares of all items are kept in memory: of many series, there are fewer.
    items = max(4, min(_ITEMS, _MOST_ITEMS // len(pairs)))
    return {
        "convolutions": 1000 if len(pairs) <= _FEW_SERIES else 252,
        "linear": True,
        "together": min(10_000, max(1, round(lengths[len(lengths) // 2] / items))),
    }


class VectorEmbedding(nn.Module):
    """A linear map of vectors.

    Args:
        size: the size of the vectors.
        width: the size of the results.
        item_dropout: the probability that a vector is replaced by zeros in training.
        span: the number of neighbouring vectors that are dropped together.
        feature_span: in training, up to this many neighbouring features are set to zero, the same in all vectors of a
            source.
        feature_dropout: the probability of dropout for single features.

    Source: Park et al. 2019, SpecAugment (arXiv 1904.08779), section 2, for spans in time and in frequency.
    """

    def __init__(
        self,
        size: int,
        width: int,
        *,
        item_dropout: float = 0.0,
        span: int = 1,
        feature_span: int = 0,
        feature_dropout: float = 0.0,
    ):
        super().__init__()
        self.linear = nn.Linear(size, width)
        self.item_dropout, self.span = item_dropout, span
        self.feature_span = feature_span
        self.feature_dropout = Dropout(feature_dropout)

    def forward(self, vectors: Float[Tensor, "batch length size"]) -> Float[Tensor, "batch length width"]:
        """Map the vectors; in training, with augmentation."""
        return self.linear(self.blanked(vectors) if self.training else vectors)

    def blanked(self, vectors: Float[Tensor, "batch length size"]) -> Float[Tensor, "batch length size"]:
        """Drop vectors and features, as in training."""
        if self.item_dropout:
            begins = torch.rand(vectors.shape[:2], device=vectors.device) < self.item_dropout / self.span
            # A span covers its first item and those after it.
            covered = nn.functional.max_pool1d(nn.functional.pad(begins.float(), (self.span - 1, 0)), self.span, 1) > 0
            vectors = vectors.masked_fill(covered.unsqueeze(-1), 0.0)
        if self.feature_span:
            places = torch.arange(vectors.shape[-1], device=vectors.device)
            first = torch.randint(vectors.shape[-1], (len(vectors), 1, 1), device=vectors.device)
            size = torch.randint(self.feature_span + 1, (len(vectors), 1, 1), device=vectors.device)
            vectors = vectors.masked_fill((places >= first) & (places < first + size), 0.0)
        return self.feature_dropout(vectors)


@dataclass(frozen=True, eq=False)
class _Described:
    """The items of a series, and what describes it as a whole."""

    vectors: Float[Tensor, "item width"]
    whole: Float[Tensor, " feature"]

    def __len__(self) -> int:
        return len(self.vectors)


def _whole(encoder: Standardise | VectorEncoder, vectors: Float[Tensor, "vector column"]) -> Float[Tensor, " feature"]:
    """The mean, spread, minimum and maximum of each column of a standardised series, and the convolutions' maxima."""
    some = vectors if len(vectors) else vectors.new_zeros(1, vectors.shape[1])
    parts = [some.mean(0), some.std(0, correction=0), some.amin(0), some.amax(0)]
    if isinstance(encoder, VectorEncoder):
        parts.append(encoder.convolutions.maxima(vectors))
    return torch.cat(parts)


def _tensor(source: Any) -> Float[Tensor, "item width"]:
    if isinstance(source, np.ndarray):
        source = torch.from_numpy(source)
    if not isinstance(source, Tensor) or source.ndim != 2 or source.is_complex() or source.dtype == torch.bool:
        shape = f" of shape {tuple(source.shape)}" if isinstance(source, Tensor) else ""
        raise ArgumentError(f"a source must be vectors (item, width), but is a {type(source).__name__}{shape}.")
    return source.float()


def _joined(vectors: Float[Tensor, "vector column"], together: int, filler: float = 0.0) -> Float[Tensor, "item size"]:
    """Neighbouring vectors in one row each; the last row is filled up."""
    missing = -len(vectors) % together
    return nn.functional.pad(vectors, (0, 0, 0, missing), value=filler).reshape(-1, together * vectors.shape[1])


def _standard(encoder: Standardise | VectorEncoder) -> Standardise:
    return encoder if isinstance(encoder, Standardise) else encoder.standard
