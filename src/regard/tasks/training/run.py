"""The folder of a training run: its identity, checkpoints and log, and whether it may be resumed.

run.json            recipe, digest of the data, threads, devices, ..., versions: the identity of the run
log.jsonl           a line of JSON for each epoch
checkpoints/last/   the whole state after the last epoch
checkpoints/best/   the weights that did best on the dev examples
model/              the finished model
run.lock            the process that trains here, while it runs
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.errors import ArgumentError, ModelError
from regard.files import read_regular, write_json, write_text
from regard.tasks.recipe import Recipe
from regard.tasks.saving import store
from regard.tasks.saving.folders import clean_up, find_folder
from regard.tasks.training import checkpoints
from regard.tasks.training.lock import LOCK, locked

__all__ = ["RunFolder"]

_RUN = "run.json"
_MOST_BYTES = 1 << 24  # the largest run.json; it has a recipe and digests


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

    @contextmanager
    def locked(self, *, resume: bool) -> Iterator[str]:
        """Keep other processes from training in this folder while the block runs; see `lock.locked`.

        Args:
            resume: as in `check`.

        Raises:
            ArgumentError: another process trains here, or as in `check`.
        """
        # Checked before the lock is written, because the folder may be somebody else's.
        self._check_place(resume=resume)
        with locked(self.folder) as killed_process:
            yield killed_process

    def check(self, identity: Mapping[str, Any], *, resume: bool) -> dict[str, Any]:
        """Check that a new run can begin in this folder, or that the run in it can be resumed.

        Args:
            identity: everything that determines the result; "recipe" and "data" must be the same when a run is resumed.
            resume: resume the run in this folder.

        Returns:
            the identity of the run; if it is resumed, the one that it began with.

        Raises:
            ArgumentError: the folder isn't empty; or there is no run to resume, or it has another recipe or other data.
            ModelError: run.json is broken.
        """
        self.identity = dict(identity)
        for file in self._partial_files():
            file.unlink()
        self._check_place(resume=resume)
        if not resume:
            return self.identity
        for folder, files in (
            (self.last, checkpoints.FILES),
            (self.best, checkpoints.FILES),
            (self.model, store.FILES),
        ):
            if folder.parent.is_dir():
                clean_up(folder, files)
        identity_before = self._read_identity()
        # As a recipe, so that settings that didn't exist when the run began have their defaults.
        recipe = self.recipe()
        differences = _changed_entries("recipe", recipe and recipe.to_json(), identity["recipe"])
        differences += _changed_data(identity_before.get("data"), identity["data"])
        if differences:
            raise ArgumentError(
                f"`resume` must go on with the same recipe and data, but this has changed since {self.folder} began: "
                f"{'; '.join(differences)}. Restore that, or start a new run in another folder."
            )
        return identity_before

    def _check_place(self, *, resume: bool) -> None:
        if "\0" in str(self.folder):
            raise ArgumentError(f"`out` must be a folder, but {str(self.folder)!r:.60} has a zero byte. Name another.")
        if resume:
            if not self.begun():
                raise ArgumentError(
                    f"`resume` needs a run to go on with, but {self.folder} holds none. Leave it out to start one."
                )
        elif self.folder.exists() and (
            not self.folder.is_dir() or {*self.folder.iterdir()} - {self.folder / LOCK, *self._partial_files()}
        ):
            has_run = (self.folder / _RUN).exists()
            held = "a run" if has_run else "something else"
            step = "Go on with it by `resume` (--resume), or name" if has_run else "Name"
            raise ArgumentError(f"`out` must be a new or empty folder, but {self.folder} holds {held}. {step} another.")

    def _partial_files(self) -> list[Path]:
        """Partial files left by killed processes; nothing else writes files with such names."""
        return [file for name in (_RUN, self.log.name) for file in self.folder.glob(f".{name}.*.part")]

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
            return Recipe.from_json(self._read_identity().get("recipe", {}))
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

    def read_log(self) -> list[dict[str, Any]]:
        """The rows of the log.

        Raises:
            ModelError: the log is missing or broken.
        """
        try:
            return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]
        except (OSError, ValueError, RecursionError) as error:
            raise ModelError(f"{self.log} can't be read: {error}. Train it anew, in another folder.") from error

    def _read_identity(self) -> dict[str, Any]:
        path = self.folder / _RUN
        try:
            identity = json.loads(read_regular(path, _MOST_BYTES))
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{path} isn't JSON: {error}. Start a new run in another folder.") from error
        if not isinstance(identity, dict):
            raise ModelError(f"{path} must hold a JSON object, but holds {identity!r:.60}. Start a new run.")
        return identity


def _changed_data(before: Any, now: Mapping[str, str]) -> list[str]:
    """Name the data that changed; the digests themselves would tell a reader nothing."""
    known_digests = before if isinstance(before, dict) else {}
    texts = {"examples": "the training examples are not those", "dev": "the dev examples are not those"}
    texts["base"] = "the weights of the base are not those"
    texts |= {key: f"the file {key.partition('/')[2]!r} of the vectors is not the one" for key in now if "/" in key}
    return [
        f"{texts.get(key, f'the auxiliary labels {key!r} are not those')} it began with"
        for key in {**known_digests, **now}
        if known_digests.get(key) != now.get(key)
    ]


def _changed_entries(name: str, before: Any, now: Any) -> list[str]:
    """Describe the entries that changed."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        return [] if before == now else [f"{name} was {before!r:.60}, is {now!r:.60}"]
    changes: list[str] = []
    for key in {**before, **now}:
        if isinstance(before.get(key), dict) and isinstance(now.get(key), dict):
            changes += _changed_entries(f"{name} `{key}`", before[key], now[key])
        elif before.get(key) != now.get(key):
            changes.append(f"{name} `{key}` was {before.get(key)!r:.60}, is {now.get(key)!r:.60}")
    return changes
