"""`regard train`: from labelled sentences, recordings, pictures, ... to a trained, judged and saved model."""

import inspect
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.command import Command
from regard.cli.options import ColumnOption, LabelNamesOption, PlainOption, SkipBrokenOption, SkipForceOption

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)

_TAGGER = """Train a tagger, judge it on dev, and save it with a card.

It gives each word of a sentence, frame of a recording or node of a graph a label. Your own data is a .conllu file,
which is split into train, dev and test by a hash of each sentence (a .txt of the same content is read, too); or a
folder with one for each of them, that word in its name: en-train.conllu; or a folder with profiles.csv and edges.csv.
Killed or stopped by Ctrl-C, a run goes on by --resume and ends with the same weights as one that was never stopped.

A recipe is a JSON object; what it leaves out has its default: {"width": 64, "epochs": 5}.

\b
Examples:
  regard train tagger --data ud-english-ewt --out english
  regard train tagger --data ud-english-ewt --out english --resume
  regard train tagger --data fsdd-strings --label frames --out frames
  regard train tagger --data mine.conllu --out mine --seed 7
  regard train tagger --data my-treebank/ --out mine --recipe small.json
  regard evaluate mine --data my-treebank/
"""
_CLASSIFIER = """Train a classifier, judge it on dev, and save it with a card.

It gives a source one label, several yes or no, or a number: what the targets are says which. Your own data is a table
(.csv, .tsv, .jsonl, or a .txt that holds one), whose columns are text, path or smiles, and label or number, or what
--column says stands for them (of several questions each has a column with 1, 0 or nothing, and --column labels=NAME of
its own); or a folder with a folder of recordings or pictures for each class. Either is split into train, dev and test
by a hash of each source. With splits of your own, name a folder with train.csv, dev.csv and test.csv, or with such
folders. The first line that is printed says how the data are read. A column smiles holds molecules; --input texts reads
them letter by letter. Killed or stopped by Ctrl-C, a run goes on by --resume and ends with the same weights as one that
was never stopped.

A recipe is a JSON object; what it leaves out has its default: {"width": 64, "input": {"kind": "speech"}}.

\b
Examples:
  regard train classifier --data sst2 --out sentiment
  regard train classifier --data fsdd --label speaker --out speakers
  regard train classifier --data reviews.csv --out mine
  regard train classifier --data photos/ --out mine --seed 7
  regard train classifier --data my-reviews/ --out mine --column text=review --column label=stars
  regard train classifier --data reviews.csv --out mine --labels 0=negative,1=positive
  regard train classifier --data reviews.csv --out mine --skip-broken broken.jsonl
  regard evaluate mine --data my-reviews/
"""
_SEQ2SEQ = """Train a model that writes a text for each source, judge it on dev, and save it with a card.

It translates, transcribes, spells: the model decides how long the text is. Your own data is a table (.csv, .tsv,
.jsonl, or a .txt that holds one), whose columns are text or path, and target, or what --column says stands for them. It
is split into train, dev and test by a hash of each source; with splits of your own, name a folder with train.csv,
dev.csv and test.csv. Killed or stopped by Ctrl-C, a run goes on by --resume and ends with the same weights as one that
was never stopped.

A recipe is a JSON object; what it leaves out has its default: {"task": {"kind": "seq2seq", "architecture": "attentive",
"measure": "word error rate"}, "input": {"kind": "speech"}}. The architectures are transformer, attentive (RNNs with
attention) and recurrent (RNNs through one fixed vector).

\b
Examples:
  regard train seq2seq --data multi30k --label de-en --out translator
  regard train seq2seq --data fsdd-strings --out transcriber
  regard train seq2seq --data pairs.csv --out mine
  regard evaluate mine --data pairs.csv
"""
_SYNTHESIS = """Train a model that says a sound for each source, judge it on dev, and save it with a card.

It says filter banks, step by step, and decides itself when it is through; regard say makes them heard. Its score
is the error of each frame after the true ones before it: how well one understands what it says, listen. Your own data
is a folder with train.csv, dev.csv and test.csv (or .tsv, .jsonl), whose columns are text and sound, the path of a
recording, seen from the table's folder; or what --column says stands for them. Killed or stopped by Ctrl-C, a run goes
on by --resume and ends with the same weights as one that was never stopped.

A recipe is a JSON object; what it leaves out has its default: {"task": {"kind": "synthesis", "together": 3}, "input":
{"kind": "texts", "vocabulary": "characters"}}.

\b
Examples:
  regard train synthesis --data fsdd-strings --label speech --out speaker
  regard say speaker "jackson 4 0 7 1" --out numbers.wav
  regard evaluate speaker --data fsdd-strings
  regard train synthesis --data my-recordings/ --out mine --recipe small.json --seed 7
"""


