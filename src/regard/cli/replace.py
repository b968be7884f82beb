"""`regard replace`: a recipe with one part swapped for another, side by side."""

import dataclasses
from typing import Annotated

import typer

from regard.cli.arguments.command import command_with
from regard.cli.arguments.options import (
    MOST_EPOCHS,
    MOST_SEEDS,
    ColumnOption,
    ComparisonOptions,
    EncodingOption,
    HeaderOption,
    ResultsOption,
)
from regard.cli.startup import import_torch

__all__ = ["replace"]


def _replace(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A part of a recipe, such as rnn.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="What stands in its place, such as attention.")],
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A JSON file, or the name of a recipe.")],
    *,
    out: ResultsOption,
    data: Annotated[
        str | None,
        typer.Option(metavar="NAME|PATH", help="A data set's name, a file, or a folder  [default: the recipe's]"),
    ] = None,
    label: Annotated[str | None, typer.Option(help="What to predict, if there is a choice  [default: by data]")] = None,
    column: ColumnOption = None,
    header: HeaderOption = None,
    encoding: EncodingOption = None,
    epochs: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=MOST_EPOCHS, help="Epochs  [default: the recipe's]")
    ] = None,
    seeds: Annotated[int, typer.Option(metavar="N", min=2, max=MOST_SEEDS, help="Seeds of each.")] = 3,
    options: ComparisonOptions,
) -> None:
    """Train a recipe twice, with OLD and with NEW in its place, and compare them side by side.

    OLD and NEW are two values of one field: networks (rnn, attention, convolution, ...), architectures of a seq2seq
    recipe (recurrent, attentive, transformer), scores, normalisers or positions. Everything else is equal. Dev decides,
    and test is read once.

    "You can try to replace any thing that has been done by RNN with self-attention", says a figure of the lecture
    notes (000): try it.

    \b
    Examples:
      regard replace rnn attention english-pos --out replaced
      regard replace scaled_dot additive mine/recipe.json --data reviews.csv --out replaced
    """
    import_torch()
    from regard.cli.arguments.columns import column_names
    from regard.cli.comparing import Comparison, compare_and_show, find_data, usual_of
    from regard.cli.training import choose_recipe
    from regard.lab.candidates import grid, swapped_recipe, with_kept_fields
    from regard.tasks import Recipe

    named = choose_recipe(recipe, None, Recipe())
    base, field, value = swapped_recipe(named, old, new)
    if epochs is not None:
        base = dataclasses.replace(base, epochs=epochs)
    # Before the data are read, which may take minutes.
    vary, notes = with_kept_fields(named, base, field, value)
    grid(base, vary)
    if data is None:
        data, usual = usual_of(recipe)
        label = label or usual
    found = find_data(data, base.task.kind, label, column_names(column, header), encoding, by_recipe=True)
    compare_and_show(found, Comparison(base, vary, seeds, halving=False, notes=notes), options, out)


replace = command_with(_replace, ComparisonOptions)
