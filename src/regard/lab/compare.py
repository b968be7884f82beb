"""`compare`: which recipe of a grid is best on some examples, by successive halving; dev decides, test is read once."""

import dataclasses
import json
import math
import os
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from regard.errors import ArgumentError, DataError, DivergedError, RegardError
from regard.files import read_regular, write_json, write_text
from regard.inputs import as_list
from regard.lab.candidates import changed, describe_replaced, grid
from regard.lab.comparison_report import Decided, comparison_page
from regard.lab.halving import Rung, affordable, plan_rungs
from regard.lab.measurement import cores
from regard.lab.results import Run, read_runs
from regard.lab.runner import run_study
from regard.lab.study import Claim, Setting, Study
from regard.page import Page, as_html
from regard.page.numbers import counted
from regard.progress import Progress, choose_progress
from regard.tasks import Experiment, Recipe, Splits, default_recipe, load
from regard.tasks.baselines import fit_baseline
from regard.tasks.examples import as_pairs, digest_pairs
from regard.tasks.judging.measure import Measure
from regard.tasks.training.lock import LOCK, locked
from regard.tasks.training.run import RunFolder

__all__ = ["CandidateRun", "Compared", "compare"]

_STATE = "compare.json"
_MOST_BYTES = 1 << 24  # of it; a thousand candidates take far less
_DEFAULT = "default"
# Examples by which the time of an epoch is estimated from below.
_FEW = 32, 160
_SMALLER = "Try a smaller `learning_rate`."


