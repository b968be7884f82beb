"""The training loss that studies of fit measure: of the last epoch, whatever dev says."""

import math

import pytest

from regard.errors import UnknownNameError
from regard.lab.training import training_loss
from regard.tasks import Recipe

_PAIRS = [(["red", "red"], ["A", "A"]), (["blue", "blue"], ["B", "B"])]
_RECIPE = Recipe(
    input={
        "features": {"minimum_count": 1, "ngram_ids": 16, "affix_ids": 16, "shape_ids": 16},
        "word_width": 8,
        "embedding_dropout": 0.0,
        "word_dropout": 0.0,
    },
    network="connected",
    width=16,
    hidden=16,
    layers=1,
    dropout=0.0,
    learning_rate=0.03,
)


@pytest.mark.slow
def test_of_two_equally_frequent_labels_it_falls_from_that_of_a_guess_to_nothing():
    # The first epoch is one update, whose loss comes before it.
    assert training_loss(_RECIPE, _PAIRS, 0, {"epochs": 1}) == pytest.approx(math.log(2), abs=0.6)
    assert training_loss(_RECIPE, _PAIRS, 0, {"epochs": 25}) < 0.05


@pytest.mark.slow
def test_training_goes_on_when_dev_gets_no_better():
    # With the patience of 1, training would end soon after dev is right, and the loss would still be high.
    patient = training_loss(_RECIPE, _PAIRS, 0, {"epochs": 25, "patience": 25})
    assert training_loss(_RECIPE, _PAIRS, 0, {"epochs": 25, "patience": 1}) == patient


def test_the_seed_is_the_one_that_is_asked_for():
    losses = {training_loss(_RECIPE, _PAIRS, seed, {"epochs": 1}) for seed in (0, 1, 0)}
    assert len(losses) == 2


def test_an_unknown_field_is_refused():
    with pytest.raises(UnknownNameError):
        training_loss(_RECIPE, _PAIRS, 0, {"epohcs": 1})
