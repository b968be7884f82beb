"""The networks that are compared: laws that all keep, and what each can see."""

import pytest
import torch
from torch import nn

from regard import modules
from regard.attention import Edges, Window
from regard.errors import ArgumentError
from regard.modules import Encoder, EncoderLayer, GraphAttentionEncoder
from regard.modules.networks import NETWORKS, ConvolutionNetwork, WindowNetwork, build_network

WIDTH, HIDDEN = 6, 11
PARTS = {
    "attention": {"heads": 3, "position": "relative"},
    "convolution_attention": {"kernel": 3, "heads": 3, "position": "relative"},
    "graph_attention": {"heads": 3, "position": "relative"},
    "connected": {},
    "window": {"before": 2, "after": 1},
    "convolution": {"kernel": 3},
    "recurrent": {},
    "bidirectional": {"cell": "lstm"},
    "identity": {},
}
LENGTHS = [7, 3, 0, 1]


def make(name, layers=2, width=WIDTH, **changes):
    torch.manual_seed(3)
    return build_network(name, width, layers, hidden=HIDDEN, **{**PARTS[name], **changes}).double()


def vectors(batch=4, length=7, width=WIDTH):
    return torch.randn(batch, length, width, dtype=torch.float64, generator=torch.Generator().manual_seed(5))


def seen_by(network, length, place):
    """Which of the inputs change the output at a place."""
    x = vectors(1, length).requires_grad_()
    network(x, torch.tensor([length]))[0, place, 0].backward()
    return [bool(row.any()) for row in x.grad[0]]


def test_every_network_is_tested():
    assert set(PARTS) == set(NETWORKS)


def test_a_network_that_is_named_after_a_layer_consists_of_it():
    """`ConvolutionAttention` equals a convolution; a network of convolutions and attention is something else."""
    for name, network in NETWORKS.items():
        layer = getattr(modules, network.__name__.removesuffix("Network"), None)
        assert layer is None or any(isinstance(each, layer) for each in make(name).modules()), network.__name__


