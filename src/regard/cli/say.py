"""`regard say`: synthesize speech as sound files, and show the attention to the text."""

import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.answering.model_checks import describe_model
from regard.cli.answering.reading import STANDARD_INPUT, Line, read_file
from regard.cli.arguments.options import (
    ColourOption,
    EncodingOption,
    FigureForceOption,
    FigureOption,
    HeadOption,
    HtmlOption,
    LayerOption,
    MapOption,
    PlainOption,
    ViewOption,
    WidthOption,
)
from regard.cli.arguments.trusted import load
from regard.cli.output.standard_output import outliving_reader
from regard.cli.output.written_file import check_view
from regard.cli.startup import import_torch
from regard.errors import ArgumentError, DataError, MissingExtraError, RegardError, UnreliablePrediction

if TYPE_CHECKING:
    from regard.inspection import Record
    from regard.page import Page
    from regard.tasks import SynthesizedSpeech

__all__ = ["say"]

_TOGETHER = 64
_WORTH_A_BAR = 20
_OTHER_SOUNDS = (".mp3", ".flac", ".ogg", ".opus", ".m4a", ".aac", ".aiff", ".aif")


def say(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A speech synthesizer: synthesis, which is bundled, or a folder."),
    ],
    *,
    out: Annotated[
        Path, typer.Option(metavar="PATH", help="A new name that ends in .wav, for one text; else a new folder.")
    ],
    sources: Annotated[list[str] | None, typer.Argument(metavar="[TEXT]...", help="What to say.")] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", "-f", metavar="FILE", help="A file, one text on a line; - for standard input."),
    ] = None,
    encoding: EncodingOption = None,
    map: MapOption = False,
    layer: LayerOption = None,
    head: HeadOption = None,
    html: HtmlOption = None,
    figure: FigureOption = None,
    view: ViewOption = None,
    force: FigureForceOption = False,
    plain: PlainOption = False,
    width: WidthOption = None,
    color: ColourOption = None,
) -> None:
    """Speak texts, and write WAV files.

    A model says what it was trained on: synthesis takes the name of a speaker (george, jackson, lucas, nicolas, theo,
    yweweler) and digits, with blanks between them. One text becomes one file; several become a folder of 1.wav, 2.wav,
    ..., numbered as they stand on the command line or as the lines of the file. If one of them can't be said, nothing
    is written; and nothing that is there is written over.

    With --map, --html or --figure it shows what each moment of the sound attended to in the text and, for a model with
    a duration plan, when each word begins.

    \b
    Examples:
      regard say synthesis "jackson 4 0 7 1" --out numbers.wav
      regard say synthesis "jackson 4 0 7" --out numbers.wav --map
      regard say synthesis "theo 1 2 3" "lucas 3 2 1" --out numbers/
      regard say synthesis -f numbers.txt --out numbers/
      regard train synthesis --data fsdd-strings --label speech --out speaker
    """
    if not sources and file is None:
        raise ArgumentError(
            "give a model and what it is to say, as in regard say synthesis 'jackson 4 0 7' --out numbers.wav, "
            f"but there is only {model!r:.60}. See regard say --help."
        )
    if sources and file is not None:
        raise ArgumentError("give either texts or -f FILE. See regard say --help.")
    if encoding is not None and file in (None, "-"):
        raise ArgumentError("`--encoding` is that of a file, but none is given. Give one by -f FILE.")
    lines = (
        list(read_file(file, encoding=encoding))
        if file is not None
        else [Line(text, n) for n, text in enumerate(sources or (), 1)]
    )
    _check_out(out, len(lines))
    check_view(figure, view, measured=False)
    watch = map or layer is not None or head is not None or html is not None or figure is not None or plain
    # Here and not above: these bring torch, for which --help and a mistyped option needn't wait.
    import_torch()
    from regard.cli.answering.showing import Show, as_page, with_warnings
    from regard.cli.output.console import output_console, progress_over
    from regard.cli.output.figure_file import FigureFile
    from regard.cli.output.html_page import HtmlPage
    from regard.files import write_bytes
    from regard.inputs import wav
    from regard.page import show
    from regard.page.visible import visible
    from regard.tasks.saving.folders import replace_folder

    loaded = load(model)
    if not loaded.task.predicts_sound:
        raise ArgumentError(
            f"`MODEL` must be a speech synthesizer, as regard train synthesis makes, but {model} is "
            f"{describe_model(loaded)}."
        )
    name = "" if file is None else STANDARD_INPUT if file == "-" else file
    with warnings.catch_warnings():
        # The warning comes when the text is synthesized.
        warnings.simplefilter("ignore", UnreliablePrediction)
        for line in lines:
            _check(loaded, line, name)
    shown = Show(layer, head, top=0, map=True)
    page = None if html is None else HtmlPage(html, force=force, sources=len(lines))
    drawn = None if figure is None else FigureFile(figure, view, force=force, sources=len(lines))
    told: list[tuple[str, Page | None, Record | None]] = []
    progress = progress_over(lines, len(lines), "saying", in_bytes=False, least=_WORTH_A_BAR, quiet=True)
    with ExitStack() as stack:
        put = (
            (lambda _, content: write_bytes(out, content)) if _is_wav(out) else stack.enter_context(replace_folder(out))
        )
        for line, said, record in _synthesized(loaded, stack.enter_context(progress), watch=watch):
            place = out if _is_wav(out) else out / f"{line.number}.wav"
            # Before the file is written: a layer that doesn't exist raises its error here.
            seen = None if record is None else as_page(record, line.text, shown)
            put(place.name, wav(said.sound))
            cut = "" if said.ended else ", cut: the model predicted no end"
            told.append((f"{place}  {said.sound.seconds:.2f} s{cut}  {line.text}", seen, record))
    console = output_console(width=width, colour=color)
    for each, seen, record in told:
        with outliving_reader(page is not None or drawn is not None):
            typer.echo(visible(each))
            if seen is not None and ((html is None and figure is None) or map or plain):
                console.line()
                show(seen, console, plain=plain)
        if seen is not None and page is not None:
            page.add(seen if record is None else with_warnings(seen, record), heading=True, record=record)
        if record is not None and drawn is not None:
            drawn.add(record)
    if page is not None:
        page.write(f"{loaded.name}: what it attended to", name or "the command line")
    if drawn is not None:
        drawn.write(name or "the command line", layer=layer, head=head)


