"""One model, measured on several sets."""

from regard.lab.training import train_and_measure_each
from regard.tasks import Recipe

PAIRS = [(["the", "saw"], ["DET", "NOUN"]), (["I", "see"], ["PRON", "VERB"])]
RECIPE = Recipe(input={"features": {"minimum_count": 1}}, width=16, layers=1, epochs=20, patience=20)


def test_each_set_has_its_own_score():
    wrong = [(["the", "saw"], ["DET", "VERB"])]
    found = train_and_measure_each(RECIPE, PAIRS, PAIRS, 0, {"network": "connected"}, {1: PAIRS, 2: wrong})
    assert found["accuracy"] == {1: 1.0, 2: 0.5}
    assert found["parameters"] > 1000


def test_changes_and_the_seed_reach_the_recipe():
    sizes = {
        train_and_measure_each(RECIPE, PAIRS, PAIRS, 0, {"width": each}, {1: PAIRS})["parameters"] for each in (8, 16)
    }
    assert len(sizes) == 2
