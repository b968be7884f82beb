"""Tasks: everything that depends on the kind of a task, and what several of them say alike."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from regard.tasks.baselines import Baseline

__all__ = ["CALIBRATED", "ENCODER_DECODER", "NUMBERS", "Task"]

ENCODER_DECODER = {"position": "sinusoidal", "dropout": 0.1, "attention_dropout": 0.0}
"""`Task.defaults` of models that are an encoder and a decoder: positions and dropout as in Vaswani et al. 2017 (arXiv
1706.03762), sections 3.5 and 5.4."""

CALIBRATED = (
    "{knows} Its probabilities are calibrated on dev; on sources unlike its data it is wrong more often than they say. "
    "{attention}"
)
"""`Task.limits` of models whose predictions are labels with probabilities."""

NUMBERS = "{knows} For sources unlike its data, its errors are larger than the scores say. {attention}"
"""`Task.limits` of models whose predictions are numbers."""


class Task:
    """A kind of task. `registry.TASKS` has one of each kind; no other code compares the names of kinds.

    The folder of a kind has its subclass. What that needs is imported by the method that needs it: `regard train
    --help` needs no PyTorch, and a tagger needs no sound libraries.

    Attributes:
        name: its name in recipes, in saved models and in `regard train NAME`.
        noun: the noun for one of its models.
        verb: the name of the method of its models that predicts.
        value: for the documentation: what that method gives for a source.
        commands: for the documentation: the commands that use its models.
        targets: the types of target that it accepts, as in `datasets.Dataset.target_type`.
        help: the help of `regard train NAME`.
        summary: the help in one line.
        options_without: the options that `regard train NAME` lacks.
        gives: for the model card: a sentence on the predictions for each kind of target, by `Target.kind`. {item} is
            replaced by an item of a source, {labels} by the labels, {count} and {names} by the number and the names of
            several questions.
        limits: for the model card: the limits of a model for each kind of target, likewise. {knows} is replaced by the
            limits of the kind of source, {attention} by a sentence on attention.
        examples: for the model card: an example of a source as Python, by kind of source, if not the usual one.
        per_item: whether a source has a target for each of its items.
        decides_length: whether its models decide on the length of a prediction.
        predicts_sound: whether a prediction is a sound.
        text_source: the default kind of source for texts.
        batches: the least number of batches in an epoch of a default recipe.

    Example:
        >>> from regard.tasks.registry import TASKS
        >>> TASKS["tagger"].model.__name__, TASKS["tagger"].command("words"), TASKS["tagger"].command("speech")
        ('Tagger', 'tag', 'predict')
    """

    name: ClassVar[str]
    noun: ClassVar[str]
    verb: ClassVar[str]
    value: ClassVar[str]
    targets: ClassVar[tuple[str, ...]]
    help: ClassVar[str]
    summary: ClassVar[str]
    gives: ClassVar[Mapping[str, str]]
    limits: ClassVar[Mapping[str, str]]
    commands: ClassVar[tuple[str, ...]] = ("predict",)
    options_without: ClassVar[tuple[str, ...]] = ()
    examples: ClassVar[Mapping[str, str]] = {}
    per_item: ClassVar[bool] = False
    decides_length: ClassVar[bool] = False
    predicts_sound: ClassVar[bool] = False
    text_source: ClassVar[str] = "words"
    batches: ClassVar[int] = 8

    def __repr__(self) -> str:
        return f"<the task {self.name}>"

    @property
    def settings(self) -> Any:
        """The class of the section `task` of its recipes, a subclass of `Settings`."""
        raise NotImplementedError(f"{type(self).__name__} must have settings")

    @property
    def data(self) -> Any:
        """The class that checks the examples and makes an `Objective` of them, a `TrainingData`."""
        raise NotImplementedError(f"{type(self).__name__} must have data")

    @property
    def model(self) -> Any:
        """The class of its models, a subclass of `Model`."""
        raise NotImplementedError(f"{type(self).__name__} must have a model")

    def command(self, source: str) -> str:
        """The command that uses a model for this kind of source."""
        return "predict"

    def accepts(self, types: Collection[str]) -> bool:
        """Whether targets that are of one of these types, as in `targets`, are for this task."""
        return not {*types}.isdisjoint(self.targets)

    def suits(self, pairs: Sequence[tuple[Any, Any]]) -> bool:
        """Whether these pairs of a source and a target are for this task, if nobody names one."""
        raise NotImplementedError(f"{type(self).__name__} must say which targets are for it")

    def check_labels(self, examples: Sequence[Any], name: str) -> None:
        """Refuse examples to train on whose targets are of the right type, but mean something else.

        Args:
            examples: the training examples.
            name: what the data are called in the error.

        Raises:
            ArgumentError: they do.
        """

    def known_targets(self, examples: Sequence[Any]) -> list[Any]:
        """The known targets of the examples or, for a task with a target per item, of their items."""
        from regard.tasks.examples import as_pairs

        targets = [target for _, target in as_pairs(examples)]
        if self.per_item:
            targets = [item for target in targets for item in target]
        return [target for target in targets if target is not None]

    def describe_targets(self, examples: Sequence[Any]) -> str:
        """The targets in a few words."""
        from regard.page.numbers import counted

        known = self.known_targets(examples)
        if known and isinstance(known[0], tuple | list):
            return counted(len(known[0]), "question")
        if known and not isinstance(known[0], str):
            return "numbers"
        return counted(len({*known}), "label")

    def example(self, examples: Sequence[Any]) -> Any:
        """A source of the examples for the card and for the commands to type next; None for the usual one."""
        return None

    def warnings(self, model: Any, splits: Mapping[str, Sequence[Any]], scores: Mapping[str, Any]) -> Iterator[str]:
        """What is wrong with a model of this kind although it was trained, as in `model_warnings`."""
        yield from ()

    def baseline(self, model: Any) -> "Baseline | None":
        """The simple baseline of a model of this kind, to be fitted to the same examples; None if there is none."""
        return None

    def defaults(self, source: str) -> Mapping[str, Any]:
        """The fields of a default recipe that differ from `Recipe()`, for a kind of source."""
        return {}

    def fitted(self, pairs: Sequence[tuple[Any, Any]], source: str) -> Mapping[str, Any]:
        """The fields of a default recipe that depend on the examples, likewise."""
        return {}

    def candidates(self, recipe: Any) -> Mapping[str, Mapping[str, Any]]:
        """The fields of networks that may suit the examples better than a default recipe's, by name; none to try none.

        Only such as were better on some data sets are worth the user's time.
        """
        return {}

    def least_batches(self, recipe: Any) -> int:
        """The least number of batches in an epoch of a default recipe."""
        return self.batches

    def most_epochs(self, recipe: Any) -> int:
        """The largest number of epochs of a default recipe, whose other fields are given."""
        return 100