def _is_wav(out: Path) -> bool:
    return out.suffix.lower() == ".wav"


def _check_out(out: Path, texts: int) -> None:
    """Refuse to overwrite anything."""
    if out.suffix.lower() in _OTHER_SOUNDS:
        raise ArgumentError(f"`--out` must end in .wav, the format that is written, but is {out}.")
    if _is_wav(out):
        if texts > 1:
            raise ArgumentError(f"`--out` must be a folder for {texts:,} texts, but is {out}, one file.")
        if out.exists():
            raise ArgumentError(f"`--out` must be a new file, but {out} is there.")
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ArgumentError(f"`--out` must be a new folder, or a name that ends in .wav, but {out} is there.")


def _check(model: Any, line: Line, name: str) -> None:
    """Check a text before any is synthesized: an unknown word in the last one would discard hours of work."""
    try:
        if not len(model.read(line.text)):
            raise ArgumentError(f"`TEXT` must not be empty, but {line.text!r:.40} is.")
        model.check_known(line.text)
    except RegardError as error:
        if name and not isinstance(error, MissingExtraError):
            raise DataError(str(error), path=name, line=line.number) from error
        raise


def _synthesized(
    model: Any, lines: Iterator[Line], *, watch: bool
) -> "Iterator[tuple[Line, SynthesizedSpeech, Record | None]]":
    """Each text with its sound, in batches; or one at a time with its record, if records are kept."""
    if watch:
        for line in lines:
            (record,) = model.look([line.text])
            yield line, record.answer, record
    while group := list(islice(lines, _TOGETHER)):
        for line, said in zip(group, model.say([line.text for line in group]), strict=True):
            yield line, said, None