@pytest.mark.parametrize("name", NETWORKS)
class TestEveryNetwork:
    def test_a_batch_without_padding_is_as_one_with(self, name):
        """Without padding there is no mask, and nothing to set to zero: outputs and gradients are the same."""
        network = make(name)
        full, given = vectors(), torch.full((4,), 7)
        above = vectors(width=WIDTH).flip(0)
        found = []
        for x in (full, torch.cat([full, torch.full((4, 2, WIDTH), 9.0, dtype=full.dtype)], 1)):
            x = x.clone().requires_grad_()
            before = x.detach().clone()
            output = network(x, given)
            (output[:, :7] * above).sum().backward()
            assert torch.equal(x.detach(), before)
            assert not output[:, 7:].any()
            found.append((output[:, :7].detach(), x.grad[:, :7]))
        for one, other in zip(*found, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)

    def test_padding_cannot_matter(self, name):
        network, x, lengths = make(name), vectors(), torch.tensor(LENGTHS)
        outputs, gradients = [], []
        for poison in (0.0, torch.nan, torch.inf, 1e300):
            poisoned = x.clone()
            for item, length in enumerate(LENGTHS):
                poisoned[item, length:] = poison
            network.zero_grad()
            outputs.append(network(poisoned.requires_grad_(), lengths))
            outputs[-1].square().sum().backward()
            gradients.append([parameter.grad for parameter in network.parameters()] + [poisoned.grad])
        assert torch.isfinite(outputs[0]).all()
        assert all(torch.equal(output, outputs[0]) for output in outputs)
        for found in gradients[1:]:
            assert all(torch.equal(a, b) for a, b in zip(gradients[0], found, strict=True))

    def test_padding_comes_out_as_zeros(self, name):
        output = make(name)(vectors(), torch.tensor(LENGTHS))
        for item, length in enumerate(LENGTHS):
            assert not output[item, length:].any()
            assert output[item, :length].any() == (length > 0)

    def test_batched_equals_one_by_one(self, name):
        network, x = make(name), vectors()
        together = network(x, torch.tensor(LENGTHS))
        for item, length in enumerate(LENGTHS):
            alone = network(x[item : item + 1, :length], torch.tensor([length]))
            torch.testing.assert_close(together[item, :length], alone[0])

    @pytest.mark.parametrize("shape", [(2, 0), (0, 5), (0, 0), (1, 1)])
    def test_few_or_none(self, name, shape):
        network, lengths = make(name), torch.full(shape[:1], shape[1])
        output = network(vectors(*shape).requires_grad_(), lengths)
        assert output.shape == (*shape, WIDTH)
        output.sum().backward()

    def test_gradients_reach_every_parameter(self, name):
        network = make(name)
        (network(vectors().requires_grad_(), torch.tensor(LENGTHS)) * vectors(1)).sum().backward()
        assert [key for key, p in network.named_parameters() if p.grad is None or not p.grad.any()] == []

    def test_the_residual_path_has_nothing_in_it(self, name):
        """With every sublayer's last linear at zero, the network is its final norm."""
        network, x = make(name), vectors(1)
        if name == "graph_attention":
            # It has no such path: of a node to which no edge leads nothing is left.
            assert not network(x, torch.tensor([7]), mask=Edges([[], []])).any()
            return
        for part in network.modules():
            for last in ("output", "linear"):
                if isinstance(getattr(part, last, None), nn.Module):
                    for parameter in getattr(part, last).parameters():
                        nn.init.zeros_(parameter)
            if isinstance(part, EncoderLayer):
                for parameter in part.connected[-1].parameters():
                    nn.init.zeros_(parameter)
        torch.testing.assert_close(network(x, torch.tensor([7])), network.norm(x))

    def test_same_seed_same_bits(self, name):
        x, lengths = vectors(), torch.tensor(LENGTHS)
        assert torch.equal(make(name)(x, lengths), make(name)(x, lengths))

    def test_dropout_acts_in_training_only(self, name):
        network, x, lengths = make(name, dropout=0.5), vectors(), torch.tensor(LENGTHS)
        # Without layers nothing is dropped.
        assert torch.equal(network(x, lengths), network(x, lengths)) == (name == "identity")
        network.eval()
        assert torch.equal(network(x, lengths), network(x, lengths))

    def test_an_odd_width(self, name):
        network = make(name, width=7, **({"heads": 1} if "heads" in PARTS[name] else {}))
        assert network(vectors(width=7), torch.tensor(LENGTHS)).shape == (4, 7, 7)

    def test_errors(self, name):
        network = make(name)
        with pytest.raises(ArgumentError, match="`vectors` must be of size 6, but are of size 5"):
            network(vectors(width=5), torch.tensor(LENGTHS))
        with pytest.raises(ArgumentError, match="`lengths` must lie between 0 and 7"):
            network(vectors(), torch.tensor([8, 0, 0, 0]))
        with pytest.raises(ArgumentError, match="`layers` must be how many layers"):
            make(name, layers=-1)

    def test_a_bias_only_where_there_are_scores(self, name):
        # A wider convolution would carry the hidden vector to its neighbours, and attention from there to all.
        alone = {"kernel": 1} if name == "convolution_attention" else {}
        network, x, lengths = make(name, **alone), vectors(), torch.tensor(LENGTHS)
        bias = torch.zeros(4, 3, 7, 7, dtype=torch.float64)
        if not network.attends:
            with pytest.raises(ArgumentError, match="`bias` must be None for a network without attention"):
                network(x, lengths, bias=bias)
            return
        torch.testing.assert_close(network(x, lengths, bias=bias), network(x, lengths))
        # So little that it is nothing: the first vector is hidden, and changes no other.
        bias[..., 1:, 0] = -1e4
        other = x.clone()
        other[:, 0] += 1
        assert torch.equal(network(x, lengths, bias=bias)[:, 1:], network(other, lengths, bias=bias)[:, 1:])


