"""Sparse Sinkhorn attention: each block attends to itself and to another, which a sorting matrix assigns to it."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention.validation import check_count, check_number
from regard.errors import ArgumentError
from regard.modules.efficient.approximation import Approximation

__all__ = ["SinkhornAttention"]

# The score of what can't be attended to. It is finite, so that nothing is undefined where this is all there is.
_NEVER = -1e30


class SinkhornAttention(Approximation):
    """Each block of queries attends to its own block of keys and to a weighted average of all blocks of keys.

    The weights of that average are the rows of a sorting matrix S, (block, block). It is doubly stochastic, a
    relaxation of a permutation: its rows and columns are normalised in turn, by Sinkhorn's iterations in log space.
    With K_j and V_j, the keys and values of block j, block i attends by one softmax to

        K_i and sum_j S_ij K_j,    and averages V_i and sum_j S_ij V_j by its weights.

    S starts from the logits (R_ij + noise) / temperature, where R_ij = a_i . b_j / sqrt(head_size). a_i and b_j are the
    sums of the queries and the keys of a block, divided by the square root of how many there are, so that the variance
    of R_ij doesn't depend on `block`. The paper's sorting network computes row i by a layer with one output for each
    block of the longest sequence; comparing sums instead works for any length, without parameters, and queries and keys
    are learned in any case. Gumbel noise is added in training only, drawn from torch's generator.

    The approximation is that a query sees only the average of all blocks but its own. The k-th key of that average is
    the average of the k-th keys of the blocks. If the last block isn't full and has no k-th key, the others are
    averaged, and the key counts by their share of the weight. A sequence of at most `block` positions is one block,
    whose average is itself: the result is exact.

    With causal=True, only earlier blocks are averaged, the first block has no average, and a_i sums the queries from
    the beginning to the first one of block i. Columns are then normalised over the rows up to each one (causal
    Sinkhorn balancing). Rows still sum to 1, but columns needn't: of all matrices with zeros above the diagonal, only
    the identity is doubly stochastic.

    Complexity: n x 2 x block pairs; S has (n / block)^2 entries, and averaging the blocks takes n^2 / block additions
    for each feature.

    Args:
        block: how many positions a block holds.
        iterations: how often columns and rows are normalised.
        temperature: the divisor of the logits; the lower it is, the closer S is to a permutation.

    Raises:
        ArgumentError: a number isn't positive.

    Source: Tay et al. 2020 (arXiv 2002.11296), section 3: block-wise sorting, Sinkhorn normalisation with Gumbel noise,
        sparse Sinkhorn attention, and causal Sinkhorn balancing. Sums of queries against sums of keys, and one softmax
        over both blocks, are those of the implementation by Phil Wang (lucidrains/sinkhorn-transformer).

    Example:
        >>> attention = SinkhornAttention(block=8).eval()
        >>> query, key, value = torch.randn(3, 1, 2, 100, 4)
        >>> attention(query, key, value).shape
        torch.Size([1, 2, 100, 4])
        >>> attention.sorting(query, key).sum(-1)[0, 0, :3].round(decimals=3)
        tensor([1., 1., 1.])
    """

    causal = True
    size_argument = "block"

    def __init__(self, *, block: int = 64, iterations: int = 8, temperature: float = 0.75):
        super().__init__()
        check_count("block", block, "the number of positions of a block")
        check_count("iterations", iterations, "how often rows and columns are normalised")
        check_number("temperature", temperature, "Scale the queries to train it.")
        if not 0 < temperature < math.inf:
            raise ArgumentError(
                f"`temperature` must be a finite number above 0, but is {temperature}. The lower, the closer the "
                "sorting matrix is to a permutation."
            )
        self.block, self.iterations, self.temperature = block, iterations, temperature

    def sorting(
        self,
        query: Float[Tensor, "batch head length feature"],
        key: Float[Tensor, "batch head length feature"],
        *,
        real: Bool[Tensor, "batch length"] | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "batch head block block"]:
        """The sorting matrix S: the weights (column) by which each block (row) averages the blocks.

        Args:
            query, key: zeros at padding.
            real: False at padding; None if there is none. Blocks of padding have rows and columns of zeros.
            causal: whether a block may average only those before it.
        """
        real = torch.ones(1, query.shape[2], dtype=torch.bool, device=query.device) if real is None else real
        real = _blocks(real.unsqueeze(-1), self.block).squeeze(-1)
        return self._sorting(_blocks(query, self.block), _blocks(key, self.block), real, causal)

    def approximate(self, query: Tensor, key: Tensor, value: Tensor, *, real: Tensor | None, causal: bool) -> Tensor:
        length, size = query.shape[2:]
        if not query.numel():
            return value
        block = min(self.block, length)
        real = torch.ones(1, length, dtype=torch.bool, device=query.device) if real is None else real
        # (batch block place)
        real = _blocks(real.unsqueeze(-1), block).squeeze(-1)
        query, key, value = (_blocks(each, block) for each in (query, key, value))
        matrix = self._sorting(query, key, real, causal)
        # How much of the weights falls on blocks that have a key at this place: (batch head block place)
        present = matrix @ real.unsqueeze(1).to(matrix.dtype)
        tiny = torch.finfo(matrix.dtype).tiny
        count = present.clamp(min=tiny)
        keys, values = (self._with_average(each, matrix, count) for each in (key, value))
        seen = torch.where(real, 0.0, _NEVER).to(matrix.dtype)[:, None].expand_as(count)
        seen = torch.cat([seen, count.log().masked_fill(present < tiny, _NEVER)], -1)
        scores = query @ keys.mT / math.sqrt(size) + seen.unsqueeze(-2)
        if causal:
            later = torch.ones(block, 2 * block, dtype=torch.bool, device=query.device).triu(1)
            later[:, block:] = False
            scores = scores.masked_fill(later, _NEVER)
        return (scores.softmax(-1) @ values).flatten(2, 3)[:, :, :length]

    def extra_repr(self) -> str:
        return f"block={self.block}, iterations={self.iterations}, temperature={self.temperature}"

    def _sorting(self, query: Tensor, key: Tensor, real: Tensor, causal: bool) -> Tensor:
        """`sorting` of blocks: (batch head block place feature)."""
        blocks, count = query.shape[2], real.sum(-1).to(query.dtype)
        keys = key.sum(3) / count.clamp(min=1).sqrt()[:, None, :, None]
        pairs = (count > 0).unsqueeze(-1) & (count > 0).unsqueeze(-2)
        if causal:
            # Up to the first query of the block: what came before, and that one. The sum of the block itself isn't
            # subtracted again, since a large one would leave its rounding.
            queries = nn.functional.pad(query.sum(3).cumsum(2)[:, :, :-1], (0, 0, 1, 0)) + query[:, :, :, 0]
            count = count.cumsum(-1) - count + 1
            pairs = pairs & torch.ones(blocks, blocks, dtype=torch.bool, device=query.device).tril(-1)
        else:
            queries = query.sum(3)
        queries = queries / count.clamp(min=1).sqrt()[:, None, :, None]
        logits = queries @ keys.mT / math.sqrt(max(query.shape[-1], 1))
        if self.training:
            noise = torch.empty_like(logits).exponential_().clamp_(min=torch.finfo(logits.dtype).tiny)
            logits = logits - noise.log_()
        hidden = ~pairs.unsqueeze(1)
        logits = (logits / self.temperature).masked_fill(hidden, _NEVER)
        for _ in range(self.iterations):
            totals = logits.logcumsumexp(-2) if causal else logits.logsumexp(-2, keepdim=True)
            logits = (logits - totals).masked_fill(hidden, _NEVER)
            logits = (logits - logits.logsumexp(-1, keepdim=True)).masked_fill(hidden, _NEVER)
        return logits.exp()

    @staticmethod
    def _with_average(vectors: Tensor, matrix: Tensor, count: Tensor) -> Tensor:
        """Each block, followed by the average of all blocks: (batch head block place feature), twice as many places."""
        average = (matrix @ vectors.flatten(3)).view(vectors.shape) / count.unsqueeze(-1)
        return torch.cat([vectors, average], 3)


def _blocks(vectors: Tensor, block: int) -> Tensor:
    """(... length feature) -> (... block place feature), filled up with zeros."""
    filled = nn.functional.pad(vectors, (0, 0, 0, -vectors.shape[-2] % block))
    return filled.unflatten(-2, (-1, block))
