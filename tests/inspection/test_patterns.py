"""Heads with a known pattern get its name, and heads without any get none."""

import pytest
import torch

from regard.errors import ArgumentError
from regard.inspection import SeenLayer, head_patterns
from regard.page.messages import messages


def layer_of(weights, mask=None, normaliser="softmax"):
    """A layer with these weights, (head, query, key), or with the softmax of their logarithms."""
    heads, _, keys = weights.shape
    query = weights.log().clamp(min=-60).unsqueeze(0)
    key = torch.eye(keys).expand(1, heads, -1, -1)
    return SeenLayer("a", "", query, key, key, "dot", normaliser, mask, None, 0.0, torch.arange(0), query[:, :, :0])


def of(weights, **arguments):
    (found,) = head_patterns(layer_of(weights.unsqueeze(0)), **arguments)
    return found


def shifted(size, by, weight=1.0):
    """`weight` on the key `by` after the query, and the rest on the others."""
    table = torch.full((size, size), (1 - weight) / (size - 1))
    for row in range(size):
        if 0 <= row + by < size:
            table[row, row + by] = weight
    return table / table.sum(-1, keepdim=True).clamp(min=1e-9)


@pytest.mark.parametrize(("by", "name"), [(-1, "previous"), (1, "next"), (0, "same")])
def test_one_key_beside_the_query(by, name):
    found = of(shifted(11, by))
    assert (found.layer, found.head, found.name) == ("a", 0, name)
    assert found.score == pytest.approx(1.0)
    assert found.scores[name] == found.score
    weak = of(shifted(11, by, 0.75))
    assert weak.name == name
    assert weak.score == pytest.approx(0.75)
    assert of(shifted(11, by, 0.4)).name == "none"


def test_first():
    table = torch.zeros(7, 7)
    table[:, 0] = 1
    found = of(table)
    assert (found.name, found.score) == ("first", pytest.approx(1.0))
    # 2 of 7 queries are next to the first key or are there.
    assert found.scores["same"] == pytest.approx(1 / 7)
    assert found.scores["previous"] == pytest.approx(1 / 6)


def test_uniform_with_and_without_a_mask():
    table = torch.full((13, 13), 1 / 13)
    found = of(table)
    assert (found.name, found.score) == ("uniform", pytest.approx(1.0))
    (causal,) = head_patterns(layer_of(table.unsqueeze(0), mask="causal"))
    assert (causal.name, causal.score) == ("uniform", pytest.approx(1.0, abs=1e-5))
    # The mean of 1 / (i + 1) over the queries that may choose, i = 1 to 12.
    assert causal.scores["first"] == pytest.approx(sum(1 / (i + 1) for i in range(1, 13)) / 12)
    assert "next" not in causal.scores


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_short_uniform_maps_have_no_other_name(size):
    assert of(torch.full((size, size), 1 / size), separators=[0, size - 1]).name == "uniform"
    (causal,) = head_patterns(layer_of(torch.full((1, size, size), 1 / size), mask="causal"))
    assert causal.name == "uniform"


def test_previous_under_a_causal_mask():
    table = shifted(9, -1)
    table[0, 0] = 1
    (found,) = head_patterns(layer_of(table.unsqueeze(0), mask="causal"))
    assert (found.name, found.score) == ("previous", pytest.approx(1.0))


def test_separators():
    table = torch.full((10, 10), 0.01)
    table[:, [4, 9]] = 0.46
    found = of(table, separators=[4, 9])
    assert (found.name, found.score) == ("separator", pytest.approx(0.92))
    assert of(table).name == "none"
    assert "separator" not in of(table).scores


def test_duplicates():
    items = [*"abcabc"]
    table = torch.zeros(6, 6)
    for row in range(6):
        table[row, (row + 3) % 6] = 1
    found = of(table, items=items)
    assert (found.name, found.score) == ("duplicate", pytest.approx(1.0))
    assert of(table).name == "none"
    same = of(torch.eye(6), items=items)
    assert (same.name, same.scores["duplicate"]) == ("same", pytest.approx(0.0))


@pytest.mark.parametrize("mask", [None, "causal"])
def test_induction(mask):
    items = [*"abcdabcdabc"]
    # What followed the same letter before; the first key where the letter is new.
    table = torch.zeros(11, 11)
    for row in range(11):
        table[row, row - 3 if row >= 4 else 0] = 1
    (found,) = head_patterns(layer_of(table.unsqueeze(0), mask=mask), items=items)
    assert (found.name, found.score) == ("induction", pytest.approx(1.0))
    assert found.scores["duplicate"] == pytest.approx(0.0)
    (unknown,) = head_patterns(layer_of(table.unsqueeze(0), mask=mask))
    assert "induction" not in unknown.scores
    # Without a repetition there is nothing to score.
    assert "induction" not in of(table, items=[*"abcdefghijk"]).scores


