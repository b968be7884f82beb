"""Positions on the inputs: their vectors, what they cost, and where they end."""

import sys

import pytest
import torch

from regard.attention.positional_encodings import (
    INPUT_POSITIONS,
    Flow,
    Learned,
    PositionalEncoding,
    Recurrent,
    Sinusoidal,
)
from regard.errors import ArgumentError, MissingExtraError

WIDTH = 6


def made(name: str) -> PositionalEncoding:
    if name == "flow":
        pytest.importorskip("torchdiffeq")
    torch.manual_seed(0)
    return INPUT_POSITIONS[name](WIDTH)


@pytest.mark.parametrize("name", INPUT_POSITIONS)
class TestEvery:
    def test_adds_the_same_vectors_to_every_item(self, name):
        position, vectors = made(name), torch.randn(3, 11, WIDTH)
        added = position(vectors) - vectors
        torch.testing.assert_close(added, position.encode(11).expand(3, 11, WIDTH).to(added))
        distinct = {tuple(row.tolist()) for row in position.encode(11).float()}
        assert len(distinct) == 11

    def test_a_position_has_one_vector_whatever_the_length(self, name):
        position = made(name)
        if torch.get_default_device().type != "cpu":
            # In float32, cuDNN multiplies in TensorFloat-32, by another algorithm for another length: 1e-4 apart.
            position = position.double()
        for length in (0, 1, 2, 5):
            # Products of one row and of many may differ in their last bit.
            torch.testing.assert_close(position.encode(13)[:length], position.encode(length), rtol=0, atol=1e-6)

    def test_lengths_none_and_one(self, name):
        position = made(name)
        assert position(torch.zeros(2, 0, WIDTH)).shape == (2, 0, WIDTH)
        assert position(torch.zeros(0, 3, WIDTH)).shape == (0, 3, WIDTH)
        assert position(torch.zeros(2, 1, WIDTH)).shape == (2, 1, WIDTH)

    def test_inductive_takes_any_length(self, name):
        position = made(name)
        vectors = torch.zeros(1, 513, WIDTH)
        if position.inductive:
            assert torch.isfinite(position(vectors)).all()
        else:
            with pytest.raises(ArgumentError, match="at most 512 long, as many positions as were learned, but is 513"):
                position(vectors)

    def test_data_driven_has_parameters_and_all_learn(self, name):
        position = made(name)
        parameters = list(position.parameters())
        assert bool(parameters) == position.data_driven
        if parameters:
            position(torch.zeros(1, 7, WIDTH)).square().sum().backward()
            assert all(parameter.grad is not None and parameter.grad.any() for parameter in parameters)

    def test_how_many_parameters(self, name):
        w = WIDTH
        expected = {"sinusoidal": 0, "learned": 512 * w, "recurrent": 2 * w * w + 3 * w, "flow": 2 * w * w + 5 * w}
        assert sum(parameter.numel() for parameter in made(name).parameters()) == expected[name]

    def test_dtype_of_the_inputs_stays(self, name):
        position = made(name)
        assert position(torch.zeros(1, 3, WIDTH, dtype=torch.bfloat16)).dtype == torch.bfloat16
        assert position.double()(torch.zeros(1, 3, WIDTH, dtype=torch.float64)).dtype == torch.float64

    def test_the_same_bits_at_every_call(self, name):
        position = made(name)
        grads = []
        for _ in range(2):
            position.zero_grad()
            result = position(torch.ones(1, 11, WIDTH)).square().sum()
            if position.data_driven:
                result.backward()
            grads.append([result.detach(), *(parameter.grad.clone() for parameter in position.parameters())])
        assert all(torch.equal(one, two) for one, two in zip(*grads, strict=True))

    def test_refusals(self, name):
        with pytest.raises(ArgumentError, match="`vectors` must be of size 6, but are of size 7"):
            made(name)(torch.zeros(1, 3, 7))
        with pytest.raises(ArgumentError, match="`width` must be the size of the vectors, 1 or more, but is 0"):
            INPUT_POSITIONS[name](0)


class TestSinusoidal:
    def test_any_width_and_far_positions(self):
        wave = Sinusoidal(5).encode(129)
        angle = 128 / 10000 ** (torch.tensor([0, 0, 2, 2, 4], dtype=torch.float64) / 5)
        expected = torch.where(torch.tensor([True, False, True, False, True]), angle.sin(), angle.cos())
        torch.testing.assert_close(wave[128].to(expected), expected)


