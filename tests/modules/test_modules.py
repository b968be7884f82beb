"""Modules made of attention."""

import pytest
import torch
from torch import nn

from regard.attention import Causal, Lengths, Relative, Sinusoidal
from regard.errors import ArgumentError
from regard.inspection import watch
from regard.modules import Encoder, MultiHeadAttention


class TestMultiHeadAttention:
    def test_one_head_without_bias_and_output_is_the_notes_three_matrices(self):
        attention = MultiHeadAttention(7, heads=1, bias=False, output=False).double()
        assert {name: tuple(p.shape) for name, p in attention.named_parameters()} == {
            "query.weight": (7, 7),
            "key.weight": (7, 7),
            "value.weight": (7, 7),
        }
        x = torch.randn(2, 5, 7, dtype=torch.float64)
        query, key, value = (x @ getattr(attention, name).weight.T for name in ("query", "key", "value"))
        expected = torch.softmax(query @ key.mT / 7**0.5, -1) @ value
        torch.testing.assert_close(attention(x), expected)

    def test_without_position_it_sees_a_set(self):
        attention = MultiHeadAttention(12, heads=3).double()
        x = torch.randn(2, 11, 12, dtype=torch.float64)
        order = torch.randperm(11)
        torch.testing.assert_close(attention(x[:, order]), attention(x)[:, order])

    def test_with_position_it_sees_a_sequence(self):
        attention = MultiHeadAttention(12, heads=3, position="relative").double()
        x = torch.randn(2, 11, 12, dtype=torch.float64)
        assert not torch.allclose(attention(x.flip(1)), attention(x).flip(1))

    @pytest.mark.parametrize("bias", [True, False])
    def test_equals_torch(self, bias):
        ours = MultiHeadAttention(12, heads=3, bias=bias)
        theirs = nn.MultiheadAttention(12, 3, bias=bias, batch_first=True)
        with torch.no_grad():
            theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
            theirs.out_proj.weight.copy_(ours.output.weight)
            if bias:
                theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
                theirs.out_proj.bias.copy_(ours.output.bias)
        x = torch.randn(2, 7, 12)
        padding = torch.arange(7) >= torch.tensor([[7], [4]])
        expected, weights = theirs(x, x, x, key_padding_mask=padding, average_attn_weights=False)
        with watch(ours) as seen:
            output = ours(x, mask=Lengths(key=[7, 4]))
        torch.testing.assert_close(output, expected)
        torch.testing.assert_close(seen[0].weights(), weights)

    def test_cross_attention_of_any_size(self):
        attention = MultiHeadAttention(12, heads=5, head_size=3, key_width=7, value_width=11)
        output = attention(torch.randn(2, 4, 12), torch.randn(2, 9, 7), torch.randn(2, 9, 11))
        assert output.shape == (2, 4, 12)

    def test_watching_sees_the_weights_and_changes_nothing(self):
        attention = MultiHeadAttention(12, heads=3, position="relative", dropout=0.5).eval()
        x = torch.randn(2, 7, 12)
        alone = attention(x, mask=Causal())
        with watch(attention) as seen:
            assert torch.equal(attention(x, mask=Causal()), alone)
        attention(x)
        assert seen.names == [""]
        weights = seen[0].weights()
        assert weights.shape == (2, 3, 7, 7)
        assert not weights.requires_grad
        assert (weights.triu(1) == 0).all()
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 7))

    def test_dropout_acts_in_training_only(self):
        attention = MultiHeadAttention(12, heads=3, dropout=0.5)
        x = torch.randn(2, 7, 12)
        assert not torch.equal(attention(x), attention(x))
        attention.eval()
        assert torch.equal(attention(x), attention(x))

    def test_parts_with_parameters_are_trained(self):
        attention = MultiHeadAttention(12, heads=3, position=Relative(4, 2))
        attention(torch.randn(2, 7, 12)).square().sum().backward()
        assert all(parameter.grad is not None for parameter in attention.parameters())
        assert "position.table" in dict(attention.named_parameters())

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: MultiHeadAttention(12, heads=5), "`heads` must divide `width` 12"),
            (lambda: MultiHeadAttention(12, heads=0), "`heads` must divide"),
            (lambda: MultiHeadAttention(12, heads=3, position="relativ"), "Did you mean 'relative'"),
            (lambda: MultiHeadAttention(12, heads=3, score="scaled"), "Did you mean 'scaled_dot'"),
            (lambda: MultiHeadAttention(12, heads=3, engine="quick"), "`engine` must be one of auto"),
            (lambda: MultiHeadAttention(12, heads=3, dropout=2.0), "`dropout` must be a fraction from 0 to 1"),
            (lambda: MultiHeadAttention(12, heads=3, head_size=0), "`head_size` must be at least 1"),
            (lambda: Encoder(12, 1, 3, hidden=17, position="sinusoid"), "Did you mean 'sinusoidal'"),
        ],
    )
    def test_errors(self, make, message):
        with pytest.raises(ArgumentError, match=message):
            make()

    def test_the_wrong_width(self):
        with pytest.raises(ArgumentError, match=r"`query` must be vectors \(batch, length, 12\), but is \(2, 7, 11\)"):
            MultiHeadAttention(12, heads=3)(torch.zeros(2, 7, 11))


