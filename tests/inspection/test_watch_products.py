"""`watch` of attention whose products are written by any function of PyTorch that multiplies and sums."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from regard.inspection import HideKey, NothingSeen, PartlySeen, RemoveHead, intervene, watch

BATCH, HEADS, QUERIES, KEYS, SIZE = 2, 3, 5, 7, 4
ADDED = torch.randn(BATCH * HEADS, QUERIES, KEYS, generator=torch.Generator().manual_seed(5))


def flat(tensor):
    return tensor.flatten(0, 1)


def heads(tensor):
    return tensor.unflatten(0, (BATCH, HEADS))


SCORES = {
    "matmul": lambda query, key: torch.matmul(query, key.mT),
    "linalg.matmul": lambda query, key: torch.linalg.matmul(query, key.mT),
    "other": lambda query, key: torch.matmul(query, other=key.mT),
    "bmm": lambda query, key: heads(torch.bmm(flat(query), mat2=flat(key).mT)),
    "baddbmm": lambda query, key: heads(torch.baddbmm(ADDED, flat(query), flat(key).mT, beta=0.5, alpha=0.25)),
    "baddbmm method": lambda query, key: heads(ADDED.baddbmm(batch1=flat(query), batch2=flat(key).mT, beta=1, alpha=2)),
    "baddbmm of nothing": lambda query, key: heads(
        torch.baddbmm(torch.zeros(1), flat(query), flat(key).mT, beta=0, alpha=0.5)
    ),
    "einsum ...": lambda query, key: torch.einsum("...qd,...kd->...qk", query, key),
    "einsum b...": lambda query, key: torch.einsum("b...qd, b...kd -> b...qk", query, key),
    "einsum lists": lambda query, key: torch.einsum(query, [0, 1, 2, 3], key, [0, 1, 4, 3], [0, 1, 2, 4]),
    "einsum without a result": lambda query, key: torch.einsum("...ad,...bd", query, key),
    "vecdot": lambda query, key: torch.linalg.vecdot(query.unsqueeze(-2), key.unsqueeze(-3)),
    "vecdot dim": lambda query, key: torch.linalg.vecdot(query.unsqueeze(-2), key.unsqueeze(-3), dim=-1),
    "multiply and sum": lambda query, key: (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1),
    "expand, multiply and sum": lambda query, key: torch.mul(
        key.unsqueeze(2).expand(-1, -1, QUERIES, -1, -1), query.unsqueeze(3).expand(-1, -1, -1, KEYS, -1)
    ).sum(dim=-1),
}
AVERAGES = {
    "matmul": lambda weights, value: torch.matmul(weights, value),
    "linalg.matmul": lambda weights, value: torch.linalg.matmul(weights, value),
    "baddbmm": lambda weights, value: heads(torch.baddbmm(torch.zeros(1), flat(weights), flat(value), beta=0)),
    "einsum ...": lambda weights, value: torch.einsum("...qk,...kd->...qd", weights, value),
    "einsum lists": lambda weights, value: torch.einsum(weights, [5, 6, 1, 2], value, [5, 6, 2, 3], [5, 6, 1, 3]),
}


class Attention(nn.Module):
    """Attention by hand, whose two products are functions."""

    def __init__(self, scores, average=torch.matmul):
        super().__init__()
        self.scores, self.average = scores, average

    def forward(self, query, key, value):
        self.used = self.scores(query, key).softmax(-1)
        return self.average(self.used, value)


def inputs(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(BATCH, HEADS, length, SIZE, generator=generator) for length in (QUERIES, KEYS, KEYS)]


def seen_in(model, *given):
    with warnings.catch_warnings():
        warnings.simplefilter("error", PartlySeen)
        with watch(model) as seen:
            output = model(*given)
    assert torch.equal(output, model(*given))
    (layer,) = seen
    assert layer.verify() < 1e-5
    return layer


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("scores", SCORES)
def test_each_product_is_followed(scores, average):
    model = Attention(SCORES[scores], AVERAGES[average])
    layer = seen_in(model, *inputs())
    assert not layer.notes
    torch.testing.assert_close(layer.weights().view_as(model.used), model.used, rtol=0, atol=1e-6)
    assert layer.key.shape[2:] == (KEYS, SIZE)


@pytest.mark.parametrize("scores", SCORES)
def test_each_product_can_be_changed(scores):
    model, given = Attention(SCORES[scores]), inputs()
    with intervene(model, HideKey(3)):
        hidden = model(*given)
    masked = SCORES[scores](*given[:2])
    masked[..., 2] = -torch.inf
    torch.testing.assert_close(hidden, masked.softmax(-1) @ given[2], rtol=0, atol=1e-5)


FLAT = {
    "mm": lambda query, key: query.mm(key.T),
    "addmm": lambda query, key: torch.addmm(ADDED[0], query, key.T, alpha=0.5),
    "inner": torch.inner,
    "tensordot": lambda query, key: torch.tensordot(query, key, dims=([1], [1])),
    "tensordot, a number": lambda query, key: torch.tensordot(query, key.T, 1),
    "linear": functional.linear,
}


@pytest.mark.parametrize("scores", FLAT)
def test_each_product_of_matrices_is_followed(scores):
    given = [each[0, 0] for each in inputs()]
    model = Attention(FLAT[scores], lambda weights, value: functional.linear(weights, value.T))
    layer = seen_in(model, *given)
    assert not layer.notes
    torch.testing.assert_close(layer.weights()[0, 0], model.used, rtol=0, atol=1e-6)


def test_one_query_for_all_keys_of_an_inner_product():
    query, key, value = inputs()
    model = Attention(lambda query, key: torch.inner(query, key), torch.matmul)
    layer = seen_in(model, query[0], key[0, 0], value[0, 0])
    torch.testing.assert_close(layer.weights()[0], model.used, rtol=0, atol=1e-6)


class Additive(nn.Module):
    """Scores that no product makes: v tanh(q + k)."""

    def __init__(self):
        super().__init__()
        self.score = nn.Linear(SIZE, 1)

    def forward(self, query, key, value):
        scores = self.score(torch.tanh(query.unsqueeze(-2) + key.unsqueeze(-3))).squeeze(-1)
        self.used = functional.softmax(scores, dim=-1)
        return functional.dropout(self.used, 0.1, self.training) @ value


class Pooling(nn.Module):
    """A weight for each item, by a network of its own."""

    def __init__(self):
        super().__init__()
        self.score = nn.Linear(SIZE, 1)

    def forward(self, x):
        self.used = self.score(x).squeeze(-1).softmax(-1)
        return torch.bmm(self.used.unsqueeze(1), x)


class Inside(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.usual, self.attn = nn.MultiheadAttention(SIZE, 1, batch_first=True), attention

    def forward(self, x, *given):
        return self.attn(x + self.usual(x, x, x, need_weights=False)[0], *given)


def test_a_softmax_of_unknown_scores_is_kept_as_a_table():
    model = Additive().eval()
    layer = seen_in(model, *inputs())
    torch.testing.assert_close(layer.weights(), model.used, rtol=0, atol=1e-7)
    assert layer.notes == ["Its weights follow no known rule, so they are kept as a table of all pairs."]
    assert layer.normaliser.normaliser == "softmax"


def test_it_is_named_by_its_module_and_its_heads_can_be_removed():
    query, key, value = inputs()
    model = Inside(Additive()).eval()
    with watch(model) as seen:
        model(query[0], key[0], value[0])
    assert seen.names == ["usual", "attn"]
    with intervene(model, RemoveHead("attn", 1)):
        assert not model(query[0], key[0], value[0])[0].any()


def test_weights_of_items_are_those_of_one_query():
    model = Inside(Pooling()).eval()
    with watch(model) as seen:
        model(inputs()[1][0])
    torch.testing.assert_close(seen["attn"].weights()[0, :, 0], model.attn.used, rtol=0, atol=1e-7)


class Experts(nn.Module):
    """A mixture of experts, whose router is no attention."""

    def __init__(self):
        super().__init__()
        self.router, self.experts = nn.Linear(SIZE, 2), nn.ModuleList(nn.Linear(SIZE, SIZE) for _ in range(2))

    def forward(self, x):
        weights = self.router(x).softmax(-1)
        return (weights.unsqueeze(-1) * torch.stack([each(x) for each in self.experts], -2)).sum(-2)


class Perceptron(nn.Module):
    """Linear maps by tensors that are no parameters, as those of a low-rank update are."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Parameter(torch.randn(8, SIZE)), nn.Parameter(torch.randn(SIZE, 8))

    def forward(self, x):
        return functional.linear(functional.linear(x, self.first * 1).relu(), self.second * 1)


@pytest.mark.parametrize("part", [Experts, Perceptron])
def test_other_parts_are_no_attention(part):
    model = part()
    with pytest.warns(NothingSeen, match="^No attention was seen in"), watch(model):
        model(inputs()[0][0])
    # What stands in an attribute "attn" would be called attention, unless it is a container.
    inside = Inside(nn.Sequential(part()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with watch(inside) as seen:
            inside(inputs()[0][0])
    assert seen.names == ["usual"]


SLIDING = {
    "as_strided": lambda weights, value: torch.einsum(
        "bhqkw,bhkd->bhqd", weights.as_strided((BATCH, HEADS, QUERIES, KEYS, 1), (*weights.stride(), 1)), value
    ),
    "addbmm": lambda weights, value: torch.addbmm(torch.zeros(QUERIES, SIZE), flat(weights), flat(value)),
    "baddbmm": lambda weights, value: torch.baddbmm(torch.ones(1), flat(weights), flat(value)),
}


@pytest.mark.parametrize("average", SLIDING)
def test_what_is_not_recognised_is_told(average):
    model = Attention(SCORES["matmul"], SLIDING[average])
    with pytest.warns(NothingSeen, match="^Attention in the model itself was seen up to its weights"), watch(model):
        model(*inputs())
