"""Reformer: attention within buckets of similar vectors, which locality-sensitive hashing finds."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.modules.efficient.approximation import Approximation

__all__ = ["ReformerAttention"]

# One hash has at most 2 x 64 buckets. More buckets are those of two or three hashes together, so that the work of
# hashing doesn't grow with the number of buckets.
_DIRECTIONS, _LEVELS = 64, 3
_PADDING = (2 * _DIRECTIONS) ** _LEVELS
# The score of pairs that don't meet.
_NEVER = -1e30
# How many pairs are scored at a time.
_CPU_PAIRS, _GPU_PAIRS = 2**19, 2**26


class ReformerAttention(Approximation):
    """LSH attention: each position attends to those positions whose vectors fall into the same bucket as its own.

    Queries and keys are the same vectors (shared-QK), but keys are divided by their norm: they are computed from
    `query`, and `key` must be equal to it. Other keys are refused. To ignore them would leave a projection of keys
    untrained, and if both were hashed, many buckets would hold queries but no keys.
    `MultiHeadAttention.shared_query_key` makes a module whose queries and keys are equal.

    In each of several rounds a vector x gets the bucket argmax([xR, -xR]), where R is a random matrix: the smaller the
    angle between two vectors, the more likely they share a bucket. Positions are sorted by (bucket, position) and
    divided into chunks of equal size; a position attends to those in its bucket that are in its own chunk or in the
    chunk before, and to itself only if there is no other in any round. The outputs of the rounds are averaged in
    proportion to their sums of exp(score). A pair that meets in N rounds counts by 1/N in each of them, so that the
    result is one softmax over all pairs that meet.

    The approximation is that pairs that meet in no round have a weight of 0. If a bucket holds more than a chunk, pairs
    that are far apart in it don't meet either. A sequence of at most `chunk` positions is one bucket, for which the
    result is exact. With causal=True, a position attends to the last `chunk` positions before it in its bucket, and
    not to all earlier ones in its two chunks, because later vectors, too, decide where chunks begin. The later vectors
    themselves then have no influence on earlier outputs, but the number of buckets, which depends on the length, does:
    a sequence that is cut has other outputs than the whole one. Don't compute outputs with it while a sequence grows.

    Complexity: O(n log n) for sorting, and hashes x n x 2 x chunk pairs. Memory is linear in the length.

    In training, each call draws a new R from torch's generator; otherwise R is the buffer `rotations`, drawn by the
    constructor. The number of buckets depends on the length of the item without its padding.

    Args:
        head_size: the size of a query.
        chunk: how many positions a chunk holds; buckets hold half as many on average.
        hashes: the number of rounds.

    Raises:
        ArgumentError: a size isn't a positive integer, `key` differs from `query`, or they are of another size.

    Source: Kitaev et al. 2020 (arXiv 2001.04451), section 2: equations 4 to 6, and appendix A for several rounds and
        the weight of a position for itself. Several hashes for many buckets, and how often a pair is counted (once for
        each round in which it does meet), follow the authors' implementation in Trax.

    Example:
        >>> attention = ReformerAttention(head_size=4, chunk=8).eval()
        >>> vectors = torch.randn(1, 2, 100, 4)
        >>> attention(vectors, vectors, torch.randn(1, 2, 100, 3)).shape
        torch.Size([1, 2, 100, 3])
    """

    causal = True
    shared_query_key = True
    size_argument = "chunk"
    rotations: Tensor

    def __init__(self, head_size: int, *, chunk: int = 64, hashes: int = 2):
        super().__init__()
        check_count("head_size", head_size, "the size of a query")
        check_count("chunk", chunk, "the number of positions of a chunk")
        check_count("hashes", hashes, "the number of rounds of hashing")
        self.chunk = chunk
        sizes = (_LEVELS, hashes, head_size, _DIRECTIONS)
        self.register_buffer("rotations", torch.randn(sizes, device=torch.get_default_device()))

    def buckets(
        self, vectors: Float[Tensor, "batch head length feature"], real: Bool[Tensor, "batch length"] | None = None
    ) -> Int[Tensor, "hash batch head length"]:
        """The number of the bucket of each vector in each round. Padding has a bucket of its own, the last one.

        Args:
            vectors: the queries.
            real: False at padding; None if there is none.
        """
        batch, heads, length = vectors.shape[:3]
        lengths = _lengths(vectors, real)
        found = _hash(vectors.flatten(0, 1), lengths, self._rotations(vectors), self.chunk)
        return found.view(-1, batch, heads, length)

    def approximate(self, query: Tensor, key: Tensor, value: Tensor, *, real: Tensor | None, causal: bool) -> Tensor:
        self._check(query, key)
        if not query.numel():
            return value
        lengths, rotations = _lengths(query, real), self._rotations(query)
        # A few sequences at a time, whose scores fit into the cache of a processor. The gradient computes them again.
        pairs = 2 * self.chunk * query.shape[2]
        group = max(1, (_CPU_PAIRS if query.device.type == "cpu" else _GPU_PAIRS) // pairs)
        recomputed = torch.is_grad_enabled() and (query.requires_grad or value.requires_grad)
        outputs = []
        for queries, values, reals in zip(
            query.flatten(0, 1).split(group), value.flatten(0, 1).split(group), lengths.split(group), strict=True
        ):
            part = (queries, values, reals, rotations, self.chunk, causal)
            if recomputed:
                outputs.append(checkpoint(_attend, *part, use_reentrant=False, preserve_rng_state=False))
            else:
                outputs.append(_attend(*part))
        return torch.cat(outputs).view(value.shape)

    def _rotations(self, vectors: Tensor) -> Tensor:
        rotations = torch.randn_like(self.rotations) if self.training else self.rotations
        return rotations.to(vectors.dtype)

    def extra_repr(self) -> str:
        return f"head_size={self.rotations.shape[2]}, chunk={self.chunk}, hashes={self.rotations.shape[1]}"

    def _check(self, query: Tensor, key: Tensor) -> None:
        if query.shape[-1] != self.rotations.shape[2]:
            raise ArgumentError(
                f"`query` must be of size {self.rotations.shape[2]} (`head_size` of the ReformerAttention), but is of "
                f"size {query.shape[-1]}."
            )
        # A NaN in both isn't a difference.
        if key is not query and bool(((key != query) & ((key == key) | (query == query))).any()):
            raise ArgumentError(
                "`key` must be equal to `query` for ReformerAttention, which hashes one set of vectors, but differs. "
                "Make the module by MultiHeadAttention.shared_query_key, or pass projections=Projections("
                "shared_key=True)."
            )


def _lengths(vectors: Tensor, real: Tensor | None) -> Tensor:
    """The number of real vectors of each sequence: ((batch head),)."""
    batch, heads, length = vectors.shape[:3]
    if real is None:
        return torch.full((batch * heads,), length, device=vectors.device)
    return real.sum(1).repeat_interleave(heads, output_size=batch * heads)


@torch.no_grad()
def _hash(vectors: Tensor, lengths: Tensor, rotations: Tensor, chunk: int) -> Tensor:
    """The bucket of each vector in each round, and `_PADDING` for padding: (hash item length).

    Args:
        vectors: (item length feature).
        lengths: (item,) how many are real.
        rotations: (level hash feature direction).
        chunk: how many positions a chunk holds.
    """
    length = vectors.shape[1]
    positions = torch.arange(max(length, _DIRECTIONS), device=vectors.device)
    directions = _directions(lengths, chunk)
    # How many levels and columns of R the longest item needs, without waiting for a device that holds the lengths.
    wanted = -(-length // chunk)
    levels = next((level for level in range(1, _LEVELS) if 2 * wanted <= (2 * _DIRECTIONS) ** level), _LEVELS)
    columns = min(wanted, _DIRECTIONS)
    # (item level 1 direction)
    unused = positions[:columns] >= directions[:, :, None, None]
    found = torch.zeros((rotations.shape[1], *vectors.shape[:2]), dtype=torch.long, device=vectors.device)
    for round in range(len(found)):
        for level in range(levels):
            rotated = vectors @ rotations[level, round, :, :columns]
            # argmax([xR, -xR]): the direction with the largest absolute value, and its sign.
            size, direction = rotated.abs().masked_fill_(unused[:, level], -1).max(-1)
            opposite = rotated.gather(-1, direction.unsqueeze(-1)).squeeze(-1) < 0
            digit = (2 * direction + opposite).masked_fill_(size < 0, 0)
            found[round].mul_(2 * _DIRECTIONS).add_(digit)
    return found.masked_fill_(positions[:length] >= lengths.unsqueeze(1), _PADDING)


def _directions(lengths: Tensor, chunk: int) -> Tensor:
    """How many columns of R each item uses at each level: (item level); 0 where one bucket is enough."""
    buckets = 2 * torch.ceil(lengths.double() / chunk)
    levels = (buckets.clamp(min=2).log() / math.log(2 * _DIRECTIONS) - 1e-9).ceil().clamp(1, _LEVELS)
    directions = (buckets ** (1 / levels) / 2 - 1e-9).ceil().clamp(max=_DIRECTIONS).long()
    used = torch.arange(_LEVELS, device=lengths.device) < levels.unsqueeze(1)
    return torch.where(used & (lengths > chunk).unsqueeze(1), directions.unsqueeze(1), 0)


def _attend(query: Tensor, value: Tensor, lengths: Tensor, rotations: Tensor, chunk: int, causal: bool) -> Tensor:
    """Attend within the buckets of each item: the arguments of `_hash`, and values (item length value)."""
    length, size = query.shape[1:]
    buckets, chunk = _hash(query.detach(), lengths, rotations, chunk), min(chunk, length)
    filler = -length % chunk
    buckets = nn.functional.pad(buckets, (0, filler), value=_PADDING)
    candidates = _Candidates(buckets, chunk, causal, query.dtype)
    keys = nn.functional.normalize(query, dim=-1)
    # Scores are logarithms to base 2, because torch.exp takes many times longer for numbers below -87.
    queries = query / (math.sqrt(size) * math.log(2))
    queries, keys, values = (nn.functional.pad(each, (0, 0, 0, filler)) for each in (queries, keys, value))
    # The column of ones sums the weights along with the values.
    values = nn.functional.pad(values, (0, 1), value=1.0)
    rounds = [_round(candidates, round, queries, keys, values) for round in range(len(buckets))]
    peak = torch.stack([own for _, own in rounds]).amax(0)
    total = sum(part * (own - peak).exp2() for part, own in rounds)
    # A position without candidates attends to itself.
    total = torch.where(peak > _NEVER / 2, total, values)
    return (total[..., :-1] / total[..., -1:])[:, :length]


def _round(candidates: "_Candidates", round: int, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """The sums over the pairs that meet in a round, each times 2^-peak, and peak, the largest score: of each query.

    Args:
        candidates: the candidate pairs of all rounds.
        round: the number of the round.
        query, key, value: (item length ...), in the original order.
    """
    queries = candidates.sorted(query, round).flatten(0, 1)
    keys, values = (candidates.with_previous(candidates.sorted(each, round)).flatten(0, 1) for each in (key, value))
    scores = candidates.bias(round).flatten(0, 1).baddbmm_(queries, keys.mT)
    peak = scores.detach().amax(-1, keepdim=True)
    # A position without candidates has weights of 0.
    weights = scores.sub_(peak.masked_fill(peak < _NEVER / 2, 0)).exp2_()
    return candidates.unsorted(weights @ values, round), candidates.unsorted(peak, round)


class _Candidates:
    """The candidate pairs of each round of hashing, and the order of the positions in it.

    Args:
        buckets: (hash, item, length) the numbers of buckets; the length is a multiple of `chunk`.
        chunk: how many positions a chunk holds.
        causal: whether a position meets only those before it.
        dtype: that of the scores.
    """

    def __init__(self, buckets: Tensor, chunk: int, causal: bool, dtype: torch.dtype):
        length, device = buckets.shape[-1], buckets.device
        self.chunk, self.chunks = chunk, length // chunk
        ordered, self.order = buckets.sort(dim=-1, stable=True)
        positions = torch.arange(length, device=device)
        self.rank = torch.empty_like(self.order).scatter_(-1, self.order, positions.expand_as(self.order))
        # Buckets numbered without gaps, so that the codes below fit into fewer bits.
        number = torch.zeros_like(ordered)
        number[..., 1:] = (ordered[..., 1:] != ordered[..., :-1]).cumsum(-1)
        # i meets j if code_i - code_j is from 0 to `reach`: the codes of different buckets are farther apart.
        self.reach = chunk if causal else 1
        code = number * (self.reach + 1) + (positions if causal else positions // chunk)
        # As floating-point numbers, whose arithmetic is faster than comparisons; up to 2^23, halves are exact in it.
        exact = dtype if length * (self.reach + 2) < 2**23 else torch.float64
        self.code, self.number = code.gather(-1, self.rank).to(exact), number.to(exact)
        # By how much a query's rank exceeds that of the keys of its chunk, preceded by those of the chunk before.
        before = positions[:chunk, None] - positions[:chunk]
        behind = torch.cat([before + chunk, before], 1) if self.chunks > 1 else before
        self.unreachable = ((behind <= 0) | (behind > chunk) if causal else behind == 0) * _NEVER
        self.dtype = dtype

    def sorted(self, items: Tensor, round: int) -> Tensor:
        """(item length ...) -> (item chunk place ...), sorted by (bucket, position)."""
        return self._take(items, self.order[round]).unflatten(1, (self.chunks, self.chunk))

    def unsorted(self, items: Tensor, round: int) -> Tensor:
        """((item chunk) place ...) -> (item length ...), in the original order."""
        return self._take(items.reshape(*self.rank.shape[1:], *items.shape[2:]), self.rank[round])

    def with_previous(self, chunks: Tensor, before_first: float = 0.0) -> Tensor:
        """Each chunk preceded by the chunk before: (item chunk place ...) -> (item chunk key ...)."""
        if self.chunks == 1:
            return chunks
        first = chunks.new_full((), before_first).expand_as(chunks[:, :1])
        return torch.cat([torch.cat([first, chunks[:, :-1]], 1), chunks], 2)

    def bias(self, round: int) -> Tensor:
        """-log2 N for pairs that meet in this round and in N altogether; for others, no more than _NEVER.

        Returns:
            (item chunk place key).
        """
        bias = self._differences(self.number[round].unflatten(1, (self.chunks, self.chunk)), -1.0)
        bias = bias.abs_().mul_(_NEVER).add_(self.unreachable)
        others = [other for other in range(len(self.code)) if other != round]
        if others:
            count = self._meets(others[0], round)
            for other in others[1:]:
                count += self._meets(other, round)
            # log2(1 + x) is x for 0 and 1; the function itself takes longer.
            bias -= count if len(others) == 1 else count.add_(1).log2_()
        return bias.to(self.dtype)

    def _meets(self, other: int, round: int) -> Tensor:
        """1 for pairs that meet in another round, else 0, in the order of this one: (item chunk place key)."""
        middle = self.reach / 2
        differences = self._differences(self.sorted(self.code[other], round), 0.0)
        return differences.sub_(middle).abs_().neg_().add_(middle + 1).clamp_(0, 1)

    def _differences(self, numbers: Tensor, before_first: float) -> Tensor:
        return numbers.unsqueeze(-1) - self.with_previous(numbers, before_first).unsqueeze(-2)

    @staticmethod
    def _take(items: Tensor, index: Tensor) -> Tensor:
        # As rows of one matrix, which is much faster than to gather them by an index as large as the items.
        starts = torch.arange(0, index.numel(), index.shape[-1], device=index.device).unsqueeze(1)
        return items.flatten(0, 1).index_select(0, (index + starts).flatten()).view(items.shape)
