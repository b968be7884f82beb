"""Targets: a label, several labels, or a number. What each kind means for loss, score and prediction.

The net gives `outputs` numbers for each thing; an answer says what they mean. The same answers are given for each item
of a source, by a tagger, and for the whole, by a classifier.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from regard.errors import ArgumentError, ModelError
from regard.extras import require
from regard.inputs import IGNORED
from regard.tasks.calibration import Calibration, best_temperature, calibration_error
from regard.tasks.measure import ACCURACY, Measure
from regard.tasks.saved_target import SavedTarget, check_positive

__all__ = ["TARGETS", "Label", "MultiLabel", "Regression", "Target", "target_from_json"]

# The number of a label that training never had: no answer is right there.
_NEW = IGNORED - 1


class Target(SavedTarget, ABC):
    """What the numbers that a net gives mean."""

    measure: ClassVar[Measure]

    @classmethod
    @abstractmethod
    def fit(cls, targets: Sequence[Any], argument: str = "targets") -> "Target":
        """Learn what there is to answer from the training targets; None among them isn't known.

        Args:
            targets: the targets.
            argument: what to call them in an error.
        """

    @classmethod
    @abstractmethod
    def accepts(cls, target: Any) -> bool:
        """Whether a known target is of this kind."""

    @property
    @abstractmethod
    def expected(self) -> str:
        """What a target must be, in a few words."""

    def is_valid(self, target: Any) -> bool:
        """Whether it is what `expected` says, so that what is given can be compared with it."""
        return target is None or self.accepts(target)

    def check(self, rows: Sequence[Sequence[Any]], argument: str) -> None:
        """Refuse targets that what is given can't be compared with: a figure would come out, but of nothing.

        Args:
            rows: for each example its target alone, or those of its items.
            argument: what to call the examples in an error.

        Raises:
            ArgumentError: a target of another kind, or none that is known.

        Example:
            >>> Regression(mean=0.0, spread=1.0).check([[1.5, None], ["cat"]], "examples")
            Traceback (most recent call last):
            regard.errors.ArgumentError: the target of `examples[1]` must be a finite number or None, but is 'cat'.
        """
        for place, row in enumerate(rows):
            for target in row:
                if not self.is_valid(target):
                    raise ArgumentError(
                        f"the target of `{argument}[{place}]` must be {self.expected}, but is {target!r:.60}."
                    )
        if not self.known(self.tensor([target for row in rows for target in row])).any():
            raise ArgumentError(f"`{argument}` must hold a target that is known, but holds none.")

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many numbers the net has to give."""

    @abstractmethod
    def tensor(self, targets: Sequence[Any]) -> Tensor:
        """The targets as the loss wants them, (target, ...)."""

    @abstractmethod
    def known(self, wanted: Tensor) -> Tensor:
        """Of which targets, as `tensor` gives them, anything is known: (target,) bool."""

    @abstractmethod
    def loss(self, given: Tensor, wanted: Tensor, smoothing: float) -> tuple[Tensor, int]:
        """The mean loss of (thing, outputs) numbers, and of how many known targets it is the mean; 0 of none."""

    @abstractmethod
    def disagreement(self, given: Tensor) -> Tensor:
        """How far (drawing, thing, outputs) numbers, drawn with other dropout each, are from what they say together.

        That is their mean, which learns nothing from it; of labels and of yes or no it is sharpened, so that it also
        makes up its mind. Nothing has to be known of a thing.

        Source: after Feng et al. 2020 (arXiv 2005.11079), section 3.2, with their temperature of 1/2 for Cora; they
            drop whole nodes, too.
        """

    @abstractmethod
    def score(self, given: Tensor, wanted: Tensor) -> float:
        """The figure by which models are chosen, `measure`."""

    @abstractmethod
    def decode(self, given: Tensor) -> list[Any]:
        """What (thing, outputs) numbers say, for people: for each the answer and how sure it is, or more."""

    def calibrated(self, given: Tensor, wanted: Tensor) -> "Target":
        """The same answer, with the temperature at which its probabilities fit the targets best."""
        return self

    def calibration(self, given: Tensor, wanted: Tensor) -> Calibration | None:
        """How far the probabilities are from how often they come true; None of what has none."""
        return None

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """What a prediction holds, as the columns of a table."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The columns that are there, and empty, where there is no prediction."""
        return self.columns

    @property
    @abstractmethod
    def description(self) -> str:
        """What is answered, in a few words."""


