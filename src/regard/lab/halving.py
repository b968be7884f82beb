"""Successive halving: many candidates for a few epochs, then the best of them for more.

Source: Karnin et al. 2013, Almost optimal exploration in multi-armed bandits; Jamieson and Talwalkar 2016
    (arXiv 1502.07943), algorithm 1.
"""

import math
from dataclasses import dataclass

from regard.errors import ArgumentError
from regard.page.numbers import counted

__all__ = ["Rung", "affordable", "plan_rungs"]

KEEP = 3
"""A third of the candidates go on from each rung, and so many reach the last one."""


@dataclass(frozen=True)
class Rung:
    """A round of successive halving.

    Args:
        candidates: the number of candidates that run in it.
        epochs: the number of epochs of each run.
        seeds: the number of seeds.
    """

    candidates: int
    epochs: int
    seeds: int

    @property
    def work(self) -> int:
        """The number of epochs of all its runs."""
        return self.candidates * self.epochs * self.seeds


def plan_rungs(candidates: int, epochs: int, seeds: int) -> list[Rung]:
    """The rungs for so many candidates, the default among them.

    The last rung trains up to three candidates and the default for all epochs with all seeds. Each rung before it has
    three times as many candidates and a third of the epochs, with one seed.

    Example:
        >>> for rung in plan_rungs(20, epochs=18, seeds=3):
        ...     print(rung)
        Rung(candidates=20, epochs=2, seeds=1)
        Rung(candidates=7, epochs=6, seeds=1)
        Rung(candidates=4, epochs=18, seeds=3)
    """
    counts = [candidates]
    # The default reaches the last rung whatever its score.
    while counts[-1] > KEEP + 1:
        counts.append(max(math.ceil(counts[-1] / KEEP), KEEP + 1))
    rungs = len(counts)
    return [
        Rung(count, max(1, round(epochs / KEEP ** (rungs - 1 - number))), seeds if number == rungs - 1 else 1)
        for number, count in enumerate(counts)
    ]


def affordable(candidates: int, epochs: int, seeds: int, *, seconds: float, each: float) -> list[Rung]:
    """The rungs that a budget pays for: with fewer epochs if need be, and then fewer seeds, but at least 2.

    Args:
        candidates, epochs, seeds: as in `plan_rungs`, and the most of each.
        seconds: what there is to spend, of all processes together.
        each: the seconds of one epoch.

    Raises:
        ArgumentError: it doesn't pay for one epoch of each candidate.

    Example:
        >>> affordable(4, 100, 3, seconds=600, each=1.0)
        [Rung(candidates=4, epochs=50, seeds=3)]
    """
    # Half of the epochs rather than one seed less: the interval needs the seeds.
    for count in range(seeds, 1, -1):
        low, high = 0, epochs
        while low < high:
            middle = (low + high + 1) // 2
            if sum(rung.work for rung in plan_rungs(candidates, middle, count)) * each <= seconds:
                low = middle
            else:
                high = middle - 1
        if low >= min(epochs, 3) or (low and count == 2):
            return plan_rungs(candidates, low, count)
    least = sum(rung.work for rung in plan_rungs(candidates, 1, 2)) * each
    raise ArgumentError(
        f"`minutes` must pay for an epoch of each of the {candidates} candidates, about "
        f"{counted(math.ceil(least / 60), 'minute')} of one core, but pays for {seconds / 60:.1f}. Give more, or "
        "vary fewer fields."
    )
