"""Changes of attention equal what they stand for: weights set to zero, and keys that the model's own mask hides."""

import contextlib
import dataclasses
import math

import pytest
import torch
from torch import nn

import regard
from regard.attention import WEIGHTS, attend, weigh
from regard.errors import ArgumentError
from regard.inspection import (
    HideKey,
    HideKeys,
    HidePair,
    RecordDiffers,
    RemoveHead,
    Temperature,
    UniformHead,
    UniformRow,
    intervene,
    watch,
)

HEADS, LENGTH = 3, 5


class Attends(nn.Module):
    """Attention by the operator."""

    def __init__(self, **parts):
        super().__init__()
        self.parts = parts

    def forward(self, query, key, value):
        return attend(query, key, value, **self.parts)


class ByHand(nn.Module):
    """Attention that is written out, of scores that follow no known rule."""

    def __init__(self, normaliser=torch.softmax):
        super().__init__()
        self.normaliser = normaliser

    def forward(self, query, key, value, allowed=None):
        scores = (query @ key.mT).sin()
        scores = scores if allowed is None else torch.where(allowed, scores, -torch.inf)
        return self.normaliser(scores, -1) @ value


@pytest.fixture
def vectors():
    torch.manual_seed(0)
    return tuple(torch.randn(2, HEADS, LENGTH, 7) for _ in range(3))


def multi_head():
    torch.manual_seed(0)
    return nn.MultiheadAttention(12, HEADS, batch_first=True).eval(), torch.randn(2, LENGTH, 12)


def bert(implementation):
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=11, hidden_size=12, num_hidden_layers=2, num_attention_heads=HEADS, intermediate_size=13
    )
    config._attn_implementation = implementation
    torch.manual_seed(0)
    return transformers.BertModel(config).eval(), torch.randint(0, 11, (2, LENGTH))


@contextlib.contextmanager
def zeroed(weight, columns):
    """Some columns of a projection's weights are 0 inside of the block."""
    before = weight.detach().clone()
    with torch.no_grad():
        weight[:, columns] = 0.0
    yield
    with torch.no_grad():
        weight.copy_(before)


def close(first, second):
    torch.testing.assert_close(first, second, rtol=1e-5, atol=2e-6)


def test_a_head_removed_from_pytorchs_module_equals_zero_columns():
    model, source = multi_head()
    plain = model(source, source, source)[0]
    with intervene(model, RemoveHead(1, 2)) as seen:
        changed = model(source, source, source)[0]
    with zeroed(model.out_proj.weight, slice(4, 8)):
        expected = model(source, source, source)[0]
    close(changed, expected)
    assert (changed - plain).abs().max() > 1e-3
    assert seen[0].notes == ["Changed: remove head 2 of layer 1."]
    assert seen.verify() == {"": None}


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_a_head_removed_from_bert_equals_zero_columns(implementation):
    model, ids = bert(implementation)
    with torch.no_grad():
        for layer in (2, "encoder.layer.1", "encoder.layer.1.attention.self"):
            with intervene(model, RemoveHead(layer, 3)):
                changed = model(ids).last_hidden_state
            with zeroed(model.encoder.layer[1].attention.output.dense.weight, slice(8, 12)):
                close(changed, model(ids).last_hidden_state)


def test_a_head_removed_from_a_tagger_equals_zero_columns():
    model = regard.load("english-pos")
    network = model.network.eval()
    batch = model.encode([["I", "saw", "a", "saw", "."]])
    layer = network.network.encoder.layers[1].attention
    weight = next(each for name, each in layer.named_parameters() if "output" in name and each.ndim == 2)
    with torch.no_grad():
        with intervene(network, RemoveHead(2, 4)):
            changed = network(batch)
        with zeroed(weight, slice(96, 128)):
            close(changed, network(batch))


def test_a_head_replaced_by_its_mean(vectors):
    model = Attends()
    expected = model(*vectors)
    with intervene(model, RemoveHead(1, 2, by="mean")):
        changed = model(*vectors)
    expected[:, 1] = expected[:, 1].mean(1, keepdim=True)
    close(changed, expected)


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_hidden_key_equals_a_mask_for_every_normaliser(name, vectors):
    model = Attends(weights=name, mask="causal")
    hidden = regard.attention.masks.as_mask("causal") & (lambda batch, head, query, key: key != 1)
    with intervene(model, HideKey(2)) as seen:
        changed = model(*vectors)
    close(changed, attend(*vectors, weights=name, mask=hidden))
    assert (changed - model(*vectors)).abs().max() > 1e-3
    assert (seen[0].weights()[..., 1] == 0).all()
    assert seen.verify()[""] < 1e-5


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_a_hidden_key_equals_the_attention_mask_of_bert(implementation):
    model, ids = bert(implementation)
    mask = torch.ones_like(ids)
    mask[:, 2] = 0
    with torch.no_grad():
        with intervene(model, HideKey(3)):
            changed = model(ids).last_hidden_state
        close(changed, model(ids, attention_mask=mask).last_hidden_state)


