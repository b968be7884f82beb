"""Pooling: one vector of many."""

import pytest
import torch
from torch import nn

from regard.errors import ArgumentError
from regard.inspection import watch
from regard.modules.pooling import POOLINGS, AttentionPooling, ClassVector, MaxPooling, MeanPooling, Pooling

WIDTH, LENGTHS = 6, [7, 3, 0, 1]


def make(name):
    torch.manual_seed(3)
    return POOLINGS[name](WIDTH).double()


def vectors(batch=4, length=7):
    return torch.randn(batch, length, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("name", POOLINGS)
class TestEveryPooling:
    def test_padding_cannot_matter(self, name):
        pooling, outputs, gradients = make(name), [], []
        for poison in (0.0, torch.nan, torch.inf, 1e300):
            x = vectors()
            for item, length in enumerate(LENGTHS):
                x[item, length:] = poison
            pooling.zero_grad()
            outputs.append(pooling(x.requires_grad_(), torch.tensor(LENGTHS)))
            outputs[-1].square().sum().backward()
            gradients.append(x.grad)
        assert torch.isfinite(outputs[0]).all()
        assert all(torch.equal(output, outputs[0]) for output in outputs)
        assert torch.isfinite(gradients[0]).all()
        assert all(torch.equal(gradient, gradients[0]) for gradient in gradients)

    def test_an_empty_sequence_gives_zeros(self, name):
        pooling = make(name)
        for parameter in pooling.parameters():
            nn.init.ones_(parameter)
        output = pooling(vectors(), torch.tensor(LENGTHS))
        assert [bool(row.any()) for row in output] == [True, True, False, True]

    @pytest.mark.parametrize("shape", [(2, 0), (0, 5), (0, 0)])
    def test_nothing_at_all(self, name, shape):
        output = make(name)(vectors(*shape), torch.full(shape[:1], shape[1]))
        assert output.shape == (shape[0], WIDTH)
        assert not output.any()

    def test_batched_equals_one_by_one(self, name):
        pooling, x = make(name), vectors()
        together = pooling(x, torch.tensor(LENGTHS))
        for item, length in enumerate(LENGTHS):
            alone = pooling(x[item : item + 1, :length], torch.tensor([length]))
            torch.testing.assert_close(together[item], alone[0])

    def test_order_does_not_matter(self, name):
        pooling, x = make(name), vectors(1)
        torch.testing.assert_close(pooling(x.flip(1), torch.tensor([7])), pooling(x, torch.tensor([7])))

    def test_gradients_reach_every_parameter(self, name):
        pooling, x = make(name), vectors().requires_grad_()
        pooling(x, torch.tensor(LENGTHS)).square().sum().backward()
        assert x.grad[0].any()
        assert [key for key, p in pooling.named_parameters() if p.grad is None or not p.grad.isfinite().all()] == []

    def test_errors(self, name):
        with pytest.raises(ArgumentError, match="`vectors` must be of size 6, but are of size 5"):
            make(name)(vectors()[:, :, :5], torch.tensor(LENGTHS))
        with pytest.raises(ArgumentError, match="`lengths` must lie between 0 and 7"):
            make(name)(vectors(), torch.tensor([8, 0, 0, 0]))
        with pytest.raises(ArgumentError, match="`width` must be the size of the vectors"):
            POOLINGS[name](0)


class TestByHand:
    x = torch.tensor([[[1.0, -4.0], [3.0, -2.0], [8.0, -9.0]]])

    def test_mean(self):
        assert MeanPooling(2)(self.x, torch.tensor([3])).tolist() == [[4.0, -5.0]]

    def test_max_of_negative_numbers_is_not_the_padding(self):
        assert MaxPooling(2)(self.x, torch.tensor([2])).tolist() == [[3.0, -2.0]]

    def test_the_weights_of_attention(self):
        pooling = AttentionPooling(2, score="dot")
        with torch.no_grad():
            for linear in (pooling.attention.query, pooling.attention.key, pooling.attention.value):
                linear.weight.copy_(torch.eye(2))
            pooling.query.copy_(torch.tensor([0.5, 0.0]))
        with watch(pooling) as seen:
            pooled = pooling(self.x, torch.tensor([2]))
        # softmax(0.5, 1.5)
        expected = torch.tensor([0.2689414, 0.7310586])
        torch.testing.assert_close(seen[0].weights()[0, 0, 0], torch.tensor([*expected, 0.0]))
        torch.testing.assert_close(pooled[0], expected @ self.x[0, :2])

    def test_the_class_vector_keeps_itself(self):
        pooling = ClassVector(2)
        nn.init.zeros_(pooling.attention.output.weight)
        nn.init.zeros_(pooling.attention.output.bias)
        torch.testing.assert_close(pooling(self.x, torch.tensor([3]))[0], pooling.vector)

    def test_one_without_a_rule_says_so(self):
        with pytest.raises(NotImplementedError, match="Pooling must implement `pool`"):
            Pooling(2)(self.x, torch.tensor([3]))


def test_a_sum_counts():
    pooling, x = POOLINGS["sum"](1), torch.full((1, 32, 1), 2.0)
    assert [pooling(x, torch.tensor([length])).item() for length in (0, 8, 16, 32)] == [0, 1, 2, 4]
