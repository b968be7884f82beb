"""The steps of any query of a record end in the record's own weights and in the output of its head."""

import itertools
import random
import re

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from regard.attention import Additive, Bias, Relative, Window, attend, attend_rows
from regard.attention.masks import Pairs
from regard.errors import ArgumentError
from regard.inspection import HidePair, SeenLayer, Temperature, UniformHead, steps_page, watch
from regard.inspection.capture.by_hand.rules import Distances, KeyIntervals
from regard.modules.huggingface import SoftCapped
from regard.page import as_text
from sampling import examples

BATCH, HEADS, LENGTH, SIZE = 2, 4, 7, 6
WIDTH = HEADS * SIZE


def vectors(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Calling(nn.Module):
    """A module that calls a function of attention, with as many heads of keys and queries as it is told."""

    def __init__(self, function, key_heads=HEADS, queries=LENGTH):
        super().__init__()
        self.function = function
        self.three = (
            vectors(BATCH, HEADS, queries, SIZE),
            vectors(BATCH, key_heads, LENGTH, SIZE, seed=1),
            vectors(BATCH, key_heads, LENGTH, SIZE, seed=2),
        )

    def forward(self):
        return self.function(*self.three)


class WithPyTorch(nn.MultiheadAttention):
    def forward(self):
        x = vectors(BATCH, LENGTH, WIDTH)
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        padding = torch.zeros(BATCH, LENGTH).masked_fill(
            torch.arange(LENGTH) >= torch.tensor([[LENGTH], [4]]), -torch.inf
        )
        return super().forward(x, x, x, attn_mask=mask, key_padding_mask=padding, is_causal=True)[0]


def by_hand(query, key, value):
    """Scores that follow no rule, so that the record holds a table of weights."""
    scores = query @ key.mT
    return (scores.sin() + scores.cos()).softmax(-1) @ value


def hugging_face(name):
    of = pytest.importorskip("transformers")
    torch.manual_seed(0)
    if name == "bert":
        small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40}
        model = of.BertModel(of.BertConfig(vocab_size=99, **small))
    else:
        model = of.GPT2Model(of.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4))
    ids = torch.randint(3, 99, (BATCH, LENGTH), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(LENGTH) < torch.tensor([[LENGTH], [4]])).long()
    return model.eval(), lambda: model(ids, attention_mask=mask)


PARTS = {
    "additive": {"score": Additive(vectors(HEADS, SIZE, seed=3))},
    "relative": {"position": Relative(SIZE), "mask": "causal"},
    "entmax": {"weights": "entmax", "score": "cosine"},
    "window": {"mask": Window(2, 1)},
    "capped": {"score": SoftCapped(0.5, 2.0)},
    "pairs of heads": {"mask": Pairs(vectors(BATCH, HEADS, LENGTH, LENGTH, seed=4) > -0.7)},
    "bias of heads": {"position": Bias(vectors(BATCH, HEADS, LENGTH, LENGTH, seed=5))},
    "line of heads": {"position": Distances(vectors(HEADS, 2 * LENGTH - 1, seed=6), LENGTH - 1)},
    "intervals of heads": {
        "mask": KeyIntervals(
            torch.zeros(BATCH, HEADS, LENGTH, dtype=torch.long),
            torch.arange(BATCH * HEADS * LENGTH).view(BATCH, HEADS, LENGTH) % LENGTH,
        )
    },
}
CHANGES = {
    "uniform head": [UniformHead(1, 2)],
    "temperature": [Temperature(0.5, head=3)],
    "hidden pair": [HidePair(3, 2, head=1)],
}


BIAS = vectors(HEADS, LENGTH, LENGTH, seed=7)


def model_and_run(name):
    if name == "pytorch":
        model = WithPyTorch(WIDTH, HEADS, batch_first=True).eval()
    elif name == "grouped":
        model = Calling(
            lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True), 2
        )
    elif name == "fewer queries":
        model = Calling(lambda q, k, v: attend(q, k, v, mask="causal", position="rotary"), 1, 3)
    elif name == "by hand":
        model = Calling(by_hand)
    elif name in PARTS:
        model = Calling(lambda q, k, v: attend(q, k, v, **PARTS[name]))
    elif name in CHANGES:
        model = Calling(lambda q, k, v: attend(q, k, v, mask="causal", position=Bias(BIAS)))
    else:
        return hugging_face(name)
    return model, model


@pytest.mark.parametrize("name", ["pytorch", "grouped", "fewer queries", "by hand", "bert", "gpt2", *PARTS, *CHANGES])
@pytest.mark.filterwarnings("ignore:.*nested tensor")
def test_steps_end_in_the_weights_and_the_output(name):
    model, run = model_and_run(name)
    with watch(model, changes=CHANGES.get(name, ())) as seen, torch.no_grad():
        run()
    assert seen.layers
    for layer in seen:
        batch, heads, queries, _ = layer.query.shape
        weights = layer.weights().double()
        outputs = attend_rows(layer.query, layer.key, layer.value, range(queries), **layer.parts).double()
        every = list(itertools.product(range(batch), range(heads), range(queries)))
        for item, head, query in random.Random(0).sample(every, examples(len(every))):
            walk = layer.steps(query, head=head, item=item)
            where = f"item {item}, head {head}, query {query}"
            torch.testing.assert_close(walk.weights, weights[item, head, query], rtol=0, atol=1e-5, msg=where)
            torch.testing.assert_close(walk.output, outputs[item, head, query], rtol=0, atol=1e-5, msg=where)
            assert walk.column == int(walk.weights.argmax())
            assert as_text(steps_page(walk))