@dataclass(frozen=True)
class Compared:
    """The end of a comparison.

    Args:
        winner: the name of the best candidate on dev.
        recipe: its recipe.
        folder: its model, of the seed that is best on dev.
        page: the report, without the table of every run, which report.html has.
        test: the scores on test by candidate and seed, of the winner and the default; None for a seed with which the
            candidate diverged; empty without examples for test.
    """

    winner: str
    recipe: Recipe
    folder: Path
    page: Page
    test: Mapping[str, Sequence[float | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class CandidateRun:
    """Trains a candidate; called by the runner with a setting and a seed.

    Args:
        recipe: the default recipe.
        splits: the examples of train and dev.
        folder: where the runs of the last round keep their models.
    """

    recipe: Recipe
    splits: Splits
    folder: Path

    def __call__(self, setting: Setting, seed: int) -> dict[str, float]:
        """Train, and return the score on dev by the name of its measure, and the number of parameters.

        Raises:
            DivergedError: training diverged, or the score isn't a finite number.
        """
        recipe = dataclasses.replace(changed(self.recipe, setting["changes"]), epochs=setting["epochs"], seed=seed)
        out = self.folder / setting["keep"] / str(seed) if setting["keep"] else None
        # A run that was killed goes on after its last epoch.
        resume = out is not None and RunFolder(out).begun()
        trained = Experiment(recipe, self.splits, out).run(resume=resume, baseline=False, progress="none")
        found = trained.evaluations["dev"]
        if not math.isfinite(found.score):
            # The last update of an epoch is followed by no loss that would show it.
            raise DivergedError(f"the {found.measure} on dev is {found.score}", _SMALLER)
        return {found.measure: found.score, "parameters": trained.model.parameters}


def compare(
    examples: Iterable[Any],
    dev: Iterable[Any],
    vary: Mapping[str, Sequence[Any]],
    *,
    out: str | Path,
    test: Iterable[Any] | None = None,
    recipe: Recipe | None = None,
    minutes: float | None = None,
    seeds: int = 3,
    halving: bool = True,
    processes: int | None = None,
    progress: str = "auto",
    name: str = "the examples",
    notes: Sequence[str] = (),
) -> Compared:
    """Find the best recipe of a grid: many candidates are trained for a few epochs, and the best of them for more.

    The default recipe takes part to the end, so that the report can say what the others gain. The simple baseline
    (`tasks.baselines`), fitted once, has a row beside the recipes. The order of the
    candidates is decided on dev. In the end the winner's and the default's models are evaluated on test, once. A
    candidate whose training diverges loses. What a candidate's network can't have, such as the mask of the default
    recipe in an RNN, gets its neutral value, and the report says so.

    Args:
        examples, dev: as in `regard.train`.
        vary: the values of each field of the recipe; "task.pooling" is a field of a section.
        out: the folder of the results. A comparison that was stopped continues there by the same call.
        test: further examples, which are read when all is decided.
        recipe: the default recipe; None: `tasks.default_recipe`.
        minutes: the time that it may take, about; None: what the recipe's epochs take.
        seeds: the number of seeds in the last round.
        halving: False trains all candidates for all epochs with all seeds.
        processes: the number of runs at a time; None: one for each core.
        progress: "bar", "lines", "none" or "auto".
        name: the name of the data in the report.
        notes: sentences for the report.

    Raises:
        ArgumentError: an invalid field or value, a budget that is too small, a folder that holds something else, or
            a grid all of whose candidates diverge.
        RegardError: training failed; what was done is kept.
    """
    examples = as_list("examples", examples, "(source, target) pairs")
    dev = as_list("dev", dev, "(source, target) pairs")
    recipe = default_recipe(examples) if recipe is None else recipe
    known = grid(recipe, vary)
    for option, value, least, most in (("seeds", seeds, 2, 10_000), ("processes", processes, 1, 1024)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most):
            raise ArgumentError(f"`{option}` must be a whole number from {least} to {most:,}, but is {value!r:.60}.")
    if minutes is not None and (isinstance(minutes, bool) or not isinstance(minutes, int | float) or not minutes > 0):
        raise ArgumentError(f"`minutes` must be a number above 0, but is {minutes!r:.60}.")
    folder, show = Path(out), choose_progress(progress)
    count = cores() if processes is None else processes
    identity = {
        "recipe": recipe.to_json(),
        "vary": {field: list(values) for field, values in vary.items()},
        "data": {"examples": digest_pairs(as_pairs(examples)), "dev": digest_pairs(as_pairs(dev))},
        "minutes": minutes,
        "seeds": seeds,
        "halving": halving,
    }
    # Looked at before anything is made, and again when nobody else can change it.
    _state(folder, identity)
    with locked(folder) as killed:
        if killed:
            show.note(f"Note: {killed} trained here before, and was killed.")
        state = _state(folder, identity)
        call = CandidateRun(recipe, Splits(examples, dev), folder / "runs")
        if not state:
            if minutes is not None and halving:
                # Before the first epoch, which may take longer than the whole budget.
                each = _least_seconds(call)
                affordable(len(known), recipe.epochs, seeds, seconds=60 * minutes * count, each=each)
            show.note("The default recipe's first epoch says how long the others may take.")
            state = _planned(call, known, identity, count, show)
            write_json(folder / _STATE, state)
        measure = Measure(**state["measure"])
        path, rounds, left = folder / "runs.jsonl", [], list(known)

        def run(rung: Rung, keep: Sequence[str]) -> tuple[Study, list[Run]]:
            show.note(
                f"{counted(len(left), 'candidate')}: {counted(rung.epochs, 'epoch')}, {counted(rung.seeds, 'seed')}."
            )
            study = _study(call, {each: known[each] for each in left}, rung, measure, keep=keep)
            runs = run_study(study, path, seeds=rung.seeds, processes=count, progress=progress)
            if all(each.diverged for each in runs):
                raise _all_diverged(len(left), runs[0].diverged)
            return study, runs

        for rung, after in pairwise(Rung(**each) for each in state["rungs"]):
            scores = _means(run(rung, ())[1], measure)
            others = sorted((each for each in left if each != _DEFAULT), key=lambda each: _key(measure, scores[each]))
            sound = [each for each in others if scores[each] is not None]
            # The last round compares the default with something, even if all else diverged.
            kept = {_DEFAULT, *(sound or others[:1])[: after.candidates - 1]}
            rounds.append((rung, scores, kept))
            left = [each for each in left if each in kept]
        if minutes is not None and not state["fitted"]:
            state = _fitted(state, read_runs(path), 60 * minutes * count)
            write_json(folder / _STATE, state)
        study, runs = run(Rung(**state["rungs"][-1]), list(known))
        scores = _means(runs, measure)
        lost = Counter(each.variant for each in runs if each.diverged)
        winner = min(left, key=lambda each: (lost[each], _key(measure, scores[each]), each != _DEFAULT))
        own = (each for each in runs if each.variant == winner)
        seed = min(own, key=lambda each: _key(measure, each.value(measure.name)))
        folders = {
            (each.variant, each.seed): None if each.diverged else call.folder / each.setting["keep"] / str(each.seed)
            for each in runs
        }
        judged = {"dev": dev}
        # A small table may have no examples for test.
        if test is not None and (test := as_list("test", test, "(source, target) pairs")):
            judged["test"] = test
            compared = {each: path for each, path in folders.items() if each[0] in (winner, _DEFAULT)}
            state = _tested(folder, state, test, compared, show)
        model = load(call.folder / seed.setting["keep"] / str(seed.seed))
        state = _with_baseline(folder, state, model, examples, judged, show)
        tested, said = state.get("test", {}), (*notes, *describe_replaced(recipe, known.values()))
        if why := state["baseline"].get("error"):
            said = (*said, f"No baseline stands beside the recipes: {why}")
        single = not any(isinstance(target, list | tuple) for _, target in as_pairs(dev))
        decided = Decided(study, runs, rounds, winner, tested, state["baseline"], len(dev) if single else None)
        page, short = (comparison_page(decided, name, said, all_runs=all_runs) for all_runs in (True, False))
        model.save(folder / "model")
        best = changed(recipe, known[winner])
        write_json(folder / "recipe.json", best.to_json())
        write_text(folder / "report.html", as_html(page))
        return Compared(winner, best, folder / "model", short, tested)


def _state(folder: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of the comparison in a folder; empty if none began there."""
    path = folder / _STATE
    if not path.exists():
        if folder.exists() and (not folder.is_dir() or {each.name for each in folder.iterdir()} - {LOCK}):
            raise ArgumentError(
                f"`out` must be a new or empty folder, or one of a comparison, but {folder} is neither."
            )
        above = next(each for each in (folder, *folder.absolute().parents) if each.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            wrong = "can't be written to" if above.is_dir() else "is no folder"
            raise ArgumentError(f"`out` must be a folder that can be made, but of {folder} {above} {wrong}.")
        return {}
    try:
        state = json.loads(read_regular(path, _MOST_BYTES))
        began = dict(state["identity"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError("it isn't what regard compare wrote. Name another folder", path=path) from error
    if differing := [key for key in identity if began.get(key) != json.loads(json.dumps(identity[key]))]:
        raise ArgumentError(
            f"`out` must be a new folder, or continue a comparison with the same {', '.join(differing)}, but {folder} "
            "began with another. Repeat its command, or name another folder."
        )
    return state


def _planned(
    call: CandidateRun,
    known: Mapping[str, dict[str, Any]],
    identity: Mapping[str, Any],
    processes: int,
    show: Progress,
) -> dict[str, Any]:
    """Plan the rounds, after one epoch of the default recipe, or of the first candidate that doesn't diverge in it."""
    count, epochs, seeds, minutes = len(known), call.recipe.epochs, identity["seeds"], identity["minutes"]
    measure, each = _timed(call, known, show)
    if not identity["halving"]:
        rungs = [Rung(count, epochs, seeds)]
    elif minutes is None:
        rungs = plan_rungs(count, epochs, seeds)
    else:
        rungs = affordable(count, epochs, seeds, seconds=max(0.0, 60 * minutes - each) * processes, each=each)
    return {
        "identity": dict(identity),
        "measure": dataclasses.asdict(measure),
        "rungs": [dataclasses.asdict(rung) for rung in rungs],
        "fitted": False,
    }


def _least_seconds(call: CandidateRun) -> float:
    """What an epoch takes at least, in seconds, by what a few more examples add to one; 0 if that isn't known."""
    few, more = _FEW
    if len(call.splits.train) < 4 * more:
        return 0.0
    taken = []
    for number in (few, few, more):
        splits = dataclasses.replace(call.splits, train=call.splits.train[:number], dev=call.splits.train[:few])
        start = time.perf_counter()
        try:
            Experiment(dataclasses.replace(call.recipe, epochs=1), splits).run(baseline=False, progress="none")
        except RegardError:
            return 0.0
        taken.append(time.perf_counter() - start)
    # The first includes what is done once. Of the rest half is sure.
    return max(0.0, taken[2] - taken[1]) / (more - few) * len(call.splits.train) / 2


def _timed(call: CandidateRun, known: Mapping[str, dict[str, Any]], show: Progress) -> tuple[Measure, float]:
    """The measure of dev, and the seconds of one epoch."""
    why = ""
    for name, changes in known.items():
        start = time.perf_counter()
        try:
            recipe = dataclasses.replace(changed(call.recipe, changes), epochs=1)
            trained = Experiment(recipe, call.splits).run(baseline=False, progress="none")
        except DivergedError as error:
            why = why or error.reason
            show.note(f"{name} diverged: {error.reason}.")
            continue
        return trained.model.measure, time.perf_counter() - start
    raise _all_diverged(len(known), why)


def _all_diverged(count: int, why: str) -> ArgumentError:
    return ArgumentError(
        f"`vary` must give a candidate that can be trained, but all {count} diverged; of the first, {why}. Give "
        "the recipe a smaller learning_rate."
    )


def _fitted(state: dict[str, Any], runs: Sequence[Run], seconds: float) -> dict[str, Any]:
    """Fit the last round into what is left of the budget, by what the runs before it took."""
    last = Rung(**state["rungs"][-1])
    # A run that diverged ended early.
    if whole := [run for run in runs if not run.diverged]:
        each = statistics.fmean(run.seconds / run.setting["epochs"] for run in whole)
        left = seconds - sum(run.seconds for run in runs)
        fewer = min(last.epochs, max(1, int(left / (each * last.candidates * last.seeds))))
        last = dataclasses.replace(last, epochs=fewer)
    return {**state, "rungs": [*state["rungs"][:-1], dataclasses.asdict(last)], "fitted": True}


def _tested(
    folder: Path,
    state: dict[str, Any],
    test: Iterable[Any],
    models: Mapping[tuple[str, int], Path | None],
    show: Progress,
) -> dict[str, Any]:
    """Evaluate the models on test, by candidate and seed, unless that is done; a seed without a model has None."""
    examples = as_list("test", test, "(source, target) pairs")
    digest = digest_pairs(as_pairs(examples, argument="test"))
    if "test" not in state:
        show.note("All is decided on dev. Test is read, once.")
        scores: dict[str, list[float | None]] = {}
        for (name, _), path in models.items():
            score = None if path is None else load(path).evaluate(examples).score
            scores.setdefault(name, []).append(score)
        state = {**state, "test": scores, "test_data": digest}
        write_json(folder / _STATE, state)
    elif state["test_data"] != digest:
        raise ArgumentError(
            f"`test` must be the examples that were read when {folder} was decided, but holds others. Name another "
            "folder."
        )
    return state


def _with_baseline(
    folder: Path,
    state: dict[str, Any],
    model: Any,
    examples: Sequence[Any],
    judged: Mapping[str, Sequence[Any]],
    show: Progress,
) -> dict[str, Any]:
    """Fit the simple baseline to the examples and evaluate it, unless that is done; an error becomes a sentence."""
    if judged.keys() <= state.get("baseline", {}).get("scores", {}).keys():
        return state
    try:
        fitted = fit_baseline(model, examples, judged, note=show.note)
        found = {} if fitted is None else fitted.to_json()
    except Exception as error:
        # What took hours to compare isn't lost by what stands beside it.
        found = {"error": str(error) if isinstance(error, RegardError) else f"{type(error).__name__}: {error}"}
    state = {**state, "baseline": found}
    write_json(folder / _STATE, state)
    return state


def _study(
    call: CandidateRun, left: Mapping[str, dict[str, Any]], rung: Rung, measure: Measure, *, keep: Sequence[str]
) -> Study:
    """One round as a study, whose claims compare each candidate with the default; those in `keep` keep their models."""
    # The folders are numbered, since a name may hold what a folder's can't.
    variants = {
        name: {"changes": changes, "epochs": rung.epochs, "keep": str(keep.index(name)) if keep else ""}
        for name, changes in left.items()
    }
    claims = tuple(Claim(each, _DEFAULT, text=f"Is {each} better than the default?") for each in left if left[each])
    shown = (measure, Measure("parameters", falls=True, digits=0))
    seeds = max(2, rung.seeds)
    return Study("compare", "Which recipe is best?", call, variants, claims, shown, seeds=seeds, may_diverge=True)


def _means(runs: Sequence[Run], measure: Measure) -> dict[str, float | None]:
    """The mean score of each candidate over the seeds; None if it diverged with all of them."""
    by_name: dict[str, list[float]] = {run.variant: [] for run in runs}
    for run in runs:
        if (score := run.value(measure.name)) is not None:
            by_name[run.variant].append(score)
    return {name: statistics.fmean(values) if values else None for name, values in by_name.items()}


def _key(measure: Measure, score: float | None) -> float:
    """Sorts the best first, and what has no score last."""
    if score is None:
        return math.inf
    return score if measure.falls else -score
