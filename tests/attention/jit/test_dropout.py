"""The compiled dropout drops what `keep_scale` drops, to the bit."""

import pytest
import torch

from regard.attention.dropout import keep_scale
from regard.attention.engines.jit.dropout import drop
from regard.attention.sizes import Sizes


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("dropout", [0.0, 0.1, 0.5, 0.9999, 1.0])
@pytest.mark.parametrize("seed", [0, 1, -7, 2**40 + 3, 2**63 - 1, -(2**62)])
def test_the_same_bits(dtype, dropout, seed):
    generator = torch.Generator().manual_seed(1)
    weights = torch.rand(3, 17, 29, generator=generator, dtype=torch.float64).to(dtype)
    batch, head = torch.tensor([0, 4, 70_000]), torch.tensor([1, 3, 2])
    query, key = torch.arange(5, 22), torch.randint(0, 100_000, (29,), generator=generator)
    at = Sizes(1, 1, 1).index(batch.view(-1, 1, 1), head.view(-1, 1, 1), query.view(1, -1, 1), key.view(1, 1, -1))
    true = weights * keep_scale(at, dropout, seed, dtype)
    assert torch.equal(drop(weights, dropout, seed, (batch, head, query, key)), true)
    assert torch.equal(weights, true)


@pytest.mark.parametrize("shape", [(0, 3, 5), (2, 0, 5), (2, 3, 0)])
def test_empty_tiles(shape):
    indices = [torch.arange(size) for size in (shape[0], *shape)]
    assert drop(torch.ones(shape), 0.5, 1, indices).shape == shape
