"""The decoder: all targets at once, and step by step."""

import pytest
import torch
from torch import nn

from regard.attention import INPUT_POSITIONS, POSITIONS, Causal, Lengths, Sinusoidal, Window
from regard.errors import ArgumentError
from regard.modules import MultiHeadAttention
from regard.modules.seq2seq.decoder import Decoder

WIDTH = 12


def make(**parts):
    torch.manual_seed(3)
    decoder = Decoder(WIDTH, **{"layers": 2, "heads": 3, "hidden": 17, **parts}).double()
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    return decoder


def vectors(length, batch=3):
    generator = torch.Generator().manual_seed(length)
    return torch.randn(batch, length, WIDTH, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("sizes", [[1] * 7, [4, 1, 2]], ids=str)
@pytest.mark.parametrize("position", [None, *POSITIONS, *sorted(set(INPUT_POSITIONS) - {"flow"})])
def test_step_by_step_equals_all_at_once(position, sizes):
    decoder, targets, source, lengths = make(position=position), vectors(7), vectors(5), torch.tensor([5, 2, 0])
    with torch.no_grad():
        caches = decoder.start(source, lengths)
        steps = [decoder.step(part, caches) for part in targets.split(sizes, dim=1)]
        torch.testing.assert_close(torch.cat(steps, 1), decoder(targets, source, mask=Lengths(key=lengths)))


@pytest.mark.parametrize("mask", [Causal(), Causal() & Window(2, 0), Window(1, 1) & Causal()], ids=str)
def test_other_causal_masks_have_steps_as_well(mask):
    decoder, targets, source, lengths = make(target_mask=mask), vectors(7), vectors(5), torch.tensor([5, 5, 5])
    with torch.no_grad():
        caches = decoder.start(source, lengths)
        steps = [decoder.step(part, caches) for part in targets.split(1, dim=1)]
        torch.testing.assert_close(torch.cat(steps, 1), decoder(targets, source))


@pytest.mark.parametrize("mask", [None, Window(1, 1), Causal() | Window(1, 1)], ids=str)
def test_a_set_has_no_steps(mask):
    """A step would answer otherwise than all at once."""
    decoder = make(target_mask=mask)
    with torch.no_grad():
        caches = make().start(vectors(5), torch.tensor([5, 5, 5]))
    for call in (lambda: decoder.start(vectors(5), torch.tensor([5, 5, 5])), lambda: decoder.step(vectors(1), caches)):
        with pytest.raises(ArgumentError, match="`target_mask` must be causal for decoding step by step, but is"):
            call()


def test_it_sees_the_source_and_its_own_past():
    decoder = make(layers=1)
    targets, source = vectors(7, 1).requires_grad_(), vectors(5, 1).requires_grad_()
    decoder(targets, source)[0, 3, 0].backward()
    assert [bool(row.any()) for row in targets.grad[0]] == [True] * 4 + [False] * 3
    assert source.grad.any(-1).all()


def test_the_residual_path_has_nothing_in_it():
    """With every sublayer's last linear at zero, the decoder is its final norm."""
    decoder, targets = make(), vectors(7)
    for layer in decoder.layers:
        for linear in (layer.attention.output, layer.source_attention.output, layer.connected.connected[-1]):
            for parameter in linear.parameters():
                nn.init.zeros_(parameter)
    torch.testing.assert_close(decoder(targets, vectors(5)), decoder.norm(targets))


def test_there_is_no_distance_between_target_and_source():
    positions = [
        part.position is not None for part in make(position="rotary").modules() if isinstance(part, MultiHeadAttention)
    ]
    assert positions == [True, False] * 2


def test_a_position_as_a_module_is_used_as_it_is():
    by_name, by_module = make(position="sinusoidal"), make(position=Sinusoidal(WIDTH))
    assert torch.equal(by_name(vectors(7), vectors(5)), by_module(vectors(7), vectors(5)))


def test_an_unknown_position():
    with pytest.raises(ArgumentError, match="Did you mean 'sinusoidal'"):
        make(position="sinusoid")
