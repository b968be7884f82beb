"""Files of flex attention: its functions as rules or tables, the same weights, and the bound."""

import warnings

import pytest
import torch
from torch import nn

from regard.attention import Bias, Causal, Window
from regard.attention.masks import KeyRange, Pairs, Predicate
from regard.errors import ArgumentError
from regard.inspection import HideKey, Seen, watch
from regard.inspection.capture.by_hand.rules import Distances

flex = pytest.importorskip("torch.nn.attention.flex_attention")

LENGTH = 128


def seen_of(score_mod=None, mask_mod=None, key_heads=4, changes=(), length=LENGTH):
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, heads, length, 8) for heads in (4, key_heads, key_heads))
    block_mask = None
    if mask_mod is not None:
        block_mask = flex.create_block_mask(mask_mod, None, None, length, length, device="cpu")
    with watch(nn.Identity(), changes=changes) as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own: it runs uncompiled
        flex.flex_attention(query, key, value, score_mod, block_mask, enable_gqa=key_heads != 4)
    return seen


def saved(seen, tmp_path):
    before = [(layer.mask, layer.position, list(layer.notes)) for layer in seen]
    seen.save(tmp_path / "seen.safetensors")
    # What was seen isn't changed by being saved.
    assert [(layer.mask, layer.position, layer.notes) for layer in seen] == before
    (layer,) = Seen.load(tmp_path / "seen.safetensors")
    torch.testing.assert_close(layer.weights(), seen[0].weights(), rtol=0, atol=1e-5)
    assert layer.verify() < layer.tolerance
    return layer


def causal(b, h, q, k):
    return q >= k


@pytest.mark.parametrize("key_heads", [4, 2])
@pytest.mark.parametrize(
    ("mask_mod", "expected"),
    [
        (None, None),
        (causal, Causal()),
        (lambda b, h, q, k: (q - k < 9) & (k - q < 3), Window(8, 2)),
    ],
)
def test_masks_that_follow_a_rule_are_kept_as_the_rule(mask_mod, expected, key_heads, tmp_path):
    layer = saved(seen_of(mask_mod=mask_mod, key_heads=key_heads), tmp_path)
    assert (layer.mask, layer.position, layer.notes) == (expected, None, [])


def test_a_mask_of_some_keys_is_an_interval(tmp_path):
    layer = saved(seen_of(mask_mod=lambda b, h, q, k: k < 100), tmp_path)
    assert isinstance(layer.mask, KeyRange)
    assert layer.notes == []


def test_other_masks_are_tables_without_the_axes_that_all_share(tmp_path):
    def odd(b, h, q, k):
        return ((q + k) % 3 == 0) | (q == k)

    layer = saved(seen_of(mask_mod=odd), tmp_path)
    assert isinstance(layer.mask, Pairs)
    assert layer.mask.table.shape == (1, 1, LENGTH, LENGTH)
    assert layer.notes == ["Its mask_mod follows no known rule, so what it gives is kept as a table of all pairs."]
    torch.manual_seed(1)
    documents = torch.randint(0, 2, (2, LENGTH))
    block = flex.create_block_mask(
        lambda b, h, q, k: documents[b, q] == documents[b, k], 2, None, LENGTH, LENGTH, device="cpu"
    )
    query, key, value = torch.randn(3, 2, 4, LENGTH, 8)
    with watch(nn.Identity()) as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flex.flex_attention(query, key, value, block_mask=block)
    assert saved(seen, tmp_path).mask.table.shape == (2, 1, LENGTH, LENGTH)


def slopes(score, b, h, q, k):
    return score - (q - k).abs() * 0.25 * (h + 1)


def test_a_number_for_each_distance_is_kept_as_one(tmp_path):
    layer = saved(seen_of(slopes, causal), tmp_path)
    assert layer.mask == Causal()
    assert isinstance(layer.position, Distances)
    assert layer.notes == []


def test_a_bias_without_a_rule_is_a_table(tmp_path):
    torch.manual_seed(2)
    table = torch.randn(4, LENGTH, LENGTH, requires_grad=True)
    layer = saved(seen_of(lambda score, b, h, q, k: score + table[h, q, k]), tmp_path)
    assert isinstance(layer.position, Bias)
    torch.testing.assert_close(layer.position.table, table[None].detach())
    assert layer.notes == ["Its score_mod follows no known rule, so what it adds is kept as a table of all pairs."]


def test_scores_that_are_hidden_are_a_mask(tmp_path):
    layer = saved(seen_of(lambda score, b, h, q, k: torch.where(q >= k, score, -torch.inf)), tmp_path)
    assert (layer.mask, layer.position, layer.notes) == (Causal(), None, [])


@pytest.mark.parametrize(
    "score_mod", [lambda s, b, h, q, k: 5 * torch.tanh(s / 5), lambda s, b, h, q, k: s * (h + 1) - s.square()]
)
def test_what_is_no_bias_is_kept_as_what_it_adds_to_these_scores(score_mod, tmp_path):
    layer = saved(seen_of(score_mod, causal), tmp_path)
    assert isinstance(layer.position, Bias)
    assert layer.mask == Causal()
    assert layer.notes == ["Its score_mod is no bias, so what it adds to these scores is kept as a table of all pairs."]


def test_a_changed_call(tmp_path):
    layer = saved(seen_of(mask_mod=causal, changes=[HideKey(3)]), tmp_path)
    assert not layer.weights()[..., 2].any()


def test_rows_are_evaluated_a_few_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("regard.inspection.capture.flex_tables._BUDGET", 3000)
    layer = saved(seen_of(slopes, causal), tmp_path)
    assert layer.mask == Causal()
    assert isinstance(layer.position, Distances)


def test_beyond_the_bound_the_functions_are_refused(tmp_path, monkeypatch):
    seen = seen_of(mask_mod=causal)
    pairs = 2 * 4 * LENGTH * LENGTH
    monkeypatch.setattr("regard.inspection.capture.flex_tables.MOST_PAIRS", pairs - 1)
    with pytest.raises(ArgumentError, match=r"`mask` of layer 0 .* must be a part of regard to be saved"):
        seen.save(tmp_path / "seen.safetensors")
    monkeypatch.setattr("regard.inspection.capture.flex_tables.MOST_PAIRS", pairs)
    assert saved(seen, tmp_path).mask == Causal()


def test_a_users_own_function_in_another_call_is_still_refused(tmp_path):
    seen = seen_of(mask_mod=causal)
    seen[0].function = "regard.attend"
    assert isinstance(seen[0].mask, Predicate)
    with pytest.raises(ArgumentError, match="must be a part of regard to be saved"):
        seen.save(tmp_path / "seen.safetensors")
