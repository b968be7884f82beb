"""The folder of a training run: its identity, checkpoints and log, and whether it may be resumed.

run.json            recipe, digest of the data, threads, devices, matmul, versions: the identity of the run
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
from regard.files import read_regular, write_json, write_text
from regard.tasks import store
from regard.tasks.folders import clean_up, find_folder
from regard.tasks.recipe import Recipe
from regard.tasks.training import checkpoints

__all__ = ["RunFolder"]

_RUN = "run.json"
_MOST_BYTES = 1 << 24  # of run.json, which has a recipe and digests


class RunFolder:
    """One run's folder.

    Args:
        folder: the path of the folder; see `check`.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.last = self.folder / "checkpoints" / "last"
        self.best = self.folder / "checkpoints" / "best"
        self.model = self.folder / "model"
        self.log = self.folder / "log.jsonl"
        self.identity: dict[str, Any] = {}

    def check(self, identity: Mapping[str, Any], *, resume: bool) -> dict[str, Any]:
        """Check that a new run can begin in this folder, or that the run in it can be resumed.

        Args:
            identity: everything that determines the result; "recipe" and "data" must be the same when a run is resumed.
            resume: resume the run in this folder.

        Returns:
            the identity of the run; if it is resumed, the one that it began with.

        Raises:
            ArgumentError: the folder isn't empty or can't be created; or there is no run to resume, or it has another
                recipe or other data.
            ModelError: run.json is broken.
        """
        self.identity = dict(identity)
        # Partial files left by killed processes; nothing else writes files with such names.
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
        # Settings that didn't exist when the run began have their defaults.
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
        """Write the identity of the run, unless it is a resumed one. From now on the folder is in use."""
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
        """Whether there is a checkpoint; a run that was killed in its first epoch has none."""
        return find_folder(self.last, checkpoints.FILES).is_dir()

    def finished(self) -> bool:
        """Whether the finished model is there."""
        return find_folder(self.model, store.FILES).is_dir()

    def write_log(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Rewrite the whole log, so that a resumed run has each epoch once."""
        write_text(self.log, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))

    def _read(self) -> dict[str, Any]:
        path = self.folder / _RUN
        try:
            begun = json.loads(read_regular(path, _MOST_BYTES))
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{path} isn't JSON: {error}. Start a new run in another folder.") from error
        if not isinstance(begun, dict):
            raise ModelError(f"{path} must hold a JSON object, but holds {begun!r:.60}. Start a new run.")
        return begun


def _check_can_be_made(folder: Path) -> None:
    """Check that the folder can be created, before hours of training; leave nothing behind."""
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
    """Name the data that changed; the digests themselves would tell a reader nothing."""
    known = before if isinstance(before, dict) else {}
    texts = {"examples": "the training examples", "dev": "the dev examples"}
    return [
        f"{texts.get(key, f'the auxiliary labels {key!r}')} are not those it began with"
        for key in {**known, **now}
        if known.get(key) != now.get(key)
    ]


def _differ(name: str, before: Any, now: Any) -> list[str]:
    """Describe the entries that changed."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        return [] if before == now else [f"{name} was {before!r:.60}, is {now!r:.60}"]
    found: list[str] = []
    for key in {**before, **now}:
        if isinstance(before.get(key), dict) and isinstance(now.get(key), dict):
            found += _differ(f"{name} `{key}`", before[key], now[key])
        elif before.get(key) != now.get(key):
            found.append(f"{name} `{key}` was {before.get(key)!r:.60}, is {now.get(key)!r:.60}")
    return found
