import copy
import dataclasses
import json
import math
import pickle
import subprocess
import sys

import pytest

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs import WordFeatures
from regard.tasks import RECIPES, TASKS, Recipe
from regard.tasks.sources import Words
from regard.tasks.tagger.settings import TaggerSettings


@pytest.mark.parametrize("name", RECIPES)
def test_a_bundled_recipe_survives_json(name):
    text = json.dumps(RECIPES[name].to_json())
    assert Recipe.from_json(json.loads(text)) == RECIPES[name]


def test_every_field_survives_json():
    changed = Recipe(
        input={"features": WordFeatures(fold="width", prefixes=2), "word_width": 5},
        width=44,
        heads=11,
        network="connected",
        cell="lstm",
        position="none",
        schedule="linear",
        optimizer="muon",
        task=TaggerSettings(auxiliary={"xpos": 0.3, "feats": 1}),
        minutes=2.5,
        seed=7,
    )
    assert Recipe.from_json(json.loads(json.dumps(changed.to_json()))) == changed


def test_a_recipe_is_frozen_and_hashable():
    recipe = Recipe()
    with pytest.raises(dataclasses.FrozenInstanceError):
        recipe.width = 3  # type: ignore[misc]
    assert hash(recipe) == hash(Recipe())
    assert pickle.loads(pickle.dumps(RECIPES["english-pos"])) == copy.deepcopy(RECIPES["english-pos"])
    with pytest.raises(TypeError):
        RECIPES["english-pos"].task.auxiliary["xpos"] = 3  # type: ignore[index]


def test_a_typo_names_the_nearest_key():
    with pytest.raises(UnknownNameError, match=r"has no 'learnign_rate'. Did you mean 'learning_rate'\?"):
        Recipe.from_json({"learnign_rate": 0.1})
    with pytest.raises(UnknownNameError, match="Did you mean 'prefixes'"):
        Recipe.from_json({"input": {"features": {"prefixs": 3}}})


def test_a_key_near_nothing_lists_the_keys():
    with pytest.raises(UnknownNameError, match="has no 'zzzzqq', only task, input, width"):
        Recipe.from_json({"zzzzqq": 1})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": "128"}, "`width` must be a whole number, but is '128'"),
        ({"width": 128.0}, "`width` must be a whole number"),
        ({"layers": True}, "`layers` must be a whole number, but is True"),
        ({"layers": 0}, "`layers` must be at least 1 and at most 1000, but is 0"),
        ({"dropout": 1.0}, "`dropout` must be at least 0.0 and below 1.0, but is 1.0"),
        ({"dropout": -0.1}, "`dropout`"),
        ({"learning_rate": 0}, "`learning_rate` must be above 0.0, but is 0"),
        ({"learning_rate": math.nan}, "`learning_rate`"),
        ({"learning_rate": math.inf}, "`learning_rate`"),
        ({"network": "convolutoin"}, "Did you mean 'convolution'"),
        ({"schedule": "cosin"}, "Did you mean 'cosine'"),
        ({"optimizer": "adam"}, "Did you mean 'adamw'"),
        ({"score": "dots"}, "Did you mean 'dot'"),
        ({"position": "relativ"}, "Did you mean 'relative'"),
        ({"minutes": 0}, "`minutes` must be above 0.0"),
        ({"minutes": "5"}, "`minutes` must be a number"),
        ({"seed": -1}, "`seed` must be at least 0 and at most"),
        ({"task": {"auxiliary": ["xpos"]}}, "`auxiliary` must be an object, from names to numbers, but is ['xpos']"),
        ({"task": {"auxiliary": {"xpos": -1}}}, "`auxiliary['xpos']` must be at least 0.0, but is -1"),
        ({"task": {"auxiliary": {"xpos": "1"}}}, "`auxiliary['xpos']` must be a number"),
        ({"input": {"features": 3}}, "`features` must be a WordFeatures"),
        ({"input": 3}, "`input` must be an object of settings, or one of words, texts, speech, pictures, molecules,"),
        ({"input": {"kind": "wrods"}}, "Did you mean 'words'"),
        ({"input": {"kind": ["words"]}}, "`input.kind` must be one of words, texts,"),
        ({"task": {"kind": {"tagger": 1}}}, "`task.kind` must be one of tagger, classifier,"),
        ({"task": {"kind": "seq2seq", "length_penalty": 1e9}}, "`length_penalty` must be at least 0.0 and at most 10"),
        ({"input": "wrods"}, "`input` must be one of words, texts, speech, "),
        ({"task": "clasifier"}, "but is 'clasifier'. Did you mean 'classifier'?"),
        ({"input": {"word_widht": 3}}, "`recipe.input` has no 'word_widht'. Did you mean 'word_width'"),
        (
            {"task": Words()},
            f"`task` must be an object of settings, or one of {', '.join(TASKS)}, but is Words(",
        ),
        ({"width": 127, "heads": 4}, "`width` must be a multiple of `heads`"),
    ],
)
def test_what_can_not_be_is_refused(changes, message):
    with pytest.raises(ArgumentError) as caught:
        Recipe.from_json(changes)
    assert message in str(caught.value)


