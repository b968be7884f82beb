"""How good answers are: figures by hand, and none where there is nothing to compare."""

import pytest
import torch

from regard.tasks.judging.evaluation import evaluate_predictions
from regard.tasks.targets import Label, MultiLabel, Regression


def test_the_share_of_the_variance_by_hand():
    target = Regression(mean=10.0, spread=2.0)
    wanted = target.tensor([8.0, 10.0, 12.0, None])
    # Off by 1, 0, 1 and who knows: 2 of 8 squares are left.
    given = target.tensor([9.0, 10.0, 13.0, 99.0])[:, None]
    assert evaluate_predictions(target, given, wanted).r2 == pytest.approx(0.75)
    assert evaluate_predictions(target, torch.zeros(4, 1), wanted).r2 == pytest.approx(0.0, abs=1e-6)
    assert evaluate_predictions(target, -wanted.nan_to_num()[:, None], wanted).r2 == pytest.approx(-3.0)


def test_numbers_that_are_all_the_same_have_no_variance_to_explain():
    target = Regression(mean=0.0, spread=1.0)
    assert evaluate_predictions(target, torch.zeros(3, 1), torch.ones(3)).r2 is None
    assert evaluate_predictions(target, torch.zeros(1, 1), torch.ones(1)).r2 is None
    assert evaluate_predictions(Label(("a", "b")), torch.eye(2), torch.tensor([0, 1])).r2 is None
    assert evaluate_predictions(MultiLabel(("q",)), torch.zeros(2, 1), torch.tensor([[0.0], [1.0]])).r2 is None


def test_spearman_asks_for_the_order_alone():
    target = Regression(mean=0.0, spread=1.0)
    wanted = torch.tensor([1.0, 2.0, 3.0, 4.0, torch.nan])
    for given, correlation in [
        ([1.0, 10.0, 100.0, 1000.0, 0.0], 1.0),
        ([4.0, 3.0, 2.0, 1.0, 9.0], -1.0),
        # 1 - 6 (1 + 1) / (4 (16 - 1))
        ([2.0, 1.0, 3.0, 4.0, 9.0], 0.8),
    ]:
        assert evaluate_predictions(target, torch.tensor(given)[:, None], wanted).spearman == pytest.approx(correlation)


def test_numbers_that_are_all_the_same_have_no_order():
    target = Regression(mean=0.0, spread=1.0)
    assert evaluate_predictions(target, torch.zeros(3, 1), torch.arange(3.0)).spearman is None
    assert evaluate_predictions(target, torch.arange(3.0)[:, None], torch.ones(3)).spearman is None
    assert evaluate_predictions(target, torch.zeros(1, 1), torch.ones(1)).spearman is None
    assert evaluate_predictions(Label(("a", "b")), torch.eye(2), torch.tensor([0, 1])).spearman is None


def test_the_items_of_a_source_are_drawn_together():
    target = Regression(mean=0.0, spread=1.0)
    # Of ten recordings five are off by 0 in each frame, five by 2: drawn anew, two to eight of them.
    given, wanted = torch.tensor([0.0] * 60 + [2.0] * 60)[:, None], torch.zeros(120)
    together = evaluate_predictions(target, given, wanted, lengths=[12] * 10)
    assert together.examples == 120
    assert together.interval == pytest.approx((2 * 0.2**0.5, 2 * 0.8**0.5))
    assert "bootstrap over sources" in together.method
    low, high = evaluate_predictions(target, given, wanted).interval
    assert 1.2 < low < together.score < high < 1.6
    few = evaluate_predictions(target, given, wanted, lengths=[60, 60])
    assert (few.interval, few.method) == (None, "too few sources to say: an interval takes 10")


def test_of_a_single_source_the_items_are_drawn():
    target = Regression(mean=0.0, spread=1.0)
    wanted = target.tensor([0.0] * 20 + [None] * 7)
    # The second source has nothing that is known, the third nothing at all.
    found = evaluate_predictions(target, torch.arange(27.0)[:, None], wanted, lengths=[20, 7, 0])
    assert found.examples == 20
    assert found.interval[0] < found.score < found.interval[1]
    assert "bootstrap over items" in found.method


def test_labels_that_are_right_or_wrong_each_by_itself_have_an_interval_of_wilson():
    """50 of 50: at least 92.9 % are right, as Wilson says of a share of 1: n / (n + 1.96 squared)."""
    given = torch.eye(2)[torch.zeros(50, dtype=torch.long)]
    found = evaluate_predictions(Label(("a", "b")), given, torch.zeros(50, dtype=torch.long))
    assert found.interval == pytest.approx((50 / (50 + 1.96**2), 1.0), abs=1e-4)
    assert found.method == "95 % Wilson score interval over examples"


@pytest.mark.parametrize(
    ("target", "targets", "count"),
    [
        (Label(("a", "b")), ["a", None, "b", "new"], 3),
        (MultiLabel(("x", "y")), [(1, None), (None, None), (0, 1), (None, 0)], 3),
        (Regression(0.0, 1.0), [1.0, None, 2.0, None], 2),
    ],
)
def test_only_what_is_known_is_counted(target, targets, count):
    found = evaluate_predictions(target, torch.zeros(4, target.outputs), target.tensor(targets))
    assert found.examples == count
    assert "examples" in found.method
