"""Targets: a label, several labels, or a number. Each kind defines its loss, its score and how outputs are decoded.

The network has `outputs` outputs for each target. A classifier has one target for each source, a tagger one for each
item of a source.
"""

from abc import ABC, abstractmethod
from collections import Counter
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
from regard.inputs.text.special_ids import checked_text
from regard.page.numbers import counted
from regard.tasks.judging.calibration import Calibration, best_temperature, calibration_error
from regard.tasks.judging.measure import ACCURACY, Measure
from regard.tasks.judging.ranking import area_under_roc
from regard.tasks.saving.saved_target import SavedTarget, check_positive, check_temperature

__all__ = ["TARGETS", "Label", "MultiLabel", "Regression", "Target", "target_from_json"]

# The index of a label that doesn't occur in training: every prediction is wrong.
_NEW = IGNORED - 1
_LARGEST = torch.finfo(torch.float32).max


class Target(SavedTarget, ABC):
    """A kind of target, which decodes the outputs of a network.

    Attributes:
        measure: the measure of its score.
        chance: the score of guessing, if that is the same whatever the targets are; else None.
        labels: the labels of which one is predicted, in the order of the outputs; empty for other kinds.
        questions: the questions that are answered with yes or no, likewise.
        exported: of `values` in an exported file: their name, the name of their last axis, what they are, and Python
            that makes a prediction of one row of them (`Traced`).
    """

    exported: ClassVar[tuple[str, str, str, str]]
    measure: ClassVar[Measure]
    chance: ClassVar[float | None] = None

    @property
    def labels(self) -> tuple[str, ...]:
        return ()

    @property
    def questions(self) -> tuple[str, ...]:
        return ()

    @property
    def subject(self) -> str:
        """What is predicted of a whole source, such as a quantity with its unit; "" if that has no name."""
        return ""

    @classmethod
    @abstractmethod
    def fit(cls, targets: Sequence[Any], argument: str = "targets") -> "Target":
        """Determine the labels, or the mean and spread, from the training targets.

        Args:
            targets: the training targets; None for unknown ones.
            argument: their name in an error.
        """

    @classmethod
    @abstractmethod
    def accepts(cls, target: Any) -> bool:
        """Whether a known target is of this kind."""

    @property
    @abstractmethod
    def expected(self) -> str:
        """The form of a target, in a few words for an error."""

    def is_valid(self, target: Any) -> bool:
        """Whether a target has the form that `expected` describes."""
        return target is None or self.accepts(target)

    def check(self, rows: Sequence[Sequence[Any]], argument: str) -> None:
        """Refuse targets that predictions can't be compared with: the score would be meaningless.

        Args:
            rows: a list for each example, with its one target or those of its items.
            argument: the name of the examples in an error.

        Raises:
            ArgumentError: a target of another kind, or no known target.

        Example:
            >>> Regression(mean=0.0, spread=1.0).check([[1.5, None], ["cat"]], "examples")
            Traceback (most recent call last):
            regard.errors.ArgumentError: the target of `examples[1]` must be a number of float32 or None, but is 'cat'.
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
        """The number of outputs of the network for each target."""

    @abstractmethod
    def tensor(self, targets: Sequence[Any]) -> Tensor:
        """Encode the targets for the loss, as (target, ...)."""

    @abstractmethod
    def known(self, wanted: Tensor) -> Tensor:
        """Whether each encoded target is known, at least in part: (target,) bool."""

    @abstractmethod
    def loss(self, given: Tensor, wanted: Tensor, smoothing: float) -> tuple[Tensor, int]:
        """The mean loss of (target, output) outputs, and the number of known targets; 0 if there are none."""

    @abstractmethod
    def disagreement(self, given: Tensor) -> Tensor:
        """The distance of (pass, target, output) outputs, from passes with different dropout, to their consensus.

        The consensus is the mean over the passes, without gradient. For probabilities it is sharpened, which favours
        confident predictions. No target has to be known.

        Source: after Feng et al. 2020 (arXiv 2005.11079), section 3.2, with their temperature of 1/2 for Cora; they
            also drop whole nodes.
        """

    @abstractmethod
    def score(self, given: Tensor, wanted: Tensor) -> float:
        """The score by which models are chosen; its measure is `measure`."""

    def hits(self, given: Tensor, wanted: Tensor) -> Tensor | None:
        """Whether each prediction is right, if the score is the share of those that are; else None."""
        return None

    def figures(self, given: Tensor, wanted: Tensor) -> dict[str, Any]:
        """Further figures beside the score, by the names of an `Evaluation`'s fields."""
        return {}

    @abstractmethod
    def values(self, given: Tensor) -> Tensor:
        """The outputs (target, output) as probabilities, or as numbers in the unit of the targets."""

    @abstractmethod
    def outputs_of(self, values: Tensor) -> Tensor:
        """Outputs that have these values: the inverse of `values`, up to what makes no difference."""

    @abstractmethod
    def decode(self, given: Tensor) -> list[Any]:
        """Decode (target, output) outputs to predictions: a label with its probability, a dict, or a number."""

    def doubt(self, decoded: Any) -> float | None:
        """One minus the probability of what a decoded prediction says; None if it has no probability."""
        return None

    def calibrated(self, given: Tensor, wanted: Tensor, *, prior: bool = True) -> "Target":
        """The same target, with the temperature at which the probabilities fit the targets best.

        Args:
            given: the outputs.
            wanted: the encoded targets.
            prior: whether few targets move the temperature little (`best_temperature`), for probabilities of others.
        """
        return self

    def calibration(self, given: Tensor, wanted: Tensor) -> Calibration | None:
        """The calibration of the probabilities; None without probabilities."""
        return None

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns of a prediction in a table."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The columns that are null in JSON if there is no prediction."""
        return self.columns

    @property
    @abstractmethod
    def description(self) -> str:
        """The target in a few words, such as "2 labels"."""