class TestWhatEachSees:
    """Of eleven vectors, those that the output in the middle depends on."""

    @pytest.mark.parametrize(
        ("name", "parts", "expected"),
        [
            ("connected", {}, range(5, 6)),
            ("identity", {}, range(5, 6)),
            ("window", {"before": 3, "after": 1}, range(2, 7)),
            ("window", {"before": 0, "after": 0}, range(5, 6)),
            ("convolution", {"kernel": 3}, range(3, 8)),
            ("convolution", {"kernel": 4}, range(3, 10)),
            ("convolution", {"kernel": 1}, range(5, 6)),
            ("recurrent", {}, range(6)),
            ("bidirectional", {}, range(11)),
            ("attention", {}, range(11)),
            ("attention", {"mask": Window(1, 0)}, range(3, 6)),
            ("convolution_attention", {}, range(11)),
            ("convolution_attention", {"mask": Window(0, 0)}, range(3, 8)),
            ("convolution_attention", {"mask": Window(1, 0), "kernel": 1}, range(3, 6)),
            ("graph_attention", {}, range(11)),
        ],
        ids=str,
    )
    def test_two_layers(self, name, parts, expected):
        assert seen_by(make(name, **parts), 11, 5) == [place in expected for place in range(11)]

    @pytest.mark.parametrize(("kernel", "layers"), [(1, 2), (3, 1), (3, 4), (4, 2), (5, 0)])
    def test_the_receptive_field_is_what_it_says(self, kernel, layers):
        network = ConvolutionNetwork(WIDTH, layers, hidden=HIDDEN, kernel=kernel).double()
        assert sum(seen_by(network, 21, 10)) == network.receptive_field

    def test_the_notes_two_layers_of_three_see_five(self):
        """Note 000 says six; a filter of three on filters of three sees five."""
        assert make("convolution").receptive_field == 5

    def test_equal_words_differ_only_for_those_who_see_their_neighbours(self):
        """Note 001: "I saw a saw": two words that are the same vector."""
        i, saw, a = vectors(1, 3)[0]
        sentence = torch.stack([i, saw, a, saw]).unsqueeze(0)
        for name in NETWORKS:
            output = make(name)(sentence, torch.tensor([4]))[0]
            assert torch.allclose(output[1], output[3]) == (name in ("connected", "identity")), name


