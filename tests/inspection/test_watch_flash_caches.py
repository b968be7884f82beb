"""`watch` of flash-attn's functions of stacked tensors and of caches: stand-ins with their signatures and layouts."""

import itertools
import sys
import types

import pytest
import torch
from torch import Tensor, nn

from regard.attention import Causal
from regard.inspection import NothingSeen, RemoveHead, watch

BATCH, LENGTH, HEADS, KEY_HEADS, SIZE = 3, 5, 4, 2, 8


def vectors(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def item(q, k, v, scale=None, causal=False, window=(-1, -1), softcap=0.0, slopes=None, first=0):
    """The outputs and weights of one item, pair by pair; all is counted from the last key, as the documentation says.

    Args:
        q, k, v: (length, head, feature).
        first: the number of the first key that is there.
    """
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    left, right = window[0], 0 if causal else window[1]
    weights = torch.zeros(q.shape[1], len(q), len(k))
    for head, i in itertools.product(range(q.shape[1]), range(len(q))):
        at = i + len(k) - len(q)
        row = [j for j in range(first, len(k)) if (left < 0 or j >= at - left) and (right < 0 or j <= at + right)]
        products = [scale * float(q[i, head] @ k[j, head * k.shape[1] // q.shape[1]]) for j in row]
        scores = torch.tensor(products)
        scores = softcap * torch.tanh(scores / softcap) if softcap else scores
        if slopes is not None:
            scores = scores - slopes[head] * torch.tensor([abs(at - j) for j in row])
        weights[head, i, row] = scores.softmax(0)
    return torch.einsum("hqk,khd->qhd", weights, v.repeat_interleave(q.shape[1] // v.shape[1], 1)), weights


class FlashAttention2:
    """The functions of version 2, each with its arguments in their order.

    Attributes:
        weights: what the last call attended with, a table for each item.
    """

    def __init__(self):
        self.weights: list[Tensor] = []

    def answer(self, results):
        outputs, self.weights = (list(each) for each in zip(*results, strict=True))
        return outputs

    def functions(self):
        def flash_attn_qkvpacked_func(
            qkv,
            dropout_p=0.0,
            softmax_scale=None,
            causal=False,
            window_size=(-1, -1),
            softcap=0.0,
            alibi_slopes=None,
            deterministic=False,
            return_attn_probs=False,
        ):
            rules = softmax_scale, causal, window_size, softcap, alibi_slopes
            return torch.stack(self.answer(item(*each.unbind(1), *rules) for each in qkv))

        def flash_attn_kvpacked_func(
            q,
            kv,
            dropout_p=0.0,
            softmax_scale=None,
            causal=False,
            window_size=(-1, -1),
            softcap=0.0,
            alibi_slopes=None,
            deterministic=False,
            return_attn_probs=False,
        ):
            rules = softmax_scale, causal, window_size, softcap, alibi_slopes
            return torch.stack(self.answer(item(one, *two.unbind(1), *rules) for one, two in zip(q, kv, strict=True)))

        def flash_attn_varlen_qkvpacked_func(
            qkv,
            cu_seqlens,
            max_seqlen,
            dropout_p=0.0,
            softmax_scale=None,
            causal=False,
            window_size=(-1, -1),
            softcap=0.0,
            alibi_slopes=None,
            deterministic=False,
            return_attn_probs=False,
        ):
            rules = softmax_scale, causal, window_size, softcap, alibi_slopes
            places = itertools.pairwise(cu_seqlens.tolist())
            return torch.cat(self.answer(item(*qkv[a:b].unbind(1), *rules) for a, b in places))

        def flash_attn_varlen_kvpacked_func(
            q,
            kv,
            cu_seqlens_q,
            cu_seqlens_k,
            max_seqlen_q,
            max_seqlen_k,
            dropout_p=0.0,
            softmax_scale=None,
            causal=False,
            window_size=(-1, -1),
            softcap=0.0,
            alibi_slopes=None,
            deterministic=False,
            return_attn_probs=False,
        ):
            rules = softmax_scale, causal, window_size, softcap, alibi_slopes
            places = zip(*(itertools.pairwise(each.tolist()) for each in (cu_seqlens_q, cu_seqlens_k)), strict=True)
            return torch.cat(self.answer(item(q[a:b], *kv[c:d].unbind(1), *rules) for (a, b), (c, d) in places))

        def flash_attn_with_kvcache(
            q,
            k_cache,
            v_cache,
            k=None,
            v=None,
            rotary_cos=None,
            rotary_sin=None,
            cache_seqlens=None,
            cache_batch_idx=None,
            cache_leftpad=None,
            block_table=None,
            softmax_scale=None,
            causal=False,
            window_size=(-1, -1),
            softcap=0.0,
            rotary_interleaved=True,
            alibi_slopes=None,
            num_splits=0,
            return_softmax_lse=False,
        ):
            rules, results = (softmax_scale, causal, window_size, softcap, alibi_slopes), []
            for number in range(len(q)):
                lengths = torch.as_tensor(k_cache.shape[1] if cache_seqlens is None else cache_seqlens)
                count = int(lengths.expand(len(q))[number])
                if block_table is not None:
                    caches = [torch.cat([each[place] for place in block_table[number]]) for each in (k_cache, v_cache)]
                else:
                    row = number if cache_batch_idx is None else int(cache_batch_idx[number])
                    caches = [k_cache[row], v_cache[row]]
                if k is not None:
                    # The caches are changed in place.
                    for cache, new in zip(caches, (k[number], v[number]), strict=True):
                        cache[count : count + len(new)] = new
                    count += k.shape[1]
                first = 0 if cache_leftpad is None else int(cache_leftpad[number])
                results.append(item(q[number], *(each[:count] for each in caches), *rules, first=first))
            outputs = torch.stack(self.answer(results))
            return (outputs, torch.zeros(1)) if return_softmax_lse else outputs

        return (
            flash_attn_qkvpacked_func,
            flash_attn_kvpacked_func,
            flash_attn_varlen_qkvpacked_func,
            flash_attn_varlen_kvpacked_func,
            flash_attn_with_kvcache,
        )


class Calling(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, *args, **kwargs):
        return getattr(sys.modules["flash_attn"], self.name)(*args, **kwargs)


@pytest.fixture
def flash(monkeypatch):
    stand, module = FlashAttention2(), types.ModuleType("flash_attn")
    for function in stand.functions():
        setattr(module, function.__name__, function)
    monkeypatch.setitem(sys.modules, "flash_attn", module)
    return stand


def seen_of(stand, name, *args, **kwargs):
    """The record of a call, after its weights were compared with those of the function itself, item by item."""
    with watch(model := Calling(name), rows=20) as seen:
        model(*args, **kwargs)
    (layer,) = seen
    assert layer.function == name
    assert layer.verify() < 1e-5
    found, row, column = layer.weights(), 0, 0
    for number, own in enumerate(stand.weights):
        # Of items one behind the other each is a block on the diagonal.
        one_by_one = len(found) > 1 or len(stand.weights) == 1
        part = found[number] if one_by_one else found[0, :, row : row + own.shape[1]]
        start = 0 if one_by_one else column
        torch.testing.assert_close(part[..., start : start + own.shape[2]], own, rtol=0, atol=1e-5)
        assert not part[..., :start].any()
        assert not part[..., start + own.shape[2] :].any()
        row, column = row + own.shape[1], column + own.shape[2]
    return layer


SETTINGS = [
    {},
    {"causal": True},
    {"window_size": (2, 1)},
    {"causal": True, "softcap": 2.0, "softmax_scale": 0.7},
]
SLOPES = {"alibi_slopes": torch.tensor([0.5, 0.25, 0.1, 1.0])}


@pytest.mark.parametrize("settings", [*SETTINGS, SLOPES])
def test_one_tensor_for_queries_keys_and_values(flash, settings):
    layer = seen_of(flash, "flash_attn_qkvpacked_func", vectors(BATCH, LENGTH, 3, HEADS, SIZE), **settings)
    assert isinstance(layer.mask, Causal) == (settings.get("causal", False))


@pytest.mark.parametrize("settings", [*SETTINGS, SLOPES])
def test_one_tensor_for_keys_and_values(flash, settings):
    q, kv = vectors(BATCH, 3, HEADS, SIZE), vectors(BATCH, 7, 2, KEY_HEADS, SIZE, seed=1)
    layer = seen_of(flash, "flash_attn_kvpacked_func", q, kv, **settings)
    assert layer.key.shape == (BATCH, KEY_HEADS, 7, SIZE)


@pytest.mark.parametrize("settings", SETTINGS)
def test_packed_items_of_one_tensor(flash, settings):
    starts = torch.tensor([0, 3, 4, 8], dtype=torch.int32)
    qkv = vectors(8, 3, HEADS, SIZE)
    seen_of(flash, "flash_attn_varlen_qkvpacked_func", qkv, starts, 4, **settings)


@pytest.mark.parametrize("settings", SETTINGS)
def test_packed_items_of_one_tensor_for_keys_and_values(flash, settings):
    q, kv = vectors(7, HEADS, SIZE), vectors(11, 2, KEY_HEADS, SIZE, seed=1)
    starts = torch.tensor([0, 3, 7], dtype=torch.int32), torch.tensor([0, 5, 11], dtype=torch.int32)
    seen_of(flash, "flash_attn_varlen_kvpacked_func", q, kv, *starts, 4, 6, **settings)


def caches(count=12, batch=BATCH):
    return vectors(batch, count, KEY_HEADS, SIZE, seed=1), vectors(batch, count, KEY_HEADS, SIZE, seed=2)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("queries", [1, 3])
def test_new_keys_are_written_to_a_cache_first(flash, settings, queries):
    q, key, value = vectors(BATCH, queries, HEADS, SIZE), *caches()
    new = vectors(BATCH, queries, KEY_HEADS, SIZE, seed=3), vectors(BATCH, queries, KEY_HEADS, SIZE, seed=4)
    counts = torch.tensor([5, 0, 8], dtype=torch.int32)
    layer = seen_of(flash, "flash_attn_with_kvcache", q, key, value, *new, cache_seqlens=counts, **settings)
    assert layer.key.shape == (BATCH, KEY_HEADS, 8 + queries, SIZE)
    # The function itself ran once, and wrote them.
    assert torch.equal(key[0, 5 : 5 + queries], new[0][0])


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"cache_seqlens": 7},
        {"cache_seqlens": torch.tensor([7, 4, 2]), "causal": True},
        {"cache_leftpad": torch.tensor([0, 3, 1]), "cache_seqlens": torch.tensor([7, 6, 4])},
        {"return_softmax_lse": True, "num_splits": 2},
        {"cache_seqlens": 7, **SLOPES},
    ],
)
def test_a_cache_without_new_keys(flash, settings):
    seen_of(flash, "flash_attn_with_kvcache", vectors(BATCH, 2, HEADS, SIZE), *caches(), **settings)


def test_items_of_a_larger_cache_and_blocks(flash):
    q, counts = vectors(BATCH, 2, HEADS, SIZE), torch.tensor([7, 4, 2])
    chosen = {"cache_batch_idx": torch.tensor([4, 0, 2]), "cache_seqlens": counts}
    seen_of(flash, "flash_attn_with_kvcache", q, *caches(batch=5), **chosen)
    blocks = {"block_table": torch.tensor([[4, 2], [0, 1], [3, 5]], dtype=torch.int32), "cache_seqlens": counts}
    seen_of(flash, "flash_attn_with_kvcache", q, *caches(count=4, batch=6), **blocks)


def test_steps_of_generation_are_joined(flash):
    """A cache that grows by one key for each query is one causal call."""

    class Steps(nn.Module):
        def forward(self, q, k, v):
            key, value = torch.zeros(1, 9, KEY_HEADS, SIZE), torch.zeros(1, 9, KEY_HEADS, SIZE)
            for at in range(4):
                one = (each[:, at : at + 1] for each in (k, v))
                sys.modules["flash_attn"].flash_attn_with_kvcache(
                    q[:, at : at + 1], key, value, *one, cache_seqlens=at, causal=True
                )

    q, k, v = vectors(1, 4, HEADS, SIZE), vectors(1, 4, KEY_HEADS, SIZE, seed=1), vectors(1, 4, KEY_HEADS, SIZE, seed=2)
    with watch(model := Steps()) as seen:
        model(q, k, v)
    whole = seen.joined()
    assert (len(seen), len(whole), whole[0].mask) == (4, 1, Causal())
    torch.testing.assert_close(whole[0].weights()[0], item(q[0], k[0], v[0], causal=True)[1], rtol=0, atol=1e-5)


def test_a_changed_call_writes_its_keys_once(flash):
    q, key, value = vectors(BATCH, 1, HEADS, SIZE), *caches()
    new = vectors(BATCH, 1, KEY_HEADS, SIZE, seed=3), vectors(BATCH, 1, KEY_HEADS, SIZE, seed=4)
    with watch(model := Calling("flash_attn_with_kvcache"), changes=[RemoveHead(1, 2)]):
        output = model(q, key, value, *new, cache_seqlens=3)
    assert not output[:, :, 1].any()
    assert output[:, :, 0].all()
    assert torch.equal(key[:, 3:4], new[0])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"rotary_cos": torch.ones(12, 4)}, "`rotary_cos` isn't read"),
        ({"k": vectors(BATCH, 1, KEY_HEADS, SIZE)}, "new keys without `cache_seqlens`"),
        ({"cache_seqlens": torch.tensor([7, 6, 4]), **SLOPES}, "`alibi_slopes` of items of other lengths"),
    ],
)
def test_what_is_not_read_is_named(flash, monkeypatch, settings, said):
    def flash_attn_with_kvcache(q, k_cache, v_cache, k=None, rotary_cos=None, cache_seqlens=None, alibi_slopes=None):
        return q

    monkeypatch.setattr(sys.modules["flash_attn"], "flash_attn_with_kvcache", flash_attn_with_kvcache)
    with pytest.warns(NothingSeen, match=said), watch(model := Calling("flash_attn_with_kvcache")):
        model(vectors(BATCH, 1, HEADS, SIZE), *caches(), **settings)


