"""`regard train classifier`: from labelled texts, recordings, pictures, ... to a judged and saved classifier."""

import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.options import PlainOption
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
    from regard.page import Page
    from regard.tasks import Classifier, Judged, Recipe

__all__ = ["classifier"]

# Which kind of input reads what a data set holds.
_INPUT_OF = {
    "text": "words",
    "sound": "speech",
    "picture": "pictures",
    "vectors": "vectors",
    "molecule": "molecules",
    "graph": "graphs",
}
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")


def classifier(
    data: Annotated[str, typer.Option(metavar="NAME|PATH", help="A data set's name, a table, or a folder.")],
    out: OutOption,
    recipe: RecipeOption = None,
    resume: ResumeOption = False,
    seed: SeedOption = None,
    label: Annotated[str | None, typer.Option(help="Which label, where a data set has several.")] = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = 1,
    progress: ProgressOption = Shown.auto,
    plain: PlainOption = False,
) -> None:
    """Train a classifier, judge it on dev and test, and save it with a card.

    It gives a source one label, several yes or no, or a number: what the targets are says which. Your own data is a
    folder with train.csv, dev.csv and test.csv (or .tsv, .jsonl), whose columns are text, path or smiles, and label,
    number or target; or a folder train, dev and test, each with a folder of recordings or pictures for each class.
    Killed or stopped by Ctrl-C, a run goes on by --resume and ends with the same weights as one that was never stopped.

    A recipe is a JSON object; what it leaves out has its default: {"width": 64, "input": {"kind": "speech"}}.

    \b
    Examples:
      regard train classifier --data sst2 --out sentiment
      regard train classifier --data fsdd --label speaker --out speakers
      regard train classifier --data my-reviews/ --out mine --recipe small.json --seed 7
      regard evaluate mine --data my-reviews/
    """
    # Here and not above: these bring torch, for which --help and a mistyped option needn't wait.
    from regard.cli.console import output_console
    from regard.datasets import EXAMPLE_SETS, read_examples
    from regard.page import show
    from regard.tasks import train

    known = EXAMPLE_SETS.get(data)
    if known is None and not Path(data).is_dir():
        raise ArgumentError(
            f"`--data` must be one of {', '.join(EXAMPLE_SETS)} or a folder with train and dev, but is {data!r}."
        )
    examples, dev = read_examples(data, "train", label), read_examples(data, "dev", label)
    usual = _usual(_INPUT_OF[known.reads] if known is not None else _input_of(examples[0].source), known)
    chosen = named_recipe(recipe, out if resume else None, usual)
    if chosen.task.kind != "classifier":
        raise ArgumentError(f"`--recipe` must be a classifier's, but is a {chosen.task.kind}'s. Set its task.")
    if seed is not None:
        chosen = dataclasses.replace(chosen, seed=seed)
    about = {"name": data if known is not None else Path(data).name, "label": label or getattr(known, "label", "")}
    with stoppable(out):
        trained = train(
            chosen,
            examples,
            dev,
            out=out,
            resume=resume,
            progress=progress.value,
            device=device,
            threads=threads,
            data={**about, **({} if known is None else about_known(known))},
        )
    scores = {"dev": trained.evaluate(dev)}
    try:
        scores["test"] = trained.evaluate(read_examples(data, "test", label))
    except DataError:
        # A user's own data may have none; that of a catalog has, and a broken one must be told.
        if known is not None:
            raise
    trained.about = {
        **trained.about,
        "title": f"Classifier of {about['name']}" + (f": {about['label']}" if about["label"] else ""),
        "scores": {split: without_confusions(score) for split, score in scores.items()},
    }
    folder = trained.save(out / "model")
    show(_page(trained, scores, folder, data), output_console(), plain=plain)


def _usual(kind: str, known: Any) -> "Recipe":
    from regard.tasks import Recipe

    chinese = known is not None and known.language == "Chinese" and kind == "words"
    return Recipe(task={"kind": "classifier"}, input={"kind": kind, **({"cut": "characters"} if chinese else {})})


def _input_of(source: Any) -> str:
    """Which kind of input reads such a source of a user's own."""
    from torch import Tensor

    if isinstance(source, Path):
        return "pictures" if source.suffix.lower() in _PICTURES else "speech"
    return "vectors" if isinstance(source, Tensor) else "words"


def _page(model: "Classifier", scores: "dict[str, Judged]", folder: Path, data: str) -> "Page":
    from regard.page import Page, Prose, Table
    from regard.tasks import bundled

    said = model.answer.measure.said
    rows = tuple(
        (split, said(score.score), " to ".join(map(said, score.interval)), f"{score.examples:,}")
        for split, score in scores.items()
    )
    columns = ("split", model.answer.measure.name, "95% interval", "examples")
    name = f"./{folder.parent}" if str(folder.parent) in bundled() else str(folder.parent)
    judge = ["regard", "evaluate", name, "--data", data, *([] if "test" in scores else ["--split", "dev"])]
    return Page(
        f"{model.name}: {model.parameters:,} parameters, {model.answer.said}",
        (
            Table(columns, rows, ("left", "right", "right", "right")),
            Prose(f"Saved in {folder}, with a card. What to do next:"),
            Prose(shlex.join(["regard", "predict", name, "-f", "FILE"])),
            Prose(shlex.join(judge)),
        ),
    )
