"""Monotonic alignment against every way that there is."""

import itertools

import pytest
import torch

from regard.errors import ArgumentError
from regard.modules.alignment import even_alignment, monotonic_alignment


def ways(targets, parts):
    """All durations of 1 or more with this sum."""
    for cuts in itertools.combinations(range(1, targets), parts - 1):
        ends = (0, *cuts, targets)
        yield tuple(end - begin for begin, end in itertools.pairwise(ends))


def cost_of(costs, durations):
    part = torch.repeat_interleave(torch.arange(len(durations)), torch.tensor(durations))
    return float(costs[torch.arange(len(part)), part].sum())


def test_the_cheapest_of_all_ways():
    costs = torch.rand(6, 9, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    targets, parts = [9, 7, 4, 5, 3, 0], [4, 3, 4, 1, 1, 0]
    found = monotonic_alignment(costs, torch.tensor(targets), torch.tensor(parts)).tolist()
    for item in range(5):
        best = min(ways(targets[item], parts[item]), key=lambda way, item=item: cost_of(costs[item], way))
        assert found[item] == [*best, *[0] * (4 - parts[item])]
    assert found[5] == [0] * 4


def test_padding_is_not_looked_at():
    costs = torch.rand(1, 6, 3, generator=torch.Generator().manual_seed(2))
    padded = torch.full((1, 8, 5), torch.nan)
    padded[:, :6, :3] = costs
    sizes = torch.tensor([6]), torch.tensor([3])
    assert monotonic_alignment(padded, *sizes)[0, :3].equal(monotonic_alignment(costs, *sizes)[0])


def test_fewer_targets_than_parts_are_spread():
    found = monotonic_alignment(torch.rand(2, 3, 5), torch.tensor([3, 2]), torch.tensor([5, 4]))
    assert found.sum(1).tolist() == [3, 2]
    assert found.max() == 1
    assert found.tolist() == [[0, 1, 0, 1, 1], [0, 1, 0, 1, 0]]


def test_even_is_even():
    targets, parts = torch.tensor([10, 3, 0, 4]), torch.tensor([3, 3, 2, 1])
    found = even_alignment(targets, parts, 4)
    assert found.sum(1).equal(targets)
    assert found.tolist() == [[3, 3, 4, 0], [1, 1, 1, 0], [0, 0, 0, 0], [4, 0, 0, 0]]


def test_nothing_at_all():
    assert monotonic_alignment(torch.zeros(0, 3, 2), torch.zeros(0).long(), torch.zeros(0).long()).shape == (0, 2)
    nothing = torch.tensor([0, 0])
    assert monotonic_alignment(torch.zeros(2, 3, 0), nothing, nothing).shape == (2, 0)
    assert monotonic_alignment(torch.zeros(2, 0, 0), nothing, nothing).shape == (2, 0)
    assert monotonic_alignment(torch.zeros(2, 0, 3), nothing, torch.tensor([3, 1])).tolist() == [[0] * 3] * 2


@pytest.mark.parametrize(
    ("targets", "parts", "said"),
    [
        ([4], [2], "`targets` must be 1 numbers from 0 to 3"),
        ([-1], [2], "`targets` must be"),
        ([3], [3], "`parts` must be 1 numbers from 0 to 2"),
        ([3], [0], "`parts` must be 1 or more"),
    ],
)
def test_numbers_that_can_t_be(targets, parts, said):
    with pytest.raises(ArgumentError, match=said):
        monotonic_alignment(torch.zeros(1, 3, 2), torch.tensor(targets), torch.tensor(parts))
