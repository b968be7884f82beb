"""`regard tag`: label the words of a sentence, and show what each of them looked at."""

import json
import sys
from contextlib import closing, nullcontext
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.reading import STANDARD_INPUT, is_chinese, read_file, read_text
from regard.errors import ArgumentError

__all__ = ["tag"]

# The page is meant to be read; with many more sentences a browser takes seconds to open it.
_MOST_ON_A_PAGE = 50


class Format(StrEnum):
    """How the result is written."""

    text = "text"
    json = "json"


def tag(
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="A sentence, or - for standard input.")] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="A file, one sentence on a line.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="NAME", help="A model's name, or its folder  [default: by language]"),
    ] = None,
    layer: Annotated[int | None, typer.Option(metavar="N", help="Which layer to show  [default: the last]")] = None,
    head: Annotated[int | None, typer.Option(metavar="N", help="Which head to show  [default: their average]")] = None,
    top: Annotated[int, typer.Option(metavar="N", help="How many words to list for each; 0 only tags.")] = 3,
    map: Annotated[bool, typer.Option("--map", help="Show every weight as a heat map.")] = False,
    format: Annotated[Format, typer.Option(help="How to write it; json is one object a sentence.")] = Format.text,
    plain: Annotated[bool, typer.Option("--plain", help="Sentences only, for a screen reader.")] = False,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write an offline page too.")] = None,
    width: Annotated[int | None, typer.Option(metavar="N", help="Columns to use  [default: the terminal's]")] = None,
    color: Annotated[bool | None, typer.Option("--color/--no-color", help="Insist on colours, or on none.")] = None,
) -> None:
    """Tag the words of a sentence, and show which words each of them attended to.

    The model is english-pos, or chinese-pos for Chinese, unless --model names another. Layers, heads and positions
    count from 1. A weight says how much a word attended to another, which need not be why it got its label.

    \b
    Examples:
      regard tag "I saw a saw ."
      regard tag "我 一 进门 就 看见 常威 在 打 来福"
      regard tag "I saw a saw ." --layer 1 --head 2 --map
      regard tag "I saw a saw ." --html saw.html
      regard tag -f novel.txt --format json > novel.jsonl
      echo "I saw a saw ." | regard tag - --plain
    """
    if (text is None) == (file is None):
        raise ArgumentError("give one of the three: a text, -f FILE, or - for standard input. See regard tag --help.")
    if format is Format.json and (plain or map):
        raise ArgumentError(f"`{'--plain' if plain else '--map'}` shapes text, but `--format` is json. Leave one out.")
    if top < 0:
        raise ArgumentError(f"`--top` must be 0 or more, but is {top}.")
    if html is not None and Path(html).is_dir():
        raise ArgumentError(f"`--html` must be a file to write, but {html} is a folder.")
    path = "-" if text == "-" else file
    # What messages call the place that the sentences come from; the command line has no lines to name.
    source = "" if path is None else STANDARD_INPUT if path == "-" else path
    with closing(read_text(text or "") if path is None else read_file(path)) as lines:
        # The first line is read before torch: of a file that can't be used one is told at once.
        first = next(lines)
        model = model or ("chinese-pos" if is_chinese(first.text) else "english-pos")

        # Here and not above: these bring torch, for which --help and a mistyped option needn't wait.
        from regard.cli.console import output_console, progress_over
        from regard.cli.tagging import Show, as_json, as_page, tagged, watched
        from regard.page import Block, Heading, show
        from regard.tasks import load

        console, tagger, shown = output_console(width=width, colour=color), load(model), Show(layer, head, top)
        blocks: list[Block] = []
        with progress_over(path) if path not in (None, "-") else nullcontext(lambda line: line) as passing:
            every = (passing(line) for line in chain([first], lines))
            if top or map or html is not None:
                results = watched(tagger, every, source, live=path == "-" and sys.stdin.isatty())
            else:
                results = tagged(tagger, every, source)
            for number, (line, record) in enumerate(results):
                title = f"{source}, line {line.number}" if source else tagger.name
                if format is Format.json:
                    typer.echo(_written(as_json(record, shown), single=not source))
                else:
                    if number:
                        console.line()
                    page = as_page(record, title if top or map else "", shown, rankings=top > 0, map=map)
                    show(page, console, plain=plain)
                if html is not None:
                    if number == _MOST_ON_A_PAGE:
                        raise ArgumentError(f"`--html` takes up to {_MOST_ON_A_PAGE} sentences, but {source} has more.")
                    page = as_page(record, title, shown, rankings=top > 0, map=True)
                    blocks += [*([Heading(title)] if source else []), *page.blocks]
    if html is not None:
        _write_page(html, f"{tagger.name}: what each word attended to", blocks)


def _written(result: dict[str, Any], *, single: bool) -> str:
    """One line, or for a single sentence a line an item: still JSON, and a person can read it."""
    if not single:
        return json.dumps(result, ensure_ascii=False)
    items = ",\n".join("  " + json.dumps(item, ensure_ascii=False) for item in result["items"])
    head = json.dumps({key: value for key, value in result.items() if key != "items"}, ensure_ascii=False)
    return f'{head[:-1]}, "items": [\n{items}\n]}}'


def _write_page(path: str, title: str, blocks: list[Any]) -> None:
    from regard.files import write_text
    from regard.page import Page, as_html

    try:
        write_text(path, as_html(Page(title, tuple(blocks))))
    except OSError as error:
        # The file that failed is a neighbour of half a name; the one that was asked for says more.
        raise OSError(error.errno, error.strerror, path) from error
    typer.echo(f"Wrote {path}.", err=True)
