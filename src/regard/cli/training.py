"""`regard train` for any kind of model: read, train, evaluate, save with a card, and suggest the next commands."""

import dataclasses
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
from regard.errors import ArgumentError, DataError, UnknownNameError, nearest
from regard.files import looks_like_path, similar_paths
from regard.inputs.special_ids import checked_text
from regard.page import Page, Prose, Table
from regard.tasks import RECIPES, Recipe, Task, bundled, train
from regard.tasks.auxiliary import auxiliary_weights
from regard.tasks.card import describe_test_reads
from regard.tasks.intervals import format_interval
from regard.tasks.measure import ACCURACY
from regard.tasks.training.run import RunFolder
from regard.tasks.training.torchrun import is_first

__all__ = ["choose_recipe", "train_and_save"]

Auxiliary = dict[str, list[Any]]

_LONGEST_SHOWN = 80
_UNREAD = "Test was not read. Read it once, when all choices are made:"
_FEW_LABELS = 20


def train_and_save(task: Task, options: TrainOptions) -> Page | None:
    """Train a model, evaluate it on dev, and save it with a card.

    Args:
        task: the kind of the model.
        options: the options of the command line.

    Returns:
        a page with the scores and the next commands; None in all of torchrun's processes but the first.

    Raises:
        ArgumentError: an invalid argument, or `final` without examples for test.
        RegardError: the data can't be read, or training fails.
    """
    data, out, recipe, source, seed = options.data, options.out, options.recipe, options.input, options.seed
    resume, final = options.resume, options.final
    broken = None if options.skip_broken is None else BrokenLines(options.skip_broken, force=options.force)
    found = TaskData.find(task.name, data, options.label, column_names(options.column)).with_splits()
    names = None if options.renamed is None else parse_label_names(options.renamed)
    found = dataclasses.replace(found, names=names, broken=broken)
    examples, dev = found.read("train"), found.read("dev")
    _check_repeats(task, data, examples)
    # Read now, so that a broken line is reported before hours of training.
    test = found.read("test") if "test" in found.splits else []
    if final and not test:
        raise ArgumentError(f"`--final` needs examples for test, but {data} has none. Leave it out.")
    if broken is not None and is_first():
        broken.write()
    chosen = choose_recipe(recipe, out if resume else None, found.usual_recipe(examples, source))
    usual = "Leave it out for the default one."
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
    # A label of the user's own recipe must be in the data; one of a bundled recipe is used if it is.
    chosen, auxiliary = _auxiliary(chosen, found, examples, must=recipe not in RECIPES if recipe else resume)
    _tell(found.summary(examples, chosen.input.kind, because))
    if (division := found.describe_splits()) is not None:
        _tell(division)
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
    if not is_first():
        return None
    run = RunFolder(out)
    with run.locked(resume=True):
        scores, about = {"dev": model.evaluate(dev)}, model.about
        if final:
            scores["test"] = model.evaluate(test)
            about = {**about, "test_reads": about.get("test_reads", 0) + 1}
        # A finished run that is resumed keeps its scores on test.
        evaluated = about.get("scores", {}) | {split: _plain(score) for split, score in scores.items()}
        said = (found.label or "").upper() if found.is_treebank else found.label
        model.about = {
            **about,
            # The current names: the run may have begun with the same examples in another file or in other columns.
            "data": {**found.about(), "splits": model.about["data"]["splits"]},
            "title": f"{task.name.capitalize()} of {found.name}" + (f": {said}" if said else ""),
            "scores": evaluated,
        }
        if found.is_treebank:
            short = [sentence.words for sentence in dev if 3 <= len(sentence.words) <= 9]
            model.about["example"] = list(short[0] if short else dev[0].words[:9])
        if task.predicts_sound:
            model.about["example"] = checked_text(dev[0].source)
        # Saved before the warnings are computed, so that an error there doesn't lose the model.
        folder = model.save(run.model)
        log = run.read_log()
        warned = model_warnings(model, {"train": examples, "dev": dev, "test": test}, scores, log)
        if warned:
            model.about = {**model.about, "warnings": warned}
            model.save(folder)
    # The suggested commands would fail at the lines that were skipped here.
    skipping = ["--skip-broken", str(broken.path)] if broken else []
    commands = _next_commands(model, folder, data, dev, skipping)
    return _page(model, scores, folder, warned, commands, unread=bool(test) and "test" not in evaluated)


def _check_repeats(task: Task, data: str, examples: Sequence[Any]) -> None:
    """Refuse target texts as labels: most occur only once, and a classifier can't predict new ones."""
    if "label" not in task.targets:
        return
    labels = [each.target for each in examples if isinstance(each.target, str)]
    if len(labels) > _FEW_LABELS and 2 * len({*labels}) > len(labels):
        raise ArgumentError(
            f"`--data` must have labels that repeat, to be for a classifier, but {len({*labels}):,} of {len(labels):,} "
            f"in {data} are different. To train a model that writes texts, use regard train seq2seq."
        )


