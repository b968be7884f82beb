"""A kind of task: what differs from one kind to another."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Task"]


@dataclass(frozen=True)
class Task:
    """A kind of task. One value for each stands in `registry.TASKS`; nothing else compares the names of kinds.

    Classes and functions are named as "module:name" and imported when they are first used: `regard train --help` needs
    no PyTorch, and a tagger no sound.

    Args:
        name: what recipes, saved models and `regard train` call it.
        noun: what one of its models is.
        verb: the method of its models that predicts.
        settings_at: the class of its part of a recipe, a subclass of `Settings`.
        data_at: what checks examples and makes of them what is trained, a `TrainingData`.
        model_at: the class of its models, a subclass of `Model`.
        targets: what the target of an example may be, in the words of `ExampleSet.gives`.
        help: what `regard train NAME --help` says.
        summary: the same in one line.
        options_without: the options of `regard train` that it has no use for.
        gives: what one of its models gives, for its card: a sentence for each kind of target, in which {item} stands
            for an item of a source, {labels} for the labels, {count} and {names} for the questions.
        limits: what its card warns of, for each kind of target; {knows} stands for what the kind of source limits.
        commands: the command that asks its models, by kind of source; "" stands for all others.
        examples: a source to show on the card, as Python, by kind of source, where it isn't the usual one.
        per_item: whether a target is a target for each item of a source.
        decides_length: whether its models decide how long a prediction is.
        predicts_sound: whether a prediction is a sound.
        text_source: the kind of source that a text is by default.
        fixed: fields of a recipe that must have one value: name -> (value, why).
        defaults: what differs from the defaults of `Recipe` in a default recipe, by kind of source; "" is for all.
        fitted_at: a function (pairs, kind of source) -> settings that a default recipe takes from the examples.
        most_epochs: how many epochs a default recipe has at most, by kind of source; "" is for all others.
        batches: how many batches an epoch of a default recipe should have, however few examples there are.

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
    fixed: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fitted_at: str | None = None
    most_epochs: Mapping[str, int] = field(default_factory=lambda: {"": 100})
    batches: int = 8

    @property
    def settings(self) -> Any:
        """The class of its part of a recipe."""
        return _imported(self.settings_at)

    @property
    def data(self) -> Any:
        """The class that checks examples and makes of them what is trained."""
        return _imported(self.data_at)

    @property
    def model(self) -> Any:
        """The class of its models."""
        return _imported(self.model_at)

    def command(self, source: str) -> str:
        """The command that asks a model that reads this kind of source."""
        return self.commands.get(source, self.commands[""])

    def fitted(self, pairs: Any, source: str) -> Mapping[str, Any]:
        """Settings of a default recipe that the examples decide."""
        return {} if self.fitted_at is None else _imported(self.fitted_at)(pairs, source)


def _imported(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)
