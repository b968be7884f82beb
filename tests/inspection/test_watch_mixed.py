"""`watch` of weights that are changed before they are multiplied by values: mixed between heads, gated, moved."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from regard.inspection import NothingSeen, PartlySeen, RemoveHead, intervene, watch

BATCH, HEADS, LENGTH, SIZE = 2, 3, 7, 4
WIDTH = HEADS * SIZE


def vectors(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Attention(nn.Module):
    """Attention by hand, whose scores and weights go through functions."""

    def __init__(self, scores=lambda scores: scores, weights=lambda weights: weights, average=torch.matmul):
        super().__init__()
        self.inputs = nn.Linear(WIDTH, 3 * WIDTH)
        self.scores, self.weights, self.average = scores, weights, average
        self.used = None

    def forward(self, x):
        query, key, value = (each.unflatten(2, (HEADS, -1)).transpose(1, 2) for each in self.inputs(x).chunk(3, -1))
        weights = self.weights(self.scores(query @ key.mT * SIZE**-0.5).softmax(-1))
        self.used = weights.detach()
        return self.average(weights, value).transpose(1, 2).flatten(2)


class Model(nn.Module):
    """Attention, and a layer that is seen in any case."""

    def __init__(self, attention):
        super().__init__()
        self.usual, self.attn = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), attention

    def forward(self, x):
        return self.attn(x + self.usual(x, x, x, need_weights=False)[0])


class Linear(nn.Module):
    """Talking heads as in timm: a linear map of the heads."""

    def __init__(self):
        super().__init__()
        self.map = nn.Linear(HEADS, HEADS)

    def forward(self, pairs):
        return self.map(pairs.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Products(nn.Module):
    """The same, written as a product with a parameter."""

    def __init__(self, way):
        super().__init__()
        self.map = nn.Parameter(vectors(HEADS, HEADS, seed=3))
        self.way = way

    def forward(self, pairs):
        if self.way == "matmul":
            return (pairs.movedim(1, -1) @ self.map).movedim(-1, 1)
        if self.way == "flat":
            return (self.map @ pairs.flatten(2)).view_as(pairs)
        if self.way == "flat last":
            items, heads, queries, keys = pairs.shape
            flat = pairs.permute(0, 2, 3, 1).reshape(-1, heads) @ self.map
            return flat.view(items, queries, keys, heads).permute(0, 3, 1, 2)
        return (
            torch.einsum(self.way, pairs, self.map) if self.way[0] == "b" else torch.einsum(self.way, self.map, pairs)
        )


MIXERS = {
    "linear": Linear,
    "convolution": lambda: nn.Conv2d(HEADS, HEADS, 1),
    **{way: lambda way=way: Products(way) for way in ("matmul", "flat", "flat last", "bhij,hg->bgij", "gh,bhij->bgij")},
}


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def watched(attention):
    """The record of the module `attn`, in a model that goes on as it does unwatched."""
    model, x = Model(attention).eval(), vectors(BATCH, LENGTH, WIDTH)
    with watch(model) as seen, torch.no_grad():
        output = model(x)
    assert torch.equal(output, model(x))
    assert seen.names == ["usual", "attn"]
    assert max(seen.verify().values()) < 1e-5
    return seen["attn"]


@pytest.mark.parametrize("where", ["scores", "weights", "both"])
@pytest.mark.parametrize("mixer", MIXERS)
def test_heads_that_talk_are_kept_as_a_table(mixer, where):
    parts = {each: MIXERS[mixer]() for each in ("scores", "weights") if where in (each, "both")}
    layer = watched(attention := Attention(**parts))
    torch.testing.assert_close(layer.weights(), attention.used, rtol=0, atol=1e-6)
    assert "as a table" in layer.notes[0]
    if "flat" not in mixer:
        mixed = {"scores": "Its scores are", "weights": "Its weights are", "both": "Its scores and its weights are"}
        assert layer.notes[0].startswith(f"{mixed[where]} mixed between heads")


def test_a_head_that_talks_can_be_removed():
    model = Model(Attention(weights=Linear())).eval()
    with intervene(model, RemoveHead("attn", 2)), torch.no_grad():
        output = model(vectors(BATCH, LENGTH, WIDTH))
    assert output[..., SIZE : 2 * SIZE].abs().max() == 0
    assert output[..., :SIZE].abs().min() > 0


def test_scores_that_are_only_moved_keep_their_rule():
    layer = watched(Attention(lambda scores: scores.permute(0, 2, 3, 1).permute(0, 3, 1, 2)))
    assert not layer.notes
    assert layer.query.shape == (BATCH, HEADS, LENGTH, SIZE)


def top(weights):
    best, which = weights.topk(2)
    return torch.zeros_like(weights).scatter_(-1, which, best)


def assigned(weights):
    weights = weights.clone()
    weights[..., 0] = 0
    return weights


CHANGED = {
    "gate": lambda weights: weights * vectors(BATCH, HEADS, LENGTH, 1).sigmoid(),
    "again normalised": lambda weights: functional.dropout(weights, 0.0) / (weights.sum(-1, keepdim=True) + 0.5),
    "largest": top,
    "largest by rank": lambda weights: weights * (weights >= weights.topk(2).values[..., -1:]),
    "assigned": assigned,
    "power": lambda weights: weights**2,
}


@pytest.mark.parametrize("change", CHANGED)
def test_weights_that_are_changed_are_kept_as_a_table(change):
    layer = watched(attention := Attention(weights=CHANGED[change]))
    torch.testing.assert_close(layer.weights(), attention.used, rtol=0, atol=1e-6)
    assert layer.notes == ["Its weights follow no known rule, so they are kept as a table of all pairs."]
    assert layer.normaliser.normaliser == ""


AVERAGES = {
    "values first": lambda weights, value: (value.mT @ weights.mT).mT,
    "values first, permuted": lambda weights, value: (value.mT @ weights.permute(0, 1, 3, 2)).mT,
    "einsum": lambda weights, value: torch.einsum("bhkd,bhqk->bhqd", value, weights),
    "other axes": lambda weights, value: torch.einsum("bqhk,bhkd->bhqd", weights.transpose(1, 2), value),
}


@pytest.mark.parametrize("average", AVERAGES)
def test_products_with_values_in_another_order(average):
    layer = watched(attention := Attention(average=AVERAGES[average]))
    torch.testing.assert_close(layer.weights(), attention.used, rtol=0, atol=1e-6)
    assert not layer.notes


def test_scores_whose_heads_stand_behind_their_queries():
    class Behind(nn.Module):
        def forward(self, x):
            x = x.unflatten(2, (HEADS, -1))
            self.used = torch.einsum("bqhd,bkhd->bqhk", x, x).softmax(-1)
            return torch.einsum("bqhk,bkhd->bqhd", self.used, x).flatten(2)

    layer = watched(attention := Behind())
    torch.testing.assert_close(layer.weights(), attention.used.transpose(1, 2), rtol=0, atol=1e-6)
    assert not layer.notes


def test_linear_maps_that_are_written_as_products():
    class OneHead(nn.Module):
        def __init__(self):
            super().__init__()
            self.maps = nn.Parameter(vectors(3, WIDTH, WIDTH))

        def forward(self, x):
            query, key, value = (x @ each for each in self.maps)
            return (query @ key.transpose(-2, -1) / WIDTH).softmax(-1) @ value

    assert not watched(OneHead()).notes


def test_weights_of_one_query_that_is_squeezed():
    class Luong(nn.Module):
        def forward(self, x):
            weights = functional.softmax(torch.bmm(x, x[:, -1:].mT).squeeze(2), dim=1)
            self.used = weights
            return torch.bmm(weights.unsqueeze(1), x)

    model, x = Model(Luong()).eval(), vectors(BATCH, LENGTH, WIDTH)
    with watch(model) as seen:
        model(x)
    torch.testing.assert_close(seen["attn"].weights()[0, :, 0], model.attn.used, rtol=0, atol=1e-6)


MISSED = {
    "three": lambda weights, value: torch.einsum("bhqk,bhkd,h->bhqd", weights, value, torch.ones(HEADS)),
    "tensordot": lambda weights, value: (
        torch.tensordot(weights, value, ([1, 3], [1, 2]))[:, :, 0].unsqueeze(1).expand(-1, HEADS, -1, -1)
    ),
}


@pytest.mark.parametrize("average", MISSED)
def test_weights_whose_product_is_not_recognised_are_told_of(average):
    attention, x = Attention(average=MISSED[average]), vectors(BATCH, LENGTH, WIDTH)
    model = Model(attention).eval()
    with (
        pytest.warns(PartlySeen, match=r"^Attention in attn was seen up to its weights, but how"),
        watch(model) as seen,
    ):
        model(x)
    assert seen.names == ["usual"]
    with pytest.warns(NothingSeen, match="^Attention in the model itself was seen up to"), watch(attention):
        attention(x)


class Router(nn.Module):
    """A mixture of experts."""

    def __init__(self):
        super().__init__()
        self.gate, self.experts = (
            nn.Parameter(vectors(WIDTH, 4)),
            nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in "1234"),
        )

    def forward(self, x):
        chosen, which = (x @ self.gate).softmax(-1).topk(2)
        outputs = torch.stack([expert(x) for expert in self.experts], -2)
        return (chosen.unsqueeze(-1) * outputs.gather(2, which.unsqueeze(-1).expand(-1, -1, -1, WIDTH))).sum(2)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.classes = nn.Parameter(vectors(5, WIDTH))

    def forward(self, x):
        return (x @ self.classes.t()).softmax(-1)


class Contrastive(nn.Module):
    """Logits of each item with each, as in CLIP; then a layer that depends on them."""

    def __init__(self):
        super().__init__()
        self.after = nn.Parameter(vectors(WIDTH, WIDTH))

    def forward(self, x):
        first = functional.normalize(x.mean(1), dim=-1)
        sure = (first @ first.t() * 10).softmax(-1)
        loss = -sure.diagonal().log().mean()
        return (x * sure.max() + loss) @ self.after @ x.mT


class Kernels(nn.Module):
    """Linear attention, without weights of pairs."""

    def forward(self, x):
        return x.softmax(-1) @ (x.softmax(1).mT @ x)


class DeltaRule(nn.Module):
    """Linear attention that corrects its state: products that are solved for, and aren't weights."""

    def forward(self, x):
        decay = x[..., :1].exp()
        system = (x @ x.mT).tril(-1) + torch.eye(x.shape[1])
        keys, values = (torch.linalg.solve_triangular(system, each, upper=False) for each in (x * decay, x))
        state = x.mT @ values
        for _ in range(2):
            state = state * decay[:, -1:] + x.mT @ (values - keys @ state)
        return functional.normalize(x @ state)


