"""The options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

__all__ = [
    "MOST_EPOCHS",
    "MOST_LISTED",
    "MOST_PROCESSES",
    "MOST_SEEDS",
    "BothForceOption",
    "ColourOption",
    "ColumnOption",
    "ComparisonOptions",
    "EncodingOption",
    "FigureForceOption",
    "FigureOption",
    "FigureViewName",
    "ForceOption",
    "Format",
    "FormatOption",
    "HeadOption",
    "HeaderOption",
    "HtmlOption",
    "LabelNamesOption",
    "LayerOption",
    "ListOption",
    "MapOption",
    "PlainOption",
    "ResultsOption",
    "Script",
    "ScriptOption",
    "Shown",
    "SkipBrokenOption",
    "SkipForceOption",
    "SourcesArgument",
    "TopOption",
    "ViewOption",
    "WidthOption",
    "Written",
    "WrittenOption",
]


# More are a mistake, and would take all memory, or end the process where the system has no room for them.
MOST_EPOCHS = 1_000_000
MOST_LISTED = 1_000_000
MOST_PROCESSES = 1024
MOST_SEEDS = 10_000


class Format(StrEnum):
    """The format of the result."""

    text = "text"
    json = "json"


class Written(StrEnum):
    """The format of predictions."""

    text = "text"
    json = "json"
    csv = "csv"


class FigureViewName(StrEnum):
    """The views of a figure: the names of `regard.inspection.FIGURE_VIEWS`, which would bring torch."""

    arcs = "arcs"
    map = "map"
    heads = "heads"
    compared = "compared"


class Shown(StrEnum):
    """How the progress of training is shown."""

    auto = "auto"
    bar = "bar"
    lines = "lines"
    none = "none"


class Script(StrEnum):
    """The script of Chinese characters."""

    simplified = "simplified"
    traditional = "traditional"


FormatOption = Annotated[Format, typer.Option(help="The format of the output.")]
PlainOption = Annotated[bool, typer.Option("--plain", help="Plain sentences, for a screen reader.")]
WidthOption = Annotated[
    int | None, typer.Option(metavar="N", help="Width in columns, 32 or more  [default: the terminal's]")
]
ColourOption = Annotated[bool | None, typer.Option("--color/--no-color", help="Always use colours, or never.")]

ScriptOption = Annotated[
    Script | None,
    typer.Option(help="Convert Chinese to this script first; the output shows the converted text."),
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(metavar="USUAL=NAME", help="A column of your own table with another name: text=review; repeatable."),
]
HeaderOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAME,...",
        help="Names for all columns of a table whose first line is data, in order: text,label. Without a name, as in "
        "text,,label, a column isn't read.",
    ),
]
EncodingOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The encoding of a file of your own: gb18030, windows-1250  [default: by its content]"
    ),
]

LabelNamesOption = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="OLD=NEW,...",
        help="Rename labels when the data are read: 0=negative,1=positive. Labels with the same new name are merged; "
        "others are kept.",
    ),
]

SkipBrokenOption = Annotated[
    str | None,
    typer.Option(
        "--skip-broken",
        metavar="FILE",
        help="Skip broken lines of your own file, and list them in FILE as JSON Lines, with their numbers and the "
        "reasons.",
    ),
]
SkipForceOption = Annotated[
    bool, typer.Option("--force", help="Let --skip-broken overwrite a file that isn't such a list.")
]

SourcesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[SOURCE]...", help="Texts, or names of files or folders; - for standard input."),
]
ListOption = Annotated[
    str | None,
    typer.Option(
        "--file", "-f", metavar="FILE", help="A file, one source on a line, or a table; blank lines are skipped."
    ),
]
TopOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        max=MOST_LISTED,
        help="List the N items with the most attention  [default: 3 with --map]",
    ),
]
MapOption = Annotated[bool, typer.Option("--map", help="Show all weights as a heat map.")]
LayerOption = Annotated[int | None, typer.Option(metavar="N", help="Show this layer too  [default: the last]")]
HeadOption = Annotated[int | None, typer.Option(metavar="N", help="Show this head  [default: their average]")]
HtmlOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write an offline page of the attention, for up to 50 sources.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Let --html overwrite a file that regard didn't write.")]
FigureOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write a figure for a paper, which ends in .png, .svg or .pdf.")
]
ChartOption = Annotated[
    str | None,
    typer.Option("--figure", metavar="FILE", help="Also draw the first chart: FILE ends in .png, .svg or .pdf."),
]
ChartForceOption = Annotated[
    bool, typer.Option("--force", help="Let --figure overwrite a file that regard didn't write.")
]
ViewOption = Annotated[
    FigureViewName | None,
    typer.Option(
        metavar="VIEW",
        help="What --figure draws: arcs (on the input), map, heads or compared (attended beside mattered)  "
        "[default: arcs]",
    ),
]
FigureForceOption = Annotated[
    bool, typer.Option("--force", help="Let --html and --figure overwrite a file that regard didn't write.")
]
BothForceOption = Annotated[
    bool,
    typer.Option("--force", help="Let --html, --figure and --skip-broken overwrite a file that regard didn't write."),
]
WrittenOption = Annotated[
    Written, typer.Option(help="The format of the output; json and csv have a line for each source.")
]
ResultsOption = Annotated[Path, typer.Option(metavar="DIR", help="The folder of the results.")]


class ComparisonOptions(NamedTuple):
    """The options of `regard compare` and `regard replace` that don't depend on what is compared."""

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
