"""Taggers of the frames of recordings: a recipe without augmentation, and how long a network takes."""

from dataclasses import replace
from typing import Any

import torch

from regard.inputs import Batch
from regard.lab.durations import median_durations
from regard.tasks import Recipe

__all__ = ["milliseconds", "without_augmentation"]


def without_augmentation(recipe: Recipe) -> Recipe:
    """A recipe for speech that trains on recordings as they are, which takes less time.

    Example:
        >>> from regard.tasks import RECIPES
        >>> RECIPES["spoken-frames"].input.vtlp, without_augmentation(RECIPES["spoken-frames"]).input.vtlp
        (0.12, 0.0)
    """
    off = {"band_dropout": 0, "noise_snr": None, "filter_db": 0.0, "clip_db": 0.0, "vtlp": 0.0}
    return replace(recipe, input=replace(recipe.input, **off))


def milliseconds(model: Any, recording: Any, frames: int) -> float:
    """The median time that a model's network takes for a number of frames, which are those of a recording, repeated.

    The features of the recording are computed before, and the head of the network isn't included.
    """
    vectors = model.recipe.input.item(model.encoder, recording)
    batch = Batch.pad([vectors.repeat(-(-frames // len(vectors)), 1)[:frames]])

    def call() -> None:
        with torch.no_grad():
            model.network.hidden(batch)

    return median_durations({frames: call}, rounds=5)[frames]
