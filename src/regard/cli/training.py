"""What `regard train` does for any kind of model: read, train, evaluate, save with a card, suggest what to do next."""

import dataclasses
import difflib
import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from regard.cli.broken_lines import BrokenLines
from regard.cli.columns import column_names
from regard.cli.model_warnings import model_warnings
from regard.cli.task_data import TaskData
from regard.cli.train_options import TrainOptions
from regard.datasets import find_source, parse_label_names, read_treebank
from regard.errors import ArgumentError, DataError, UnknownNameError
from regard.files import similar_paths
from regard.page import Page, Prose, Table
from regard.tasks import RECIPES, Recipe, Task, bundled, train
from regard.tasks.card import readings_said
from regard.tasks.intervals import interval_said
from regard.tasks.training.run import RunFolder

__all__ = ["train_and_save"]

Auxiliary = dict[str, list[Any]]

_LONGEST_SHOWN = 80
_UNREAD = "Test was not read. Read it once, when nothing more is chosen by it or by dev:"
_FEW_LABELS = 20


def train_and_save(task: Task, options: TrainOptions) -> Page:
    """Train a model of a kind, evaluate it on dev, save it with a card.

    Args:
        task: the kind of the model.
        options: what the command line asked for.

    Returns:
        what to tell the user: the scores, and what to type next.

    Raises:
        ArgumentError: an argument that can't be used, or `final` where there is no test.
        RegardError: data that can't be read, or training that can't go on.
    """
    data, out, recipe, source, seed = options.data, options.out, options.recipe, options.input, options.seed
    resume, final = options.resume, options.final
    broken = None if options.skip_broken is None else BrokenLines(options.skip_broken, force=options.force)
    found = TaskData.find(task.name, data, options.label, column_names(options.column)).divided()
    names = None if options.renamed is None else parse_label_names(options.renamed)
    found = dataclasses.replace(found, names=names, broken=broken)
    examples, dev = found.read("train"), found.read("dev")
    _check_repeats(task, data, examples)
    # Read now, though it is evaluated at the end or later: a broken line is reported before hours of training.
    test = found.read("test") if "test" in found.splits else []
    if final and not test:
        raise ArgumentError(f"`--final` needs examples for test, but {data} has none. Leave it out.")
    if broken is not None:
        broken.write()
    chosen = _recipe(recipe, out if resume else None, found.usual_recipe(examples, source))
    usual = "Leave it out for the usual one."
    if chosen.task.kind != task.name:
        step = usual if recipe in RECIPES else "Set its task."
        raise ArgumentError(f"`--recipe` must be a {task.name}'s, but is a {chosen.task.kind}'s. {step}")
    kinds = found.kinds(examples)
    if chosen.input.kind not in kinds:
        said = " or ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)
        step = usual if recipe in RECIPES else "Set its input."
        raise ArgumentError(f"`--recipe` must read {said}, which {data} holds, but reads {chosen.input.kind}. {step}")
    if source not in (None, chosen.input.kind):
        whose = "the run in --out" if recipe is None else "--recipe"
        raise ArgumentError(f"`--input` must be {chosen.input.kind}, as {whose} has it, but is {source}. Leave it out.")
    because = (
        "as --input says" if source else "as --recipe says" if recipe else "as the run in --out" if resume else None
    )
    if seed is not None:
        chosen = dataclasses.replace(chosen, seed=seed)
    # A column that the user asked for must be there; one of a recipe by name helps where it is.
    chosen, auxiliary = _auxiliary(chosen, found, examples, must=recipe not in RECIPES if recipe else resume)
    typer.echo(found.summary(examples, chosen.input.kind, because), err=True)
    if (division := found.division()) is not None:
        typer.echo(division, err=True)
    with _stoppable(out):
        model = train(
            examples,
            dev,
            recipe=chosen,
            auxiliary=auxiliary,
            out=out,
            resume=resume,
            progress=options.progress.value,
            device=options.device,
            threads=options.threads,
            devices=options.devices,
            matmul=None if options.matmul is None else options.matmul.value,
            data=found.about(),
        )
    scores, about = {"dev": model.evaluate(dev)}, model.about
    if final:
        scores["test"] = model.evaluate(test)
        about = {**about, "test_reads": about.get("test_reads", 0) + 1}
    # A finished run that is resumed keeps what was read of test.
    evaluated = about.get("scores", {}) | {split: _plain(score) for split, score in scores.items()}
    said = (found.label or "").upper() if found.is_treebank else found.label
    model.about = {
        **about,
        # As it is called now: a run may have begun on the same examples elsewhere, in columns of other names.
        "data": {**found.about(), "splits": model.about["data"]["splits"]},
        "title": f"{task.name.capitalize()} of {found.name}" + (f": {said}" if said else ""),
        "scores": evaluated,
    }
    if found.is_treebank:
        short = [sentence.words for sentence in dev if 3 <= len(sentence.words) <= 9]
        model.about["example"] = list(short[0] if short else dev[0].words[:9])
    if task.sounds:
        model.about["example"] = dev[0].source
    # Saved first: a warning must not cost the model.
    folder = model.save(out / "model")
    rows = [json.loads(line) for line in RunFolder(out).log.read_text(encoding="utf-8").splitlines()]
    warned = model_warnings(model, {"train": examples, "dev": dev, "test": test}, scores, rows)
    if warned:
        model.about = {**model.about, "warnings": warned}
        model.save(folder)
    # What was left out here would stop the commands that are suggested.
    skipping = ["--skip-broken", str(broken.path)] if broken else []
    commands = _next_commands(model, folder, data, dev, skipping)
    return _page(model, scores, folder, warned, commands, unread=bool(test) and "test" not in evaluated)