@dataclass(frozen=True)
class Label(Target):
    """One of several labels.

    Unknown targets (None) are neither learned nor evaluated. For a label that doesn't occur in training, every
    prediction is wrong. If none of the labels occurs in training, they are refused as those of another data set.

    Args:
        names: the labels.
        temperature: the divisor of the logits before the softmax, from 0.001 to 1000.

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
    exported: ClassVar[tuple[str, str, str, str]] = (
        "probabilities",
        "label",
        "the probability of each label, in the order of `labels`; they sum up to 1",
        "labels[row.argmax(-1)], row.max(-1)",
    )
    measure: ClassVar[Measure] = ACCURACY

    @property
    def labels(self) -> tuple[str, ...]:
        return self.names

    def __post_init__(self) -> None:
        _check_names("labels", self.names)
        check_temperature(self.temperature)

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
                f"`{argument}` must have labels that occur in training ({listed}), but has none of them: the first is "
                f"{given[0]!r:.60}. Choose the data, or the column, with the labels that the model has learned."
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
        # The mean of no values is NaN, and so is its gradient.
        wanted = wanted.clamp(min=IGNORED)
        loss = cross_entropy(given, wanted, ignore_index=IGNORED, label_smoothing=smoothing, reduction="sum")
        return loss / max(known, 1), known

    def disagreement(self, given: Float[Tensor, "pass target label"]) -> Float[Tensor, ""]:
        return _undecided(given.softmax(-1)).mean()

    def score(self, given: Float[Tensor, "target label"], wanted: Shaped[Tensor, " target"]) -> float:
        asked = self.known(wanted)
        return float((given.argmax(-1) == wanted)[asked].double().mean()) if asked.any() else 0.0

    def hits(
        self, given: Float[Tensor, "target label"], wanted: Shaped[Tensor, " target"]
    ) -> Shaped[Tensor, " target"]:
        return given.argmax(-1) == wanted

    def figures(self, given: Float[Tensor, "target label"], wanted: Shaped[Tensor, " target"]) -> dict[str, Any]:
        best = given.argmax(-1)
        known = wanted >= 0
        kinds, counts = torch.stack([wanted[known], best[known]]).unique(dim=1, return_counts=True)
        table = torch.zeros(len(self.names), len(self.names), dtype=torch.int64)
        table[kinds[0], kinds[1]] = counts
        true, found, right = table.sum(1), table.sum(0), table.diagonal()
        f1 = 2 * right / (true + found).clamp(min=1)
        wrong = [
            (self.names[a], self.names[b], int(table[a, b])) for a, b in (table - torch.diag(right)).nonzero().tolist()
        ]
        return {
            "macro_f1": float(f1[true > 0].double().mean()) if known.any() else 0.0,
            "confusions": tuple(sorted(wrong, key=lambda pair: (-pair[2], pair))),
        }

    def values(self, given: Float[Tensor, "target label"]) -> Float[Tensor, "target label"]:
        return (given / self.temperature).softmax(-1)

    def outputs_of(self, values: Float[Tensor, "target label"]) -> Float[Tensor, "target label"]:
        return values.clamp(min=torch.finfo(values.dtype).tiny).log() * self.temperature

    def decode(self, given: Float[Tensor, "target label"]) -> list[tuple[str, float]]:
        best = self.values(given).max(-1)
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [(self.names[number], share) for number, share in pairs]

    def doubt(self, decoded: tuple[str, float]) -> float:
        return 1 - decoded[1]

    def calibrated(
        self, given: Float[Tensor, "target label"], wanted: Shaped[Tensor, " target"], *, prior: bool = True
    ) -> "Label":
        asked = wanted >= 0
        given, wanted = given[asked].double(), wanted[asked]
        if not len(wanted) or len(self.names) < 2:
            return self
        # If a few examples are all right, the lowest temperature would fit best; smoothing the targets prevents this.
        smoothing = _doubt(len(wanted)) * len(self.names) / (len(self.names) - 1)

        def loss(temperature: float) -> float:
            return float(cross_entropy(given / temperature, wanted, label_smoothing=smoothing))

        return replace(self, temperature=best_temperature(loss, len(wanted) if prior else None))

    def calibration(
        self, given: Float[Tensor, "target label"], wanted: Shaped[Tensor, " target"]
    ) -> Calibration | None:
        asked = self.known(wanted)
        given, wanted = given[asked].double(), wanted[asked]
        if not len(wanted):
            return None
        right = given.argmax(-1) == wanted
        sure, before = ((given / each).softmax(-1).amax(-1) for each in (self.temperature, 1.0))
        error, unscaled = calibration_error(sure, right), calibration_error(before, right)
        return Calibration(error, unscaled, self.temperature, float(sure.mean()), float(right.double().mean()))

    @property
    def columns(self) -> tuple[str, ...]:
        return "label", "score"

    @property
    def missing(self) -> tuple[str, ...]:
        return ("label",)

    @property
    def description(self) -> str:
        return counted(len(self.names), "label")


@dataclass(frozen=True)
class MultiLabel(Target):
    """Yes or no (1 or 0) to each of several questions; unknown answers (None) are neither learned nor evaluated.

    Args:
        names: the questions.
        temperature: the divisor of the logits before the sigmoid, from 0.001 to 1000.

    Source: Wu et al. 2018, MoleculeNet (arXiv 1703.00564): the mean of the areas under the ROC curves, over the
        questions with both answers in the examples.

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
    exported: ClassVar[tuple[str, str, str, str]] = (
        "probabilities",
        "question",
        "the probability of yes to each question, in the order of `labels`",
        "dict(zip(labels, row.T))",
    )
    measure: ClassVar[Measure] = Measure("mean ROC-AUC")
    chance: ClassVar[float | None] = 0.5

    @property
    def questions(self) -> tuple[str, ...]:
        return self.names

    def __post_init__(self) -> None:
        _check_names("questions", self.names)
        check_temperature(self.temperature)

    @classmethod
    def fit(cls, targets: Sequence[Sequence[int | None] | None], argument: str = "targets") -> "MultiLabel":
        known = [target for target in targets if target is not None]
        counts = {len(target) for target in known}
        if len(counts) != 1:
            raise ArgumentError(f"`{argument}` must answer the same questions, but there are {sorted(counts)} answers.")
        count = counts.pop()
        # A plain list doesn't name its questions, so nothing can be compared.
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
        # Other questions, or the same in another order, would be mistaken for these.
        for place, row in enumerate(rows):
            for target in row:
                asked = _question_names(target) or self.names
                if asked != self.names and (not unnamed or {*asked} == {*self.names}):
                    raise ArgumentError(
                        f"the target of `{argument}[{place}]` must answer {', '.join(self.names)}, in this order, but "
                        f"answers {', '.join(asked)}. If these are the same questions, rename the columns; a plain "
                        "list of 1, 0 and None isn't checked."
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
        self, given: Float[Tensor, "target question"], wanted: Float[Tensor, "target question"], smoothing: float
    ) -> tuple[Tensor, int]:
        known = ~wanted.isnan()
        smoothed = wanted[known] * (1 - smoothing) + smoothing / 2
        loss = binary_cross_entropy_with_logits(given[known], smoothed, reduction="sum")
        return loss / max(int(known.sum()), 1), int(known.sum())

    def disagreement(self, given: Float[Tensor, "pass target question"]) -> Float[Tensor, ""]:
        yes = given.sigmoid()
        return _undecided(torch.stack([yes, 1 - yes], dim=-1)).mean()

    def score(self, given: Float[Tensor, "target question"], wanted: Float[Tensor, "target question"]) -> float:
        found = []
        for ours, theirs in zip(given.T, wanted.T, strict=True):
            known = ~theirs.isnan()
            if len(theirs[known].unique()) == 2:
                found.append(area_under_roc(ours[known], theirs[known] == 1))
        # Without both answers to any question there is nothing to rank, so the score is that of guessing.
        return sum(found) / len(found) if found else 0.5

    def values(self, given: Float[Tensor, "target question"]) -> Float[Tensor, "target question"]:
        return (given / self.temperature).sigmoid()

    def outputs_of(self, values: Float[Tensor, "target question"]) -> Float[Tensor, "target question"]:
        return torch.logit(values, eps=torch.finfo(values.dtype).eps) * self.temperature

    def decode(self, given: Float[Tensor, "target question"]) -> list[dict[str, float]]:
        return [dict(zip(self.names, row, strict=True)) for row in self.values(given).tolist()]

    def doubt(self, decoded: dict[str, float]) -> float:
        return sum(min(yes, 1 - yes) for yes in decoded.values()) / len(decoded)

    def calibrated(
        self, given: Float[Tensor, "target question"], wanted: Float[Tensor, "target question"], *, prior: bool = True
    ) -> "MultiLabel":
        known = ~wanted.isnan()
        given, wanted = given[known].double(), wanted[known].double()
        if not len(wanted):
            return self
        smoothed = wanted * (1 - 2 * _doubt(len(wanted))) + _doubt(len(wanted))

        def loss(temperature: float) -> float:
            return float(binary_cross_entropy_with_logits(given / temperature, smoothed))

        return replace(self, temperature=best_temperature(loss, len(wanted) if prior else None))

    def calibration(
        self, given: Float[Tensor, "target question"], wanted: Float[Tensor, "target question"]
    ) -> Calibration | None:
        known = ~wanted.isnan()
        given, wanted = given[known].double(), wanted[known]
        if not len(wanted):
            return None
        error, before = (calibration_error((given / each).sigmoid(), wanted == 1) for each in (self.temperature, 1.0))
        yes = (given / self.temperature).sigmoid()
        sure, right = torch.maximum(yes, 1 - yes).mean(), ((given > 0) == (wanted == 1)).double().mean()
        return Calibration(error, before, self.temperature, float(sure), float(right))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    @property
    def description(self) -> str:
        return counted(len(self.names), "question")


