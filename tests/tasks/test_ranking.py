"""The area under the ROC curve is the share of pairs that are ranked right."""

import itertools
import math

import pytest
import torch

from regard.tasks.judging.ranking import area_under_roc
from regard.tasks.targets import MultiLabel


def by_pairs(scores, positive):
    """All pairs of a positive and a negative example, one by one; equal scores are half right."""
    pairs = [
        1.0 if high > low else 0.5 if high == low else 0.0
        for (high, yes), (low, no) in itertools.product(zip(scores, positive, strict=True), repeat=2)
        if yes and not no
    ]
    return math.fsum(pairs) / len(pairs)


@pytest.mark.parametrize("values", [2, 5, 1000], ids="{} different scores".format)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_it_is_the_share_of_pairs_that_are_ranked_right(values, share):
    generator = torch.Generator().manual_seed(values)
    for count in (2, 3, 17, 61):
        scores = torch.randint(values, (count,), generator=generator) / 8 - 3
        positive = torch.rand(count, generator=generator) < share
        positive[:2] = torch.tensor([True, False])
        expected = by_pairs(scores.tolist(), positive.tolist())
        assert area_under_roc(scores, positive) == pytest.approx(expected, abs=1e-12)


def test_it_is_that_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(307, generator=generator).round(decimals=1)
    positive = torch.rand(307, generator=generator) < 0.3
    assert area_under_roc(scores, positive) == pytest.approx(metrics.roc_auc_score(positive, scores), abs=1e-12)


def test_all_right_all_wrong_and_all_equal():
    positive = torch.tensor([False, True, False, True])
    assert area_under_roc(torch.tensor([0.0, 2.0, 1.0, 3.0]), positive) == 1.0
    assert area_under_roc(torch.tensor([2.0, 0.0, 3.0, 1.0]), positive) == 0.0
    assert area_under_roc(torch.zeros(4), positive) == 0.5
    assert area_under_roc(torch.tensor([0.0, torch.inf, -torch.inf, 3.0]), positive) == 1.0


def test_a_score_that_is_not_a_number_has_no_rank():
    scores, positive = torch.tensor([0.0, torch.nan, 1.0]), torch.tensor([False, True, True])
    assert math.isnan(area_under_roc(scores, positive))


def test_questions_are_ranked_by_themselves_and_without_unknown_answers():
    """And a question with one answer alone isn't counted."""
    answer = MultiLabel(("one", "two", "three"))
    wanted = torch.tensor([[1.0, 0.0, 1.0], [0.0, torch.nan, 1.0], [1.0, 1.0, torch.nan], [torch.nan, 1.0, 1.0]])
    given = torch.tensor([[0.5, 0.5, 0.0], [0.5, 9.0, 1.0], [1.0, 0.5, 2.0], [-9.0, 0.0, 3.0]])
    assert answer.score(given, wanted) == pytest.approx((0.75 + 0.25) / 2)
