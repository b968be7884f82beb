"""The readings of attention across layers against loops in float64 and closed forms."""

import pytest
import torch
from torch import nn

from regard.attention import Lengths, weigh
from regard.errors import ArgumentError
from regard.inspection import (
    ATTRIBUTIONS,
    SeenLayer,
    gradient_weighted,
    raw_weights,
    rollout,
    value_weighted,
    watch,
)

ROWS = [0, 3, 6]


def layer_of(seed, mask=None, heads=4, key_heads=2, size=7, projection=None, normaliser="softmax"):
    torch.manual_seed(seed)
    query = torch.randn(2, heads, size, 5, dtype=torch.double)
    key, value = torch.randn(2, 2, key_heads, size, 5, dtype=torch.double)
    none = torch.arange(0)
    return SeenLayer(
        *("a", "", query, key, value, "scaled_dot", normaliser, mask, None, 0.0, none, query[:, :, :0]),
        projection=projection,
    )


def maps(layer):
    """The weights by the definition, as lists."""
    return weigh(layer.query, layer.key, **layer.parts).tolist()


def test_raw_weights_are_those_of_the_layer():
    layer = layer_of(0, "causal")
    assert torch.equal(raw_weights(layer, ROWS), torch.tensor(maps(layer), dtype=torch.double)[:, :, ROWS])


def slow_rollout(layers, item):
    size = layers[0].query.shape[2]
    product = [[float(i == j) for j in range(size)] for i in range(size)]
    for layer in layers:
        heads = maps(layer)[item]
        mixed = []
        for i in range(size):
            row = [sum(head[i][j] for head in heads) / len(heads) + (i == j) for j in range(size)]
            mixed.append([weight / sum(row) for weight in row])
        product = [[sum(mixed[i][k] * product[k][j] for k in range(size)) for j in range(size)] for i in range(size)]
    return product


@pytest.mark.parametrize("mask", [None, "causal", Lengths([7, 4])])
@pytest.mark.parametrize("normaliser", ["softmax", "sparsemax", "relu"])
@pytest.mark.parametrize("budget", [2**22, 1, 150])
def test_rollout_is_the_product_of_the_mixed_maps(mask, normaliser, budget, monkeypatch):
    monkeypatch.setattr("regard.inspection.record.seen_layer._BUDGET", budget)
    layers = [layer_of(seed, mask, normaliser=normaliser) for seed in (1, 2, 3)]
    found = rollout(layers, ROWS)
    assert found.shape == (2, 3, 7)
    for item in range(2):
        expected = torch.tensor(slow_rollout(layers, item), dtype=torch.double)[ROWS]
        assert torch.allclose(found[item], expected, atol=1e-12)
    assert torch.allclose(found.sum(-1), torch.ones(2, 3, dtype=torch.double))


def test_rollout_of_uniform_maps_in_closed_form():
    size, depth = 6, 4
    x = torch.zeros(1, 2, size, 3, dtype=torch.double)
    layer = SeenLayer("a", "", x, x, x, "dot", "softmax", None, None, 0.0, x, x)
    # (I + U) / 2 to the power L, where U is a projection: 2^-L I + (1 - 2^-L) U.
    expected = 2.0**-depth * torch.eye(size) + (1 - 2.0**-depth) / size
    assert torch.allclose(rollout([layer] * depth, range(size))[0], expected.double(), atol=1e-14)


def test_rollout_of_identity_maps_is_the_identity():
    x = 1e4 * torch.eye(5, dtype=torch.double)[None, None]
    layer = SeenLayer("a", "", x, x, x, "dot", "softmax", None, None, 0.0, x, x)
    assert torch.equal(rollout([layer] * 3, range(5))[0], torch.eye(5, dtype=torch.double))


def test_rollout_needs_self_attention_of_the_same_items():
    with pytest.raises(ArgumentError, match="is empty"):
        rollout([], [0])
    with pytest.raises(ArgumentError, match="'a' has 2 x 5 queries and 5 keys"):
        rollout([layer_of(0), layer_of(0, size=5)], [0])


def test_value_norms_by_a_loop():
    torch.manual_seed(9)
    matrix = torch.randn(6, 4 * 5, dtype=torch.double)
    for projection in (None, (matrix, None)):
        layer = layer_of(4, "causal", projection=projection)
        found, weights = value_weighted(layer, ROWS), maps(layer)
        assert found.shape == (2, 4, 3, 7)
        for item in range(2):
            for head in range(4):
                for key in range(7):
                    value = layer.value[item, head // 2, key]
                    if projection is not None:
                        value = sum(value[f] * matrix[:, 5 * head + f] for f in range(5))
                    norm = sum(float(each) ** 2 for each in value) ** 0.5
                    for row, query in enumerate(ROWS):
                        expected = weights[item][head][query][key] * norm
                        assert float(found[item, head, row, key]) == pytest.approx(expected, abs=1e-12)


def test_equal_norms_leave_the_weights():
    layer = layer_of(5)
    layer.value = layer.value / layer.value.norm(dim=-1, keepdim=True)
    assert torch.allclose(value_weighted(layer, ROWS), layer.weights(ROWS))


def test_gradients_by_autograd_and_their_sum():
    layer = layer_of(6, "causal")
    weights = layer.weights().requires_grad_()
    outputs = weights @ layer.value.repeat_interleave(2, dim=1)
    outputs.retain_grad()
    outputs.sin().prod(-1).sum().backward()
    found = gradient_weighted(layer, outputs.grad, ROWS)
    assert torch.allclose(found, (weights * weights.grad)[:, :, ROWS], atol=1e-14)
    sums = (outputs.grad * outputs).sum(-1)[:, :, ROWS]
    assert torch.allclose(found.sum(-1), sums, atol=1e-14)


def test_gradients_through_a_projection():
    torch.manual_seed(0)
    model = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    with watch(model) as seen:
        output = model(*[torch.randn(2, 5, 8)] * 3, need_weights=False)[0]
    layer = seen[0]
    weights = layer.weights().requires_grad_()
    matrix, bias = layer.projection
    joined = nn.functional.linear((weights @ layer.value).transpose(1, 2).flatten(2), matrix, bias)
    assert torch.allclose(joined, output, atol=1e-6)
    joined.retain_grad()
    joined.sin().sum().backward()
    found = gradient_weighted(layer, joined.grad, [1, 4])
    assert torch.allclose(found, (weights * weights.grad)[:, :, [1, 4]], atol=1e-6)


def test_a_gradient_of_another_form_is_refused():
    with pytest.raises(ArgumentError, match=r"`gradient` must be .* \(2, 4, 7, 5\), but has the shape \(2, 7, 20\)"):
        gradient_weighted(layer_of(0), torch.zeros(2, 7, 20), ROWS)


def test_each_says_what_it_means_and_where_it_misleads():
    assert list(ATTRIBUTIONS) == ["raw", "rollout", "value-weighted", "gradient-weighted"]
    for name, each in ATTRIBUTIONS.items():
        assert each.name == name
        for sentence in (each.means, each.misleads):
            assert sentence.endswith(".")
            assert "\n" not in sentence
