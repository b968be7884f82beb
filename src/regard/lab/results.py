"""The results of a study: one line of JSON for each run, appended as soon as it is done."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.errors import DataError
from regard.files import open_regular, write_bytes
from regard.lab.study import MEMORY, SECONDS, Planned, Study

__all__ = ["BUNDLED", "Run", "append_run", "current_runs", "read_runs"]

BUNDLED = Path(__file__).parent / "results"
"""The results that come with the package, NAME.jsonl for each study."""


@dataclass(frozen=True)
class Run:
    """A run that is done.

    Args:
        variant, seed, setting: as in `Planned`.
        measures: the measures by name; one that was taken along several values is a mapping from them, as texts.
        seconds: the time.
        memory: the peak of memory in MiB, above what the process held before; None where the system doesn't tell.
        code: the digest of the function that ran it, `Study.code`.
        versions: the versions of Python, PyTorch and regard.
        machine: the processor and the number of its cores.
        date: the day, as YYYY-MM-DD.
        diverged: why it has no measures, if its training diverged; else "".
    """

    variant: str
    seed: int
    setting: dict[str, Any]
    measures: dict[str, Any]
    seconds: float
    memory: float | None
    code: str
    versions: dict[str, str]
    machine: str
    date: str
    diverged: str = ""

    @property
    def key(self) -> str:
        """As in `Planned`."""
        return Planned(self.variant, self.seed, self.setting).key

    def value(self, measure: str, at: float | None = None) -> float | None:
        """A measure, at a value along which it was taken within the run; None if it wasn't measured."""
        if measure in (SECONDS.name, MEMORY.name) and measure not in self.measures:
            return self.seconds if measure == SECONDS.name else self.memory
        measured = self.measures.get(measure)
        return measured.get(_written(at)) if isinstance(measured, Mapping) else measured

    def to_json(self) -> str:
        """The run as a line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"


def _written(value: float | None) -> str:
    return f"{value:g}" if value is not None else ""


def as_measures(returned: Mapping[str, Any]) -> dict[str, Any]:
    """What a study's function returned, as JSON can hold it."""
    return {
        name: {_written(at): float(number) for at, number in value.items()}
        if isinstance(value, Mapping)
        else float(value)
        for name, value in returned.items()
    }


def read_runs(path: str | Path) -> list[Run]:
    """Read results; of a file that doesn't exist, none.

    A last line without an end was being written when its process was killed: it is left out.

    Raises:
        DataError: another line isn't a run.
    """
    path = Path(path)
    try:
        with open_regular(path) as file:
            # In bytes: the unfinished line may end within a character.
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return []
    runs = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            runs.append(Run(**json.loads(line)))
        except (ValueError, TypeError, RecursionError) as error:
            written = line.decode("utf-8", "replace")
            raise DataError(
                f"a line must be a run that regard lab wrote, but is {written!r:.60}. Delete the line",
                path=path,
                line=number,
            ) from error
    return runs


def append_run(path: str | Path, run: Run) -> None:
    """Append a run to its file, which it makes if need be. A killed process leaves at most an unfinished last line.

    Raises:
        OSError: the disk is full, or the folder can't be written.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and (content := path.read_bytes()) and not content.endswith(b"\n"):
        write_bytes(path, content[: content.rfind(b"\n") + 1])
    with path.open("a", encoding="utf-8") as file:
        file.write(run.to_json())
        file.flush()
        os.fsync(file.fileno())


def current_runs(study: Study, runs: Iterable[Run], planned: Iterable[Planned]) -> list[Run]:
    """The planned runs that are there and that the study's present code made, in the planned order."""
    code = study.code  # the digest of its source: computed once, not for each run
    done = {run.key: run for run in runs if run.code == code}
    return [done[run.key] for run in planned if run.key in done]
