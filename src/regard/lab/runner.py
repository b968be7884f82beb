"""Run a study: seed by seed, in as many processes as there are cores, and never the same run twice."""

import dataclasses
import inspect
import multiprocessing
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.errors import ArgumentError, DivergedError, RegardError
from regard.lab.measurement import cores, machine_with_gpu, measured, today, versions
from regard.lab.results import Run, append_run, as_measures, current_runs, read_runs
from regard.lab.study import Planned, Study
from regard.progress import Progress, choose_progress, clock

__all__ = ["run_study"]


def run_study(
    study: Study,
    path: str | Path | None = None,
    *,
    seeds: int | None = None,
    full: bool = False,
    processes: int | None = None,
    progress: str = "auto",
) -> list[Run]:
    """Run what a study asks for, unless it is done already.

    Args:
        study: the study.
        path: the file of results. Runs that it holds aren't repeated, and each further one is appended as soon as it is
            done: a killed study is resumed by the same call. None: nothing is read or written.
        seeds: the number of seeds, instead of the study's.
        full: run the full size.
        processes: the number of runs at a time, each in a process of one thread. None: one for each core, but one in
            all if the runs are timed. 1: in this process.
        progress: "bar", "lines", "none" or "auto", as in `regard.train`.

    Returns:
        the runs, in the order in which they were planned.

    Raises:
        ArgumentError: an invalid number of seeds or processes, or a function that another process can't import.
        DataError: the file holds something else than runs.
        DivergedError: the training of a run diverged, and the study doesn't allow for that; the others are in the file.
        RegardError: a run failed; the others are in the file.

    Example:
        >>> from regard.lab import Claim
        >>> def run(setting, seed):
        ...     return {"accuracy": setting["bias"] + 0.01 * seed}
        >>> study = Study("coins", "?", run, {"a": {"bias": 0.5}, "b": {"bias": 0.75}}, (Claim("b", "a"),), seeds=2)
        >>> runs = run_study(study, processes=1, progress="none")
        >>> [(each.variant, each.seed, each.value("accuracy")) for each in runs]
        [('a', 0, 0.5), ('b', 0, 0.75), ('a', 1, 0.51), ('b', 1, 0.76)]
    """
    for name, value, least, most in (("seeds", seeds, 1, 10_000), ("processes", processes, 1, 1024)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most):
            raise ArgumentError(f"`{name}` must be a whole number from {least} to {most:,}, but is {value!r:.60}.")
    show = _RunProgress(choose_progress(progress))
    planned = study.planned(seeds=seeds, full=full)
    runs = [] if path is None else read_runs(path)
    done = {run.key for run in current_runs(study, runs, planned)}
    left = [each for each in planned if each.key not in done]
    if done:
        show.note(f"{len(done)} of {len(planned)} runs are in {path} already.")
    if left:
        count = min(len(left), processes if processes is not None else 1 if study.alone else cores())
        with show.running(len(left), count):
            for run in _run_all(study, left, count):
                if path is not None:
                    append_run(path, run)
                runs.append(run)
                show.done(run)
    return current_runs(study, runs, planned)


class _RunProgress:
    """Shows which runs of a study are done.

    Args:
        shown: how it is shown.
    """

    def __init__(self, shown: Progress):
        self._shown = shown

    def note(self, text: str) -> None:
        """Tell the user something, in a sentence."""
        self._shown.note(text)

    @contextmanager
    def running(self, count: int, processes: int) -> Iterator[None]:
        """`count` runs are to be done, so many at a time."""
        self._count, self._done = count, 0
        self.note(f"{count} runs, {processes} at a time.")
        self._shown.start(count, "runs", counts=True)
        try:
            yield
        finally:
            self._shown.stop()

    def done(self, run: Run) -> None:
        """A run is done."""
        self._done += 1
        # The variants take turns, so the mean of those that are done is a fair guess.
        left = clock(self._shown.left(self._done))
        self.note(f"{self._done}/{self._count}  {_described(run)}  left {left}")
        self._shown.move(self._done)


