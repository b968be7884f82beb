"""Standardising: mean 0 and spread 1 on the training data, finite everywhere."""

import json

import pytest
import torch

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs.standardise import Standardise


def test_worked_by_hand():
    fitted = Standardise.fit([torch.tensor([[1.0, 7.0]]), torch.tensor([[5.0, 7.0], [3.0, 7.0]])])
    assert fitted.means == (3.0, 7.0)
    assert fitted.spreads == pytest.approx(((8 / 3) ** 0.5, 0.0))
    assert fitted.apply(torch.tensor([[3.0, 7.0], [3.0, 1000.0]])).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_the_training_data_has_mean_0_and_spread_1():
    generator = torch.Generator().manual_seed(7)
    sequences = [torch.randn(size, 3, generator=generator) * 11 + 1e6 for size in (2, 13, 0, 1)]
    fitted = Standardise.fit(sequences)
    values = torch.cat([fitted.apply(sequence.double()) for sequence in sequences])
    assert torch.allclose(values.mean(dim=0), torch.zeros(3).double(), atol=1e-9)
    assert torch.allclose(values.std(dim=0, correction=0), torch.ones(3).double())
    assert fitted.apply(sequences[0]).dtype == torch.float32


def test_constant_columns_are_0_even_where_rounding_has_a_say():
    # The mean of three times 0.1 is a little more than 0.1, and the spread therefore more than 0.
    fitted = Standardise.fit([torch.full((3, 1), 0.1, dtype=torch.float64)])
    assert fitted.spreads == (0.0,)
    assert fitted.apply(torch.tensor([[0.1], [9.0]])).tolist() == [[0.0], [0.0]]


def test_json_keeps_every_bit():
    fitted = Standardise.fit([torch.rand(5, 3)])
    assert Standardise.from_json(json.loads(json.dumps(fitted.to_json()))) == fitted


def test_arguments_are_checked():
    fitted = Standardise((0.0,), (1e-30,))
    for call, message in [
        (lambda: Standardise.fit([]), "at least one vector"),
        (lambda: Standardise.fit([torch.ones(0, 2)]), "at least one vector"),
        (lambda: Standardise.fit([torch.ones(1, 2), torch.ones(1, 3)]), "of one width"),
        (lambda: Standardise.fit([torch.ones(3)]), r"\(item, width\)"),
        (lambda: Standardise.fit([torch.tensor([[torch.nan]])]), "NaN or infinity"),
        (lambda: fitted.apply(torch.ones(2, 3)), "`vectors` must be 1 wide, but is 3"),
        (lambda: fitted.apply(torch.tensor([[1e30]])), "too far out"),
        (lambda: fitted.apply(torch.tensor([[torch.nan]])), "NaN"),
        (lambda: Standardise((1.0, 2.0), (1.0,)), "`spreads` must be 2 numbers"),
        (lambda: Standardise((1.0,), (-1.0,)), "at least 0"),
        (lambda: Standardise.from_json({"means": [float("nan")], "spreads": [1.0]}), "`means` must be finite"),
        (lambda: Standardise.from_json({"means": "1", "spreads": [1.0]}), "`means` must be a list of float"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            call()
    with pytest.raises(UnknownNameError, match="Did you mean 'spreads'"):
        Standardise.from_json({"means": [], "spread": []})
