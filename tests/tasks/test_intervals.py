"""Intervals: against another library's, against how often they hold, and none where there is nothing to go by."""

import numpy as np
import pytest

from regard.tasks.judging.intervals import FEWEST, format_interval, interval_of_share, interval_of_sums, wilson


@pytest.mark.parametrize("count", [1, 2, 7, 50, 1000])
def test_wilson_is_that_of_scipy(count):
    binomtest = pytest.importorskip("scipy.stats").binomtest
    for right in {0, 1, count // 2, count}:
        peer = binomtest(right, count).proportion_ci(method="wilson")
        assert wilson(right / count, count) == pytest.approx((peer.low, peer.high), abs=1e-12)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_a_share_lies_where_it_is_said_about_as_often_as_it_says(share):
    draw = np.random.default_rng(1)
    ends = [wilson(each, 50) for each in draw.binomial(50, share, size=2000) / 50]
    assert 0.9 < np.mean([low <= share <= high for low, high in ends]) < 0.99


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("lengths", [None, [50], [5] * 10, [10] * 5, [25, 25]])
def test_that_all_are_right_does_not_mean_that_all_ever_are(right, lengths):
    """Drawn anew they are all right again. The items of a sentence say less than as many that are independent."""
    (low, high), method = interval_of_share(np.full(50, right), lengths and np.array(lengths))
    assert (high if right else low) == right
    assert 0.05 < high - low < 0.7
    assert "Wilson" in method
    if lengths and len(lengths) > 1:
        assert (low, high) == wilson(float(right), len(lengths))


def test_sentences_are_drawn_where_there_are_enough():
    right = np.array([[True, True]] * 8 + [[False, False]] * 4).ravel()
    (low, high), method = interval_of_share(right, np.full(12, 2), ("sentences", "words"))
    assert method == "95 % percentile bootstrap over sentences, 2000 resamples, seed 0"
    assert low < 0.5 < 8 / 12 < 0.8 < high
    assert interval_of_share(right, np.full(12, 2), ("sentences", "words"))[0] == (low, high)


def test_too_few_or_all_alike_have_no_interval():
    def mean(sums):
        return float(sums[0] / sums[1])

    varied = np.stack([np.arange(10.0), np.ones(10)], axis=1)
    assert interval_of_sums(varied, mean)[0] is not None
    few = interval_of_sums(varied[: FEWEST - 1], mean, "sources")
    assert few == (None, "too few sources to say: an interval takes 10")
    alike = interval_of_sums(np.ones((50, 2)), mean)
    assert alike == (None, "the examples are too much alike to say")
    assert format_interval(None, str) == "too few to say"
