"""Heads that Hugging Face's sdpa puts in the place of queries are heads in records and changes, as in eager."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from regard.attention.masks import KeyRange
from regard.inspection import HideKey, HidePair, RemoveHead, Temperature, UniformHead, UniformRow, watch

BATCH, LENGTH, STEPS, HEADS, KEY_HEADS = 2, 5, 2, 6, 2

CHANGES = [
    RemoveHead(1, 2),
    RemoveHead(2, 6, "mean"),
    UniformHead(None, 4),
    UniformRow(1, head=5),
    HideKey(4, head=2),
    HidePair(1, 4),
    Temperature(0.5, head=3),
]


@pytest.fixture(scope="module")
def llama():
    of = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 2, "vocab_size": 50}
    config = of.LlamaConfig(**sizes, num_attention_heads=HEADS, num_key_value_heads=KEY_HEADS, pad_token_id=0)
    model = of.LlamaForCausalLM(config).eval()
    with torch.no_grad():
        # Attention that differs between heads.
        for each in model.parameters():
            each.mul_(3)
    return model


def caches(name, model):
    of = pytest.importorskip("transformers")
    if name == "dynamic":
        return of.DynamicCache(config=model.config)
    return of.StaticCache(config=model.config, max_cache_len=LENGTH + STEPS + 2)


def steps(model, implementation, cache, padded, changes=()):
    """The calls of a pass over the first items and of single ones, and the logits of each at the last item."""
    model.set_attn_implementation(implementation)
    cache = caches(cache, model)
    ids = torch.randint(3, 50, (BATCH, LENGTH + STEPS), generator=torch.Generator().manual_seed(1))
    mask = (torch.arange(LENGTH + STEPS) >= torch.tensor([[2 * padded], [0]])).long()
    logits = []
    with torch.no_grad(), watch(model, changes=changes) as seen:
        first = 0
        for last in range(LENGTH, LENGTH + STEPS + 1):
            given = model(ids[:, first:last], attention_mask=mask[:, :last], past_key_values=cache)
            logits.append(given.logits[:, -1])
            first = last
    return seen, torch.stack(logits)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_records_of_each_step_are_those_of_eager(llama, cache, padded):
    seen, logits = steps(llama, "sdpa", cache, padded)
    eager, wanted = steps(llama, "eager", cache, padded)
    torch.testing.assert_close(logits, wanted, rtol=1e-4, atol=1e-4)
    assert seen.names == eager.names
    for one, other in zip(seen, eager, strict=True):
        # Padding attends to anything.
        rows = [one.query.shape[2] - 1]
        # sdpa leaves out the free places of a static cache in the first pass.
        weights, wide = one.weights(rows), other.weights(rows)
        torch.testing.assert_close(weights, wide[..., : weights.shape[3]], rtol=0, atol=1e-5)
        assert not wide[..., weights.shape[3] :].any()
        torch.testing.assert_close(one.summary.top_weight[:, :, -1], other.summary.top_weight[:, :, -1])
        walk = one.steps(query=rows[0], head=HEADS - 1, item=1)
        torch.testing.assert_close(walk.weights.float(), weights[1, -1, 0], rtol=0, atol=1e-5)
        assert one.verify() < 1e-4


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_changes_of_each_step_are_those_of_eager(llama, cache, change):
    # Padded queries attend to anything, and these changes are of the first query or of all.
    padded = not isinstance(change, RemoveHead | UniformRow | HidePair)
    _, logits = steps(llama, "sdpa", cache, padded, [change])
    _, wanted = steps(llama, "eager", cache, padded, [change])
    torch.testing.assert_close(logits, wanted, rtol=1e-4, atol=1e-4)
    _, before = steps(llama, "eager", cache, padded)
    # A single query is its own mean.
    if not (isinstance(change, RemoveHead) and change.by == "mean"):
        assert not torch.allclose(wanted[1], before[1], atol=1e-3)


class Calling(nn.Module):
    """A module that calls attention as transformers does."""

    num_key_value_groups = HEADS // KEY_HEADS

    def forward(self, query, key, value, mask):
        of = pytest.importorskip("transformers.integrations.sdpa_attention")
        outputs, _ = of.sdpa_attention_forward(self, query, key, value, mask)
        return outputs


def vectors(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


MASKS = {
    "shared": torch.arange(LENGTH).view(1, 1, 1, -1) >= torch.tensor([2, 0]).view(-1, 1, 1, 1),
    "of each head": torch.arange(LENGTH) <= torch.arange(BATCH * HEADS).view(BATCH, HEADS, 1, 1) % LENGTH,
    "biases": vectors(1, HEADS, 1, LENGTH, seed=3),
}


@pytest.mark.parametrize("key_heads", [1, KEY_HEADS])
@pytest.mark.parametrize("mask", MASKS)
def test_masks_of_single_queries(mask, key_heads):
    model = Calling()
    model.num_key_value_groups = HEADS // key_heads
    query, key, value = (vectors(BATCH, *size, 4, seed=sum(size)) for size in ((HEADS, 1), *[(key_heads, LENGTH)] * 2))
    with watch(model) as seen:
        outputs = model(query, key, value, MASKS[mask])
    (layer,) = seen
    assert torch.equal(layer.query, query)
    assert torch.equal(layer.key, key)
    keys, values = (each.repeat_interleave(HEADS // key_heads, 1) for each in (key, value))
    right = functional.scaled_dot_product_attention(query, keys, values, attn_mask=MASKS[mask])
    torch.testing.assert_close(layer.recomputed(layer.rows), right, rtol=0, atol=1e-6)
    torch.testing.assert_close(outputs, right.transpose(1, 2), rtol=0, atol=1e-6)
    with watch(model, changes=[RemoveHead(1, HEADS)]):
        changed = model(query, key, value, MASKS[mask])
    torch.testing.assert_close(changed[:, :, :-1], right.transpose(1, 2)[:, :, :-1], rtol=0, atol=1e-6)
    assert not changed[:, :, -1].any()
    assert isinstance(layer.mask, KeyRange) or mask != "shared"


def test_as_many_queries_as_heads_in_a_group_are_queries():
    """Their keys are repeated, so the call has the shape that packed heads would have in a larger model."""
    model, queries = Calling(), HEADS // KEY_HEADS
    query, key = vectors(BATCH, HEADS, queries, 4), vectors(BATCH, KEY_HEADS, LENGTH, 4, seed=1)
    with watch(model) as seen:
        model(query, key, key, MASKS["shared"])
    assert torch.equal(seen[0].query, query)
    assert seen[0].weights().shape == (BATCH, HEADS, queries, LENGTH)


@pytest.mark.parametrize("lead", [(), (BATCH,), (3, BATCH)])
def test_grouped_queries_of_any_number_of_axes(lead):
    """Learned queries may have a batch of 1, which attention repeats."""

    class Grouped(nn.Module):
        def forward(self, query, key, value):
            return functional.scaled_dot_product_attention(query, key, value, enable_gqa=True)

    model, once = Grouped(), (1,) * len(lead)
    query, key = vectors(*once, HEADS, 2, 4), vectors(*lead, KEY_HEADS, LENGTH, 4, seed=1)
    with watch(model) as seen:
        outputs = model(query, key, key)
    assert outputs.shape == (*lead, HEADS, 2, 4)
    assert seen[0].verify() < 1e-6
    with watch(model, changes=[RemoveHead(1, 1)]):
        changed = model(query, key, key)
    torch.testing.assert_close(changed[..., 1:, :, :], outputs[..., 1:, :, :], rtol=0, atol=1e-6)
    assert not changed[..., 0, :, :].any()


SIZES = {"hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4}
GROUPED = {**SIZES, "num_key_value_heads": 2}
FAMILIES = {
    "Llama": GROUPED,
    "Mistral": {**GROUPED, "sliding_window": None},
    "Qwen2": GROUPED,
    "Qwen3": {**GROUPED, "head_dim": 8},
    "Gemma": {**GROUPED, "head_dim": 8},
    "Mixtral": {**GROUPED, "num_local_experts": 2},
    "StableLm": GROUPED,
    "Starcoder2": GROUPED,
    "Cohere": GROUPED,
    "Phi": SIZES,
    "GPTNeoX": SIZES,
    "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    "GPTBigCode": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    "OPT": {"hidden_size": 32, "ffn_dim": 40, "num_hidden_layers": 2, "num_attention_heads": 4},
}


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize("cache", [None, "static"])
@pytest.mark.parametrize("family", FAMILIES)
def test_families_of_decoders_have_the_weights_that_they_give(family, cache):
    of = pytest.importorskip("transformers")
    torch.manual_seed(0)
    ends = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = getattr(of, f"{family}Config")(vocab_size=50, **ends, **FAMILIES[family])
    kind = getattr(of, f"{family}ForCausalLM", None) or getattr(of, f"{family}LMHeadModel")
    model = kind(config).eval()
    ids = torch.randint(3, 50, (BATCH, LENGTH), generator=torch.Generator().manual_seed(1))
    settings = {
        "attention_mask": (torch.arange(LENGTH) >= torch.tensor([[2], [0]])).long(),
        "max_new_tokens": 4,
        "do_sample": False,
        "pad_token_id": 0,
        "eos_token_id": None,
        "cache_implementation": cache,
    }
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transformers' own
        model.set_attn_implementation("eager")
        eager = model.generate(ids, output_attentions=True, return_dict_in_generate=True, **settings)
        model.set_attn_implementation("sdpa")
        with watch(model) as seen:
            tokens = model.generate(ids, **settings)
    assert torch.equal(tokens, eager.sequences)
    for layer, given in zip(seen, [each for step in eager.attentions for each in step], strict=True):
        weights = layer.weights()
        assert weights.shape[:3] == given.shape[:3]
        wanted = given[..., : weights.shape[3]]
        # Padding attends to anything, and sdpa leaves out the free places of a static cache in the first pass.
        rows = range(2, LENGTH) if weights.shape[2] == LENGTH else [0]
        torch.testing.assert_close(weights[:, :, rows], wanted[:, :, rows], rtol=0, atol=1e-5)
        assert not given[:, :, rows, weights.shape[3] :].any()
        assert layer.verify() < 1e-4
    assert len(seen.joined()) == 2
