"""Pooling: one vector for a whole sequence, so that the sequence can be classified."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Lengths, attend
from regard.attention.validation import check_count
from regard.modules.attention import MultiHeadAttention
from regard.modules.padding import checked_vectors, real_items

__all__ = [
    "POOLINGS",
    "AttentionPooling",
    "ClassVector",
    "MaxPooling",
    "MeanPooling",
    "NormalisedMeanPooling",
    "Pooling",
    "SumPooling",
    "equal_attention",
]


class Pooling(nn.Module):
    """The base of poolings: one vector for each sequence. A subclass implements `pool`.

    The content of padding doesn't matter, and an empty sequence gives zeros.

    Args:
        width: the size of the vectors.

    Attributes:
        attends: whether it uses attention.
    """

    attends = False
    __call__: Callable[..., Tensor]  # that of nn.Module gives Any

    def __init__(self, width: int):
        super().__init__()
        check_count("width", width, "the size of the vectors")
        self.width = width

    def forward(
        self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch width"]:
        """Pool each sequence into one vector.

        Args:
            vectors: the sequences, padded at the end.
            lengths: (batch,) the number of real vectors of each sequence.

        Raises:
            ArgumentError: vectors of another width, or invalid lengths.
        """
        vectors = checked_vectors(vectors, lengths, self.width)
        if not vectors.numel():
            return vectors.sum(1)
        empty = (lengths == 0).to(vectors.device).unsqueeze(1)
        return self.pool(vectors, lengths).masked_fill(empty, 0.0)

    def pool(
        self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch width"]:
        """Pool sequences whose padding is zeros; the result for an empty sequence is ignored."""
        raise NotImplementedError(f"{type(self).__name__} must implement `pool`")


def equal_attention(
    vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch width"]:
    """The mean of the vectors of each sequence, which attention with equal weights takes.

    Example:
        >>> equal_attention(torch.tensor([[[1.0], [3.0], [99.0]]]), torch.tensor([2]))
        tensor([[2.]])
    """
    # Not len(vectors), which would fix the size where the call is traced.
    equal = vectors.new_zeros(vectors.shape[0], 1, vectors.shape[1], 1)
    return attend(equal[:, :, :1], equal, vectors[:, None], mask=Lengths(key=lengths)).flatten(1)


class MeanPooling(Pooling):
    """The mean of the vectors.

    Example:
        >>> MeanPooling(1)(torch.tensor([[[1.0], [3.0], [99.0]]]), torch.tensor([2]))
        tensor([[2.]])
    """

    def pool(
        self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch width"]:
        return vectors.sum(1) / lengths.clamp(min=1).unsqueeze(1).to(vectors)


class NormalisedMeanPooling(Pooling):
    """The mean of the vectors, scaled so that the mean square of its features is 1: only its direction counts.

    It is taken by attention with equal weights, so what is hidden from attention is hidden from it, too.

    Source: the module Normalize of the library sentence-transformers, which follows a mean; here the length is the root
        of the width and not 1, so that features are as large as those of other poolings.

    Example:
        >>> NormalisedMeanPooling(2)(torch.tensor([[[3.0, 3.0], [0.0, 0.0], [99.0, 0.0]]]), torch.tensor([2]))
        tensor([[1., 1.]])
    """

    def pool(
        self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch width"]:
        return nn.functional.normalize(equal_attention(vectors, lengths), dim=1) * self.width**0.5


class SumPooling(Pooling):
    """The sum of the vectors, divided by 16: for targets that grow with the length, such as a molecule's weight.

    Source: Xu et al. 2019, GIN (arXiv 1810.00826), section 4.2: a sum can count, a mean can't. 16 is about the number
        of atoms of a small molecule, so that the result has the magnitude of a mean.

    Example:
        >>> SumPooling(1)(torch.tensor([[[16.0], [32.0], [99.0]]]), torch.tensor([2]))
        tensor([[3.]])
    """

    def pool(
        self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch width"]:
        return vectors.sum(1) / 16


class MaxPooling(Pooling):
    """The maximum of each feature over the vectors.

    Example:
        >>> MaxPooling(2)(torch.tensor([[[1.0, -2.0], [3.0, -4.0], [99.0, 99.0]]]), torch.tensor([2]))
        tensor([[ 3., -2.]])
    """

    def pool(
        self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch width"]:
        real = real_items(vectors, lengths).unsqueeze(2)
        return vectors.masked_fill(~real, -torch.inf).amax(1)


class AttentionPooling(Pooling):
    """A weighted mean: a learned query attends to the vectors.

    Args:
        width: the size of the vectors.
        heads: the number of heads; with one head, each vector has one weight.
        score, weights: as in `regard.attend`.

    Source: Yang et al. 2016 (ACL N16-1174), equations 5 to 7, a learned context vector; here the vectors are projected
        before they are summed, as in all attention of this package.

    Example:
        >>> from regard import watch
        >>> pooling = AttentionPooling(4)
        >>> with watch(pooling) as seen:
        ...     pooled = pooling(torch.zeros(1, 3, 4), torch.tensor([2]))
        >>> seen[0].weights()
        tensor([[[[0.5000, 0.5000, 0.0000]]]])
    """

    attends = True

    def __init__(self, width: int, heads: int = 1, *, score: Any = "scaled_dot", weights: Any = "softmax"):
        super().__init__(width)
        self.query = nn.Parameter(torch.empty(width))
        self.attention = MultiHeadAttention(width, heads, bias=False, output=False, score=score, weights=weights)
        nn.init.normal_(self.query)

    def pool(
        self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch width"]:
        query = self.query.expand(vectors.shape[0], 1, -1)
        return self.attention(query, vectors, mask=Lengths(key=lengths)).squeeze(1)


class ClassVector(Pooling):
    """A learned class vector c that attends to the whole sequence once: c + attention(c, vectors).

    It isn't part of the sequence: the vectors don't attend to it, and its weights are for the sequence's own items
    only.

    Args:
        width: the size of the vectors.
        heads: the number of heads.
        score, weights: as in `regard.attend`.

    Source: Devlin et al. 2019 (arXiv 1810.04805), section 3, [CLS]; attention of the class vector only: Touvron et al.
        2021 (arXiv 2103.17239), section 3, class-attention.

    Example:
        >>> ClassVector(8, heads=2)(torch.zeros(3, 5, 8), torch.tensor([5, 2, 0])).shape
        torch.Size([3, 8])
    """

    attends = True

    def __init__(self, width: int, heads: int = 1, *, score: Any = "scaled_dot", weights: Any = "softmax"):
        super().__init__(width)
        self.vector = nn.Parameter(torch.empty(width))
        self.attention = MultiHeadAttention(width, heads, score=score, weights=weights)
        nn.init.normal_(self.vector)

    def pool(
        self, vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch width"]:
        own = self.vector.expand(vectors.shape[0], 1, -1)
        return (own + self.attention(own, vectors, mask=Lengths(key=lengths))).squeeze(1)


POOLINGS: dict[str, type[Pooling]] = {
    "mean": MeanPooling,
    "normalised_mean": NormalisedMeanPooling,
    "sum": SumPooling,
    "max": MaxPooling,
    "attention": AttentionPooling,
    "class": ClassVector,
}