@pytest.mark.parametrize(("by", "name"), [(-1, "previous"), (1, "next"), (0, "same")])
def test_keys_beside_the_query_are_no_induction(by, name):
    table = shifted(12, by)
    table[table.sum(-1) == 0, 0] = 1
    found = of(table, items=[*"abbcabbcabbc"])
    assert (found.name, found.scores["induction"]) == (name, pytest.approx(0.0))


def test_the_first_key_comes_after_nothing():
    table = torch.zeros(6, 6)
    table[:, 0] = 1
    assert of(table, items=[*"abcabc"]).scores["induction"] == pytest.approx(0.0)


def test_a_single_pair_of_many_does_not_name_a_head():
    table = shifted(12, -1, 0.8)
    table[-1] = torch.eye(12)[-2]
    found = of(table, items=[*"abcdefghijx", "k"])
    assert found.name == "previous"
    table[[10, 11]] = torch.eye(12)[[11, 10]]
    found = of(table, items=[*"abcdefghijkk"])
    assert (found.name, found.scores["duplicate"]) == ("previous", pytest.approx(1.0))


def test_items_leave_padding_out():
    table = shifted(8, -1)
    table[5:] = torch.eye(8)[7]
    assert of(table, items=list("abcde")).score == pytest.approx(1.0)
    assert of(table).score < 0.7


def test_cross_attention_along_a_diagonal():
    slow = torch.zeros(12, 5)
    for row in range(12):
        slow[row, row * 5 // 12] = 1
    found = of(slow)
    assert (found.name, found.score) == ("diagonal", pytest.approx(1.0))
    assert not {"previous", "next", "same"} & set(found.scores)
    uneven = torch.zeros(9, 9)
    for row, key in enumerate([0, 0, 1, 3, 4, 6, 7, 7, 8]):
        uneven[row, key] = 1
    assert of(uneven, cross=True).name == "diagonal"
    assert of(slow.flip(0)).name == "none"
    assert of(slow.flip(1)).name == "none"


def test_a_constant_head_of_cross_attention_is_no_diagonal():
    table = torch.zeros(20, 15)
    table[:, 0] = 1
    assert of(table).name == "first"
    table = torch.zeros(20, 15)
    table[:, 6] = 1
    assert of(table).name == "none"


@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("size", [8, 30, 100])
def test_random_heads_have_no_name(cross, size):
    torch.manual_seed(size)
    query, key = torch.randn(2, 1, 20, size, 16)
    layer = SeenLayer("a", "", 2 * query, key, key, "scaled_dot", "softmax", None, None, 0.0, torch.arange(0), query)
    names = [each.name for each in head_patterns(layer, items=[str(i // 2) for i in range(size)], cross=cross)]
    assert names == ["none"] * 20


def test_weights_that_do_not_sum_to_1():
    table = shifted(7, -1) * 1e30 + 1
    (found,) = head_patterns(layer_of(table.unsqueeze(0), normaliser="relu"))
    assert found.name == "previous"


def test_heads_and_layers_in_order():
    layer = layer_of(torch.stack([shifted(7, -1), shifted(7, 1), torch.full((7, 7), 1 / 7)]))
    found = head_patterns([layer, layer])
    assert [(each.head, each.name) for each in found] == 2 * [(0, "previous"), (1, "next"), (2, "uniform")]
    assert str(found[1]) == "a head 1: next (1.00)"


def test_blocks_of_rows_change_nothing(monkeypatch):
    torch.manual_seed(0)
    for table in (torch.rand(3, 11, 11), torch.rand(3, 11, 6)):
        whole = head_patterns(layer_of(table))
        monkeypatch.setattr("regard.inspection.record.seen_layer._BUDGET", 50)
        parts = head_patterns(layer_of(table))
        monkeypatch.undo()
        for one, other in zip(whole, parts, strict=True):
            assert one.scores == pytest.approx(other.scores)


def test_arguments_are_checked():
    with pytest.raises(ArgumentError, match="`item` must be"):
        of(shifted(5, 1), item=1)
    with pytest.raises(ArgumentError, match="`separators` must be"):
        of(shifted(5, 1), separators=[5])
    with pytest.raises(ArgumentError, match="`items` must be"):
        of(shifted(5, 1), items=list("abcdef"))


def test_empty_sequences():
    assert of(torch.zeros(0, 0)).name == "none"
    assert of(torch.ones(1, 1)).name == "none"


def test_each_pattern_has_words_on_the_page():
    table, items = torch.full((6, 6), 1 / 6), list("abcabc")
    measured = {*of(table, items=items, separators=[0]).scores, *of(table, cross=True).scores}
    words = messages()["patterns"]
    # A head without which a model ran has no weights to measure.
    assert measured == {*words} - {"removed"}
    assert all(words[name]["zh"] and set(words[name]["means"]) == {"en", "zh"} for name in measured)
