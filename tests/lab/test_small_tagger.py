"""The small tagger of the studies on text, and its full size."""

import warnings
from dataclasses import replace

import pytest

from regard.errors import UnknownNameError, UnreliablePrediction
from regard.lab.texts.tagger import FULL, SMALL, tagger_recipe, without_warnings
from regard.tasks import RECIPES


def test_the_full_size_is_that_of_the_bundled_tagger():
    bundled = replace(RECIPES["english-pos"], seed=3, task={"kind": "tagger", "auxiliary": {}})
    assert tagger_recipe({**SMALL, **FULL}, seed=3) == bundled


def test_the_small_one_differs_in_what_it_says():
    recipe = tagger_recipe(SMALL, seed=0)
    assert (recipe.layers, recipe.width, recipe.epochs) == (1, 64, 5)
    assert recipe.input.features.longest_ngram == 0
    assert recipe.heads == RECIPES["english-pos"].heads


def test_a_setting_that_no_recipe_has_is_refused():
    with pytest.raises(UnknownNameError, match="width"):
        tagger_recipe({**SMALL, "widht": 3}, seed=0)


def test_only_warnings_of_unusual_sources_are_left_out():
    def warn():
        with without_warnings():
            warnings.warn("unusual", UnreliablePrediction, stacklevel=1)
            warnings.warn("other", UserWarning, stacklevel=1)

    with pytest.warns(UserWarning, match="other") as found:
        warn()
    assert len(found) == 1
    with pytest.warns(UnreliablePrediction):
        warnings.warn("unusual", UnreliablePrediction, stacklevel=1)
