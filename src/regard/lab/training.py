"""Train a recipe in a study, and measure the model on one set of examples or on several, or its fit to its own."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from regard.errors import UnknownNameError
from regard.tasks import Experiment, Recipe, Splits, train

__all__ = ["first_examples", "real_digits", "train_and_measure", "train_and_measure_each", "training_loss"]


def train_and_measure(
    recipe: Recipe,
    examples: Sequence[Any],
    dev: Sequence[Any],
    seed: int,
    changes: Mapping[str, Any] | None = None,
    evaluate: Sequence[Any] | None = None,
) -> dict[str, float]:
    """Train a recipe with some changes, and measure the model.

    Args:
        recipe: the recipe.
        examples, dev: as in `regard.train`; dev decides which epoch is best.
        seed: the seed, instead of the recipe's.
        changes: the fields of the recipe that differ.
        evaluate: what is measured; by default, dev.

    Returns:
        the score by the name of its measure, and the number of parameters.

    Raises:
        UnknownNameError: the recipe has no such field; names the nearest.

    Example:
        >>> pairs = [(["the", "saw"], ["DET", "NOUN"]), (["I", "saw"], ["PRON", "VERB"])]
        >>> recipe = Recipe(input={"features": {"minimum_count": 1}}, width=16, epochs=20, patience=20)
        >>> found = train_and_measure(recipe, pairs, pairs, 0, {"network": "connected"})
        >>> sorted(found), found["accuracy"]
        (['accuracy', 'parameters'], 0.75)
    """
    trained = _experiment(recipe, examples, dev, seed, changes or {}).run(baseline=False, progress="none")
    model, found = trained.model, trained.evaluations["dev"]
    if evaluate is not None:
        found = model.evaluate(evaluate)
    return {found.measure: found.score, "parameters": model.parameters}


def train_and_measure_each(
    recipe: Recipe,
    examples: Sequence[Any],
    dev: Sequence[Any],
    seed: int,
    changes: Mapping[str, Any],
    tests: Mapping[int, Sequence[Any]],
) -> dict[str, Any]:
    """As `train_and_measure`, with a score for each of several sets.

    Args:
        recipe, examples, dev, seed, changes: as in `train_and_measure`.
        tests: the sets by the value, such as a length, that they have in common.

    Returns:
        the name of the measure with the score of each set by its value, and the number of parameters.

    Example:
        >>> pairs = [(["the", "saw"], ["DET", "NOUN"]), (["I", "see"], ["PRON", "VERB"])]
        >>> recipe = Recipe(input={"features": {"minimum_count": 1}}, width=16, epochs=20, patience=20)
        >>> found = train_and_measure_each(recipe, pairs, pairs, 0, {}, {1: pairs[:1], 2: pairs[1:]})
        >>> found["accuracy"]
        {1: 1.0, 2: 1.0}
    """
    model = _experiment(recipe, examples, dev, seed, changes).run(baseline=False, progress="none").model
    found = {value: model.evaluate(test) for value, test in tests.items()}
    measure = next(iter(found.values())).measure
    return {measure: {value: each.score for value, each in found.items()}, "parameters": model.parameters}


def training_loss(recipe: Recipe, examples: Sequence[Any], seed: int, changes: Mapping[str, Any]) -> float:
    """Train a recipe with some changes for all its epochs, and return the mean loss of the last one.

    Args:
        recipe: the recipe.
        examples: as in `regard.train`.
        seed: the seed, instead of the recipe's.
        changes: the fields of the recipe that differ.

    Raises:
        UnknownNameError: the recipe has no such field; names the nearest.
        ArgumentError: a value that the recipe refuses.

    Example:
        >>> pairs = [(["the", "saw"], ["DET", "NOUN"]), (["I", "saw"], ["PRON", "VERB"])]
        >>> recipe = Recipe(input={"features": {"minimum_count": 1}}, width=16, network="connected")
        >>> one, many = (training_loss(recipe, pairs, 0, {"epochs": count}) for count in (1, 20))
        >>> many < one
        True
    """
    changes = {**changes, "seed": seed}
    recipe = replace(recipe, **changes)
    with tempfile.TemporaryDirectory() as folder:
        # All epochs are run whatever dev's score, and of dev only one example is evaluated.
        train(
            examples,
            examples[:1],
            recipe=replace(recipe, patience=recipe.epochs),
            out=Path(folder) / "run",
            progress="none",
        )
        last = (Path(folder) / "run" / "log.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    return json.loads(last)["loss"]


def _experiment(
    recipe: Recipe, examples: Sequence[Any], dev: Sequence[Any], seed: int, changes: Mapping[str, Any]
) -> Experiment:
    return Experiment(replace(recipe, seed=seed, **changes), Splits(examples, dev))


@cache
def first_examples(data: str, split: str, count: int | None = None, label: str | None = None) -> list[Any]:
    """The first examples of a data set, read once in each process; all of them if `count` is None.

    Raises:
        UnknownNameError: there is no such data set.
        DataError: its files aren't there; says how to get them.
    """
    from regard.datasets import DATASETS, read

    if data not in DATASETS:
        raise UnknownNameError("data", data, DATASETS)
    return list(read(data, split, label))[:count]


@cache
def real_digits(split: str) -> tuple[UInt8[Tensor, "picture 28 28"], Int64[Tensor, " picture"]]:
    """The pictures of a split of MNIST, from 0, black, to 255, and the digits that they show.

    They are read once in each process; don't modify them.

    Raises:
        DataError: the files of MNIST aren't there; says how to get them.
    """
    examples = first_examples("mnist", split)
    return torch.stack([each.source for each in examples]), torch.tensor([int(each.target) for each in examples])
