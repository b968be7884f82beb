"""Sinkhorn attention: the oracle sorts, mixes and attends block by block in NumPy, without logarithms."""

import math

import numpy as np
import pytest
import torch

from modules.efficient.growth import Largest
from regard.errors import ArgumentError
from regard.modules.efficient import SinkhornAttention

DOUBLE = torch.float64
CAUSAL = pytest.mark.parametrize("causal", [False, True])


def sinkhorn(**others: float) -> SinkhornAttention:
    return SinkhornAttention(**others).eval()


def vectors(*sizes: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(sizes, dtype=DOUBLE, generator=torch.Generator().manual_seed(seed))


def sorting(query: np.ndarray, key: np.ndarray, block: int, iterations: int, temperature: float, causal: bool):
    """The sorting matrix of one head: exp of the logits, normalised in turn."""
    length, size = query.shape
    starts = range(0, length, block)
    matrix = np.zeros((len(starts), len(starts)))
    for i, start in enumerate(starts):
        own = query[: start + 1] if causal else query[start : start + block]
        for j, other in enumerate(starts):
            if not causal or j < i:
                keys = key[other : other + block]
                logit = own.sum(0) @ keys.sum(0) / math.sqrt(len(own) * len(keys) * size)
                matrix[i, j] = math.exp(logit / temperature)
    for _ in range(iterations):
        matrix = matrix / np.maximum(matrix.cumsum(0) if causal else matrix.sum(0), 1e-300)
        matrix = matrix / np.maximum(matrix.sum(1, keepdims=True), 1e-300)
    return matrix


def attended(query, key, value, matrix: np.ndarray, block: int, causal: bool) -> np.ndarray:
    """softmax over the keys of the block and the averages of those of all blocks, one query after another."""
    length, size = query.shape
    output = np.zeros((length, value.shape[1]))
    for i in range(length):
        own = range(i // block * block, min(length, i // block * block + block))
        terms = [(0.0, key[j], value[j]) for j in own if not causal or j <= i]
        for place in range(block):
            there = [(j, matrix[i // block, j // block]) for j in range(place, length, block)]
            weight = sum(share for _, share in there)
            if weight > 0:
                mean_key = sum(share * key[j] for j, share in there) / weight
                mean_value = sum(share * value[j] for j, share in there) / weight
                terms.append((math.log(weight), mean_key, mean_value))
        scores = np.array([bias + query[i] @ k / math.sqrt(size) for bias, k, _ in terms])
        weights = np.exp(scores - scores.max())
        output[i] = weights / weights.sum() @ np.array([v for _, _, v in terms])
    return output


@CAUSAL
@pytest.mark.parametrize(("length", "block"), [(12, 4), (23, 4), (7, 1), (5, 8), (9, 8)])
def test_equals_local_and_sorted_attention_computed_block_by_block(length, block, causal):
    attention = sinkhorn(block=block, iterations=5)
    query, key, value = vectors(2, 2, length, 5), vectors(2, 2, length, 5, seed=2), vectors(2, 2, length, 3, seed=3)
    output, matrix = attention(query, key, value, causal=causal), attention.sorting(query, key, causal=causal)
    for item in range(2):
        for head in range(2):
            q, k, v = (each[item, head].numpy() for each in (query, key, value))
            expected = sorting(q, k, block, 5, 0.75, causal)
            assert np.abs(matrix[item, head].numpy() - expected).max() < 1e-12
            assert np.abs(output[item, head].numpy() - attended(q, k, v, expected, block, causal)).max() < 1e-12


def test_rows_and_columns_sum_to_1_after_enough_iterations():
    query, key = vectors(2, 3, 23, 5), vectors(2, 3, 23, 5, seed=2)
    real = torch.arange(23) < torch.tensor([23, 13]).unsqueeze(1)
    query, key = (each * real[:, None, :, None] for each in (query, key))
    matrix = sinkhorn(block=4, iterations=200).sorting(query, key, real=real)
    assert matrix.min() >= 0
    # Six blocks, and four of the shorter item: the fourth has one real position.
    expected = torch.tensor([[1.0] * 6, [1.0] * 4 + [0.0] * 2], dtype=DOUBLE)[:, None].expand(-1, 3, -1)
    for axis in (-1, -2):
        torch.testing.assert_close(matrix.sum(axis), expected, rtol=0, atol=1e-10)
    # Few iterations: rows, which are normalised last, but not yet columns.
    early = sinkhorn(block=4, iterations=1).sorting(query, key, real=real)
    torch.testing.assert_close(early.sum(-1), expected, rtol=0, atol=1e-12)
    assert (early.sum(-2) - expected).abs().max() > 0.01


def test_a_hand_worked_case():
    """For logits [[a b] [c d]], S is [[s, 1 - s], [1 - s, s]] with s = 1 / (1 + exp((b + c - a - d) / 2)).

    Here queries are 1 and 3 and keys are 2 and 0, so the logits are [[2 0] [6 0]] and s is 1 / (1 + e^2).
    """
    query, key, value = (
        torch.tensor(numbers, dtype=DOUBLE).view(1, 1, 2, 1) for numbers in ([1.0, 3.0], [2.0, 0.0], [5.0, 9.0])
    )
    attention = sinkhorn(block=1, iterations=200, temperature=1.0)
    s = 1 / (1 + math.exp(2))
    expected = torch.tensor([[s, 1 - s], [1 - s, s]], dtype=DOUBLE)
    torch.testing.assert_close(attention.sorting(query, key)[0, 0], expected)
    # The first position sees key 2, value 5, and the average: key 2 s, value 5 s + 9 (1 - s).
    one, two = math.exp(2), math.exp(2 * s)
    first = (one * 5 + two * (5 * s + 9 * (1 - s))) / (one + two)
    torch.testing.assert_close(float(attention(query, key, value)[0, 0, 0]), first)


def test_a_hard_permutation_attends_to_the_own_block_and_the_sorted_one():
    """A low temperature sorts each block to the one that its queries ask for."""
    order, block = [2, 0, 3, 1], 4
    query, key, value = vectors(16, 8), vectors(16, 8, seed=2), vectors(16, 3, seed=3)
    for i, other in enumerate(order):
        query[i * block : (i + 1) * block, i] += 3.0
        key[other * block : (other + 1) * block, i] += 3.0
    attention = sinkhorn(block=block, temperature=0.01, iterations=50)
    batch = [each[None, None] for each in (query, key, value)]
    permutation = torch.eye(4, dtype=DOUBLE)[order]
    torch.testing.assert_close(attention.sorting(*batch[:2])[0, 0], permutation, rtol=0, atol=1e-12)
    output = attention(*batch)[0, 0]
    for i, other in enumerate(order):
        own, sorted_to_it = slice(i * block, (i + 1) * block), slice(other * block, (other + 1) * block)
        keys, values = torch.cat([key[own], key[sorted_to_it]]), torch.cat([value[own], value[sorted_to_it]])
        expected = (query[own] @ keys.T / math.sqrt(8)).softmax(-1) @ values
        torch.testing.assert_close(output[own], expected, rtol=0, atol=1e-12)


@CAUSAL
def test_equals_full_attention_where_one_block_covers_everything(causal):
    query, key, value = vectors(2, 2, 13, 5), vectors(2, 2, 13, 5, seed=2), vectors(2, 2, 13, 3, seed=3)
    scores = query @ key.mT / math.sqrt(5)
    if causal:
        scores = scores.masked_fill(torch.ones(13, 13).triu(1).bool(), -torch.inf)
    for block in (13, 64):
        output = sinkhorn(block=block)(query, key, value, causal=causal)
        torch.testing.assert_close(output, scores.softmax(-1) @ value, rtol=0, atol=1e-12)


def test_causal_attention_ignores_the_future():
    attention = sinkhorn(block=4)
    query, key, value = vectors(1, 2, 23, 5), vectors(1, 2, 23, 5, seed=2), vectors(1, 2, 23, 3, seed=3)
    output = attention(query, key, value, causal=True)
    for start in range(1, 23):
        changed = [each.clone() for each in (query, key, value)]
        for each in changed:
            each[:, :, start:] = vectors(*each[:, :, start:].shape, seed=9)
        again = attention(*changed, causal=True)
        torch.testing.assert_close(again[:, :, :start], output[:, :, :start], rtol=0, atol=1e-12)


def test_causal_sorting_gives_all_weight_to_earlier_blocks():
    matrix = sinkhorn(block=4).sorting(vectors(1, 2, 23, 5), vectors(1, 2, 23, 5, seed=2), causal=True)
    assert matrix.triu().count_nonzero() == 0
    assert matrix[:, :, 0].count_nonzero() == 0
    torch.testing.assert_close(matrix[:, :, 1:].sum(-1), torch.ones(1, 2, 5, dtype=DOUBLE))


@CAUSAL
def test_padding_does_not_count_whatever_it_holds(causal):
    """A padded item has the outputs and gradients that it has alone."""
    attention, lengths = sinkhorn(block=4), [9, 21, 0, 12, 2]
    inputs = [vectors(5, 2, 21, 5), vectors(5, 2, 21, 5, seed=2), vectors(5, 2, 21, 3, seed=3)]
    for each in inputs:
        for item, length in enumerate(lengths):
            each[item, :, length:] = math.nan
        each.requires_grad_()
    output = attention(*inputs, lengths=lengths, causal=causal)
    gradients = torch.autograd.grad(output.square().sum(), inputs)
    for item, length in enumerate(lengths):
        alone = [each.detach()[item : item + 1, :, :length].requires_grad_() for each in inputs]
        expected = attention(*alone, causal=causal)
        torch.testing.assert_close(output[item : item + 1, :, :length], expected, rtol=0, atol=1e-12)
        assert output[item, :, length:].count_nonzero() == 0
        own = torch.autograd.grad(expected.square().sum(), alone) if length else alone
        for gradient, single in zip(gradients, own, strict=True):
            torch.testing.assert_close(gradient[item : item + 1, :, :length], single, rtol=0, atol=1e-12)
            assert gradient[item, :, length:].count_nonzero() == 0


@CAUSAL
def test_gradients(causal):
    attention = sinkhorn(block=2, iterations=3)
    inputs = [vectors(1, 1, 7, 3), vectors(1, 1, 7, 3, seed=2), vectors(1, 1, 7, 1, seed=3)]
    inputs = [each.requires_grad_() for each in inputs]
    assert torch.autograd.gradcheck(lambda *each: attention(*each, causal=causal), inputs)


class Pairs(Largest):
    """Counts the scores that a softmax normalises, too."""

    scored = 0

    def see(self, name, args, result):
        self.scored += result.numel() if name == "_softmax" else 0


def test_the_number_of_pairs_is_linear():
    for length in (1024, 2048, 4096):
        x = torch.randn(1, 1, length, 8)
        with Pairs() as pairs, torch.no_grad():
            sinkhorn(block=16)(x, x, x)
        assert pairs.scored == length * 2 * 16
        # The scores are the largest, or the sorting matrix, with a row for each block.
        assert pairs.largest == max(length * 2 * 16, (length // 16) ** 2)


def test_noise_is_added_in_training_only():
    attention, x = SinkhornAttention(block=4), vectors(1, 1, 23, 5)
    torch.manual_seed(3)
    first, second = attention.sorting(x, x), attention.sorting(x, x)
    torch.manual_seed(3)
    assert torch.equal(attention.sorting(x, x), first)
    assert not torch.equal(first, second)
    attention.eval()
    assert torch.equal(attention.sorting(x, x), attention.sorting(x, x))


def test_the_noise_is_gumbel_noise():
    """Two blocks keep their order if the noise of the logits doesn't outweigh a difference of 1; sampled by NumPy."""
    attention = SinkhornAttention(block=1, iterations=50, temperature=0.01)
    x = torch.tensor([1.0, 0.0]).view(1, 1, 2, 1).expand(4000, 1, 2, 1)
    torch.manual_seed(0)
    kept = float((attention.sorting(x, x)[:, 0, 0, 0] > 0.5).double().mean())
    noise = np.random.default_rng(0).gumbel(size=(100_000, 4)) @ [1, 1, -1, -1]
    assert abs(kept - (noise > -1).mean()) < 0.03  # four standard deviations


def test_the_noise_is_skewed_as_gumbel_noise_is():
    """Its sign matters: the mean square of the weights of one iteration without logits, sampled by NumPy."""
    attention, x = SinkhornAttention(block=1, iterations=1, temperature=1.0), torch.zeros(4000, 1, 5, 1)
    torch.manual_seed(0)
    found = float(attention.sorting(x, x).square().mean())
    weights = np.exp(np.random.default_rng(0).gumbel(size=(20_000, 5, 5)))
    weights /= weights.sum(1, keepdims=True)
    weights /= weights.sum(2, keepdims=True)
    assert abs(found - np.square(weights).mean()) < 0.001  # five standard deviations; it is 0.0095 less for -Gumbel


def test_keeps_the_dtype_and_takes_short_sequences():
    for length in (0, 1, 2):
        x = torch.randn(2, 1, length, 5, dtype=torch.bfloat16)
        assert SinkhornAttention(block=4)(x, x, x).dtype == torch.bfloat16
    x = torch.randn(1, 1, 1, 5)
    torch.testing.assert_close(SinkhornAttention(block=4)(x, x, x), x)


def test_refuses_what_it_cannot_use():
    for name, value in (("block", 0), ("iterations", 0), ("temperature", 0.0), ("temperature", math.inf)):
        with pytest.raises(ArgumentError, match=f"`{name}` must be"):
            SinkhornAttention(**{name: value})
