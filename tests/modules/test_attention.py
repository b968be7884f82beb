"""Multi-head attention in the notes' forms: what is shared, what is grouped, what stands beside, parts by name."""

import functools
import subprocess
import sys

import pytest
import torch
from torch import nn

from regard.attention import POSITIONS, SCORES, WEIGHTS, Causal, Guided, Lengths, Relative, Rotary, Sizes, Window, weigh
from regard.errors import ArgumentError
from regard.inspection import watch
from regard.modules import Encoder, ExtraKeys, MultiHeadAttention, PerLayer, Projections

DOUBLE = torch.float64


def names(module):
    return sorted(name for name, _ in module.named_parameters())


def reference(query, key, value, heads):
    """Multi-head attention written out, head by head: (batch, length, head x size) in and out."""
    outputs = []
    for q, k, v in zip(*(tensor.chunk(heads, -1) for tensor in (query, key, value)), strict=True):
        outputs.append(torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v)
    return torch.cat(outputs, -1)


class TestThreeForms:
    """The notes' three ways to several heads (002, 004, 001)."""

    def test_the_width_split(self):
        attention = MultiHeadAttention(15, heads=3).double()
        x = torch.randn(2, 7, 15, dtype=DOUBLE)
        heads = reference(attention.query(x), attention.key(x), attention.value(x), 3)
        torch.testing.assert_close(attention(x), attention.output(heads))

    def test_every_head_full_size_and_concatenated(self):
        attention = MultiHeadAttention(5, heads=3, head_size=5).double()
        x = torch.randn(2, 7, 5, dtype=DOUBLE)
        single = []
        for head in range(3):
            rows = slice(5 * head, 5 * head + 5)
            q, k, v = (
                nn.functional.linear(x, linear.weight[rows], linear.bias[rows])
                for linear in (attention.query, attention.key, attention.value)
            )
            single.append(reference(q, k, v, 1))
        wide = torch.cat(single, -1)
        assert wide.shape == (2, 7, 15)
        torch.testing.assert_close(attention(x), attention.output(wide))

    def test_a_second_matrix_per_head_is_one_merged_matrix(self):
        """q = W x + b, then q_h = W_h q + b_h: the same as (W_h W) x + (W_h b + b_h), all heads in one matrix."""
        width, heads, size = 7, 3, 5
        first = {name: nn.Linear(width, width).double() for name in ("query", "key", "value")}
        second = {name: [nn.Linear(width, size).double() for _ in range(heads)] for name in first}
        merged = MultiHeadAttention(width, heads, head_size=size).double()
        with torch.no_grad():
            for name, one in first.items():
                linear = getattr(merged, name)
                linear.weight.copy_(torch.cat([two.weight @ one.weight for two in second[name]]))
                linear.bias.copy_(torch.cat([two.weight @ one.bias + two.bias for two in second[name]]))
        x = torch.randn(2, 11, width, dtype=DOUBLE)
        q, k, v = (torch.cat([two(first[name](x)) for two in second[name]], -1) for name in first)
        torch.testing.assert_close(merged(x), merged.output(reference(q, k, v, heads)))


class TestShare:
    """Must it be three? (002)"""

    @pytest.mark.parametrize(
        ("make", "expected"),
        [
            (MultiHeadAttention, ["key.weight", "query.weight", "value.weight"]),
            (MultiHeadAttention.shared_query_key, ["query.weight", "value.weight"]),
            (MultiHeadAttention.shared_query_key_value, ["query.weight"]),
        ],
    )
    def test_parameters(self, make, expected):
        attention = make(6, heads=3, bias=False, output=False)
        assert names(attention) == expected
        assert sorted(attention.state_dict()) == expected

    @pytest.mark.parametrize("make", [MultiHeadAttention.shared_query_key, MultiHeadAttention.shared_query_key_value])
    @pytest.mark.parametrize("cross", [False, True])
    def test_it_is_three_equal_matrices(self, make, cross):
        shared = make(6, heads=3).double()
        three = MultiHeadAttention(6, heads=3).double()
        state = dict(shared.state_dict())
        for name in ("weight", "bias"):
            state.setdefault(f"key.{name}", state[f"query.{name}"])
            state.setdefault(f"value.{name}", state[f"query.{name}"])
        three.load_state_dict(state)
        x = torch.randn(2, 7, 6, dtype=DOUBLE)
        key, value = (torch.randn(2, 5, 6, dtype=DOUBLE) for _ in range(2)) if cross else (None, None)
        torch.testing.assert_close(shared(x, key, value), three(x, key, value))
        torch.testing.assert_close(shared(x, key), three(x, key))
        torch.testing.assert_close(shared(x, x, -x), three(x, x, -x))

    def test_with_queries_for_keys_two_items_score_each_other_alike(self):
        attention = MultiHeadAttention.shared_query_key(6, heads=1, bias=False)
        queries = attention.query(torch.randn(1, 5, 6))
        scores = queries @ queries.mT
        torch.testing.assert_close(scores, scores.mT)
        x = torch.randn(1, 5, 6)
        with watch(attention) as seen:
            attention(x)
        queries = attention.query(x)
        torch.testing.assert_close(seen[0].weights()[0, 0], torch.softmax(queries @ queries.mT / 6**0.5, -1)[0])

    def test_errors(self):
        with pytest.raises(ArgumentError, match="`shared_key` must be True where `shared_value` is, but is False"):
            Projections(shared_value=True)
        with pytest.raises(ArgumentError, match="`key_width` must be `width` 6 where one matrix serves both"):
            MultiHeadAttention.shared_query_key(6, heads=3, key_width=5)
        with pytest.raises(ArgumentError, match="`value_width` must be `width` 6"):
            MultiHeadAttention.shared_query_key_value(6, heads=3, value_width=5)
        with pytest.raises(ArgumentError, match="`kv_heads` must be `heads` 4 where queries and keys share"):
            MultiHeadAttention(8, heads=4, projections=Projections(kv_heads=2, shared_key=True))
        assert MultiHeadAttention.shared_query_key(6, heads=3, value_width=5).value.in_features == 5


