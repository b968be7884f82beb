"""Linformer: softmax attention to a fixed number of learned mixtures of the keys."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import attend
from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.modules.efficient.approximation import Approximation

__all__ = ["LinformerAttention"]


class LinformerAttention(Approximation):
    """Softmax attention to k mixtures of the keys, which learned matrices over the positions compute.

        out = softmax(Q (E K)^T / sqrt d) (F V)

    It takes O(n k d) time and O(n d + k d) memory for n vectors of size d, and 2 k max_length parameters. It
    approximates the n x n matrix of weights by one of rank k. While E and F are random, as they are at the start, F V
    preserves averages of values up to an error that falls as 1 / sqrt(k), but the softmax of Q (E K)^T isn't an
    estimate of the softmax of Q K^T: a model must be trained with it. As E and F mix all positions, it can't be causal.

    E and F have a column for each position, and a shorter sequence uses their first n columns. Padding consists of
    zeros, which add nothing to E K and F V. All k mixtures take part in the softmax however short the sequence is:
    mixtures without keys have a score of 0, not a weight of 0.

    Args:
        size: the number of mixtures, k.
        max_length: the length of the longest sequence.

    Attributes:
        key_projection, value_projection: (size, max_length), E and F, shared by all heads (the paper's headwise
            sharing). They start as independent normal numbers of variance 1 / size.

    Raises:
        ArgumentError: a size isn't a positive integer, or a sequence is longer than `max_length`.

    Source: Wang et al. 2020 (arXiv 2006.04768), section 4, equation 7, and its paragraph on sharing; the variance is
        that of theorem 1.

    Example:
        >>> from regard import attend
        >>> layer = LinformerAttention(size=3, max_length=5)
        >>> query, key, value = torch.randn(3, 1, 2, 3, 4)
        >>> for projection in layer.parameters():
        ...     _ = torch.nn.init.eye_(projection)  # each mixture is one key
        >>> torch.allclose(layer(query, key, value), attend(query, key, value), atol=1e-6)
        True
    """

    size_argument = "size"

    def __init__(self, size: int = 256, max_length: int = 4096):
        super().__init__()
        check_count("size", size, "the number of mixtures of the keys")
        check_count("max_length", max_length, "the length of the longest sequence")
        self.key_projection = nn.Parameter(torch.empty(size, max_length))
        self.value_projection = nn.Parameter(torch.empty(size, max_length))
        for projection in self.parameters():
            nn.init.normal_(projection, std=size**-0.5)

    def approximate(
        self,
        query: Float[Tensor, "batch head length feature"],
        key: Float[Tensor, "batch head length feature"],
        value: Float[Tensor, "batch head length value"],
        *,
        real: Bool[Tensor, "batch length"] | None,
        causal: bool,
    ) -> Float[Tensor, "batch head length value"]:
        length, longest = key.shape[2], self.key_projection.shape[1]
        if length > longest:
            raise ArgumentError(
                f"`key` must be at most `max_length` {longest} long, but is {length} long. Split the sequence, or make "
                "the LinformerAttention with a larger max_length and train it."
            )
        mixed_keys = self.key_projection[:, :length].to(key.dtype) @ key
        mixed_values = self.value_projection[:, :length].to(value.dtype) @ value
        return attend(query, mixed_keys, mixed_values)

    def extra_repr(self) -> str:
        size, longest = self.key_projection.shape
        return f"size={size}, max_length={longest}"
