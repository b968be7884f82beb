"""`watch` against what models say of their own attention, and its promises about the block."""

import subprocess
import sys
import threading
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

import regard
from regard.attention import Additive, Causal, Lengths, Window
from regard.attention.masks import KeyRange
from regard.errors import ArgumentError
from regard.inspection import NothingSeen, PartlySeen, RecordDiffers, RemoveHead, Temperature, watch
from regard.inspection.capture.by_hand.rules import KeyIntervals
from regard.modules import MultiHeadAttention

BATCH, HEADS, LENGTH, SIZE = 2, 3, 7, 4
WIDTH = HEADS * SIZE


def vectors(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def padding():
    """(batch, key), True = padding."""
    return torch.arange(LENGTH) >= torch.tensor([[LENGTH], [4]])


class Written(nn.Module):
    """Attention by hand; `way` says how the products are written, `normalise` how scores become weights."""

    def __init__(self, way="matmul", normalise=lambda scores: scores.softmax(-1), bias=None):
        super().__init__()
        self.inputs = nn.Linear(WIDTH, 3 * WIDTH)
        self.way, self.normalise, self.bias = way, normalise, bias
        self.weights = None

    def forward(self, x):
        query, key, value = self.inputs(x).chunk(3, -1)
        if self.way == "einsum":
            query, key, value = (each.unflatten(2, (HEADS, SIZE)) for each in (query, key, value))
            scores = torch.einsum("bqhd,bkhd->bhqk", query, key) / SIZE**0.5
            self.weights = self.normalise(scores)
            return torch.einsum("bhqk,bkhd->bqhd", self.weights, value).flatten(2)
        query, key, value = (each.unflatten(2, (HEADS, SIZE)).transpose(1, 2) for each in (query, key, value))
        if self.way == "bmm":
            query, key, value = (each.flatten(0, 1) for each in (query, key, value))
            scores = torch.bmm(query * SIZE**-0.5, key.transpose(1, 2))
            if self.bias is not None:
                scores = (scores.view(BATCH, HEADS, LENGTH, LENGTH) + self.bias).view_as(scores)
            weights = self.normalise(scores)
            self.weights = weights.view(BATCH, HEADS, LENGTH, LENGTH)
            return torch.bmm(weights, value).view(BATCH, HEADS, LENGTH, SIZE).transpose(1, 2).flatten(2)
        scores = query @ key.mT
        scores *= SIZE**-0.5
        if self.bias is not None:
            scores = scores + self.bias
        self.weights = self.normalise(scores)
        return (functional.dropout(self.weights, 0.1, self.training) @ value).transpose(1, 2).flatten(2)


def sparsemax(scores):
    """By hand, so that no softmax is called; Martins and Astudillo 2016, algorithm 1."""
    ordered = scores.sort(-1, descending=True).values
    ranks = torch.arange(1.0, scores.shape[-1] + 1)
    support = (1 + ranks * ordered > ordered.cumsum(-1)).sum(-1, keepdim=True)
    threshold = (ordered.cumsum(-1).gather(-1, support - 1) - 1) / support
    return (scores - threshold).clamp(min=0)


NORMALISERS = {
    "softmax": lambda scores: scores.softmax(-1),
    "functional": lambda scores: functional.softmax(scores, dim=-1, dtype=torch.float64).to(scores.dtype),
    "exp": lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True),
    "sigmoid": torch.sigmoid,
    "relu": lambda scores: scores.relu() / LENGTH,
    "sparsemax": sparsemax,
    "causal": lambda scores: scores.masked_fill(torch.ones(LENGTH, LENGTH).triu(1).bool(), -torch.inf).softmax(-1),
    "where": lambda scores: torch.where(torch.ones(LENGTH, LENGTH).tril().bool(), scores, -1e9).softmax(-1),
    "capped": lambda scores: (torch.tanh(scores / 3.0) * 3.0).softmax(-1),
    "twisted": lambda scores: (scores.sin() + scores.cos()).softmax(-1),
}


@pytest.mark.parametrize("normaliser", NORMALISERS)
@pytest.mark.parametrize("way", ["matmul", "bmm", "einsum"])
def test_attention_by_hand(way, normaliser):
    model = Written(way, NORMALISERS[normaliser]).eval()
    x = vectors(BATCH, LENGTH, WIDTH)
    with watch(model) as seen, torch.no_grad():
        output = model(x)
    (layer,) = seen
    assert layer.function == "by hand"
    # Where items and heads share an axis, as for bmm, all are taken for heads.
    torch.testing.assert_close(layer.weights().view_as(model.weights), model.weights, rtol=0, atol=2e-6)
    assert seen.verify()[""] < 2e-6
    torch.testing.assert_close(output, model(x), rtol=0, atol=0)