class TestQueryOnly:
    """With a matrix for queries alone, keys and values are the vectors as they come."""

    @pytest.mark.parametrize("cross", [False, True])
    def test_it_is_three_matrices_of_which_two_are_one(self, cross):
        """One, the identity: not one of the matrices."""
        plain = MultiHeadAttention.query_only(6, heads=3).double()
        three = MultiHeadAttention(6, heads=3).double()
        state = dict(plain.state_dict())
        assert sorted(state) == ["output.bias", "output.weight", "query.bias", "query.weight"]
        for name in ("key", "value"):
            state |= {f"{name}.weight": torch.eye(6, dtype=DOUBLE), f"{name}.bias": torch.zeros(6, dtype=DOUBLE)}
        three.load_state_dict(state)
        x = torch.randn(2, 7, 6, dtype=DOUBLE)
        key, value = (torch.randn(2, 5, 6, dtype=DOUBLE) for _ in range(2)) if cross else (None, None)
        torch.testing.assert_close(plain(x, key, value), three(x, key, value))
        torch.testing.assert_close(plain(x, x, -x), three(x, x, -x))

    def test_a_matrix_of_queries_says_what_two_say(self):
        """x Wq (y Wk)^T is x (Wq Wk^T) y^T."""
        two = MultiHeadAttention(4, heads=1, bias=False)
        one = MultiHeadAttention.query_only(4, heads=1, bias=False)
        with torch.no_grad():
            one.query.weight.copy_(two.key.weight.T @ two.query.weight)
            x, seen = torch.randn(1, 5, 4), []
            for each in (one, two):
                with watch(each) as calls:
                    each(x)
                seen += calls
        torch.testing.assert_close(seen[0].weights(), seen[1].weights())

    def test_grouped_keys_are_as_wide_as_their_heads(self):
        attention = MultiHeadAttention(8, heads=4, key_width=4, projections=Projections(kv_heads=2, query_only=True))
        assert attention(torch.randn(1, 3, 8), torch.randn(1, 5, 4)).shape == (1, 3, 8)

    def test_errors(self):
        with pytest.raises(ArgumentError, match="`shared_key` must be False where only queries are projected"):
            Projections(query_only=True, shared_key=True)
        with pytest.raises(ArgumentError, match="`key_width` must be 6, the size of all key heads together"):
            MultiHeadAttention.query_only(6, heads=3, key_width=5)
        with pytest.raises(ArgumentError, match="`value_width` must be 6"):
            MultiHeadAttention.query_only(6, heads=3, value_width=5)
        with pytest.raises(ArgumentError, match="`key` must be vectors \\(batch, length, 6\\)"):
            MultiHeadAttention.query_only(6, heads=3)(torch.zeros(1, 2, 6), torch.zeros(1, 2, 5))


