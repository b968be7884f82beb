"""Tasks: everything that depends on the kind of a task."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Task"]


@dataclass(frozen=True)
class Task:
    """A kind of task. `registry.TASKS` has one value for each kind; no other code compares the names of kinds.

    Classes and functions are given as "module:name" and imported when they are first used: `regard train --help` needs
    no PyTorch, and a tagger needs no sound libraries.

    Args:
        name: its name in recipes, in saved models and in `regard train NAME`.
        noun: the noun for one of its models.
        verb: the name of the method of its models that predicts.
        settings_at: the class of the section `task` of its recipes, a subclass of `Settings`.
        data_at: the class that checks the examples and makes an `Objective` of them, a `TrainingData`.
        model_at: the class of its models, a subclass of `Model`.
        targets: the types of target that it accepts, as in `datasets.Dataset.target_type`.
        help: the help of `regard train NAME`.
        summary: the help in one line.
        options_without: the options that `regard train NAME` lacks.
        gives: for the model card: a sentence on the predictions for each kind of target, by `Target.kind`. {item} is
            replaced by an item of a source, {labels} by the labels, {count} and {names} by the number and the names of
            several questions.
        limits: for the model card: the limits of a model for each kind of target, likewise. {knows} is replaced by the
            limits of the kind of source, {attention} by a sentence on attention.
        commands: the command that uses its models, by kind of source; "" stands for all others.
        examples: for the model card: an example of a source as Python, by kind of source, if not the usual one.
        per_item: whether a source has a target for each of its items.
        decides_length: whether its models decide on the length of a prediction.
        predicts_sound: whether a prediction is a sound.
        text_source: the default kind of source for texts.
        defaults: the fields of a default recipe that differ from `Recipe()`, by kind of source; "" stands for all.
        fitted_at: a function (pairs, kind of source) that returns the settings that depend on the examples.
        most_epochs: the largest number of epochs in a default recipe, by kind of source; "" stands for all others.
        batches: the least number of batches in an epoch of a default recipe.

    Example:
        >>> from regard.tasks.registry import TASKS
        >>> TASKS["tagger"].model.__name__, TASKS["tagger"].command("words"), TASKS["tagger"].command("speech")
        ('Tagger', 'tag', 'predict')
    """

    name: str
    noun: str
    verb: str
    settings_at: str
    data_at: str
    model_at: str
    targets: tuple[str, ...]
    help: str
    summary: str
    gives: Mapping[str, str]
    limits: Mapping[str, str]
    options_without: tuple[str, ...] = ()
    commands: Mapping[str, str] = field(default_factory=lambda: {"": "predict"})
    examples: Mapping[str, str] = field(default_factory=dict)
    per_item: bool = False
    decides_length: bool = False
    predicts_sound: bool = False
    text_source: str = "words"
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fitted_at: str | None = None
    most_epochs: Mapping[str, int] = field(default_factory=lambda: {"": 100})
    batches: int = 8

    @property
    def settings(self) -> Any:
        """The class of the section `task` of its recipes."""
        return _imported(self.settings_at)

    @property
    def data(self) -> Any:
        """The class that checks the examples and makes an `Objective` of them."""
        return _imported(self.data_at)

    @property
    def model(self) -> Any:
        """The class of its models."""
        return _imported(self.model_at)

    def command(self, source: str) -> str:
        """The command that uses a model for this kind of source."""
        return self.commands.get(source, self.commands[""])

    def fitted(self, pairs: Any, source: str) -> Mapping[str, Any]:
        """The settings of a default recipe that depend on the examples."""
        return {} if self.fitted_at is None else _imported(self.fitted_at)(pairs, source)


def _imported(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)
