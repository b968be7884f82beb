"""The joined calls of a model that runs step by step have the weights of one pass over all items."""

import warnings

import pytest
import torch
from torch import nn

from regard.attention import Alibi, Bias, Bucketed, Causal, GuidedBias, Relative, Rotary, Window, attend, attend_rows
from regard.attention.masks import KeyRange, NoSelf
from regard.inspection import RemoveHead, Seen, SeenLayer, watch
from regard.inspection.capture.by_hand.rules import Distances, KeyIntervals
from regard.modules import Cache, MultiHeadAttention

BATCH, HEADS, LENGTH, SIZE = 2, 4, 9, 8
WIDTH = HEADS * SIZE


def vectors(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Calling(nn.Module):
    def __init__(self, **parts):
        super().__init__()
        self.parts = parts

    def forward(self, query, key, value):
        return attend(query, key, value, **self.parts)


def three(queries=LENGTH, keys=LENGTH):
    return vectors(BATCH, HEADS, queries, SIZE), *(vectors(BATCH, 2, keys, SIZE, seed=seed) for seed in (1, 2))


def growing(sizes, **parts):
    """The record of a loop whose steps have so many queries, and all keys so far."""
    query, key, value = three()
    model = Calling(**parts)
    with watch(model) as seen:
        first = 0
        for size in sizes:
            last = first + size
            model(query[:, :, first:last], key[:, :, :last], value[:, :, :last])
            first = last
    assert first == LENGTH
    return seen


def whole(**parts):
    model = Calling(**parts)
    with watch(model) as seen:
        model(*three())
    return seen[0]


def check(joined, full, mask=None):
    """The joined layer is a layer like the one of a single pass."""
    torch.testing.assert_close(joined.weights(), full.weights(), rtol=0, atol=1e-5)
    assert torch.equal(joined.rows, joined.rows.unique())
    assert joined.verify() < 1e-5
    assert len(joined.outputs[0, 0]) == len(joined.rows)
    if mask is not None:
        assert joined.mask == mask


@pytest.mark.parametrize("sizes", [[1] * LENGTH, [4, 1, 1, 1, 1, 1], [3, 2, 4]])
@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"weights": "entmax", "score": "cosine"},
        {"position": Rotary(SIZE)},
        {"position": Relative(SIZE, reach=3)},
        {"position": Alibi(HEADS)},
        {"position": Bucketed(HEADS)},
        {"position": Distances(vectors(HEADS, 2 * LENGTH, seed=3), LENGTH)},
    ],
    ids=str,
)
def test_a_loop_over_growing_keys(sizes, parts):
    parts = {"mask": "causal", **parts}
    seen = growing(sizes, **parts)
    assert len(seen) == len(sizes)
    (joined,) = seen.joined()
    check(joined, whole(**parts), Causal())
    assert joined.notes == [f"Joined from {len(sizes)} calls."]
    # What was watched is as it was.
    assert len(seen) == len(sizes)
    assert all(layer.notes == [] for layer in seen)


def test_a_window_stays_a_window():
    seen = growing([1] * LENGTH, mask=Window(2, 0))
    check(seen.joined()[0], whole(mask=Window(2, 0)), Window(2, 0))


def test_without_a_mask_each_query_sees_the_keys_of_its_step():
    """Queries of one step that see each other give intervals, which aren't causal."""
    (joined,) = growing([4, 2, 3]).joined()
    assert isinstance(joined.mask, KeyIntervals)
    seen = (joined.weights() > 0).sum(-1)
    assert seen[0, 0].tolist() == [4] * 4 + [6] * 2 + [9] * 3
    assert joined.verify() < 1e-5


def test_biases_of_single_queries_become_one_line(monkeypatch):
    """A step's bias is a table of one row, as in T5; all together they follow the distance, without a table of all."""
    monkeypatch.setattr("regard.inspection.record.joined_positions._table", None)
    query, key, value = three()
    line = vectors(HEADS, LENGTH, seed=4)
    seen = Seen()
    for last in range(1, LENGTH + 1):
        position = Bias(line[:, LENGTH - last :].unsqueeze(0).unsqueeze(2))
        with watch(model := Calling(position=position)) as step:
            model(query[:, :, last - 1 : last], key[:, :, :last], value[:, :, :last])
        seen.layers.extend(step.layers)
    (joined,) = seen.joined()
    assert isinstance(joined.position, Distances)
    check(joined, whole(mask="causal", position=Distances(line, LENGTH - 1)), Causal())