@pytest.mark.parametrize("normaliser", sorted({*NORMALISERS} - {"twisted"}))
def test_what_follows_a_rule_is_kept_in_linear_memory(normaliser):
    model = Written("matmul", NORMALISERS[normaliser]).eval()
    with watch(model) as seen:
        model(vectors(BATCH, LENGTH, WIDTH))
    assert seen[0].notes == []
    assert seen[0].query.shape == (BATCH, HEADS, LENGTH, SIZE)


def test_what_follows_no_rule_is_kept_as_a_table_and_says_so():
    model = Written("matmul", NORMALISERS["twisted"]).eval()
    with watch(model) as seen:
        model(vectors(BATCH, LENGTH, WIDTH))
    assert "table" in seen[0].notes[0]


@pytest.mark.parametrize("way", ["matmul", "bmm"])
def test_a_bias_by_distance_is_kept_as_a_line(way):
    distance = torch.arange(LENGTH) - torch.arange(LENGTH).unsqueeze(1)
    table = vectors(HEADS, 2 * LENGTH - 1)[:, distance + LENGTH - 1].unsqueeze(0)
    model = Written(way, bias=table).eval()
    with watch(model) as seen:
        model(vectors(BATCH, LENGTH, WIDTH))
    assert type(seen[0].position).__name__ == "Distances"
    torch.testing.assert_close(seen[0].weights(), model.weights, rtol=0, atol=2e-6)


MASKS = {
    "none": {},
    "bool": {"attn_mask": torch.ones(LENGTH, LENGTH).triu(1).bool()},
    "float": {"attn_mask": torch.full((LENGTH, LENGTH), -torch.inf).triu(1)},
    "bias": {"attn_mask": vectors(LENGTH, LENGTH, seed=5)},
    "per head": {"attn_mask": vectors(BATCH * HEADS, LENGTH, LENGTH, seed=6)},
    "padding": {"key_padding_mask": padding()},
    "both": {"attn_mask": torch.ones(LENGTH, LENGTH).triu(1).bool(), "key_padding_mask": padding()},
    "floats": {
        "attn_mask": vectors(LENGTH, LENGTH, seed=7),
        "key_padding_mask": torch.zeros(BATCH, LENGTH).masked_fill(padding(), -torch.inf),
    },
}
FORMS = {
    "plain": {},
    "without biases": {"bias": False},
    "extra keys": {"add_bias_kv": True, "add_zero_attn": True},
    "other widths": {"kdim": 5, "vdim": 6},
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mask", MASKS)
def test_pytorch_attention(mask, form, training):
    module = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, **FORMS[form]).train(training)
    query = vectors(BATCH, LENGTH, WIDTH)
    key = vectors(BATCH, LENGTH, module.kdim, seed=1)
    value = vectors(BATCH, LENGTH, module.vdim, seed=2)
    with watch(module) as seen:
        output, weights = module(query, key, value, average_attn_weights=False, **MASKS[mask])
    torch.testing.assert_close(seen[0].weights(), weights.detach(), rtol=0, atol=1e-6)
    assert seen.verify()[""] < 1e-6
    torch.testing.assert_close(
        output, module(query, key, value, average_attn_weights=False, **MASKS[mask])[0], rtol=0, atol=0
    )


@pytest.mark.parametrize("form", [{}, {"add_bias_kv": True}, {"add_zero_attn": True}, FORMS["extra keys"]], ids=str)
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("mask", ["none", "padding"])
def test_a_causal_hint_of_pytorchs_attention(mask, need_weights, form):
    """Without weights and padding PyTorch counts from the first key, so that no query sees the keys that are added."""
    module = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, **form).eval()
    for each in (module.bias_k, module.bias_v):
        if each is not None:
            nn.init.normal_(each)
    x = vectors(BATCH, LENGTH, WIDTH)
    given = {"attn_mask": MASKS["bool"]["attn_mask"], "is_causal": True, "need_weights": need_weights, **MASKS[mask]}
    with watch(module) as seen:
        output, weights = module(x, x, x, average_attn_weights=False, **given)
    assert seen[0].verify() < 1e-6
    if need_weights:
        torch.testing.assert_close(seen[0].weights(), weights.detach(), rtol=0, atol=1e-6)
    else:
        hidden = seen[0].weights()[..., LENGTH:] == 0
        assert hidden.all() == (mask == "none" or not form)
    with watch(module, changes=[Temperature(1.0)]):
        torch.testing.assert_close(module(x, x, x, **given)[0], output, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_dtypes(dtype):
    module = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, dtype=dtype)
    x = vectors(BATCH, LENGTH, WIDTH).to(dtype)
    with watch(module) as seen:
        _, weights = module(x, x, x, average_attn_weights=False)
    layer = seen[0]
    assert layer.query.dtype == dtype
    tolerance = 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(layer.weights().double(), weights.detach().double(), rtol=0, atol=tolerance)
    assert layer.verify() < tolerance


