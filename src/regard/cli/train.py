"""`regard train`: from a treebank to a trained, judged and saved tagger."""

import dataclasses
import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.options import PlainOption
from regard.errors import ArgumentError, DataError, UnknownNameError

if TYPE_CHECKING:
    from regard.datasets import Source
    from regard.page import Page
    from regard.tasks import Recipe, Scores, Tagger

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)

# Which bundled recipe a data set is trained by if none is named.
_RECIPE_OF = {"ud-english-ewt": "english-pos", "ud-chinese-gsd": "chinese-pos"}
_USUAL = "english-pos"


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
      regard train tagger --help
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def tagger(
    data: Annotated[str, typer.Option(metavar="NAME|PATH", help="A data set's name, or a folder of .conllu files.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder, for checkpoints, log and model.")],
    recipe: Annotated[
        str | None,
        typer.Option(metavar="FILE|NAME", help="A JSON file, or a bundled model's name  [default: by data set]"),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Another seed than the recipe's.")] = None,
    label: Annotated[str | None, typer.Option(help="The column that labels words  [default: the data set's]")] = None,
    device: Annotated[str, typer.Option(help="cpu, gpu, or auto: a GPU if there is one.")] = "auto",
    threads: Annotated[int, typer.Option(metavar="N", help="How many threads of the CPU.")] = 1,
    progress: Annotated[Shown, typer.Option(help="How to show how far it is.")] = Shown.auto,
    plain: PlainOption = False,
) -> None:
    """Train a tagger, judge it on dev and test, and save it with a card.

    The folder needs a file for train, one for dev and, to judge it in the end, one for test, each with that word in
    its name: en-train.conllu. Killed or stopped by Ctrl-C, a run goes on by --resume and ends with the same weights
    as one that was never stopped.

    A recipe is a JSON object; what it leaves out has its default: {"width": 64, "epochs": 5}.

    \b
    Examples:
      regard train tagger --data ud-english-ewt --out english
      regard train tagger --data ud-english-ewt --out english --resume
      regard train tagger --data my-treebank/ --out mine --recipe small.json --seed 7
      regard evaluate mine --data my-treebank/
    """
    # Here and not above: these bring torch, for which --help and a mistyped option needn't wait.
    from regard.cli.console import output_console
    from regard.datasets import read, read_treebank, resolve
    from regard.page import show
    from regard.tasks import train

    source = resolve(data)
    if source.files.get("train") is None or source.files.get("train") == source.files.get("dev"):
        raise ArgumentError(f"`--data` must be a data set or a folder with train and dev files, but {data} isn't.")
    chosen = _recipe(recipe, source.name, out if resume else None)
    if seed is not None:
        chosen = dataclasses.replace(chosen, seed=seed)
    label = label or source.label
    sentences, dev = read(data, "train", label), read(data, "dev", label)
    auxiliary: dict[str, list[tuple[str, ...]]] = {}
    wanted = chosen.task.auxiliary
    for name in wanted:
        try:
            auxiliary[name] = [sentence.labels for sentence in read(data, "train", name)]
        except DataError:
            # A column that the user asked for must be there; one of a bundled recipe helps where it is.
            if recipe is not None or resume:
                raise
            # A file that lacks it here and there is another matter than one that hasn't got it.
            some = any(True for _ in read_treebank(source.files["train"], name, problem=lambda _: None))
            lacks = f"a word of {data} has no {name.upper()}" if some else f"{data} has no {name.upper()}"
            typer.echo(f"Note: {lacks}, so the recipe's help from it is left out.", err=True)
    task = dataclasses.replace(chosen.task, auxiliary={name: wanted[name] for name in auxiliary})
    chosen = dataclasses.replace(chosen, task=task)
    try:
        trained = train(
            chosen,
            sentences,
            dev,
            auxiliary=auxiliary,
            out=out,
            resume=resume,
            progress=progress.value,
            device=device,
            threads=threads,
            data=_about_data(source, label),
        )
    except KeyboardInterrupt:
        if (out / "run.json").exists():
            typer.echo("\nStopped. The same command with --resume goes on from the last whole epoch.", err=True)
        raise
    scores = {split: trained.evaluate(read(data, split, label)) for split in ("dev", "test") if split in source.files}
    known = [sentence.words for sentence in dev if 3 <= len(sentence.words) <= 9]
    trained.about = {
        **trained.about,
        "title": f"Tagger of {source.name}: {label.upper()}",
        "example": list(known[0] if known else dev[0].words[:9]),
        "scores": {split: _without_confusions(score) for split, score in scores.items()},
    }
    folder = trained.save(out / "model")
    show(_page(trained, scores, folder, data), output_console(), plain=plain)


def _recipe(named: str | None, data: str, resumed: Path | None) -> "Recipe":
    from regard.tasks import RECIPES, Recipe
    from regard.tasks.run import RunFolder

    if named in RECIPES:
        return RECIPES[named]
    if named is not None:
        # A mistyped name isn't a file either; then both are what it could have been.
        if not Path(named).exists() and "." not in named and "/" not in named:
            error = UnknownNameError("--recipe", named, RECIPES)
            error.args = (str(error).replace("must be one", "must be a JSON file or one", 1),)
            raise error
        return Recipe.read(named)
    if resumed is not None and (begun := RunFolder(resumed).recipe()) is not None:
        return begun
    return RECIPES[_RECIPE_OF.get(data, _USUAL)]


def _about_data(source: "Source", label: str) -> dict[str, Any]:
    """Where the data come from, for the card."""
    import hashlib

    from regard.datasets import CATALOG

    about: dict[str, Any] = {"name": source.name, "label": label}
    if source.name in CATALOG:
        known = CATALOG[source.name]
        about |= {"title": known.title, "licence": known.licence, "source": known.source, "citation": known.citation}
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in source.files.values()}
    return {**about, "files": files}


def _without_confusions(scores: "Scores") -> dict[str, Any]:
    """What a model's description keeps: hundreds of confusions would only make it long, and no clock ticks alike."""
    return {name: value for name, value in scores.to_json().items() if name not in ("confusions", "seconds")}


def _page(tagger: "Tagger", scores: "dict[str, Scores]", folder: Path, data: str) -> "Page":
    from regard.page import Page, Prose, Table
    from regard.tasks import bundled

    rows = tuple(
        (
            split,
            f"{100 * score.accuracy:.2f}%",
            f"{100 * score.interval[0]:.2f} to {100 * score.interval[1]:.2f}",
            "" if score.unseen_accuracy is None else f"{100 * score.unseen_accuracy:.2f}%",
            f"{score.words:,}",
        )
        for split, score in scores.items()
    )
    columns = ("split", "right", "95% interval", "unseen words", "words")
    # A name of a bundled model's would be taken for that.
    name = f"./{folder.parent}" if str(folder.parent) in bundled() else str(folder.parent)
    judge = ["regard", "evaluate", name, "--data", data]
    if "test" not in scores:
        judge += ["--split", "dev"]
    return Page(
        f"{tagger.name}: {tagger.parameters:,} parameters, {len(tagger.labels)} labels",
        (
            Table(columns, rows, ("left", "right", "right", "right", "right")),
            Prose(f"Saved in {folder}, with a card. What to do next:"),
            Prose(shlex.join(["regard", "tag", "--model", name, "--", " ".join(tagger.about["example"])])),
            Prose(shlex.join(judge)),
        ),
    )
