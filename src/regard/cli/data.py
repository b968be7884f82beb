"""`regard data`: list, fetch and check data sets."""

import dataclasses
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.arguments.command import Command
from regard.cli.arguments.options import (
    ColourOption,
    ColumnOption,
    EncodingOption,
    Format,
    FormatOption,
    HeaderOption,
    LabelNamesOption,
    PlainOption,
    WidthOption,
)

if TYPE_CHECKING:
    from regard.datasets import Progress, Report, SplitReport
    from regard.page import Block

__all__ = ["app"]

_MOST_SHOWN = 20  # problems as text; --format json has them all
_MOST_ALIKE = 4  # problems of the same kind that are shown one by one
_VARYING = re.compile(r"0x[0-9a-f]{2}|[0-9]+|'.*?'")  # what differs between such: numbers, and what the line holds
_MOST_LABELS = 10  # of a split, to be listed

app = typer.Typer(rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def _data(context: typer.Context) -> None:
    """List, get and check the data sets that models are trained on.

    A data set is looked for in the folder that REGARD_DATA names, then in the user's cache (REGARD_CACHE).

    \b
    Examples:
      regard data list
      regard data get ud-english-ewt
      regard data check ud-english-ewt
      regard data check my-treebank/
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list", cls=Command, short_help="List the data sets that regard knows.")
def list_(
    format: FormatOption = Format.text,
    plain: PlainOption = False,
    width: WidthOption = None,
    color: ColourOption = None,
) -> None:
    """List the data sets that regard knows, with their terms and their folders on this machine.

    \b
    Examples:
      regard data list
      regard data list --format json
    """
    # Here and not above: these bring torch, for which --help and a mistyped option needn't wait.
    from regard.cli.output.console import output_console
    from regard.datasets import DATASETS, find
    from regard.page import Page, Prose, Table, show

    places = {name: find(name) for name in DATASETS}
    if format is Format.json:
        entries = [
            {
                "name": name,
                "title": known.title,
                "reads": known.modality,
                "language": known.language,
                "label": known.label,
                "licence": known.licence,
                "source": known.source,
                "citation": known.citation,
                "path": str(places[name]) if places[name] else None,
                "files": {
                    part: {"url": file.url, "sha256": file.sha256, "bytes": file.size}
                    for part, file in known.files.items()
                },
            }
            for name, known in DATASETS.items()
        ]
        typer.echo(json.dumps(entries, ensure_ascii=False, indent=2))
        return
    rows = tuple(
        (
            name,
            known.title,
            known.modality,
            known.label if known.is_treebank else ", ".join(known.labels),
            f"{known.size / 1e6:.1f} MB",
            known.licence,
            str(places[name] or "not on this machine"),
        )
        for name, known in DATASETS.items()
    )
    columns = ("data set", "what", "sources", "labels", "size", "licence", "where")
    blocks = (Table(columns, rows), Prose("regard data get NAME fetches one."))
    show(Page("", blocks), output_console(width=width, colour=color), plain=plain)


@app.command(cls=Command, short_help="Fetch a data set, and print its folder.")
def get(data: Annotated[str, typer.Argument(metavar="NAME", help="A data set that regard data list names.")]) -> None:
    """Fetch a data set, compare its checksums, and print the folder that it is in.

    \b
    Examples:
      regard data get ud-english-ewt
      REGARD_CACHE=/big/disk regard data get ud-chinese-gsd
    """
    from regard.datasets import fetch

    with _downloading() as progress:
        folder = fetch(data, progress=progress)
    typer.echo(str(folder))


@app.command(cls=Command, short_help="Read every split, and report problems.")
def check(
    data: Annotated[str, typer.Argument(metavar="NAME|PATH", help="A data set, a file or a folder of your own.")],
    *,
    label: Annotated[
        str | None, typer.Option(help="The label, or the column with it  [default: the data set's]")
    ] = None,
    column: ColumnOption = None,
    header: HeaderOption = None,
    encoding: EncodingOption = None,
    renamed: LabelNamesOption = None,
    format: FormatOption = Format.text,
    plain: PlainOption = False,
    width: WidthOption = None,
    color: ColourOption = None,
) -> None:
    """Read every split of a data set, and print its content, its duplicates and every problem.

    The sounds and pictures of a folder or a table of your own are opened, as training will. The exit code is 1 if there
    is a problem.

    \b
    Examples:
      regard data check ud-english-ewt
      regard data check my-treebank/ --label xpos
      regard data check my-train.conllu --format json
      regard data check fsdd --label speaker
      regard data check my-reviews/ --column text=review --column label=stars
    """
    from regard.cli.arguments.columns import column_names
    from regard.cli.output.console import output_console
    from regard.datasets import check as look_over
    from regard.datasets import parse_label_names
    from regard.page import Page, show

    console = output_console(width=width, colour=color)
    names = None if renamed is None else parse_label_names(renamed)
    with _downloading() as progress:
        columns = column_names(column, header)
        report = look_over(data, label, columns=columns, names=names, encoding=encoding, progress=progress)
    if format is Format.json:
        typer.echo(json.dumps(_as_json(report), ensure_ascii=False, indent=2))
    else:
        what = f", words labelled with {report.label.upper()}" if report.of_words and report.label else ""
        title = f"{report.name}{what or (report.label and f', labelled with {report.label}')}"
        show(Page(title, _blocks(report)), console, plain=plain)
    if report.problems:
        raise typer.Exit(1)


def _blocks(report: "Report") -> "tuple[Block, ...]":
    from regard.page import Heading, Prose, Table

    words = report.of_words
    what = "Sentences" if words else "Examples"
    rows = tuple(
        (
            split.split,
            f"{split.sentences:,}",
            *([f"{split.words:,}"] if words else []),
            str(len(split.labels) or split.targets or 0),
            *(["" if split.out_of_vocabulary is None else f"{100 * split.out_of_vocabulary:.1f}%"] if words else []),
        )
        for split in report.splits
    )
    targets = "targets" if any(split.targets is not None for split in report.splits) else "labels"
    columns = ("split", "sentences", "words", "labels", "unknown words") if words else ("split", "examples", targets)
    aligned: Any = ("left", *["right"] * (len(columns) - 1))
    blocks: list[Block] = [Table(columns, rows, aligned)]
    blocks += [Prose(said) for said in map(_labels, report.splits) if said]
    if any(split.targets is not None and split.targets.numeric for split in report.splits):
        said = (
            "The targets are numbers, but are read as texts. To predict numbers: --column number=label; numbers in a "
            "table divided by commas need decimal points."
        )
        blocks.append(Prose(said))
    if any(split.out_of_vocabulary is not None for split in report.splits):
        blocks.append(Prose("Unknown words: the share of a split's words that don't occur in train."))
    shared = [
        f"{count:,} of {second} {'is' if count == 1 else 'are'} also in {first}"
        for (first, second), count in report.duplicates.shared.items()
        if count
    ]
    if len(report.splits) > 1:
        blocks.append(Prose(f"{what} in two splits: {'; '.join(shared) or 'none'}."))
    repeats = [f"{count:,} in {split}" for split, count in report.duplicates.within.items() if count]
    blocks.append(Prose(f"{what} that repeat an earlier one of their split: {', '.join(repeats) or 'none'}."))
    if not report.problems:
        return (*blocks, Prose("No problems."))
    shown = _joined(report.problems)
    problems = [Prose(problem) for problem in list(shown)[:_MOST_SHOWN]]
    more = len(report.problems) - sum(list(shown.values())[:_MOST_SHOWN])
    if more:
        problems.append(Prose(f"And {more:,} more; --format json has them."))
    return (*blocks, Heading(f"Problems: {len(report.problems):,}"), *problems)


def _joined(problems: "Sequence[str]") -> dict[str, int]:
    """The problems as they are shown, with the number that each stands for; those of many lines may be alike."""
    if len(problems) <= _MOST_SHOWN:
        return dict.fromkeys(problems, 1)
    alike: dict[str, list[str]] = {}
    for problem in problems:
        file, _, reason = problem.partition(", line ")
        alike.setdefault(f"{file} {_VARYING.sub('', reason)}", []).append(problem)
    shown: dict[str, int] = {}
    for first, *others in alike.values():
        if len(others) < _MOST_ALIKE:
            shown |= dict.fromkeys([first, *others], 1)
        else:
            shown[f"{first} {len(others):,} more are like it; --format json has them."] = 1 + len(others)
    return shown


def _labels(split: "SplitReport") -> str | None:
    """The labels of a split with their counts, if there are few."""
    if not 0 < len(split.labels) <= _MOST_LABELS:
        return None
    counts = ", ".join(f"{label:.60} {count:,}" for label, count in split.labels.items())
    return f"Labels{'' if split.split == 'all' else f' in {split.split}'}: {counts}."


def _as_json(report: "Report") -> dict[str, object]:
    return {
        "name": report.name,
        "label": report.label,
        "splits": [
            {
                "split": split.split,
                "path": str(split.path),
                "sentences": split.sentences,
                "words": split.words,
                "labels": split.labels,
                "targets": None if split.targets is None else dataclasses.asdict(split.targets),
                "unknown_words": split.out_of_vocabulary,
            }
            for split in report.splits
        ],
        "duplicates": {
            "distinct": report.duplicates.distinct,
            "shared": [
                {"first": first, "second": second, "sentences": count}
                for (first, second), count in report.duplicates.shared.items()
            ],
            "within": dict(report.duplicates.within),
        },
        "problems": list(report.problems),
    }


@contextmanager
def _downloading() -> "Iterator[Progress]":
    """Show the progress of downloads on standard error: a bar on a terminal, else a line for each file."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    tasks: dict[str, object] = {}
    if not sys.stderr.isatty():

        def say(filename: str, done: int, size: int) -> None:
            if filename not in tasks:
                tasks[filename] = True
                typer.echo(f"downloading {filename}, {size / 1e6:.1f} MB", err=True)

        yield say
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:

        def show(filename: str, done: int, size: int) -> None:
            if filename not in tasks:
                tasks[filename] = bars.add_task(filename, total=size)
            bars.update(tasks[filename], completed=done)  # type: ignore[arg-type]

        yield show
