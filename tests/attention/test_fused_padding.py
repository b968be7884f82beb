"""Padding in float32, for which every device has a fused kernel; float64 has none on a GPU."""

import pytest
import torch

from regard.attention import Causal, Lengths, attend, plan

BATCH, HEADS, LENGTH, SIZE = 4, 4, 37, 8
MASKS = {
    "keys": lambda: Lengths(key=[37, 5, 1, 20]),
    "no key": lambda: Lengths(key=[37, 0, 1, 20]),
    "both": lambda: Lengths([37, 5, 0, 20]),
    "queries": lambda: Lengths(query=[37, 5, 1, 20], key=[37, 37, 37, 37]),
    "causal": lambda: Lengths([37, 5, 1, 20]) & Causal(),
}


def drawn(key_heads: int = HEADS) -> list[torch.Tensor]:
    generator = torch.Generator(torch.get_default_device()).manual_seed(5)
    return [
        torch.randn(BATCH, heads, LENGTH, SIZE, generator=generator, requires_grad=True)
        for heads in (HEADS, key_heads, key_heads)
    ]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("key_heads", [HEADS, 2])
def test_padding_changes_nothing(mask, key_heads):
    tensors = drawn(key_heads)
    assert plan(*tensors, mask=MASKS[mask]()).engine == "fused"
    upward = torch.randn(BATCH, HEADS, LENGTH, SIZE)
    found, expected = (
        [output, *torch.autograd.grad(output, tensors, upward)]
        for output in (attend(*tensors, mask=MASKS[mask](), engine=engine) for engine in ("fused", "dense"))
    )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("mask", ["keys", "both"])
def test_nan_from_above_reaches_no_padding(mask):
    tensors = drawn()
    upward = torch.ones(BATCH, HEADS, LENGTH, SIZE)
    upward[:, :, 0] = torch.nan
    _, key, value = torch.autograd.grad(attend(*tensors, mask=MASKS[mask](), engine="fused"), tensors, upward)
    for gradient in (key, value):
        assert (gradient[1, :, 5:] == 0).all()
        assert gradient[0].isnan().all()


@pytest.mark.parametrize("mask", [name for name in MASKS if name != "queries"])
def test_hidden_keys_may_hold_anything(mask):
    tensors = [tensor.detach() for tensor in drawn()]
    expected = attend(*tensors, mask=MASKS[mask](), engine="dense")
    for tensor in tensors[1:]:
        tensor[3, :, 20:] = torch.nan
        tensor[1, :, 5:] = torch.inf
    torch.testing.assert_close(attend(*tensors, mask=MASKS[mask]()), expected, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("mask", [name for name in MASKS if name != "queries"])
def test_large_numbers_in_padding_reach_nothing(mask):
    tensors = [tensor.detach() for tensor in drawn()]
    expected = attend(*tensors, mask=MASKS[mask](), engine="dense")
    for tensor in tensors[1:]:
        tensor[3, :, 20:] = 1e4
        tensor[1, :, 5:] = -1e4
    assert plan(*tensors, mask=MASKS[mask]()).engine == "fused"
    torch.testing.assert_close(attend(*tensors, mask=MASKS[mask](), engine="fused"), expected, atol=2e-5, rtol=2e-5)