def encoder(norm=None, **settings):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2, norm=None if norm is None else norm(WIDTH), **settings).eval()


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("form", ["bool", "float", "left", "nobody"])
@pytest.mark.parametrize("norm", [None, nn.LayerNorm])
def test_padding_is_left_out_where_pytorch_leaves_it_out(norm, form):
    """PyTorch's fast path gives zeros at padded places, whose vectors the path that can be seen computes."""
    model, x = encoder(norm), vectors(BATCH, LENGTH, WIDTH)
    if norm is not None:
        nn.init.normal_(model.norm.bias)
    called = []
    model.layers[0].linear1.register_forward_hook(lambda *_: called.append(1))
    mask = {"left": padding().flip(1), "nobody": torch.zeros_like(padding())}.get(form, padding())
    given = torch.zeros(mask.shape).masked_fill(mask, -torch.inf) if form == "float" else mask
    with torch.no_grad():
        right = model(x, src_key_padding_mask=given)
        del called[:]
        with watch(model) as seen:
            output = model(x, src_key_padding_mask=given)
        assert called == [1]
        torch.testing.assert_close(output, right, rtol=0, atol=1e-5)
        with watch(model, changes=[RemoveHead(2, 1)]):
            changed = model(x, None, given)
        torch.testing.assert_close(model(x, src_key_padding_mask=given), right, rtol=0, atol=0)
    assert seen.verify()["layers.1.self_attn"] < 1e-5
    if form in ("bool", "float"):
        torch.testing.assert_close(changed[mask], right[mask], rtol=0, atol=1e-5)
    assert not torch.allclose(changed[~mask], right[~mask], atol=1e-3)
    assert not model._forward_hooks


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("norm", [None, nn.LayerNorm])
def test_nested_tensors_are_seen_as_padded_ones(norm):
    model, x = encoder(norm), vectors(BATCH, LENGTH, WIDTH)
    nested = torch.nested.nested_tensor([x[0], x[1, :4]])
    with torch.no_grad():
        right = model(nested)
        with watch(model) as seen:
            output = model(src=nested)
    assert output.is_nested
    for one, other in zip(output.unbind(), right.unbind(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
    assert seen.names == ["layers.0.self_attn", "layers.1.self_attn"]
    assert not seen[0].weights()[1, :, :, 4:].any()
    assert max(seen.verify().values()) < 1e-5
    assert not model._forward_pre_hooks


def test_padding_is_computed_where_pytorch_computes_it():
    """With gradients, in training, or under another mode, such as that of a default device."""
    model, x = encoder(enable_nested_tensor=True), vectors(BATCH, LENGTH, WIDTH)
    whole = encoder(enable_nested_tensor=False)(x, src_key_padding_mask=padding())
    assert (whole[padding()].abs().amax(-1) > 0).all()
    with watch(model):
        torch.testing.assert_close(model(x, src_key_padding_mask=padding()), whole, rtol=0, atol=1e-5)
    with torch.no_grad(), torch.device("cpu"), watch(model):
        torch.testing.assert_close(model(x, src_key_padding_mask=padding()), whole, rtol=0, atol=1e-5)


@pytest.mark.parametrize("nested", [False, True])
def test_a_whole_transformer_in_training_and_not(nested):
    model = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(WIDTH, 2, 16, batch_first=True), 2, enable_nested_tensor=nested
    )
    x = vectors(BATCH, LENGTH, WIDTH)
    model.train()
    with watch(model) as seen:
        model(x)
    assert seen.names == ["layers.0.self_attn", "layers.1.self_attn"]
    assert list(seen.verify().values()) == [None, None]  # dropout
    model.eval()
    with warnings.catch_warnings(), watch(model) as seen, torch.inference_mode():
        warnings.simplefilter("ignore")  # PyTorch's own, on nested tensors
        model(x, src_key_padding_mask=padding())
    assert len(seen) == 2
    assert max(seen.verify().values()) < 1e-6


@pytest.mark.parametrize("shape", [(LENGTH, SIZE), (BATCH, LENGTH, SIZE), (2, BATCH, HEADS, LENGTH, SIZE)])
def test_any_number_of_leading_axes(shape):
    x = vectors(*shape)
    with watch(nn.Identity()) as seen:
        functional.scaled_dot_product_attention(x, x, x, is_causal=True)
    expected = (x @ x.mT / SIZE**0.5).masked_fill(torch.ones(LENGTH, LENGTH).triu(1).bool(), -torch.inf).softmax(-1)
    torch.testing.assert_close(seen[0].weights().reshape(expected.shape), expected, rtol=0, atol=1e-6)
    assert seen.verify()[""] < 1e-6


@pytest.mark.parametrize(("queries", "keys"), [(3, 7), (7, 3)])
def test_causal_of_different_lengths_counts_from_the_start_as_pytorch_does(queries, keys):
    query, key = vectors(1, 1, queries, SIZE), vectors(1, 1, keys, SIZE, seed=1)
    with watch(nn.Identity()) as seen:
        functional.scaled_dot_product_attention(query, key, key, is_causal=True)
    assert seen.verify()[""] < 1e-6
    assert seen[0].weights()[0, 0, 0, 1:].abs().sum() == 0


@pytest.mark.filterwarnings("ignore:Lower right causal bias will produce NaNs")
@pytest.mark.parametrize("bias", [(5, 5), (3, 7), (7, 3)], ids=str)
@pytest.mark.parametrize("kind", ["causal_lower_right", "causal_upper_left"])
def test_causal_biases_of_pytorch(kind, bias):
    from torch.nn.attention import bias as biases

    mask = getattr(biases, kind)(*bias)
    query, key = vectors(BATCH, HEADS, bias[0], SIZE), vectors(BATCH, HEADS, bias[1], SIZE, seed=1)
    with watch(nn.Identity()) as seen:
        output = functional.scaled_dot_product_attention(query, key, key, attn_mask=mask)
    torch.testing.assert_close(seen[0].weights() > 0, mask._materialize().expand(BATCH, HEADS, *bias))
    assert isinstance(seen[0].mask, Causal | KeyIntervals)
    assert seen[0].verify() < 1e-6
    with watch(nn.Identity(), changes=[Temperature(1.0)]):
        same = functional.scaled_dot_product_attention(query, key, key, attn_mask=mask)
    torch.testing.assert_close(same, output, rtol=0, atol=1e-6)


def test_a_square_causal_bias_counts_from_the_first_key():
    from torch.nn.attention.bias import causal_lower_right

    query, key = vectors(BATCH, HEADS, 3, SIZE), vectors(BATCH, HEADS, 5, SIZE, seed=1)
    with watch(nn.Identity()) as seen:
        functional.scaled_dot_product_attention(query, key, key, attn_mask=causal_lower_right(5, 5))
    assert (seen[0].weights()[0, 0] > 0).sum(-1).tolist() == [1, 2, 3]
    assert seen[0].verify() < 1e-6


def test_grouped_queries():
    query, key = vectors(BATCH, 6, LENGTH, SIZE), vectors(BATCH, 2, LENGTH, SIZE, seed=1)
    with watch(nn.Identity()) as seen:
        functional.scaled_dot_product_attention(query, key, key, enable_gqa=True)
    assert seen[0].key.shape[1] == 2
    assert seen[0].heads == 6
    assert seen.verify()[""] < 1e-6


@pytest.mark.parametrize(("key_heads", "value_heads"), [(2, 6), (2, 3), (6, 1)])
def test_keys_and_values_are_grouped_each_by_itself(key_heads, value_heads):
    query, key = vectors(BATCH, 6, LENGTH, SIZE), vectors(BATCH, key_heads, LENGTH, SIZE, seed=1)
    value = vectors(BATCH, value_heads, LENGTH, SIZE, seed=2)
    with watch(nn.Identity()) as seen:
        output = functional.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    assert seen.verify()[""] < 1e-6
    each = [int(head * value_heads / 6) for head in range(6)]
    torch.testing.assert_close(seen[0].weights() @ value[:, each], output)


@pytest.mark.parametrize("queries", [LENGTH, 1])
def test_a_mask_of_keys_that_all_items_share(queries):
    x = vectors(BATCH, HEADS, LENGTH, SIZE)
    shown = torch.arange(LENGTH) < LENGTH - 2
    with watch(nn.Identity()) as seen:
        functional.scaled_dot_product_attention(x[:, :, :queries], x, x, attn_mask=shown.expand(queries, LENGTH))
    assert isinstance(seen[0].mask, KeyRange)
    expected = (x[:, :, :queries] @ x.mT / SIZE**0.5).masked_fill(~shown, -torch.inf).softmax(-1)
    torch.testing.assert_close(seen[0].weights(), expected, rtol=0, atol=1e-6)
    assert seen.verify()[""] < 1e-5


def test_flex_attention():
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    x = vectors(1, 2, 128, 16)
    block_mask = flex.create_block_mask(lambda b, h, q, k: q >= k, None, None, 128, 128, device="cpu")
    with watch(nn.Identity()) as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own: it runs uncompiled
        flex.flex_attention(x, x, x, score_mod=lambda s, b, h, i, j: s - (i - j) * 0.1, block_mask=block_mask)
    (layer,) = seen
    assert layer.function == "flex_attention"
    distance = torch.arange(128).unsqueeze(1) - torch.arange(128)
    scores = (x @ x.mT / 4 - distance * 0.1).masked_fill(distance < 0, -torch.inf)
    torch.testing.assert_close(layer.weights(), scores.softmax(-1), rtol=0, atol=1e-6)
    assert layer.verify() < 1e-5


@pytest.mark.parametrize("weights", ["softmax", "relu", "sigmoid", "sparsemax", "entmax", "hard"])
def test_the_operator_itself(weights):
    x = vectors(BATCH, HEADS, LENGTH, SIZE)
    parts = {"score": Additive(vectors(SIZE)), "weights": weights, "mask": Window(2, 1) & Lengths([7, 4])}
    with watch(nn.Identity()) as seen:
        regard.attend(x, x, x, **parts)
    torch.testing.assert_close(seen[0].weights(), regard.weigh(x, x, **parts), rtol=0, atol=0)
    assert seen.verify()[""] < 1e-5


def test_own_layers_are_named():
    model = nn.Sequential(MultiHeadAttention(WIDTH, HEADS), nn.ReLU(), MultiHeadAttention(WIDTH, HEADS))
    with watch(model) as seen:
        model(vectors(BATCH, LENGTH, WIDTH))
    assert seen.names == ["0", "2"]
    assert seen["2"] is seen[1]
    with pytest.raises(ArgumentError, match="one of 0, 2"):
        _ = seen["1"]


def hugging_face():
    """Small random models and their inputs, by name; and how their own weights are listed in the order of the calls."""
    transformers = pytest.importorskip("transformers")
    ids = torch.randint(3, 99, (BATCH, LENGTH), generator=torch.Generator().manual_seed(0))
    text = {"input_ids": ids, "attention_mask": (~padding()).long()}
    both = {**text, "decoder_input_ids": ids}
    picture = {"pixel_values": vectors(BATCH, 3, 16, 16)}
    usual = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40}
    words = {"vocab_size": 99, "pad_token_id": 0}
    pictures = {"image_size": 16, "patch_size": 4}
    grouped = {"num_key_value_heads": 2, "head_dim": 8}
    of = transformers
    return {
        "bert": (of.BertModel, of.BertConfig(**words, **usual), text),
        "gpt2": (of.GPT2Model, of.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4), text),
        "llama": (of.LlamaModel, of.LlamaConfig(**words, **usual, num_key_value_heads=2), text),
        "mistral": (of.MistralModel, of.MistralConfig(**words, **usual, num_key_value_heads=2, sliding_window=3), text),
        "gemma2": (of.Gemma2Model, of.Gemma2Config(**words, **usual, **grouped, sliding_window=3), text),
        "gpt_oss": (
            of.GptOssModel,
            of.GptOssConfig(**words, **usual, **grouped, num_local_experts=2, num_experts_per_tok=2),
            text,
        ),
        "t5": (of.T5Model, of.T5Config(**words, d_model=32, d_kv=8, d_ff=40, num_layers=2, num_heads=4), both),
        "deberta": (
            of.DebertaV2Model,
            of.DebertaV2Config(**words, **usual, relative_attention=True, pos_att_type=["c2p", "p2c"]),
            text,
        ),
        "xlnet": (of.XLNetModel, of.XLNetConfig(vocab_size=99, d_model=32, n_layer=2, n_head=4, d_inner=40), text),
        "whisper": (
            of.WhisperModel,
            of.WhisperConfig(
                **words,
                **dict.fromkeys(("encoder_layers", "decoder_layers"), 2),
                **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
                **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 40),
                d_model=32,
                max_source_positions=10,
                num_mel_bins=8,
                bos_token_id=1,
                eos_token_id=2,
                decoder_start_token_id=1,
            ),
            {"input_features": vectors(BATCH, 8, 20), "decoder_input_ids": ids},
        ),
        "vit": (of.ViTModel, of.ViTConfig(**usual, **pictures), picture),
        "clip": (of.CLIPVisionModel, of.CLIPVisionConfig(**usual, **pictures), picture),
    }


