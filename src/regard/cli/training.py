"""What the commands that train share: the recipe, what the card says of the data, and a run that can be stopped."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.errors import UnknownNameError

if TYPE_CHECKING:
    from regard.datasets import Dataset
    from regard.tasks import Recipe

__all__ = [
    "DeviceOption",
    "OutOption",
    "ProgressOption",
    "RecipeOption",
    "ResumeOption",
    "SeedOption",
    "Shown",
    "ThreadsOption",
    "about_known",
    "named_recipe",
    "stoppable",
    "without_confusions",
]


class Shown(StrEnum):
    """How far training is, is shown as this."""

    auto = "auto"
    bar = "bar"
    lines = "lines"
    none = "none"


OutOption = Annotated[Path, typer.Option(metavar="DIR", help="A new folder, for checkpoints, log and model.")]
RecipeOption = Annotated[
    str | None,
    typer.Option(metavar="FILE|NAME", help="A JSON file, or a bundled model's name  [default: by data set]"),
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")]
SeedOption = Annotated[int | None, typer.Option(metavar="N", help="Another seed than the recipe's.")]
DeviceOption = Annotated[str, typer.Option(help="cpu, gpu, or auto: a GPU if there is one.")]
ThreadsOption = Annotated[int, typer.Option(metavar="N", help="How many threads of the CPU.")]
ProgressOption = Annotated[Shown, typer.Option(help="How to show how far it is.")]


def named_recipe(named: str | None, resumed: Path | None, usual: "Recipe") -> "Recipe":
    """The recipe of this name or in this file; else that of the run that is resumed; else the usual one.

    Raises:
        UnknownNameError: neither a name nor a file.
        ArgumentError: a file that holds no recipe.
    """
    from regard.tasks import RECIPES, Recipe
    from regard.tasks.run import RunFolder

    if named in RECIPES:
        return RECIPES[named]
    if named is not None:
        # A mistyped name isn't a file either; then both are what it could have been.
        if not Path(named).exists() and "." not in named and "/" not in named:
            error = UnknownNameError("--recipe", named, RECIPES)
            error.args = (str(error).replace("must be one", "must be a JSON file or one", 1),)
            raise error
        return Recipe.read(named)
    if resumed is not None and (begun := RunFolder(resumed).recipe()) is not None:
        return begun
    return usual


@contextmanager
def stoppable(out: Path) -> Iterator[None]:
    """Say, when a run is stopped by Ctrl-C, how to go on with it."""
    try:
        yield
    except KeyboardInterrupt:
        if (out / "run.json").exists():
            typer.echo("\nStopped. The same command with --resume goes on from the last whole epoch.", err=True)
        raise


def about_known(known: "Dataset") -> dict[str, Any]:
    """What the catalog says of a data set, for the card."""
    return {"title": known.title, "licence": known.licence, "source": known.source, "citation": known.citation}


def without_confusions(scores: Any) -> dict[str, Any]:
    """What a model's description keeps: hundreds of confusions would only make it long, and no clock ticks alike."""
    return {name: value for name, value in dataclasses.asdict(scores).items() if name not in ("confusions", "seconds")}
