"""The small tagger of English parts of speech: one size for all studies on text, so that their results compare."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from regard.errors import UnreliablePrediction
from regard.lab.study import Along
from regard.lab.training import first_examples, train_and_measure
from regard.tasks import RECIPES, Recipe, Tagger, train
from regard.tasks.targets import Label

__all__ = [
    "DATA",
    "EPOCHS",
    "FULL",
    "SMALL",
    "tagger_accuracy",
    "tagger_data",
    "tagger_recipe",
    "trained_tagger",
    "untrained_tagger",
    "without_warnings",
]

DATA = "ud-english-ewt"

SMALL: dict[str, Any] = {
    "sentences": 1500,
    "dev": 500,
    "epochs": 5,
    "batch_items": 800,
    "learning_rate": 0.01,
    "layers": 1,
    "width": 64,
    "hidden": 128,
    "dropout": 0.1,
    "task": {"kind": "tagger", "auxiliary": {}},
    "input": {
        "word_dropout": 0.2,
        "affix_width": 48,
        "ngram_width": 0,
        "features": {"minimum_count": 2, "prefixes": 3, "suffixes": 4, "longest_ngram": 0},
    },
}
"""Settings of a tagger that is trained in a few seconds: the numbers of sentences, and fields of the recipe."""

FULL: dict[str, Any] = {
    "sentences": None,
    "dev": None,
    "epochs": 14,
    "batch_items": 1500,
    "learning_rate": 0.003,
    "layers": 2,
    "width": 128,
    "hidden": 256,
    "dropout": 0.2,
    "input": {},
}
"""The settings that differ in the size of the model that comes with regard."""

EPOCHS = Along("epochs", (5, 15), (5, 15, 45))
"""Lengths of training: what is behind after the first may only learn more slowly, and catch up."""

_COUNTS = ("sentences", "dev")


def tagger_data(setting: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """The sentences that a setting trains on, and those of dev."""
    return first_examples(DATA, "train", setting["sentences"]), first_examples(DATA, "dev", setting["dev"])


def tagger_recipe(setting: Mapping[str, Any], seed: int) -> Recipe:
    """The recipe of a setting: that of the English tagger, with the fields that differ.

    Example:
        >>> tagger_recipe({**SMALL, "weights": "relu"}, seed=3).weights
        'relu'
    """
    changes = {name: value for name, value in setting.items() if name not in _COUNTS}
    return replace(RECIPES["english-pos"], seed=seed, **changes)


def trained_tagger(setting: Mapping[str, Any], seed: int) -> tuple[Tagger, list[Any]]:
    """A tagger that was trained with a setting, and the sentences of dev."""
    examples, dev = tagger_data(setting)
    return train(examples, dev, recipe=tagger_recipe(setting, seed), progress="none"), dev


def untrained_tagger(setting: Mapping[str, Any], seed: int) -> tuple[Tagger, list[Any]]:
    """A tagger with its initial weights, and the sentences of dev."""
    examples, dev = tagger_data(setting)
    recipe = tagger_recipe(setting, seed)
    encoder = recipe.input.fit([sentence.words for sentence in examples])
    target = Label.fit([label for sentence in examples for label in sentence.labels])
    torch.manual_seed(seed)
    return Tagger(Tagger.new_network(recipe, encoder, target), encoder, target, recipe), dev


@contextmanager
def without_warnings() -> Iterator[None]:
    """Predict without warnings of unusual sentences: a model's errors in them are part of its score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliablePrediction)
        yield


def tagger_accuracy(setting: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Train a tagger, and measure it: as `train_and_measure`."""
    return train_and_measure(tagger_recipe(setting, seed), *tagger_data(setting), seed)
