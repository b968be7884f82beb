"""Tasks: from data to a trained, saved, usable model: a tagger answers for each item, a classifier for the whole."""

import typing

from regard.tasks.classifier import Classifier
from regard.tasks.judging import Judged
from regard.tasks.loading import bundled, load
from regard.tasks.named_recipes import NAMED_RECIPES, RECIPES, NamedRecipe, recipe_for
from regard.tasks.recipe import Recipe
from regard.tasks.scoring import LabelScore, Scores
from regard.tasks.tagger import TaggedWord, Tagger

if typing.TYPE_CHECKING:
    from regard.tasks.fit import train

__all__ = [
    "NAMED_RECIPES",
    "RECIPES",
    "Classifier",
    "Judged",
    "LabelScore",
    "NamedRecipe",
    "Recipe",
    "Scores",
    "TaggedWord",
    "Tagger",
    "bundled",
    "load",
    "recipe_for",
    "train",
]


def __getattr__(name: str) -> typing.Any:
    # Whoever only tags needn't wait for what training brings along: progress bars, logging.
    if name == "train":
        from regard.tasks.fit import train

        globals()[name] = train
        return train
    raise AttributeError(f"module 'regard.tasks' has no attribute {name!r}")