@dataclass(frozen=True)
class Label(Target):
    """One of several labels. An unknown label is neither learned nor evaluated; one that training never had is wrong.

    Where training had none of them, they are refused: they are the labels of something else.

    Args:
        names: the labels.
        temperature: what the numbers are divided by before the softmax, above 0.

    Example:
        >>> answer = Label.fit(["cat", "dog", None, "cat"])
        >>> answer.names, answer.tensor(["dog", None, "cow"]).tolist()
        (('cat', 'dog'), [1, -100, -101])
        >>> answer.decode(torch.tensor([[0.0, 2.0]]))
        [('dog', 0.8807970285415649)]
    """

    names: tuple[str, ...]
    temperature: float = 1.0

    kind: ClassVar[str] = "label"
    measure: ClassVar[Measure] = ACCURACY

    def __post_init__(self) -> None:
        _check_names("labels", self.names)
        check_positive("temperature", self.temperature)

    @classmethod
    def fit(cls, targets: Sequence[str | None], argument: str = "targets") -> "Label":
        return cls(tuple(sorted({target for target in targets if target is not None})))

    @classmethod
    def accepts(cls, target: Any) -> bool:
        return isinstance(target, str)

    @property
    def expected(self) -> str:
        return "a label or None"

    def check(self, rows: Sequence[Sequence[Any]], argument: str) -> None:
        super().check(rows, argument)
        given = [target for row in rows for target in row if target is not None]
        if not set(given) & set(self.names):
            listed = ", ".join(self.names[:8]) + (", ..." if len(self.names) > 8 else "")
            raise ArgumentError(
                f"`{argument}` must have labels that training had ({listed}), but has none of them: the first is "
                f"{given[0]!r:.60}. Take the data, or the column, with the labels that the model learned."
            )

    @property
    def outputs(self) -> int:
        return len(self.names)

    def tensor(self, targets: Sequence[str | None]) -> Shaped[Tensor, " target"]:
        numbers = {name: number for number, name in enumerate(self.names)}
        coded = [IGNORED if each is None else numbers.get(each, _NEW) for each in targets]
        return torch.tensor(coded, dtype=torch.int64)

    def known(self, wanted: Shaped[Tensor, " target"]) -> Shaped[Tensor, " target"]:
        return wanted != IGNORED

    def loss(
        self, given: Float[Tensor, "target label"], wanted: Shaped[Tensor, " target"], smoothing: float
    ) -> tuple[Tensor, int]:
        known = int((wanted >= 0).sum())
        # The mean of nothing is NaN, and its gradient too.
        wanted = wanted.clamp(min=IGNORED)
        loss = cross_entropy(given, wanted, ignore_index=IGNORED, label_smoothing=smoothing, reduction="sum")
        return loss / max(known, 1), known

    def disagreement(self, given: Float[Tensor, "drawing target label"]) -> Float[Tensor, ""]:
        return _undecided(given.softmax(-1)).mean()

    def score(self, given: Float[Tensor, "target label"], wanted: Shaped[Tensor, " target"]) -> float:
        asked = self.known(wanted)
        return float((given.argmax(-1) == wanted)[asked].double().mean()) if asked.any() else 0.0

    def decode(self, given: Float[Tensor, "target label"]) -> list[tuple[str, float]]:
        best = (given / self.temperature).softmax(-1).max(-1)
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [(self.names[number], share) for number, share in pairs]

    def calibrated(self, given: Float[Tensor, "target label"], wanted: Shaped[Tensor, " target"]) -> "Label":
        asked = wanted >= 0
        given, wanted = given[asked].double(), wanted[asked]
        if not len(wanted) or len(self.names) < 2:
            return self
        # Of a few examples that are all right, the coldest would fit best: what is certain is left a little in doubt.
        smoothing = _doubt(len(wanted)) * len(self.names) / (len(self.names) - 1)

        def loss(temperature: float) -> float:
            return float(cross_entropy(given / temperature, wanted, label_smoothing=smoothing))

        return replace(self, temperature=best_temperature(loss))

    def calibration(
        self, given: Float[Tensor, "target label"], wanted: Shaped[Tensor, " target"]
    ) -> Calibration | None:
        asked = self.known(wanted)
        given, wanted = given[asked].double(), wanted[asked]
        if not len(wanted):
            return None
        right = given.argmax(-1) == wanted
        error, before = (
            calibration_error((given / each).softmax(-1).amax(-1), right) for each in (self.temperature, 1.0)
        )
        return Calibration(error, before, self.temperature)

    @property
    def columns(self) -> tuple[str, ...]:
        return "label", "score"

    @property
    def missing(self) -> tuple[str, ...]:
        return ("label",)

    @property
    def description(self) -> str:
        return f"{len(self.names)} labels"