FAMILIES = (
    *("bert", "gpt2", "llama", "mistral", "gemma2", "gpt_oss", "t5", "deberta", "xlnet"),
    *("whisper", "vit", "clip"),
)


# The others have only the eager form.
WITH_SDPA = ("bert", "gpt2", "llama", "mistral", "t5", "whisper", "vit", "clip")


@pytest.mark.parametrize(
    ("family", "implementation"),
    [(family, "eager") for family in FAMILIES] + [(family, "sdpa") for family in WITH_SDPA],
)
@pytest.mark.filterwarnings("ignore")  # transformers' own
def test_hugging_face(family, implementation):
    kind, config, inputs = hugging_face()[family]
    torch.manual_seed(0)
    model = kind(config).eval()
    model.set_attn_implementation(implementation)
    with torch.no_grad():
        with warnings.catch_warnings(), watch(model) as seen:
            warnings.simplefilter("error", PartlySeen)
            output = model(**inputs)
        plain = model(**inputs)
        model.set_attn_implementation("eager")
        own = model(**inputs, output_attentions=True)
    assert torch.equal(output.last_hidden_state, plain.last_hidden_state)
    if "decoder_attentions" in own:
        pairs = zip(own.decoder_attentions, own.cross_attentions, strict=True)
        expected = [*own.encoder_attentions, *(each for pair in pairs for each in pair)]
    else:
        expected = own.attentions
    assert len(seen) == len(expected)
    for layer, weights in zip(seen, expected, strict=True):
        found = layer.weights()
        # Where padding sees nothing, the eager form attends to everything alike, and the others to nothing.
        empty = found.sum(-1, keepdim=True) == 0
        assert not empty[0].any()
        assert not empty[1, :, :4].any()
        torch.testing.assert_close(torch.where(empty, weights, found), weights, rtol=0, atol=1e-5, msg=layer.name)
    assert max(seen.verify().values()) < 1e-5
    assert all(name in dict(model.named_modules()) for name in seen.names)