def test_a_section_may_be_the_name_of_its_kind():
    assert Recipe(task="classifier", input="texts") == Recipe(task={"kind": "classifier"}, input={"kind": "texts"})
    assert Recipe.from_json({"task": "seq2seq"}).task.kind == "seq2seq"


def test_a_mistyped_field_gets_the_nearest_name():
    for make in (
        lambda: Recipe(widht=64),
        lambda: dataclasses.replace(Recipe(), widht=64),
        lambda: Words(word_widht=3),
    ):
        with pytest.raises(UnknownNameError, match=r"has no '(word_)?widht'. Did you mean '(word_)?width'\?"):
            make()


def test_read(tmp_path):
    path = tmp_path / "recipe.json"
    path.write_text('{"width": 44}', encoding="utf-8")
    assert Recipe.read(path) == Recipe(width=44)
    for content, message in (("{", "isn't JSON"), ("[1]", "must be a JSON object"), ('{"witdh": 3}', "recipe.json: ")):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(ArgumentError, match=message):
            Recipe.read(path)
    for content in (b"\x93\x00\xff", '{"width": 44}'.encode("utf-16")):
        path.write_bytes(content)
        with pytest.raises(ArgumentError) as caught:
            Recipe.read(path)
        assert str(caught.value) == f"`recipe` must be a JSON file, but {path} isn't a text file in UTF-8."
    with pytest.raises(ArgumentError, match="can't be read"):
        Recipe.read(tmp_path / "missing.json")


def test_features_that_are_left_out_are_as_in_the_default_recipe():
    features = Recipe(input={"features": {"prefixes": 3}}).input.features
    assert (features.prefixes, features.fold, features.minimum_count) == (3, "ascii", 3)


def test_features_of_a_wrong_type():
    """In another process: this one checks annotations, which no user's does."""
    cases = [{"shape": "x"}, {"fold": []}, {"prefixes": True}, {"prefixes": "a"}]
    tried = f"""
from regard.errors import ArgumentError, UnknownNameError
from regard.tasks import Recipe
for features in {cases}:
    try:
        Recipe(input={{"features": features}})
    except ArgumentError as error:
        print(error)
"""
    said = subprocess.run([sys.executable, "-c", tried], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [
        "`shape` must be true or false, but is 'x'.",
        "`fold` must be a string, but is [].",
        "`prefixes` must be an integer, but is True.",
        "`prefixes` must be an integer, but is 'a'.",
    ]


def test_a_key_that_is_no_string():
    with pytest.raises(UnknownNameError, match="`recipe` has no '5'"):
        Recipe.from_json({5: 1})