class Precision(StrEnum):
    """How exactly float32 matrices are multiplied, as `torch.set_float32_matmul_precision` has it."""

    highest = "highest"
    high = "high"
    medium = "medium"


class Shown(StrEnum):
    """How far training is, is shown as this."""

    auto = "auto"
    bar = "bar"
    lines = "lines"
    none = "none"


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


def _command(task: str) -> Callable[..., None]:
    """The command that trains one kind of model: they differ in what they say of themselves."""

    def command(
        data: Annotated[str, typer.Option(metavar="NAME|PATH", help="A data set's name, a file, or a folder.")],
        out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder, for checkpoints, log and model.")],
        recipe: Annotated[
            str | None,
            typer.Option(metavar="FILE|NAME", help="A JSON file, or a recipe's name  [default: by data set]"),
        ] = None,
        input: Annotated[
            str | None,
            typer.Option(metavar="KIND", help="What a source is, where there is a choice  [default: by data]"),
        ] = None,
        resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
        final: Annotated[
            bool, typer.Option("--final", help="Judge it on test, too: once, when nothing more is chosen.")
        ] = False,
        seed: Annotated[int | None, typer.Option(metavar="N", help="Another seed than the recipe's.")] = None,
        label: Annotated[
            str | None, typer.Option(help="What to predict, where there is a choice  [default: by data set]")
        ] = None,
        column: ColumnOption = None,
        renamed: LabelNamesOption = None,
        skip_broken: SkipBrokenOption = None,
        force: SkipForceOption = False,
        device: Annotated[str, typer.Option(help="cpu, gpu, or auto: a GPU if there is one.")] = "auto",
        threads: Annotated[int, typer.Option(metavar="N", help="How many threads of the CPU.")] = 1,
        devices: Annotated[int, typer.Option(metavar="N", help="How many processes share each batch, on the CPU.")] = 1,
        matmul: Annotated[
            Precision | None,
            typer.Option(help="How exactly float32 matrices are multiplied: high and medium may be quicker."),
        ] = None,
        progress: Annotated[Shown, typer.Option(help="How to show how far it is.")] = Shown.auto,
        plain: PlainOption = False,
    ) -> None:
        # Here and not above: these bring torch, for which --help and a mistyped option needn't wait.
        from regard.cli.broken_lines import BrokenLines
        from regard.cli.console import output_console
        from regard.cli.training import train_and_save
        from regard.page import show

        page = train_and_save(
            task,
            data,
            out,
            recipe=recipe,
            source=input,
            resume=resume,
            final=final,
            seed=seed,
            label=label,
            columns=column,
            names=renamed,
            broken=None if skip_broken is None else BrokenLines(skip_broken, force=force),
            device=device,
            threads=threads,
            devices=devices,
            matmul=None if matmul is None else matmul.value,
            progress=progress.value,
        )
        show(page, output_console(), plain=plain)

    signature = inspect.signature(command)
    kept = [each for name, each in signature.parameters.items() if name not in _LACKS[task]]
    command.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return command


# No table holds items, so there would be no column to name; and a text or a sound is no label.
_LACKS = {"tagger": ("column",), "classifier": (), "seq2seq": ("renamed",), "synthesis": ("renamed",)}


_HELP = {"tagger": _TAGGER, "classifier": _CLASSIFIER, "seq2seq": _SEQ2SEQ, "synthesis": _SYNTHESIS}
_SUMMARIES = {
    "tagger": "Label each word, frame or node of a source.",
    "classifier": "Give each source a label, or a number.",
    "seq2seq": "Write a text for each source.",
    "synthesis": "Say a sound for each source.",
}
for _task, _said in _HELP.items():
    app.command(_task, cls=Command, help=_said, short_help=_SUMMARIES[_task])(_command(_task))