def test_a_hidden_key_and_a_hidden_pair_equal_the_masks_of_pytorchs_module():
    model, source = multi_head()
    key, pair = torch.zeros(2, LENGTH, LENGTH, dtype=torch.bool)
    key[:, 2], pair[3, 2] = True, True
    for change, hidden in ((HideKey(3), key), (HidePair(4, 3), pair)):
        expected = model(source, source, source, attn_mask=hidden)
        with intervene(model, change):
            changed = model(source, source, source)
        close(changed[0], expected[0])
        # The weights that the module returns are those of the change too.
        close(changed[1], expected[1])


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_hidden_keys_equal_the_attention_mask_of_bert(implementation):
    model, ids = bert(implementation)
    mask = torch.ones_like(ids)
    mask[:, 1:3] = 0
    with torch.no_grad():
        with intervene(model, HideKeys(2, 3)) as seen:
            changed = model(ids).last_hidden_state
        close(changed, model(ids, attention_mask=mask).last_hidden_state)
    assert seen[0].notes == ["Changed: hide keys 2 to 3 in all heads of all layers."]


def test_hidden_keys_of_one_layer_and_head():
    model, ids = bert("sdpa")
    with torch.no_grad(), intervene(model, HideKeys(2, 3, 2, 1)) as seen:
        model(ids)
    hidden = [(layer.weights()[:, :, :, 1:3] == 0).all(-1).all(-1).all(0).tolist() for layer in seen]
    assert hidden == [[False] * 3, [True, False, False]]


def test_a_change_of_one_head_leaves_the_others(vectors):
    model = Attends()
    plain = model(*vectors)
    for change in (HideKey(2, head=3), UniformHead(1, 3), Temperature(3.0, 1, 3), HidePair(1, 2, 1, 3)):
        with intervene(model, change):
            changed = model(*vectors)
        close(changed[:, :2], plain[:, :2])
        assert (changed[:, 2] - plain[:, 2]).abs().max() > 1e-3


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_uniform_row_averages_the_values_of_the_allowed_keys(name, vectors):
    model = Attends(weights=name, mask="causal")
    expected = model(*vectors)
    expected[:, :, 3] = vectors[2][:, :, :4].mean(2)
    with intervene(model, UniformRow(4)):
        close(model(*vectors), expected)


def test_a_uniform_row_leaves_keys_alone_that_a_bias_hides(vectors):
    bias = torch.zeros(LENGTH, LENGTH)
    bias[:, 4] = -10000.0
    model = Attends(position=regard.attention.Bias(bias))
    with intervene(model, UniformHead(1, None)):
        close(model(*vectors), vectors[2][:, :, :4].mean(2, keepdim=True).expand_as(vectors[2]))


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_temperature_divides_scores_and_biases(name, vectors):
    bias = torch.randn(LENGTH, LENGTH)
    model = Attends(weights=name, score="dot", position=regard.attention.Bias(bias))
    with intervene(model, Temperature(2.0)):
        changed = model(*vectors)
    query, key, value = vectors
    close(changed, attend(query / 2, key, value, weights=name, score="dot", position=regard.attention.Bias(bias / 2)))


def test_the_temperature_leaves_rows_of_the_lowest_number(vectors):
    """Models hide padding by the lowest number, so a padded query attends to everything alike."""
    lowest = torch.finfo(torch.float32).min
    bias = torch.zeros(LENGTH, LENGTH).index_fill_(0, torch.tensor([0]), lowest)
    model = Attends(score="dot", position=regard.attention.Bias(bias))
    with intervene(model, Temperature(0.5)) as seen:
        changed = model(*vectors)
    query, key, value = vectors
    close(changed[:, :, :1], value.mean(2, keepdim=True))
    close(changed[:, :, 1:], attend(2 * query[:, :, 1:], key, value, score="dot"))
    assert seen[0].verify() < 1e-6


def test_changes_apply_together(vectors):
    model = Attends(score="dot")
    query, key, value = vectors
    with intervene(model, HideKey(1), Temperature(2.0), RemoveHead(1, 1)):
        changed = model(*vectors)
    expected = attend(query / 2, key[:, :, 1:], value[:, :, 1:], score="dot")
    expected[:, 0] = 0.0
    close(changed, expected)


def test_blocks_nest(vectors):
    model = Attends(score="dot")
    with intervene(model, HideKey(1), Temperature(2.0)):
        expected = model(*vectors)
    # The inner block finds that its record isn't all that was changed.
    with intervene(model, HideKey(1)), pytest.warns(RecordDiffers), intervene(model, Temperature(2.0)):
        close(model(*vectors), expected)


def test_weights_of_no_known_rule_are_changed_where_softmax_made_them(vectors):
    model = ByHand()
    query, key, value = vectors
    allowed = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
    allowed[:, 1] = False
    scores = (query @ key.mT).sin()
    with intervene(model, HideKey(2)) as seen:
        close(model(*vectors), model(*vectors, allowed))
    assert "no known rule" in seen[0].notes[0]
    sharper = torch.softmax(2 * scores, -1) @ value
    with intervene(model, Temperature(0.5)):
        close(model(*vectors), sharper)
    with intervene(model, UniformRow(2)):
        close(model(*vectors)[:, :, 1], value.mean(2))
    plain = model(*vectors)
    with intervene(model, RemoveHead(1, 1)):
        changed = model(*vectors)
    close(changed[:, 1:], plain[:, 1:])
    assert not changed[:, 0].any()


