"""`regard compare`: which recipe of a grid is best on your data."""

import re
from typing import Annotated

import typer

from regard.cli.arguments.command import command_with
from regard.cli.arguments.options import (
    MOST_SEEDS,
    ColumnOption,
    ComparisonOptions,
    EncodingOption,
    HeaderOption,
    ResultsOption,
)
from regard.cli.startup import import_torch
from regard.errors import ArgumentError
from regard.tasks.registry import TASKS

__all__ = ["compare"]

_MOST_HOURS = 10_000
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?")
*_TASKS, _LAST = TASKS


def _compare(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A data set's name, a file, or a folder.")],
    *,
    vary: Annotated[
        list[str], typer.Option(metavar="FIELD=VALUE,...", help="Values of a field of the recipe; repeatable.")
    ],
    out: ResultsOption,
    # Named as the argument of `compare`, so that an error on that names the option.
    minutes: Annotated[
        str | None,
        typer.Option("--budget", metavar="TIME", help="Take about so long: 30m, 1h30m  [default: what it takes]"),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(metavar="FILE|NAME", help="The default recipe: a JSON file, or a name  [default: by data]"),
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="TASK", help=f"{', '.join(_TASKS)} or {_LAST}  [default: by data]")
    ] = None,
    label: Annotated[str | None, typer.Option(help="What to predict, if there is a choice  [default: by data set]")] = (
        None
    ),
    column: ColumnOption = None,
    header: HeaderOption = None,
    encoding: EncodingOption = None,
    seeds: Annotated[
        int, typer.Option(metavar="N", min=2, max=MOST_SEEDS, help="Seeds of each candidate in the last round.")
    ] = 3,
    options: ComparisonOptions,
) -> None:
    """Find the recipe that is best on your data, among all combinations of the values that you name.

    All combinations are trained for a few epochs, a third of them for three times as many, and so on; the last three
    and the default recipe are trained in full, with several seeds. Dev decides. Test is read once, at the end, by the
    winner and the default.

    A command that was stopped continues when it is repeated. DIR then holds the report (report.html), every run
    (runs.jsonl), the winner's recipe (recipe.json) and its model.

    \b
    Examples:
      regard compare reviews.csv --vary score=additive,scaled_dot --vary position=none,rotary --out compared
      regard compare sst2 --vary network=attention,bidirectional --vary layers=1,2 --budget 30m --out compared
      regard train classifier --data reviews.csv --recipe compared/recipe.json --out mine
    """
    import_torch()
    from regard.cli.arguments.columns import column_names
    from regard.cli.comparing import Comparison, compare_and_show, find_data
    from regard.cli.training import choose_recipe
    from regard.lab.candidates import check_vary, grid, parse_vary
    from regard.tasks import Recipe

    fields = parse_vary(vary)
    given = None if recipe is None else choose_recipe(recipe, None, Recipe())
    by_recipe = False
    # Before the data are read, which may take minutes.
    if given is None:
        check_vary(fields, task)
    else:
        grid(given, fields)
        by_recipe, task = task is None, task or given.task.kind
    budget = None if minutes is None else _minutes(minutes)
    found = find_data(data, task, label, column_names(column, header), encoding, by_recipe=by_recipe)
    compare_and_show(found, Comparison(given, fields, seeds, minutes=budget), options, out)


def _minutes(budget: str) -> float:
    """The minutes of a duration of hours, minutes and seconds.

    Raises:
        ArgumentError: it has another form, or is no time at all.

    Example:
        >>> _minutes("1h30m"), _minutes("45s")
        (90.0, 0.75)
    """
    found = _DURATION.fullmatch(budget.strip())
    hours, minutes, seconds = (float(each or 0) for each in (found.groups() if found else ("", "", "")))
    total = 60 * hours + minutes + seconds / 60
    if not total:
        raise ArgumentError(f"`--budget` must be a time such as 30m, 1h30m or 90s, but is {budget!r:.60}.")
    if total > 60 * _MOST_HOURS:
        raise ArgumentError(f"`--budget` must be {_MOST_HOURS:,} hours at most, but is {budget!r:.60}.")
    return total


compare = command_with(_compare, ComparisonOptions)
