"""A watched backend of vLLM, on a stand-in with the interface of vLLM's backends: a cache in blocks, many requests."""

import warnings
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from regard.attention import Causal, Window
from regard.errors import ArgumentError
from regard.inspection import NotRecorded, Seen, watched_backend

HEADS, KEY_HEADS, SIZE, BLOCK, BLOCKS = 4, 2, 8, 16, 9


def vectors(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def attention(query, key, value, scale, window, cap):
    """The outputs (query, head, feature) and weights (head, query, key) of one request, aligned at the end."""
    key, value = (each.repeat_interleave(HEADS // KEY_HEADS, 1) for each in (key, value))
    scores = torch.einsum("qhd,khd->hqk", query, key) * scale
    scores = cap * (scores / cap).tanh() if cap else scores
    at = torch.arange(len(query))[:, None] + len(key) - len(query)
    keys = torch.arange(len(key))
    hidden = (keys > at) | (keys < at - window[0]) if window[0] >= 0 else keys > at
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
    return torch.einsum("hqk,khd->qhd", weights, value), weights


class Implementation:
    """What a layer computes with, as vLLM's AttentionImpl: it writes the new keys to the cache, and attends."""

    def __init__(self, **settings):
        self.num_heads, self.head_size, self.num_kv_heads = HEADS, SIZE, KEY_HEADS
        self.scale, self.sliding_window, self.logits_soft_cap = SIZE**-0.5, (-1, -1), 0
        self.alibi_slopes = self.sinks = None
        vars(self).update(settings)

    def forward(self, layer, query, key, value, kv_cache, attn_metadata, output=None, output_scale=None):
        if attn_metadata is None:
            return output.zero_()
        keys, values = kv_cache.unbind(layer.axis)
        new = attn_metadata.slot_mapping // BLOCK, attn_metadata.slot_mapping % BLOCK
        keys[new], values[new] = key, value
        starts = attn_metadata.query_start_loc
        for row, length in enumerate(attn_metadata.seq_lens):
            places = torch.arange(length)
            slots = attn_metadata.block_table[row, places // BLOCK], places % BLOCK
            own = slice(starts[row], starts[row + 1])
            given = query[own], keys[slots], values[slots]
            output[own], _ = attention(*given, self.scale, self.sliding_window, self.logits_soft_cap)
        return output


class Backend:
    """As vLLM's AttentionBackend, with the keys and values of a block in the first axis."""

    axis = 0

    @staticmethod
    def get_name():
        return "STAND_IN"

    @staticmethod
    def get_impl_cls():
        return Implementation

    @classmethod
    def get_kv_cache_shape(cls, num_blocks, block_size, num_kv_heads, head_size):
        sizes = [num_blocks, block_size, num_kv_heads, head_size]
        sizes.insert(cls.axis, 2)
        return tuple(sizes)


class BehindBlocks(Backend):
    """As later versions of vLLM's backends have it."""

    axis = 1


class Packed(Backend):
    @classmethod
    def get_kv_cache_shape(cls, num_blocks, block_size, num_kv_heads, head_size):
        return num_blocks, num_kv_heads, block_size, 2 * head_size


class Engine:
    """Requests of one layer, each with blocks of the cache in an order of its own."""

    def __init__(self, backend, **settings):
        self.backend = watched_backend(backend)
        self.implementation = self.backend.get_impl_cls()(**settings)
        self.layer = SimpleNamespace(layer_name="model.layers.0.self_attn.attn", axis=backend.axis)
        shape = list(Backend.get_kv_cache_shape(BLOCKS, BLOCK, KEY_HEADS, SIZE))
        shape.insert(backend.axis, shape.pop(0))
        self.cache = torch.full(shape, torch.nan)
        self.table = torch.tensor([[7, 2, 5], [1, 8, 0]])
        self.lengths = [0, 0]
        # The vectors of the whole texts, (token, head, feature) of each request.
        self.query = [vectors(40, HEADS, SIZE, seed=request) for request in range(2)]
        self.key, self.value = (
            [vectors(40, KEY_HEADS, SIZE, seed=10 * kind + request) for request in range(2)] for kind in (1, 2)
        )

    def step(self, *counts):
        """So many new tokens of each request."""
        before = list(self.lengths)
        self.lengths = [length + count for length, count in zip(before, counts, strict=True)]
        places = [torch.arange(a, b) for a, b in zip(before, self.lengths, strict=True)]
        slots = [self.table[row, at // BLOCK] * BLOCK + at % BLOCK for row, at in enumerate(places)]
        metadata = SimpleNamespace(
            num_actual_tokens=sum(counts),
            query_start_loc=torch.tensor([0, counts[0], sum(counts)], dtype=torch.int32),
            seq_lens=torch.tensor(self.lengths, dtype=torch.int32),
            block_table=self.table.int(),
            slot_mapping=torch.cat(slots),
            causal=True,
        )
        new = (
            torch.cat([each[row][at] for row, at in enumerate(places)]) for each in (self.query, self.key, self.value)
        )
        output = torch.zeros(sum(counts), HEADS, SIZE)
        return self.implementation.forward(self.layer, *new, self.cache, metadata, output=output)

    def weights(self, request):
        """Those of one pass over all tokens of a request so far."""
        length = self.lengths[request]
        three = (each[request][:length] for each in (self.query, self.key, self.value))
        own = self.implementation
        return attention(*three, own.scale, own.sliding_window, own.logits_soft_cap)[1]


@pytest.mark.parametrize("backend", [Backend, BehindBlocks])
@pytest.mark.parametrize(
    ("settings", "mask"),
    [({}, Causal), ({"sliding_window": (5, 0)}, Window), ({"logits_soft_cap": 2.0, "scale": 0.5}, Causal)],
)
def test_two_requests_that_are_generated(backend, settings, mask):
    engine = Engine(backend, **settings)
    for counts in ((20, 3), (1, 1), (1, 1), (1, 0), (1, 14)):
        engine.step(*counts)
    seen = engine.backend.seen
    assert len(seen) == 9  # one step had no token of the second request
    assert set(seen.names) == {"model.layers.0.self_attn.attn"}
    assert seen[0].key.shape == (1, KEY_HEADS, 20, SIZE)
    assert isinstance(seen[0].mask, mask)
    assert max(seen.verify().values()) < 1e-5
    joined = seen.joined()
    assert len(joined) == 2
    for request, layer in enumerate(joined):
        torch.testing.assert_close(layer.weights()[0], engine.weights(request), rtol=0, atol=1e-5)


def test_it_computes_what_the_backend_computes(tmp_path):
    engine, plain = Engine(Backend), Engine(Backend)
    plain.implementation = Implementation()
    assert torch.equal(engine.step(20, 3), plain.step(20, 3))
    assert engine.backend.get_name() == "CUSTOM"
    assert issubclass(engine.backend, Backend)
    engine.backend.seen.save(tmp_path / "seen.safetensors")
    again = Seen.load(tmp_path / "seen.safetensors")
    assert torch.equal(again[1].weights(), engine.backend.seen[1].weights())


def test_measuring_memory_is_no_call():
    engine = Engine(Backend)
    output = engine.implementation.forward(engine.layer, None, None, None, None, None, output=torch.ones(2))
    assert not output.any()
    assert not engine.backend.seen


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"sinks": vectors(HEADS)}, "`sinks` isn't read"), ({"alibi_slopes": vectors(HEADS)}, "`alibi_slopes`")],
)
def test_what_is_not_read_is_told_once_and_runs(settings, said):
    engine = Engine(Backend, **settings)
    with pytest.warns(
        NotRecorded, match=rf"Attention in model\.layers\.0\.self_attn\.attn isn't recorded: its .*{said}"
    ):
        output = engine.step(3, 3)
    assert output.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine.step(1, 1)
    assert not engine.backend.seen


def test_a_cache_of_another_layout_is_told():
    engine = Engine(Backend)
    packed = watched_backend(Packed)
    engine.implementation = packed.get_impl_cls()()
    with pytest.warns(NotRecorded, match=r"the layout of its cache isn't known: \(1009, 3, 16, 64\)"):
        engine.step(3, 3)


def test_rows_are_checked():
    with pytest.raises(ArgumentError, match="`rows`"):
        watched_backend(Backend, rows=-1)
