"""`regard train`: train a model on labelled sentences, recordings, pictures, ..., evaluate it and save it."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from regard.cli.arguments.command import Command, command_with
from regard.cli.arguments.options import (
    MOST_PROCESSES,
    ColumnOption,
    EncodingOption,
    HeaderOption,
    LabelNamesOption,
    PlainOption,
    Shown,
    SkipBrokenOption,
    SkipForceOption,
)
from regard.cli.startup import import_torch
from regard.tasks.registry import TASKS
from regard.tasks.task import Task

__all__ = ["Precision", "TrainOptions", "app"]

app = typer.Typer(rich_markup_mode=None)


class Precision(StrEnum):
    """The precision of float32 matrix products, as in `torch.set_float32_matmul_precision`."""

    highest = "highest"
    high = "high"
    medium = "medium"


class Tuned(StrEnum):
    """What of a base is trained: the names of `tasks.pretrained.tuning.TUNED`, which would bring torch."""

    all = "all"
    layers = "layers"
    adapters = "adapters"
    head = "head"


class TrainOptions(NamedTuple):
    """The options of `regard train`, which all kinds of tasks share."""

    data: Annotated[str, typer.Option(metavar="NAME|PATH", help="A data set's name, a file, or a folder.")]
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder, for checkpoints, log and model.")]
    recipe: Annotated[
        str | None,
        typer.Option(metavar="FILE|NAME", help="A JSON file, or the name of a recipe  [default: by data set]"),
    ] = None
    base: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Fine-tune a pretrained model: a local folder of save_pretrained."),
    ] = None
    tune: Annotated[
        Tuned | None,
        typer.Option(
            help="What of --base to train: all, the last layers, adapters (LoRA), or the head  [default: by data]"
        ),
    ] = None
    input: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="How to read the sources, if there is a choice  [default: by data]"),
    ] = None
    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Read texts by static vectors: a text file of GloVe or word2vec, or a folder of model2vec.",
        ),
    ] = None
    no_search: Annotated[
        bool,
        typer.Option("--no-search", help="Train the default network, without comparing it with others first."),
    ] = False
    ensemble: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            max=100,
            help="Train N networks and predict by the mean of their outputs. It takes N times as long.",
        ),
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False
    final: Annotated[bool, typer.Option("--final", help="Also evaluate on test: once, when all choices are made.")] = (
        False
    )
    seed: Annotated[int | None, typer.Option(metavar="N", help="A seed  [default: the recipe's]")] = None
    label: Annotated[str | None, typer.Option(help="What to predict, if there is a choice  [default: by data set]")] = (
        None
    )
    column: ColumnOption = None
    header: HeaderOption = None
    encoding: EncodingOption = None
    renamed: LabelNamesOption = None
    skip_broken: SkipBrokenOption = None
    force: SkipForceOption = False
    device: Annotated[str, typer.Option(help="cpu, gpu, or auto: a GPU if there is one.")] = "auto"
    threads: Annotated[int, typer.Option(metavar="N", min=1, max=MOST_PROCESSES, help="Number of CPU threads.")] = 1
    devices: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=MOST_PROCESSES,
            help="Number of CPU processes that share each batch. On several machines torchrun starts them.  "
            "[default: --context-parallel]",
        ),
    ] = None
    context_parallel: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            max=MOST_PROCESSES,
            help="Number of these that share each sequence, where one is too long for a process's memory. Short "
            "sequences gain nothing.",
        ),
    ] = 1
    matmul: Annotated[
        Precision | None,
        typer.Option(help="Precision of float32 matrix products: high and medium may be faster."),
    ] = None
    progress: Annotated[Shown, typer.Option(help="How to show progress.")] = Shown.auto
    plain: PlainOption = False


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
