"""LSH attention: the oracle compares all pairs, and decides in Python loops who meets whom."""

import itertools
import math

import numpy as np
import pytest
import torch

from modules.efficient.growth import Largest
from regard.errors import ArgumentError
from regard.modules.efficient import ReformerAttention

DOUBLE = torch.float64


def reformer(size: int = 5, **others: int) -> ReformerAttention:
    torch.manual_seed(others.pop("seed", 0))
    return ReformerAttention(size, **others).eval().double()


def vectors(*sizes: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(sizes, dtype=DOUBLE, generator=torch.Generator().manual_seed(seed))


def shared_attention(query: np.ndarray, value: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """softmax(x . x_j / |x_j| / sqrt(d)) over the allowed j; over itself where there are none."""
    allowed = allowed | (~allowed.any(1, keepdims=True) & np.eye(len(query), dtype=bool))
    keys = query / np.linalg.norm(query, axis=1, keepdims=True)
    scores = np.where(allowed, query @ keys.T / math.sqrt(query.shape[1]), -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ value


def met(buckets: list[list[int]], chunk: int, causal: bool) -> np.ndarray:
    """Which pairs meet in any round, from the buckets of each."""
    length = len(buckets[0])
    pairs = np.zeros((length, length), dtype=bool)
    for numbers in buckets:
        order = sorted(range(length), key=lambda position: (numbers[position], position))
        rank = {position: place for place, position in enumerate(order)}
        for i in range(length):
            for j in range(length):
                near = 0 < rank[i] - rank[j] <= chunk if causal else rank[i] // chunk - rank[j] // chunk in (0, 1)
                pairs[i, j] |= i != j and numbers[i] == numbers[j] and near
    return pairs


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("length", "chunk", "hashes"), [(1, 3, 2), (17, 4, 1), (41, 4, 2), (41, 7, 5), (150, 1, 2)])
def test_the_rounds_are_one_softmax_over_the_pairs_that_meet(length, chunk, hashes, causal):
    """Pairs that meet in several rounds count once; a position attends to itself only if it meets nobody."""
    attention = reformer(chunk=chunk, hashes=hashes)
    query, value = vectors(2, 3, length, 5), vectors(2, 3, length, 2, seed=2)
    output, buckets = attention(query, query, value, causal=causal), attention.buckets(query)
    for item in range(2):
        for head in range(3):
            pairs = met(buckets[:, item, head].tolist(), chunk, causal)
            expected = shared_attention(query[item, head].numpy(), value[item, head].numpy(), pairs)
            assert np.abs(output[item, head].numpy() - expected).max() < 1e-12


@pytest.mark.parametrize("causal", [False, True])
def test_equals_full_attention_where_one_bucket_covers_everything(causal):
    query, value = vectors(1, 1, 13, 5), vectors(1, 1, 13, 2, seed=2)
    everything = ~np.eye(13, dtype=bool)
    expected = shared_attention(query[0, 0].numpy(), value[0, 0].numpy(), np.tril(everything) if causal else everything)
    for chunk in (13, 64):
        output = reformer(chunk=chunk)(query, query, value, causal=causal)
        assert np.abs(output[0, 0].numpy() - expected).max() < 1e-12


def test_approaches_full_attention_with_more_rounds():
    # All to one side of the origin: opposite vectors never share a bucket.
    query, value = vectors(1, 1, 10, 3) + 0.8, vectors(1, 1, 10, 2, seed=2)
    expected = shared_attention(query[0, 0].numpy(), value[0, 0].numpy(), ~np.eye(10, dtype=bool))
    errors = [
        np.abs(reformer(3, chunk=8, hashes=hashes)(query, query, value)[0, 0].numpy() - expected).max()
        for hashes in (1, 4, 50)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 0.1
    assert errors[-1] < 1e-12  # every pair has met


def integrated(angle: float, directions: int) -> float:
    """The probability that vectors at an angle have the same bucket of 2 x directions, by numerical integration.

    Along one column of R, they are a and c, normal with correlation cos(angle). The bucket is this column, with this
    sign, if |a'| < a and |c'| < c for all other columns.
    """
    step, rho = 0.01, math.cos(angle)
    a, c = np.meshgrid(*[np.arange(step / 2, 6, step)] * 2, indexing="ij")  # the middles of cells

    def masses(sign: int) -> np.ndarray:
        exponent = -(a * a - 2 * sign * rho * a * c + c * c) / (2 * (1 - rho**2))
        return step**2 * np.exp(exponent) / (2 * math.pi * math.sqrt(1 - rho**2))

    # The mass of the rectangle from -a to a and -c to c, of which those with equal and opposite signs come in pairs.
    sums = np.pad(2 * (masses(1) + masses(-1)).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    inside = (sums[1:, 1:] + sums[:-1, 1:] + sums[1:, :-1] + sums[:-1, :-1]) / 4
    return float(2 * directions * (masses(1) * inside ** (directions - 1)).sum())


@pytest.mark.parametrize(("length", "directions"), [(3, 2), (7, 4)])
def test_the_probability_to_meet_grows_with_the_cosine_similarity_as_derived(length, directions):
    """With two directions, the bucket is a quadrant between diagonals, given by the signs of two independent normal
    numbers; two vectors at an angle t agree in each sign with probability 1 - t / pi."""
    rounds, found = 2_000, []
    attention = reformer(3, chunk=2, hashes=rounds, seed=7)
    for angle in np.linspace(0.2, 2.8, 6):
        x = torch.zeros(1, 1, length, 3, dtype=DOUBLE)
        x[0, 0, 0, 0], x[0, 0, 1, 0], x[0, 0, 1, 1] = 2.0, 5 * math.cos(angle), 5 * math.sin(angle)
        buckets = attention.buckets(x)
        found.append(float((buckets[:, 0, 0, 0] == buckets[:, 0, 0, 1]).double().mean()))
        expected = integrated(angle, directions)
        if directions == 2:
            assert abs((1 - angle / math.pi) ** 2 - expected) < 1e-4
            expected = (1 - angle / math.pi) ** 2
        # Four standard deviations.
        assert abs(found[-1] - expected) < 4 * math.sqrt(expected * (1 - expected) / rounds)
    assert found == sorted(found, reverse=True)


def test_a_hand_worked_case():
    """Two equal vectors and their opposite. The equal ones get each other's value; the third, its own."""
    attention = reformer(2, chunk=2, hashes=1)
    attention.rotations[:] = 0
    attention.rotations[0, 0, 0, 0] = 1.0
    x = torch.tensor([[3.0, 0], [-3, 0], [3, 0]], dtype=DOUBLE)[None, None]
    value = torch.tensor([1.0, 10, 100], dtype=DOUBLE).view(1, 1, 3, 1)
    assert attention.buckets(x).flatten().tolist() == [0, 1, 0]
    assert attention(x, x, value).flatten().tolist() == [100, 10, 1]
    assert attention(x, x, value, causal=True).flatten().tolist() == [1, 10, 1]


def test_permuting_the_items_of_a_batch_permutes_the_outputs():
    attention, order = reformer(chunk=4), torch.tensor([2, 0, 1])
    query, value = vectors(3, 2, 19, 5), vectors(3, 2, 19, 2, seed=2)
    output = attention(query, query, value)
    permuted = attention(query[order], query[order], value[order])
    torch.testing.assert_close(permuted, output[order], rtol=0, atol=1e-12)


def test_permuting_the_positions_permutes_the_outputs_where_buckets_are_chunks():
    """Otherwise the order within a bucket decides who is in which chunk."""
    attention = reformer(4, chunk=8, hashes=1)
    attention.rotations[0, 0, :, :4] = torch.eye(4)
    # Eight vectors near each axis of four, so that each bucket in use holds eight: one chunk.
    x = (10 * torch.eye(4, dtype=DOUBLE).repeat_interleave(8, 0) + vectors(32, 4))[None, None]
    value, order = vectors(1, 1, 32, 2, seed=2), torch.randperm(32, generator=torch.Generator().manual_seed(3))
    assert attention.buckets(x).flatten().bincount().tolist() == [8, 0, 8, 0, 8, 0, 8]
    output, permuted = attention(x, x, value), attention(x[:, :, order], x[:, :, order], value[:, :, order])
    torch.testing.assert_close(permuted, output[:, :, order], rtol=0, atol=1e-12)


def test_causal_attention_ignores_the_future():
    attention = reformer(chunk=4, hashes=3)
    query, value = vectors(2, 2, 61, 5), vectors(2, 2, 61, 3, seed=2)
    output = attention(query, query, value, causal=True)
    for start in (1, 20, 47):
        changed, other = query.clone(), value.clone()
        changed[:, :, start:], other[:, :, start:] = vectors(2, 2, 61 - start, 5, seed=5), 9.0
        again = attention(changed, changed, other, causal=True)
        torch.testing.assert_close(again[:, :, :start], output[:, :, :start], rtol=0, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
def test_padding_does_not_count_whatever_it_holds(causal):
    """A padded item has the outputs and gradients that it has alone, although it then has fewer buckets."""
    attention, lengths = reformer(chunk=4), [9, 40, 0, 23]
    query, value = vectors(4, 2, 40, 5), vectors(4, 2, 40, 3, seed=2)
    for item, length in enumerate(lengths):
        query[item, :, length:], value[item, :, length:] = math.nan, math.nan
    query.requires_grad_()
    value.requires_grad_()
    output = attention(query, query, value, lengths=lengths, causal=causal)
    gradients = torch.autograd.grad(output.square().sum(), [query, value])
    for item, length in enumerate(lengths):
        alone = [each.detach()[item : item + 1, :, :length].requires_grad_() for each in (query, value)]
        expected = attention(alone[0], alone[0], alone[1], causal=causal)
        torch.testing.assert_close(output[item : item + 1, :, :length], expected, rtol=0, atol=1e-12)
        assert output[item, :, length:].count_nonzero() == 0
        own = torch.autograd.grad(expected.square().sum(), alone) if length else alone
        for gradient, single in zip(gradients, own, strict=True):
            torch.testing.assert_close(gradient[item : item + 1, :, :length], single, rtol=0, atol=1e-12)
            assert gradient[item, :, length:].count_nonzero() == 0


@pytest.mark.parametrize("causal", [False, True])
def test_gradients(causal):
    attention = reformer(3, chunk=3, hashes=3)
    query, value = vectors(1, 1, 7, 3).requires_grad_(), vectors(1, 1, 7, 1, seed=2).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, v: attention(x, x, v, causal=causal), (query, value))


class Work(Largest):
    """Counts the multiplications of matrix products, too."""

    multiplications = 0

    def see(self, name, args, result):
        if name in ("mm", "bmm", "baddbmm_", "baddbmm", "addmm"):
            self.multiplications += result.numel() * args[-1].shape[-2]


def test_the_work_grows_linearly_but_for_sorting():
    """Pairs, hashing and memory: doubling the length doubles each, also beyond the buckets of one hash."""
    attention, size, found = reformer(16, chunk=16, hashes=2).float(), 16, []
    for length in (1024, 2048, 4096, 8192):
        x = torch.randn(1, 1, length, size)
        with Work() as work, torch.no_grad():
            attention(x, x, x)
        pairs = 2 * length * 2 * 16 * (size + size + 1)
        hashing = 2 * length * size * min(64, length // 16) * (2 if length > 1024 else 1)
        assert pairs < work.multiplications <= pairs + hashing
        found.append(work)
    for one, two in itertools.pairwise(found):
        assert two.largest <= 2.1 * one.largest


def test_many_buckets_are_those_of_several_hashes():
    attention = reformer(16, chunk=2)
    buckets = attention.buckets(vectors(1, 1, 3000, 16))
    # ceil(2 x 1500 ^ (1 / 2) / 2) = 28 directions, 56 buckets at each of two levels.
    digits = torch.stack([buckets // 128, buckets % 128])
    assert digits.min() == 0
    assert digits.max() == 55
    assert len(buckets[0].unique()) > 5 * 128


def test_draws_new_rotations_in_training_and_keeps_those_of_evaluation():
    attention, x = reformer(chunk=4), vectors(1, 1, 50, 5)
    fixed = attention(x, x, x)
    assert torch.equal(attention(x, x, x), fixed)
    other = reformer(chunk=4, seed=1)
    assert not torch.equal(other(x, x, x), fixed)
    other.load_state_dict(attention.state_dict())
    assert torch.equal(other(x, x, x), fixed)
    attention.train()
    torch.manual_seed(3)
    first, second = attention(x, x, x), attention(x, x, x)
    torch.manual_seed(3)
    assert torch.equal(attention(x, x, x), first)
    assert not torch.equal(first, second)


def test_very_large_scores_stay_finite():
    attention, x = reformer(chunk=4).float(), 1e4 * vectors(1, 1, 50, 5).float().requires_grad_()
    output = attention(x, x, x)
    output.sum().backward()
    assert output.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_keeps_the_dtype(dtype):
    x = vectors(2, 1, 9, 5).to(dtype)
    assert ReformerAttention(5, chunk=4)(x, x, x, lengths=[9, 4]).dtype == dtype


def test_refuses_what_it_cannot_use():
    x = torch.randn(2, 1, 9, 5)
    with pytest.raises(ArgumentError, match=r"`key` must be equal to `query`.*shared_query_key"):
        ReformerAttention(5)(x, x + 1, x)
    # Equal vectors will do, and a NaN is not a difference.
    ReformerAttention(5)(x, x.clone(), x)
    x[0, 0, 0, 0] = math.nan
    ReformerAttention(5)(x, x.clone(), x)
    with pytest.raises(ArgumentError, match="`query` must be of size 4"):
        ReformerAttention(4)(x, x, x)
    for name in ("chunk", "hashes"):
        with pytest.raises(ArgumentError, match=f"`{name}` must be"):
            ReformerAttention(4, **{name: 0})