def test_the_output_is_what_the_layer_gave():
    """Without a projection the rows that the layer itself gave are those of the heads."""
    model = Calling(lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, enable_gqa=True), 2)
    with watch(model) as seen:
        given = model()
    walk = seen[0].steps(5, 2, head=3, item=1)
    assert walk.column == 2
    torch.testing.assert_close(walk.output.float(), given[1, 3, 5], rtol=0, atol=1e-6)


def test_a_table_of_weights_is_one_step():
    table = torch.tensor([[[[0.25, 0.75], [1.0, 0.0]]]])
    layer = SeenLayer.of_weights("layer", table, value=torch.tensor([[[[1.0], [3.0]]]]))
    walk = layer.steps(0)
    assert [step.name for step in walk.steps] == ["normalise", "weighted values", "output"]
    assert walk.weights.tolist() == walk.scores.tolist() == [0.25, 0.75]
    assert walk.output.tolist() == [2.5]
    assert "the weight, from a table" in as_text(steps_page(walk))


def test_soft_capping_is_written_out():
    walk = model_of_parts("capped").steps(3, 1)
    assert [step.name for step in walk.steps][:4] == ["products", "sum", "scale", "soft cap"]
    assert torch.equal(walk.scores, walk["soft cap"])
    torch.testing.assert_close(walk["soft cap"], 2.0 * (walk["sum"] * 0.5 / 2.0).tanh())


def test_a_change_is_no_sum():
    """A temperature multiplies scores, so that no formula may say that something is added to them."""
    layer = changed("temperature")
    walk = layer.steps(4, head=2)
    formulas = [step.formula for step in walk.steps]
    assert "s_j := position(s_j)" in formulas
    assert not any("b_j" in formula for formula in formulas)
    before = torch.einsum("f,kf->k", walk.query, walk.key) / SIZE**0.5 + BIAS[2, 4]
    torch.testing.assert_close(walk["position"][:5], 2 * before[:5], rtol=0, atol=1e-6)


def model_of_parts(name):
    model, run = model_and_run(name)
    with watch(model) as seen:
        run()
    return seen[0]


def changed(name):
    model, run = model_and_run(name)
    with watch(model, changes=CHANGES[name]) as seen:
        run()
    return seen[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": LENGTH}, "`query` must be a whole number from 0 to 6, but is 7"),
        ({"query": 0, "key": -1}, "`key` must be a whole number from 0 to 6, but is -1"),
        ({"query": 0, "head": HEADS}, "`head` must be a whole number from 0 to 3, but is 4"),
        ({"query": 0, "item": BATCH}, "`item` must be a whole number from 0 to 1, but is 2"),
    ],
)
def test_a_place_that_is_not_there_is_refused(arguments, said):
    with pytest.raises(ArgumentError, match=re.escape(said)):
        model_of_parts("window").steps(**arguments)


def test_long_rows_are_cut_and_the_page_says_so():
    keys = 3000
    query, key, value = vectors(1, 1, 1, 8), vectors(1, 1, keys, 8, seed=1), vectors(1, 1, keys, 8, seed=2)
    nothing = torch.arange(0), value[:, :, :0]
    layer = SeenLayer("", "", query, key, value, "dot", "softmax", None, None, 0.0, *nothing)
    walk = layer.steps(0, 1234)
    text = " ".join(as_text(steps_page(walk), width=80).split())
    assert len(text) < 20_000
    assert "24 of 3,000 keys are shown: the one above" in text
    assert "The other 2,976 aren't shown; their weights sum to" in text
    assert "From query 1 to key 1235, number by number" in text
    told = float(re.search(r"sum to ([\d.]+)\.", text)[1])
    largest = layer.weights()[0, 0, 0].topk(23).indices
    shown = torch.tensor(sorted({1234, *largest.tolist()}))
    assert told == pytest.approx(1 - float(layer.weights()[0, 0, 0, shown].sum()), rel=1e-3)
    for key in largest.tolist():
        assert re.search(rf"\b{key + 1}\b", text)
    assert "共 3,000 个 key" in as_text(steps_page(walk, "zh"))


class Largest(TorchDispatchMode):
    """The most numbers that a tensor had."""

    numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.numbers = max(self.numbers, result.numel())
        return result


def test_one_row_takes_no_quadratic_memory():
    many = 16_384
    x = vectors(1, 1, many, 4)
    parts = "dot", "softmax", "causal", Distances(torch.zeros(1, 2 * many), many)
    layer = SeenLayer("", "", x, x, x, *parts, 0.0, torch.arange(0), x[:, :, :0])
    with Largest() as largest:
        layer.steps(many - 1)
    assert many <= largest.numbers <= 8 * many
