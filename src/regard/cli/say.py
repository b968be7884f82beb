"""`regard say`: what a model of one's own says, as sound files."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.asking import what_it_is
from regard.cli.reading import STANDARD_INPUT, Line, read_file
from regard.errors import ArgumentError, DataError, RegardError

if TYPE_CHECKING:
    from regard.tasks import Said

__all__ = ["say"]

_TOGETHER = 64


def say(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The folder of a model that speaks.")],
    out: Annotated[
        Path, typer.Option(metavar="PATH", help="A name that ends in .wav, for one text; else a new folder.")
    ],
    sources: Annotated[list[str] | None, typer.Argument(metavar="[TEXT]...", help="What to say.")] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", "-f", metavar="FILE", help="A file, one text on a line; - for standard input."),
    ] = None,
) -> None:
    """Say texts, and write what is heard as WAV files.

    A model says what it was trained on: one of fsdd-strings takes the name of a speaker and digits, with blanks between
    them. One text becomes one file; several become a folder of 1.wav, 2.wav, ..., numbered as they stand on the command
    line or as the lines of the file. If one of them can't be said, nothing is written.

    \b
    Examples:
      regard train synthesis --data fsdd-strings --label speech --out speaker
      regard say speaker "jackson 4 0 7 1" --out numbers.wav
      regard say speaker "theo 1 2 3" "lucas 3 2 1" --out numbers/
      regard say speaker -f numbers.txt --out numbers/
    """
    if bool(sources) == (file is not None):
        raise ArgumentError("give either texts or -f FILE. See regard say --help.")
    # Here and not above: these bring torch, for which --help and a mistyped option needn't wait.
    from regard.files import write_bytes
    from regard.inputs import wav
    from regard.page.visible import visible
    from regard.tasks import load
    from regard.tasks.folders import write_folder

    lines = list(read_file(file)) if file is not None else [Line(text, n) for n, text in enumerate(sources or (), 1)]
    alone = out.suffix.lower() == ".wav"
    if alone and len(lines) > 1:
        raise ArgumentError(f"`--out` must be a folder for {len(lines):,} texts, but is {out}, one file.")
    if not alone and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ArgumentError(f"`--out` must be a new folder, or a name that ends in .wav, but {out} is there.")
    loaded = load(model)
    if loaded.kind != "synthesis":
        raise ArgumentError(
            f"`MODEL` must be one that speaks, as regard train synthesis makes, but {model} is {what_it_is(loaded)}."
        )
    name = "" if file is None else STANDARD_INPUT if file == "-" else file
    files: dict[str, bytes] = {}
    told: list[str] = []
    for line, said in _said(loaded, lines, name):
        place = out if alone else out / f"{line.number}.wav"
        files[place.name] = wav(said.sound)
        cut = "" if said.ended else ", cut: it found no end"
        told.append(f"{place}  {said.sound.seconds:.2f} s{cut}  {line.text}")
    if alone:
        write_bytes(out, files[out.name])
    else:
        write_folder(out, files)
    for each in told:
        typer.echo(visible(each))


def _said(model: Any, lines: Iterable[Line], name: str) -> "Iterator[tuple[Line, Said]]":
    """Each text with what is heard, some at a time; what can't be said is named by its line."""
    rest = iter(lines)
    while group := list(islice(rest, _TOGETHER)):
        try:
            heard = model.say([line.text for line in group])
        except RegardError:
            # One of them can't be said: asked one by one, it shows which.
            for line in group:
                try:
                    model.say([line.text])
                except RegardError as error:
                    if name:
                        raise DataError(str(error), path=name, line=line.number) from error
                    raise
            raise
        for line, said in zip(group, heard, strict=True):
            if said is None:
                raise ArgumentError(f"`TEXT` must hold something to say, but {line.text!r:.40} holds nothing.")
            yield line, said
