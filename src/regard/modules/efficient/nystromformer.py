"""Nystromformer: the matrix of softmax weights from the weights of a few landmarks, by the Nystrom method."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import conv2d

from regard.attention import Lengths, attend, weigh
from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.modules.efficient.approximation import Approximation

__all__ = ["NystromAttention", "pseudo_inverse", "segment_weights"]


class NystromAttention(Approximation):
    """Softmax attention by way of landmarks, which are the means of segments of the queries and of the keys.

        out = softmax(Q K'^T / sqrt d)  pinv(softmax(Q' K'^T / sqrt d))  softmax(Q' K^T / sqrt d) V

    where Q' and K' are the means of m segments, whose lengths differ by at most one vector. It takes O(n m d + m^3)
    time and O(n d + m^2) memory for n vectors of size d. It approximates the n x n matrix of weights by one of rank m.
    This is exact if there are as many landmarks as vectors and the pseudo-inverse is exact. As the landmarks are means
    over all positions, it can't be causal.

    Only real vectors are divided into segments. A sequence with fewer vectors than landmarks has a landmark for each
    vector.

    Args:
        landmarks: the number of segments, m.
        iterations: the number of iterations of the pseudo-inverse; the paper uses 6. Each multiplies the smallest
            singular values by up to 13 / 4, so that more iterations make the result more exact, until the rounding
            errors, which grow as well, outweigh this.
        kernel: None, or the odd number of positions of a depthwise convolution of the values that is added to the
            output, with one learned kernel for each head. The paper adds one to help training. It isn't part of the
            approximation: with it, the output isn't close to softmax attention.
        heads: the number of heads, which a convolution needs.

    Raises:
        ArgumentError: a number isn't a positive integer, `kernel` is even or without `heads`, or the queries have
            another number of heads.

    Source: Xiong et al. 2021 (arXiv 2102.03902), equations 13 to 17: the weights, their pseudo-inverse, the landmarks
        (segment-means) and the output; section "Our Model: Nystromformer" for the convolution.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> query, key, value = torch.randn(3, 1, 2, 7, 4)
        >>> layer = NystromAttention(landmarks=7, iterations=20)
        >>> torch.allclose(layer(query, key, value), attend(query, key, value), atol=1e-3)
        True
    """

    size_argument = "landmarks"

    def __init__(self, landmarks: int = 64, iterations: int = 6, kernel: int | None = None, heads: int | None = None):
        super().__init__()
        check_count("landmarks", landmarks, "the number of segments")
        check_count("iterations", iterations, "the number of iterations of the pseudo-inverse")
        self.landmarks, self.iterations = landmarks, iterations
        self.kernel: nn.Parameter | None = None
        if kernel is not None:
            check_count("kernel", kernel, "the number of positions of the convolution")
            check_count("heads", heads, "the number of heads, as there is a `kernel`")
            if kernel % 2 == 0:
                raise ArgumentError(f"`kernel` must be odd, to have a middle, but is {kernel}. Use {kernel + 1}.")
            self.kernel = nn.Parameter(torch.empty(heads, 1, kernel, 1))  # pyright: ignore[reportArgumentType]
            nn.init.kaiming_uniform_(self.kernel, a=5**0.5)  # as nn.Conv2d does

    def approximate(
        self,
        query: Float[Tensor, "batch head length feature"],
        key: Float[Tensor, "batch head length feature"],
        value: Float[Tensor, "batch head length value"],
        *,
        real: Bool[Tensor, "batch length"] | None,
        causal: bool,
    ) -> Float[Tensor, "batch head length value"]:
        length = value.shape[2]
        if self.kernel is not None and value.shape[1] != len(self.kernel):
            raise ArgumentError(
                f"`value` must have {len(self.kernel)} heads, as `heads` says, but has {value.shape[1]}. Make the "
                "NystromAttention with that number."
            )
        if not length:
            return value
        lengths = torch.full((1,), length, device=key.device) if real is None else real.sum(1)
        means = segment_weights(lengths, length, self.landmarks, dtype=key.dtype).unsqueeze(1)
        query_means, key_means = means @ query, means @ key
        between = among = onto = None
        if real is not None:
            found = lengths.clamp(max=self.landmarks)
            among, between, onto = Lengths(found), Lengths(query=lengths, key=found), Lengths(query=found, key=lengths)
        inverse = pseudo_inverse(weigh(query_means, key_means, mask=among), self.iterations)
        averages = attend(query_means, key, value, mask=onto)
        output = attend(query, key_means, inverse @ averages, mask=between)
        if self.kernel is None:
            return output
        kernel = self.kernel.to(value.dtype)
        return output + conv2d(value, kernel, padding=(kernel.shape[2] // 2, 0), groups=len(kernel))

    def extra_repr(self) -> str:
        return f"landmarks={self.landmarks}, iterations={self.iterations}"


def segment_weights(
    lengths: Int[Tensor, " batch"], longest: int, segments: int, *, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "batch landmark length"]:
    """The matrices that take sequences of these lengths to the means of their segments.

    A sequence with fewer vectors than segments has a segment for each vector; the other rows are zeros.

    Args:
        lengths: (batch,)
        longest: the number of columns; the number of rows is the smaller of it and `segments`.
        segments: the number of segments of a long sequence.
        dtype: the dtype of the matrices.

    Example:
        >>> segment_weights(torch.tensor([5, 1]), 5, 2)
        tensor([[[0.3333, 0.3333, 0.3333, 0.0000, 0.0000],
                 [0.0000, 0.0000, 0.0000, 0.5000, 0.5000]],
        <BLANKLINE>
                [[1.0000, 0.0000, 0.0000, 0.0000, 0.0000],
                 [0.0000, 0.0000, 0.0000, 0.0000, 0.0000]]])
    """
    count = min(longest, segments)
    lengths = lengths.unsqueeze(1)
    position = torch.arange(longest, device=lengths.device)
    segment = position * lengths.clamp(max=count) // lengths.clamp(min=1)
    segment = segment.masked_fill(position >= lengths, count)  # padding is of no segment
    member = (segment.unsqueeze(1) == torch.arange(count, device=lengths.device).unsqueeze(1)).to(dtype)
    return member / member.sum(-1, keepdim=True).clamp(min=1)


def pseudo_inverse(
    matrix: Float[Tensor, "*batch landmark landmark"], iterations: int
) -> Float[Tensor, "*batch landmark landmark"]:
    """The Moore-Penrose inverse of matrices by a number of iterations of third order:

        Z <- 1/4 Z (13 I - A Z (15 I - A Z (7 I - A Z))), starting from A^T / (|A|_1 |A|_inf)

    Rows and columns of zeros stay zeros.

    Source: Xiong et al. 2021 (arXiv 2102.03902), lemma 1, equation 14, from Razavi et al. 2014.

    Example:
        >>> pseudo_inverse(torch.tensor([[2.0, 0.0], [0.0, 0.0]]), 8)
        tensor([[0.5000, 0.0000],
                [0.0000, 0.0000]])
    """
    magnitude = matrix.abs()
    # The largest sums of a column and of a row; a matrix of zeros stays one.
    scale = magnitude.sum(-2).amax(-1) * magnitude.sum(-1).amax(-1)
    inverse = matrix.mT / scale.masked_fill(scale == 0, 1)[..., None, None]
    one = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    for _ in range(iterations):
        product = matrix @ inverse
        inverse = inverse @ (13 * one - product @ (15 * one - product @ (7 * one - product))) / 4
    return inverse