def test_version_3_has_heads_one_behind_the_other_and_chunks(flash, monkeypatch):
    def flash_attn_qkvpacked_func(
        qkv,
        softmax_scale=None,
        causal=False,
        q_descale=None,
        k_descale=None,
        v_descale=None,
        window_size=(-1, -1),
        attention_chunk=0,
        softcap=0.0,
        deterministic=False,
        num_heads_q=None,
        sm_margin=0,
        return_attn_probs=False,
    ):
        q, k, v = qkv.split([num_heads_q, *[(qkv.shape[2] - num_heads_q) // 2] * 2], 2)
        rules = softmax_scale, causal, window_size, softcap
        return torch.stack(flash.answer(item(*each, *rules) for each in zip(q, k, v, strict=True)))

    monkeypatch.setattr(sys.modules["flash_attn"], "flash_attn_qkvpacked_func", flash_attn_qkvpacked_func)
    qkv = vectors(BATCH, LENGTH, HEADS + 2 * KEY_HEADS, SIZE)
    layer = seen_of(flash, "flash_attn_qkvpacked_func", qkv, num_heads_q=HEADS, causal=True)
    assert layer.key.shape == (BATCH, KEY_HEADS, LENGTH, SIZE)
    # Chunks hide keys, so a call with them isn't what the record would say.
    with pytest.warns(NothingSeen, match="`attention_chunk` isn't read"), watch(model := Calling(layer.function)):
        model(qkv, num_heads_q=HEADS, attention_chunk=2)