class TestGroupedQueries:
    @pytest.mark.parametrize("kv_heads", [1, 2, 3, 6])
    def test_each_key_head_serves_as_many_queries(self, kv_heads):
        grouped = MultiHeadAttention.grouped_query(12, heads=6, kv_heads=kv_heads).double()
        assert grouped.key.out_features == grouped.value.out_features == 2 * kv_heads
        full = MultiHeadAttention(12, heads=6).double()
        state = grouped.state_dict()
        for name in ("key.weight", "key.bias", "value.weight", "value.bias"):
            by_head = state[name].unflatten(0, (kv_heads, 2))
            state[name] = by_head.repeat_interleave(6 // kv_heads, 0).flatten(0, 1)
        full.load_state_dict(state)
        x = torch.randn(2, 7, 12, dtype=DOUBLE)
        torch.testing.assert_close(grouped(x, mask=Window(2, 1)), full(x, mask=Window(2, 1)))

    @pytest.mark.parametrize("kv_heads", [0, 4, 12, -1])
    def test_it_must_divide_the_heads(self, kv_heads):
        with pytest.raises(ArgumentError, match=f"`kv_heads` must divide `heads` 6, but is {kv_heads}"):
            MultiHeadAttention.grouped_query(12, heads=6, kv_heads=kv_heads)

    def test_multi_query_has_one_head_of_keys_and_values(self):
        attention = MultiHeadAttention.multi_query(12, heads=6, position="rotary")
        assert (attention.kv_heads, attention.key.out_features, attention.value.out_features) == (1, 2, 2)
        assert attention.position == "rotary"

    def test_the_layers_of_an_encoder_have_it_too(self):
        encoder = Encoder(12, layers=2, heads=3, hidden=8, projections=Projections(kv_heads=1))
        assert [layer.attention.key.out_features for layer in encoder.layers] == [4, 4]
        assert encoder(torch.randn(2, 5, 12)).shape == (2, 5, 12)


class TestPartsByName:
    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            (kind, name)
            for kind, known in (("score", SCORES), ("weights", WEIGHTS), ("position", POSITIONS))
            for name in known
        ],
    )
    def test_every_name_works_and_what_it_owns_is_trained(self, kind, name):
        attention = MultiHeadAttention(12, heads=3, **{kind: name})
        attention(torch.randn(2, 7, 12)).square().sum().backward()
        assert all(parameter.grad is not None for parameter in attention.parameters())
        owned = getattr(attention, kind)
        if isinstance(owned, nn.Module):
            assert {f"{kind}.{inner}" for inner in names(owned)} <= set(names(attention))
        else:
            assert owned == name

    def test_a_part_that_is_given_is_used_as_it_is(self):
        position = Relative(4, reach=2)
        assert MultiHeadAttention(12, heads=3, position=position).position is position

    def test_a_part_that_needs_more_than_sizes_says_so(self, monkeypatch):
        def keen(size_of_window):
            return None

        monkeypatch.setitem(SCORES, "keen", keen)
        with pytest.raises(ArgumentError, match="`score` 'keen' needs `size_of_window`, so its name alone"):
            MultiHeadAttention(12, heads=3, score="keen")

    def test_each_layer_makes_its_own(self):
        position = PerLayer(functools.partial(Relative, reach=5))
        encoder = Encoder(12, layers=2, heads=3, hidden=8, position=position)
        first, second = (layer.attention.position for layer in encoder.layers)
        assert first.table.shape == second.table.shape == (11, 4)
        assert first is not second
        assert isinstance(MultiHeadAttention(12, heads=3, position=PerLayer(Rotary)).position, Rotary)

    def test_what_each_layer_makes_may_need_sizes_only(self):
        def keen(size_of_window):
            return None

        with pytest.raises(ArgumentError, match=r"`make` of the PerLayer for `score` must require .* `size_of_window`"):
            MultiHeadAttention(12, heads=3, score=PerLayer(keen))


