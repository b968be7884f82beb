"""Toy sentences and tiny recipes: seconds, not minutes."""

from pathlib import Path
from typing import Any

import pytest
import torch

from regard import train
from regard.tasks import Recipe
from regard.tasks.network import source_network
from regard.tasks.registry import TASKS
from regard.tasks.sources import Source
from regard.tasks.targets import Label, MultiLabel, Regression
from regard.tasks.training.loop import Loop

# "saw" is a verb after a pronoun and a noun after "a": only a net that looks around can tell.
SAWS = [
    (["I", "saw", "a", "saw", "."], ["PRON", "VERB", "DET", "NOUN", "PUNCT"]),
    (["you", "saw", "the", "saw"], ["PRON", "VERB", "DET", "NOUN"]),
    (["we", "saw", "a", "cat"], ["PRON", "VERB", "DET", "NOUN"]),
    (["the", "saw", "fell"], ["DET", "NOUN", "VERB"]),
    (["a", "cat", "saw", "you"], ["DET", "NOUN", "VERB", "PRON"]),
]

FEATURES = {"minimum_count": 1, "prefixes": 1, "suffixes": 2, "longest_ngram": 0, "affix_ids": 97, "shape_ids": 31}


def tiny(**changes) -> Recipe:
    words = {"features": FEATURES, "word_width": 11, "affix_width": 5, "shape_width": 3, **changes.pop("input", {})}
    values = {
        "input": words,
        "width": 24,
        "heads": 2,
        "hidden": 17,
        "layers": 2,
        "epochs": 3,
        "patience": 100,
        "batch_items": 13,
        "learning_rate": 0.01,
        **changes,
    }
    return Recipe(**values)


# Learns the toy by heart: nothing dropped.
BY_HEART = {
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "input": {"embedding_dropout": 0.0, "word_dropout": 0.0},
    "epochs": 60,
    "batch_items": 211,
}


def generated(sentences: int = 20) -> list[tuple[list[str], list[str]]]:
    """Sentences of made-up words whose label is their ending, and of lengths from 1 to 9."""
    endings = {"ing": "VERB", "ly": "ADV", "s": "NOUN", "ed": "VERB", "x": "X"}
    built = []
    for number in range(sentences):
        words, labels = [], []
        for place in range(1 + number * 7 % 9):
            ending = list(endings)[(number * 3 + place * 2) % 5]
            words.append(f"{'abcdefgh'[(number + place * 5) % 8]}o{'klm'[place % 3]}{ending}")
            labels.append(endings[ending])
        built.append((words, labels))
    return built


def untrained(source: Source, sources: list, targets=None, **changes) -> Any:
    """A model of random weights, of the labels "a" and "b" or of what the targets are: for what needs no learning."""
    torch.manual_seed(7)
    recipe = Recipe(
        **{"task": {"kind": "classifier"}, "width": 8, "heads": 2, "hidden": 11, **changes, "input": source}
    )
    flat = targets or ["a", "b"]
    if recipe.task.kind == "tagger" and targets:
        flat = [each for target in targets for each in target]
    kind = Label if isinstance(flat[0], str) else Regression if isinstance(flat[0], float) else MultiLabel
    answer, encoder = kind.fit(flat), source.fit(sources)
    return TASKS[recipe.task.kind].model(source_network(recipe, encoder, answer.outputs), encoder, answer, recipe)


def stopped_and_resumed(recipe: Recipe, pairs: list, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The model of a run that was interrupted while its third epoch was judged, and then went on."""
    judged, count = Loop.evaluate, 0

    def stop(self):
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        return judged(self)

    with monkeypatch.context() as patch:
        patch.setattr(Loop, "evaluate", stop)
        with pytest.raises(KeyboardInterrupt):
            train(pairs, pairs, recipe=recipe, out=folder, progress="none", device="cpu")
    return train(pairs, pairs, recipe=recipe, out=folder, resume=True, progress="none", device="cpu")
