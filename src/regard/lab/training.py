"""Train a recipe in a study, and measure the model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from regard.errors import UnknownNameError
from regard.tasks import Recipe, train

__all__ = ["first_examples", "real_digits", "train_and_measure"]


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
    model = train(examples, dev, recipe=replace(recipe, seed=seed, **(changes or {})), progress="none")
    found = model.evaluate(dev if evaluate is None else evaluate)
    return {found.measure: found.score, "parameters": model.parameters}


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
