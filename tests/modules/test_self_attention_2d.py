"""SAGAN's self-attention against its equations, written out in einsum."""

import subprocess
import sys

import pytest
import torch
from torch.nn.utils.parametrizations import spectral_norm

from regard.errors import ArgumentError
from regard.inspection import watch
from regard.modules import SelfAttention2d

DOUBLE = torch.float64


def layer_with_gamma(gamma: float = 0.7, channels: int = 11, **sizes: int) -> SelfAttention2d:
    torch.manual_seed(3)
    layer = SelfAttention2d(channels, **sizes).double()
    with torch.no_grad():
        layer.gamma.fill_(gamma)
        # Weights that aren't small, so that the softmax is far from uniform.
        for each in (layer.query, layer.key):
            each.weight.mul_(4)
    return layer


def dense(layer: SelfAttention2d, x: torch.Tensor) -> torch.Tensor:
    """Equations 1 to 3: beta_ji = exp(s_ij) / sum_i exp(s_ij) with s_ij = f(x_i) . g(x_j), and y = gamma o + x."""
    f, g, h, v = (each.weight[:, :, 0, 0] for each in (layer.key, layer.query, layer.value, layer.output))
    flat = torch.stack([x[:, :, row, column] for row in range(x.shape[2]) for column in range(x.shape[3])], dim=-1)
    scores = torch.einsum("kc,bci,kd,bdj->bij", f, flat, g, flat)
    beta = scores.exp() / scores.exp().sum(1, keepdim=True)
    o = torch.einsum("cv,vd,bdi,bij->bcj", v, h, flat, beta)
    return x + layer.gamma * o.reshape(x.shape)


@pytest.mark.parametrize("size", [(5, 7), (7, 5), (1, 1), (1, 13), (13, 1)])
@pytest.mark.parametrize("sizes", [{}, {"key_channels": 3, "value_channels": 2}, {"value_channels": 13}])
def test_equals_the_equations(size, sizes):
    layer, x = layer_with_gamma(**sizes), torch.randn(3, 11, *size, dtype=DOUBLE)
    found = layer(x)
    torch.testing.assert_close(found, dense(layer, x))
    assert not torch.allclose(found, x)


def test_gradients_are_those_of_the_equations():
    layer = layer_with_gamma(channels=5)
    x = torch.randn(2, 5, 3, 4, dtype=DOUBLE, requires_grad=True)
    above = torch.randn(2, 5, 3, 4, dtype=DOUBLE)
    wanted = [x, *layer.parameters()]
    found, expected = (torch.autograd.grad(y, wanted, above) for y in (layer(x), dense(layer, x)))
    assert len(wanted) == 6
    for own, right in zip(found, expected, strict=True):
        torch.testing.assert_close(own, right)
        assert right.abs().max() > 0


def test_a_new_layer_returns_its_input_and_learns_gamma():
    layer, x = SelfAttention2d(16), torch.randn(2, 16, 5, 7)
    assert layer.gamma.item() == 0
    assert torch.equal(layer(x), x)
    layer(x).square().sum().backward()
    assert layer.gamma.grad != 0


def test_sizes_of_the_convolutions():
    layer = SelfAttention2d(64)
    shapes = {name: tuple(each.shape) for name, each in layer.named_parameters()}
    assert shapes == {
        "gamma": (),
        "query.weight": (8, 64, 1, 1),
        "key.weight": (8, 64, 1, 1),
        "value.weight": (32, 64, 1, 1),
        "output.weight": (64, 32, 1, 1),
    }
    assert SelfAttention2d(3)(torch.zeros(1, 3, 2, 2)).shape == (1, 3, 2, 2)
    assert SelfAttention2d(1).key.out_channels == SelfAttention2d(1).value.out_channels == 1


@pytest.mark.parametrize("size", [(0, 3), (3, 0), (0, 0)])
def test_a_map_without_positions_stays_as_it_is(size):
    x = torch.randn(2, 11, *size, dtype=DOUBLE)
    found = layer_with_gamma()(x)
    assert found is not x
    assert torch.equal(found, x)


def test_permuting_positions_permutes_the_output():
    layer, x = layer_with_gamma(), torch.randn(2, 11, 3, 5, dtype=DOUBLE)
    order = torch.randperm(15)
    moved = x.flatten(2)[:, :, order].view_as(x)
    torch.testing.assert_close(layer(moved), layer(x).flatten(2)[:, :, order].view_as(x))


def test_watch_sees_where_each_position_looks():
    layer, x = layer_with_gamma(), torch.randn(2, 11, 3, 5, dtype=DOUBLE)
    with watch(layer) as seen:
        layer(x)
    query, key = (
        torch.einsum("kc,bci->bki", each.weight[:, :, 0, 0], x.flatten(2)) for each in (layer.query, layer.key)
    )
    right = torch.einsum("bki,bkj->bij", query, key).softmax(-1)
    torch.testing.assert_close(seen[0].weights()[:, 0], right)


def test_with_spectral_normalisation():
    layer = layer_with_gamma()
    for each in (layer.query, layer.key, layer.value, layer.output):
        spectral_norm(each)
    layer.eval()
    x = torch.randn(2, 11, 3, 5, dtype=DOUBLE)
    torch.testing.assert_close(layer(x), dense(layer, x))


LARGE = """
import resource
import torch
from regard.modules import SelfAttention2d
torch.set_num_threads(1)
layer = SelfAttention2d(8)
torch.nn.init.ones_(layer.gamma)
def step(side):
    x = torch.randn(1, 8, side, side, requires_grad=True)
    layer(x).sum().backward()
step(8)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
step(100)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is in KiB on Linux only")
def test_large_maps_take_linear_memory():
    """10,000 positions: their weights alone would be 381 MiB, and their gradient as much."""
    ran = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=True)
    assert float(ran.stdout) < 150


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"channels": 0}, "`channels` must be the number of channels of the map, 1 or more, but is 0"),
        ({"channels": 2.5}, "`channels` must be"),
        ({"channels": 8, "key_channels": 0}, "`key_channels` must be .*, 1 or more, but is 0"),
        ({"channels": 8, "value_channels": -1}, "`value_channels` must be .*, 1 or more, but is -1"),
    ],
)
def test_bad_sizes(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        SelfAttention2d(**arguments)


@pytest.mark.parametrize("shape", [(2, 5, 3, 3), (6, 3, 3), (2, 9, 6)])
def test_bad_maps(shape):
    with pytest.raises(ArgumentError, match=r"`picture` must be \(batch, 6 channels, height, width\), but is"):
        SelfAttention2d(6)(torch.zeros(shape))