def _check_repeats(task: Task, data: str, examples: Sequence[Any]) -> None:
    """Refuse texts to be written as labels: few of them stand twice, and none that is new could be answered."""
    if "label" not in task.targets:
        return
    labels = [each.target for each in examples if isinstance(each.target, str)]
    if len(labels) > _FEW_LABELS and 2 * len({*labels}) > len(labels):
        raise ArgumentError(
            f"`--data` must have labels that repeat, to be for a classifier, but {len({*labels}):,} of {len(labels):,} "
            f"in {data} are different. If they are texts to be written, take regard train seq2seq."
        )


def _recipe(named: str | None, resumed: Path | None, usual: Recipe) -> Recipe:
    """The recipe of this name or in this file; else that of the run that is resumed; else the usual one."""
    if named is not None and named in RECIPES:
        return RECIPES[named]
    if named is not None and not Path(named).exists():
        # A mistyped name isn't a file either; then both are what it could have been.
        if "." not in named and "/" not in named:
            error = UnknownNameError("--recipe", named, RECIPES)
            error.args = (str(error).replace("must be one", "must be a JSON file or one", 1),)
            raise error
        near = difflib.get_close_matches(named, [*similar_paths(named, ".json"), *RECIPES], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ArgumentError(f"`--recipe` must be a JSON file, but {named} can't be read: it isn't there.{hint}")
    if named is not None:
        return Recipe.read(named)
    if resumed is not None and (begun := RunFolder(resumed).recipe()) is not None:
        return begun
    return usual


def _auxiliary(recipe: Recipe, data: TaskData, examples: list[Any], *, must: bool) -> tuple[Recipe, Auxiliary | None]:
    """The further targets that a recipe asks for, and the recipe without those that the data lack."""
    wanted = getattr(recipe.task, "auxiliary", {})
    if not wanted:
        return recipe, None
    found: Auxiliary = {}
    for name in wanted:
        try:
            found[name] = data.auxiliary(name, examples)
        except (DataError, ArgumentError):
            if must:
                raise
            lacks = f"{data.given} has no {name} to learn beside"
            if data.is_treebank:
                # A file that lacks it here and there is another matter than one that hasn't got it.
                path = find_source(data.given).files["train"]
                some = any(True for _ in read_treebank(path, name, on_error=lambda _: None))
                lacks = f"{'a word of ' if some else ''}{data.given} has no {name.upper()}"
            typer.echo(f"Note: {lacks}, so the recipe's help from it is left out.", err=True)
    task = dataclasses.replace(recipe.task, auxiliary={name: wanted[name] for name in found})
    return dataclasses.replace(recipe, task=task), found


@contextmanager
def _stoppable(out: Path) -> Iterator[None]:
    """Say, when a run is stopped by Ctrl-C, how to go on with it."""
    try:
        yield
    except KeyboardInterrupt:
        if (out / "run.json").exists():
            typer.echo("\nStopped. The same command with --resume goes on from the last whole epoch.", err=True)
        raise


def _plain(scores: Any) -> dict[str, Any]:
    """What a model's description keeps: hundreds of confusions would only make it long, and no clock ticks alike."""
    return {name: value for name, value in dataclasses.asdict(scores).items() if name not in ("confusions", "seconds")}


def _next_commands(
    model: Any, folder: Path, data: str, dev: Sequence[Any], skipping: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The commands to type next: one that asks the model, if a source can be named, and one that evaluates it."""
    # A name of a bundled model's would be taken for that.
    name = f"./{folder.parent}" if str(folder.parent) in bundled() else str(folder.parent)
    example, kind = model.about.get("example"), model.recipe.input.given
    ask: list[str] = []
    if model.task.sounds:
        ask = ["regard", "say", name, example, "--out", "said.wav"]
    elif example:
        ask = ["regard", "tag", "--model", name, "--", " ".join(example)]
    elif model.recipe.input.unnamed(model.encoder) is None:
        ask = ["regard", "predict", name, _to_ask(dev[0].source, data, kind)]
    return ask, ["regard", "evaluate", name, "--data", data, *skipping]


def _page(
    model: Any,
    scores: dict[str, Any],
    folder: Path,
    warned: Sequence[str],
    commands: tuple[list[str], list[str]],
    *,
    unread: bool,
) -> Page:
    ask, evaluate = commands
    steps = [*([ask] if ask else []), [*evaluate, "--split", "dev"]]
    return Page(
        f"{model.name}: {model.parameters:,} parameters, {model.target.said}",
        (
            _table(scores, model),
            *((Prose(readings_said(model.about["test_reads"])),) if "test" in scores else ()),
            *(Prose(f"Warning: {each}") for each in warned),
            Prose(f"Saved in {folder}, with a card. What to do next:"),
            *(Prose(shlex.join(step)) for step in steps),
            *((Prose(_UNREAD), Prose(shlex.join(evaluate))) if unread else ()),
        ),
    )


def _to_ask(source: Any, data: str, kind: str) -> str:
    """A source of the data that can be typed, else what one is."""
    if kind == "folder" and Path(data).is_dir():
        return data
    shown = str(source) if isinstance(source, str | Path) else ""
    # A dash would be taken for an option.
    fit = shown.strip() and len(shown) <= _LONGEST_SHOWN and not shown.startswith("-")
    return shown if fit else kind.upper()


def _table(scores: dict[str, Any], model: Any) -> Table:
    """A row for each split: of a tagger's labels how many are right, of everything else the figure of its kind."""
    if any(score.labels for score in scores.values()):
        # Only of words is it known which of them training had.
        new = any(score.out_of_vocabulary_accuracy is not None for score in scores.values())
        rows = tuple(
            (
                split,
                f"{100 * score.score:.2f}%",
                interval_said(score.interval, lambda share: f"{100 * share:.2f}"),
                *([_share(score.out_of_vocabulary_accuracy)] if new else []),
                f"{score.examples:,}",
            )
            for split, score in scores.items()
        )
        columns = ("split", "right", "95% interval", *(["out of vocabulary"] if new else []), "items")
    else:
        said = model.measure.said
        ranked = model.measure.name == "RMSE"
        rows = tuple(
            (
                split,
                said(score.score),
                interval_said(score.interval, said),
                *(["undefined" if score.spearman is None else f"{score.spearman:.4f}"] if ranked else []),
                f"{score.examples:,}",
            )
            for split, score in scores.items()
        )
        counted = "items" if model.task.per_item else "examples"
        columns = ("split", model.measure.name, "95% interval", *(["Spearman"] if ranked else []), counted)
    return Table(columns, rows, ("left", "right", "right", "right", "right")[: len(columns)])


def _share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2f}%"
