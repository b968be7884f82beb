"""`regard lab`: the questions of the lecture notes, with what experiments say, and one of them run again."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.arguments.options import (
    MOST_PROCESSES,
    MOST_SEEDS,
    ChartOption,
    ColourOption,
    Format,
    FormatOption,
    PlainOption,
    Shown,
    WidthOption,
)
from regard.cli.output.written_file import check_folder
from regard.cli.startup import import_torch
from regard.errors import ArgumentError, UnknownNameError

if TYPE_CHECKING:
    from regard.lab import Run, Study
    from regard.page import Page

__all__ = ["lab"]


def lab(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Run this study, and report.")] = None,
    *,
    show: Annotated[bool, typer.Option("--show", help="Report the runs that are there, and run nothing.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The folder of the results, NAME.jsonl  [default: lab]"),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=MOST_SEEDS, help="Run so many seeds  [default: the study's]")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Run the full size, which may take hours.")] = False,
    processes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=MOST_PROCESSES,
            help="Run so many at a time  [default: one for each core; timed ones alone]",
        ),
    ] = None,
    runs: Annotated[bool, typer.Option("--runs", help="List every run.")] = False,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Also write the report as an offline page.")] = None,
    figure: ChartOption = None,
    example: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Only train the first variant once, and write a page of what it does."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Let --html, --figure and --example overwrite a file that regard didn't write."),
    ] = False,
    progress: Annotated[Shown, typer.Option(help="How to show progress.")] = Shown.auto,
    format: FormatOption = Format.text,
    plain: PlainOption = False,
    width: WidthOption = None,
    color: ColourOption = None,
) -> None:
    """List the questions of the lecture notes with what experiments say, or run one of them.

    Each question is a study: variants of a model that differ in one thing, each trained with several seeds. The answer
    is yes or no if the 95 % interval of the paired differences says so, else "can't tell". Without NAME, and with
    --show, nothing is run: the results come with regard, or from --out.

    Every run is appended to FOLDER/NAME.jsonl when it is done. A command that was stopped continues when it is
    repeated, and nothing is run twice.

    \b
    Examples:
      regard lab                             the questions and the answers
      regard lab self --show                 the report of one
      regard lab self                        run it, in minutes
      regard lab self --full --seeds 5       run it in the full size
      regard lab self --html self.html       also as a page
      regard lab self --figure self.pdf      and its first chart, for a paper
      regard lab detector --example a.html   what a detector finds, and what it attends to
    """
    import_torch()
    from regard.cli.output.console import output_console
    from regard.cli.output.figure_file import FigureFile
    from regard.cli.output.html_page import HtmlPage
    from regard.lab import STUDIES, report
    from regard.lab.report import charts
    from regard.page import show as show_page

    if name is None:
        named = {
            "--show": show,
            "--full": full,
            "--runs": runs,
            "--html": html,
            "--figure": figure,
            "--seeds": seeds,
            "--example": example,
        }
        for option, given in named.items():
            if given not in (None, False):
                raise ArgumentError(f"`{option}` needs the name of a study. The names: {', '.join(STUDIES)}.")
        found = [(study, _there(study, out)) for study in STUDIES.values()]
        if format is Format.json:
            typer.echo(json.dumps([_summarised(*each) for each in found], ensure_ascii=False, indent=2))
            return
        show_page(_list(found), output_console(width=width, colour=color), plain=plain)
        return
    if name not in STUDIES:
        raise UnknownNameError("NAME", name, STUDIES, see="regard lab")
    study = STUDIES[name]
    if example is not None:
        others = {
            "--show": show,
            "--runs": runs,
            "--html": html,
            "--figure": figure,
            "--out": out,
            "--seeds": seeds,
            "--processes": processes,
            "--format json": format is Format.json,
        }
        given = [option for option, value in others.items() if value not in (None, False)]
        if given:
            raise ArgumentError(f"`--example` runs no study, so it can't go with {given[0]}. Leave one of the two out.")
        page = _example(study, example, progress, full=full, force=force)
        show_page(page, output_console(width=width, colour=color), plain=plain)
        return
    page_file = None if html is None else HtmlPage(html, force=force)
    figure_file = None if figure is None else FigureFile(figure, force=force)
    held = _there(study, out, seeds=seeds, full=full) if show else _run(study, out, seeds, full, processes, progress)
    if page_file is not None:
        page_file.add(report(study, held), heading=False)
        page_file.write(study.question, f"the study {name}")
    if figure_file is not None:
        figure_file.write_chart(charts(study, held) if held else ())
    if format is Format.json:
        typer.echo(json.dumps({**_summarised(study, held), "runs": [asdict(each) for each in held]}, indent=2))
        return
    show_page(report(study, held, all_runs=runs), output_console(width=width, colour=color), plain=plain)


def _example(study: "Study", path: str, progress: Shown, *, full: bool, force: bool) -> "Page":
    """Make the example of a study, and write it to a file."""
    from regard.cli.output.html_page import HtmlPage
    from regard.lab import STUDIES

    if study.example is None:
        those = [each.name for each in STUDIES.values() if each.example is not None]
        raise ArgumentError(
            f"`--example` needs a study that has an example, but {study.name} has none. "
            f"Those that have: {', '.join(those)}."
        )
    page_file = HtmlPage(path, force=force, option="--example")
    typer.echo(f"Training the example of {study.name}, which can take minutes.", err=True)
    page = study.show_example(full=full, progress=progress.value)
    page_file.add(page, heading=False)
    page_file.write(page.title, f"the example of {study.name}")
    return page


def _there(study: "Study", out: Path | None, *, seeds: int | None = None, full: bool = False) -> "list[Run]":
    """The results in a folder, or those that come with regard."""
    from regard.lab.results import BUNDLED, current_runs, read_runs

    _check_out(out)

    return current_runs(
        study, read_runs((out or BUNDLED) / f"{study.name}.jsonl"), study.planned(seeds=seeds, full=full)
    )


def _check_out(out: Path | None) -> None:
    if out is not None and out.exists() and not out.is_dir():
        raise ArgumentError(f"`--out` must be a folder, but {out} is a file.")


def _run(
    study: "Study", out: Path | None, seeds: int | None, full: bool, processes: int | None, progress: Shown
) -> "list[Run]":
    from regard.lab import run_study

    path = (out or Path("lab")) / f"{study.name}.jsonl"
    _check_out(out)
    check_folder("--out", str(path))
    found = run_study(study, path, seeds=seeds, full=full, processes=processes, progress=progress.value)
    typer.echo(f"The results are in {path}.", err=True)
    return found


def _summarised(study: "Study", runs: "list[Run]") -> dict[str, Any]:
    from regard.lab.verdict import verdicts

    claims = [
        {
            "text": each.claim.text or study.question,
            "answer": each.answer,
            "sentence": each.sentence,
            "notes": each.claim.notes,
            "contradicts_notes": each.contradicts,
        }
        for each in verdicts(study, runs)
    ]
    return {"name": study.name, "question": study.question, "source": study.source, "claims": claims}


def _list(found: "list[tuple[Study, list[Run]]]") -> "Page":
    from regard.lab.verdict import verdicts
    from regard.page import Page, Prose, Table

    rows = []
    for study, runs in found:
        first = verdicts(study, runs)[0]
        answer = f"{first.answer} (the notes say {first.claim.notes})" if first.contradicts else first.answer
        rows.append((study.name, study.question, answer or "not run yet", first.sentence))
    table = Table(("name", "question", "answer", "why"), tuple(rows))
    return Page("", (table, Prose("regard lab NAME --show reports one; regard lab NAME runs it.")))