def choose_recipe(named: str | None, resumed: Path | None, usual: Recipe) -> Recipe:
    """The recipe with this name or in this file, else that of the resumed run, else the default one."""
    if named is not None and named in RECIPES:
        return RECIPES[named]
    if named is not None and not Path(named).exists():
        # It is neither a name nor a file, so the error mentions both.
        if not looks_like_path(named):
            error = UnknownNameError("--recipe", named, RECIPES)
            error.args = (str(error).replace("must be one", "must be a JSON file or one", 1),)
            raise error
        near = nearest(named, [*similar_paths(named, ".json"), *RECIPES], cutoff=0.6)
        hint = f" Did you mean {near!r}?" if near else ""
        raise ArgumentError(f"`--recipe` must be a JSON file, but {named} can't be read: it isn't there.{hint}")
    if named is not None:
        return Recipe.read(named)
    if resumed is not None and (begun := RunFolder(resumed).recipe()) is not None:
        return begun
    return usual


def _auxiliary(recipe: Recipe, data: TaskData, examples: list[Any], *, must: bool) -> tuple[Recipe, Auxiliary | None]:
    """The auxiliary targets that a recipe names, and the recipe without those that the data lack."""
    wanted = auxiliary_weights(recipe)
    if not wanted:
        return recipe, None
    found: Auxiliary = {}
    for name in wanted:
        try:
            found[name] = data.auxiliary(name, examples)
        except (DataError, ArgumentError):
            if must:
                raise
            lacks = f"{data.given} has no auxiliary label {name}"
            if data.is_treebank:
                # Distinguish a column with missing values from a missing column.
                path = find_source(data.given).files["train"]
                some = any(True for _ in read_treebank(path, name, on_error=lambda _: None))
                lacks = f"{'a word of ' if some else ''}{data.given} has no {name.upper()}"
            _tell(f"Note: {lacks}, so the recipe is used without it.")
    task = dataclasses.replace(recipe.task, auxiliary={name: wanted[name] for name in found})
    return dataclasses.replace(recipe, task=task), found


@contextmanager
def _stoppable(out: Path) -> Iterator[None]:
    """After Ctrl-C, print how to resume the run."""
    try:
        yield
    except KeyboardInterrupt:
        if (out / "run.json").exists():
            _tell("\nStopped. The same command with --resume continues after the last complete epoch.")
        raise


def _tell(text: str) -> None:
    """Write a note to standard error, in the first of torchrun's processes only."""
    if is_first():
        typer.echo(text, err=True)


def _plain(scores: Any) -> dict[str, Any]:
    """An evaluation for model.json, without the long list of confusions and the time, which can't be reproduced."""
    return {name: value for name, value in dataclasses.asdict(scores).items() if name not in ("confusions", "seconds")}


def _next_commands(
    model: Any, folder: Path, data: str, dev: Sequence[Any], skipping: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The commands to type next: one that predicts, if the command line can hold a source, and one that evaluates."""
    # Disambiguates a folder with the name of a bundled model.
    name = f"./{folder.parent}" if str(folder.parent) in bundled() else str(folder.parent)
    example, kind = model.about.get("example"), model.recipe.input.argument
    ask: list[str] = []
    if model.task.predicts_sound:
        ask = ["regard", "say", name, example, "--out", "said.wav"]
    elif example:
        ask = ["regard", "tag", "--model", name, "--", " ".join(example)]
    elif model.recipe.input.why_no_argument(model.encoder) is None:
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
        f"{model.name}: {model.parameters:,} parameters, {model.target.description}",
        (
            _table(scores, model),
            *((Prose(describe_test_reads(model.about["test_reads"])),) if "test" in scores else ()),
            *(Prose(f"Warning: {each}") for each in warned),
            Prose(f"Saved in {folder}, with a card. What to do next:"),
            *(Prose(shlex.join(step)) for step in steps),
            *((Prose(_UNREAD), Prose(shlex.join(evaluate))) if unread else ()),
        ),
    )


def _to_ask(source: Any, data: str, kind: str) -> str:
    """A source of the data for the command line, or a placeholder."""
    if kind == "folder" and Path(data).is_dir():
        return data
    shown = str(source) if isinstance(source, str | Path) else ""
    # A text that begins with a dash would be taken for an option.
    fit = shown.strip() and len(shown) <= _LONGEST_SHOWN and not shown.startswith("-")
    return shown if fit else kind.upper()


def _table(scores: dict[str, Any], model: Any) -> Table:
    """A table with a row for each split: its score, as training has shown it."""
    said = model.measure.format
    more: dict[str, list[str]] = {}
    # Out-of-vocabulary items are known for words only.
    new = [score.out_of_vocabulary_accuracy for score in scores.values()]
    if any(share is not None for share in new):
        more["out of vocabulary"] = ["" if share is None else ACCURACY.format(share) for share in new]
    if model.measure.name == "RMSE":
        ranks = [score.spearman for score in scores.values()]
        more["Spearman"] = ["undefined" if rank is None else f"{rank:.4f}" for rank in ranks]
    rows = tuple(
        (split, said(score.score), format_interval(score.interval, said), *each, f"{score.examples:,}")
        for (split, score), *each in zip(scores.items(), *more.values(), strict=True)
    )
    counted = "items" if model.task.per_item else "examples"
    columns = ("split", model.measure.name, "95% interval", *more, counted)
    aligned: Any = ("left", *["right"] * (len(columns) - 1))
    return Table(columns, rows, aligned)
