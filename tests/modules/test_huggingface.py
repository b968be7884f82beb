"""Hugging Face's models with attn_implementation="regard": the outputs, gradients and generations of "eager".

Models are made from small configurations with random weights, large enough for scores to matter; nothing is downloaded.
"""

from collections import Counter

import pytest
import torch
from torch import nn

from regard.attention import Causal, Dense, Dot, Lengths, attend, weigh
from regard.attention.masks import KeyRange
from regard.errors import RefusedError
from regard.modules import huggingface

transformers = pytest.importorskip("transformers", reason="comes with the extra huggingface")

LENGTH = 11
SMALL = {
    "vocab_size": 61,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "initializer_range": 0.3,
}
GROUPED = {**SMALL, "num_key_value_heads": 2, "max_position_embeddings": 64}
GPT2 = {"vocab_size": 61, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "initializer_range": 0.3}
BART = {
    "vocab_size": 61,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "init_std": 0.3,
}
T5 = {"vocab_size": 61, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
WHISPER = {"num_mel_bins": 8, "max_source_positions": 20, "max_target_positions": 30, "pad_token_id": 0}

# What each is here for: rotary and grouped queries; a sliding window; soft-capped scores and another scale; sinks;
# learned positions.
DECODERS = {
    "Llama": GROUPED,
    "Mistral": {**GROUPED, "sliding_window": 5},
    "Gemma2": {**GROUPED, "sliding_window": 5, "head_dim": 8, "attn_logit_softcapping": 1.7},
    "GptOss": {**GROUPED, "sliding_window": 5, "head_dim": 8, "num_local_experts": 2, "num_experts_per_tok": 1},
    "GPT2": GPT2,
}
ENCODERS = {"Bert": SMALL, "ModernBert": {**SMALL, "local_attention": 6, "pad_token_id": 0}}
TRANSLATORS = {
    "Bart": {**BART, "max_position_embeddings": 64},
    "T5": {**T5, "decoder_start_token_id": 0},
}
KINDS = {"GPT2": "LMHeadModel"}


@pytest.fixture(autouse=True)
def calls(monkeypatch):
    """How often a layer really came here: a model that quietly used another implementation would prove nothing."""
    count = Counter()

    def counted(module, *args, **options):
        count["attend"] += 1
        return attended(module, *args, **options)

    attended = huggingface._attend
    monkeypatch.setattr(huggingface, "_attend", counted)
    huggingface.register()
    return count


def make(name, options, kind):
    torch.manual_seed(1)
    config = getattr(transformers, f"{name}Config")(**options)
    model = getattr(transformers, name + kind)(config).eval()
    for parameter_name, parameter in model.named_parameters():
        if "sinks" in parameter_name:
            nn.init.normal_(parameter)
    return model


def words(batch=3):
    return torch.randint(3, 61, (batch, LENGTH), generator=torch.Generator().manual_seed(4))


def attention_mask(padding):
    mask = torch.ones(3, LENGTH, dtype=torch.long)
    if padding == "left":
        mask[1, :4] = mask[2, :9] = 0
    if padding == "right":
        mask[1, -4:] = mask[2, -9:] = 0
    if padding == "holes":
        mask[1, 3:5] = mask[2, 0] = 0
    return mask


def compared(model, run, calls):
    """Run with both implementations; check that ours was asked."""
    results = []
    for name in ("eager", "regard"):
        model.set_attn_implementation(name)
        before = calls["attend"]
        results.append(run())
        assert (calls["attend"] > before) == (name == "regard")
    return results


def outputs_and_gradients(model, weights, calls, **inputs):
    """The output where `weights` is not 0, and every gradient of a loss over those places."""

    def run():
        model.zero_grad()
        found = model(**inputs)
        output = found.logits if hasattr(found, "logits") else found.last_hidden_state
        output = output * weights.view(*weights.shape, *[1] * (output.ndim - weights.ndim))
        (output * torch.linspace(-1, 1, output.shape[-1])).square().mean().backward()
        gradient = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
        return output.detach(), torch.cat(gradient)

    eager, ours = compared(model, run, calls)
    for mine, theirs in zip(ours, eager, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5 * float(theirs.abs().max()))


@pytest.mark.parametrize("padding", ["none", "left", "right", "holes"])
@pytest.mark.parametrize("name", DECODERS)
def test_decoders(name, padding, calls):
    model = make(name, DECODERS[name], KINDS.get(name, "ForCausalLM"))
    mask = attention_mask(padding)
    outputs_and_gradients(model, mask, calls, input_ids=words(), attention_mask=mask)


@pytest.mark.parametrize("padding", [pytest.param("none", marks=pytest.mark.slow), "left"])
@pytest.mark.parametrize("name", DECODERS)
def test_generation(name, padding, calls):
    model = make(name, DECODERS[name], KINDS.get(name, "ForCausalLM"))
    common = {"max_new_tokens": 9, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    for options in ({}, {"num_beams": 3}, {"cache_implementation": "static", "disable_compile": True}):
        eager, ours = compared(
            model,
            lambda: model.generate(words(), attention_mask=attention_mask(padding), **common, **options),  # noqa: B023
            calls,
        )
        assert torch.equal(ours, eager), options


@pytest.mark.parametrize("padding", ["none", "left", "right"])
@pytest.mark.parametrize("name", ENCODERS)
def test_encoders(name, padding, calls):
    model = make(name, ENCODERS[name], "Model")
    mask = attention_mask(padding)
    outputs_and_gradients(model, mask, calls, input_ids=words(), attention_mask=mask)


@pytest.mark.parametrize("name", TRANSLATORS)
def test_translators(name, calls):
    model = make(name, TRANSLATORS[name], "ForConditionalGeneration")
    mask = attention_mask("right")
    inputs = {"input_ids": words(), "attention_mask": mask}
    outputs_and_gradients(model, torch.ones(3, 7), calls, **inputs, decoder_input_ids=words()[:, :7])
    for options in ({}, {"num_beams": 3}):
        eager, ours = compared(
            model,
            lambda: model.generate(**inputs, max_new_tokens=9, do_sample=False, eos_token_id=None, **options),  # noqa: B023
            calls,
        )
        assert torch.equal(ours, eager)


def test_pictures(calls):
    options = {**SMALL, "image_size": 12, "patch_size": 4}
    options.pop("vocab_size")
    model = make("ViT", options, "Model")
    outputs_and_gradients(model, torch.ones(2, 10), calls, pixel_values=torch.randn(2, 3, 12, 12))


def test_speech(calls):
    tokens = {"bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    model = make("Whisper", {**BART, **WHISPER, **tokens}, "ForConditionalGeneration")
    inputs = {"input_features": torch.randn(2, 8, 40), "decoder_input_ids": words(2)[:, :7]}
    outputs_and_gradients(model, torch.ones(2, 7), calls, **inputs)


def test_packed_sequences_cannot_see_each_other(calls):
    model = make("Llama", GROUPED, "ForCausalLM")
    places = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2]])
    inputs = {"input_ids": words(1), "position_ids": places, "use_cache": False}
    eager, ours = compared(model, lambda: model(**inputs).logits, calls)
    torch.testing.assert_close(ours, eager, rtol=1e-4, atol=1e-4)
    alone = model(input_ids=words(1)[:, 5:8]).logits
    torch.testing.assert_close(ours[:, 5:8], alone, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_a_model_may_be_given_a_table_of_its_own(kind, calls):
    model = make("Llama", GROUPED, "ForCausalLM")
    allowed = (torch.randn(3, 1, LENGTH, LENGTH, generator=torch.Generator().manual_seed(2)) > 0).tril()
    allowed |= torch.eye(LENGTH, dtype=torch.bool)
    table = torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min)
    model.set_attn_implementation("eager")
    expected = model(words(), attention_mask=table).logits
    model.set_attn_implementation("regard")
    output = model(words(), attention_mask=allowed if kind == "bool" else table).logits
    torch.testing.assert_close(output, expected, rtol=1e-4, atol=1e-4)