def test_nothing_is_seen_outside_of_the_block_or_in_other_threads():
    layer, x = nn.MultiheadAttention(WIDTH, HEADS), vectors(LENGTH, BATCH, WIDTH)
    with watch(layer) as seen:
        other = threading.Thread(target=lambda: layer(x, x, x))
        other.start()
        other.join()
        assert len(seen) == 0
        layer(x, x, x)
    layer(x, x, x)
    assert len(seen) == 1


def test_blocks_nest():
    layer, x = nn.MultiheadAttention(WIDTH, HEADS), vectors(LENGTH, BATCH, WIDTH)
    with watch(layer) as outer:
        layer(x, x, x)
        with watch(layer) as inner:
            layer(x, x, x)
        layer(x, x, x)
    assert (len(outer), len(inner)) == (3, 1)


def test_blocks_nest_around_attention_by_hand():
    model, x = Written(normalise=NORMALISERS["exp"]).eval(), vectors(BATCH, LENGTH, WIDTH)
    with watch(model) as outer, watch(model) as inner:
        model(x)
    assert (len(outer), len(inner)) == (1, 1)


def test_the_block_ends_after_an_error():
    layer, x = nn.MultiheadAttention(WIDTH, HEADS), vectors(LENGTH, BATCH, WIDTH)
    seen = []

    def fails():
        with watch(layer) as block:
            seen.append(block)
            layer(x, x, x)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        fails()
    layer(x, x, x)
    assert len(seen[0]) == 1
    assert not torch.overrides._get_current_function_mode_stack()


