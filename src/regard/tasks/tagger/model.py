"""A trained tagger: a prediction for each item of a source."""

import dataclasses
import time
import warnings
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.errors import ArgumentError, UnreliablePrediction
from regard.inputs import Batch
from regard.tasks.examples import Pair
from regard.tasks.judging.evaluation import Evaluation, evaluate_labels, evaluate_predictions
from regard.tasks.judging.ranking import area_under_roc
from regard.tasks.model import Model
from regard.tasks.targets import Target

__all__ = ["NumberedItem", "TaggedWord", "Tagger", "check_items", "check_rows"]


class TaggedWord(NamedTuple):
    """A word, its predicted label, and the probability of the label, from 0 to 1."""

    text: str
    label: str
    score: float


class NumberedItem(NamedTuple):
    """An item, and the predicted number."""

    text: str
    number: float


class Tagger(Model[Target]):
    """A trained tagger; `regard.train` makes one, `regard.load` loads one. `labels` are in the order of the outputs.

    Example:
        >>> import regard
        >>> pairs = [(["a", "b"], ["X", "Y"])]
        >>> recipe = regard.Recipe(width=8, heads=2, hidden=8, layers=1, epochs=1)
        >>> tagger = regard.train(pairs, pairs, recipe=recipe, progress="none")
        >>> [[word.text for word in words] for words in tagger.tag([["a", "b", "a"], []])]
        [['a', 'b', 'a'], []]
    """

    @property
    def labels(self) -> tuple[str, ...]:
        return self.target.labels

    @property
    def columns(self) -> tuple[str, ...]:
        return "text", *self.target.columns

    def score(self, batch: Batch) -> Tensor:
        """The logits (batch, length, label) for each word; those at padding are meaningless."""
        self._set_evaluation_mode()
        with torch.inference_mode():
            return self.network.item_numbers(batch)

    def tag(self, sources: Iterable[Any], *, batch_items: int = 2000, longest: int | None = None) -> list[list[Any]]:
        """Predict for each item of each source.

        Args:
            sources: sources of the kind in the recipe's `input`; for words, a list of lists of words
                (`regard.inputs.split_words` splits a text).
            batch_items: the approximate number of items (words, frames, nodes, ...) in a batch.
            longest: the largest number of items in a source; None for no limit.

        Returns:
            for each source, in their order, a list with a `TaggedWord` for each item, or a `NumberedItem` if the
            targets are numbers.

        Raises:
            ArgumentError: a source that the model can't read, such as a string instead of a list of words, or that is
                longer than `longest`.
        """
        source = self.recipe.input
        checked = source.as_itemised(sources)
        outputs = self._outputs(checked, batch_items, longest)
        names = [
            [] if numbers is None else source.names(self.encoder, each)
            for each, numbers in zip(checked, outputs, strict=True)
        ]
        known = [numbers for numbers in outputs if numbers is not None]
        # Decoded at once: thousands of sentences one by one would take as long as the network.
        said = iter(self.answer_of([*chain.from_iterable(names)], torch.cat(known) if known else None))
        return [list(islice(said, len(own))) for own in names]

    def _itemised(self, sources: list[Any]) -> list[Any]:
        return [self.recipe.input.itemised(each) for each in sources]

    def answer_of(self, names: Sequence[str], numbers: Tensor | None) -> list[Any]:
        """The prediction for each item, with its name."""
        answers = [] if numbers is None else self.target.decode(numbers)
        if self.labels:
            return [TaggedWord(name, *answer) for name, answer in zip(names, answers, strict=True)]
        return [NumberedItem(name, number) for name, number in zip(names, answers, strict=True)]

    def evaluate(self, examples: Iterable[Any], *, batch_items: int = 2000) -> Evaluation:
        """Predict for the items with a known target, and compare.

        Args:
            examples: pairs (source, targets), `TaggedSentence`s or `Example`s.
            batch_items: as in `tag`.

        Raises:
            ArgumentError: no examples, an example of another form, a target of another kind than the model's, or
                labels none of which occurs in training.
            MissingExtraError: scikit-learn is not installed.
        """
        pairs, outputs, seconds = self._answered(examples, batch_items)
        given = self._rows(pairs, outputs)
        scores = (self._evaluate_labels if self.labels else self._evaluate_numbers)(pairs, given)
        scores = dataclasses.replace(scores, empty=outputs.count(None), seconds=seconds)
        return self._with_set(scores, [source for source, _ in pairs], outputs)

    def _doubts(self, value: Any) -> list[float | None]:
        return [self.target.doubt(each[1:]) for each in value or ()] if self.labels else []

    def calibrate(self, examples: Iterable[Any], *, batch_items: int = 2000) -> None:
        """Set the temperature of the probabilities by examples that weren't trained on, such as dev."""
        pairs, outputs, _ = self._answered(examples, batch_items)
        wanted = torch.cat([self.target.tensor(targets) for _, targets in pairs])
        self.target = self.target.calibrated(torch.cat(self._rows(pairs, outputs)), wanted)

    def _answered(self, examples: Iterable[Any], batch_items: int) -> tuple[list[Any], list[Tensor | None], float]:
        """The checked examples, the outputs for each, and the time in seconds."""
        pairs: list[Any] = [*self.recipe.input.as_labelled(examples)]
        check_rows(pairs, "examples")
        self.target.check([targets for _, targets in pairs], "examples")
        started = time.perf_counter()
        with warnings.catch_warnings():
            # The score already shows the errors on unusual sources.
            warnings.simplefilter("ignore", UnreliablePrediction)
            outputs = self._outputs([source for source, _ in pairs], batch_items)
        return pairs, outputs, time.perf_counter() - started

    def _rows(self, pairs: list[Any], outputs: list[Tensor | None]) -> list[Tensor]:
        """The outputs for each item, with a check that there are as many items as targets."""
        given = [torch.zeros(0, self.target.outputs) if numbers is None else numbers for numbers in outputs]
        check_items(given, pairs, "examples")
        return given

    def _evaluate_labels(self, pairs: list[Any], given: list[Tensor]) -> Evaluation:
        seen, source = None, self.recipe.input
        if self.seen is not None:
            known = set(self.seen.tolist())
            seen = [[key in known for key in source.item_keys([words]).tolist()] for words, _ in pairs]
        both = [
            [(wanted, label) for wanted, (label, _) in zip(targets, self.target.decode(numbers), strict=True)]
            for (_, targets), numbers in zip(pairs, given, strict=True)
        ]
        asked = [[pair for pair in row if pair[0] is not None] for row in both]
        true, found = ([[pair[side] for pair in row] for row in asked] for side in (0, 1))
        scores = evaluate_labels(true, found, seen=seen, called=source.counted)
        wanted = torch.cat([self.target.tensor(targets) for _, targets in pairs])
        calibration = self.target.calibration(torch.cat(given), wanted)
        return dataclasses.replace(scores, roc_auc=self._area(wanted, torch.cat(given)), calibration=calibration)

    def _area(self, wanted: Tensor, given: Tensor) -> float | None:
        """The area under the ROC curve, if there are two labels and both occur."""
        if len(self.labels) != 2:
            return None
        known = wanted >= 0
        if len(wanted[known].unique()) < 2:
            return None
        scores = given[known]
        return area_under_roc(scores[:, 1] - scores[:, 0], wanted[known] == 1)

    def _evaluate_numbers(self, pairs: list[Any], given: list[Tensor]) -> Evaluation:
        wanted = torch.cat([self.target.tensor(targets) for _, targets in pairs])
        return evaluate_predictions(self.target, torch.cat(given), wanted, lengths=[len(numbers) for numbers in given])


def check_items(sources: Sequence[Any], pairs: Sequence[Pair], argument: str) -> None:
    """Check that each source has a target for each of its items.

    Raises:
        ArgumentError: it has more or fewer.

    Example:
        >>> check_items([[3, 4]], [("ab", ["x", "y"])], "dev")
    """
    for place, (items, (_, targets)) in enumerate(zip(sources, pairs, strict=True)):
        if len(items) != len(targets):
            raise ArgumentError(
                f"`{argument}[{place}]` must have a target for each of its {len(items)} items, but has {len(targets)}."
            )


def check_rows(pairs: Sequence[Pair], argument: str) -> None:
    """Refuse a target that isn't a list with one entry for each item.

    Example:
        >>> check_rows([("ab", 1)], "dev")
        Traceback (most recent call last):
        regard.errors.ArgumentError: the target of `dev[0]` must be a list, a label or number for each item, but is 1.
    """
    for place, (_, targets) in enumerate(pairs):
        if isinstance(targets, str) or not isinstance(targets, Sequence):
            raise ArgumentError(
                f"the target of `{argument}[{place}]` must be a list, a label or number for each item, but is "
                f"{targets!r:.60}."
            )
