"""The report of a study as a page: the verdict, the variants, the paired differences, pictures and every run."""

import statistics
from collections.abc import Sequence

from regard.lab.results import Run
from regard.lab.statistics import difference
from regard.lab.study import MEMORY, SECONDS, Study
from regard.lab.verdict import Verdict, amount_text, interval_text, value_text, values_of, verdicts
from regard.page import Block, Chart, Heading, Page, Point, Prose, Series, Table
from regard.page.numbers import counted
from regard.progress import clock
from regard.tasks.judging.measure import Measure

__all__ = ["charts", "conditions", "report", "summary"]


def report(study: Study, runs: Sequence[Run], *, all_runs: bool = True) -> Page:
    """The report of a study.

    Args:
        study: the study.
        runs: its runs.
        all_runs: include the table of every run.

    Example:
        >>> from regard.lab import Claim, run_study
        >>> def run(setting, seed):
        ...     return {"accuracy": setting["bias"] + 0.01 * seed}
        >>> study = Study("coins", "Is b better?", run, {"a": {"bias": 0.5}, "b": {"bias": 0.75}}, (Claim("b", "a"),))
        >>> page = report(study, run_study(study, processes=1, progress="none"))
        >>> page.title, page.blocks[0].text[:45]
        ('Is b better?', 'Yes. b against a: accuracy 25.0 points higher')
    """
    first, *others = judged = verdicts(study, runs)
    blocks: list[Block] = [Prose(summary(first))]
    blocks += [Prose(f"{verdict.claim.text} {summary(verdict)}".strip()) for verdict in others]
    if not runs:
        return Page(study.question, (*blocks, Prose(f"Run it: regard lab {study.name}")))
    if study.note:
        blocks.append(Prose(study.note))
    blocks += [_table(study, runs), *charts(study, runs)]
    blocks += [Heading("Paired differences"), _differences(study, judged)]
    if all_runs:
        blocks += [Heading("Every run"), _every_run(study, runs)]
    return Page(study.question, (*blocks, Prose(conditions(study, runs))))


def summary(verdict: Verdict) -> str:
    """A verdict in words; where it contradicts the notes, that comes first."""
    if not verdict.answer:
        return verdict.sentence
    against = "This contradicts the lecture notes. " if verdict.contradicts else ""
    return f"{against}{verdict.answer.capitalize()}. {verdict.sentence}"


def conditions(study: Study, runs: Sequence[Run]) -> str:
    """How the runs were made, in a few sentences."""
    taken = clock(sum(run.seconds for run in runs))
    machines = sorted({run.machine for run in runs})
    torch = sorted({f"torch {run.versions.get('torch')}, regard {run.versions.get('regard')}" for run in runs})
    dates = sorted({run.date for run in runs})
    said = f"{counted(len(runs), 'run')}, {taken} of one core in all; {'; '.join([*machines, *torch])}; "
    said += dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    data = f" Data: {', '.join(study.data)}." if study.data else ""
    source = f" Asked by {study.source}." if study.source else ""
    shared = "" if study.alone else " Runs shared the machine with others, so their seconds are rough."
    others = study.repeated or "seeds"
    unknown = "" if study.repeated else ", not what other data would give"
    return f"{said}.{data}{source}{shared} Intervals tell what other {others} would give{unknown}."


def charts(study: Study, runs: Sequence[Run]) -> list[Chart]:
    """The pictures of a study: the quality along the quantity that it varies, and quality, speed and memory."""
    drawn = [_along(study, study.measures[0], runs)] if study.along is not None else []
    # With a single variant there is nothing to trade.
    last = _trade(study, runs) if len(study.variants) > 1 else _by_seed(study, runs) if not drawn else None
    return [*drawn, *([last] if last is not None else [])]


def _along(study: Study, measure: Measure, runs: Sequence[Run]) -> Chart:
    series = []
    for variant in study.variants:
        by_value: dict[float, list[float]] = {}
        for run in runs:
            if run.variant == variant:
                for at, value in values_of(study, measure, run):
                    if at is not None:
                        by_value.setdefault(at, []).append(value)
        if by_value:
            series.append(Series(variant, tuple(_point(measure, at, by_value[at]) for at in sorted(by_value))))
    name, log = (study.along.name, study.along.log) if study.along is not None else ("", False)
    return Chart(f"{_begun(measure.name)} by {name}", name, measure.name, tuple(series), log_x=log, share=measure.share)


def _begun(name: str) -> str:
    """A name at the beginning of a title; AP and RMSE keep their capitals."""
    return f"{name[0].upper()}{name[1:]}"


def _by_seed(study: Study, runs: Sequence[Run]) -> Chart | None:
    """The values of the seeds."""
    measure = study.measures[0]
    points = [Point(float(run.seed), value) for run in runs if (value := run.value(measure.name)) is not None]
    if not points:
        return None
    series = (Series(runs[0].variant, tuple(sorted(points, key=lambda point: point.x))),)
    return Chart(f"{_begun(measure.name)} by seed", "seed", measure.name, series, share=measure.share)


