"""Tasks: from data to a trained, saved, usable model.

A tagger answers for each item, a classifier for the whole, a writer writes a text, a speaker says it.
"""

import importlib
import typing

from regard.tasks.classifier import Classifier
from regard.tasks.judging import Judged
from regard.tasks.loading import bundled, load
from regard.tasks.named_recipes import NAMED_RECIPES, RECIPES, NamedRecipe, recipe_for
from regard.tasks.recipe import Recipe
from regard.tasks.scoring import LabelScore, Scores
from regard.tasks.speaker import Said, Speaker
from regard.tasks.tagger import TaggedWord, Tagger
from regard.tasks.writer import Writer
from regard.tasks.written import Written

if typing.TYPE_CHECKING:
    from regard.tasks.defaults import default_recipe
    from regard.tasks.fit import train

__all__ = [
    "NAMED_RECIPES",
    "RECIPES",
    "Classifier",
    "Judged",
    "LabelScore",
    "NamedRecipe",
    "Recipe",
    "Said",
    "Scores",
    "Speaker",
    "TaggedWord",
    "Tagger",
    "Writer",
    "Written",
    "bundled",
    "default_recipe",
    "load",
    "recipe_for",
    "train",
]


_LAZY = {"train": "fit", "default_recipe": "defaults"}


def __getattr__(name: str) -> typing.Any:
    # Whoever only tags needn't wait for what training brings along: progress bars, logging, data sets.
    if name in _LAZY:
        globals()[name] = getattr(importlib.import_module(f"regard.tasks.{_LAZY[name]}"), name)
        return globals()[name]
    raise AttributeError(f"module 'regard.tasks' has no attribute {name!r}")