@dataclass(frozen=True)
class Regression(Target):
    """A number. The output of the network is standardised by the mean and the standard deviation in training.

    Args:
        mean: the mean of the training targets.
        spread: their standard deviation, above 0.
        name: what the number is, with its unit, as pages say it; "" if that isn't known.

    Example:
        >>> answer = Regression.fit([1.0, 3.0, None])
        >>> answer.decode(torch.tensor([[0.0], [1.0]]))
        [2.0, 3.0]
        >>> round(answer.score(torch.tensor([[0.0], [1.0]]), answer.tensor([2.0, 5.0])), 4)
        1.4142
    """

    mean: float
    spread: float
    name: str = ""

    kind: ClassVar[str] = "number"
    exported: ClassVar[tuple[str, str, str, str]] = (
        "numbers",
        "number",
        "the number, in the unit of the training targets",
        "row[..., 0]",
    )
    measure: ClassVar[Measure] = Measure("RMSE", falls=True)

    def __post_init__(self) -> None:
        if isinstance(self.mean, bool) or not isinstance(self.mean, int | float) or not _holdable(self.mean):
            raise ArgumentError(f"`mean` must be a finite number, but is {self.mean!r:.60}.")
        check_positive("spread", self.spread)
        if not isinstance(self.name, str):
            raise ArgumentError(f"`name` must be a text, but is {self.name!r:.60}.")

    @classmethod
    def fit(cls, targets: Sequence[float | None], argument: str = "targets") -> "Regression":
        numbers = [each for each in targets if each is not None]
        if not numbers or not all(map(_holdable, numbers)):
            raise ArgumentError(f"`{argument}` must be finite numbers of float32, at least one, but are not.")
        known = torch.tensor(numbers, dtype=torch.float64)
        # If all numbers are equal, there is no spread and nothing to learn.
        return cls(float(known.mean()), float(known.std(correction=0)) or 1.0)

    @classmethod
    def accepts(cls, target: Any) -> bool:
        return isinstance(target, int | float | np.integer | np.floating) and not isinstance(target, bool)

    @property
    def expected(self) -> str:
        return "a number of float32 or None"

    def is_valid(self, target: Any) -> bool:
        return target is None or (self.accepts(target) and _holdable(target))

    @property
    def subject(self) -> str:
        return self.name

    def named(self, name: str) -> "Regression":
        return self if self.name else replace(self, name=name)

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

    def disagreement(self, given: Float[Tensor, "pass target 1"]) -> Float[Tensor, ""]:
        return (given - given.mean(0).detach()).square().mean()

    def score(self, given: Float[Tensor, "target 1"], wanted: Float[Tensor, " target"]) -> float:
        known = ~wanted.isnan()
        gaps = (given[known, 0].double() - wanted[known].double()) * self.spread
        return float(gaps.square().mean().sqrt())

    def figures(self, given: Float[Tensor, "target 1"], wanted: Float[Tensor, " target"]) -> dict[str, Any]:
        return {"r2": _explained(given[:, 0], wanted), "spearman": _rank_correlation(given[:, 0], wanted)}

    def values(self, given: Float[Tensor, "target 1"]) -> Float[Tensor, "target 1"]:
        return given.double() * self.spread + self.mean

    def outputs_of(self, values: Float[Tensor, "target 1"]) -> Float[Tensor, "target 1"]:
        return ((values - self.mean) / self.spread).float()

    def decode(self, given: Float[Tensor, "target 1"]) -> list[float]:
        return self.values(given)[:, 0].tolist()

    @property
    def columns(self) -> tuple[str, ...]:
        return ("number",)

    @property
    def description(self) -> str:
        return "a number"