@dataclass(frozen=True)
class MultiLabel(Target):
    """Yes or no to each of several questions; where nobody knows, nothing is learned.

    Args:
        names: the questions.
        temperature: what the numbers are divided by before the sigmoid, above 0.

    Source: Wu et al. 2018, MoleculeNet (arXiv 1703.00564): the mean over the questions of the area under the ROC
        curve, of those to which the examples have both answers.

    Example:
        >>> answer = MultiLabel(("toxic", "bitter"))
        >>> answer.tensor([(1, None)]).tolist()
        [[1.0, nan]]
        >>> given = torch.tensor([[2.0, 0.0], [-1.0, 0.0]])
        >>> answer.score(given, answer.tensor([(1, None), (0, 1)]))
        1.0
    """

    names: tuple[str, ...]
    temperature: float = 1.0

    kind: ClassVar[str] = "several"
    measure: ClassVar[Measure] = Measure("mean ROC-AUC")

    def __post_init__(self) -> None:
        _check_names("questions", self.names)
        check_positive("temperature", self.temperature)

    @classmethod
    def fit(cls, targets: Sequence[Sequence[int | None] | None], argument: str = "targets") -> "MultiLabel":
        known = [target for target in targets if target is not None]
        counts = {len(target) for target in known}
        if len(counts) != 1:
            raise ArgumentError(f"`{argument}` must answer the same questions, but there are {sorted(counts)} answers.")
        count = counts.pop()
        # A list says no questions: it is taken as it stands.
        names = list(dict.fromkeys(asked for target in known if (asked := _question_names(target)) is not None))
        if len(names) > 1:
            raise ArgumentError(
                f"`{argument}` must answer the same questions in the same order, but answer {', '.join(names[0])}; and "
                f"{', '.join(names[1])}. Give all of them in one order."
            )
        return cls(names[0] if names else _numbers(count))

    @classmethod
    def accepts(cls, target: Any) -> bool:
        return isinstance(target, list | tuple) and all(each is None or each in (0, 1) for each in target)

    @property
    def expected(self) -> str:
        return f"a list of as many answers as training had questions, {len(self.names)}, each 1, 0 or None, or None"

    def is_valid(self, target: Any) -> bool:
        return target is None or (self.accepts(target) and len(target) == len(self.names))

    def check(self, rows: Sequence[Sequence[Any]], argument: str) -> None:
        super().check(rows, argument)
        unnamed = self.names == _numbers(len(self.names))
        # Other questions, or these in another order, would be evaluated as if they were these.
        for place, row in enumerate(rows):
            for target in row:
                asked = _question_names(target) or self.names
                if asked != self.names and (not unnamed or {*asked} == {*self.names}):
                    raise ArgumentError(
                        f"the target of `{argument}[{place}]` must answer {', '.join(self.names)}, in this order, but "
                        f"answers {', '.join(asked)}. If these are the same questions, call their columns alike; a "
                        "list of 1, 0 and None is taken as it stands."
                    )

    @property
    def outputs(self) -> int:
        return len(self.names)

    def tensor(self, targets: Sequence[Sequence[int | None] | None]) -> Float[Tensor, "target question"]:
        known = [(None,) * len(self.names) if target is None else target for target in targets]
        rows = [[torch.nan if each is None else float(each) for each in target] for target in known]
        return torch.tensor(rows).reshape(len(rows), len(self.names))

    def known(self, wanted: Float[Tensor, "target question"]) -> Shaped[Tensor, " target"]:
        return ~wanted.isnan().all(-1)

    def loss(
        self, given: Float[Tensor, "target question"], wanted: Float[Tensor, "item question"], smoothing: float
    ) -> tuple[Tensor, int]:
        known = ~wanted.isnan()
        smoothed = wanted[known] * (1 - smoothing) + smoothing / 2
        loss = binary_cross_entropy_with_logits(given[known], smoothed, reduction="sum")
        return loss / max(int(known.sum()), 1), int(known.sum())

    def disagreement(self, given: Float[Tensor, "drawing target question"]) -> Float[Tensor, ""]:
        yes = given.sigmoid()
        return _undecided(torch.stack([yes, 1 - yes], dim=-1)).mean()

    def score(self, given: Float[Tensor, "target question"], wanted: Float[Tensor, "item question"]) -> float:
        areas = require("sklearn.metrics", extra="train").roc_auc_score
        found = []
        for ours, theirs in zip(given.T, wanted.T, strict=True):
            known = ~theirs.isnan()
            if len(theirs[known].unique()) == 2:
                found.append(areas(theirs[known].numpy(), ours[known].numpy()))
        # Without both answers to any question there is nothing to rank: as good as guessing.
        return sum(found) / len(found) if found else 0.5

    def decode(self, given: Float[Tensor, "target question"]) -> list[dict[str, float]]:
        return [dict(zip(self.names, row, strict=True)) for row in (given / self.temperature).sigmoid().tolist()]

    def calibrated(
        self, given: Float[Tensor, "target question"], wanted: Float[Tensor, "item question"]
    ) -> "MultiLabel":
        known = ~wanted.isnan()
        given, wanted = given[known].double(), wanted[known].double()
        if not len(wanted):
            return self
        smoothed = wanted * (1 - 2 * _doubt(len(wanted))) + _doubt(len(wanted))

        def loss(temperature: float) -> float:
            return float(binary_cross_entropy_with_logits(given / temperature, smoothed))

        return replace(self, temperature=best_temperature(loss))

    def calibration(
        self, given: Float[Tensor, "target question"], wanted: Float[Tensor, "item question"]
    ) -> Calibration | None:
        known = ~wanted.isnan()
        given, wanted = given[known].double(), wanted[known]
        if not len(wanted):
            return None
        error, before = (calibration_error((given / each).sigmoid(), wanted == 1) for each in (self.temperature, 1.0))
        return Calibration(error, before, self.temperature)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    @property
    def description(self) -> str:
        return f"{len(self.names)} questions"


