"""A baseline that is fitted to the training examples of a model, and judged as the model is."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.extras import require
from regard.tasks.examples import Pair, as_pairs, spread
from regard.tasks.judging.evaluation import Evaluation
from regard.tasks.judging.measure import Measure

__all__ = ["Baseline", "FittedBaseline", "fit_baseline"]

MOST_EXAMPLES = 50_000
"""The largest number of examples that a baseline is fitted to, so that it takes seconds."""


_MANY = 1000
"""For fewer examples it takes a moment."""


class Baseline(ABC):
    """A simple model of a task, which is fitted in seconds.

    Attributes:
        name: what it is, in a few words after "The baseline is".
    """

    name: str

    @abstractmethod
    def fit(self, pairs: Sequence[Pair]) -> None:
        """Fit it to the training examples."""

    @abstractmethod
    def evaluate(self, pairs: Sequence[Pair]) -> Evaluation:
        """Predict for the examples, and compare, as the model's `evaluate` does."""


@dataclass(frozen=True)
class FittedBaseline:
    """A baseline with its evaluations.

    Args:
        name: what it is, in a few words.
        evaluations: its evaluation for each split on which the model was evaluated.
        measure: the measure of its score.
    """

    name: str
    evaluations: Mapping[str, Evaluation] = field(repr=False)
    measure: Measure = field(repr=False)

    @property
    def score(self) -> float:
        """Its score on dev."""
        return self.evaluations["dev"].score

    def describe(self) -> str:
        """A sentence with its score on each split.

        Example:
            >>> from regard.tasks.judging.measure import ACCURACY
            >>> dev = Evaluation("accuracy", 0.89, (0.85, 0.92), "Wilson", 300)
            >>> FittedBaseline("a majority vote", {"dev": dev}, ACCURACY).describe()
            'The baseline, a majority vote, trained on the same examples: accuracy 89.00 % on dev.'
        """
        said = ", ".join(f"{self.measure.format(each.score)} on {split}" for split, each in self.evaluations.items())
        return f"The baseline, {self.name}, trained on the same examples: {self.measure.name} {said}."

    def warning(self, model: Evaluation) -> str | None:
        """A sentence if it is better on dev than the model; else None."""
        if not self.measure.better(self.score, than=model.score):
            return None
        say = self.measure.format
        return (
            f"The baseline, {self.name}, is better than the model on dev: {self.measure.name} {say(self.score)} "
            f"against {say(model.score)}. `regard compare` tries other recipes."
        )

    def verdict(self, model: Evaluation) -> str:
        """Its scores, which is better on dev, it or the model, and whether the difference may be chance.

        It may if its score lies within the 95 % interval of the model's.

        Example:
            >>> from regard.tasks.judging.measure import ACCURACY
            >>> dev, worse = (Evaluation("accuracy", share, None, "Wilson", 300) for share in (0.89, 0.77))
            >>> FittedBaseline("a majority vote", {"dev": dev}, ACCURACY).verdict(worse)[69:127]
            ' 89.00 % on dev. It is better than the model, which has 77'
        """
        said, own = self.describe(), self.measure.format(model.score)
        if self.measure.better(self.score, than=model.score):
            said += f" It is better than the model, which has {own}: `regard compare` tries other recipes."
        elif self.measure.better(model.score, than=self.score):
            said += f" The model is better: {own}."
        else:
            return f"{said} The model is as good."
        if model.interval is None or not model.interval[0] <= self.score <= model.interval[1]:
            return said
        judged = "1 example" if (count := model.sources or model.examples) == 1 else f"{count:,} examples"
        return f"{said} On {judged}, so small a difference may be chance."

    def to_json(self) -> dict[str, Any]:
        """What the card says of it, as plain values."""
        scores = {split: {"score": each.score, "interval": each.interval} for split, each in self.evaluations.items()}
        return {"name": self.name, "measure": self.measure.name, "scores": scores}


def fit_baseline(
    model: Any, train: Sequence[Any], splits: Mapping[str, Sequence[Any]], *, note: Callable[[str], None] | None = None
) -> FittedBaseline | None:
    """Fit the baseline for a model to the examples that it was trained on, and evaluate it.

    Args:
        model: the trained model, whose task and kind of source decide on the baseline.
        train: the training examples. Of more than 50,000 texts, or 5,000 other sources, so many are used, evenly
            spaced; of long texts fewer, five million characters in all.
        splits: the examples to evaluate it on, by the name of the split.
        note: is told that it begins, if it may take more than a moment.

    Returns:
        the baseline; None if the task has none for this kind of source.

    Raises:
        MissingExtraError: scikit-learn is not installed.

    Example:
        >>> import regard
        >>> pairs = [("a good film", "positive"), ("a bad film", "negative")] * 8
        >>> recipe = regard.Recipe(task={"kind": "classifier"}, width=8, heads=2, epochs=1)
        >>> classifier = regard.train(pairs, pairs, recipe=recipe, progress="none")
        >>> fit_baseline(classifier, pairs, {"dev": pairs}).score
        1.0
    """
    baseline: Baseline | None = model.task.baseline(model)
    if baseline is None:
        return None
    examples = spread(as_pairs(train), MOST_EXAMPLES)
    if note is not None and max(len(examples), *map(len, splits.values())) >= _MANY:
        note(f"The baseline, {baseline.name}, is fitted to the same examples, too.")
    with warnings.catch_warnings():
        # A fit that stopped early is a baseline too.
        warnings.simplefilter("ignore", require("sklearn.exceptions", extra="train").ConvergenceWarning)
        baseline.fit(examples)
        evaluations = {split: baseline.evaluate(_answered(model, pairs)) for split, pairs in splits.items()}
    return FittedBaseline(baseline.name, evaluations, model.measure)


def _answered(model: Any, examples: Sequence[Any]) -> list[Pair]:
    """The examples that the model answers: it leaves empty texts out."""
    pairs, kind = as_pairs(examples), model.recipe.input
    return [pair for pair in pairs if len(kind.item(model.encoder, pair[0]))] if kind.is_text else pairs
