"""The Synthesizer: attention whose weights are learned for pairs of positions, without comparing queries with keys."""

import torch
from torch import Tensor, nn

from regard.attention import Causal, Lengths, attend
from regard.attention.validation import check_count
from regard.errors import ArgumentError, UnknownNameError
from regard.modules.efficient.approximation import Approximation

__all__ = ["SynthesizerAttention"]


class SynthesizerAttention(Approximation):
    """Weights that don't depend on the keys: softmax(R1 R2^T), where R1 and R2 are learned.

    R1 and R2 have a row of size `rank` for each head and position. In attention, a weight depends on the content of
    both vectors of a pair; here it depends on their positions alone or, with `kind="dense"`, on the position of the key
    and the content of the query, from which a layer computes the row of R1:

        R1_i = relu(W q_i + b),    weights_ij = softmax_j(R1_i . R2_j + c_j).

    Keys are not used at all; with `kind="random"`, queries aren't either.

    Complexity: memory grows linearly with the length, but the work grows with n^2, as that of full attention does,
    because each output averages all n values. R1 and R2 are the queries and keys of `regard.attend`, which never makes
    the matrix of weights. The items of a batch without padding share their weights, which are computed once.

    Args:
        heads: the number of heads; each has its own R1 and R2.
        head_size: the size of a query; only `kind="dense"` depends on it.
        kind: "random" (learned, starting from random numbers) or "dense" (R1 is computed from the queries).
        rank: the size of the rows of R1 and R2; the scores of a head are a matrix of at most this rank.
        max_length: how many positions have a row. Longer sequences can't be used. R1 and R2 have 2 x heads x rank x
            max_length parameters; with `kind="dense"`, R2 and c have heads x (rank + 1) x max_length.

    Raises:
        ArgumentError: a size isn't a positive integer, the inputs have other heads or sizes, or are too long.
        UnknownNameError: there is no such kind.

    Source: Tay et al. 2021 (arXiv 2005.00743), section 3: Random and Dense Synthesizers, and the factorised variant of
        the former, with rank 8. The dense one is W2(relu(W1 x)) with a hidden layer of size `rank`, where `x` is what
        the head receives.

    Example:
        >>> attention = SynthesizerAttention(heads=2, head_size=4)
        >>> query = key = value = torch.randn(3, 2, 5, 4)
        >>> torch.equal(attention(query, key, value), attention(-query, 2 * key, value))
        True
    """

    causal = True
    size_argument = "rank"

    def __init__(self, heads: int, head_size: int, *, kind: str = "random", rank: int = 8, max_length: int = 4096):
        super().__init__()
        check_count("heads", heads, "the number of heads")
        check_count("head_size", head_size, "the size of a query")
        check_count("rank", rank, "the size of the learned vectors")
        check_count("max_length", max_length, "the length of the longest sequence")
        if kind not in ("random", "dense"):
            raise UnknownNameError("kind", kind, ["random", "dense"])
        self.heads, self.head_size, self.kind = heads, head_size, kind
        self.rank, self.max_length = rank, max_length
        # A score sums `rank` products; with this it has a variance of about 1.
        self.key_table = nn.Parameter(torch.randn(heads, max_length, rank) * rank**-0.25)
        if kind == "random":
            self.query_table = nn.Parameter(torch.randn(heads, max_length, rank) * rank**-0.25)
        else:
            # The mean square of relu of a standard normal number is 1/2, and R2 has a mean square of 1 / sqrt(rank).
            self.weight = nn.Parameter(torch.randn(heads, head_size, rank) * (2 / head_size) ** 0.5 * rank**-0.25)
            self.bias = nn.Parameter(torch.zeros(heads, 1, rank))
            self.key_bias = nn.Parameter(torch.zeros(heads, max_length, 1))

    def approximate(self, query: Tensor, key: Tensor, value: Tensor, *, real: Tensor | None, causal: bool) -> Tensor:
        batch, heads, length, size = query.shape
        self._check(heads, length, size)
        keys = self.key_table[:, :length].to(value.dtype)
        if self.kind == "random":
            queries = self.query_table[:, :length].to(value.dtype)[None]
        else:
            hidden = torch.relu(query @ self.weight.to(value.dtype) + self.bias.to(value.dtype))
            # The bias c_j of a key is one more feature, by which the query's is 1.
            keys = torch.cat([keys, self.key_bias[:, :length].to(value.dtype)], -1)
            queries = torch.cat([hidden, hidden.new_ones(batch, heads, length, 1)], -1)
        mask = Causal() if causal else None
        if real is not None:
            padding = Lengths(real.sum(1))
            mask = padding if mask is None else padding & mask
        elif self.kind == "random":
            # All items have the same weights: (batch head length value) -> (1 head length (batch value))
            joined = value.permute(1, 2, 0, 3).flatten(2)[None]
            output = attend(queries, keys[None], joined, score="dot", mask=mask)
            return output[0].unflatten(-1, (batch, value.shape[-1])).permute(2, 0, 1, 3)
        queries = queries.expand(batch, -1, -1, -1)
        return attend(queries, keys.expand(batch, -1, -1, -1), value, score="dot", mask=mask)

    def extra_repr(self) -> str:
        return f"heads={self.heads}, kind={self.kind!r}, rank={self.rank}, max_length={self.max_length}"

    def _check(self, heads: int, length: int, size: int) -> None:
        if length > self.max_length:
            raise ArgumentError(
                f"`query` must have at most `max_length` {self.max_length} positions, but has {length}. Weights are "
                "learned for each position: make the SynthesizerAttention with a larger max_length."
            )
        if heads != self.heads:
            raise ArgumentError(f"`query` must have {self.heads} heads, as the SynthesizerAttention, but has {heads}.")
        if self.kind == "dense" and size != self.head_size:
            raise ArgumentError(f"`query` must be of size {self.head_size} (`head_size`), but is of size {size}.")
