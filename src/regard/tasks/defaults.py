"""The default recipe: chosen by the kind of the examples and their number."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from regard.datasets import PICTURES, SOUNDS
from regard.errors import ArgumentError, UnknownNameError
from regard.inputs import Graph, Sound, read_picture
from regard.tasks.examples import as_pairs, spread
from regard.tasks.recipe import Recipe
from regard.tasks.registry import TASKS
from regard.tasks.targets import Regression
from regard.tasks.text_statistics import mostly_unspaced, vocabulary_settings

__all__ = ["default_recipe", "inputs_of", "sized", "task_of"]

_SAMPLE = 64
"""The number of examples, evenly spread, whose sizes are measured."""
_UPDATES = 2000
"""The number of updates in all. Fewer examples get more epochs for it, at most `Task.most_epochs`."""

_PICTURES = 16
_LONGEST_SIDE = 64  # pixels
_COLOURED = 0.01

# The settings that differ from the defaults of `Recipe` for each kind of source; those for each task are in its `Task`.
_BY_INPUT: dict[str, dict[str, Any]] = {
    "speech": {
        "width": 64,
        "hidden": 128,
        "attention_dropout": 0.0,
        "position": "rotary",
        "learning_rate": 2e-3,
        "average": 0.98,
    },
    "pictures": {
        # Augmentation that keeps the class: each picture is seen a hundred times, differently each time.
        "input": {"stem": 64, "normalise": True, "zoom": 0.25, "turn": 15, "invert": 0.5},
        "optimizer": "muon",
        "width": 96,
        "hidden": 192,
        "layers": 3,
        "position": "none",
        "attention_dropout": 0.0,
        "dropout": 0.1,
        "learning_rate": 2e-3,
    },
    "molecules": {
        # Pairs of atoms beyond direct bonds are encoded by their distance in bonds.
        "input": {"edges": False, "reach": 6},
        "width": 64,
        "hidden": 128,
        "layers": 3,
        # The nodes of a graph have no order.
        "position": "none",
        "attention_dropout": 0.0,
        "dropout": 0.1,
        "optimizer": "muon",
        "weight_decay": 0.05,
        "average": 0.98,
    },
    "graphs": {
        "width": 64,
        "hidden": 128,
        "heads": 8,
        "position": "none",
        "attention_dropout": 0.0,
        "learning_rate": 0.01,
        "weight_decay": 0.05,
    },
}
# Volume, noise, microphone and voice don't change a label or a text; a number may measure one of them.
_AUGMENTED_SPEECH = {
    "normalise": False,
    "standardise": True,
    "top_db": 50,
    "noise_snr": 10.0,
    "filter_db": 6.0,
    "clip_db": 20.0,
    "vtlp": 0.1,
}
# Each stretch of text between two punctuation marks is an item, with its characters and pairs of them as features. This
# recipe was tuned on Chinese reviews.
_UNSPACED_WORDS = {
    "features": {
        "fold": "width",
        "prefixes": 0,
        "suffixes": 0,
        "shortest_ngram": 1,
        "longest_ngram": 2,
        "most_ngrams": 100,
        "ngram_ids": 32768,
        "shape": False,
        "flags": False,
    },
    "word_width": 16,
    "affix_width": 0,
    "ngram_width": 32,
    "shape_width": 0,
    "word_dropout": 0.4,
    "feature_dropout": 0.3,
}


def default_recipe(examples: Iterable[Any], *, task: str | None = None, input: str | None = None) -> Recipe:
    """The default recipe for these training examples; it depends on their kind, their size and their number.

    Fewer examples get more epochs, because a model needs a certain number of updates.

    Args:
        examples: as `regard.train` takes them.
        task: the kind of the task, a name in `TASKS`; by default it follows from the targets. Texts that repeat are
            labels; other texts are targets of a seq2seq model.
        input: the kind of source, a name in `INPUTS`; by default it follows from the sources.

    Raises:
        UnknownNameError: an unknown task, or a kind of source that doesn't read these sources.
        ArgumentError: there are no examples, or they aren't pairs.

    Example:
        >>> recipe = default_recipe([("a good film", "positive"), ("a bad film", "negative")] * 40)
        >>> recipe.task.kind, recipe.input.kind
        ('classifier', 'words')
    """
    pairs = as_pairs(examples)
    if not pairs:
        raise ArgumentError("`examples` must hold at least one example, but holds none.")
    if task is None:
        task = task_of(pairs)
    elif task not in TASKS:
        raise UnknownNameError("task", task, TASKS)
    kinds = inputs_of(pairs)
    if input is not None and input not in kinds:
        raise UnknownNameError("input", input, kinds)
    if input is None:
        usual = TASKS[task].text_source
        input = usual if kinds[0] == "words" and usual in kinds else kinds[0]
    settings: dict[str, Any] = {"task": {"kind": task}, "input": {"kind": input}}
    for more in (_BY_INPUT.get(input, {}), TASKS[task].defaults(input)):
        settings = {**settings, **more, "input": {**settings["input"], **more.get("input", {})}}
    settings["task"] |= TASKS[task].fitted(pairs, input)
    settings["input"] |= _of_sources(input, [source for source, _ in pairs])
    if input == "speech" and not _are_numbers([target for _, target in pairs]):
        settings["input"] |= _AUGMENTED_SPEECH
    return sized(Recipe.from_json(settings), pairs)


def _of_sources(kind: str, sources: Sequence[Any]) -> dict[str, Any]:
    """The settings of this kind of source that follow from the sources themselves."""
    texts = [source for source in sources if isinstance(source, str)]
    if kind == "texts":
        return vocabulary_settings(texts)
    if kind == "words" and mostly_unspaced(texts):
        return _UNSPACED_WORDS
    return _pictures(sources) if kind == "pictures" else {}


def _are_numbers(targets: Sequence[Any]) -> bool:
    """Whether targets are numbers, one for each source or item; the answers 1 and 0 to questions don't count."""
    return any(
        any(isinstance(each, float) for each in target)
        if isinstance(target, list | tuple)
        else Regression.accepts(target)
        for target in targets
    )


