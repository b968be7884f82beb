"""Train a recipe in a study once, and measure the model on several sets of examples."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from regard.tasks import Recipe, train

__all__ = ["train_and_measure_each"]


def train_and_measure_each(
    recipe: Recipe,
    examples: Sequence[Any],
    dev: Sequence[Any],
    seed: int,
    changes: Mapping[str, Any],
    tests: Mapping[int, Sequence[Any]],
) -> dict[str, Any]:
    """As `train_and_measure`, with a score for each set.

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
    model = train(examples, dev, recipe=replace(recipe, seed=seed, **changes), progress="none")
    found = {value: model.evaluate(each) for value, each in tests.items()}
    measure = next(iter(found.values())).measure
    return {measure: {value: each.score for value, each in found.items()}, "parameters": model.parameters}
