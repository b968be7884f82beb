"""What `regard compare` and `regard replace` share: the data, the recipe, and the report."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer

from regard.cli.arguments.options import ComparisonOptions, Format
from regard.cli.output.console import output_console
from regard.cli.output.figure_file import FigureFile
from regard.datasets import DATASETS, ColumnNames, find_source
from regard.errors import ArgumentError, UnknownNameError
from regard.files import similar_paths
from regard.lab.compare import compare
from regard.page import Chart, Page, Prose, show
from regard.tasks import NAMED_RECIPES, RECIPES, TASKS, Recipe
from regard.tasks.readers import SplitsReader, find_reader
from regard.tasks.training.pairs_data import auxiliary_weights

__all__ = ["Comparison", "compare_and_show", "find_data", "usual_of"]


def find_data(
    data: str,
    task: str | None,
    label: str | None,
    columns: ColumnNames | None,
    encoding: str | None = None,
    *,
    by_recipe: bool = False,
) -> SplitsReader:
    """The data for a task, which follows from the targets if it isn't given; `by_recipe`: a recipe says so.

    Raises:
        ArgumentError: the data suit no task, or not this one.
        UnknownNameError: there is no such task.
    """
    if task is not None and task not in TASKS:
        raise UnknownNameError("--task", task, TASKS)
    try:
        find_source(data, encoding)
    except UnknownNameError as error:
        if str(error).startswith("`encoding`"):
            raise
        # Later errors would list the data of one task alone.
        raise UnknownNameError(
            "data", data, [*DATASETS, "the path of an existing file or folder"], similar_paths(data)
        ) from None
    if task is not None:
        return _found(
            task, data, label, columns, encoding, "the recipe of a {}" if by_recipe else "regard compare --task {}"
        )
    why: ArgumentError | None = None
    for each in TASKS:
        try:
            found = _found(each, data, label, columns, encoding, "regard compare --task {}")
            examples = found.read("train")
        except UnknownNameError:
            raise
        except ArgumentError as error:
            why = why or error
            continue
        # Texts that don't repeat are targets to write, no labels.
        meant = found.meant_task(examples)
        return found if meant == each else find_data(data, meant, label, columns, encoding)
    raise why or ArgumentError(f"`DATA` must hold examples with targets, but {data} holds none.")


def _found(
    task: str, data: str, label: str | None, columns: ColumnNames | None, encoding: str | None, other: str
) -> SplitsReader:
    return find_reader(data, task, label, columns, encoding=encoding, other=other).with_splits()


class Comparison(NamedTuple):
    """What is compared, and how.

    Args:
        recipe: the default recipe; None: the usual one of the data.
        vary, seeds, minutes, halving, notes: as in `regard.lab.compare.compare`.
    """

    recipe: Recipe | None
    vary: Mapping[str, Sequence[Any]]
    seeds: int
    minutes: float | None = None
    halving: bool = True
    notes: Sequence[str] = ()


def compare_and_show(found: SplitsReader, comparison: Comparison, options: ComparisonOptions, out: Path) -> None:
    """Compare recipes on data, and show the report and the next commands.

    Args:
        found: the data.
        comparison: what is compared.
        options: the options of both commands.
        out: the folder of the results.
    """
    figure = None if options.figure is None else FigureFile(options.figure, force=options.force)
    examples, dev = found.read("train"), found.read("dev")
    # Read now, so that a broken line is reported before hours of training; evaluated at the end.
    test = found.read("test") if "test" in found.splits else None
    recipe = found.usual_recipe(examples) if comparison.recipe is None else comparison.recipe
    if recipe.task.kind != found.task.name:
        raise ArgumentError(f"`--recipe` must be a {found.task.name}'s, but is a {recipe.task.kind}'s. Leave it out.")
    if auxiliary_weights(recipe):
        recipe = dataclasses.replace(recipe, task=dataclasses.replace(recipe.task, auxiliary={}))
        typer.echo("The recipe is used without its auxiliary labels.", err=True)
    typer.echo(found.summary(examples, recipe.input.kind), err=True)
    if (division := found.describe_splits()) is not None:
        typer.echo(division, err=True)
    done = compare(
        examples,
        dev,
        comparison.vary,
        out=out,
        test=test,
        recipe=recipe,
        minutes=comparison.minutes,
        seeds=comparison.seeds,
        halving=comparison.halving,
        processes=options.processes,
        progress=options.progress.value,
        name=found.name,
        notes=comparison.notes,
    )
    if figure is not None:
        figure.write_chart([block for block in done.page.blocks if isinstance(block, Chart)])
    if options.format is Format.json:
        said = {"winner": done.winner, "recipe": done.recipe.to_json(), "model": str(done.folder), "test": done.test}
        typer.echo(json.dumps(said, ensure_ascii=False, indent=2))
        return
    steps = (
        Prose(f"The winner's recipe is {out / 'recipe.json'}, its model {done.folder}."),
        Prose(f"The report with its pictures is {out / 'report.html'}."),
    )
    page = Page(done.page.title, (*done.page.blocks, *steps))
    show(page, output_console(width=options.width, colour=options.colour), plain=options.plain)


def usual_of(recipe: str) -> tuple[str, str | None]:
    """The data and the label that a recipe of regard's was tuned on.

    Raises:
        ArgumentError: it is a file, which names no data.
    """
    if recipe not in RECIPES:
        raise ArgumentError(f"`--data` must name the data, since {recipe} is no recipe that comes with regard.")
    return NAMED_RECIPES[recipe].data, NAMED_RECIPES[recipe].label
