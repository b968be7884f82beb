"""How good answers are: figures by hand, and none where there is nothing to compare."""

import pytest
import torch

from regard.tasks.answers import Label, Number, Several
from regard.tasks.judging import judge


def test_the_share_of_the_variance_by_hand():
    answer = Number(mean=10.0, spread=2.0)
    wanted = answer.tensor([8.0, 10.0, 12.0, None])
    # Off by 1, 0, 1 and who knows: 2 of 8 squares are left.
    given = answer.tensor([9.0, 10.0, 13.0, 99.0])[:, None]
    assert judge(answer, given, wanted).r2 == pytest.approx(0.75)
    assert judge(answer, torch.zeros(4, 1), wanted).r2 == pytest.approx(0.0, abs=1e-6)
    assert judge(answer, -wanted.nan_to_num()[:, None], wanted).r2 == pytest.approx(-3.0)


def test_numbers_that_are_all_the_same_have_no_variance_to_explain():
    answer = Number(mean=0.0, spread=1.0)
    assert judge(answer, torch.zeros(3, 1), torch.ones(3)).r2 is None
    assert judge(answer, torch.zeros(1, 1), torch.ones(1)).r2 is None
    assert judge(Label(("a", "b")), torch.eye(2), torch.tensor([0, 1])).r2 is None
    assert judge(Several(("q",)), torch.zeros(2, 1), torch.tensor([[0.0], [1.0]])).r2 is None


def test_spearman_asks_for_the_order_alone():
    answer = Number(mean=0.0, spread=1.0)
    wanted = torch.tensor([1.0, 2.0, 3.0, 4.0, torch.nan])
    for given, correlation in [
        ([1.0, 10.0, 100.0, 1000.0, 0.0], 1.0),
        ([4.0, 3.0, 2.0, 1.0, 9.0], -1.0),
        # 1 - 6 (1 + 1) / (4 (16 - 1))
        ([2.0, 1.0, 3.0, 4.0, 9.0], 0.8),
    ]:
        assert judge(answer, torch.tensor(given)[:, None], wanted).spearman == pytest.approx(correlation)


def test_numbers_that_are_all_the_same_have_no_order():
    answer = Number(mean=0.0, spread=1.0)
    assert judge(answer, torch.zeros(3, 1), torch.arange(3.0)).spearman is None
    assert judge(answer, torch.arange(3.0)[:, None], torch.ones(3)).spearman is None
    assert judge(answer, torch.zeros(1, 1), torch.ones(1)).spearman is None
    assert judge(Label(("a", "b")), torch.eye(2), torch.tensor([0, 1])).spearman is None


def test_the_items_of_a_source_are_drawn_together():
    answer = Number(mean=0.0, spread=1.0)
    # Of ten recordings five are off by 0 in each frame, five by 2: drawn anew, two to eight of them.
    given, wanted = torch.tensor([0.0] * 60 + [2.0] * 60)[:, None], torch.zeros(120)
    together = judge(answer, given, wanted, lengths=[12] * 10)
    assert together.examples == 120
    assert together.interval == pytest.approx((2 * 0.2**0.5, 2 * 0.8**0.5))
    assert "bootstrap over sources" in together.method
    low, high = judge(answer, given, wanted).interval
    assert 1.2 < low < together.score < high < 1.6
    few = judge(answer, given, wanted, lengths=[60, 60])
    assert (few.interval, few.method) == (None, "too few sources to say: an interval takes 10")


def test_of_a_single_source_the_items_are_drawn():
    answer = Number(mean=0.0, spread=1.0)
    wanted = answer.tensor([0.0] * 20 + [None] * 7)
    # The second source has nothing that is known, the third nothing at all.
    judged = judge(answer, torch.arange(27.0)[:, None], wanted, lengths=[20, 7, 0])
    assert judged.examples == 20
    assert judged.interval[0] < judged.score < judged.interval[1]
    assert "bootstrap over items" in judged.method


def test_labels_that_are_right_or_wrong_each_by_itself_have_an_interval_of_wilson():
    """50 of 50: at least 92.9 % are right, as Wilson says of a share of 1: n / (n + 1.96 squared)."""
    given = torch.eye(2)[torch.zeros(50, dtype=torch.long)]
    judged = judge(Label(("a", "b")), given, torch.zeros(50, dtype=torch.long))
    assert judged.interval == pytest.approx((50 / (50 + 1.96**2), 1.0), abs=1e-4)
    assert judged.method == "95 % Wilson score interval over examples"


@pytest.mark.parametrize(
    ("answer", "targets", "count"),
    [
        (Label(("a", "b")), ["a", None, "b", "new"], 3),
        (Several(("x", "y")), [(1, None), (None, None), (0, 1), (None, 0)], 3),
        (Number(0.0, 1.0), [1.0, None, 2.0, None], 2),
    ],
)
def test_only_what_is_known_is_counted(answer, targets, count):
    judged = judge(answer, torch.zeros(4, answer.outputs), answer.tensor(targets))
    assert judged.examples == count
    assert "examples" in judged.method
