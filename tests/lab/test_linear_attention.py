"""Linear attention: both forms, against sums that are written out, and its laws."""

import math

import pytest
import torch

from regard.lab.synthetic.linear_attention import attentive_form, recurrent_form

FORMS = pytest.mark.parametrize("form", [recurrent_form, attentive_form])


def phi(number):
    return number + 1 if number > 0 else math.exp(number)


@FORMS
def test_two_items_by_hand(form):
    # Of one feature: weights of item 2 are phi(q) phi(k), of which phi(q) = 2 cancels: phi(1) = 2 and phi(0) = 1.
    query = torch.tensor([[[[0.5], [1.0]]]], dtype=torch.float64)
    key = torch.tensor([[[[1.0], [0.0]]]], dtype=torch.float64)
    value = torch.tensor([[[[3.0, 0.0], [6.0, 9.0]]]], dtype=torch.float64)
    expected = torch.tensor([[[[3.0, 0.0], [4.0, 3.0]]]], dtype=torch.float64)
    torch.testing.assert_close(form(query, key, value), expected)


@FORMS
def test_against_sums_written_out(form):
    random = torch.Generator().manual_seed(5)
    query, key = (torch.randn(2, 3, 7, 5, generator=random, dtype=torch.float64) for _ in range(2))
    value = torch.randn(2, 3, 7, 2, generator=random, dtype=torch.float64)
    found = form(query, key, value)
    assert found.shape == (2, 3, 7, 2)
    for b in range(2):
        for h in range(3):
            for i in range(7):
                alike = [
                    sum(phi(float(x)) * phi(float(y)) for x, y in zip(query[b, h, i], key[b, h, j], strict=True))
                    for j in range(i + 1)
                ]
                for v in range(2):
                    mean = sum(a * float(value[b, h, j, v]) for j, a in enumerate(alike)) / sum(alike)
                    assert abs(float(found[b, h, i, v]) - mean) < 1e-12


@FORMS
def test_the_future_changes_nothing(form):
    random = torch.Generator().manual_seed(6)
    query, key, value = (torch.randn(1, 2, 9, 3, generator=random, dtype=torch.float64) for _ in range(3))
    torch.testing.assert_close(form(query, key, value)[:, :, :4], form(query[:, :, :4], key[:, :, :4], value[:, :, :4]))


def test_no_items_give_no_outputs():
    assert recurrent_form(*(torch.zeros(2, 3, 0, 4) for _ in range(3))).shape == (2, 3, 0, 4)
