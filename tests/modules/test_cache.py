"""Decoding with a cache: step by step, the outputs of the full pass."""

import functools

import pytest
import torch

from regard.attention import POSITIONS, Causal, Lengths, Window
from regard.errors import ArgumentError
from regard.modules import BigBird, Cache, Longformer, MultiHeadAttention, Strided

DOUBLE = torch.float64
WIDTH, LENGTH = 12, 13


@pytest.fixture(autouse=True)
def decoding():
    with torch.no_grad():
        yield


def make(**options):
    torch.manual_seed(3)
    return MultiHeadAttention(WIDTH, heads=3, **options).double()


def vectors(batch=2, length=LENGTH):
    return torch.randn(batch, length, WIDTH, dtype=DOUBLE, generator=torch.Generator().manual_seed(5))


def stepwise(attention, x, sizes, **options):
    cache, outputs, start = Cache(room=2), [], 0
    for size in sizes:
        outputs.append(attention(x[:, start : start + size], cache=cache, **options))
        start += size
        assert cache.length == start
    return torch.cat(outputs, 1)


class TestEqualsTheFullPass:
    @pytest.mark.parametrize("sizes", [[1] * 13, [5, 1, 1, 4, 2], [13], [1, 0, 12]], ids=str)
    @pytest.mark.parametrize("position", [None, *POSITIONS])
    def test_causal_with_every_position(self, position, sizes):
        attention = make(position=position)
        if position is not None and isinstance(attention.position, torch.nn.Module):
            for parameter in attention.position.parameters():
                torch.nn.init.normal_(parameter)
        x = vectors()
        torch.testing.assert_close(stepwise(attention, x, sizes, mask="causal"), attention(x, mask="causal"))

    @pytest.mark.parametrize(
        "constructor",
        [
            MultiHeadAttention.multi_query,
            MultiHeadAttention.shared_query_key,
            MultiHeadAttention.shared_query_key_value,
            functools.partial(MultiHeadAttention.with_extra_keys, zero=True),
        ],
        ids=["multi_query", "shared_query_key", "shared_query_key_value", "with_extra_keys"],
    )
    def test_in_every_form(self, constructor):
        torch.manual_seed(3)
        attention, x = constructor(WIDTH, heads=3).double(), vectors()
        torch.testing.assert_close(stepwise(attention, x, [5] + [1] * 8, mask=Causal()), attention(x, mask=Causal()))

    def test_with_a_window(self):
        attention, x, mask = make(), vectors(), Window(3, 0)
        torch.testing.assert_close(stepwise(attention, x, [4] + [1] * 9, mask=mask), attention(x, mask=mask))

    @pytest.mark.parametrize(
        "mask",
        [
            *(Strided(3) & "causal", Longformer(2, 1) & "causal", Longformer(1, [0, 7]) & "causal"),
            *(BigBird(2, 3, 1, 0) & "causal", (BigBird(2, 1, 0, 0) | Window(3, 0)) & "causal"),
        ],
        ids=str,
    )
    def test_with_masks_for_long_sequences(self, mask):
        attention, x = make(), vectors()
        torch.testing.assert_close(stepwise(attention, x, [4] + [1] * 9, mask=mask), attention(x, mask=mask))

    @pytest.mark.parametrize("around", [lambda mask: mask, lambda mask: ~mask, lambda mask: Window(1, 0) | mask])
    def test_random_blocks_are_refused(self, around):
        """They change with the number of keys: the full pass would have others."""
        attention, x, mask = make(), vectors(), around(BigBird(2, 1, 0, 2)) & "causal"
        cache = Cache(room=2)
        with pytest.raises(ArgumentError, match="`mask` must not have a BigBird with random blocks where `cache`"):
            attention(x[:, :4], cache=cache, mask=mask)
        assert cache.length == 0
        # The keys of a source don't grow.
        source = vectors(length=9)
        memory = attention.remember(source)
        found = attention(x, cache=memory, mask=BigBird(2, 1, 0, 2))
        torch.testing.assert_close(found, attention(x, source, mask=BigBird(2, 1, 0, 2)))

    def test_items_of_unequal_length(self):
        """Prompts of 5, 2 and 0, then each item goes on by itself, and one stops early."""
        attention = make(position="relative")
        torch.nn.init.normal_(attention.position.table)
        x = vectors(3)
        calls = [(5, [5, 2, 0]), (1, [1, 1, 1]), (3, [2, 3, 3]), (1, [1, 0, 1]), (1, [0, 1, 1])]
        cache, found, done = Cache(room=1), [[], [], []], [0, 0, 0]
        for size, lengths in calls:
            padded = torch.full((3, size, WIDTH), 1e3, dtype=DOUBLE)
            for item, length in enumerate(lengths):
                padded[item, :length] = x[item, done[item] : done[item] + length]
            output = attention(padded, cache=cache, mask="causal", lengths=lengths)
            for item, length in enumerate(lengths):
                found[item].append(output[item, :length])
                done[item] += length
        assert cache.lengths.tolist() == done == [9, 7, 6]
        assert cache.length == 9
        for item in range(3):
            alone = attention(x[item : item + 1, : done[item]], mask="causal")[0]
            torch.testing.assert_close(torch.cat(found[item]), alone)

    def test_lengths_may_begin_late_and_be_left_out_later(self):
        attention, x = make(), vectors()
        cache = Cache()
        attention(x[:, :3], cache=cache, mask="causal")
        attention(x[:, 3:5], cache=cache, mask="causal", lengths=torch.tensor([2, 1]))
        output = attention(torch.stack([x[0, 5], x[1, 4]]).unsqueeze(1), cache=cache, mask="causal")
        assert cache.lengths.tolist() == [6, 5]
        torch.testing.assert_close(output[0, 0], attention(x[:1, :6], mask="causal")[0, -1])
        torch.testing.assert_close(output[1, 0], attention(x[1:, :5], mask="causal")[0, -1])

    def test_what_stood_in_the_padding_cannot_matter(self):
        attention, x = make(), vectors()
        outputs = []
        for poison in (0.0, float("nan")):
            cache, first = Cache(), x[:, :4].clone()
            first[1, 2:] = poison
            attention(first, cache=cache, mask="causal", lengths=[4, 2])
            outputs.append(attention(x[:, 4:5], cache=cache, mask="causal"))
        assert outputs[0].isfinite().all()
        torch.testing.assert_close(outputs[1], outputs[0])