def test_biases_that_follow_no_rule_become_a_table_that_says_so():
    query, key, value = three()
    table = vectors(1, HEADS, LENGTH, LENGTH, seed=5)
    seen = Seen()
    for first, last in ((0, 4), (4, 5), (5, 9)):
        model = Calling(position=Bias(table[:, :, first:last, :last]), mask="causal")
        with watch(model) as step:
            model(query[:, :, first:last], key[:, :, :last], value[:, :, :last])
        seen.layers.extend(step.layers)
    (joined,) = seen.joined()
    check(joined, whole(mask="causal", position=Bias(table)), Causal())
    assert joined.notes[-1] == "Its biases follow no known rule, so they are kept as a table of all pairs."


def test_one_number_for_each_key():
    query, key, value = three()
    row = vectors(1, HEADS, 1, LENGTH, seed=6)
    seen = Seen()
    for last in range(1, LENGTH + 1):
        with watch(model := Calling(position=Bias(row[..., :last]))) as step:
            model(query[:, :, last - 1 : last], key[:, :, :last], value[:, :, :last])
        seen.layers.extend(step.layers)
    (joined,) = seen.joined()
    assert joined.position.table.shape == row.shape
    check(joined, whole(mask="causal", position=Bias(row)), Causal())


def test_cross_attention_steps_over_the_same_keys():
    query, key, value = three(queries=5)
    mask = KeyRange(torch.tensor([0, 2]), torch.tensor([6, 9]))
    model = Calling(mask=mask)
    with watch(model) as seen:
        for step in range(5):
            model(query[:, :, step : step + 1], key, value)
    (joined,) = seen.joined()
    with watch(model) as full:
        model(query, key, value)
    check(joined, full[0])
    assert isinstance(joined.mask, KeyRange)


def test_a_projection_is_kept():
    module = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).eval()
    x = vectors(BATCH, LENGTH, WIDTH)
    with watch(module) as seen, torch.no_grad():
        for last in range(1, LENGTH + 1):
            module(x[:, last - 1 : last], x[:, :last], x[:, :last])
    with watch(module) as full, torch.no_grad():
        module(x, x, x, attn_mask=nn.Transformer.generate_square_subsequent_mask(LENGTH), is_causal=True)
    # The projections of one vector and of nine differ in their last bits, so keys needn't be equal.
    (joined,) = rounded(seen).joined()
    torch.testing.assert_close(joined.weights(), full[0].weights(), rtol=0, atol=1e-5)
    assert joined.outputs.shape == (BATCH, LENGTH, WIDTH)
    assert joined.verify() < 1e-5


def rounded(seen):
    """The record with the keys and values of the last call for all, which a cache gives."""
    last = seen[-1]
    for layer in seen.layers:
        keys = layer.key.shape[2]
        torch.testing.assert_close(layer.key, last.key[:, :, :keys])
        layer.key, layer.value = last.key[:, :, :keys], last.value[:, :, :keys]
    return seen


@pytest.mark.parametrize(("position", "lengths"), [(None, None), ("rotary", None), (None, [4, 2])])
def test_the_cache_of_the_package(position, lengths):
    torch.manual_seed(0)
    module = MultiHeadAttention(WIDTH, HEADS, position=position).eval()
    x, cache = vectors(BATCH, LENGTH, WIDTH), Cache()
    with watch(module) as seen, torch.no_grad():
        module(x[:, :4], cache=cache, mask="causal", **({} if lengths is None else {"lengths": lengths}))
        for last in range(5, LENGTH + 1):
            module(x[:, last - 1 : last], cache=cache, mask="causal")
    (joined,) = seen.joined()
    assert joined.verify() < 1e-5
    if lengths is None:
        with watch(module) as full, torch.no_grad():
            module(x, mask="causal")
        check(joined, full[0], Causal())
    for call, offset in zip(seen, (0, *range(4, LENGTH)), strict=True):
        queries, keys = call.query.shape[2], call.key.shape[2]
        found = joined.weights(range(offset, offset + queries))
        torch.testing.assert_close(found[..., :keys], call.weights(), rtol=0, atol=1e-6)


