"""Linformer: attention to mixtures of the keys, exact where the weights have low rank, and linear in the length."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

import regard
from modules.efficient.growth import is_linear, operations, saved_bytes
from regard.errors import ArgumentError
from regard.modules.efficient import APPROXIMATIONS
from regard.modules.efficient.linformer import LinformerAttention


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(12)


def sequence(length, *, batch=2, heads=3, size=5, value_size=2, seed=0):
    random = torch.Generator().manual_seed(seed)
    shapes = (batch, heads, length, size), (batch, heads, length, size), (batch, heads, length, value_size)
    return [torch.randn(shape, generator=random, dtype=torch.float64) for shape in shapes]


def with_projections(matrix):
    layer = LinformerAttention(*matrix.shape).double()
    with torch.no_grad():
        for projection in layer.parameters():
            projection.copy_(matrix)
    return layer


def segment_means(segments, length):
    return torch.eye(segments).repeat_interleave(length // segments, 1) / (length // segments)


def test_with_the_identity_it_equals_full_attention():
    three = sequence(12)
    torch.testing.assert_close(with_projections(torch.eye(12))(*three), regard.attend(*three))


def test_it_equals_the_formula_of_the_paper():
    layer, three = LinformerAttention(4, 11).double(), sequence(9)
    query, key, value = (tensor.numpy() for tensor in three)
    mixed_keys, mixed_values = (
        projection.detach().numpy()[:, :9] @ vectors
        for projection, vectors in ((layer.key_projection, key), (layer.value_projection, value))
    )
    weights = np.exp(query @ mixed_keys.swapaxes(-1, -2) / np.sqrt(5))
    expected = weights / weights.sum(-1, keepdims=True) @ mixed_values
    torch.testing.assert_close(layer(*three), torch.from_numpy(expected))


def test_two_mixtures_by_hand():
    # Mixed keys: 0 and ln 3, so that the weights of a query of 1 are 1/4 and 3/4; mixed values: 2 - 6 and 8 + 1.
    layer = LinformerAttention(2, 3)
    with torch.no_grad():
        layer.key_projection.copy_(torch.tensor([[0.0, 0.0, 5.0], [1.0, 1.0, 5.0]]))
        layer.value_projection.copy_(torch.tensor([[1.0, -1.0, 5.0], [4.0, 1 / 6, 5.0]]))
    query, value = torch.ones(1, 1, 2, 1), torch.tensor([[[[2.0], [6.0]]]])
    key = torch.tensor([[[[1.0], [np.log(3) - 1]]]], dtype=torch.float32)
    torch.testing.assert_close(layer(query, key, value), torch.full((1, 1, 2, 1), -4 / 4 + 9 * 3 / 4))


def test_weights_of_low_rank_are_exact():
    # Keys and values that repeat in segments give weights of rank 4, which means of 4 segments preserve.
    query, key, value = sequence(32, seed=1)
    key, value = (tensor[:, :, :4].repeat_interleave(8, 2) for tensor in (key, value))
    found = with_projections(segment_means(4, 32))(query, key, value)
    torch.testing.assert_close(found, regard.attend(query, key, value))


def test_the_error_falls_with_the_size_on_smooth_sequences():
    query, key, _ = sequence(64, size=4, seed=2)
    time = torch.linspace(0, 1, 64, dtype=torch.float64)
    waves = torch.stack([torch.sin(2 * time), torch.cos(3 * time), torch.sin(5 * time), time], -1).expand_as(key)
    exact = regard.attend(query, waves, waves)
    errors = [
        (with_projections(segment_means(size, 64))(query, waves, waves) - exact).abs().max() for size in (2, 4, 8, 16)
    ]
    assert all(larger > 2.5 * smaller for larger, smaller in pairwise(errors))


def test_random_projections_preserve_averages_with_an_error_of_one_over_the_root_of_the_size():
    # Theorem 1, with the projection as it starts: P F^T F V is near P V, for weights P of full attention.
    query, key, value = sequence(300, batch=1, heads=2, seed=3)
    weights = regard.weigh(query, key)
    errors = []
    for size in (64, 256, 1024):
        runs = []
        for _ in range(4):
            projection = LinformerAttention(size, 300).value_projection.detach().double()
            runs.append((weights @ projection.T @ (projection @ value) - weights @ value).square().mean())
        errors.append(torch.stack(runs).mean().sqrt().item())
    slope = np.polyfit(np.log([64, 256, 1024]), np.log(errors), 1)[0]
    assert -0.6 < slope < -0.4
    # (1/k) (|p|^2 |v|^2 + (p . v)^2) is the variance of one product.
    one = (weights.square().sum(-1, keepdim=True) * value.square().sum(2, keepdim=True)).add((weights @ value).square())
    assert abs(errors[1] / (one.mean() / 256).sqrt().item() - 1) < 0.15


def test_the_projections_start_as_in_the_paper():
    layer = LinformerAttention(64, 500)
    for projection in layer.parameters():
        assert projection.shape == (64, 500)
        assert abs(projection.mean().item()) < 0.005
        assert abs(projection.var().item() * 64 - 1) < 0.05
    assert not torch.equal(layer.key_projection, layer.value_projection)


def test_every_mixture_has_part_in_the_softmax_of_a_short_sequence():
    # As the docstring says: 2 of 4 mixtures are empty, with a score of 0 and values of 0.
    three = sequence(2, seed=4)
    zeros = [torch.cat([tensor, torch.zeros_like(tensor)], 2) for tensor in three]
    torch.testing.assert_close(with_projections(torch.eye(4))(*three), regard.attend(*zeros)[:, :, :2])


def test_padding_adds_nothing():
    lengths, results, layer = [15, 7, 0, 1], [], LinformerAttention(4, 20).double()
    for poison in (0.0, torch.nan, torch.inf, 1e300):
        three = sequence(15, batch=4, seed=5)
        for tensor in three:
            for item, length in enumerate(lengths):
                tensor[item, :, length:] = poison
            tensor.requires_grad_()
        output = layer(*three, lengths=lengths)
        results.append([output, *torch.autograd.grad(output.square().sum(), [*three, *layer.parameters()])])
    assert all(tensor.isfinite().all() for tensor in results[0])
    for other in results[1:]:
        assert all(torch.equal(*pair) for pair in zip(results[0], other, strict=True))
    three = sequence(15, batch=4, seed=5)
    for item, length in enumerate(lengths):
        alone = layer(*(tensor[item : item + 1, :, :length] for tensor in three))
        torch.testing.assert_close(results[0][0][item : item + 1, :, :length], alone)
        assert not results[0][0][item, :, length:].any()


def test_numerical_gradients_of_inputs_and_projections():
    layer = LinformerAttention(3, 6).double()
    three = [tensor.requires_grad_() for tensor in sequence(5, batch=1, heads=2, size=2)]
    names = [name for name, _ in layer.named_parameters()]

    def attend(query, key, value, *projections):
        return torch.func.functional_call(layer, dict(zip(names, projections, strict=True)), (query, key, value))

    assert torch.autograd.gradcheck(attend, [*three, *layer.parameters()])


@pytest.mark.parametrize("cost", [operations, saved_bytes])
def test_cost_is_linear(cost):
    assert is_linear(cost, LinformerAttention(16, 4096))


@pytest.mark.parametrize("shape", [(2, 3, 0), (0, 3, 4), (2, 3, 1)])
def test_short_and_empty_ones(shape):
    three = [torch.ones(*shape, 4, requires_grad=True) for _ in range(3)]
    output = LinformerAttention(4, 8)(*three)
    output.sum().backward()
    assert output.shape == (*shape, 4)
    assert output.isfinite().all()


def test_training_learns_to_attend():
    # The value of the one key that is like the query, among 8 positions: random mixtures can't, trained ones can.
    layer = LinformerAttention(8, 8)
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.03)
    query = key = 12 * torch.eye(8)[None, None]
    losses = []
    for _ in range(150):
        value = torch.randn(4, 1, 8, 3)
        output = layer(query.expand(4, 1, 8, 8), key.expand(4, 1, 8, 8), value)
        losses.append(nn.functional.mse_loss(output, value))
        optimiser.zero_grad()
        losses[-1].backward()
        optimiser.step()
    assert losses[-1] < 0.3 * losses[0]


def test_name_sizes_and_errors():
    assert str(APPROXIMATIONS["linformer"]()) == "LinformerAttention(size=256, max_length=4096)"
    with pytest.raises(ArgumentError, match="`key` must be at most `max_length` 4 long, but is 5 long"):
        LinformerAttention(2, 4)(*(torch.zeros(1, 1, 5, 3) for _ in range(3)))
    with pytest.raises(ArgumentError, match="`causal` must be False for LinformerAttention"):
        LinformerAttention(2, 4)(*(torch.zeros(1, 1, 3, 3) for _ in range(3)), causal=True)
    for keyword in ("size", "max_length"):
        with pytest.raises(ArgumentError, match=f"`{keyword}` must be the .* but is 0"):
            LinformerAttention(**{keyword: 0})