def _point(measure: Measure, x: float, values: Sequence[float], size: float | None = None) -> Point:
    estimate = difference(values)
    if len(values) < 2:
        return Point(x, estimate.mean, size=size)
    # The interval of a fraction that few seeds measured may leave the range of fractions.
    low, high = (max(0.0, estimate.low), min(1.0, estimate.high)) if measure.share else (estimate.low, estimate.high)
    return Point(x, estimate.mean, min(low, estimate.mean), max(high, estimate.mean), size)


def _trade(study: Study, runs: Sequence[Run]) -> Chart | None:
    """Quality, speed and memory of each variant, over all values along which it was measured."""
    measure, series = study.measures[0], []
    known = all(run.memory for run in runs)
    for variant in study.variants:
        of_variant = [run for run in runs if run.variant == variant and not run.diverged]
        values = {run.seed: [value for _, value in values_of(study, measure, run)] for run in of_variant}
        means = [statistics.fmean(of_seed) for of_seed in values.values() if of_seed]
        if means:
            seconds = statistics.fmean(run.seconds for run in of_variant)
            memory = statistics.fmean(run.memory or 0.0 for run in of_variant) if known else None
            series.append(Series(variant, (_point(measure, seconds, means, memory),)))
    if not series:
        return None
    return Chart(
        f"{_begun(measure.name)}, time and memory",
        "seconds of a run",
        measure.name,
        tuple(series),
        size=MEMORY.name if known else "",
        share=measure.share,
    )


def _table(study: Study, runs: Sequence[Run]) -> Table:
    """A row for each variant and each value along which it was measured: the mean and the spread of every measure."""
    measures = (*study.measures, SECONDS, MEMORY)
    columns = [
        "variant",
        *([study.along.name] if study.along is not None else []),
        *(measure.name for measure in measures),
    ]
    rows = []
    for variant in study.variants:
        of_variant = [run for run in runs if run.variant == variant]
        places = sorted(
            {at for run in of_variant for at, _ in values_of(study, study.measures[0], run) if at is not None}
        )
        for at in places or [None]:
            cells = [variant, *([f"{at:,g}"] if at is not None else [""] if study.along is not None else [])]
            for measure in measures:
                values = [value for run in of_variant if (value := _at(study, run, measure, at)) is not None]
                lost = sum(bool(run.diverged) for run in of_variant) if measure == study.measures[0] else 0
                cells.append(_spread(measure, values, lost))
            rows.append(tuple(cells))
    return Table(tuple(columns), tuple(rows), ("left", *["right" for _ in columns[1:]]))


def _at(study: Study, run: Run, measure: Measure, at: float | None) -> float | None:
    if study.along is not None and not study.along.within and at is not None and run.setting[study.along.name] != at:
        return None
    value = run.value(measure.name, at)
    return run.value(measure.name) if value is None else value


def _spread(measure: Measure, values: Sequence[float], lost: int) -> str:
    """The mean and the spread, and how many further runs diverged."""
    if not values:
        return "diverged" if lost else ""
    mean = value_text(measure, statistics.fmean(values))
    said = f"{mean} ± {amount_text(measure, statistics.stdev(values))}" if len(values) > 1 else mean
    return f"{said} ({lost} diverged)" if lost else said


def _differences(study: Study, judged: Sequence[Verdict]) -> Table:
    rows = []
    for verdict in judged:
        if verdict.found is None:
            continue
        claim, measure = verdict.claim, study.measure(verdict.claim.measure)
        than = claim.than if isinstance(claim.than, str) else value_text(measure, claim.than)
        at = "" if claim.at is None or study.along is None else f", {study.along.name} = {claim.at:,g}"
        rows.append(
            (
                f"{claim.first} over {than}{at}",
                measure.name,
                amount_text(measure, verdict.found.mean),
                interval_text(measure, verdict.found),
                f"{verdict.found.positive} of {verdict.found.count}",
                verdict.answer,
            )
        )
    columns = ("difference", "measure", "mean", "95 % interval", "better in", "answer")
    return Table(columns, tuple(rows), ("left", "left", "right", "right", "right", "left"))


def _every_run(study: Study, runs: Sequence[Run]) -> Table:
    measures = (*study.measures, SECONDS, MEMORY)
    columns = ("variant", *([study.along.name] if study.along is not None else []), "seed", *(m.name for m in measures))
    rows = []
    for run in runs:
        places = [at for at, _ in values_of(study, study.measures[0], run)] or [None]
        for at in places:
            values = [run.value(measure.name, at) for measure in measures]
            values = [run.value(m.name) if value is None else value for m, value in zip(measures, values, strict=True)]
            cells = [
                value_text(m, value) if value is not None else "" for m, value in zip(measures, values, strict=True)
            ]
            if run.diverged:
                cells[0] = "diverged"
            place = [f"{at:,g}" if at is not None else ""] if study.along is not None else []
            rows.append((run.variant, *place, str(run.seed), *cells))
    return Table(columns, tuple(rows), ("left", *["right" for _ in columns[1:]]))
