"""`regard predict`: predictions for sources of any kind, and the attention behind them."""

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import cache
from itertools import chain, islice
from typing import Annotated, Any, NamedTuple

import typer

from regard.cli.answering.model_checks import check_list, check_readable, check_script
from regard.cli.answering.reading import STANDARD_INPUT, Line, in_script, read_sources
from regard.cli.arguments.broken_lines import BrokenLines, raise_with_option
from regard.cli.arguments.columns import column_names
from regard.cli.arguments.command import command_with
from regard.cli.arguments.options import (
    BothForceOption,
    ColourOption,
    ColumnOption,
    EncodingOption,
    FigureOption,
    HeaderOption,
    HeadOption,
    HtmlOption,
    LayerOption,
    ListOption,
    MapOption,
    PlainOption,
    ScriptOption,
    SkipBrokenOption,
    SourcesArgument,
    TopOption,
    ViewOption,
    WidthOption,
    Written,
    WrittenOption,
)
from regard.cli.arguments.trusted import load
from regard.cli.output.standard_output import outliving_reader
from regard.cli.output.written_file import check_view
from regard.cli.startup import import_torch
from regard.errors import ArgumentError

__all__ = ["Wanted", "answer_all", "predict"]

# Fewer sources are done before anybody could read a progress bar.
_WORTH_A_BAR = 20


class Wanted(NamedTuple):
    """The arguments and options that `regard predict` and its short names share."""

    sources: SourcesArgument = None
    file: ListOption = None
    column: ColumnOption = None
    header: HeaderOption = None
    encoding: EncodingOption = None
    script: ScriptOption = None
    skip_broken: SkipBrokenOption = None
    top: TopOption = None
    map: MapOption = False
    layer: LayerOption = None
    head: HeadOption = None
    html: HtmlOption = None
    figure: FigureOption = None
    view: ViewOption = None
    force: BothForceOption = False
    format: WrittenOption = Written.text
    plain: PlainOption = False
    width: WidthOption = None
    colour: ColourOption = None


_Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model's name, or its folder.")]


def _predict(model: _Model, options: Wanted) -> None:
    """Predict for each source, and show what the model attended to.

    A source is of the kind that the model was trained on: a text, the name of a file with a sound, a picture or
    vectors, a molecule as SMILES, or a folder with a social graph (profiles.csv and edges.csv), which has a prediction
    for each node. A prediction is a label with its probability, a probability for each of several labels, a number, or
    a text, for the whole source or for each item. An empty source has no prediction, or an empty line from a model that
    writes texts. -f also reads a table: a .csv, .tsv or .jsonl file with a column called text, path or smiles, or one
    that --column or --columns names. Predictions appear in the order of the sources, while the rest is still being
    read.

    --top lists the items with the most attention: that of the pooling, if the model combines all items by attention,
    else that of each item in the last layer. --layer and --head count from 1 and choose others. --map draws all
    weights, for a picture as a grid. A weight says how much the model attended to an item, which need not explain its
    prediction.

    \b
    Examples:
      regard predict sentiment/ "a warm , funny , engaging film ." "it never comes alive"
      regard predict sentiment/ "a warm , funny film" --top 5 --map
      regard predict digits/ recordings/*.wav
      regard predict digits/ seven.png --map --html seven.html
      regard predict buyers/ my-friends/ --format csv
      regard predict sentiment/ -f reviews.txt --format csv > answers.csv
      regard predict sentiment/ -f reviews.csv --column text=review --format csv > answers.csv
    """

    @cache
    def loaded() -> Any:
        return load(model)

    answer_all(lambda _: loaded(), options, "regard predict")


predict = command_with(_predict, Wanted)


