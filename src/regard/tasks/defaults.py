"""The default recipe, chosen by the kind of the examples and their number."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.errors import ArgumentError, UnknownNameError
from regard.tasks.examples import as_pairs, spread
from regard.tasks.pretrained.tuning import TUNED
from regard.tasks.recipe import Recipe
from regard.tasks.registry import TASKS
from regard.tasks.sources import INPUTS, Pretrained, StaticVectors

__all__ = ["candidate_recipes", "default_recipe", "inputs_of", "inputs_of_modality", "sized", "some_sizes", "task_of"]

_SAMPLE = 64
"""The number of examples, evenly spread, whose sizes are measured."""


def default_recipe(
    examples: Iterable[Any],
    *,
    task: str | None = None,
    input: str | None = None,
    base: str | Path | None = None,
    tune: str | None = None,
    vectors: str | Path | None = None,
) -> Recipe:
    """The default recipe for these training examples; it depends on their kind, their size and their number.

    Fewer examples get more epochs, because a model needs a certain number of updates.

    Args:
        examples: as `regard.train` takes them.
        task: the kind of the task, a name in `TASKS`; by default it follows from the targets. Texts that repeat are
            labels; other texts are targets of a seq2seq model.
        input: the kind of source, a name in `INPUTS`; by default it follows from the sources.
        base: the local folder of a pretrained model to fine-tune, as `save_pretrained` writes it, for texts.
        tune: what of the base is trained: "all", "layers", "adapters" or "head". By default all; for a
            classifier with 32 examples a label or fewer, an output layer is fitted to the frozen base.
        vectors: a text file of GloVe or word2vec, or a folder of model2vec, whose static vectors texts are read by.

    Raises:
        UnknownNameError: an unknown task or `tune`, or a kind of source that doesn't read these sources.
        ArgumentError: there are no examples, they aren't pairs, or `base` or `vectors` is no such path.
        DataError: `vectors` are broken.

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
    possible_inputs = inputs_of(pairs)
    input, named = _beginning(base, vectors, input, possible_inputs)
    if tune is not None and base is None:
        raise ArgumentError("`tune` says what of a base is trained, but `base` names none. Name its folder.")
    if tune is not None and tune not in TUNED:
        raise UnknownNameError("tune", tune, TUNED)
    named |= {} if tune is None else {"tuned": tune}
    if input is not None and input not in possible_inputs:
        raise UnknownNameError("input", input, possible_inputs)
    if input is None:
        text_input = TASKS[task].text_source
        input = (
            text_input if INPUTS[possible_inputs[0]].is_text and text_input in possible_inputs else possible_inputs[0]
        )
    kind, own = INPUTS[input], TASKS[task]
    fields = (kind.defaults, own.defaults(input), kind.fitted(pairs), own.fitted(pairs, input))
    recipe = _with_fields({"task": {"kind": task}, "input": {"kind": input, **named}}, *fields)
    return sized(_with_fields(recipe.to_json(), recipe.input.own_fields(pairs, task, named)), pairs)


def _beginning(
    base: str | Path | None, vectors: str | Path | None, asked: str | None, possible: Sequence[str]
) -> tuple[str | None, dict[str, str]]:
    """The kind of source that reads what training begins with, if that is named, and the setting that names it."""
    if base is not None and vectors is not None:
        raise ArgumentError("`base` and `vectors` are two ways to begin. Leave one of them out.")
    if base is not None:
        argument, kind, named = "base", Pretrained.kind, {"base": str(base)}
    elif vectors is not None:
        argument, kind, named = "vectors", StaticVectors.kind, {"path": str(vectors)}
    else:
        return asked, {}
    if asked not in (None, kind):
        raise ArgumentError(f"`input` must be {kind!r} for {argument}, but is {asked!r}. Leave it out.")
    if kind not in possible:
        raise ArgumentError(f"`{argument}` reads texts, but the sources are for {possible[0]}. Leave it out.")
    return kind, named