def test_dropout_is_drawn_in_training_only(calls):
    model = make("Llama", {**GROUPED, "attention_dropout": 0.5}, "ForCausalLM")
    model.set_attn_implementation("regard")
    assert torch.equal(model(words()).logits, model(words()).logits)
    model.train()
    assert not torch.equal(model(words()).logits, model(words()).logits)


class TestMask:
    """What a model is given to hand on: a rule wherever there is one."""

    @staticmethod
    def made(function="causal_mask_function", queries=5, keys=5, offset=0, **options):
        masking = transformers.masking_utils
        function = getattr(masking, function) if isinstance(function, str) else function
        return huggingface._mask(2, queries, keys, offset, mask_function=function, **options)

    def test_no_padding(self):
        assert self.made().mask == Causal()
        assert self.made("bidirectional_mask_function").mask == Dense()
        assert self.made(queries=1, keys=8, offset=7).mask == Dense(), "one new token sees all"
        full = torch.ones(2, 5, dtype=torch.bool)
        assert self.made(attention_mask=full).mask == Causal()

    def test_padding_is_lengths_not_a_table(self):
        right = torch.tensor([[True] * 5, [True] * 2 + [False] * 3])
        found = self.made("bidirectional_mask_function", attention_mask=right).mask
        assert isinstance(found, Lengths)
        assert found.of_keys.tolist() == [5, 2]
        found = self.made(attention_mask=right.flip(1)).mask
        assert isinstance(found.right, KeyRange)
        assert (found.right.start.tolist(), found.right.stop.tolist()) == ([0, 3], [5, 5])

    @pytest.mark.parametrize("padding", ["none", "left", "right", "holes", "all of one"])
    @pytest.mark.parametrize(
        "function",
        [
            "causal_mask_function",
            "bidirectional_mask_function",
            ("sliding_window_causal_mask_function", 3),
            ("sliding_window_bidirectional_mask_function", 2),
            ("chunked_causal_mask_function", 3, torch.tensor([0, 1])),
        ],
        ids=str,
    )
    @pytest.mark.parametrize(("queries", "keys", "offset", "gone"), [(7, 7, 0, 0), (3, 7, 4, 0), (1, 7, 6, 0),
                                                                    (3, 11, 4, 0), (3, 5, 9, 7)])  # fmt: skip
    def test_it_is_the_table_that_transformers_makes(self, function, padding, queries, keys, offset, gone):
        masking = transformers.masking_utils
        if isinstance(function, tuple):
            function = getattr(masking, function[0])(*function[1:])
        else:
            function = getattr(masking, function)
        shown = torch.ones(2, gone + min(keys, offset + queries), dtype=torch.bool)
        if padding == "left":
            shown[1, : gone + 2] = False
        if padding == "right":
            shown[1, -2:] = False
        if padding == "holes":
            shown[1, gone + 1] = False
        if padding == "all of one":
            shown[0] = False
        mask = None if padding == "none" else shown
        expected = masking.sdpa_mask(
            2, queries, keys, offset, gone, function, mask, allow_is_causal_skip=False
        )  # (batch 1 query key)
        found = huggingface._mask(2, queries, keys, offset, gone, function, attention_mask=mask)
        x = torch.zeros(2, 1, queries, 3), torch.zeros(2, 1, keys, 3)
        assert torch.equal(weigh(*x, mask=found.mask) > 0, expected)
        above = torch.randn(2, 1, keys, 3)
        weights = expected / expected.sum(-1, keepdim=True).clamp(min=1)
        torch.testing.assert_close(attend(*x, above, mask=found.mask), weights @ above)