class TestEncoder:
    @pytest.mark.parametrize("position", [None, "relative", "sinusoidal", "learned"])
    def test_padding_cannot_matter(self, position):
        encoder = Encoder(12, layers=2, heads=3, hidden=17, position=position)
        x = torch.randn(2, 7, 12)
        poisoned = x.clone()
        poisoned[1, 4:] = 1e6
        mask = Lengths([7, 4])
        output, other = encoder(x, mask=mask), encoder(poisoned, mask=mask)
        torch.testing.assert_close(output[1, :4], other[1, :4])
        alone = encoder(x[1:, :4])
        torch.testing.assert_close(output[1, :4], alone[0], rtol=1e-5, atol=1e-5)

    def test_without_attention_each_vector_is_on_its_own(self):
        encoder = Encoder(12, layers=2, heads=3, hidden=17, position="relative", attention=False)
        x = torch.randn(1, 5, 12)
        x[0, 3] = x[0, 1]
        output = encoder(x)
        assert torch.equal(output[0, 3], output[0, 1])
        assert not any(isinstance(module, MultiHeadAttention) for module in encoder.modules())

    def test_with_attention_and_position_equal_vectors_can_differ(self):
        encoder = Encoder(12, layers=2, heads=3, hidden=17, position="relative")
        x = torch.randn(1, 5, 12)
        x[0, 3] = x[0, 1]
        output = encoder(x)
        assert not torch.allclose(output[0, 3], output[0, 1])

    def test_the_residual_path_has_nothing_in_it(self):
        """With every sublayer's last linear at zero, the encoder is its final norm."""
        encoder = Encoder(12, layers=3, heads=3, hidden=17)
        for layer in encoder.layers:
            for linear in (layer.attention.output, layer.connected[-1]):
                nn.init.zeros_(linear.weight)
                nn.init.zeros_(linear.bias)
        x = torch.randn(2, 5, 12)
        torch.testing.assert_close(encoder(x), encoder.norm(x))

    def test_an_input_position_as_a_module_is_used_as_it_is(self):
        torch.manual_seed(0)
        by_name = Encoder(12, layers=1, heads=3, hidden=17, position="sinusoidal")
        torch.manual_seed(0)
        by_module = Encoder(12, layers=1, heads=3, hidden=17, position=Sinusoidal(12))
        x = torch.randn(1, 5, 12)
        assert torch.equal(by_name(x), by_module(x))

    @pytest.mark.parametrize("length", [0, 1, 129])
    def test_lengths(self, length):
        encoder = Encoder(12, layers=1, heads=3, hidden=17, position="relative")
        assert encoder(torch.zeros(2, length, 12), mask=Lengths([length, 0])).shape == (2, length, 12)
