"""What a change of attention does to what a model says, and whether it can be told from noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.inspection.explain.changes import Change
from regard.inspection.explain.differences import differences, largest, largest_difference

__all__ = ["ROUNDING", "Effect", "JointEffect", "Measured", "check_noise", "floor_rank", "joined_effect"]

# Of fewer random changes none is the largest of 20, with the change itself.
_FEWEST = 19

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
        noise_floor: the size that at most 1 in 20 effects of changes as large exceed by chance, whose directions are
            random: of 19 such changes the largest, of 39 the second largest. None if it wasn't measured; see `effects`.
        noise: the sizes of the effects of these changes, from the largest to the smallest; of several numbers, that of
            the largest.
    """

    change: Change
    before: Measured
    after: Measured
    rounding: float = 0.0
    spread: Measured | None = None
    draws: int = 1
    noise_floor: Measured | None = None
    noise: tuple[float, ...] = ()

    @property
    def difference(self) -> Measured:
        """After minus before."""
        return self.after - self.before

    @property
    def size(self) -> float:
        """The size of the difference, without its sign; of several numbers, that of the largest."""
        return largest_difference(_wide(self.before), _wide(self.after))

    @property
    def unchanged(self) -> bool:
        """Whether nothing changed, or no more than by rounding."""
        # Of several numbers the largest counts: the error of a small one comes from what cancelled.
        slack = self.rounding + ROUNDING * max(largest(_wide(self.before)), largest(_wide(self.after)))
        return self.size <= slack

    @property
    def p_value(self) -> float | None:
        """The chance of an effect of this size or larger if the direction of the change means nothing.

        The share of this and the random changes whose effect is as large; None if there are none. Of several numbers
        the largest counts.
        """
        if not self.noise:
            return None
        return (1 + sum(each >= self.size for each in self.noise)) / (1 + len(self.noise))

    @property
    def above_noise(self) -> bool | None:
        """Whether something changed by more than the noise floor; None if the floor wasn't measured.

        Of several numbers the largest counts. If the direction of the change means nothing, this is true by chance in
        1 of 20 cases; with fewer than 19 random changes, in one more than there are.
        """
        if not self.noise:
            return None
        return not self.unchanged and self.size > self._floor

    @property
    def _floor(self) -> float:
        return self.noise[floor_rank(len(self.noise)) - 1]

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
        if not self.noise:
            return ""
        floor = f"{self._floor:.2g}"
        return f", above the noise floor of {floor}" if self.above_noise else f"; can't tell from noise ({floor})"


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
    before, afters = _wide(first.before), _afters(drawn)
    # What is compared with an average over draws is one, too.
    sizes = [differences(before, _afters(each).mean(0)) for each in noise]
    largest_first = torch.stack(sizes).sort(0, descending=True).values if sizes else None
    several = len(drawn) > 1
    return Effect(
        change,
        first.before,
        _as_given(afters.mean(0), first.after) if several else first.after,
        first.rounding,
        _as_given(afters.std(0), first.after) if several else None,
        len(drawn),
        None if largest_first is None else _as_given(largest_first[floor_rank(len(sizes)) - 1], first.after),
        tuple(sorted((float(each.max()) for each in sizes), reverse=True)),
    )


def check_noise(noise: Any) -> None:
    """Check a number of random directions: 0, or enough of them that one is 1 in 20.

    Raises:
        ArgumentError: it isn't.
    """
    check_count("noise", noise, "a number of changes in random directions", least=0)
    if 0 < noise < _FEWEST:
        raise ArgumentError(
            f"`noise` must be 0, or {_FEWEST} or more, but is {noise}: by chance, more than 1 effect in 20 is above "
            "the largest of so few random ones."
        )


def floor_rank(count: int) -> int:
    """Which of so many random effects, from the largest, is the noise floor: at most 1 in 20 is above it by chance."""
    return max(1, (count + 1) // 20)


def _afters(drawn: Sequence[Effect]) -> Tensor:
    return torch.stack([_wide(each.after) for each in drawn])


def _wide(numbers: Measured) -> Tensor:
    return torch.as_tensor(numbers, dtype=torch.double)


def _as_given(numbers: Tensor, given: Measured) -> Measured:
    return numbers if isinstance(given, Tensor) else float(numbers)


def _shown(value: Measured) -> str:
    if not isinstance(value, Tensor):
        return f"{value:.4g}"
    return f"{value.numel()} numbers of mean {float(value.mean()):.4g}"
