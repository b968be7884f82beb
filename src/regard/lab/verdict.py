"""Verdicts: what the runs of a study say of a claim, and how sure it is."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.lab.results import Run
from regard.lab.statistics import Crossing, Difference, crossing, difference
from regard.lab.study import MEMORY, SECONDS, Claim, Study
from regard.page.numbers import counted
from regard.tasks.judging.measure import Measure

__all__ = ["Verdict", "amount_text", "interval_text", "judge", "paired", "value_text", "values_of", "verdicts"]


@dataclass(frozen=True)
class Verdict:
    """What the runs say of a claim.

    Args:
        claim: the claim.
        answer: "yes", "no" or "can't tell"; "" if there are no runs.
        sentence: the reason, with the difference, its interval and the number of seeds.
        found: the paired difference, in favour of the claim's first variant; None if there are no runs.
        crossed: where the lines of the two variants cross, if those of all seeds do.
    """

    claim: Claim
    answer: str
    sentence: str
    found: Difference | None = None
    crossed: Crossing | None = None

    @property
    def contradicts(self) -> bool:
        """Whether it contradicts the lecture notes."""
        return bool(self.claim.notes) and self.answer in ("yes", "no") and self.answer != self.claim.notes


def judge(study: Study, claim: Claim, runs: Sequence[Run]) -> Verdict:
    """Check a claim against the runs of a study.

    The answer is "yes" if the whole confidence interval of the paired difference is in the claim's favour, "no" if the
    whole of it is below the smallest difference that matters, and else "can't tell".

    Example:
        >>> study = Study("coins", "?", len, {"a": {}, "b": {}}, (Claim("a", "b"),))
        >>> judge(study, study.claims[0], []).sentence
        "It hasn't been run."
    """
    by_seed = paired(study, claim, runs)
    lost = [said for name in (claim.first, claim.than) if (said := _diverged(name, runs))]
    if not by_seed:
        return Verdict(claim, "", " ".join(lost) or "It hasn't been run.")
    if claim.at is None:
        values = [statistics.fmean(differences.values()) for differences in by_seed.values()]
    else:
        values = [differences[claim.at] for differences in by_seed.values() if claim.at in differences]
        if not values:
            return Verdict(claim, "", f"It hasn't been run with {study.along and study.along.name} = {claim.at:g}.")
    overall = difference(values)
    if overall.high < claim.margin or (overall.high == 0 == claim.margin):
        answer = "no"
    elif overall.low > 0:
        answer = "yes"
    else:
        answer = "can't tell"
    crossed = None
    if study.along is not None and isinstance(claim.than, str) and len({*map(len, by_seed.values())}) == 1:
        lines = {
            seed: {at: value for at, value in differences.items() if at is not None}
            for seed, differences in by_seed.items()
        }
        crossed = crossing(lines, log=study.along.log)
        # Lines that lie on each other cross by chance, in some seeds.
        if crossed is not None and crossed.count < crossed.seeds:
            crossed = None
    sentence = " ".join([_sentence(study, claim, overall, crossed), *lost])
    return Verdict(claim, answer, sentence, overall, crossed)


def _diverged(variant: str | float, runs: Sequence[Run]) -> str:
    """A sentence on the seeds with which a variant diverged; "" if it never did."""
    of_variant = [run for run in runs if run.variant == variant]
    count = sum(bool(run.diverged) for run in of_variant)
    if not count:
        return ""
    seeds = "" if count == len(of_variant) else f" with {count} of {counted(len(of_variant), 'seed')}"
    return f"{variant} diverged{seeds}."


def verdicts(study: Study, runs: Sequence[Run]) -> list[Verdict]:
    """The verdicts of all claims, in their order: the first one answers the study's question."""
    return [judge(study, claim, runs) for claim in study.claims]


def paired(study: Study, claim: Claim, runs: Sequence[Run]) -> dict[int, dict[float | None, float]]:
    """The differences in favour of a claim's first variant, by seed and by the value along which they were measured.

    Pairs of which one run is missing are left out.
    """
    measure = study.measure(claim.measure)
    first = _values(study, claim.first, measure, runs)
    than = None if isinstance(claim.than, float | int) else _values(study, claim.than, measure, runs)
    sign = -1 if measure.falls else 1
    by_seed: dict[int, dict[float | None, float]] = {}
    for seed, values in first.items():
        differences = {}
        for at, value in values.items():
            other = claim.than if than is None else than.get(seed, {}).get(at)
            if other is not None and not isinstance(other, str):
                differences[at] = sign * (value - other)
        if differences:
            by_seed[seed] = differences
    return by_seed


def _values(study: Study, variant: str, measure: Measure, runs: Sequence[Run]) -> dict[int, dict[float | None, float]]:
    by_seed: dict[int, dict[float | None, float]] = {}
    for run in runs:
        if run.variant != variant:
            continue
        for at, value in values_of(study, measure, run):
            by_seed.setdefault(run.seed, {})[at] = value
    return by_seed