def candidate_recipes(recipe: Recipe) -> dict[str, Recipe]:
    """The recipes to choose from on the user's examples, by the names of their networks; a default recipe is the first.

    Args:
        recipe: the default recipe.

    Example:
        >>> {name: each.network for name, each in candidate_recipes(Recipe()).items()}
        {'default': 'attention', 'bidirectional': 'bidirectional'}
    """
    beside = TASKS[recipe.task.kind].candidates(recipe)
    return {"default": recipe, **{name: _with_fields(recipe.to_json(), fields) for name, fields in beside.items()}}


def _with_fields(settings: Mapping[str, Any], *changes: Mapping[str, Any]) -> Recipe:
    """The recipe with these settings, and then these fields; those of its sections are taken one by one."""
    settings = dict(settings)
    for fields in changes:
        sections = {name: {**settings[name], **fields.get(name, {})} for name in ("task", "input")}
        settings |= {**fields, **sections}
    return Recipe.from_json(settings)


def sized(recipe: Recipe, pairs: Sequence[tuple[Any, Any]]) -> Recipe:
    """The recipe with smaller batches and more epochs, if there are few examples.

    Args:
        recipe: the recipe for many examples.
        pairs: the training examples.
    """
    if recipe.head == "fitted":
        # Nothing is left to be trained.
        return replace(recipe, epochs=1)
    sizes = some_sizes(recipe, pairs)
    items = max(1.0, len(pairs) * sum(sizes) / len(sizes))
    task = TASKS[recipe.task.kind]
    batch_items = int(min(recipe.batch_items, max(items / task.least_batches(recipe), 2 * max(sizes), 64)))
    updates_per_epoch = max(1.0, items / batch_items)
    epochs = max(recipe.epochs, int(min(task.most_epochs(recipe), recipe.input.updates / updates_per_epoch)))
    # On few dev examples the score stays constant for many epochs and then jumps; the last epochs are the best.
    waits = epochs > recipe.epochs and recipe.best_by == "score"
    patience = max(recipe.patience, epochs) if waits else recipe.patience
    return replace(recipe, batch_items=batch_items, epochs=epochs, patience=patience)


def some_sizes(recipe: Recipe, pairs: Sequence[tuple[Any, Any]]) -> list[int]:
    """What some sources, evenly spread, count for in a batch."""
    sources = [source for source, _ in spread(pairs, _SAMPLE)]
    encoder = recipe.input.fit(sources)
    return [recipe.input.size_of(recipe.input.item(encoder, source)) for source in sources]


def task_of(pairs: Sequence[tuple[Any, Any]]) -> str:
    """The kind of task that the targets belong to, a name in `TASKS`.

    Example:
        >>> task_of([(["I", "saw"], ["PRON", "VERB"])]), task_of([("hi", "salut"), ("yes", "oui")])
        ('tagger', 'seq2seq')
    """
    return next(name for name, task in TASKS.items() if task.suits(pairs))


def inputs_of(pairs: Sequence[tuple[Any, Any]]) -> tuple[str, ...]:
    """The kinds of source that may read these sources, names in `INPUTS`, the default first.

    Example:
        >>> from pathlib import Path
        >>> inputs_of([("a good film", "positive")]), inputs_of([(Path("cat.png"), "cat")])
        (('words', 'texts', 'molecules', 'static', 'pretrained'), ('pictures',))
    """
    source = pairs[0][0] if pairs else ""
    # If no kind reads them, the kinds for texts are returned: those refuse them, and say what they read.
    return _by_rank({name: kind.suits(source) for name, kind in INPUTS.items()}) or inputs_of([])


def inputs_of_modality(modality: str) -> tuple[str, ...]:
    """The kinds of source that read data sets of a modality (`Dataset.modality`), names in `INPUTS`, the default first.

    Example:
        >>> inputs_of_modality("text"), inputs_of_modality("molecule")
        (('words', 'texts', 'static', 'pretrained'), ('molecules', 'texts', 'words'))
    """
    return _by_rank({name: kind.modalities.get(modality, 0) for name, kind in INPUTS.items()})


def _by_rank(ranks: Mapping[str, int]) -> tuple[str, ...]:
    """The names with a rank above 0, the highest first."""
    return tuple(sorted((name for name, rank in ranks.items() if rank), key=ranks.__getitem__, reverse=True))
