"""`regard train`: train a model on labelled sentences, recordings, pictures, ..., evaluate it and save it."""

from collections.abc import Callable

import typer

from regard.cli.arguments.command import Command, command_with
from regard.cli.arguments.train_options import TrainOptions
from regard.cli.startup import import_torch
from regard.tasks.registry import TASKS
from regard.tasks.task import Task

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def _train(context: typer.Context) -> None:
    """Train a model on your own data, or repeat the training of one that comes with the package.

    \b
    Examples:
      regard train tagger --data ud-english-ewt --out english
      regard train classifier --data sst2 --out sentiment
      regard train seq2seq --data multi30k --label de-en --out translator
      regard train synthesis --data fsdd-strings --label speech --out speaker
      regard train tagger --help
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _command(task: Task) -> Callable[..., None]:
    """The command that trains models of one kind; the kinds differ in their help and their options."""

    def run(options: TrainOptions) -> None:
        # Here and not above: these bring torch, for which --help and a mistyped option needn't wait.
        import_torch()
        from regard.cli.output.console import output_console
        from regard.cli.training import train_and_save
        from regard.page import show

        if (page := train_and_save(task, options)) is not None:
            show(page, output_console(), plain=options.plain)

    return command_with(run, TrainOptions, without=task.options_without)


for _task in TASKS.values():
    app.command(_task.name, cls=Command, help=_task.help, short_help=_task.summary)(_command(_task))
