"""The report of a comparison of recipes as a page."""

import statistics
from collections.abc import Mapping, Sequence

from regard.lab.halving import Rung
from regard.lab.report import report
from regard.lab.results import Run
from regard.lab.statistics import difference
from regard.lab.study import Study
from regard.lab.verdict import amount_text, interval_text, value_text, verdicts
from regard.page import Block, Heading, Page, Prose, Table
from regard.page.numbers import counted
from regard.tasks.judging.measure import Measure

__all__ = ["comparison_page"]

Round = tuple[Rung, Mapping[str, float | None], set[str]]
"""A round that is over: its plan, the score of each candidate or None if it diverged, and the names that went on."""


def comparison_page(
    study: Study,
    runs: Sequence[Run],
    rounds: Sequence[Round],
    *,
    winner: str,
    test: Mapping[str, Sequence[float | None]],
    name: str,
    notes: Sequence[str] = (),
    all_runs: bool = True,
) -> Page:
    """The report: the winner on dev and on test, the last round as a study, and the rounds before it.

    Args:
        study, runs: the last round.
        rounds: the rounds before it.
        winner: the name of the best candidate.
        test: the scores on test of the winner and the default, by seed.
        name: the name of the data.
        notes: sentences on how the candidates differ, beside their names.
        all_runs: include the table of every run of the last round.
    """
    measure = study.measures[0]
    count = len(rounds[0][1]) if rounds else len(study.variants)
    blocks: list[Block] = [
        Prose(_of_dev(study, runs, winner)),
        *([Prose(_of_test(measure, test, winner))] if test else []),
        *(Prose(each) for each in notes),
    ]
    last = report(study, runs, all_runs=all_runs)
    # The study's own verdicts are in the table of differences.
    blocks += last.blocks[len(study.claims) :]
    for number, (rung, scores, kept) in enumerate(rounds, start=1):
        seeds = "" if rung.seeds == 1 else f", {counted(rung.seeds, 'seed')}"
        blocks.append(Heading(f"Round {number}: {counted(rung.epochs, 'epoch')}{seeds}"))
        sound = {each: score for each, score in scores.items() if score is not None}
        best = sorted(sound, key=lambda each: sound[each] if measure.falls else -sound[each])
        rows = tuple(
            (each, value_text(measure, sound[each]) if each in sound else "diverged", "yes" if each in kept else "")
            for each in (*best, *(each for each in scores if each not in sound))
        )
        blocks.append(Table(("candidate", f"dev {measure.name}", "goes on"), rows, ("left", "right", "left")))
    return Page(f"Comparison of {counted(count, 'recipe')} on {name}", tuple(blocks))


def _of_dev(study: Study, runs: Sequence[Run], winner: str) -> str:
    measure = study.measures[0]
    own = [value for run in runs if run.variant == winner and (value := run.value(measure.name)) is not None]
    said = f"The best on dev is {winner}: {measure.name} {value_text(measure, statistics.fmean(own))}."
    found = next((each for each in verdicts(study, runs) if each.claim.first == winner), None)
    if found is None:
        return f"{said} No other recipe is better than the default."
    if not found.answer:
        return f"{said} {found.sentence}"
    sure = {"yes": "It is better than the default", "no": "It isn't better than the default"}
    return f"{said} {sure.get(found.answer, 'It may be no better than the default')}: {found.sentence}"


def _of_test(measure: Measure, test: Mapping[str, Sequence[float | None]], winner: str) -> str:
    means = {
        name: value_text(measure, statistics.fmean(known))
        for name, scores in test.items()
        if (known := [each for each in scores if each is not None])
    }
    sign = -1 if measure.falls else 1
    pairs = zip(test[winner], test["default"], strict=True)
    both = [sign * (a - b) for a, b in pairs if a is not None and b is not None]
    if winner == "default" or not both:
        return f"On test, read once: {measure.name} {means[winner]}."
    found = difference(both)
    return (
        f"On test, read once: {measure.name} {means[winner]}, the default {means['default']} "
        f"({'lower by' if measure.falls else 'higher by'} {amount_text(measure, found.mean)}, 95 % interval "
        f"{interval_text(measure, found)} over "
        f"{counted(found.count, 'seed')})."
    )
