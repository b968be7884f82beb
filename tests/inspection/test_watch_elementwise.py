"""`watch` of weights that are multiplied by values elementwise and then summed over the keys."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from regard.attention import Causal
from regard.inspection import HideKey, NothingSeen, PartlySeen, RemoveHead, Seen, effects, intervene, watch

BATCH, HEADS, LENGTH, SIZE = 2, 3, 7, 4
WIDTH = HEADS * SIZE


def vectors(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Attention(nn.Module):
    """Attention by hand with a way to average values (batch, head, key, feature)."""

    def __init__(self, average, mask=None):
        super().__init__()
        self.inputs, self.average, self.mask = nn.Linear(WIDTH, 3 * WIDTH), average, mask
        self.used = None

    def forward(self, x):
        query, key, value = (each.unflatten(2, (HEADS, -1)).transpose(1, 2) for each in self.inputs(x).chunk(3, -1))
        scores = query @ key.mT * SIZE**-0.5
        scores = scores if self.mask is None else scores.masked_fill(~self.mask, -torch.inf)
        weights = scores.softmax(-1)
        self.used = weights.detach()
        return self.average(weights, value).transpose(1, 2).flatten(2)


class Model(nn.Module):
    """A module, and a layer that is seen in any case."""

    def __init__(self, other):
        super().__init__()
        self.usual, self.attn = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), other

    def forward(self, x):
        return self.attn(x + self.usual(x, x, x, need_weights=False)[0])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def watched(module, x=None):
    """The record of the module `attn`, in a model that goes on as it does unwatched."""
    model, x = Model(module).eval(), vectors(BATCH, LENGTH, WIDTH) if x is None else x
    with watch(model) as seen, torch.no_grad():
        output = model(x)
    assert torch.equal(output, model(x))
    assert seen.names == ["usual", "attn"]
    assert max(seen.verify().values()) < 1e-5
    return seen["attn"]


def behind(weights, value):
    """Heads behind the keys."""
    spread = weights.permute(0, 2, 3, 1).unsqueeze(-1) * value.permute(0, 2, 1, 3).unsqueeze(1)
    return spread.sum(2).transpose(1, 2)


AVERAGES = {
    "unsqueeze": lambda weights, value: (weights.unsqueeze(-1) * value.unsqueeze(2)).sum(-2),
    "positive axes": lambda weights, value: (weights.unsqueeze(4) * value.unsqueeze(2)).sum(dim=3),
    "index": lambda weights, value: (weights[..., None] * value[:, :, None]).sum(3),
    "index of all": lambda weights, value: torch.mul(weights[:, :, :, :, None], value[:, :, None]).sum(-2),
    "values first": lambda weights, value: torch.sum(value.unsqueeze(2) * weights.unsqueeze(-1), dim=-2),
    "expanded": lambda weights, value: (weights.unsqueeze(-1).expand(-1, -1, -1, -1, SIZE) * value.unsqueeze(2)).sum(
        (-2,)
    ),
    "features first": lambda weights, value: (weights.unsqueeze(-2) * value.mT.unsqueeze(2)).sum(-1),
    "axis that stays": lambda weights, value: (weights.unsqueeze(-1) * value.unsqueeze(2)).sum(-2, keepdim=True)[
        ..., 0, :
    ],
    "heads behind": behind,
    "copied": lambda weights, value: (weights.unsqueeze(-1) * value.unsqueeze(2)).contiguous().float().sum(-2),
}


@pytest.mark.parametrize("average", AVERAGES)
def test_elementwise_products_keep_their_rule(average):
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    layer = watched(attention := Attention(AVERAGES[average], mask))
    torch.testing.assert_close(layer.weights(), attention.used, rtol=0, atol=1e-6)
    assert (layer.function, layer.mask, layer.notes) == ("by hand", Causal(), [])
    assert layer.query.shape == layer.value.shape == (BATCH, HEADS, LENGTH, SIZE)
    assert layer.outputs.abs().max() > 0


class Single(nn.Module):
    """The last item attends to all, without an axis of queries, as in decoders of recurrent nets."""

    def __init__(self, way, end="unsqueeze"):
        super().__init__()
        self.way, self.end = way, end

    def forward(self, x):
        query = x[:, -1:]
        match self.way:
            case "query first":
                scores = torch.bmm(query, x.mT).squeeze(1)
            case "keys first":
                scores = torch.bmm(x, query.mT).squeeze(2)
            case "kept":
                scores = query @ x.mT
            case "softmax of the middle axis":
                return self.sum((x @ query.mT).softmax(1), x, 1)
        weights = scores.softmax(-1)
        if self.way == "kept":
            self.used = weights.squeeze(1)
            return (weights.unsqueeze(-1) * x.unsqueeze(1)).sum(2)
        return self.sum(weights.unsqueeze(-1), x, 1)

    def sum(self, weights, x, axis):
        self.used = weights.squeeze(-1)
        return (weights * x).sum(axis)


@pytest.mark.parametrize("items", [1, BATCH, LENGTH])
@pytest.mark.parametrize("way", ["query first", "keys first", "kept", "softmax of the middle axis"])
def test_a_single_query(way, items):
    x = vectors(items, LENGTH, WIDTH)
    layer = watched(single := Single(way), x)
    found = layer.weights()
    assert found.numel() == items * LENGTH
    torch.testing.assert_close(found.reshape(items, LENGTH), single.used, rtol=0, atol=1e-6)


def test_a_loop_of_steps_has_a_call_for_each():
    class Loop(nn.Module):
        def forward(self, x):
            outputs = []
            for step in range(1, LENGTH + 1):
                weights = (x[:, step - 1 : step] @ x[:, :step].mT).softmax(-1)
                outputs.append((weights.unsqueeze(-1) * x[:, None, :step]).sum(2))
            return torch.cat(outputs, 1)

    with watch(model := Loop()) as seen:
        model(vectors(BATCH, LENGTH, WIDTH))
    assert [layer.key.shape[2] for layer in seen] == list(range(1, LENGTH + 1))
    (joined,) = seen.joined()
    assert joined.mask == Causal()


def test_changes_go_on_and_records_are_kept(tmp_path):
    model, x = Model(Attention(AVERAGES["unsqueeze"])).eval(), vectors(BATCH, LENGTH, WIDTH)
    with intervene(model, RemoveHead("attn", 2)), torch.no_grad():
        output = model(x)
    assert output[..., SIZE : 2 * SIZE].abs().max() == 0
    assert output[..., :SIZE].abs().min() > 0
    one = x[:1]
    (effect,) = effects(model, lambda: model(one), lambda output: output[0, 0], [HideKey(3, layer="attn")])
    assert not effect.unchanged
    with watch(model) as seen:
        model(x)
    seen.save(tmp_path / "seen.safetensors")
    again = Seen.load(tmp_path / "seen.safetensors")
    assert torch.equal(again["attn"].weights(), seen["attn"].weights())


@pytest.mark.parametrize("average", ["axis that stays", "features first", "heads behind"])
def test_a_changed_call_has_the_form_of_the_sum(average):
    one, other = (Model(Attention(AVERAGES[each])).eval() for each in (average, "unsqueeze"))
    other.load_state_dict(one.state_dict())
    x = vectors(BATCH, LENGTH, WIDTH)
    outputs = []
    for model in (one, other):
        with intervene(model, HideKey(2, layer="attn")), torch.no_grad():
            outputs.append(model(x))
    torch.testing.assert_close(*outputs)


def test_single_queries_can_be_changed():
    model, x = Model(Single("keys first")).eval(), vectors(BATCH, LENGTH, WIDTH)
    with intervene(model, RemoveHead("attn", None)), torch.no_grad():
        output = model(x)
    assert output.shape == (BATCH, WIDTH)
    assert not output.any()


def test_gradients_and_inference_mode():
    model, x = Model(Attention(AVERAGES["unsqueeze"])).eval(), vectors(BATCH, LENGTH, WIDTH).requires_grad_()
    (expected,) = torch.autograd.grad(model(x).sin().sum(), x)
    with watch(model) as seen:
        (found,) = torch.autograd.grad(model(x).sin().sum(), x)
    assert torch.equal(found, expected)
    with torch.inference_mode(), watch(model) as seen:
        model(x)
    assert seen.names == ["usual", "attn"]


def windows(weights, value):
    """Each query has values of its own."""
    own = torch.stack([value.roll(shift, 2) for shift in range(LENGTH)], 2)
    return (weights.unsqueeze(-1) * own).sum(-2)


MISSED = {
    "windows": windows,
    "mean": lambda weights, value: (weights.unsqueeze(-1) * value.unsqueeze(2)).mean(-2),
    "two axes of features": lambda weights, value: (
        (weights[..., None, None] * value.unflatten(-1, (2, 2)).unsqueeze(2)).sum(3).flatten(3)
    ),
}


@pytest.mark.parametrize("average", MISSED)
def test_averages_that_no_product_gives_are_told_of(average):
    model, x = Model(Attention(MISSED[average])).eval(), vectors(BATCH, LENGTH, WIDTH)
    with pytest.warns(PartlySeen, match="^Attention in attn was seen up to its weights, but how"), watch(model) as seen:
        model(x)
    assert seen.names == ["usual"]
    with pytest.warns(NothingSeen, match="^Attention in the model itself was seen"), watch(model.attn):
        model.attn(x)


def test_what_was_changed_in_place_is_no_average():
    def changed(weights, value):
        spread = weights.unsqueeze(-1) * value.unsqueeze(2)
        spread[..., 0] = 0
        return spread.sum(-2)

    model = Model(Attention(changed)).eval()
    said = r"^No attention was seen in attn \(Attention\)"
    with pytest.warns(PartlySeen, match=said), watch(model) as seen, torch.no_grad():
        model(vectors(BATCH, LENGTH, WIDTH))
    assert seen.names == ["usual"]


class Router(nn.Module):
    """A mixture of experts by cosine: its gates are no parameters, but all items share them."""

    def __init__(self, form="items"):
        super().__init__()
        self.gate = nn.Parameter(vectors(4, WIDTH))
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in "1234")
        self.form = form

    def forward(self, x):
        x = {"items": x, "whole": x.mean(1), "one": x[:, :1]}[self.form]
        gates = functional.normalize(x, dim=-1) @ functional.normalize(self.gate, dim=-1).T
        outputs = torch.stack([expert(x) for expert in self.experts], -2)
        if self.form == "one":
            return (gates.squeeze(1).softmax(-1).unsqueeze(-1) * outputs.squeeze(1)).sum(1)
        return (gates.softmax(-1).unsqueeze(-1) * outputs).sum(-2)


class LearnedRouter(nn.Module):
    """The same with a parameter as it is, or a linear layer."""

    def __init__(self, linear):
        super().__init__()
        self.gate = nn.Parameter(vectors(WIDTH, 4))
        self.linear = nn.Linear(WIDTH, 4) if linear else None
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in "1234")

    def forward(self, x):
        gates = (x @ self.gate if self.linear is None else self.linear(x)).softmax(-1)
        return (gates[..., None] * torch.stack([expert(x) for expert in self.experts], -2)).sum(-2)


class SqueezeExcite(nn.Module):
    """Channels are weighed by all items, and softmax is pooling over channels."""

    def __init__(self, normalise):
        super().__init__()
        self.map, self.normalise = nn.Parameter(vectors(WIDTH, WIDTH)), normalise

    def forward(self, x):
        pooled = x.mean(1)
        return (x.mT * self.normalise(pooled @ self.map).unsqueeze(-1)).sum(1)


class Similar(nn.Module):
    """Statistics of weights whose values aren't averaged: entropies, expected distances, gates, lengths."""

    def __init__(self, statistic):
        super().__init__()
        self.statistic = statistic

    def forward(self, x):
        return self.statistic((x @ x.mT).softmax(-1), x)