class TestByHand:
    def test_a_window_sums_its_neighbours_and_zeros_beyond_the_ends(self):
        network = WindowNetwork(1, 1, hidden=1, before=1, after=2)
        mixer = network.layers[0].mixer
        nn.init.ones_(mixer.linear.weight)
        nn.init.zeros_(mixer.linear.bias)
        x = torch.tensor([[[1.0], [10.0], [100.0], [1000.0]]])
        assert mixer(x, torch.tensor([4])).flatten().tolist() == [111.0, 1111.0, 1110.0, 1100.0]

    def test_graph_attention_sees_along_edges_and_itself_if_they_say_so(self):
        """Of three nodes in a row: after one layer the middle one has seen both ends, and each end the middle one."""
        network, x = make("graph_attention", layers=1, position=None), vectors(1, 3).requires_grad_()
        for mask, seen in (
            (Edges([[0, 1], [1, 2]]), [[], [0], [1]]),
            (Edges.with_loops([[0], [1]], 3), [[0], [0, 1], [2]]),
        ):
            for place in range(3):
                x.grad = None
                network(x, torch.tensor([3]), mask=mask)[0, place, 0].backward()
                assert [other for other in range(3) if x.grad[0, other].any()] == seen[place]

    def test_one_layer_of_graph_attention_by_hand(self):
        """Two equal neighbours of a node that doesn't see itself: it becomes what they are."""
        network = make("graph_attention", layers=1, position=None)
        x = vectors(1, 3)
        x[0, 2] = x[0, 1]
        output = network(x, torch.tensor([3]), mask=Edges([[1, 2], [0, 0]]))
        torch.testing.assert_close(output[0, 0], x[0, 1])

    def test_two_layers_of_graph_attention_by_hand(self):
        """A node whose one neighbour has one neighbour: elu of that one, and no more behind the last layer."""
        network = make("graph_attention", layers=2, position=None)
        x = -vectors(1, 3).abs()
        output = network(x, torch.tensor([3]), mask=Edges([[1, 2], [0, 1]]))
        torch.testing.assert_close(output[0, 0], torch.expm1(x[0, 2]))

    def test_graph_attention_is_never_without(self):
        with pytest.raises(ArgumentError, match="`attention` must be true"):
            GraphAttentionEncoder(6, 1, 3, hidden=0, attention=False)

    def test_attention_is_the_encoder(self):
        network, x = make("attention"), vectors(1)
        encoder = Encoder(WIDTH, 2, 3, hidden=HIDDEN, position="relative").double()
        encoder.load_state_dict({key.removeprefix("encoder."): value for key, value in network.state_dict().items()})
        torch.testing.assert_close(network(x, torch.tensor([7])), encoder(x))

    def test_without_residual_connections_nothing_is_added(self):
        network, x = make("attention", layers=1, residual=False), vectors(1)
        (layer,) = network.encoder.layers
        attended = layer.attention(layer.attention_norm(x))
        expected = network.norm(layer.connected(layer.connected_norm(attended)))
        torch.testing.assert_close(network(x, torch.tensor([7])), expected)
        with torch.no_grad():
            for parameter in layer.attention.output.parameters():
                parameter.zero_()
        # All that comes from the input goes through attention.
        assert torch.equal(network(x, torch.tensor([7])), network(x.flip(1), torch.tensor([7])))

    def test_residual_connections_cannot_be_taken_from_graph_attention(self):
        with pytest.raises(ArgumentError, match="`residual` must be true for a GraphAttentionEncoder"):
            make("graph_attention", residual=False)

    @pytest.mark.parametrize("position", ["relative", "sinusoidal"])
    def test_without_its_convolutions_it_is_attention(self, position):
        both, attention = (make(name, position=position) for name in ("convolution_attention", "attention"))
        attention.load_state_dict({key: both.state_dict()[key] for key in attention.state_dict()})
        for sublayer in both.convolutions:
            for parameter in sublayer.mixer.parameters():
                nn.init.zeros_(parameter)
        x, lengths = vectors(), torch.tensor(LENGTHS)
        torch.testing.assert_close(both(x, lengths), attention(x, lengths))

    def test_without_its_attention_it_is_convolutions(self):
        both, convolution = make("convolution_attention", kernel=5), make("convolution", kernel=5)
        for sublayer, layer, other in zip(both.convolutions, both.encoder.layers, convolution.layers, strict=True):
            other.norm.load_state_dict(sublayer.norm.state_dict())
            other.mixer.load_state_dict(sublayer.mixer.state_dict())
            for part in ("connected", "connected_norm"):
                getattr(other.connected, part).load_state_dict(getattr(layer, part).state_dict())
            for parameter in layer.attention.output.parameters():
                nn.init.zeros_(parameter)
        x, lengths = vectors(), torch.tensor(LENGTHS)
        torch.testing.assert_close(both(x, lengths), convolution(x, lengths))


class TestByName:
    @pytest.mark.parametrize(
        ("name", "parts", "message"),
        [
            ("windw", {}, "`name` must be one of .*Did you mean 'window'"),
            ("window", {"before": 2}, "`after` must be given for the network 'window'"),
            ("attention", {}, "`heads` must be given"),
            ("connected", {"kernel": 3}, "`kernel` is no argument of the network 'connected': it must be left out"),
            ("convolution", {"kernel": 3, "heads": 2}, "`heads` is no argument of .*: it must be one of kernel"),
            ("convolution", {"kernel": 0}, "`kernel` must be how many vectors a filter covers, 1 or more, but is 0"),
            ("convolution_attention", {"kernel": 0, "heads": 3}, "`kernel` must be how many vectors a filter covers"),
            ("convolution_attention", {"kernel": 3}, "`heads` must be given for the network 'convolution_attention'"),
            ("window", {"before": -1, "after": 0}, "`before` must be"),
            ("recurrent", {"cell": "gro"}, "`cell` must be one of gru, lstm, .*Did you mean 'gru'"),
        ],
    )
    def test_errors(self, name, parts, message):
        with pytest.raises(ArgumentError, match=message):
            build_network(name, WIDTH, 2, hidden=HIDDEN, **parts)

    def test_a_window_needs_a_layer(self):
        with pytest.raises(ArgumentError, match="`layers` must be how many layers, 1 or more, but is 0"):
            make("window", layers=0)
