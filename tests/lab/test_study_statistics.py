"""Intervals, against SciPy's, and crossings, by hand."""

import math
import statistics

import numpy as np
import pytest
from scipy import stats

from regard.lab.statistics import crossing, difference, student


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 9, 12, 13, 20, 50, 1000])
def test_quantiles(freedom):
    assert student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-4)


@pytest.mark.parametrize("count", [2, 3, 10, 30])
def test_interval(count):
    values = np.random.default_rng(count).normal(0.3, 1.0, count).tolist()
    found = difference(values)
    low, high = stats.t.interval(0.95, count - 1, loc=np.mean(values), scale=stats.sem(values))
    assert (found.low, found.high) == (pytest.approx(low, rel=1e-3), pytest.approx(high, rel=1e-3))
    assert found.mean == pytest.approx(statistics.fmean(values))
    assert found.positive == sum(each > 0 for each in values)


def test_one_value_has_no_interval_and_equal_ones_have_no_width():
    assert (difference([0.5]).low, difference([0.5]).high) == (-math.inf, math.inf)
    same = difference([0.5, 0.5, 0.5])
    assert (same.low, same.high) == (0.5, 0.5)


def test_lines_cross_where_they_do():
    found = crossing({0: {1: -1.0, 10: 1.0, 100: 3.0}, 1: {1: -3.0, 10: -1.0, 100: 1.0}}, log=True)
    # The mean line is -2, 0, 2: exactly 0 is on neither side, so the crossing is between 1 and 100.
    assert found.at == pytest.approx(10)
    assert (found.low, found.high) == (pytest.approx(10**0.5), pytest.approx(10**1.5))
    assert (found.count, found.seeds, found.first_after) == (2, 2, True)
    assert crossing({0: {1: 1.0, 2: 2.0}}) is None
    falls = crossing({0: {1: 1.0, 2: -1.0}, 1: {1: 3.0, 2: 1.0}, 2: {1: 1.0, 2: -4.0}})
    assert (falls.first_after, falls.count) == (False, 2)
    assert falls.at == pytest.approx(1 + (5 / 3) / (5 / 3 + 4 / 3))
