"""`regard models`: the models that come with the package, and their cards."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.arguments.options import ColourOption, Format, FormatOption, PlainOption, WidthOption
from regard.errors import ArgumentError, ModelError, UnknownNameError

__all__ = ["models"]


def models(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show the card of this model.")] = None,
    format: FormatOption = Format.text,
    plain: PlainOption = False,
    width: WidthOption = None,
    color: ColourOption = None,
) -> None:
    """List the models that come with regard, or print the card of one.

    \b
    Examples:
      regard models
      regard models english-pos
      regard models --format json
    """
    from regard.cli.output.console import output_console
    from regard.page import Page, Prose, Table, show
    from regard.page.visible import visible
    from regard.tasks import bundled
    from regard.tasks.saving.card import format_score

    console = output_console(width=width, colour=color)
    known = bundled()
    if name is not None and name not in known:
        raise UnknownNameError("model", name, known)
    if name is not None and format is Format.text:
        for option, given in (("--plain", plain), ("--width", width is not None), ("--color", color is not None)):
            if given:
                raise ArgumentError(f"`{option}` formats the list, but a card is printed as it is. Leave it out.")
        for line in (known[name] / "README.md").read_text("utf-8").splitlines():
            typer.echo(visible(line))
        return
    entries = [_entry(each, folder) for each, folder in known.items() if name in (None, each)]
    if format is Format.json:
        typer.echo(json.dumps(entries if name is None else entries[0], ensure_ascii=False, indent=2))
        return
    rows = tuple(
        (
            entry["name"],
            entry["title"],
            entry["data"],
            entry["licence"],
            "" if entry["score"] is None else f"{format_score(entry['measure'], entry['score'])} {entry['measure']}",
            f"{entry['bytes'] / 1e6:.1f} MB",
        )
        for entry in entries
    )
    columns = ("model", "title", "data", "licence", "test score", "size")
    table = Table(columns, rows, ("left", "left", "left", "left", "right", "right"))
    blocks = (table, Prose("regard models NAME prints a card."))
    show(Page("", blocks), console, plain=plain)


def _entry(name: str, folder: Path) -> dict[str, Any]:
    from regard.tasks.judging.evaluation import saved_evaluation

    try:
        description = json.loads((folder / "model.json").read_bytes())
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{folder / 'model.json'} isn't JSON: {error}. Install regard again.") from error
    about = description.get("about", {})
    data, test = about.get("data", {}), saved_evaluation(about.get("scores", {}).get("test", {}))
    return {
        "name": name,
        "title": about.get("title", name),
        "data": data.get("name", ""),
        "licence": data.get("licence", ""),
        "measure": test.get("measure"),
        "score": test.get("score"),
        "interval": test.get("interval"),
        "parameters": description.get("parameters"),
        "bytes": sum(path.stat().st_size for path in folder.iterdir() if path.is_file()),
        "labels": description.get("answer", {}).get("names", []),
    }