class TestBeams:
    def test_items_are_picked_again_and_left_out(self):
        attention, x = make(), vectors(3)
        cache = Cache()
        attention(x[:, :7], cache=cache, mask="causal")
        cache.reorder(torch.tensor([2, 0, 0, 2]))
        step = vectors(4, 1)
        output = attention(step, cache=cache, mask="causal")
        for item, source in enumerate([2, 0, 0, 2]):
            whole = torch.cat([x[source, :7], step[item]]).unsqueeze(0)
            torch.testing.assert_close(output[item, -1], attention(whole, mask="causal")[0, -1])

    def test_lengths_go_along(self):
        attention, x = make(), vectors(3)
        cache = Cache()
        attention(x[:, :7], cache=cache, mask="causal", lengths=[7, 3, 1])
        cache.reorder(torch.tensor([1, 1]))
        assert cache.lengths.tolist() == [3, 3]
        output = attention(x[:2, 7:8], cache=cache, mask="causal")
        whole = torch.cat([x[1, :3], x[1, 7:8]]).unsqueeze(0)
        torch.testing.assert_close(output[1, -1], attention(whole, mask="causal")[0, -1])


class TestRemember:
    def test_cross_attention_projects_its_source_once(self):
        attention = make(key_width=7)
        source, x = torch.randn(2, 5, 7, dtype=DOUBLE), vectors()
        memory = attention.remember(source, lengths=[5, 3])
        assert memory.sealed
        assert memory.length == 5
        for step in range(3):
            query = x[:, step : step + 1]
            expected = attention(query, source, mask=Lengths(key=[5, 3]))
            torch.testing.assert_close(attention(query, cache=memory), expected)
        memory.reorder(torch.tensor([1]))
        torch.testing.assert_close(attention(x[1:, 2:3], cache=memory), expected[1:])

    def test_it_is_sealed(self):
        attention, x = make(), vectors()
        memory = attention.remember(x)
        with pytest.raises(ArgumentError, match="`cache` is sealed and holds a whole source"):
            attention(x, x, cache=memory)
        with pytest.raises(ArgumentError, match="`cache` is sealed: it holds a whole source"):
            memory.append(memory.key, memory.value)