class TestRecurrent:
    def test_the_recurrence_by_hand(self):
        position = Recurrent(4).double()
        torch.nn.init.normal_(position.start)
        read = Sinusoidal(4).encode(5).to(position.start)
        state = position.start[0]
        for place in range(5):
            inner = position.rnn.weight_ih_l0 @ read[place] + position.rnn.weight_hh_l0 @ state
            state = torch.tanh(inner + position.rnn.bias_ih_l0 + position.rnn.bias_hh_l0)
            torch.testing.assert_close(position.encode(5)[place], state)

    def test_layers(self):
        position = Recurrent(4, layers=2)
        assert sum(parameter.numel() for parameter in position.parameters()) == 2 * (2 * 16 + 3 * 4)
        with pytest.raises(ArgumentError, match=r"`layers` must be .* 1 or more, but is 0"):
            Recurrent(4, layers=0)


class TestFlow:
    def test_the_midpoint_steps_by_hand(self):
        pytest.importorskip("torchdiffeq")
        torch.manual_seed(0)
        flow = Flow(3, interval=0.2, steps=2).double()

        def force(time, position):
            hidden = torch.tanh(flow.force.inner(torch.cat([position, torch.tensor([time]).double()])))
            return flow.force.outer(torch.cat([hidden, torch.tensor([time]).double()]))

        position, step = flow.start, 0.1
        for k in range(8):
            middle = position + step / 2 * force(k * step, position)
            position = position + step * force(k * step + step / 2, middle)
            if k % 2:
                torch.testing.assert_close(flow.encode(5)[(k + 1) // 2], position, rtol=1e-9, atol=1e-9)

    def test_more_steps_come_closer(self):
        pytest.importorskip("torchdiffeq")
        torch.manual_seed(0)
        exact = Flow(3, interval=1.0, steps=64, method="rk4").double()
        torch.nn.init.normal_(exact.force.outer.weight)
        gaps = []
        for method, steps in (("euler", 5), ("midpoint", 5), ("rk4", 5), ("midpoint", 20)):
            rough = Flow(3, interval=1.0, steps=steps, method=method).double()
            rough.load_state_dict(exact.state_dict())
            gaps.append(float((rough.encode(7) - exact.encode(7)).detach().abs().max()))
        assert gaps[0] > 4 * gaps[1] > 16 * gaps[2]
        assert gaps[1] > 8 * gaps[3]

    def test_the_adjoint_gives_nearly_the_same_gradient(self):
        pytest.importorskip("torchdiffeq")
        torch.manual_seed(0)
        plain = Flow(4, steps=3, method="rk4").double()
        adjoint = Flow(4, steps=3, method="rk4", adjoint=True).double()
        adjoint.load_state_dict(plain.state_dict())
        weight = torch.randn(11, 4, dtype=torch.float64)
        assert torch.equal(plain.encode(11), adjoint.encode(11))
        for flow in (plain, adjoint):
            (flow.encode(11) * weight).sum().backward()
        for one, two in zip(plain.parameters(), adjoint.parameters(), strict=True):
            torch.testing.assert_close(one.grad, two.grad, rtol=1e-5, atol=1e-6)

    def test_missing_torchdiffeq_names_the_extra(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "torchdiffeq", None)
        with pytest.raises(MissingExtraError, match=r"pip install '\.\[flow\]'"):
            Flow(4)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"steps": 0}, "`interval` and `steps` must be more than 0, but are 0.1 and 0"),
            ({"interval": 0.0}, "must be more than 0, but are 0.0 and 5"),
            ({"method": "dopri5"}, "'midpoint', 'rk4' or 'euler', but is 'dopri5'"),
        ],
    )
    def test_refusals(self, arguments, message):
        with pytest.raises(ArgumentError, match=message):
            Flow(4, **arguments)


def test_learned_ends_where_it_was_told():
    learned = Learned(4, length=128)
    assert learned(torch.zeros(1, 128, 4)).shape == (1, 128, 4)
    with pytest.raises(ArgumentError, match=r"at most 128 long.*but is 129 long. Sinusoidal and Relative take any"):
        learned(torch.zeros(1, 129, 4))