class TestExtraKeys:
    def test_they_stand_in_front_and_no_mask_hides_them(self):
        attention = MultiHeadAttention.with_extra_keys(12, heads=3, zero=True).double()
        x = torch.randn(2, 7, 12, dtype=DOUBLE)
        with watch(attention) as seen:
            attention(x, mask=Causal() & Lengths([7, 4]))
        weights = seen[0].weights()
        assert weights.shape == (2, 3, 7, 9)
        assert (weights[..., :2] > 0).all()
        assert (weights[..., 2:].triu(1) == 0).all()
        assert (weights[1, :, :, 6:] == 0).all()
        assert (weights[1, :, 4:, 2:] == 0).all()
        assert "extra.key" in names(attention)

    @pytest.mark.parametrize(
        "mask",
        [Causal(), Window(2, 0), Lengths(key=[5, 2]), Guided(1), Guided(0.3), lambda b, h, q, k: (q + k + b) % 2 == 0],
        ids=["causal", "window", "lengths", "guided", "guided by share", "own"],
    )
    def test_equals_attention_written_out(self, mask):
        attention = MultiHeadAttention.with_extra_keys(12, heads=3, zero=True, output=False).double()
        x, source = torch.randn(2, 3, 12, dtype=DOUBLE), torch.randn(2, 5, 12, dtype=DOUBLE)
        q, k, v = (
            linear(vectors).unflatten(-1, (3, 4)).transpose(1, 2)
            for linear, vectors in ((attention.query, x), (attention.key, source), (attention.value, source))
        )
        allowed = weigh(q, k, mask=mask) > 0
        own = (q @ k.mT / 2).masked_fill(~allowed, -torch.inf)
        learned = q @ attention.extra.key.mT / 2
        weights = torch.softmax(torch.cat([learned, torch.zeros_like(learned), own], -1), -1)
        expected = weights[..., 2:] @ v + weights[..., :1] * attention.extra.value
        torch.testing.assert_close(attention(x, source, mask=mask), expected.transpose(1, 2).flatten(2))

    @pytest.mark.parametrize(
        "mask", [Causal(), Window(2, 0), ~Window(1, 1), Lengths(key=[11, 3]), Causal() | Window(0, 2)]
    )
    def test_what_may_be_skipped_and_what_need_not_be_asked(self, mask):
        """Outside of the outer intervals nothing is allowed, inside of the inner ones everything."""
        beside = ExtraKeys(1, 4, zero=True).extend_mask(mask)
        sizes = Sizes(2, 7, 13, None, beside.lengths().keys)
        item, row, column = (
            torch.arange(2).view(2, 1, 1),
            torch.arange(7).view(1, 7, 1),
            torch.arange(13).view(1, 1, 13),
        )
        allowed = beside.allows(sizes.index(item, torch.zeros_like(item), row, column, tile=None)).expand(2, 7, 13)

        def held(intervals):
            inside = [(column >= part.start[..., None]) & (column < part.stop[..., None]) for part in intervals]
            return sum(inside, torch.zeros(2, 7, 13, dtype=torch.bool)) > 0

        spans = beside.spans(sizes)
        assert allowed[..., :2].all()
        assert not (allowed & ~held(spans.outer)).any()
        assert not (held(spans.inner) & ~allowed).any()
        assert not spans.exact or torch.equal(held(spans.outer), allowed)

    def test_there_is_one_for_each_key_head(self):
        attention = MultiHeadAttention.with_extra_keys(12, heads=6, projections=Projections(kv_heads=2))
        assert attention.extra.key.shape == (2, 1, 2)
        assert attention(torch.randn(1, 3, 12)).shape == (1, 3, 12)

    def test_nothing_extra_is_an_error(self):
        with pytest.raises(ArgumentError, match="`learned` or `zero` must be True"):
            ExtraKeys(3, 4, learned=False)


class TestBias:
    def test_it_is_added_to_the_scores_and_trained(self):
        attention = MultiHeadAttention(6, heads=3, output=False).double()
        x = torch.randn(2, 5, 6, dtype=DOUBLE)
        bias = torch.randn(3, 5, 5, dtype=DOUBLE, requires_grad=True)
        q, k, v = (
            linear(x).unflatten(-1, (3, 2)).transpose(1, 2)
            for linear in (attention.query, attention.key, attention.value)
        )
        expected = (torch.softmax(q @ k.mT / 2**0.5 + bias, -1) @ v).transpose(1, 2).flatten(2)
        output = attention(x, bias=bias)
        torch.testing.assert_close(output, expected)
        above = torch.randn_like(output)
        torch.testing.assert_close(
            torch.autograd.grad(output, bias, above)[0], torch.autograd.grad(expected, bias, above)[0]
        )

    @pytest.mark.parametrize("name", POSITIONS)
    def test_beside_a_position(self, name):
        attention = MultiHeadAttention(6, heads=3, position=name).double()
        x = torch.randn(2, 5, 6, dtype=DOUBLE)
        bias, shown = torch.zeros(5, 5, dtype=DOUBLE), torch.randn(5, 5) > 0
        torch.testing.assert_close(attention(x, bias=bias), attention(x))
        hidden = attention(x, bias=bias.masked_fill(~shown, -1e9))
        rows = shown.any(-1)
        torch.testing.assert_close(hidden[:, rows], attention(x, mask=lambda b, h, q, k: shown[q, k])[:, rows])


def test_projections_that_are_none_are_refused():
    """In a process of its own: here annotations are checked, which would refuse it first."""
    call = "from regard.modules import MultiHeadAttention as M; M(12, heads=3, projections='multi_query')"
    ran = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True)
    assert "ArgumentError: `projections` must be a regard.modules.Projections, but is 'multi_query'" in ran.stderr
