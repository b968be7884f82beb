"""`watch` says which modules are called attention, ran, and aren't in the record."""

import threading
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from regard.inspection import NothingSeen, PartlySeen, watch

BATCH, LENGTH, WIDTH = 2, 5, 8
X = torch.randn(BATCH, LENGTH, WIDTH, generator=torch.Generator().manual_seed(0))


class FullAttention(nn.Module):
    def forward(self, x):
        return functional.scaled_dot_product_attention(x, x, x)


class LinearAttention(nn.Module):
    """Sums of keys and values, without a weight for each pair."""

    def forward(self, x):
        feature = functional.elu(x) + 1
        return feature @ (feature.mT @ x)


class Layers(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


def run(model, x=X):
    """The record, and what was said."""
    with warnings.catch_warnings(record=True) as told, watch(model) as seen:
        warnings.simplefilter("always")
        model(x)
    return seen, [(each.category, str(each.message)) for each in told]


def test_a_module_that_is_called_attention_is_told_of():
    seen, told = run(Layers(FullAttention(), LinearAttention(), LinearAttention()))
    assert seen.names == ["layers.0"]
    ((category, said),) = told
    assert category is PartlySeen
    assert said.startswith("No attention was seen in layers.1, layers.2 (LinearAttention). ")


def test_one_sentence_tells_of_many():
    _, ((_, said),) = run(Layers(FullAttention(), *(LinearAttention() for _ in range(30))))
    assert "layers.6 and others (LinearAttention)" in said
    assert "layers.7" not in said


def test_without_any_other_it_is_all_that_is_said():
    seen, ((category, said),) = run(Layers(LinearAttention()))
    assert category is NothingSeen
    assert said == seen.nothing
    assert said.startswith("No attention was seen in layers.0 (LinearAttention). Either it has no weight for each pair")


def test_the_model_itself_may_be_it():
    _, ((_, said),) = run(LinearAttention())
    assert said.startswith("No attention was seen in the model itself (LinearAttention).")


def test_a_kernel_outside_of_pytorch_is_the_reason():
    model = Layers(LinearAttention())
    model.config = type("Config", (), {"_attn_implementation": "flash_attention_2"})()
    _, ((category, said),) = run(model)
    assert category is NothingSeen
    assert said.endswith(
        "The model calls 'flash_attention_2', a kernel outside of PyTorch. Load it with attn_implementation='sdpa'."
    )


class AttentionGate(nn.Module):
    def forward(self, x):
        return x * x.sigmoid()


class GatedAttention(nn.Module):
    """Attention with a part that is called attention, too."""

    def __init__(self):
        super().__init__()
        self.gate = AttentionGate()

    def forward(self, x):
        return self.gate(functional.scaled_dot_product_attention(x, x, x))


class AttentionInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.inputs = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x):
        return self.inputs(x).chunk(3, -1)


class Layer(nn.Module):
    """A layer that multiplies what its attention gives it."""

    def __init__(self):
        super().__init__()
        self.attention = AttentionInputs()

    def forward(self, x):
        return functional.scaled_dot_product_attention(*self.attention(x))


class AttentionBlock(nn.Module):
    """A block whose part attends."""

    def __init__(self):
        super().__init__()
        self.inner = FullAttention()

    def forward(self, x):
        return self.inner(x) + 1


class Unused(nn.Module):
    """A model that leaves a module of attention out."""

    def __init__(self):
        super().__init__()
        self.used, self.unused = FullAttention(), LinearAttention()

    def forward(self, x):
        return self.used(x)


@pytest.mark.parametrize("model", [GatedAttention, Layer, AttentionBlock, Unused])
def test_no_false_alarm_of_a_name(model):
    seen, told = run(Layers(model()))
    assert len(seen) == 1
    assert not told


class Mixer(nn.Module):
    """A mixer of vectors of any kind, in an attribute with a name of its own."""

    def __init__(self, name, module):
        super().__init__()
        self.name = name
        self.add_module(name, module)

    def forward(self, x):
        return self.get_submodule(self.name)(x)


class GatedDelta(LinearAttention):
    pass


@pytest.mark.parametrize(
    ("name", "module", "is_told"),
    [
        ("linear_attn", GatedDelta(), True),
        ("attention", GatedDelta(), True),
        ("mixer", GatedDelta(), False),
        ("attention_norm", GatedDelta(), False),
        ("attention", nn.Linear(WIDTH, WIDTH), False),
    ],
)
def test_an_attribute_may_be_called_attention(name, module, is_told):
    _, told = run(Layers(FullAttention(), Mixer(name, module)))
    assert [f"No attention was seen in layers.1.{name} (GatedDelta)" in said for _, said in told] == [True] * is_told


def test_what_is_told_already_is_told_once():
    """Weights of unknown scores of three tensors at once."""

    class OddAttention(nn.Module):
        def forward(self, x):
            return torch.einsum("bqk,bkd,bqd->bqd", (x @ x.mT).softmax(-1), x, x)

    _, ((_, said),) = run(Layers(FullAttention(), OddAttention()))
    assert said.startswith("Attention in layers.1 was seen up to its weights")
    assert "OddAttention" not in said


def test_other_threads_are_left_out():
    model = Layers(FullAttention(), LinearAttention())
    with warnings.catch_warnings(record=True) as told, watch(model):
        warnings.simplefilter("always")
        model.layers[0](X)
        other = threading.Thread(target=model, args=(X,))
        other.start()
        other.join()
    assert not told


def test_nothing_stays_on_the_modules():
    model = Layers(FullAttention(), LinearAttention())
    with pytest.raises(ZeroDivisionError), watch(model):
        _ = model(X) / (1 / 0)
    assert not any(each._forward_pre_hooks for each in model.modules())
