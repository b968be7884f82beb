"""The folder of a training run: what it is of, its checkpoints, its log; and what may be resumed.

run.json            recipe, digest of the data, threads, versions: what makes the run this run
log.jsonl           a line of JSON for each epoch
checkpoints/last/   the whole state after the last epoch
checkpoints/best/   the weights that tagged the dev sentences best
model/              the finished model
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.errors import ArgumentError, ModelError
from regard.files import write_json, write_text
from regard.tasks.folders import settle, sweep
from regard.tasks.recipe import Recipe

__all__ = ["RunFolder"]

_RUN = "run.json"


class RunFolder:
    """One run's folder.

    Args:
        folder: where; see `begin`.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.last = self.folder / "checkpoints" / "last"
        self.best = self.folder / "checkpoints" / "best"
        self.model = self.folder / "model"
        self.log = self.folder / "log.jsonl"

    def begin(self, identity: Mapping[str, Any], *, resume: bool) -> dict[str, Any]:
        """Start a new run here, or make sure that the run here is the one to go on with.

        Args:
            identity: what decides the result; "recipe" and "data" must be the same when a run is resumed.
            resume: go on with the run that is here.

        Returns:
            the identity of the run: the one given, or, resumed, the one that it began with.

        Raises:
            ArgumentError: there is something here already, or nothing to resume, or another recipe or other data.
            ModelError: run.json is broken.
        """
        if not resume:
            if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
                held = "a run" if (self.folder / _RUN).exists() else "something else"
                step = "Go on with it by `resume` (--resume), or name" if held == "a run" else "Name"
                raise ArgumentError(
                    f"`out` must be a new or empty folder, but {self.folder} holds {held}. {step} another."
                )
            write_json(self.folder / _RUN, identity)
            return dict(identity)
        if not (self.folder / _RUN).is_file():
            raise ArgumentError(
                f"`resume` needs a run to go on with, but {self.folder} holds none. Leave it out to start one."
            )
        for folder in (self.last, self.best, self.model):
            if folder.parent.is_dir():
                sweep(folder)
        begun = self._read()
        differences = [text for name in ("recipe", "data") for text in _differ(name, begun.get(name), identity[name])]
        if differences:
            raise ArgumentError(
                f"`resume` must go on with the same recipe and data, but since {self.folder} began: "
                f"{'; '.join(differences)}. Restore that, or start a new run in another folder."
            )
        return begun

    def recipe(self) -> Recipe | None:
        """The recipe of the run that is here; None if there is none.

        Raises:
            ModelError: run.json is broken.
        """
        if not (self.folder / _RUN).is_file():
            return None
        try:
            return Recipe.from_json(self._read().get("recipe", {}))
        except ArgumentError as error:
            raise ModelError(f"{self.folder / _RUN}: {error}") from error

    def can_continue(self) -> bool:
        """Whether a checkpoint is there: a run that was killed in its first epoch has none."""
        settle(self.last)
        return self.last.is_dir()

    def finished(self) -> bool:
        """Whether the finished model is there."""
        settle(self.model)
        return self.model.is_dir()

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


def _differ(name: str, before: Any, now: Any) -> list[str]:
    """The entries that changed, each in words."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        return [] if before == now else [f"{name} was {before!r:.60}, is {now!r:.60}"]
    return [
        f"{name} `{key}` was {before.get(key)!r:.60}, is {now.get(key)!r:.60}"
        for key in {**before, **now}
        if before.get(key) != now.get(key)
    ]
