"""Effects: what changes of attention do to what a model says."""

import math

import pytest
import torch
from torch import nn

import regard
from regard.errors import ArgumentError
from regard.inspection import (
    Effect,
    HideKey,
    HidePair,
    OneByOne,
    RemoveHead,
    Temperature,
    UniformHead,
    UniformRow,
    all_heads,
    all_keys,
    attended,
    effects,
    intervene,
    rank_agreement,
    watch,
)

CHANGES = (
    *(RemoveHead(layer, head, by) for layer in (1, 2) for head in (1, 3) for by in ("zero", "mean")),
    *(HideKey(2), HideKey(3, 2, 1), HidePair(4, 1), UniformRow(2), UniformHead(2, 1), Temperature(3.0, 1)),
)


def bert(implementation="sdpa"):
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=11, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=13, num_labels=4
    )
    config._attn_implementation = implementation
    torch.manual_seed(0)
    model = transformers.BertForSequenceClassification(config).eval()
    # As initialised, the model says nearly the same of everything.
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model, {"input_ids": torch.randint(0, 11, (1, 5)), "attention_mask": torch.ones(1, 5, dtype=torch.long)}


def encoder():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(12, 3, 13, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval(), torch.randn(1, 5, 12)


def tagger():
    model = regard.load("english-pos")
    return model, model.network.eval(), model.encode([["I", "saw", "a", "saw", "."]])


def test_effects_are_measures_without_and_with_each_change():
    model, vectors = encoder()
    with torch.no_grad():
        before = float(model(vectors)[0, 0, 0])
    found = effects(model, lambda: model(vectors), lambda output: output[0, 0, 0], CHANGES)
    assert [each.change for each in found] == list(CHANGES)
    for change, effect in zip(CHANGES, found, strict=True):
        with torch.no_grad(), intervene(model, change):
            after = float(model(vectors)[0, 0, 0])
        assert (effect.before, effect.after, effect.difference) == (before, after, after - before)
        assert not effect.unchanged


def test_the_published_effects_on_the_second_saw():
    model, network, batch = tagger()
    noun, verb = (list(model.labels).index(label) for label in ("NOUN", "VERB"))

    def measure(output):
        return output[3].softmax(-1)[[noun, verb]]

    hidden, removed = effects(network, lambda: network(batch), measure, [HideKey(3), RemoveHead(2, 4)])
    assert [round(100 * float(each)) for each in hidden.before] == [93, 6]
    assert [round(100 * float(each)) for each in hidden.after] == [1, 77]
    assert round(100 * float(removed.after[0])) == 66


@pytest.mark.parametrize("batch", [32, 5])
@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_batched_equals_one_by_one_in_bert(implementation, batch):
    model, inputs = bert(implementation)

    def measure(output):
        return output.logits.softmax(-1)[:, 2]

    single = effects(model, lambda: model(**inputs), measure, CHANGES)
    runs = []

    def run(given):
        runs.append(len(given["input_ids"]))
        return model(**given)

    together = effects(model, run, measure, CHANGES, inputs=inputs, batch=batch)
    assert max(runs) == min(batch, len(CHANGES)) + 1
    for one, other in zip(single, together, strict=True):
        assert one.change == other.change
        assert abs(one.before - other.before) < 1e-5
        assert abs(one.after - other.after) < 1e-5
    assert max(abs(each.difference) for each in single) > 1e-2


def test_batched_equals_one_by_one_in_pytorchs_encoder_and_a_tagger():
    model, vectors = encoder()
    single = effects(model, lambda: model(vectors), lambda output: output[0], CHANGES)
    together = effects(model, model, lambda output: output, CHANGES, inputs=vectors)
    for one, other in zip(single, together, strict=True):
        torch.testing.assert_close(one.after, other.after, rtol=0, atol=1e-5)
    tags, network, batch = tagger()
    count = len(tags.labels)

    def measure(output):
        return output.view(-1, 5, count).softmax(-1)[:, 3]

    changes = (*CHANGES, UniformRow(4), RemoveHead(2, 4))
    single = effects(network, lambda: network(batch), lambda output: measure(output)[0], changes)
    together = effects(network, network, measure, changes, inputs=batch)
    for one, other in zip(single, together, strict=True):
        torch.testing.assert_close(one.after, other.after, rtol=0, atol=1e-5)


class Folded(nn.Module):
    """Attention in which items are folded into heads."""

    def forward(self, vectors):
        heads = vectors.unsqueeze(0)
        return nn.functional.scaled_dot_product_attention(heads, heads, heads)[0]


class Mixing(nn.Module):
    """Attention after which items are mixed."""

    def forward(self, vectors):
        heads = vectors.unsqueeze(1)
        return nn.functional.scaled_dot_product_attention(heads, heads, heads)[:, 0].cumsum(0)


def test_models_whose_items_are_not_apart_are_measured_one_by_one():
    torch.manual_seed(0)
    vectors = torch.randn(1, 5, 4)
    for model, reason in (
        (Folded(), "its attention has batches of 1 where its inputs have one of 3"),
        (Mixing(), "an item's result depends on the other items"),
    ):
        changes = [HideKey(2), HideKey(3)]
        with pytest.warns(OneByOne, match=reason):
            found = effects(model, model, lambda output: output[:, 0], changes, inputs=vectors)
        for change, effect in zip(changes, found, strict=True):
            with intervene(model, change):
                expected = model(vectors)[0, 0]
            torch.testing.assert_close(effect.after, expected.double(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_change_that_changes_nothing_is_said_to(dtype):
    model, vectors = encoder()
    model, vectors = model.to(dtype), vectors.to(dtype)
    causal = torch.ones(5, 5, dtype=torch.bool).triu(1)

    def run():
        return model(vectors, mask=causal)

    # The first query sees the first key alone.
    changes = [HidePair(1, 4), Temperature(1.0), HidePair(1, 5, 1, 2), HidePair(5, 1)]
    found = effects(model, run, lambda output: output[0].float(), changes)
    assert [each.unchanged for each in found] == [True, True, True, False]
    number = effects(model, run, lambda output: output[0, 0, 0], [HidePair(1, 4)])[0]
    assert str(number).startswith("Hide key 4 from query 1 in all heads of all layers: nothing changed (")


def test_an_effect_is_a_sentence():
    effect = Effect(RemoveHead(2, 4), 0.93, 0.66)
    assert str(effect) == "Remove head 4 of layer 2: 0.93 became 0.66 (-0.27)."
    assert str(Effect(HideKey(3), 0.5, 0.5)) == "Hide key 3 in all heads of all layers: nothing changed (0.5)."
    pair = Effect(UniformRow(1), torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]))
    assert str(pair).endswith("2 numbers of mean 0.5 became 2 numbers of mean 1.5.")
    assert not Effect(HideKey(3), 1e-9, 2e-9).unchanged
    assert not Effect(HideKey(3), 0.5, math.nan).unchanged


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_hide_no_change(number):
    before = torch.tensor([number, 0.5], dtype=torch.double)
    same = Effect(HideKey(3), before, before.clone())
    assert same.unchanged
    for place, other in ((0, 1.0), (0, math.nan if math.isinf(number) else math.inf), (1, 0.6), (1, number)):
        after = before.clone()
        after[place] = other
        assert not Effect(HideKey(3), before, after).unchanged


def test_all_heads_and_keys_of_what_was_seen():
    model, inputs = bert()
    with watch(model) as seen:
        model(**inputs)
        model(**inputs)
    assert all_heads(seen) == tuple(RemoveHead(layer, head) for layer in (1, 2) for head in (1, 2, 3))
    assert all_heads(seen, "mean")[0] == RemoveHead(1, 1, "mean")
    assert all_keys(seen) == tuple(HideKey(key) for key in range(1, 6))


def test_wrong_calls_say_what_to_do():
    model, vectors = encoder()
    with pytest.raises(ArgumentError, match=r"`head` of RemoveHead .* but is 9"):
        effects(model, lambda: model(vectors), torch.mean, [RemoveHead(1, 9)])
    with pytest.raises(ArgumentError, match=r"`head` of RemoveHead .* but is 9"):
        effects(model, model, lambda output: output, [RemoveHead(1, 9)], inputs=vectors)
    with pytest.raises(ArgumentError, match="`measure` must give a number or a tensor of numbers, but gave str"):
        effects(model, lambda: model(vectors), lambda output: "NOUN", [HideKey(1)])
    with pytest.raises(ArgumentError, match="for each of 1 items along its first axis, but gave shape"):
        effects(model, model, torch.mean, [HideKey(1)], inputs=vectors)
    with pytest.raises(ArgumentError, match="first axis is of size 1"):
        effects(
            model, lambda given: model(vectors), lambda output: output, [HideKey(1)], inputs=vectors.expand(2, 5, 12)
        )
    with pytest.raises(ArgumentError, match="`batch` must be"):
        effects(model, model, lambda output: output, [HideKey(1)], inputs=vectors, batch=0)
    model.train()
    with pytest.raises(ArgumentError, match=r"call its eval\(\) first"):
        effects(model, lambda: model(vectors), torch.mean, [HideKey(1)])


def test_rank_agreement_is_spearmans():
    assert rank_agreement([1, 2, 3], [10, 20, 30]) == pytest.approx(1.0)
    assert rank_agreement([1, 2, 3], [3, 2, 1]) == pytest.approx(-1.0)
    assert math.isnan(rank_agreement([1, 1, 1], [3, 2, 1]))
    assert math.isnan(rank_agreement([], []))
    # By hand: ranks 1, 2.5, 2.5, 4 and 2, 1, 3, 4, whose products sum to 3 and whose squares sum to 4.5 and 5.
    assert rank_agreement([0.1, 0.2, 0.2, 0.4], [0.2, 0.1, 0.3, 0.4]) == pytest.approx(3 / math.sqrt(4.5 * 5))
    with pytest.raises(ArgumentError, match="a number for each of 2 weights, but holds 3"):
        rank_agreement([1, 2], [1, 2, 3])
    with pytest.raises(ArgumentError, match="`effects` must hold finite numbers"):
        rank_agreement([1, 2], [1, math.nan])


def test_rank_agreement_equals_scipys():
    stats = pytest.importorskip("scipy.stats")
    torch.manual_seed(0)
    left, right = torch.randint(0, 6, (2, 40)).tolist()
    assert rank_agreement(left, right) == pytest.approx(stats.spearmanr(left, right).statistic)


def test_what_was_attended_to_beside_what_mattered():
    model, inputs = bert()
    with watch(model) as seen:
        model(**inputs)
    weights = torch.stack([layer.weights() for layer in seen])
    assert attended(seen, HideKey(2)) == pytest.approx(float(weights[..., 1].mean()))
    assert attended(seen, HideKey(2, 2, 3)) == pytest.approx(float(weights[1, :, 2, :, 1].mean()))
    assert attended(seen, HidePair(4, 2, "bert.encoder.layer.1")) == pytest.approx(float(weights[1, :, :, 3, 1].mean()))
    with pytest.raises(ArgumentError, match="nothing there fits: hide key 6"):
        attended(seen, HideKey(6))
    with pytest.raises(ArgumentError, match="must hide a key or a pair"):
        attended(seen, RemoveHead(1, 1))
