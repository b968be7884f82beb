"""Tables of pairs and their rules: the rule must give back the table."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import Bias, Causal, Mask, Window, weigh
from regard.attention.masks import KeyRange, Pairs
from regard.inspection.capture.by_hand.rules import Distances, KeyIntervals, as_parts, bias_rule, mask_rule

SIZES = st.integers(1, 6)


def allowed_by(mask, batch, heads, queries, keys):
    """The table of a mask, from the weights that it leaves."""
    query, key = torch.zeros(batch, heads, queries, 2), torch.zeros(batch, heads, keys, 2)
    return weigh(query, key, mask=mask) > 0


@given(SIZES, SIZES, st.integers(0, 6), st.integers(0, 6))
def test_windows_are_recognised(queries, keys, before, after):
    position = torch.arange(queries).unsqueeze(1) + keys - queries
    key = torch.arange(keys)
    table = ((key >= position - before) & (key <= position + after)).view(1, 1, queries, keys)
    rule = mask_rule(table)
    assert torch.equal(allowed_by(rule, 1, 1, queries, keys), table)
    assert not isinstance(rule, Pairs)


@given(st.integers(1, 2), st.integers(1, 2), SIZES, SIZES, st.data())
def test_every_mask_survives(batch, heads, queries, keys, data):
    bits = data.draw(
        st.lists(st.booleans(), min_size=batch * heads * queries * keys, max_size=batch * heads * queries * keys)
    )
    table = torch.tensor(bits).view(batch, heads, queries, keys)
    assert torch.equal(allowed_by(mask_rule(table), batch, heads, queries, keys), table)


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        (torch.ones(1, 1, 4, 4), type(None)),
        (torch.ones(1, 1, 4, 4).tril(), Causal),
        (torch.ones(1, 1, 4, 6).tril(2), Causal),
        (torch.ones(1, 1, 4, 4).tril().triu(-1), Window),
        (torch.tensor([[[[0, 1, 1]]], [[[1, 1, 0]]]]), KeyRange),
        (torch.tensor([[[[0, 1, 1]], [[0, 1, 1]]]]), KeyRange),
        (torch.ones(1, 1, 4, 6).tril(), KeyIntervals),
        (torch.tensor([[[[1, 0, 1]]]]), Pairs),
    ],
)
def test_the_rule_of_a_mask(table, rule):
    assert type(mask_rule(table.bool())) is rule
    assert rule is type(None) or issubclass(rule, Mask)


@given(st.integers(1, 3), SIZES, SIZES, st.integers(0, 99))
def test_a_bias_by_distance_is_one_line(heads, queries, keys, seed):
    line = torch.randn(heads, queries + keys - 1, generator=torch.Generator().manual_seed(seed))
    distance = torch.arange(keys) - torch.arange(queries).unsqueeze(1) + queries - 1
    table = line[:, distance].unsqueeze(0)
    query, key = torch.randn(2, heads, queries, 3), torch.randn(2, heads, keys, 3)
    rule = bias_rule(table)
    torch.testing.assert_close(
        weigh(query, key, position=rule), weigh(query, key, position=Bias(table)), atol=1e-6, rtol=0
    )
    if queries > 1 and keys > 1:
        assert isinstance(rule, Distances)
        hidden = torch.ones(queries, keys).triu(1 + keys - queries).bool()
        mask, position = as_parts(table.masked_fill(hidden, -torch.inf))
        if not hidden.all(-1).any():
            assert isinstance(position, Distances | None)
            expected = (query @ key.mT / 3**0.5 + table).masked_fill(hidden, -torch.inf).softmax(-1)
            torch.testing.assert_close(weigh(query, key, mask=mask, position=position), expected, atol=1e-6, rtol=0)


def test_a_bias_of_keys_alone_has_one_row():
    table = torch.tensor([0.5, 0.0, 2.0]).expand(1, 1, 4, 3)
    assert bias_rule(table).table.shape == (1, 1, 1, 3)


def test_a_row_of_equal_low_numbers_attends_to_everything_alike():
    table = torch.full((1, 1, 2, 3), torch.finfo(torch.float32).min)
    table[..., 0, 0] = 0.0
    mask, position = as_parts(table)
    query = torch.zeros(1, 1, 2, 1)
    found = weigh(query, torch.zeros(1, 1, 3, 1), mask=mask, position=position)
    torch.testing.assert_close(found[0, 0], torch.tensor([[1.0, 0, 0], [1 / 3, 1 / 3, 1 / 3]]))


def test_minus_infinity_in_a_whole_row_leaves_nothing():
    table = torch.zeros(1, 1, 2, 3)
    table[..., 1, :] = -torch.inf
    mask, position = as_parts(table)
    assert position is None
    assert allowed_by(mask, 1, 1, 2, 3)[0, 0].tolist() == [[True] * 3, [False] * 3]