class Packed(nn.Module):
    """Steps of generation as Hugging Face's models call them: keys repeated at first, then heads as queries."""

    num_key_value_groups = 2

    def forward(self, query, key, value, calls):
        call = pytest.importorskip("transformers.integrations.sdpa_attention").sdpa_attention_forward
        first = LENGTH - calls
        # Padding on the left of the second item; its own queries attend to it.
        mask = torch.arange(LENGTH).view(1, 1, 1, -1) >= torch.tensor([0, 2]).view(-1, 1, 1, 1)
        causal = mask[..., :first] & torch.ones(first, first, dtype=torch.bool).tril()
        outputs = [call(self, query[:, :, :first], key[:, :, :first], value[:, :, :first], causal)[0]]
        for last in range(first + 1, LENGTH + 1):
            one = query[:, :, last - 1 : last]
            outputs.append(call(self, one, key[:, :, :last], value[:, :, :last], mask[..., :last])[0])
        return torch.cat(outputs, 1).transpose(1, 2)


@pytest.mark.parametrize("calls", [1, 4])
def test_heads_in_the_place_of_queries(calls):
    query, key, value = three()
    with watch(model := Packed()) as seen:
        outputs = model(query, key, value, calls)
    assert len(seen) == 1 + calls
    (joined,) = seen.joined()
    assert torch.equal(joined.query, query)
    assert torch.equal(joined.key, key)
    assert joined.verify() < 1e-5
    torch.testing.assert_close(joined.recomputed(joined.rows), outputs[:, :, joined.rows], rtol=0, atol=1e-5)
    assert joined.rows.tolist() == list(range(LENGTH))


def test_queries_of_unlike_masks_are_no_heads():
    """Two queries with masks of their own can't be the heads of one query."""
    query, key, value = three()
    model = Calling(mask="causal")
    with watch(model) as seen:
        model(query[:, :, :7], key[:, :, :7], value[:, :, :7])
        model(query[:, :2, 7:], key, value)
    joined = seen.joined()
    assert len(joined) == 2
    assert "its query has another size or type" in joined[1].notes[0]
    assert joined[1].query.shape == (BATCH, 2, 2, SIZE)


def hugging_face(name, key_heads=4):
    of = pytest.importorskip("transformers")
    torch.manual_seed(0)
    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40}
    if name == "gpt2":
        config = of.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)
        return of.GPT2LMHeadModel(config).eval()
    if name == "llama":
        return of.LlamaForCausalLM(
            of.LlamaConfig(vocab_size=99, pad_token_id=0, **small, num_key_value_heads=key_heads)
        ).eval()
    config = of.T5Config(
        vocab_size=99, pad_token_id=0, decoder_start_token_id=0, d_model=32, d_kv=8, d_ff=40, num_layers=2, num_heads=4
    )
    return of.T5ForConditionalGeneration(config).eval()


def generated(model, ids, mask, **settings):
    settings = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, "eos_token_id": None, **settings}
    with warnings.catch_warnings(), torch.no_grad(), watch(model) as seen:
        warnings.simplefilter("ignore")  # transformers' own
        tokens = model.generate(ids, attention_mask=mask, **settings)
    return tokens, seen


def ids_and_mask(padded=False):
    ids = torch.randint(3, 99, (BATCH, 5), generator=torch.Generator().manual_seed(1))
    return ids, (torch.arange(5) >= torch.tensor([[2 * padded], [0]])).long()


def same_weights(joined, full, rows=None):
    assert joined.names == full.names
    for one, other in zip(joined, full, strict=True):
        torch.testing.assert_close(one.weights(rows), other.weights(rows), rtol=0, atol=1e-5)
        assert one.verify() < 1e-5


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", ["gpt2", "llama", "grouped llama"])
def test_generation_has_the_weights_of_one_pass(name, padded, implementation):
    model = hugging_face(*(("llama", 2) if name == "grouped llama" else (name,)))
    model.set_attn_implementation(implementation)
    ids, mask = ids_and_mask(padded)
    tokens, seen = generated(model, ids, mask)
    assert len(seen) == 12
    given = tokens[:, :-1]  # the last one isn't read any more
    mask = torch.cat([mask, torch.ones(BATCH, given.shape[1] - 5, dtype=torch.long)], 1)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    with torch.no_grad(), watch(model) as full:
        model(given, attention_mask=mask, position_ids=positions)
    joined = seen.joined()
    assert len(joined) == 2
    # Padding attends to anything.
    rows = range(2, given.shape[1]) if padded else None
    same_weights(joined, full, rows)
    if not padded:
        assert [layer.mask for layer in joined] == [Causal()] * 2


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_an_encoder_and_a_decoder(implementation):
    model = hugging_face("t5")
    model.set_attn_implementation(implementation)
    ids, mask = ids_and_mask()
    mask[0, 3:] = 0
    tokens, seen = generated(model, ids, mask, min_new_tokens=6)
    with torch.no_grad(), watch(model) as full:
        model(input_ids=ids, attention_mask=mask, decoder_input_ids=tokens[:, :-1])
    joined = seen.joined()
    assert len(seen) == 2 + 6 * 4
    same_weights(joined, full)
    own = joined["decoder.block.1.layer.0.SelfAttention"]
    assert own.mask == Causal()
    assert isinstance(own.position, Distances)
    cross = joined["decoder.block.1.layer.1.EncDecAttention"]
    assert (cross.query.shape[2], cross.key.shape[2]) == (6, 5)
    assert cross.position is None
    assert isinstance(cross.mask, KeyRange)


