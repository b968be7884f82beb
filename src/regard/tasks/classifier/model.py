"""A trained classifier: a prediction for each source."""

import dataclasses
import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError, UnreliablePrediction
from regard.inputs import as_list
from regard.tasks.examples import as_pairs
from regard.tasks.judging.evaluation import Evaluation, evaluate_predictions
from regard.tasks.model import Model
from regard.tasks.targets import Target

__all__ = ["Classifier"]


class Classifier(Model[Target]):
    """A trained classifier; `regard.train` makes one, `regard.load` loads one.

    Example:
        >>> import regard
        >>> pairs = [("good film", "positive"), ("bad film", "negative")]
        >>> recipe = regard.Recipe(
        ...     task={"kind": "classifier"}, input={"features": {"minimum_count": 1}}, width=8, heads=2, epochs=40,
        ...     patience=40, dropout=0.0,
        ... )
        >>> classifier = regard.train(pairs, pairs, recipe=recipe, progress="none")
        >>> [answer[0] for answer in classifier.classify(["good film", "bad film"])]
        ['positive', 'negative']
        >>> classifier.classify([""])
        [None]
    """

    @property
    def labels(self) -> tuple[str, ...]:
        return self.target.labels

    @property
    def columns(self) -> tuple[str, ...]:
        return self.target.columns

    @property
    def missing(self) -> tuple[str, ...]:
        return self.target.missing

    def classify(self, sources: Iterable[Any], *, batch_items: int = 4000, longest: int | None = None) -> list[Any]:
        """Predict for each source.

        Args:
            sources: sources of the kind in the recipe's `input`: texts, paths of recordings, pictures, ...
            batch_items: the approximate number of items (words, frames, ...) in a batch.
            longest: the largest number of items in a source; None for no limit.

        Returns:
            for each source, in their order: a pair (label, probability), a dict from questions to the probability of
            yes, or a number; None for an empty source.

        Raises:
            ArgumentError: a source that the model can't read, or that is longer than `longest`.
        """
        given = self._outputs(as_list("sources", sources, "sources"), batch_items, longest)
        return [self.answer_of([], numbers) for numbers in given]

    def answer_of(self, names: Sequence[str], numbers: Tensor | None) -> Any:
        """The one prediction, whatever the items; None without items."""
        return None if numbers is None else self.target.decode(numbers[None])[0]

    def evaluate(self, examples: Iterable[Any], *, batch_items: int = 4000) -> Evaluation:
        """Predict for the examples with a known target, and compare.

        Args:
            examples: (source, target) pairs, or `Example`s.
            batch_items: as in `classify`.

        Raises:
            ArgumentError: no examples, an example of another form, a target of another kind than the model's, or
                labels none of which occurs in training.
            MissingExtraError: scikit-learn is not installed.
        """
        sources, given, wanted, empty, seconds = self._answered(examples, batch_items)
        scores = evaluate_predictions(self.target, given, wanted)
        return self._with_set(dataclasses.replace(scores, empty=empty, seconds=seconds), sources, given.unbind())

    def _doubts(self, value: Any) -> list[float | None]:
        return [] if value is None else [self.target.doubt(value)]

    def calibrate(self, examples: Iterable[Any], *, batch_items: int = 4000) -> None:
        """Set the temperature of the probabilities by examples that weren't trained on, such as dev."""
        _, given, wanted, _, _ = self._answered(examples, batch_items)
        self.target = self.target.calibrated(given, wanted)

    def _answered(self, examples: Iterable[Any], batch_items: int) -> tuple[list[Any], Tensor, Tensor, int, float]:
        """The sources that aren't empty, their outputs and targets, the number of empty ones, and the seconds."""
        pairs = as_pairs(examples)
        self.target.check([[target] for _, target in pairs], "examples")
        started = time.perf_counter()
        with warnings.catch_warnings():
            # The score already shows the errors on unusual sources.
            warnings.simplefilter("ignore", UnreliablePrediction)
            given = self._outputs([source for source, _ in pairs], batch_items)
        seconds = time.perf_counter() - started
        known = [
            (source, numbers, target)
            for numbers, (source, target) in zip(given, pairs, strict=True)
            if numbers is not None
        ]
        if not known:
            raise ArgumentError("`examples` must hold at least one source that isn't empty, but holds none.")
        # Check again without the empty sources: they may have held all known targets.
        sources, outputs, targets = zip(*known, strict=True)
        self.target.check([[target] for target in targets], "examples")
        wanted = self.target.tensor(targets)
        return list(sources), torch.stack(outputs), wanted, len(pairs) - len(known), seconds