def values_of(study: Study, measure: Measure, run: Run) -> list[tuple[float | None, float]]:
    """A measure of a run by the value of the quantity that the study varies; None if it varies none."""
    if study.along is None:
        places: list[float | None] = [None]
    elif study.along.within:
        places = list(run.setting[study.along.name])
    else:
        places = [run.setting[study.along.name]]
    return [(at, value) for at in places if (value := run.value(measure.name, at)) is not None]


# How less and more of a quantity are said, and the word for what has less of it.
_LESS = {
    "ms": ("{} ms less", "{} ms more", "faster"),
    SECONDS.name: ("{} seconds less", "{} seconds more", "faster"),
    MEMORY.name: ("{} MiB less", "{} MiB more", "less"),
    "parameters": ("{} fewer parameters", "{} more parameters", "fewer"),
}


def _sentence(study: Study, claim: Claim, difference: Difference, crossed: Crossing | None) -> str:
    measure = study.measure(claim.measure)
    where = f" at {study.along.name} = {claim.at:,g}" if study.along is not None and claim.at is not None else ""
    seeds = f"in {difference.positive} of {counted(difference.count, 'seed')}"
    if isinstance(claim.than, str):
        said, better = _difference(measure, difference)
        how = f"95 % interval {interval_text(measure, _as_said(difference))}; {better} {seeds}"
        if difference.count < 2:
            how = f"no interval; {better} {seeds}"
        elif difference.low == difference.high:
            how = f"the same in each of {counted(difference.count, 'seed')}"
        said = f"{claim.first} against {claim.than}{where}: {said} ({how})."
    else:
        # The value itself says more than its difference from a number.
        sign = -1 if measure.falls else 1
        low, high = sorted(claim.than + sign * end for end in (difference.low, difference.high))
        mean, least, most = (value_text(measure, value) for value in (claim.than + sign * difference.mean, low, high))
        interval = "no interval" if difference.count < 2 else f"95 % interval {least} to {most}"
        bound = value_text(measure, claim.than)
        side = "lower" if measure.falls else "higher"
        said = f"{claim.first}{where}: {measure.name} {mean}, against {bound} ({interval}; {side} {seeds})."
    if claim.margin > 0 and difference.high < claim.margin and difference.low > -claim.margin:
        said += f" Differences below {amount_text(measure, claim.margin)} {_unit(measure)}count as none."
    if crossed is not None:
        after = claim.first if crossed.first_after else claim.than
        better = "faster" if "faster" in _LESS.get(measure.name, ()) else "better"
        said += (
            f" The lines cross at {study.along and study.along.name} = {_round(crossed.at)}: beyond it, {after} is "
            f"{better} ({_of_seeds(crossed)})."
        )
    return said


def _of_seeds(crossed: Crossing) -> str:
    """Where the lines of single seeds cross."""
    low, high = _round(crossed.low), _round(crossed.high)
    return "the same in each seed" if low == high else f"those of single seeds cross from {low} to {high}"


def _difference(measure: Measure, difference: Difference) -> tuple[str, str]:
    """The difference of two variants in words, and the word for the better of them: of an error, the lower one."""
    amount, good = f"{amount_text(measure, abs(difference.mean))} {_unit(measure)}".rstrip(), difference.mean >= 0
    if measure.name in _LESS:
        less, more, better = _LESS[measure.name]
        return (less if good else more).format(amount), better
    if measure.falls:
        return f"{measure.name} {amount} {'lower' if good else 'higher'}", "lower"
    return f"{measure.name} {amount} {'higher' if good else 'lower'}", "higher"


def _as_said(difference: Difference) -> Difference:
    """The difference in the direction that the sentence names: "0.1 lower" has the interval of what is lower."""
    if difference.mean < 0:
        return replace(difference, mean=-difference.mean, low=-difference.high, high=-difference.low)
    return difference


def value_text(measure: Measure, value: float) -> str:
    """A value of a measure; a very small or very large one in scientific notation."""
    if not measure.share and not measure.digits:
        return f"{value:,.0f}"
    if not measure.share and value and not 10 ** -(measure.digits - 1) <= abs(value) < 1e6:
        return f"{value:.2g}"
    return measure.format(value)


def amount_text(measure: Measure, value: float) -> str:
    """A difference of a measure: in percentage points for a fraction."""
    return f"{100 * value:.1f}" if measure.share else value_text(measure, value)


def interval_text(measure: Measure, difference: Difference) -> str:
    """The interval of a difference; of a single pair there is none."""
    if difference.count < 2:
        return "too few seeds"
    return f"{amount_text(measure, difference.low)} to {amount_text(measure, difference.high)}"


def _unit(measure: Measure) -> str:
    return "points " if measure.share else ""


def _round(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