def test_a_static_cache_is_written_over():
    """Its keys are as many from the first step on, but those to come are zeros."""
    model = hugging_face("llama")
    ids, mask = ids_and_mask()
    tokens, seen = generated(model, ids, mask, cache_implementation="static", disable_compile=True)
    joined = seen.joined()
    assert len(joined) == 2
    with torch.no_grad(), watch(model) as full:
        model(tokens[:, :-1])
    for one, other in zip(joined, full, strict=True):
        weights = one.weights()
        torch.testing.assert_close(weights[..., :10], other.weights(), rtol=0, atol=1e-5)
        assert not weights[..., 10:].any()


def test_a_joined_record_is_saved_and_read(tmp_path):
    joined = growing([4, 1, 4], mask="causal", position=Distances(vectors(HEADS, 2 * LENGTH), LENGTH)).joined()
    joined.save(tmp_path / "seen.safetensors")
    again = Seen.load(tmp_path / "seen.safetensors")
    assert torch.equal(again[0].weights(), joined[0].weights())
    assert again[0].notes == joined[0].notes
    assert again.verify() == joined.verify()


class TestWhatIsNotJoined:
    def not_joined(self, seen, reason):
        joined = seen.joined()
        assert len(joined) == len(seen)
        for before, after in zip(seen, joined, strict=True):
            assert torch.equal(before.weights(), after.weights())
        assert any(reason in note for note in joined[-1].notes), joined[-1].notes
        assert not any(reason in note for layer in seen for note in layer.notes)

    def calls(self, *inputs, **parts):
        with watch(model := Calling(**parts)) as seen:
            for each in inputs:
                model(*each)
        return seen

    def test_other_keys(self):
        query, key, value = three()
        other = key.clone()
        other[1, 1, 2, 3] += 1e-6
        seen = self.calls((query[:, :, :5], key[:, :, :5], value[:, :, :5]), (query[:, :, 5:], other, value))
        self.not_joined(seen, "Not joined with the calls before: the keys and values before aren't the first ones")

    def test_other_values(self):
        query, key, value = three()
        seen = self.calls((query[:, :, :5], key, value), (query[:, :, 5:], key, -value))
        self.not_joined(seen, "the keys and values before aren't the first ones of its own")

    def test_other_values_of_a_later_step(self):
        query, key, value = three()
        other = value.clone()
        other[0, 0, 5] += 1
        steps = [(query[:, :, :4], key[:, :, :4], value[:, :, :4]), (query[:, :, 4:7], key[:, :, :7], value[:, :, :7])]
        seen = self.calls(*steps, (query[:, :, 7:], key, other), mask="causal")
        first, last = seen.joined()
        assert first.query.shape[2] == 7
        assert first.verify() < 1e-5
        assert last.query.shape[2] == 2
        assert "the keys and values before aren't the first ones of its own" in last.notes[0]

    def test_fewer_keys(self):
        query, key, value = three()
        seen = self.calls((query[:, :, :5], key, value), (query[:, :, 5:], key[:, :, :5], value[:, :, :5]))
        self.not_joined(seen, "it has fewer keys")

    def test_another_batch(self):
        query, key, value = three()
        seen = self.calls((query, key, value), (query[:1], key[:1], value[:1]))
        self.not_joined(seen, "its query has another size or type")

    def test_the_same_input_again(self):
        self.not_joined(self.calls(three(), three()), "it computes the queries of that one again")

    def test_a_model_without_a_cache(self):
        query, key, value = three()
        steps = [(query[:, :, :last], key[:, :, :last], value[:, :, :last]) for last in (7, 8, 9)]
        self.not_joined(self.calls(*steps, mask="causal"), "it computes the queries of that one again")

    def test_scattered_keys(self):
        query, key, value = three()
        steps = [(query[:, :, :5], key[:, :, :5], value[:, :, :5]), (query[:, :, 5:], key, value)]
        self.not_joined(self.calls(*steps, mask=NoSelf()), "its mask allows other keys than one interval")

    def test_a_position_scheme_that_counts_from_the_start_of_a_call(self):
        self.not_joined(growing([4, 5], mask="causal", position=GuidedBias(0.2)), "its position scheme means something")

    def test_positions_of_cross_attention(self):
        """Each single query stands at the last key; those of the joined call couldn't all stand there."""
        query, key, value = three(queries=3)
        steps = [(query[:, :, i : i + 1], key, value) for i in range(3)]
        self.not_joined(self.calls(*steps, position=Alibi(HEADS)), "its position scheme means something else there")

    def test_positions_of_items_of_unequal_length(self):
        """Each item counts from its own end, which intervals of keys don't say."""
        module = MultiHeadAttention(WIDTH, HEADS, position="rotary").eval()
        x, cache = vectors(BATCH, LENGTH, WIDTH), Cache()
        with watch(module) as seen, torch.no_grad():
            module(x[:, :4], cache=cache, mask="causal", lengths=[4, 2])
            module(x[:, 4:5], cache=cache, mask="causal")
        self.not_joined(seen, "its position scheme means something else there")

    def test_another_score(self):
        query, key, value = three()
        seen = self.calls((query[:, :, :5], key[:, :, :5], value[:, :, :5]), score="dot")
        seen.layers += self.calls((query[:, :, 5:], key, value)).layers
        self.not_joined(seen, "its score is another")


