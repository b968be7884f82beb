"""Whether a set of sources as a whole is unlike the data of a model: a test on the mean of each statistic."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.page.numbers import counted
from regard.tasks.judging.evaluation import saved_evaluation
from regard.tasks.judging.measure import ACCURACY
from regard.tasks.judging.moments import Moments, finite_numbers, is_above
from regard.tasks.judging.out_of_distribution import Difference, Statistic, Threshold, percent

__all__ = ["SourceTally", "describe_unlike"]


@dataclass
class SourceTally:
    """What the sources of a set add up to, while they are read one by one.

    Args:
        sources: the number of sources.
    """

    sources: int = 0
    doubt: Moments = field(default=Moments(), repr=False)
    _found: dict[str, tuple[Statistic, Moments]] = field(default_factory=dict, repr=False)

    def add(self, statistics: Iterable[Statistic], doubt: tuple[float, float] | None = None) -> None:
        """Add a source.

        Args:
            statistics: its `Statistic`s.
            doubt: the sum of 1 - confidence over its predictions, and their number; None: they have no probabilities.
        """
        self.sources += 1
        for each in statistics:
            _, before = self._found.get(each.name, (each, Moments()))
            self._found[each.name] = each, before + Moments.of([(each.amount, each.size)])
        if doubt is not None and doubt[1]:
            self.doubt += Moments.of([doubt])

    def differences(self, thresholds: Mapping[str, Threshold], about: Mapping[str, Any]) -> tuple[Difference, ...]:
        """The statistics that are higher in the set than on dev.

        Args:
            thresholds: the `Threshold` of each statistic.
            about: what the card says of the model, with its score on dev.
        """
        count = _dev_sources(about)
        compared: list[tuple[str, Moments, Moments, str, Callable[[float], str]]] = []
        for name, (statistic, found) in self._found.items():
            threshold = thresholds.get(name)
            if statistic.of_set and threshold is not None and (usual := threshold.usual(found, count)) is not None:
                compared.append((name, found, usual, statistic.of_set, statistic.shown))
        if self.doubt.count and (usual := _usual_doubt(about, self.doubt)) is not None:
            compared.append(
                ("confidence", self.doubt, usual, "their mean confidence is {}", lambda rate: percent(1 - rate))
            )
        return tuple(
            Difference(
                name, found.rate, usual.rate, f"{said.format(show(found.rate))}, {show(usual.rate)} in its own data"
            )
            for name, found, usual, said, show in compared
            if is_above(found, usual, tests=len(compared))
        )


def _dev_sources(about: Mapping[str, Any]) -> float | None:
    """The number of sources of dev, by the card; None if it doesn't say."""
    counts = finite_numbers([*about.get("data", {}).get("splits", {}).get("dev", {}).values()])
    return counts[0] if counts else None


def _usual_doubt(about: Mapping[str, Any], found: Moments) -> Moments | None:
    """The doubts on dev, by the card; None if it doesn't say enough.

    Without the moments, as earlier versions saved it, the mean doubt is at most the share that is wrong and the
    calibration error together.
    """
    score = saved_evaluation(about.get("scores", {}).get("dev", {}))
    if (known := Moments.read((score.get("doubt") or {}).get("sums"))) is not None:
        return known
    error, count = (score.get("calibration") or {}).get("error"), score.get("sources") or score.get("examples")
    numbers = finite_numbers([error, score.get("score"), count])
    if score.get("measure") != ACCURACY.name or not numbers:
        return None
    error, right, count = numbers
    return Moments.assumed(min(1.0, 1 - right + error), count, None, found)


def describe_unlike(differences: Sequence[Difference], sources: int, name: str) -> str:
    """A sentence on a set that is unlike the data of a model, and what to expect; "" if it isn't.

    Args:
        differences: what is higher than usual.
        sources: the number of sources in the set.
        name: the model's name.

    Example:
        >>> from regard.tasks.judging.out_of_distribution import Difference
        >>> found = Difference("unknown words", 0.12, 0.04, "12.0 % of their words are unknown to it, 4.0 % in its own")
        >>> describe_unlike([found], 50, "mine")[:67]
        'As a whole, these 50 sources are unlike the data that mine was made'
    """
    if not differences:
        return ""
    found = "; ".join(each.description for each in differences)
    return (
        f"As a whole, these {counted(sources, 'source')} are unlike the data that {name} was made on: {found}. Expect "
        "more errors than its card says."
    )
