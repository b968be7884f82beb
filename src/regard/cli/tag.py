"""`regard tag`: label the words of a sentence, and show what each of them attended to."""

import json
import os
from contextlib import closing
from itertools import chain, islice
from typing import Annotated, Any

import typer

from regard.cli.asking import load_tagger_of_words
from regard.cli.broken_lines import BrokenLines, raise_with_option
from regard.cli.options import (
    BothForceOption,
    ColourOption,
    Format,
    FormatOption,
    PlainOption,
    ScriptOption,
    SkipBrokenOption,
    WidthOption,
)
from regard.cli.reading import STANDARD_INPUT, Line, in_script, is_chinese, read_file, read_text
from regard.errors import ArgumentError

__all__ = ["tag"]

# Bytes of a file; less is done before a bar could be read.
_WORTH_A_BAR = 200_000
_SEGMENTER = "chinese-segmentation"


def tag(
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="A sentence, or - for standard input.")] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", "-f", metavar="FILE", help="A file, one sentence on a line; blank lines are skipped."),
    ] = None,
    skip_broken: SkipBrokenOption = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="NAME", help="A model's name, or its folder  [default: by language]"),
    ] = None,
    split: Annotated[
        bool, typer.Option("--split", help="Split Chinese without spaces into words by a trained segmenter.")
    ] = False,
    script: ScriptOption = None,
    layer: Annotated[int | None, typer.Option(metavar="N", help="Which layer to show  [default: the last]")] = None,
    head: Annotated[int | None, typer.Option(metavar="N", help="Which head to show  [default: their average]")] = None,
    top: Annotated[int, typer.Option(metavar="N", help="Number of words to list for each word; 0 only tags.")] = 3,
    map: Annotated[bool, typer.Option("--map", help="Show all weights as a heat map.")] = False,
    format: FormatOption = Format.text,
    plain: PlainOption = False,
    html: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also write an offline page, for up to 50 sentences.")
    ] = None,
    force: BothForceOption = False,
    width: WidthOption = None,
    color: ColourOption = None,
) -> None:
    """Tag the words of a sentence, and show which words each of them attended to.

    Unless --model names one, each line has the model of its language: chinese-pos where it holds a Chinese character,
    else english-pos. Layers, heads and positions count from 1. A weight says how much a word attended to another,
    which need not be why it got its label. JSON is one object a sentence. Standard input is answered line by line; a
    long text is faster as a file.

    \b
    Examples:
      regard tag "I saw a saw ."
      regard tag "我 一 进门 就 看见 常威 在 打 来福"
      regard tag "我一进门就看见常威在打来福" --split
      regard tag "他 在 讀書 。" --script simplified
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
    if model is not None and not model.strip():
        raise ArgumentError("`--model` must be a model's name or its folder, but is empty. See regard models.")
    if top == 0 and not map and html is None and (layer is not None or head is not None):
        raise ArgumentError(
            f"`--{'head' if layer is None else 'layer'}` chooses what to show, but with `--top` 0 nothing is shown. "
            "Leave one out."
        )
    written = None
    if html is not None:
        from regard.cli.html_page import HtmlPage

        written = HtmlPage(html, force=force)
    path = "-" if text == "-" else file
    # What messages call the place that the sentences come from; the command line has no lines to name.
    source = "" if path is None else STANDARD_INPUT if path == "-" else path
    if skip_broken is not None and path is None:
        raise ArgumentError("`--skip-broken` leaves out lines of a file, but none is given. Give one by -f FILE.")
    skipped = None if skip_broken is None else BrokenLines(skip_broken, force=force)
    problem = raise_with_option if skipped is None else skipped.add_unread
    with closing(read_text(text or "") if path is None else read_file(path, problem)) as lines:
        # The first line is read before torch is imported, so that an unusable file is reported at once.
        first = [*islice(lines, 1)]

        # Here and not above: these bring torch, for which --help and a mistyped option needn't wait.
        from regard.cli.console import output_console, progress_over
        from regard.cli.showing import Show, as_json, as_page
        from regard.cli.tagging import answers
        from regard.page import show
        from regard.tasks import Tagger

        console, shown = output_console(width=width, colour=color), Show(layer, head, top, map)
        taggers: dict[str, Tagger] = {}

        def tagger_of(line: Line) -> Tagger:
            name = model or ("chinese-pos" if is_chinese(line.text) else "english-pos")
            if name not in taggers:
                taggers[name] = load_tagger_of_words(name)
            return taggers[name]

        counted = iter if skipped is None else skipped.passing
        size = 0 if path is None or path == "-" else os.path.getsize(path)
        with progress_over(counted(chain(first, lines)), size, "tagging", in_bytes=True, least=_WORTH_A_BAR) as every:
            watch = top > 0 or map or html is not None
            segmenter = load_tagger_of_words(_SEGMENTER) if split else None
            every = in_script(every, script)
            results = answers(
                tagger_of, every, source, watch=watch, live=path == "-", segmenter=segmenter, skipped=skipped
            )
            for number, (line, record) in enumerate(results):
                title = f"{source}, line {line.number}" if source else record.model
                if format is Format.json:
                    typer.echo(_written(as_json(record, shown), single=not source))
                else:
                    if number:
                        console.line()
                    show(as_page(record, title if top or map else "", shown), console, plain=plain)
                if written is not None:
                    written.add(as_page(record, title, shown._replace(map=True)), heading=bool(source))
    if skipped is not None:
        skipped.write()
    if written is not None:
        names = " and ".join(tagger.name for tagger in taggers.values())
        written.write(f"{names}: what each word attended to", source)


def _written(result: dict[str, Any], *, single: bool) -> str:
    """One line, or for a single sentence a line an item: still JSON, and a person can read it."""
    if not single:
        return json.dumps(result, ensure_ascii=False)
    items = ",\n".join("  " + json.dumps(item, ensure_ascii=False) for item in result["items"])
    head = json.dumps({key: value for key, value in result.items() if key != "items"}, ensure_ascii=False)
    return f'{head[:-1]}, "items": [\n{items}\n]}}'
