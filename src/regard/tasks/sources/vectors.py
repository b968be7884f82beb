"""Sequences of plain vectors, and the embedding of all sources of floating-point vectors."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inputs import Standardise, read_vectors
from regard.modules.dropout import Dropout
from regard.tasks.settings import fraction
from regard.tasks.sources.source import Source

if TYPE_CHECKING:
    from regard.inspection import DrawnTable
    from regard.tasks.baselines import SimpleFeatures

__all__ = ["VectorEmbedding", "Vectors"]


@dataclass(frozen=True)
class Vectors(Source):
    """Sources that are sequences of vectors: tensors or arrays (item, width), all of one width.

    Each feature is standardised by its mean and standard deviation in training.

    Args:
        item_dropout: the probability that a vector is replaced by zeros in training.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "vectors"
    noun: ClassVar[str] = "vector"
    source_noun: ClassVar[str] = "series"
    given: ClassVar[str] = "an array (item, width)"
    vectors: ClassVar[str] = "its rows, standardised"
    argument: ClassVar[str] = "file"
    example: ClassVar[str] = "vectors"
    modalities: ClassVar[Mapping[str, int]] = {"vectors": 3}
    recognised_by: ClassVar[str] = "the content of {data}"

    item_dropout: float = fraction(0.0)

    @classmethod
    def suits(cls, source: Any) -> int:
        return 3 if isinstance(source, Tensor | np.ndarray) and source.ndim == 2 else 0

    def fit(self, sources: Iterable[Any]) -> Standardise:
        return Standardise.fit([_tensor(source) for source in sources])

    def encoder(self, saved: Any) -> Standardise:
        return Standardise.from_json(saved)

    def item(self, encoder: Standardise, source: Any) -> Float[Tensor, "item width"]:
        return encoder.apply(_tensor(source))

    def embedding(self, encoder: Standardise, width: int) -> nn.Module:
        return VectorEmbedding(encoder.width, width, item_dropout=self.item_dropout)

    def from_argument(self, encoder: Standardise, argument: str) -> list[tuple[str, Any]]:
        # A file may hold several series.
        ((path, _),) = super().from_argument(encoder, argument)
        read = read_vectors(path)
        several = len(read) > 1
        return [
            (f"{path}: {name}" if several else path, vectors)
            for name, vectors in zip(read.names, read.sequences, strict=True)
        ]

    def names(self, encoder: Standardise, source: Any) -> list[str]:
        return [str(place) for place in range(1, len(_tensor(source)) + 1)]

    def simple_features(self, encoder: Standardise) -> "SimpleFeatures":
        from regard.tasks.baselines.series import RandomConvolutions

        return RandomConvolutions(self, encoder)

    def drawn(self, encoder: Standardise, source: Any) -> "DrawnTable":
        from regard.inspection import DrawnTable

        return DrawnTable(_tensor(source).detach().cpu().numpy())


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


def _tensor(source: Any) -> Float[Tensor, "item width"]:
    if isinstance(source, np.ndarray):
        source = torch.from_numpy(source)
    if not isinstance(source, Tensor) or source.ndim != 2 or source.is_complex() or source.dtype == torch.bool:
        shape = f" of shape {tuple(source.shape)}" if isinstance(source, Tensor) else ""
        raise ArgumentError(f"a source must be vectors (item, width), but is a {type(source).__name__}{shape}.")
    return source.float()