def _described(run: Run) -> str:
    if run.diverged:
        return f"{run.variant}, seed {run.seed}: diverged, {run.diverged}  {clock(run.seconds)}"
    measures = (f"{name} {value:.4g}" for name, value in run.measures.items() if isinstance(value, float))
    return f"{run.variant}, seed {run.seed}: {', '.join([*measures][:3])}  {clock(run.seconds)}"


def _run_all(study: Study, left: Sequence[Planned], processes: int) -> Iterator[Run]:
    """The runs in the order in which they end."""
    if processes == 1:
        for each in left:
            yield _run(study, each, study.code)
        return
    _check_importable(study)
    waiting = list(reversed(left))
    with _pool(processes, study) as pool:
        running: dict[Future[Run], Planned] = {}
        failed: RegardError | None = None
        while running or (waiting and failed is None):
            # No more than there are processes, so that Ctrl-C leaves nothing that is still to be run.
            while waiting and len(running) < processes and failed is None:
                each = waiting.pop()
                running[pool.submit(_run_in_worker, each, study.code)] = each
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                each = running.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool as error:
                    raise RegardError(
                        f"a process that ran {_named(study, each)} ended early, perhaps for want of memory. Repeat the "
                        "command, with --processes 1 if memory is short: what is done isn't run again."
                    ) from error
                except RegardError as error:
                    # The runs beside it end as well, and are kept.
                    failed = failed or error
    if failed is not None:
        raise failed


def _run_in_worker(planned: Planned, code: str) -> Run:
    return _run(_of_worker["study"], planned, code)


def _run(study: Study, planned: Planned, code: str) -> Run:
    diverged = ""

    def run() -> Mapping[str, Any]:
        nonlocal diverged
        try:
            return study.run(dict(planned.setting), planned.seed)
        except DivergedError as error:
            if not study.may_diverge:
                raise
            diverged = error.reason
            return {}

    try:
        found = measured(run)
    except DivergedError as error:
        raise DivergedError(
            f"{_named(study, planned)} diverged: {error.reason}",
            "The runs that are done are kept. Give it a smaller learning rate, or leave its variant out.",
        ) from error
    except RegardError:
        raise
    except Exception as error:
        raise RegardError(
            f"{_named(study, planned)} failed: {type(error).__name__}: {error}. Repeat it alone, with --debug, to see "
            "where."
        ) from error
    return Run(
        planned.variant,
        planned.seed,
        planned.setting,
        as_measures(found.value),
        round(found.seconds, 3),
        None if found.memory is None else round(found.memory, 1),
        code,
        versions(),
        machine_with_gpu(),
        today(),
        diverged,
    )


def _named(study: Study, planned: Planned) -> str:
    return f"the run {planned.variant!r} of the study {study.name!r} with seed {planned.seed}"


def _check_importable(study: Study) -> None:
    if not inspect.isfunction(study.run):
        return  # an object, which is pickled
    module = sys.modules.get(study.run.__module__)
    if study.run.__module__ == "__main__" or getattr(module, study.run.__name__, None) is not study.run:
        raise ArgumentError(
            f"`run` of the study {study.name!r} must be a function of a module, to be run in several processes, but is "
            f"{study.run!r:.80}. Put it into a file and import it, or use processes=1."
        )


@contextmanager
def _pool(processes: int, study: Study) -> Iterator[ProcessPoolExecutor]:
    # Not forked: PyTorch's threads don't survive that.
    # Without the example, which workers don't make, and which may be a function that can't be sent.
    sent = dataclasses.replace(study, example=None)
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _start_worker, (sent,))
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


_of_worker: dict[str, Study] = {}
"""The study of a worker, which is sent to it once: it may hold all examples."""


def _start_worker(study: Study) -> None:
    """Prepare a process: one thread, and an end when the process that started it ends, however that happens."""
    import torch

    torch.set_num_threads(1)
    _of_worker["study"] = study
    parent: Any = multiprocessing.parent_process()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
