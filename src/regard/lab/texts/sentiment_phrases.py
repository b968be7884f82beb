"""Classifiers of sentiment that learn from sentences and some of their phrases, as the trees of SST-2 label them."""

import math
import random
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from regard.datasets import Example
from regard.errors import UnreliablePrediction
from regard.lab.training import first_examples
from regard.tasks import RECIPES, train
from regard.tasks.judging.measure import ACCURACY, Measure

__all__ = ["DATA", "FULL", "MEASURES", "SMALL", "measure_sentiment", "negative_log_likelihood", "some_phrases"]

DATA = ("sst2-phrases", "sst2")
"""The data sets: the phrases of the trees, and their sentences alone."""

MEASURES = (Measure("negative log likelihood", falls=True), ACCURACY, Measure("parameters", falls=True, digits=0))
"""What is measured; the likelihood first, because the accuracy on 872 sentences depends more on chance."""

SMALL: dict[str, Any] = {
    "share": 0.1,
    "epochs": 3,
    "batch_items": 2000,
    "average": 0.99,
    "dropout": 0.2,
    "attention_dropout": 0.0,
}
"""Settings for training in less than a minute: the fraction of the phrases, and fields of the recipe."""

FULL: dict[str, Any] = {"share": 1.0, "epochs": 4, "batch_items": 3000, "average": 0.999}
"""The settings that differ in the size of the recipe."""


def measure_sentiment(setting: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Train the recipe english-sentiment with some changes, and measure the classifier on dev.

    Args:
        setting: `share`, the fraction of the phrases, and fields of the recipe that differ.
        seed: the seed of the training; the phrases are the same for each.

    Returns:
        accuracy, negative log likelihood, and the number of parameters.
    """
    changes = {name: value for name, value in setting.items() if name != "share"}
    examples, degrees = _training_data(setting["share"])
    dev = first_examples(DATA[0], "dev")
    recipe = replace(RECIPES["english-sentiment"], seed=seed, **changes)
    model = train(examples, dev, recipe=recipe, auxiliary={"degree": degrees}, progress="none")
    with warnings.catch_warnings():
        # The measures already show the errors on unusual sentences.
        warnings.simplefilter("ignore", UnreliablePrediction)
        predictions = model.classify([example.source for example in dev])
    targets = [example.target for example in dev]
    return {
        ACCURACY.name: sum(label == wanted for (label, _), wanted in zip(predictions, targets, strict=True)) / len(dev),
        MEASURES[0].name: negative_log_likelihood(predictions, targets),
        "parameters": model.parameters,
    }


def negative_log_likelihood(predictions: Iterable[tuple[str, float]], targets: Iterable[str]) -> float:
    """The mean of -log p, where p is the probability that a prediction gives the target, one of two labels.

    A p below 1e-6 counts as 1e-6, so that a single one doesn't decide.

    Args:
        predictions: the more probable of the two labels, and its probability, as `Classifier.classify` returns them.
        targets: the target of each prediction.

    Example:
        >>> round(negative_log_likelihood([("positive", 0.5), ("positive", 0.75)], ["positive", "negative"]), 4)
        1.0397
    """
    probabilities = [
        high if label == wanted else 1 - high for (label, high), wanted in zip(predictions, targets, strict=True)
    ]
    return -sum(math.log(max(probability, 1e-6)) for probability in probabilities) / len(probabilities)


def some_phrases(phrases: Iterable[Example[str, Any]], sentences: Iterable[str], share: float) -> list[int]:
    """The indices of the labelled phrases that are sentences, and of a random part of the other labelled ones.

    Args:
        phrases: the phrases; one whose target is None isn't labelled.
        sentences: the sentences, all of which are kept.
        share: the probability that another phrase is kept. A phrase of a smaller part is also in each larger one.

    Example:
        >>> phrases = [Example("good", "positive"), Example("a film", None), Example("a good film", "positive")]
        >>> some_phrases(phrases, ["a good film"], 0.0), some_phrases(phrases, ["a good film"], 1.0)
        ([2], [0, 2])
    """
    drawn, whole = random.Random(0), frozenset(sentences)
    chosen = []
    for place, phrase in enumerate(phrases):
        # One number is drawn for each phrase, needed or not, so that a larger share only adds phrases.
        kept = drawn.random() < share
        if phrase.target is not None and (kept or phrase.source in whole):
            chosen.append(place)
    return chosen


@cache
def _training_data(share: float) -> tuple[list[Example[str, Any]], list[str]]:
    """The chosen phrases, and their degrees of sentiment, of five."""
    phrases, degrees = first_examples(DATA[0], "train"), first_examples(DATA[0], "train", label="degree")
    sentences = [example.source for example in first_examples(DATA[1], "train")]
    chosen = some_phrases(phrases, sentences, share)
    return [phrases[place] for place in chosen], [degrees[place].target for place in chosen]