def target_from_json(saved: Any) -> Target:
    """Read a saved target of any kind.

    Raises:
        ModelError: it isn't a result of `to_json`.

    Example:
        >>> target_from_json(Label(("a", "b")).to_json())
        Label(names=('a', 'b'), temperature=1.0)
    """
    if not isinstance(saved, dict) or saved.get("kind") not in [*TARGETS]:
        raise ModelError(f"`answer` must be an object of a kind among {', '.join(TARGETS)}, but is {saved!r:.60}.")
    return TARGETS[saved["kind"]].from_json(saved)


TARGETS: dict[str, Any] = {kind.kind: kind for kind in (Label, MultiLabel, Regression)}


def _explained(given: Tensor, wanted: Tensor) -> float | None:
    if len(wanted.unique()) < 2:
        return None
    return float(require("sklearn.metrics", extra="train").r2_score(wanted.double(), given.double()))


def _rank_correlation(given: Tensor, wanted: Tensor) -> float | None:
    if len(given.unique()) < 2 or len(wanted.unique()) < 2:
        return None
    # SciPy comes with scikit-learn.
    return float(require("scipy.stats", extra="train").spearmanr(given.double(), wanted.double()).statistic)


def _undecided(shares: Float[Tensor, "pass ... choice"]) -> Float[Tensor, "pass ..."]:
    """The squared distance of the probabilities of each pass to the sharpened mean over all passes."""
    sharp = shares.mean(0).square()
    return (shares - (sharp / sharp.sum(-1, keepdim=True)).detach()).square().sum(-1)