class TestStorage:
    def test_appending_copies_nothing_but_what_is_new(self):
        cache, moves, before = Cache(room=1), 0, None
        for step in range(100):
            new = torch.full((1, 2, 1, 3), float(step))
            key, value = cache.append(new, -new)
            moves += before is not None and key.data_ptr() != before
            before = key.data_ptr()
            assert key.shape == (1, 2, step + 1, 3)
        assert moves <= 7, "the storage doubles: 1, 2, 4, ... 128"
        assert torch.equal(key[0, 1, :, 2], torch.arange(100.0))
        assert torch.equal(value, -key)
        assert key.data_ptr() == cache.key.data_ptr()

    def test_keys_and_values_of_unequal_size(self):
        key, value = Cache().append(torch.ones(2, 3, 5, 7), torch.ones(2, 3, 5, 11))
        assert (key.shape, value.shape) == ((2, 3, 5, 7), (2, 3, 5, 11))

    @pytest.mark.parametrize("lengths", [None, [1, 0]])
    def test_a_call_that_fails_leaves_nothing_behind(self, lengths):
        attention, cache, x = make(), Cache(), vectors()
        attention(x[:, :5], mask="causal", cache=cache, lengths=None if lengths is None else [5, 4])
        before = cache.length, cache.lengths
        for options in ({"mask": "casual"}, {"mask": "causal", "bias": torch.zeros(3, 3)}):
            with pytest.raises(ArgumentError):
                attention(x[:, 5:6], cache=cache, lengths=lengths, **options)
            assert cache.length == before[0]
            assert (cache.lengths is None) == (lengths is None)
        found = attention(x[:, 5:6], mask="causal", cache=cache, lengths=lengths)
        if lengths is None:
            torch.testing.assert_close(found, attention(x[:, :6], mask="causal")[:, 5:])

    def test_it_is_not_for_training(self):
        with torch.enable_grad(), pytest.raises(ArgumentError, match="`cache` is for decoding, and no gradient"):
            make()(vectors(), cache=Cache())

    @pytest.mark.parametrize("shape", [(1, 3, 1, 4), (2, 1, 1, 4), (2, 3, 1, 1), (2, 3, 4)])
    def test_what_does_not_fit_is_refused_not_stretched(self, shape):
        cache = Cache()
        cache.append(torch.ones(2, 3, 5, 4), torch.ones(2, 3, 5, 4))
        with pytest.raises(ArgumentError, match=r"must fit what the cache holds, \(2, 3\) x 4"):
            cache.append(torch.ones(shape), torch.ones(shape))
        with pytest.raises(ArgumentError, match="must fit what the cache holds"):
            cache.append(torch.ones(2, 3, 1, 4).double(), torch.ones(2, 3, 1, 4).double())
        assert cache.length == 5

    def test_errors(self):
        with pytest.raises(ArgumentError, match="`room` must be a number of keys"):
            Cache(room=0)
        with pytest.raises(ArgumentError, match="`lengths` belong to a `cache`"):
            make()(vectors(), lengths=[1, 2])
        for lengths in ([14, 1], [1], [-1, 2]):
            with pytest.raises(ArgumentError, match="`lengths` must be a number from 0 to 13"):
                make()(vectors(), cache=Cache(), lengths=lengths)
        with pytest.raises(ArgumentError, match="as many of one as of the other"):
            Cache().append(torch.ones(2, 3, 5, 4), torch.ones(2, 3, 6, 4))
