"""Check that a command can use a model; the error for another kind of model names the right command."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from regard.cli.answering.reading import Line, is_chinese
from regard.cli.arguments.trusted import load
from regard.errors import ArgumentError, DataError

__all__ = [
    "check_list",
    "check_readable",
    "check_script",
    "describe_model",
    "load_of_kind",
    "load_tagger_of_words",
    "model_by_language",
]


def check_readable(model: Any, name: str) -> None:
    """Refuse a model whose sources can't be arguments on the command line, or whose predictions are sounds.

    Raises:
        ArgumentError: the command can't use it.
    """
    if model.task.predicts_sound:
        raise ArgumentError(
            f"`MODEL` must predict labels, numbers or texts, but {name} is a {model.task.noun}: {_instead(model)}."
        )
    if (why := model.recipe.input.why_no_argument(model.encoder)) is not None:
        raise ArgumentError(f"`MODEL` must read texts, files or folders, but {name} {why}: {_instead(model)}.")


def check_list(model: Any, file: str, encoding: str | None) -> None:
    """Refuse a table of series for a model of series, where a list of the names of such tables is asked for.

    Args:
        model: the model.
        file: the file with a source on each line.
        encoding: its encoding, as Python calls it; None: by its content.

    Raises:
        DataError: it is such a table.
    """
    if model.recipe.input.argument != "file":
        return
    from regard.datasets import find_series_table
    from regard.datasets.formats.tables import file_suffix
    from regard.inputs.encodings import encoding_of

    path = Path(file)
    if file_suffix(path) in (".csv", ".tsv", ".txt") and find_series_table(
        path, labelled=False, encoding=encoding or encoding_of(path)
    ):
        raise DataError(
            "-f reads the name of a file on each line, but this is a table of series itself. Leave -f out.", path=file
        )


def check_script(model: Any, script: str | None) -> None:
    """Refuse `--script` for a model whose sources aren't texts.

    Raises:
        ArgumentError: it was given for such a model.
    """
    if script is not None and not model.recipe.input.is_text:
        raise ArgumentError(
            f"`--script` converts texts, but a source of {model.name} is a {model.recipe.input.source_noun}. Leave it "
            "out."
        )


def load_of_kind(name: str, kind: str) -> Any:
    """Load the model that `--model` names, which must be of this kind.

    Raises:
        ArgumentError: there is none, or it is of another kind.
        ModelError: it can't be used.
    """
    # Imported here because it imports torch, which --help doesn't need.
    from regard.tasks import TASKS

    model = load(name)
    if model.task is not TASKS[kind]:
        raise ArgumentError(
            f"`--model` must be a {TASKS[kind].noun}, but {name} is {describe_model(model)}: {_instead(model)}."
        )
    return model


def load_tagger_of_words(name: str) -> Any:
    """Load the model that `--model` names, which must be a tagger that labels words.

    Raises:
        ArgumentError: there is none, or it isn't such a tagger.
        ModelError: it can't be used.
    """
    model = load(name)
    # A tagger without labels predicts numbers.
    if model.task.command(model.recipe.input.kind) != "tag" or not model.labels:
        raise ArgumentError(
            f"`--model` must be a tagger of words, but {name} is {describe_model(model)}: {_instead(model)}."
        )
    return model


def model_by_language(asked: str | None, models: tuple[str, str], load: Callable[[str], Any]) -> Callable[[Line], Any]:
    """Choose a model for each line: the one that was asked for, else one by the language of the line.

    Args:
        asked: the model that `--model` names; None to choose by language.
        models: the default model, and the model for lines with a Chinese character.
        load: loads a model; called once for each.
    """
    loaded = cache(load)
    return lambda line: loaded(models[is_chinese(line.text)] if asked is None else asked)


def describe_model(model: Any) -> str:
    """The kind of a model in words; for a tagger of something other than labels of words, with its kind of source."""
    said = f"a {model.task.noun}"
    if not model.task.per_item:
        return said
    if not model.labels:
        return f"{said} that predicts numbers"
    source = model.recipe.input
    return said if source.of_words else f"{said} of {source.kind}"


def _instead(model: Any) -> str:
    if model.task.predicts_sound:
        return "use regard say"
    return "use regard predict" if model.recipe.input.why_no_argument(model.encoder) is None else "use it from Python"