def _pictures(sources: Sequence[Any]) -> dict[str, Any]:
    """Scale pictures to one size, small enough to train a few hundred in minutes; keep colours if they have any."""
    shown = spread(sources, _PICTURES)
    pictures = [np.asarray(read_picture(each) if isinstance(each, str | Path) else each) for each in shown]
    sides = [max(picture.shape[place] for picture in pictures) for place in (0, 1)]
    alike = len({tuple(picture.shape[:2]) for picture in pictures}) == 1
    scale = min(1.0, _LONGEST_SIDE / max(sides))
    height, width = (max(4, round(scale * side)) for side in (sides if alike else [max(sides)] * 2))
    coloured = any(picture.ndim == 3 and np.ptp(picture, axis=-1).mean() > _COLOURED for picture in pictures)
    return {
        "height": height,
        "width": width,
        "patch": 8 if max(height, width) > 32 else 4,
        "shift": max(height, width) // 8,
        "channels": "rgb" if coloured else "grey",
    }


def sized(recipe: Recipe, pairs: Sequence[tuple[Any, Any]]) -> Recipe:
    """The recipe with smaller batches and more epochs, if there are few examples.

    Args:
        recipe: the recipe for many examples.
        pairs: the training examples.
    """
    sources = [source for source, _ in spread(pairs, _SAMPLE)]
    encoder = recipe.input.fit(sources)
    lengths = [len(recipe.input.item(encoder, source)) for source in sources]
    items = max(1.0, len(pairs) * sum(lengths) / len(lengths))
    task = TASKS[recipe.task.kind]
    batch_items = int(min(recipe.batch_items, max(items / task.batches, 2 * max(lengths), 64)))
    updates = max(1.0, items / batch_items)
    epochs = max(recipe.epochs, int(min(task.most_epochs(recipe.input.kind), _UPDATES / updates)))
    # On few dev examples the score stays constant for many epochs and then jumps; the last epochs are the best.
    patience = max(recipe.patience, epochs) if epochs > recipe.epochs else recipe.patience
    return replace(recipe, batch_items=batch_items, epochs=epochs, patience=patience)


def task_of(pairs: Sequence[tuple[Any, Any]]) -> str:
    """The kind of task that the targets belong to, a name in `TASKS`.

    Example:
        >>> task_of([(["I", "saw"], ["PRON", "VERB"])]), task_of([("hi", "salut"), ("yes", "oui")])
        ('tagger', 'seq2seq')
    """
    return next(name for name, task in TASKS.items() if task.suits(pairs))


def inputs_of(pairs: Sequence[tuple[Any, Any]]) -> tuple[str, ...]:
    """The kinds of source that these sources may be, names in `INPUTS`, the default first.

    Example:
        >>> inputs_of([("a good film", "positive")]), inputs_of([(Path("cat.png"), "cat")])
        (('words', 'texts', 'molecules'), ('pictures',))
    """
    source = pairs[0][0] if pairs else ""
    if isinstance(source, Graph):
        return ("graphs",)
    if isinstance(source, Sound):
        return ("speech",)
    if isinstance(source, Path):
        ending = source.suffix.lower()
        # The libraries read more file formats than those listed.
        return ("pictures",) if ending in PICTURES else ("speech",) if ending in SOUNDS else ("speech", "pictures")
    if isinstance(source, Tensor | np.ndarray):
        # A two-dimensional array may be vectors (length, width) or a grey picture (height, width).
        return ("vectors", "pictures") if source.ndim == 2 else ("pictures",)
    if isinstance(source, list | tuple):
        return ("words",)
    return ("words", "texts", "molecules")