def _question_names(target: Any) -> tuple[str, ...] | None:
    """The names of the questions, if the target has them, as those of a data set do (`datasets.BinaryLabels`)."""
    names = getattr(target, "names", None)
    return None if names is None else tuple(names)


def _holdable(number: float) -> bool:
    """Whether float32, in which models compute, can hold a number: the square of a larger one may be infinite."""
    try:
        return abs(float(number)) <= _LARGEST
    except OverflowError:  # an integer that is larger than any float
        return False


def _numbers(count: int) -> tuple[str, ...]:
    """The names of questions without names: 1, 2, ..."""
    return tuple(str(number) for number in range(1, count + 1))


def _doubt(count: int) -> float:
    """The probability assigned to the opposite of a known target, given the number of known targets.

    Source: Platt 1999, Probabilistic outputs for support vector machines, section 2.2.
    """
    return 1 / (count + 2)


def _check_names(what: str, names: Any) -> None:
    if not isinstance(names, tuple) or not names or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"`{what}` must be a list of strings, but is {names!r:.60}.")
    for name, count in Counter(names).items():
        if count > 1:
            raise ArgumentError(f"`{what}` must be distinct, but has {name!r:.60} twice.")
        # Python can't write it to a file: the trained model would be lost.
        if not name.isascii() and name != checked_text(name):
            raise ArgumentError(
                f"`{what}` must be of whole characters, but {name!r:.60} has half of one (a lone surrogate). Rename it."
            )