def test_compiled_models_run_uncompiled_in_the_block():
    model = Written().eval()
    compiled, x = torch.compile(model, backend="eager"), vectors(BATCH, LENGTH, WIDTH)
    expected = compiled(x)
    with watch(compiled) as seen:
        output = compiled(x)
    assert len(seen) == 1
    assert seen.verify().popitem()[1] < 2e-6
    torch.testing.assert_close(output, expected)


@pytest.fixture(scope="module")
def said_anew() -> list[str]:
    """What a fresh process says, in which nothing was compiled yet: a line of plain attention, one of FlexAttention."""
    code = """
import sys, warnings, torch
from regard.inspection import watch
layer = torch.nn.MultiheadAttention(4, 2)
with watch(layer) as seen:
    layer(*[torch.zeros(3, 1, 4)] * 3)
assert len(seen) == 1
print("torch._dynamo" in sys.modules)
from torch.nn.attention.flex_attention import flex_attention
warnings.simplefilter("ignore")
x = torch.randn(1, 1, 128, 16)
with watch(torch.nn.Identity()) as seen:
    flex_attention(x, x, x)
print(len(seen), seen.verify()[""] < 1e-5)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


@pytest.mark.slow
def test_the_compiler_is_not_loaded_where_nothing_is_compiled(said_anew):
    assert said_anew[0] == "False"


def test_flex_attention_is_seen_before_anything_was_compiled(said_anew):
    assert said_anew[1] == "1 True"


def test_checkpointed_layers_are_seen_once():
    model = Written().eval()
    x = vectors(BATCH, LENGTH, WIDTH).requires_grad_()
    with watch(model) as seen:
        output = torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
    output.sum().backward()
    assert len(seen) == 1
    assert x.grad is not None


def test_gradients_are_those_of_the_unwatched_model():
    model = nn.TransformerEncoderLayer(WIDTH, HEADS, 16, dropout=0.0)
    x = vectors(LENGTH, BATCH, WIDTH)
    model(x).square().sum().backward()
    expected = [each.grad.clone() for each in model.parameters()]
    model.zero_grad()
    with watch(model):
        model(x).square().sum().backward()
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        assert torch.equal(parameter.grad, gradient)


def test_later_changes_in_place_leave_the_record():
    class Overwrites(nn.Module):
        def forward(self, x):
            query = x.clone()
            output = functional.scaled_dot_product_attention(query, query, query)
            query.zero_()
            return output

    with watch(model := Overwrites()) as seen:
        model(vectors(1, 1, LENGTH, SIZE))
    assert seen[0].query.abs().sum() > 0
    assert seen.verify()[""] < 1e-6


def test_a_model_without_attention_says_what_was_found():
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    x = torch.zeros(1, 2)
    said = r"in 2 calls of PyTorch's functions\. The model is built of Linear, Tanh"
    with pytest.warns(NothingSeen, match=said), watch(model) as seen:
        model(x)
    assert "No attention was seen" in str(seen)
    with pytest.raises(ArgumentError, match="built of Linear, Tanh"):
        seen.verify()
    with pytest.warns(NothingSeen, match="PyTorch wasn't called"), watch(model):
        pass


def test_what_the_record_cannot_give_again_is_told():
    class Noisy(nn.Module):
        def forward(self, x):
            return functional.scaled_dot_product_attention(x, x, x) if self.training else self.own(x)

        def own(self, x):
            weights = (x @ x.mT).softmax(-1)
            weights.mul_(2.0)
            return weights @ x

    model = Noisy().eval()
    with watch(model) as seen:
        model(vectors(1, 1, LENGTH, SIZE))
    assert seen.verify()[""] < 1e-6
    seen[0].value.add_(1.0)
    with pytest.warns(RecordDiffers, match="the model itself"):
        seen.check()


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf])
def test_what_is_not_finite_is_compared_by_its_place(number, dtype):
    query, key = vectors(1, 2, LENGTH, SIZE).to(dtype), vectors(1, 2, LENGTH, SIZE, seed=1).to(dtype)
    value = key.clone()
    value[0, 0, 3, 1] = number
    with watch(nn.Identity()) as seen:
        functional.scaled_dot_product_attention(query, key, value)
    (layer,) = seen
    assert not layer.outputs[0, 0, :, 1].isfinite().any()
    # What isn't finite says nothing of rounding.
    assert layer.verify() <= layer.tolerance < 0.1
    right = layer.outputs.clone()
    for other in (0.0, torch.nan, torch.inf, -torch.inf):
        layer.outputs = right.clone()
        layer.outputs[0, 0, 2, 1] = other
        assert (layer.verify() == torch.inf) == (str(other) != str(number))
    layer.outputs = right.clone()
    layer.outputs[0, 1, 2, 3] += 0.5
    with pytest.warns(RecordDiffers, match="gave by 0.5"):
        seen.check()


class Unrecorded(nn.Module):
    """Attention that no record can hold, beside attention that one can."""

    def __init__(self, way):
        super().__init__()
        self.way = way
        self.other = MultiHeadAttention(WIDTH, HEADS)

    def forward(self, x):
        return self.other(x), getattr(self, self.way)(x.unflatten(2, (HEADS, SIZE)).transpose(1, 2))

    def vmapped(self, x):
        return torch.vmap(lambda x: functional.scaled_dot_product_attention(x, x, x, is_causal=True))(x)

    def by_hand(self, x):
        return torch.vmap(torch.vmap(lambda x: (x @ x.mT).softmax(-1) @ x))(x)

    def einsum(self, x):
        weights = torch.vmap(lambda x: torch.softmax(torch.einsum("hqd,hkd->hqk", x, x), -1))
        return torch.einsum("bhqk,bhkd->bhqd", weights(x), x)

    def gradients(self, x):
        return torch.vmap(torch.func.grad(lambda x: functional.scaled_dot_product_attention(x, x, x).sum()))(x)

    def float8(self, x):
        weights = (x @ x.mT).softmax(-1).to(torch.float8_e4m3fn)
        return (weights.unsqueeze(-1) * x.to(torch.float8_e4m3fn).unsqueeze(-3)).float().sum(-2)

    def integers(self, x):
        return ((x @ x.mT).softmax(-1).unsqueeze(-1) * (9 * x).int().unsqueeze(-3)).sum(-2)


@pytest.mark.filterwarnings("ignore:There is a performance drop because we have not yet implemented the batching rule")
@pytest.mark.parametrize("way", ["vmapped", "by_hand", "einsum", "gradients", "float8", "integers"])
def test_what_no_record_can_hold_goes_on_and_is_told(way):
    model, x = Unrecorded(way).eval(), vectors(BATCH, LENGTH, WIDTH)
    right = model(x)
    why = {"float8": "are of float32 and float8_e4m3fn", "integers": "are of float32 and int32"}
    told = f"Attention in the model itself .* {why.get(way, 'inside of torch.vmap')}"
    with pytest.warns(PartlySeen, match=told), watch(model) as seen:
        output = model(x)
    assert seen.names == ["other"]
    torch.testing.assert_close(output[1], right[1], rtol=0, atol=0)
    with pytest.warns(PartlySeen), watch(model, changes=[RemoveHead(None, 1)]):
        changed = model(x)
    torch.testing.assert_close(changed[1], right[1], rtol=0, atol=0)
    assert not torch.equal(changed[0], right[0])
    model.other = nn.Identity()
    with pytest.warns(NothingSeen, match=why.get(way, "inside of torch.vmap")), watch(model):
        model(x)


def test_what_is_computed_inside_of_vmap_beside_attention_is_no_attention():
    class Masked(nn.Module):
        def forward(self, x):
            numbers = torch.arange(LENGTH)
            mask = torch.vmap(lambda i: torch.vmap(lambda j: j <= i)(numbers))(numbers)
            return functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)

    with watch(model := Masked()) as seen:
        model(vectors(BATCH, HEADS, LENGTH, SIZE))
    assert seen[0].mask == Causal()


def test_fewer_rows_than_none_are_refused():
    with pytest.raises(ArgumentError, match="`rows` must be a number of queries, 0 or more, but is -1"):
        watch(nn.Identity(), rows=-1).__enter__()


def test_a_linear_classifier_is_no_attention():
    class Gate(nn.Module):
        def forward(self, x):
            return (x @ x.mT).sum(-1), torch.sigmoid(x) @ x.mT

    with pytest.warns(NothingSeen), watch(model := Gate()):
        model(vectors(3, 4))


def test_the_log_sums_give_the_weights():
    query, key = vectors(BATCH, HEADS, LENGTH, SIZE), vectors(BATCH, HEADS, LENGTH, SIZE, seed=1)
    with watch(nn.Identity()) as seen:
        functional.scaled_dot_product_attention(query, key, key, is_causal=True)
    (layer,) = seen
    allowed = torch.ones(LENGTH, LENGTH).tril().bool()
    scores = (query @ key.mT / SIZE**0.5).masked_fill(~allowed, -torch.inf)
    torch.testing.assert_close(layer.log_sums, scores.logsumexp(-1), rtol=0, atol=1e-5)