def answer_all(
    model_of: Callable[[Line], Any], wanted: Wanted, command: str, way: Callable[..., Any] | None = None
) -> None:
    """Predict for every source, and show and write what the command line asked for.

    Args:
        model_of: returns the model for a source; the first call imports what it needs.
        wanted: the arguments and options.
        command: the name of the command in messages.
        way: called instead of `Predicting`, with the same arguments, by commands that read or print differently.

    Raises:
        RegardError: an option or a source is invalid.
    """
    _check(wanted, command)
    skipped = (
        None
        if wanted.skip_broken is None
        else BrokenLines(wanted.skip_broken, force=wanted.force, encoding=wanted.encoding)
    )
    file = "-" if wanted.sources == ["-"] else wanted.file
    origin = "" if file is None else STANDARD_INPUT if file == "-" else file
    texts = wanted.sources or []
    columns = column_names(wanted.column, wanted.header) if wanted.column or wanted.header is not None else None
    read = (
        (Line(text, number) for number, text in enumerate(texts, start=1))
        if file is None
        else read_sources(file, columns, raise_with_option if skipped is None else skipped.add_unread, wanted.encoding)
    )
    with closing(read):
        # The first line is read before torch is imported, so that an unusable file is reported at once.
        lines: Iterable[Line] = chain([*islice(read, 1)], read)
        if skipped is not None:
            lines = skipped.passing(lines)
        # Here and not above: they bring torch, for which --help and a mistyped option needn't wait.
        import_torch()
        from regard.cli.answering.predicting import Predicting
        from regard.cli.answering.showing import DEFAULT_TOP, Show
        from regard.cli.output.console import output_console, progress_over
        from regard.cli.output.figure_file import FigureFile
        from regard.cli.output.html_page import HtmlPage
        from regard.page import show

        asked = wanted.map or wanted.layer is not None or wanted.head is not None
        top = (DEFAULT_TOP if asked else 0) if wanted.top is None else wanted.top
        shown = Show(wanted.layer, wanted.head, top, wanted.map, wanted.plain)
        html = None if wanted.html is None else HtmlPage(wanted.html, force=wanted.force, sources=len(texts))
        figure = None
        if wanted.figure is not None:
            figure = FigureFile(wanted.figure, wanted.view, force=wanted.force, sources=len(texts))
        console = output_console(width=wanted.width, colour=wanted.colour)
        names: list[str] = []

        def checked(line: Line) -> Any:
            model = model_of(line)
            if model.name not in names:
                check_readable(model, model.name)
                check_script(model, wanted.script)
                if wanted.file not in (None, "-") and columns is None:
                    check_list(model, wanted.file, wanted.encoding)
                names.append(model.name)
            return model

        predicting = (way or Predicting)(
            checked,
            shown,
            origin,
            watch=shown.shows_attention or shown.plain or html is not None or figure is not None,
            live=file == "-",
            skipped=skipped,
        )
        if file is None:
            progress = progress_over(lines, len(texts), predicting.doing, in_bytes=False, least=_WORTH_A_BAR)
        else:
            size, least = 0 if file == "-" else os.path.getsize(file), predicting.worth_a_bar
            progress = progress_over(lines, size, predicting.doing, in_bytes=True, least=least)
        writes = html is not None or figure is not None or skipped is not None
        with progress as every:
            for place, answered in enumerate(predicting.answers(in_script(every, wanted.script))):
                with outliving_reader(writes):
                    if wanted.format is Written.json:
                        typer.echo(predicting.json(answered))
                    elif wanted.format is Written.csv:
                        typer.echo(predicting.csv(answered, header=not place), nl=False)
                    elif (page := predicting.page(answered)) is None:
                        typer.echo(str(answered.prediction))
                    else:
                        if place:
                            console.line()
                        show(page, console, plain=wanted.plain)
                if html is not None:
                    html.add(predicting.html_page(answered), heading=predicting.headed, record=answered.record)
                if figure is not None:
                    figure.add(answered.record)
    for said in predicting.unlike():
        typer.echo(f"Warning: {said}", err=True)
    if skipped is not None:
        skipped.write()
    if html is not None:
        title = f"{' and '.join(names)}: {predicting.attended}"
        html.write(title, origin or "the command line", layer=wanted.layer, head=wanted.head)
    if figure is not None:
        figure.write(origin or "the command line", layer=wanted.layer, head=wanted.head)


def _check(wanted: Wanted, command: str) -> None:
    if bool(wanted.sources) == (wanted.file is not None):
        raise ArgumentError(f"give either sources or -f FILE. See {command} --help.")
    for option, given in (("--column", wanted.column), ("--columns", wanted.header)):
        if given and wanted.file in (None, "-"):
            raise ArgumentError(f"`{option}` names columns of a table, but none is given. Give one by -f FILE.")
    if wanted.encoding is not None and wanted.file in (None, "-"):
        raise ArgumentError("`--encoding` is that of a file, but none is given. Give one by -f FILE.")
    if wanted.skip_broken is not None and wanted.file is None and wanted.sources != ["-"]:
        raise ArgumentError("`--skip-broken` skips lines of a file, but none is given. Give one by -f FILE.")
    named = "--layer" if wanted.layer is not None else "--head" if wanted.head is not None else None
    if wanted.top == 0 and named and not wanted.map and wanted.html is None and wanted.figure is None:
        raise ArgumentError(f"`{named}` chooses what to show, but with `--top` 0 nothing is shown. Leave one out.")
    check_view(wanted.figure, wanted.view, measured=False)
    for option, given in (("--plain", wanted.plain), ("--map", wanted.map)):
        if given and wanted.format is not Written.text:
            raise ArgumentError(f"`{option}` formats text, but `--format` is {wanted.format}. Leave one out.")
    for option, given in (("--top", wanted.top), ("--layer", wanted.layer), ("--head", wanted.head)):
        if given and wanted.format is Written.csv:
            raise ArgumentError(f"`{option}` lists weights, for which csv has no columns. Write --format json.")