@dataclass(frozen=True)
class Regression(Target):
    """A number. The net gives it as so many spreads above the mean of training, in which numbers of any size are alike.

    Args:
        mean: of the training targets.
        spread: their standard deviation, above 0.

    Example:
        >>> answer = Regression.fit([1.0, 3.0, None])
        >>> answer.decode(torch.tensor([[0.0], [1.0]]))
        [2.0, 3.0]
        >>> round(answer.score(torch.tensor([[0.0], [1.0]]), answer.tensor([2.0, 5.0])), 4)
        1.4142
    """

    mean: float
    spread: float

    kind: ClassVar[str] = "number"
    measure: ClassVar[Measure] = Measure("RMSE", falls=True)

    def __post_init__(self) -> None:
        values = (self.mean, self.spread)
        if not all(isinstance(value, int | float) and value == value for value in values):
            raise ArgumentError(f"a regression must have numbers for `mean` and `spread`, but has {values!r:.60}.")

    @classmethod
    def fit(cls, targets: Sequence[float | None], argument: str = "targets") -> "Regression":
        numbers = [each for each in targets if each is not None]
        if not numbers or not all(map(_finite, numbers)):
            raise ArgumentError(f"`{argument}` must be finite numbers, at least one, but are not.")
        known = torch.tensor(numbers, dtype=torch.float64)
        # Numbers that are all the same have no spread, and nothing to be learned about.
        return cls(float(known.mean()), float(known.std(correction=0)) or 1.0)

    @classmethod
    def accepts(cls, target: Any) -> bool:
        return isinstance(target, int | float | np.integer | np.floating) and not isinstance(target, bool)

    @property
    def expected(self) -> str:
        return "a finite number or None"

    def is_valid(self, target: Any) -> bool:
        return target is None or (self.accepts(target) and _finite(target))

    @property
    def outputs(self) -> int:
        return 1

    def tensor(self, targets: Sequence[float | None]) -> Float[Tensor, " target"]:
        scaled = [torch.nan if each is None else (each - self.mean) / self.spread for each in targets]
        return torch.tensor(scaled, dtype=torch.float32)

    def known(self, wanted: Float[Tensor, " target"]) -> Shaped[Tensor, " target"]:
        return ~wanted.isnan()

    def loss(
        self, given: Float[Tensor, "target 1"], wanted: Float[Tensor, " target"], smoothing: float
    ) -> tuple[Tensor, int]:
        known = ~wanted.isnan()
        return (given[known, 0] - wanted[known]).square().sum() / max(int(known.sum()), 1), int(known.sum())

    def disagreement(self, given: Float[Tensor, "drawing target 1"]) -> Float[Tensor, ""]:
        return (given - given.mean(0).detach()).square().mean()

    def score(self, given: Float[Tensor, "target 1"], wanted: Float[Tensor, " target"]) -> float:
        known = ~wanted.isnan()
        gaps = (given[known, 0].double() - wanted[known].double()) * self.spread
        return float(gaps.square().mean().sqrt())

    def decode(self, given: Float[Tensor, "target 1"]) -> list[float]:
        return (given[:, 0].double() * self.spread + self.mean).tolist()

    @property
    def columns(self) -> tuple[str, ...]:
        return ("number",)

    @property
    def description(self) -> str:
        return "a number"