DISTANCE = (torch.arange(LENGTH) - torch.arange(LENGTH).unsqueeze(1)).abs().float()
STATISTICS = {
    "entropy": lambda weights, x: -(weights * weights.log()).sum(-1),
    "distance": lambda weights, x: (weights * DISTANCE).sum(-1),
    "distance of many": lambda weights, x: (weights.unsqueeze(1) * DISTANCE.expand(len(x), 3, -1, -1)).sum(-1),
    "received": lambda weights, x: (weights.unsqueeze(-1) * x.unsqueeze(2)).sum(1),
    "lengths": lambda weights, x: (weights.unsqueeze(-1) * x.unsqueeze(1)).norm(dim=-1).sum(-1),
    "all": lambda weights, x: (weights.unsqueeze(-1) * x.unsqueeze(1)).sum(),
    "features": lambda weights, x: (weights.unsqueeze(-1) * x.unsqueeze(1)).sum((2, 3)),
    "parameters": lambda weights, x: (weights.unsqueeze(-1) * nn.Parameter(vectors(LENGTH, SIZE))).sum(2),
}


class Gated(nn.Module):
    """Items are weighed by how similar they are to the last one, and summed."""

    def forward(self, x):
        return ((x @ x[:, -1:].mT).squeeze(-1).sigmoid().unsqueeze(-1) * x).sum(1)


