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
