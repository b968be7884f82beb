"""Fixed convolutions: shares of outputs above thresholds, against loops over every output."""

import itertools
import json
import random

import numpy as np
import pytest
import torch

from regard.errors import ArgumentError
from regard.inputs import FixedConvolutions

KERNELS = list(itertools.combinations(range(9), 3))


def series(*lengths: int, width: int = 1) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(7)
    return [torch.randn(length, width, generator=generator) for length in lengths]


def columns_read(place: int, width: int) -> list[list[int]]:
    """The columns that each kernel reads at the `place`-th dilation."""
    draws = random.Random(place)
    drawn = [[column for column in range(width) if draws.random() < 0.5] for _ in KERNELS]
    certain = [int(draws.random() * width) for _ in KERNELS]
    return [sorted({*some, one}) for some, one in zip(drawn, certain, strict=True)]


def slow_shares(found: FixedConvolutions, vectors: np.ndarray) -> np.ndarray:
    """The standardised shares by loops."""
    length, parts = len(vectors), [*range(0, len(vectors), found.together)]
    rows = np.zeros((len(parts), found.count))
    each = found.count // (len(KERNELS) * len(found.dilations))
    for place, dilation in enumerate(found.dilations):
        reads = columns_read(place, vectors.shape[1])
        for kernel, raised in enumerate(KERNELS):
            summed = vectors[:, reads[kernel]].sum(1) / len(reads[kernel]) ** 0.5
            outputs = []
            for item in range(length):
                at = [item + (tap - 4) * dilation for tap in range(9)]
                outputs.append(
                    sum((2 if tap in raised else -1) * summed[i] for tap, i in enumerate(at) if 0 <= i < length)
                )
            for number in range(each):
                share = (place * len(KERNELS) + kernel) * each + number
                for part, first in enumerate(parts):
                    above = [output > found.thresholds[share] for output in outputs[first : first + found.together]]
                    rows[part, share] = (np.mean(above) - found.means[share]) / found.spreads[share]
    return rows


@pytest.mark.parametrize(("width", "together", "count"), [(1, 3, 84), (3, 5, 336), (2, 1, 168)])
def test_shares_are_those_of_loops(width, together, count):
    given = series(17, 23, 19, width=width)
    found = FixedConvolutions.fit(given, together=together, count=count)
    assert found.count == count
    # float32 outputs may fall on either side of a threshold that is one of them, so thresholds are moved off them.
    moved = FixedConvolutions.from_json(
        {**found.to_json(), "thresholds": [threshold + 1e-3 for threshold in found.thresholds]}
    )
    for each in given:
        np.testing.assert_allclose(moved.apply(each).numpy(), slow_shares(moved, each.double().numpy()), atol=2e-3)


def test_shares_over_whole_series_are_standardised_in_training():
    given = series(*range(20, 45))
    found = FixedConvolutions.fit(given, together=45, count=168)
    whole = torch.cat([found.apply(each) for each in given])
    torch.testing.assert_close(whole.mean(0), torch.zeros(168), atol=1e-4, rtol=0)
    assert whole.std(0, correction=0).median().item() == pytest.approx(1, abs=1e-3)


def test_the_mean_over_parts_is_the_share_of_the_whole():
    given = series(24, 24)
    parts = FixedConvolutions.fit(given, together=4, count=84)
    whole = FixedConvolutions.from_json({**parts.to_json(), "together": 24})
    torch.testing.assert_close(parts.apply(given[0]).mean(0, keepdim=True), whole.apply(given[0]))


def test_the_level_of_a_series_is_not_seen_but_at_its_ends():
    found = FixedConvolutions.fit(series(40, 40), together=10, count=84)
    (low, high) = (found.apply(torch.full((40, 1), level))[1:3] for level in (-3.0, 5.0))
    torch.testing.assert_close(low, high)


def test_dilations_grow_with_the_length_of_the_series():
    short, long = (FixedConvolutions.fit(series(length), count=420).dilations for length in (9, 257))
    assert (short, long) == ((1,), (1, 2, 5, 13, 32))


def test_a_dilation_of_short_series_with_several_columns_stands_several_times_with_other_columns():
    given = series(9, 9, width=5)
    found = FixedConvolutions.fit(given, together=9, count=420)
    assert found.dilations == (1, 1, 1, 1, 1)
    first, second = found.maxima(given[0]).unflatten(0, (5, 84))[:2]
    assert not torch.allclose(first, second)


def test_maxima_are_the_thresholds_that_nothing_exceeds():
    """The largest output of each kernel, found by moving the thresholds: the shares of none and of some."""
    (given,) = series(31)
    found = FixedConvolutions.fit([given], together=31, count=168)
    maxima = found.maxima(given)
    assert maxima.shape == (84 * len(found.dilations),)
    for moved, exceeded in ((1e-3, False), (-1e-3, True)):
        at = FixedConvolutions.from_json(
            {**found.to_json(), "means": [0.0] * 168, "thresholds": (maxima + moved).tolist()}
        )
        assert ((at.apply(given)[0] > 0) == exceeded).all()
    assert not found.maxima(torch.zeros(0, 1)).any()
    with pytest.raises(ArgumentError, match="`vectors` must be 1 wide, but is 2"):
        found.maxima(torch.zeros(3, 2))


def test_a_saved_one_gives_equal_numbers():
    (given,) = series(30, width=2)
    found = FixedConvolutions.fit([given], together=4, count=200)
    loaded = FixedConvolutions.from_json(json.loads(json.dumps(found.to_json())))
    assert torch.equal(loaded.apply(given), found.apply(given))


def test_an_empty_series_has_no_parts():
    found = FixedConvolutions.fit(series(5, 0), together=2, count=84)
    assert found.apply(torch.zeros(0, 1)).shape == (0, 84)
    assert found.apply(torch.zeros(1, 1)).shape == (1, 84)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"together": 0}, "`together` must be an integer of at least 1, but is 0"),
        ({"dilations": [0]}, "`dilations` must be positive integers"),
        ({"thresholds": [0.0]}, "`thresholds` must be a multiple of 84 numbers, as many for each kernel, but are 1"),
        ({"means": [0.0]}, "`means` must be 84 finite numbers"),
        ({"spreads": [0.0] * 84}, "`spreads` must be above 0"),
    ],
)
def test_what_does_not_fit_is_refused(changed, said):
    saved = FixedConvolutions.fit(series(5), count=84).to_json()
    with pytest.raises(ArgumentError, match=said):
        FixedConvolutions.from_json({**saved, **changed})


def test_another_width_and_no_vectors_are_refused():
    with pytest.raises(ArgumentError, match="`vectors` must be 1 wide, but is 2"):
        FixedConvolutions.fit(series(5)).apply(torch.zeros(3, 2))
    with pytest.raises(ArgumentError, match="`sequences` must hold at least one vector, but holds none"):
        FixedConvolutions.fit([torch.zeros(0, 1)])
