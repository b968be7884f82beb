"""What a change of attention does to what a model says, and whether it can be told from noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from regard.inspection.explain.changes import Change
from regard.inspection.explain.differences import differences, largest, largest_difference

__all__ = ["ROUNDING", "Effect", "JointEffect", "Measured", "joined_effect"]

Measured = float | Tensor
"""A number, or a tensor of numbers."""

ROUNDING = 16 * torch.finfo(torch.float32).eps
"""The relative difference that rounding makes."""


@dataclass(frozen=True, eq=False)
class Effect:
    """What a change does.

    Attributes:
        change: the change.
        before, after: the measure without it and with it: a number, or a tensor of numbers. If the change is drawn,
            `after` is the mean over the draws.
        rounding: the difference that computing attention in another way makes already.
        spread: the standard deviation of `after` over the draws; None if nothing is drawn.
        draws: how many draws there were; 1 if nothing is drawn.
        noise_floor: the largest size of the effects of changes that are as large, but in random directions; None if
            it wasn't measured. See `effects`.
        noise: how many such changes there were.
    """

    change: Change
    before: Measured
    after: Measured
    rounding: float = 0.0
    spread: Measured | None = None
    draws: int = 1
    noise_floor: Measured | None = None
    noise: int = 0

    @property
    def difference(self) -> Measured:
        """After minus before."""
        return self.after - self.before

    @property
    def size(self) -> float:
        """The size of the difference, without its sign; of several numbers, that of the largest."""
        return largest_difference(torch.as_tensor(self.before), torch.as_tensor(self.after))

    @property
    def unchanged(self) -> bool:
        """Whether nothing changed, or no more than by rounding."""
        before, after = torch.as_tensor(self.before), torch.as_tensor(self.after)
        # Of several numbers the largest counts: the error of a small one comes from what cancelled.
        slack = self.rounding + ROUNDING * max(largest(before), largest(after))
        return self.size <= slack

    @property
    def above_noise(self) -> bool | None:
        """Whether something changed by more than the noise floor; None if the floor wasn't measured.

        Of several numbers the largest difference and the largest floor count. If the change's direction means nothing,
        this is true in one of `noise` + 1 cases.
        """
        if self.noise_floor is None:
            return None
        return not self.unchanged and self.size > float(torch.as_tensor(self.noise_floor).max())

    def __str__(self) -> str:
        what = str(self.change)
        what = what[:1].upper() + what[1:]
        if self.unchanged:
            return f"{what}: nothing changed ({_shown(self.before)})."
        if isinstance(self.difference, Tensor):
            return f"{what}: {_shown(self.before)} became {_shown(self.after)}{self._beside()}."
        spread = "" if self.spread is None else f" \u00b1 {self.spread:.2g} over {self.draws} draws"
        return f"{what}: {self.before:.4g} became {self.after:.4g} ({self.difference:+.4g}{spread}){self._beside()}."

    def _beside(self) -> str:
        """The noise floor, as the end of a sentence."""
        if self.noise_floor is None:
            return ""
        floor = float(torch.as_tensor(self.noise_floor).max())
        return (
            f", above the noise floor of {floor:.2g}" if self.above_noise else f"; can't tell from noise ({floor:.2g})"
        )


@dataclass(frozen=True, eq=False)
class JointEffect:
    """What several changes do at once, beside what each does alone.

    Attributes:
        together: the effect of all at once.
        alone: the effect of each.
    """

    together: Effect
    alone: tuple[Effect, ...]

    @property
    def sum(self) -> Measured:
        """The sum of the differences that each makes alone."""
        return reduce(lambda left, right: left + right, (each.difference for each in self.alone))

    @property
    def interaction(self) -> Measured:
        """What all make at once beyond that sum; 0 if the changes don't depend on each other.

        Of two heads of which one can stand in for the other, each alone has a small effect, and both have a large one.
        """
        return self.together.difference - self.sum

    def __str__(self) -> str:
        total = self.sum
        alone = _shown(total) if isinstance(total, Tensor) else f"{total:+.4g}"
        return f"{self.together} Alone they add up to {alone}."


def joined_effect(change: Change, drawn: Sequence[Effect], noise: Sequence[Sequence[Effect]]) -> Effect:
    """One effect of those of its draws, and of as many in each random direction.

    Args:
        change: what was asked for.
        drawn: the effects of the draws, one or more.
        noise: for each random direction, those of the draws.
    """
    first = drawn[0]
    before, afters = torch.as_tensor(first.before).double(), _afters(drawn)
    # What is compared with an average over draws is one, too.
    sizes = [differences(before, _afters(each).mean(0)) for each in noise]
    several = len(drawn) > 1
    return Effect(
        change,
        first.before,
        _as_given(afters.mean(0), first.after) if several else first.after,
        first.rounding,
        _as_given(afters.std(0), first.after) if several else None,
        len(drawn),
        _as_given(torch.stack(sizes).amax(0), first.after) if sizes else None,
        len(sizes),
    )


def _afters(drawn: Sequence[Effect]) -> Tensor:
    return torch.stack([torch.as_tensor(each.after).double() for each in drawn])


def _as_given(numbers: Tensor, given: Measured) -> Measured:
    return numbers if isinstance(given, Tensor) else float(numbers)


def _shown(value: Measured) -> str:
    if not isinstance(value, Tensor):
        return f"{value:.4g}"
    return f"{value.numel()} numbers of mean {float(value.mean()):.4g}"
