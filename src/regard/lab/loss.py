"""The training loss of a recipe: how well a network fits the examples that it learns from."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.tasks import Recipe, train

__all__ = ["training_loss"]


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