class Deltas(nn.Sequential):
    def __init__(self):
        super().__init__(DeltaRule(), DeltaRule())


class Indexer(nn.Module):
    """Scores through relu, summed over the heads, that choose the keys for the attention after it."""

    def __init__(self):
        super().__init__()
        self.heads = nn.Linear(WIDTH, HEADS)

    def forward(self, x):
        query = x.unflatten(2, (HEADS, -1))
        scores = torch.relu(query @ x[..., :SIZE].mT.unsqueeze(1))  # (batch query head key)
        chosen = (self.heads(x).unsqueeze(-2) @ scores).squeeze(-2)
        return x + chosen.topk(2).indices.sum()


class Sampler(nn.Module):
    """The next word, drawn a few times."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WIDTH, WIDTH)

    def forward(self, x):
        for _ in range(3):
            chance = (x[:, -1] @ self.words.weight.t()).softmax(-1)
            best = torch.where(chance < chance.topk(3).values[:, -1:], 0.0, chance)
            x = torch.cat([x, self.words(torch.multinomial(best / best.sum(-1, keepdim=True), 1))], 1)
        return x


@pytest.mark.parametrize("other", [Router, Classifier, Contrastive, Kernels, Deltas, Indexer, Sampler])
def test_no_false_alarm(other):
    # The attribute of a module of attention would be called so.
    model = nn.Sequential(Model(nn.Identity()), other()).eval()
    with warnings.catch_warnings(), watch(model) as seen:
        warnings.simplefilter("error")
        model(vectors(BATCH, LENGTH, WIDTH))
    assert seen.names == ["0.usual"]


class Scores(nn.Module):
    def forward(self, x):
        return (x @ x.mT).softmax(-1)


class Average(nn.Module):
    """Values, or a table of parameters, averaged by weights that are taken apart, which can't be followed."""

    def __init__(self, table=None, inside=None):
        super().__init__()
        self.table = None if table is None else nn.Parameter(table)
        self.inside = inside

    def forward(self, weights, x):
        weights = weights if self.inside is None else (x @ x.mT).softmax(-1)
        return torch.stack(weights.unbind(1), 1) @ (x if self.table is None else self.table)


class Two(nn.Module):
    """Scores in one module, and their average in another."""

    def __init__(self, average):
        super().__init__()
        self.scores, self.average = Scores(), average

    def forward(self, x):
        return self.average(self.scores(x), x)


def test_lost_weights_are_sought_in_the_module_that_made_their_scores():
    model = Two(Average(inside=True))
    with watch(model) as seen:
        model(vectors(BATCH, LENGTH, WIDTH))
    assert seen.names == ["average"]
    assert seen[0].notes
    elsewhere = Two(Average())
    with pytest.warns(NothingSeen), watch(elsewhere) as seen:
        elsewhere(vectors(BATCH, LENGTH, WIDTH))


def test_a_table_of_parameters_is_no_values():
    model = Two(Average(vectors(LENGTH, SIZE), inside=True))
    with pytest.warns(NothingSeen), watch(model) as seen:
        model(vectors(BATCH, LENGTH, WIDTH))
    assert not seen.layers
