import math
from dataclasses import replace

import pytest
import torch

from regard.errors import ArgumentError
from regard.inspection import LayerRecord, Record, find_problems, rank, select_weights
from regard.inspection.record.numbered import numbered

of_weights = LayerRecord.of_weights


def _record(*layers):
    size = layers[0].weights().shape[-1] if layers else 2
    return Record(tuple(map(str, range(size))), ("X",) * size, (0.5,) * size, layers)


def test_the_default_is_the_last_layer_and_an_average_that_is_named():
    first = of_weights("layer 1", torch.zeros(2, 3, 3))
    last = of_weights("layer 2", torch.stack([torch.full((3, 3), value) for value in (0.0, 0.25, 0.5, 0.25)]))
    choice = select_weights(_record(first, last))
    assert choice.title == "Layer 2 of 2, average of heads 1-4"
    assert choice.weights.tolist() == [[0.25] * 3] * 3
    choice = select_weights(_record(first, last), layer=2, head=3)
    assert choice.title == "Layer 2 of 2, head 3 of 4"
    assert choice.weights.tolist() == [[0.5] * 3] * 3


def test_one_head_is_no_average():
    assert select_weights(_record(of_weights("layer 1", torch.zeros(1, 2, 2)))).title == "Layer 1 of 1, head 1 of 1"


@pytest.mark.parametrize(
    ("layer", "head", "message"),
    [
        (0, None, r"`layer` must be from 1 to 2, but is 0"),
        (3, None, r"`layer` must be from 1 to 2, but is 3"),
        (1, 0, r"`head` must be from 1 to 4 in layer 1, but is 0"),
        (1, 5, r"`head` must be from 1 to 4 in layer 1, but is 5"),
        (2, 2, r"`head` must be 1 in layer 2, but is 2"),
    ],
)
def test_a_wrong_layer_or_head_is_told_the_range(layer, head, message):
    layers = (
        of_weights("layer 1", torch.zeros(4, 3, 3)),
        of_weights("layer 2", torch.zeros(1, 3, 3)),
    )
    with pytest.raises(ArgumentError, match=message):
        select_weights(_record(*layers), layer, head)


def test_nothing_seen_is_said():
    with pytest.raises(ArgumentError, match="Nothing was captured"):
        select_weights(_record())


def test_ranking_lists_totals_and_the_rest():
    keys, rest, others = rank(torch.tensor([0.0625, 0.5, 0.0, 0.25, 0.1875]), 2)
    assert [tuple(key) for key in keys] == [(1, 0.5, 0.5), (3, 0.25, 0.75)]
    assert (rest, others) == (0.25, 2)


def test_ranking_breaks_ties_by_position_and_leaves_zeros_out():
    keys, rest, others = rank(torch.tensor([0.0, 0.5, 0.0, 0.5]), 7)
    assert [key.key for key in keys] == [1, 3]
    assert (rest, others) == (0.0, 0)
    assert rank(torch.zeros(5), 3) == ((), 0.0, 0)
    assert rank(torch.tensor([0.5, 0.5]), 0) == ((), 1.0, 2)


def test_ranking_puts_nan_where_it_is_seen():
    keys, _, _ = rank(torch.tensor([0.5, math.nan, 0.5]), 1)
    assert keys[0].key == 1
    assert math.isnan(keys[0].weight)


def test_a_negative_top_is_refused():
    with pytest.raises(ArgumentError, match="`top` must be 0 or more, but is -1"):
        rank(torch.zeros(3), -1)


def _problems(rows, normaliser="softmax"):
    layer = of_weights("layer 1", torch.tensor([rows]), normaliser=normaliser)
    return find_problems(select_weights(_record(layer)))


def test_health_finds_nan_and_wrong_sums_and_nothing_else():
    assert _problems([[0.5, 0.5], [0.0, 0.0]]) == []
    assert _problems([[0.5, 0.5009], [1.0, 0.0]]) == []
    assert "1 of 2 rows sum to something other than 1; the first is row 2" in _problems([[0.5, 0.5], [0.5, 0.502]])[0]
    assert _problems([[0.5, 0.9], [0.1, 0.1]], "relu") == []
    found = _problems([[math.nan, 0.5], [0.5, 0.5]])
    assert len(found) == 1
    assert "1 of 4 weights aren't finite" in found[0]


def test_repeated_words_are_told_apart_by_position():
    assert numbered(["saw", "a", "saw", "Saw"]) == ("saw (1)", "a", "saw (3)", "Saw")


def test_records_refuse_what_does_not_fit():
    with pytest.raises(ArgumentError, match="`labels` must have 2 entries, one for each item, or none, but has 1"):
        Record(("a", "b"), ("X",), (0.5, 0.5))
    with pytest.raises(ArgumentError, match=r"layer 1 has \(1, 3, 3\)"):
        Record(("a", "b"), ("X", "Y"), (0.5, 0.5), (of_weights("layer 1", torch.zeros(1, 3, 3)),))
    with pytest.raises(ArgumentError, match=r"`weights` must be \(head, query, key\)"):
        of_weights("layer 1", torch.zeros(3, 3))


def test_a_record_keeps_float32_without_gradients():
    layer = of_weights("layer 1", torch.zeros(1, 2, 2, dtype=torch.float16, requires_grad=True))
    assert layer.weights().dtype == torch.float32
    assert not layer.weights().requires_grad


@pytest.mark.parametrize("budget", [1, 2**22])
def test_weights_of_an_item_are_sums_over_its_keys_and_averages_over_its_queries(budget, monkeypatch):
    monkeypatch.setattr("regard.inspection.record.record._BUDGET", budget)
    weights = torch.rand(2, 5, 6, generator=torch.Generator().manual_seed(0)).softmax(-1)
    layer = replace(LayerRecord.of_weights("layer 1", weights), query_bounds=(0, 1, 5), key_bounds=(0, 2, 3, 6))
    keys = torch.stack([weights[..., :2].sum(-1), weights[..., 2], weights[..., 3:].sum(-1)], -1)
    expected = torch.stack([keys[:, 0], keys[:, 1:].mean(1)], 1)
    assert layer.shape == (2, 3)
    torch.testing.assert_close(layer.weights(), expected)
    torch.testing.assert_close(layer.weights([1]), expected[:, 1:])
    torch.testing.assert_close(torch.cat([*layer.blocks()], 1), expected)
    torch.testing.assert_close(layer.weights().sum(-1), torch.ones(2, 2))
    alone = replace(layer, query_bounds=None)
    torch.testing.assert_close(alone.weights(), keys)


@pytest.mark.parametrize("bounds", [(0,), (0, 7), (1, 1), (-1, 3), (2, 1)])
def test_bounds_that_do_not_fit(bounds):
    layer = LayerRecord.of_weights("layer 1", torch.full((1, 6, 6), 1 / 6))
    for name in ("query_bounds", "key_bounds"):
        with pytest.raises(ArgumentError, match=f"`{name}` must be two numbers or more that grow, up to 6, but are"):
            replace(layer, **{name: bounds})