def test_weights_of_no_known_rule_that_softmax_did_not_make_are_refused(vectors):
    model = ByHand(lambda scores, axis: torch.sigmoid(scores))
    with pytest.raises(ArgumentError, match=r"hide key 2 .*follow no known rule"), intervene(model, HideKey(2)):
        model(*vectors)
    plain = model(*vectors)
    with intervene(model, RemoveHead(1, 2)):
        changed = model(*vectors)
    plain[:, 1] = 0.0
    close(changed, plain)


def test_gradients_pass_through_changed_outputs(vectors):
    class Plain(nn.Module):
        def forward(self, query, key, value):
            return torch.softmax(query @ key.mT / math.sqrt(7), -1) @ value

    query, key, value = (each.clone().requires_grad_() for each in vectors)
    model = Plain()
    with intervene(model, RemoveHead(1, 2)):
        model(query, key, value).square().sum().backward()
    assert (value.grad[:, 1] == 0).all()
    for each in (query, key, value):
        assert (each.grad[:, 0] != 0).any()


def test_nothing_stays_after_an_error(vectors):
    model = Attends()
    plain = model(*vectors)
    with pytest.raises(RuntimeError, match="in the middle"), intervene(model, RemoveHead(1, 1)):
        raise RuntimeError("in the middle")
    assert torch.equal(model(*vectors), plain)
    with intervene(model, RemoveHead(1, 1)):
        model(*vectors)
    assert torch.equal(model(*vectors), plain)


def test_what_is_not_changed_is_left_to_the_model_itself():
    model, ids = bert("sdpa")
    with torch.no_grad():
        with watch(model) as plain:
            model(ids)
        with intervene(model, RemoveHead(2, 1)) as seen:
            model(ids)
    assert torch.equal(plain[0].outputs, seen[0].outputs)
    assert [bool(layer.notes) for layer in seen] == [False, True]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (RemoveHead(3, 1), r"`layer` of RemoveHead must be one that the model has, but is 3\. There is: layer 1"),
        (RemoveHead("encoder.layer.9", 1), "`layer` of RemoveHead .* but is 'encoder.layer.9'"),
        (RemoveHead("encoder.lay", 1), "`layer` of RemoveHead"),
        (RemoveHead(1, 4), "`head` of RemoveHead .* but is 4.* with 3 heads, 5 queries and 5 keys"),
        (HideKey(6), "`key` of HideKey .* but is 6"),
        (HideKeys(4, 6), "`last` of HideKeys .* but is 6"),
        (HideKeys(6, 7), "`first` of HideKeys .* but is 6"),
        (HideKeys(1, 2, 1, 4), "`head` of HideKeys .* but is 4"),
        (UniformRow(6), "`query` of UniformRow .* but is 6"),
    ],
)
def test_a_change_that_applies_to_nothing_says_what_there_is(change, message):
    model, ids = bert("eager")
    with pytest.raises(ArgumentError, match=message), intervene(model, change):
        model(ids)


def test_a_change_of_a_model_without_attention_says_so():
    with (
        pytest.raises(ArgumentError, match=r"HideKey changed nothing. No attention was seen"),
        intervene(nn.Linear(2, 2), HideKey(1)) as seen,
    ):
        assert list(seen) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: RemoveHead(0, 1),
            "`layer` of RemoveHead must be a number from 1, the name of a module or a tuple of them, but is 0",
        ),
        (lambda: RemoveHead(1, 0), "`head` of RemoveHead must be a number from 1, but is 0"),
        (lambda: RemoveHead(1, 1, "median"), "`by` of RemoveHead must be 'zero', 'mean' or 'resample'"),
        (lambda: HideKey(True), "`key` of HideKey must be a number from 1, but is True"),
        (lambda: HideKeys(0, 2), "`first` of HideKeys must be a number from 1, but is 0"),
        (lambda: HideKeys(3, 2), "`last` of HideKeys must be 3 or more, as `first` is, but is 2"),
        (lambda: UniformRow(1.5), "`query` of UniformRow must be a number from 1, but is 1.5"),
        (lambda: Temperature(0.0), "`factor` of Temperature must be a number above 0, but is 0.0"),
    ],
)
def test_numbers_are_checked(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_what_is_no_change_is_refused(vectors):
    with pytest.raises(ArgumentError, match="must hold changes such as"), intervene(Attends(), "head 2"):
        pass


def test_a_change_of_a_long_input_hides_what_it_should():
    query = torch.randn(1, 1, 3000, 4)
    with intervene(model := Attends(mask="causal"), HideKey(1, head=1)):
        outputs = model(query, query, query)
    rows = [0, 1, 2999]
    mask = regard.attention.masks.as_mask("causal") & (lambda batch, head, query, key: key != 0)
    close(outputs[:, :, rows], weigh(query, query, mask=mask, rows=rows) @ query)
    assert dataclasses.replace(HideKey(1), key=2) == HideKey(2)
