"""The options that `regard compare` and `regard replace` share."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from regard.cli.arguments.options import (
    MOST_PROCESSES,
    ChartForceOption,
    ChartOption,
    ColourOption,
    Format,
    FormatOption,
    PlainOption,
    WidthOption,
)
from regard.cli.arguments.train_options import Shown

__all__ = ["ComparisonOptions", "ResultsOption"]

ResultsOption = Annotated[Path, typer.Option(metavar="DIR", help="The folder of the results.")]


class ComparisonOptions(NamedTuple):
    """The options that don't depend on what is compared, after those that do."""

    processes: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=MOST_PROCESSES, help="Runs at a time  [default: one for each core]"),
    ] = None
    progress: Annotated[Shown, typer.Option(help="How to show progress.")] = Shown.auto
    figure: ChartOption = None
    force: ChartForceOption = False
    format: FormatOption = Format.text
    plain: PlainOption = False
    width: WidthOption = None
    colour: ColourOption = None
