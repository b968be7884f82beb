"""`watch` of compiled models: their graph is left for the duration of the block, and is there again after it."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from regard.attention import Causal
from regard.inspection import watch

HEADS, LENGTH, SIZE = 2, 128, 16
X = torch.randn(1, HEADS, LENGTH, SIZE, generator=torch.Generator().manual_seed(0))


class HandAttention(nn.Module):
    def forward(self, x):
        return (x @ x.mT * SIZE**-0.5).softmax(-1) @ x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(HandAttention() for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@pytest.fixture
def compiled():
    """A backend of the compiler, the graphs that it was given, and those that ran, once for each run."""
    torch.compiler.reset()
    made, ran = [], []

    def backend(graph, inputs):
        made.append(graph)

        def run(*args):
            ran.append(graph)
            return graph(*args)

        return run

    yield backend, made, ran
    torch.compiler.reset()


@pytest.mark.parametrize("way", ["whole", "in place", "layers"])
def test_a_compiled_model_is_seen_and_not_compiled_again(compiled, way):
    backend, made, ran = compiled
    model = Model()
    if way == "whole":
        model = torch.compile(model, backend=backend, fullgraph=True)
    elif way == "in place":
        model.compile(backend=backend)
    else:
        model.layers = nn.ModuleList(torch.compile(layer, backend=backend) for layer in model.layers)
    expected = model(X)
    graphs, calls = len(made), len(ran)
    assert graphs
    with watch(model) as seen:
        output = model(X)
    assert len(seen) == 2
    assert max(seen.verify().values()) < 1e-6
    assert len(ran) == calls  # the graph was left
    torch.testing.assert_close(output, expected)
    assert torch.equal(model(X), expected)
    assert len(made) == graphs
    assert len(ran) == 2 * calls


def test_a_model_that_is_first_run_in_the_block_is_compiled_after_it(compiled):
    backend, made, _ = compiled
    model = torch.compile(Model(), backend=backend)
    with watch(model) as seen:
        model(X)
    assert (len(seen), len(made)) == (2, 0)
    model(X)
    assert made


def test_a_compiled_flex_attention_is_seen(compiled):
    backend, made, _ = compiled
    fused = torch.compile(flex_attention, backend=backend)
    mask = create_block_mask(lambda b, h, i, j: j <= i, None, None, LENGTH, LENGTH, device="cpu")

    class Flex(nn.Module):
        def forward(self, x):
            return fused(x, x, x, score_mod=lambda score, b, h, i, j: score + 0.1 * (j - i), block_mask=mask)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, that it isn't compiled
        with watch(model := Flex()) as seen:
            model(X)
    assert not made
    (layer,) = seen
    assert layer.function == "flex_attention"
    assert layer.verify() < 1e-5
    steps = torch.arange(LENGTH)
    scores = X @ X.mT * SIZE**-0.5 + 0.1 * (steps - steps[:, None])
    expected = scores.masked_fill(steps > steps[:, None], -torch.inf).softmax(-1)
    torch.testing.assert_close(layer.weights(), expected, rtol=0, atol=1e-6)
    assert not isinstance(layer.mask, Causal)  # a function, until it is saved