class TestRefusals:
    """Never silently wrong: what isn't known is refused in one sentence."""

    @staticmethod
    def attend(mask=None, queries=3, keys=3, causal=False, **options):
        module = nn.Module()
        module.is_causal = causal
        generator = torch.Generator().manual_seed(6)
        query, key = (torch.randn(2, *size, generator=generator) for size in ((4, queries, 5), (2, keys, 5)))
        return huggingface._attend(module, query, key, key, mask, **options)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"cache": object()}, "`cache` asks for a paged cache"),
            ({"indices": torch.zeros(1)}, "`indices` asks for attention to selected keys"),
            ({"unheard_of": torch.zeros(1)}, "`unheard_of` asks for what regard does not know"),
            ({"sliding_window": 3}, "takes windows and packed sequences from the mask"),
            ({"cu_seq_lens_q": torch.zeros(3)}, "takes windows and packed sequences from the mask"),
            ({"causal": True, "keys": 7}, "can't tell the positions of 3 queries among 7 keys"),
            ({"mask": torch.ones(2, 3)}, r"must be a mask made by regard or a 4-D tensor, but is \(2, 3\)"),
            ({"s_aux": torch.zeros(4), "softcap": 2.0}, "can't put sinks beside soft-capped scores or a bias"),
        ],
    )
    def test_refused(self, options, message):
        with pytest.raises(RefusedError, match=message):
            self.attend(**options)

    def test_what_says_nothing_of_the_result_is_passed_over(self):
        plain, none = self.attend()
        assert none is None
        for harmless in ({"position_ids": torch.arange(3)}, {"use_cache": True}, {"indices": None}):
            assert torch.equal(self.attend(**harmless)[0], plain)

    def test_a_model_that_changes_its_mask_fails_aloud(self):
        rule = TestMask.made()
        assert rule.contiguous() is rule
        for change in (lambda: rule[:, :, :2], lambda: rule + 1, lambda: rule.to(torch.float32)):
            with pytest.raises((TypeError, AttributeError)):
                change()

    def test_flags_and_weights(self):
        output, weights = self.attend(causal=True, output_attentions=True)
        assert output.shape == (2, 3, 4, 5)
        assert weights.shape == (2, 4, 3, 3)
        assert (weights.triu(1) == 0).all()
        _, weights = self.attend(output_attentions=True, s_aux=torch.zeros(4))
        assert weights.shape == (2, 4, 3, 3)
        assert (weights.sum(-1) < 1).all()


def test_soft_capping_is_nearly_the_inner_product_where_that_is_small():
    query, key = torch.randn(5, 3) / 100, torch.randn(7, 3) / 100
    torch.testing.assert_close(huggingface.SoftCapped(0.7, 50.0)(query, key), Dot(0.7)(query, key))
    assert huggingface.SoftCapped(0.7, 2.0)(query * 1e6, key * 1e6).abs().max() <= 2.0


def test_without_transformers_the_extra_is_named(monkeypatch):
    import sys

    from regard.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[huggingface\]'"):
        huggingface.register()
