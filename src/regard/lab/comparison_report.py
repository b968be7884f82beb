"""The report of a comparison of recipes as a page."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from regard.lab.halving import Rung
from regard.lab.report import report
from regard.lab.results import Run
from regard.lab.statistics import difference
from regard.lab.study import Study
from regard.lab.verdict import amount_text, interval_text, value_text, verdicts
from regard.page import Block, Heading, Page, Prose, Table
from regard.page.numbers import counted
from regard.tasks.judging.measure import Measure

__all__ = ["Decided", "comparison_page"]

# A share of dev that is worth a word.
_MUCH = 0.004

Round = tuple[Rung, Mapping[str, float | None], set[str]]
"""A round that is over: its plan, the score of each candidate or None if it diverged, and the names that went on."""


@dataclass(frozen=True)
class Decided:
    """How a comparison was decided.

    Args:
        study, runs: the last round.
        rounds: the rounds before it.
        winner: the name of the best candidate.
        test: the scores on test of the winner and the default, one for each seed; empty without examples for test.
        baseline: the simple baseline, as `FittedBaseline.to_json` gives it; empty if there is none.
        dev_targets: the number of targets of dev, if each example has one; None if they have several.
    """

    study: Study
    runs: Sequence[Run]
    rounds: Sequence[Round]
    winner: str
    test: Mapping[str, Sequence[float | None]]
    baseline: Mapping[str, Any] = field(default_factory=dict)
    dev_targets: int | None = None

    @property
    def measure(self) -> Measure:
        """What decides, on dev."""
        return self.study.measures[0]


def comparison_page(decided: Decided, name: str, notes: Sequence[str] = (), *, all_runs: bool = True) -> Page:
    """The report: the winner on dev and on test, the last round as a study, and the rounds before it.

    Args:
        decided: the comparison.
        name: the name of the data.
        notes: sentences that say how the candidates differ, in addition to their names.
        all_runs: include the table of every run of the last round.
    """
    study, rounds, measure = decided.study, decided.rounds, decided.measure
    count = len(rounds[0][1]) if rounds else len(study.variants)
    blocks: list[Block] = [
        Prose(f"{_of_dev(decided)}{_of_equals(decided)}{_of_one_example(decided)}"),
        *([Prose(_of_test(decided))] if decided.test else []),
        *([Prose(_of_baseline(decided))] if "scores" in decided.baseline else []),
        *(Prose(note) for note in notes),
    ]
    last = report(study, decided.runs, all_runs=all_runs)
    # Its first blocks are the verdicts on the claims, which the table of differences shows, too.
    blocks += _with_baseline(last.blocks[len(study.claims) :], decided)
    for number, (rung, scores, kept) in enumerate(rounds, start=1):
        seeds = "" if rung.seeds == 1 else f", {counted(rung.seeds, 'seed')}"
        blocks.append(Heading(f"Round {number}: {counted(rung.epochs, 'epoch')}{seeds}"))
        finite = {candidate: score for candidate, score in scores.items() if score is not None}
        best_first = sorted(finite, key=finite.__getitem__, reverse=not measure.falls)
        diverged = [candidate for candidate in scores if candidate not in finite]
        rows = tuple(
            (
                candidate,
                value_text(measure, finite[candidate]) if candidate in finite else "diverged",
                "yes" if candidate in kept else "",
            )
            for candidate in (*best_first, *diverged)
        )
        blocks.append(Table(("candidate", f"dev {measure.name}", "goes on"), rows, ("left", "right", "left")))
    return Page(f"Comparison of {counted(count, 'recipe')} on {name}", tuple(blocks))


def _with_baseline(blocks: Sequence[Block], decided: Decided) -> list[Block]:
    """The blocks, with a row for the baseline in the table of the variants."""
    found = list(blocks)
    if "scores" in decided.baseline:
        place, table = next((place, each) for place, each in enumerate(found) if isinstance(each, Table))
        score = value_text(decided.measure, decided.baseline["scores"]["dev"]["score"])
        row = ("the baseline", score, *[""] * (len(table.columns) - 2))
        found[place] = replace(table, rows=(*table.rows, row))
    return found


def _of_baseline(decided: Decided) -> str:
    measure, scores = decided.measure, decided.baseline["scores"]
    said = ", ".join(f"{value_text(measure, each['score'])} on {split}" for split, each in scores.items())
    of_winner = (run.value(measure.name) for run in decided.runs if run.variant == decided.winner)
    values = [value for value in of_winner if value is not None]
    own = scores["dev"]["score"]
    better = bool(values) and measure.better(own, than=statistics.fmean(values))
    return (
        f"The baseline, {decided.baseline['name']}, trained on the same examples: {measure.name} {said}."
        f"{' It is better than every recipe on dev.' if better else ''}"
    )


def _of_dev(decided: Decided) -> str:
    measure, runs, winner = decided.measure, decided.runs, decided.winner
    values = [value for run in runs if run.variant == winner and (value := run.value(measure.name)) is not None]
    best = f"The best on dev is {winner}: {measure.name} {value_text(measure, statistics.fmean(values))}."
    verdict = next((verdict for verdict in verdicts(decided.study, runs) if verdict.claim.first == winner), None)
    if verdict is None:
        return f"{best} No other recipe is better than the default."
    if not verdict.answer:
        return f"{best} {verdict.sentence}"
    clear_answers = {"yes": "It is better than the default", "no": "It isn't better than the default"}
    return f"{best} {clear_answers.get(verdict.answer, 'It may be no better than the default')}: {verdict.sentence}"


def _of_equals(decided: Decided) -> str:
    """Which other recipes have the winner's score on dev; "" if none has."""
    measure, by_name = decided.measure, {}
    for run in decided.runs:
        if (value := run.value(measure.name)) is not None:
            by_name.setdefault(run.variant, []).append(value)
    means = {name: statistics.fmean(values) for name, values in by_name.items()}
    equal = [name for name in means if name != decided.winner and math.isclose(means[name], means[decided.winner])]
    return f" As good on dev: {', '.join(equal)}." if equal else ""


def _of_one_example(decided: Decided) -> str:
    """What a single example of dev is worth, where that is much; "" else."""
    count, measure = decided.dev_targets, decided.measure
    if not count or not measure.share or 1 / count < _MUCH:
        return ""
    return (
        f" Dev has {counted(count, 'example')}, so one of them is worth {amount_text(measure, 1 / count)} points: "
        "smaller differences say nothing."
    )


def _of_test(decided: Decided) -> str:
    measure, test, winner = decided.measure, decided.test, decided.winner
    means = {
        name: value_text(measure, statistics.fmean(finite))
        for name, scores in test.items()
        if (finite := [score for score in scores if score is not None])
    }
    sign = -1 if measure.falls else 1
    pairs = zip(test[winner], test["default"], strict=True)
    gains = [sign * (score - default) for score, default in pairs if score is not None and default is not None]
    if winner == "default" or not gains:
        return f"On test, read once: {measure.name} {means[winner]}."
    gain = difference(gains)
    return (
        f"On test, read once: {measure.name} {means[winner]}, the default {means['default']} "
        f"({'lower by' if measure.falls else 'higher by'} {amount_text(measure, gain.mean)}, 95 % interval "
        f"{interval_text(measure, gain)} over "
        f"{counted(gain.count, 'seed')})."
    )