def target_from_json(saved: Any) -> Target:
    """The answer that was saved, whatever its kind.

    Raises:
        ModelError: it isn't what `to_json` writes.

    Example:
        >>> target_from_json(Label(("a", "b")).to_json())
        Label(names=('a', 'b'), temperature=1.0)
    """
    if not isinstance(saved, dict) or saved.get("kind") not in [*TARGETS]:
        raise ModelError(f"`answer` must be an object of a kind among {', '.join(TARGETS)}, but is {saved!r:.60}.")
    return TARGETS[saved["kind"]].from_json(saved)


TARGETS: dict[str, Any] = {kind.kind: kind for kind in (Label, MultiLabel, Regression)}


def _undecided(shares: Float[Tensor, "drawing ... choice"]) -> Float[Tensor, "drawing ..."]:
    """How far each drawing's probabilities are from those of all, sharpened: the squared distance."""
    sharp = shares.mean(0).square()
    return (shares - (sharp / sharp.sum(-1, keepdim=True)).detach()).square().sum(-1)


def _question_names(target: Any) -> tuple[str, ...] | None:
    """The names of the questions; those of a data set have some (`datasets.BinaryLabels`)."""
    names = getattr(target, "names", None)
    return None if names is None else tuple(names)


def _finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number that is larger than any float
        return False


def _numbers(count: int) -> tuple[str, ...]:
    """What questions without names are called."""
    return tuple(str(number) for number in range(1, count + 1))


def _doubt(count: int) -> float:
    """How probable the opposite of what is known is taken for, where so many are known.

    Source: Platt 1999, Probabilistic outputs for support vector machines, section 2.2.
    """
    return 1 / (count + 2)


def _check_names(what: str, names: Any) -> None:
    if not isinstance(names, tuple) or not names or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"`{what}` must be a list of strings, but is {names!r:.60}.")
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(f"`{what}` must be distinct, but has {name!r} twice.")
