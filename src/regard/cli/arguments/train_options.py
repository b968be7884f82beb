"""The options of `regard train`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from regard.cli.arguments.options import (
    MOST_PROCESSES,
    ColumnOption,
    LabelNamesOption,
    PlainOption,
    SkipBrokenOption,
    SkipForceOption,
)

__all__ = ["Precision", "Shown", "TrainOptions"]


class Precision(StrEnum):
    """The precision of float32 matrix products, as in `torch.set_float32_matmul_precision`."""

    highest = "highest"
    high = "high"
    medium = "medium"


class Shown(StrEnum):
    """How the progress of training is shown."""

    auto = "auto"
    bar = "bar"
    lines = "lines"
    none = "none"


class TrainOptions(NamedTuple):
    """The options of `regard train`, which all kinds of tasks share."""

    data: Annotated[str, typer.Option(metavar="NAME|PATH", help="A data set's name, a file, or a folder.")]
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder, for checkpoints, log and model.")]
    recipe: Annotated[
        str | None,
        typer.Option(metavar="FILE|NAME", help="A JSON file, or the name of a recipe  [default: by data set]"),
    ] = None
    input: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="How to read the sources, if there is a choice  [default: by data]"),
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False
    final: Annotated[bool, typer.Option("--final", help="Also evaluate on test: once, when all choices are made.")] = (
        False
    )
    seed: Annotated[int | None, typer.Option(metavar="N", help="A seed  [default: the recipe's]")] = None
    label: Annotated[str | None, typer.Option(help="What to predict, if there is a choice  [default: by data set]")] = (
        None
    )
    column: ColumnOption = None
    renamed: LabelNamesOption = None
    skip_broken: SkipBrokenOption = None
    force: SkipForceOption = False
    device: Annotated[str, typer.Option(help="cpu, gpu, or auto: a GPU if there is one.")] = "auto"
    threads: Annotated[int, typer.Option(metavar="N", min=1, max=MOST_PROCESSES, help="Number of CPU threads.")] = 1
    devices: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            max=MOST_PROCESSES,
            help="Number of CPU processes that share each batch. On several machines torchrun starts them.",
        ),
    ] = 1
    matmul: Annotated[
        Precision | None,
        typer.Option(help="Precision of float32 matrix products: high and medium may be faster."),
    ] = None
    progress: Annotated[Shown, typer.Option(help="How to show progress.")] = Shown.auto
    plain: PlainOption = False