def test_modules_that_are_called_several_times_in_each_step():
    """Layers that share a module, as in ALBERT: each goes on with its own keys."""
    query, key, value = three()
    layers = [(query, key, value), (value.repeat(1, 2, 1, 1), key * 2, value + 1)]
    model = Calling(mask="causal")
    with watch(model) as seen:
        for first, last in ((0, 5), (5, 6), (6, 9)):
            for q, k, v in layers:
                model(q[:, :, first:last], k[:, :, :last], v[:, :, :last])
    joined = seen.joined()
    assert len(joined) == 2
    for layer, (q, k, v) in zip(joined, layers, strict=True):
        with watch(model) as full:
            model(q, k, v)
        check(layer, full[0], Causal())


def test_tables_of_weights_are_joined():
    table = torch.rand(1, 2, 3, 3).tril()
    value = vectors(1, 2, 3, 4)
    steps = [
        SeenLayer.of_weights("a", table[:, :, i : i + 1, : i + 1], "softmax", value[:, :, : i + 1]) for i in range(3)
    ]
    (joined,) = Seen(steps).joined()
    torch.testing.assert_close(joined.weights(), table)


def test_what_is_special_about_a_step_is_special_about_all():
    query, key, value = three()
    with watch(model := Calling(mask="causal"), changes=[RemoveHead(1, 2)]) as seen:
        model(query[:, :, :5], key[:, :, :5], value[:, :, :5])
        model(query[:, :, 5:], key, value)
    (joined,) = seen.joined()
    assert joined.removed
    assert joined.verify() is None
    assert joined.notes == ["Changed: remove head 2 of layer 1.", "Joined from 2 calls."]


def test_nothing_and_single_calls_stay_as_they_are():
    assert Seen([], "Nothing ran.").joined().nothing == "Nothing ran."
    layer = whole(mask="causal")
    assert Seen([layer]).joined()[0] is layer


def test_rows_of_many_steps_are_computed_a_few_at_a_time(monkeypatch):
    monkeypatch.setattr("regard.inspection.record.seen_layer._BUDGET", 100)
    (joined,) = growing([1] * LENGTH, mask="causal").joined()
    calls = []

    def counted(*three, **parts):
        calls.append(1)
        return attend_rows(*three, **parts)

    monkeypatch.setattr("regard.inspection.record.seen_layer.attend_rows", counted)
    assert joined.verify() < 1e-5
    assert len(calls) == LENGTH
