"""`regard train`: from a treebank to a trained, judged and saved tagger."""

import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.options import PlainOption
from regard.cli.train_classifier import classifier
from regard.cli.training import (
    DeviceOption,
    OutOption,
    ProgressOption,
    RecipeOption,
    ResumeOption,
    SeedOption,
    Shown,
    ThreadsOption,
    about_known,
    named_recipe,
    stoppable,
    without_confusions,
)
from regard.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from regard.datasets import Source
    from regard.page import Page
    from regard.tasks import Scores, Tagger

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)
app.command()(classifier)

# Which bundled recipe a data set is trained by if none is named.
_RECIPE_OF = {"ud-english-ewt": "english-pos", "ud-chinese-gsd": "chinese-pos"}
_USUAL = "english-pos"


@app.callback(invoke_without_command=True)
def _train(context: typer.Context) -> None:
    """Train a model on your own data, or repeat the training of one that comes with the package.

    \b
    Examples:
      regard train tagger --data ud-english-ewt --out english
      regard train classifier --data sst2 --out sentiment
      regard train tagger --help
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def tagger(
    data: Annotated[str, typer.Option(metavar="NAME|PATH", help="A data set's name, or a folder of .conllu files.")],
    out: OutOption,
    recipe: RecipeOption = None,
    resume: ResumeOption = False,
    seed: SeedOption = None,
    label: Annotated[str | None, typer.Option(help="The column that labels words  [default: the data set's]")] = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = 1,
    progress: ProgressOption = Shown.auto,
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
    from regard.tasks import RECIPES, train

    source = resolve(data)
    if source.files.get("train") is None or source.files.get("train") == source.files.get("dev"):
        raise ArgumentError(f"`--data` must be a data set or a folder with train and dev files, but {data} isn't.")
    usual = RECIPES[_RECIPE_OF.get(source.name, _USUAL)]
    chosen = named_recipe(recipe, out if resume else None, usual)
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
    with stoppable(out):
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
    scores = {split: trained.evaluate(read(data, split, label)) for split in ("dev", "test") if split in source.files}
    known = [sentence.words for sentence in dev if 3 <= len(sentence.words) <= 9]
    trained.about = {
        **trained.about,
        "title": f"Tagger of {source.name}: {label.upper()}",
        "example": list(known[0] if known else dev[0].words[:9]),
        "scores": {split: without_confusions(score) for split, score in scores.items()},
    }
    folder = trained.save(out / "model")
    show(_page(trained, scores, folder, data), output_console(), plain=plain)


def _about_data(source: "Source", label: str) -> dict[str, Any]:
    """Where the data come from, for the card."""
    import hashlib

    from regard.datasets import CATALOG

    about: dict[str, Any] = {"name": source.name, "label": label}
    if source.name in CATALOG:
        about |= about_known(CATALOG[source.name])
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in source.files.values()}
    return {**about, "files": files}


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
