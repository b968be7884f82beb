"""Recipes by name: each is found by its data, and its file says what differs from the default and nothing else."""

import json
from pathlib import Path

import pytest

from regard.datasets import DATASETS
from regard.errors import ArgumentError
from regard.tasks import NAMED_RECIPES, RECIPES, TASKS, NamedRecipe, Recipe, bundled, load, named_recipes, recipe_for
from regard.tasks.saving.card import model_card

FILES = sorted(Path(named_recipes.__file__).with_name("recipes").iterdir(), key=lambda path: path.stem)


def test_every_file_is_a_recipe_by_name():
    assert [path.name for path in FILES] == [f"{name}.json" for name in RECIPES]
    assert {name: named.recipe for name, named in NAMED_RECIPES.items()} == dict(RECIPES)


@pytest.mark.parametrize("named", NAMED_RECIPES.values(), ids=lambda named: named.name)
def test_a_recipe_fits_its_data(named):
    """The data set is there, can be labelled so, and gives what this kind of task is about."""
    known = DATASETS[named.data]
    if known.is_treebank:
        assert (named.recipe.task.kind, named.recipe.input.kind) == ("tagger", "words")
    else:
        assert named.label in known.labels
        assert known.target_type_of(named.label) in TASKS[named.recipe.task.kind].targets
    usual = recipe_for(named.data, named.label, named.recipe.task.kind)
    # One that is compared with the usual one has a longer name, and is asked for by it.
    assert usual == named or (named.name.startswith(usual.name) and named.command[-2:] == ("--recipe", named.name))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_says_only_what_differs(path):
    held = json.loads(path.read_text(encoding="utf-8"))["recipe"]
    usual = Recipe().to_json()
    assert not [key for key, value in held.items() if usual[key] == value]


@pytest.mark.parametrize("name", bundled())
def test_a_bundled_model_was_made_by_the_recipe_of_its_name(name):
    seed = load(name).recipe.seed
    assert load(name).recipe.to_json() == {**RECIPES[name].to_json(), "seed": seed}


@pytest.mark.parametrize(("name", "folder"), bundled().items(), ids=bundled())
def test_a_bundled_model_has_the_card_of_what_it_says(name, folder):
    held = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    assert (folder / "README.md").read_text(encoding="utf-8") == model_card(name, held)
    assert held["about"]["scores"]["test"]


def test_what_has_no_recipe():
    assert recipe_for("ud-english-ewt", "xpos", "tagger") is None
    assert recipe_for("nothing", "", "classifier") is None


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ("{", "toy.json: "),
        ("[]", "must be an object of data, label, note, recipe"),
        ('{"data": "sst2", "label": "sentiment"}', "must be an object of data"),
        ('{"data": "sst2", "label": "sentiment", "recipe": {}, "seed": 1}', "must be an object of data"),
        ('{"data": "sst2", "label": "", "recipe": {}}', "`label` must be a text"),
        ('{"data": "sst2", "label": "sentiment", "recipe": {"widht": 3}}', "Did you mean 'width'"),
    ],
)
def test_a_file_that_is_no_recipe(tmp_path, held, message):
    path = tmp_path / "toy.json"
    path.write_text(held, encoding="utf-8")
    with pytest.raises(ArgumentError, match=message):
        NamedRecipe.read(path)
