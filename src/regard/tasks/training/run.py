"""The folder of a training run: what it is of, its checkpoints, its log; and what may be resumed.

run.json            recipe, digest of the data, threads, devices, matmul, versions: what makes the run this run
log.jsonl           a line of JSON for each epoch
checkpoints/last/   the whole state after the last epoch
checkpoints/best/   the weights that did best on the dev examples
model/              the finished model
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.errors import ArgumentError, ModelError
from regard.files import write_json, write_text
from regard.tasks import store
from regard.tasks.folders import clean_up, find_folder
from regard.tasks.recipe import Recipe
from regard.tasks.training import checkpoints

__all__ = ["RunFolder"]

_RUN = "run.json"


class RunFolder:
    """One run's folder.

    Args:
        folder: where; see `check`.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.last = self.folder / "checkpoints" / "last"
        self.best = self.folder / "checkpoints" / "best"
        self.model = self.folder / "model"
        self.log = self.folder / "log.jsonl"
        self.identity: dict[str, Any] = {}

    def check(self, identity: Mapping[str, Any], *, resume: bool) -> dict[str, Any]:
        """Make sure that a new run can begin here, or that the run here is the one to go on with.

        Args:
            identity: what decides the result; "recipe" and "data" must be the same when a run is resumed.
            resume: go on with the run that is here.

        Returns:
            the identity of the run: the one given, or, resumed, the one that it began with.

        Raises:
            ArgumentError: there is something here already, or none can be made; or nothing to resume, or another recipe
                or other data.
            ModelError: run.json is broken.
        """
        self.identity = dict(identity)
        # What kills left of these two files; no one else writes a file of such a name.
        for name in (_RUN, self.log.name):
            for part in self.folder.glob(f".{name}.*.part"):
                part.unlink()
        if not resume:
            if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
                held = "a run" if (self.folder / _RUN).exists() else "something else"
                step = "Go on with it by `resume` (--resume), or name" if held == "a run" else "Name"
                raise ArgumentError(
                    f"`out` must be a new or empty folder, but {self.folder} holds {held}. {step} another."
                )
            _check_can_be_made(self.folder)
            return self.identity
        if not self.begun():
            raise ArgumentError(
                f"`resume` needs a run to go on with, but {self.folder} holds none. Leave it out to start one."
            )
        for folder, files in (
            (self.last, checkpoints.FILES),
            (self.best, checkpoints.FILES),
            (self.model, store.FILES),
        ):
            if folder.parent.is_dir():
                clean_up(folder, files)
        begun = self._read()
        # A setting that there wasn't yet when it began is at what it is by default.
        recipe = self.recipe()
        differences = _differ("recipe", recipe and recipe.to_json(), identity["recipe"])
        differences += _other_data(begun.get("data"), identity["data"])
        if differences:
            raise ArgumentError(
                f"`resume` must go on with the same recipe and data, but since {self.folder} began: "
                f"{'; '.join(differences)}. Restore that, or start a new run in another folder."
            )
        return begun

    def begin(self) -> None:
        """Write down what run this is, unless it began long ago. From now on the folder is taken."""
        if not self.begun():
            write_json(self.folder / _RUN, self.identity)

    def begun(self) -> bool:
        """Whether a run began here."""
        return (self.folder / _RUN).is_file()

    def recipe(self) -> Recipe | None:
        """The recipe of the run that is here; None if there is none.

        Raises:
            ModelError: run.json is broken.
        """
        if not self.begun():
            return None
        try:
            return Recipe.from_json(self._read().get("recipe", {}))
        except ArgumentError as error:
            raise ModelError(f"{self.folder / _RUN}: {error}") from error

    def can_continue(self) -> bool:
        """Whether a checkpoint is there: a run that was killed in its first epoch has none."""
        return find_folder(self.last, checkpoints.FILES).is_dir()

    def finished(self) -> bool:
        """Whether the finished model is there."""
        return find_folder(self.model, store.FILES).is_dir()

    def write_log(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the log anew, whole, so that a resumed run has each epoch once."""
        write_text(self.log, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))

    def _read(self) -> dict[str, Any]:
        path = self.folder / _RUN
        try:
            begun = json.loads(path.read_bytes())
        except ValueError as error:
            raise ModelError(f"{path} isn't JSON: {error}. Start a new run in another folder.") from error
        if not isinstance(begun, dict):
            raise ModelError(f"{path} must hold a JSON object, but holds {begun!r:.60}. Start a new run.")
        return begun


def _check_can_be_made(folder: Path) -> None:
    """Before hours of work, and without leaving anything."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        if missing:
            missing[-1].mkdir()
            missing[-1].rmdir()
    except OSError as error:
        raise ArgumentError(
            f"`out` must be a folder that can be made, but {missing[-1]} can't be: {error.strerror}. Name another."
        ) from error


def _other_data(before: Any, now: Mapping[str, str]) -> list[str]:
    """Which data changed: digests say that they did, and would tell a person nothing."""
    known = before if isinstance(before, dict) else {}
    texts = {"examples": "the training examples", "dev": "the dev examples"}
    return [
        f"{texts.get(key, f'the auxiliary labels {key!r}')} are not those it began with"
        for key in {**known, **now}
        if known.get(key) != now.get(key)
    ]


def _differ(name: str, before: Any, now: Any) -> list[str]:
    """The entries that changed, each in words."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        return [] if before == now else [f"{name} was {before!r:.60}, is {now!r:.60}"]
    found: list[str] = []
    for key in {**before, **now}:
        if isinstance(before.get(key), dict) and isinstance(now.get(key), dict):
            found += _differ(f"{name} `{key}`", before[key], now[key])
        elif before.get(key) != now.get(key):
            found.append(f"{name} `{key}` was {before.get(key)!r:.60}, is {now.get(key)!r:.60}")
    return found
