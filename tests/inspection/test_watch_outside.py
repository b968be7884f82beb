"""`watch` of functions outside of PyTorch: stand-ins with the signatures and layouts of flash-attn and of xformers."""

import itertools
import sys
import threading
import types

import pytest
import torch
from torch import Tensor, nn

from regard.attention import Causal, Dot, Window
from regard.attention.masks import KeyRange
from regard.inspection import NothingSeen, RemoveHead, watch
from regard.inspection.capture.by_hand.rules import Distances, KeyIntervals

BATCH, HEADS, SIZE = 2, 4, 8


def vectors(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def attention(q, k, v, scores, allowed):
    """Heads one by one: the outputs (query, head, feature) and the weights (head, query, key) of one item.

    Args:
        q, k, v: (length, head, feature).
        scores: what becomes of a product of a query and a key, (product, head, query, key).
        allowed: whether a query may attend to a key.
    """
    dtype, heads, group = q.dtype, q.shape[1], q.shape[1] // k.shape[1]
    q, k, v = (each.float() for each in (q, k, v))
    weights = torch.zeros(heads, len(q), len(k))
    for head in range(heads):
        for i in range(len(q)):
            row = [j for j in range(len(k)) if allowed(i, j)]
            if row:
                products = [scores(q[i, head] @ k[j, head // group], head, i, j) for j in row]
                weights[head, i, row] = torch.stack(products).softmax(0)
    return torch.einsum("hqk,khd->qhd", weights, v.repeat_interleave(group, 1)).to(dtype), weights


def flash(q, k, v, scale, causal, window, softcap, slopes):
    """What the documentation of flash-attn says of one item: all is counted from the last key."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    left, right = (None if each is None or each < 0 else each for each in window)
    right, later = 0 if causal else right, len(k) - len(q)

    def allowed(i, j):
        at = i + later
        return (left is None or j >= at - left) and (right is None or j <= at + right)

    def scores(product, head, i, j):
        score = softcap * torch.tanh(product * scale / softcap) if softcap else product * scale
        return score if slopes is None else score - slopes[head] * abs(i + later - j)

    return attention(q, k, v, scores, allowed)


class Stand:
    """Modules in the place of those that aren't installed.

    Attributes:
        weights: what the last call attended with.
    """

    def __init__(self, put):
        self.weights = torch.zeros(0)
        self.put = put

    def flash_2(self):
        def flash_attn_func(
            q,
            k,
            v,
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
            each = [flash(*item, *rules) for item in zip(q, k, v, strict=True)]
            output, self.weights = (torch.stack(parts) for parts in zip(*each, strict=True))
            return (output, torch.zeros(1), None) if return_attn_probs else output

        def flash_attn_varlen_func(
            q,
            k,
            v,
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
            block_table=None,
        ):
            output, self.weights = torch.zeros_like(q), torch.zeros(1, q.shape[1], len(q), len(k))
            places = [itertools.pairwise(each) for each in (cu_seqlens_q, cu_seqlens_k)]
            for (a, b), (c, d) in zip(*places, strict=True):
                own = flash(q[a:b], k[c:d], v[c:d], softmax_scale, causal, window_size, softcap, alibi_slopes)
                output[a:b], self.weights[0, :, a:b, c:d] = own
            return output

        package = self.module("flash_attn", flash_attn_func, flash_attn_varlen_func)
        self.module("flash_attn.flash_attn_interface", flash_attn_func, flash_attn_varlen_func)
        return package

    def flash_4(self):
        def flash_attn_func(
            q,
            k,
            v,
            softmax_scale=None,
            causal=False,
            window_size=(None, None),
            learnable_sink=None,
            softcap=0.0,
            num_splits=1,
            pack_gqa=None,
            deterministic=False,
            mask_mod=None,
            return_lse=False,
        ):
            rules = softmax_scale, causal, window_size, softcap, None
            each = [flash(*item, *rules) for item in zip(q, k, v, strict=True)]
            output, self.weights = (torch.stack(parts) for parts in zip(*each, strict=True))
            return output, None

        return self.module("flash_attn.cute", flash_attn_func)

    def xformers(self):
        def memory_efficient_attention(query, key, value, attn_bias=None, p=0.0, scale=None, *, op=None):
            """As its documentation writes it out: softmax(query / sqrt(feature) @ key^T + attn_bias) @ value."""
            shape = query.shape
            if query.ndim == 3:
                query, key, value = (each.unsqueeze(2) for each in (query, key, value))
            elif query.ndim == 5:
                query, key, value = (each.reshape(*each.shape[:2], -1, each.shape[-1]) for each in (query, key, value))
            query, key, value = (each.transpose(1, 2) for each in (query, key, value))
            scores = (query * (query.shape[-1] ** -0.5 if scale is None else scale)) @ key.transpose(-2, -1)
            if attn_bias is not None:
                bias = attn_bias if isinstance(attn_bias, Tensor) else attn_bias.materialize(scores.shape)
                scores = scores + (bias.unsqueeze(1) if bias.ndim == 3 else bias)
            self.weights = scores.softmax(-1)
            return (self.weights @ value).transpose(1, 2).reshape(shape)

        return self.module("xformers.ops", memory_efficient_attention)

    def module(self, name, *functions):
        module = types.ModuleType(name)
        for function in functions:
            setattr(module, function.__name__, function)
        self.put(name, module)
        return module


class Calling(nn.Module):
    """A model that calls a function by the name that it imported."""

    def __init__(self, function_of):
        super().__init__()
        self.attention = nn.Identity()
        self.function_of = function_of

    def forward(self, *args, **kwargs):
        return self.function_of()(*args, **kwargs)


@pytest.fixture
def stand(monkeypatch):
    return Stand(lambda name, module: monkeypatch.setitem(sys.modules, name, module))


def seen_of(stand, module, name, *args, **kwargs):
    """The record of a call, after its outputs and weights were compared with those of the function itself."""
    plain = getattr(module, name)(*args, **kwargs)
    own = stand.weights
    model = Calling(lambda: getattr(module, name))
    with watch(model) as seen:
        output = model(*args, **kwargs)
    first = output[0] if isinstance(output, tuple) else output
    assert type(output) is type(plain)
    assert torch.equal(first, plain[0] if isinstance(plain, tuple) else plain)
    (layer,) = seen
    torch.testing.assert_close(layer.weights(), own, rtol=0, atol=1e-6)
    assert layer.verify() < 1e-6
    return layer


CASES = {
    "plain": ({}, type(None)),
    "causal": ({"causal": True}, Causal),
    "window": ({"window_size": (2, 1)}, Window),
    "window of one side": ({"window_size": (1, -1)}, Window),
    "causal window": ({"window_size": (2, 5), "causal": True}, Window),
    "scale and cap": ({"softmax_scale": 0.7, "softcap": 1.5}, type(None)),
    "alibi": ({"alibi_slopes": torch.tensor([0.5, 0.25, 0.1, 1.0])}, type(None)),
    "causal alibi": ({"alibi_slopes": torch.tensor([0.5, 0.25, 0.1, 1.0]), "causal": True}, Causal),
    "more than the output": ({"return_attn_probs": True}, type(None)),
}


@pytest.mark.parametrize(("queries", "keys", "key_heads"), [(5, 5, 4), (3, 7, 2), (6, 4, 1)])
@pytest.mark.parametrize("case", CASES)
def test_flash_attn(stand, case, queries, keys, key_heads):
    settings, mask = CASES[case]
    q = vectors(BATCH, queries, HEADS, SIZE)
    k, v = (vectors(BATCH, keys, key_heads, SIZE, seed=seed) for seed in (1, 2))
    layer = seen_of(stand, stand.flash_2(), "flash_attn_func", q, k, v, **settings)
    assert layer.function == "flash_attn_func"
    assert isinstance(layer.mask, mask)
    assert layer.key.shape == (BATCH, key_heads, keys, SIZE)
    if "alibi" in case:
        assert isinstance(layer.position, Distances)


def test_a_hand_worked_window_counts_from_the_last_key(stand):
    """Two queries have the positions of the last two of five keys; each sees one key before its own."""
    q, k = torch.zeros(1, 2, 1, SIZE), torch.zeros(1, 5, 1, SIZE)
    layer = seen_of(stand, stand.flash_2(), "flash_attn_func", q, k, k, window_size=(1, 0))
    assert layer.weights()[0, 0].tolist() == [[0, 0, 0.5, 0.5, 0], [0, 0, 0, 0.5, 0.5]]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("window_size", [(None, None), (2, 0)])
def test_version_4_has_another_order_of_arguments(stand, causal, window_size):
    q, k, v = (vectors(BATCH, 5, HEADS, SIZE, seed=seed) for seed in range(3))
    layer = seen_of(stand, stand.flash_4(), "flash_attn_func", q, k, v, 0.3, causal, window_size)
    assert layer.score == Dot(0.3)


@pytest.mark.parametrize("settings", [{}, {"causal": True}, {"window_size": (1, 1)}, {"causal": True, "softcap": 2.0}])
def test_packed_items(stand, settings):
    """Three items of 3, 0 and 4 queries, and 5, 2 and 4 keys."""
    q = vectors(7, HEADS, SIZE)
    k, v = vectors(11, 2, SIZE, seed=1), vectors(11, 2, SIZE, seed=2)
    starts = torch.tensor([0, 3, 3, 7], dtype=torch.int32), torch.tensor([0, 5, 7, 11], dtype=torch.int32)
    layer = seen_of(stand, stand.flash_2(), "flash_attn_varlen_func", q, k, v, *starts, 4, 5, **settings)
    assert isinstance(layer.mask, KeyIntervals)
    assert not layer.weights()[0, :, :3, 5:].any()


def test_one_packed_item_is_a_causal_one(stand):
    q, k = vectors(5, HEADS, SIZE), vectors(5, HEADS, SIZE, seed=1)
    starts = torch.tensor([0, 5], dtype=torch.int32)
    layer = seen_of(stand, stand.flash_2(), "flash_attn_varlen_func", q, k, k, starts, starts, 5, 5, causal=True)
    assert layer.mask == Causal()


class Bias:
    """What xformers' masks offer."""

    def __init__(self, allowed):
        self.allowed = allowed

    def materialize(self, shape, dtype=torch.float32, device="cpu"):
        queries, keys = (torch.arange(size, device=device) for size in shape[-2:])
        return torch.where(self.allowed(queries[:, None], keys), 0.0, -torch.inf).to(dtype).expand(shape)


class LowerTriangularMask(Bias):
    def __init__(self):
        super().__init__(lambda query, key: key <= query)


@pytest.mark.parametrize(
    ("bias", "mask"),
    [
        (None, type(None)),
        (LowerTriangularMask(), KeyIntervals),
        (Bias(lambda query, key: (key >= query) & (key <= query + 4)), Window),
        (Bias(lambda query, key: key < 6 + 0 * query), KeyRange),
        (vectors(BATCH, HEADS, 3, 7, seed=3), type(None)),
    ],
)
def test_xformers(stand, bias, mask):
    q, k, v = (vectors(BATCH, size, HEADS, SIZE, seed=size) for size in (3, 7, 7))
    layer = seen_of(stand, stand.xformers(), "memory_efficient_attention", q, k, v, attn_bias=bias)
    assert isinstance(layer.mask, mask)


def test_xformers_without_heads_and_with_groups_of_heads(stand):
    module = stand.xformers()
    q, k = vectors(BATCH, 3, SIZE), vectors(BATCH, 7, SIZE, seed=1)
    bias = vectors(BATCH, 3, 7, seed=2)
    layer = seen_of(stand, module, "memory_efficient_attention", q, k, k, bias, scale=0.5)
    assert layer.heads == 1
    q, k = vectors(BATCH, 3, 2, 3, SIZE), vectors(BATCH, 7, 2, 1, SIZE, seed=1).expand(-1, -1, -1, 3, -1)
    layer = seen_of(stand, module, "memory_efficient_attention", q, k, k)
    assert layer.heads == 6


@pytest.mark.parametrize("name", ["learnable_sink", "mask_mod"])
def test_an_argument_that_is_not_read_keeps_the_call_out_and_is_named(stand, name):
    module = stand.flash_4()
    q = vectors(BATCH, 5, HEADS, SIZE)
    model = Calling(lambda: module.flash_attn_func)
    with pytest.warns(NothingSeen, match=f"the model itself isn't in the record: .*`{name}` isn't read"), watch(model):
        model(q, q, q, **{name: torch.zeros(HEADS)})


def test_packed_items_with_slopes_are_not_read(stand):
    module = stand.flash_2()
    q, starts = vectors(5, HEADS, SIZE), torch.tensor([0, 5])
    model = Calling(lambda: module.flash_attn_varlen_func)
    with pytest.warns(NothingSeen, match="`alibi_slopes` of packed items"), watch(model):
        model(q, q, q, starts, starts, 5, 5, alibi_slopes=torch.ones(HEADS))


def test_half_precision(stand):
    module = stand.flash_2()
    q, k, v = (vectors(BATCH, 5, HEADS, SIZE, seed=seed).bfloat16() for seed in range(3))
    model = Calling(lambda: module.flash_attn_func)
    with watch(model) as seen:
        model(q, k, v, causal=True)
    assert seen[0].verify() < 1e-2


def test_a_head_is_removed(stand):
    module = stand.flash_2()
    q = vectors(BATCH, 5, HEADS, SIZE)
    model = Calling(lambda: module.flash_attn_func)
    plain = model(q, q, q, return_attn_probs=True)
    with watch(model, changes=[RemoveHead(1, 2)]):
        changed = model(q, q, q, return_attn_probs=True)
    assert not changed[0][:, :, 1].any()
    torch.testing.assert_close(changed[0][:, :, [0, 2, 3]], plain[0][:, :, [0, 2, 3]])
    assert len(changed) == 3


def test_every_module_that_imported_a_function_is_seen_and_nothing_stays(stand):
    package = stand.flash_2()
    original = package.flash_attn_func
    importing = stand.module("imports_flash", original)
    q = vectors(BATCH, 5, HEADS, SIZE)
    model = Calling(lambda: importing.flash_attn_func)
    with watch(model) as outer, watch(model) as inner:
        model(q, q, q)
        during = stand.module("imported_during", importing.flash_attn_func)
    assert (len(outer), len(inner)) == (1, 1)
    interface = sys.modules["flash_attn.flash_attn_interface"]
    assert all(each.flash_attn_func is original for each in (package, interface, importing, during))


def test_other_threads_call_the_function_itself(stand):
    package = stand.flash_2()
    q = vectors(BATCH, 5, HEADS, SIZE)
    model = Calling(lambda: package.flash_attn_func)
    other = threading.Thread(target=model, args=(q, q, q))

    def run_it():
        other.start()
        other.join()

    with pytest.warns(NothingSeen), watch(model):
        run_it()
    assert stand.weights.shape == (BATCH, HEADS, 5, 5)
