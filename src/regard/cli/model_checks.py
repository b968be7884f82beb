"""Which command asks which model: a model of another kind is refused with the command that asks it."""

from collections.abc import Callable
from functools import cache
from typing import Any

from regard.cli.reading import Line, is_chinese
from regard.errors import ArgumentError

__all__ = [
    "check_readable",
    "check_script",
    "describe_model",
    "load_of_kind",
    "load_tagger_of_words",
    "model_by_language",
]


def check_readable(model: Any, name: str) -> None:
    """Refuse a model whose sources can't be named on the command line, or whose answers are sounds.

    Raises:
        ArgumentError: it is one.
    """
    if model.task.predicts_sound:
        raise ArgumentError(f"`MODEL` must answer in text, but {name} is a {model.task.noun}: {_instead(model)}.")
    if (why := model.recipe.input.why_no_argument(model.encoder)) is not None:
        raise ArgumentError(f"`MODEL` must read texts, files or folders, but {name} {why}: {_instead(model)}.")


def check_script(model: Any, script: str | None) -> None:
    """Refuse `--script` for a model whose sources aren't texts.

    Raises:
        ArgumentError: it was given for one.
    """
    if script is not None and not model.recipe.input.is_text:
        raise ArgumentError(
            f"`--script` converts texts, but a source of {model.name} is a {model.recipe.input.source_noun}. Leave it "
            "out."
        )


def load_of_kind(name: str, kind: str) -> Any:
    """Load the model that `--model` names, for a command that asks models of this kind.

    Raises:
        ArgumentError: there is none, or it is of another kind.
        ModelError: it can't be used.
    """
    # Here and not above: it brings torch, for which --help needn't wait.
    from regard.tasks import TASKS, load

    model = load(name)
    if model.task is not TASKS[kind]:
        raise ArgumentError(
            f"`--model` must be a {TASKS[kind].noun}, but {name} is {describe_model(model)}: {_instead(model)}."
        )
    return model


def load_tagger_of_words(name: str) -> Any:
    """Load the model that `--model` names, if it gives words their labels.

    Raises:
        ArgumentError: there is none, or it does something else.
        ModelError: it can't be used.
    """
    from regard.tasks import load

    model = load(name)
    # Only what `regard tag` asks labels words; without labels it gives numbers.
    if model.task.command(model.recipe.input.kind) != "tag" or not model.labels:
        raise ArgumentError(
            f"`--model` must be a tagger of words, but {name} is {describe_model(model)}: {_instead(model)}."
        )
    return model


def model_by_language(asked: str | None, models: tuple[str, str], load: Callable[[str], Any]) -> Callable[[Line], Any]:
    """The model for each line: the one that is asked for, else that of the line's language.

    Args:
        asked: the model that `--model` names; None for that of the language.
        models: the model for most lines, and the model for one with a Chinese character.
        load: loads a model, once.
    """
    loaded = cache(load)
    return lambda line: loaded(models[is_chinese(line.text)] if asked is None else asked)


def describe_model(model: Any) -> str:
    """What a model is, in words: of a tagger, of what, where that isn't words with labels."""
    said = f"a {model.task.noun}"
    if not model.task.per_item:
        return said
    if not model.labels:
        return f"{said} that gives numbers"
    kind = model.recipe.input.kind
    return said if kind == "words" else f"{said} of {kind}"


def _instead(model: Any) -> str:
    if model.task.predicts_sound:
        return "ask it by regard say"
    return (
        "ask it by regard predict"
        if model.recipe.input.why_no_argument(model.encoder) is None
        else "use it from Python"
    )