SILENT = {
    "router": Router,
    "router of the whole": lambda: Router("whole"),
    "router of one": lambda: Router("one"),
    "learned router": lambda: LearnedRouter(linear=False),
    "linear router": lambda: LearnedRouter(linear=True),
    "squeeze and excite": lambda: SqueezeExcite(torch.sigmoid),
    "softmax pooling": lambda: SqueezeExcite(lambda scores: scores.softmax(-1)),
    "gated": Gated,
    **{name: lambda statistic=statistic: Similar(statistic) for name, statistic in STATISTICS.items()},
}


@pytest.mark.parametrize("items", [1, BATCH, 4, LENGTH])
@pytest.mark.parametrize("other", SILENT)
def test_no_false_alarm(other, items):
    # What stands in an attribute "attn" would be called attention, unless it is a container.
    model = Model(nn.Sequential(SILENT[other]())).eval()
    with warnings.catch_warnings(), watch(model) as seen:
        warnings.simplefilter("error")
        model(vectors(items, LENGTH, WIDTH))
    assert seen.names == ["usual"]


def test_attention_that_was_seen_may_be_taken_apart():
    """Values of relative positions beside a product with the values."""

    def average(weights, value):
        relative = vectors(LENGTH, LENGTH, SIZE)
        return (weights.unsqueeze(-1) * relative).sum(-2) * 0 + weights @ value

    layer = watched(attention := Attention(average))
    torch.testing.assert_close(layer.weights(), attention.used, rtol=0, atol=1e-6)
