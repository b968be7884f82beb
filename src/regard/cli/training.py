"""`regard train` for any kind of model: read, train, evaluate, save with a card, and suggest the next commands."""

import dataclasses
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from regard.cli.arguments.broken_lines import BrokenLines, raise_with_option, with_option
from regard.cli.arguments.columns import column_names
from regard.cli.train import TrainOptions
from regard.datasets import PICTURES, SOUNDS, parse_label_names
from regard.errors import ArgumentError, DataError, UnknownNameError, nearest
from regard.files import looks_like_path, similar_paths
from regard.page import Code, Page, Prose, Table
from regard.tasks import RECIPES, Experiment, Recipe, Task, Trained, bundled
from regard.tasks.examples import as_pairs
from regard.tasks.judging.intervals import format_interval
from regard.tasks.judging.measure import ACCURACY
from regard.tasks.readers import find_reader
from regard.tasks.saving.card import describe_test_reads
from regard.tasks.training.run import RunFolder
from regard.tasks.training.torchrun import is_first

__all__ = ["choose_recipe", "train_and_save"]

_LONGEST_SHOWN = 80
_UNREAD = "Test was not read. Read it once, when all choices are made:"


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
    recipe, source, resume = options.recipe, options.input, options.resume
    columns = column_names(options.column, options.header)
    broken = (
        None
        if options.skip_broken is None
        else BrokenLines(options.skip_broken, force=options.force, encoding=options.encoding)
    )
    if broken is not None:
        broken.columns = columns
    reader = find_reader(
        options.data, task.name, options.label, columns, encoding=options.encoding, other="regard train {}"
    ).with_splits()
    names = None if options.renamed is None else parse_label_names(options.renamed)
    on_error = raise_with_option if broken is None else broken.add
    # Files are opened in training anyway: before it only if those that are broken shall be left out.
    reader = dataclasses.replace(reader, names=names, on_error=on_error, opens=broken is not None)
    splits = reader.read_all()
    if options.final:
        splits.check_test()
    if broken is not None and is_first():
        broken.write()
    examples = list(splits.train)
    with _naming_option():
        tune = None if options.tune is None else options.tune.value
        usual = reader.usual_recipe(examples, source, base=options.base, tune=tune, vectors=options.vectors)
    begins = options.base or options.vectors
    searches = recipe is None and not resume and (begins or reader.own_recipe(source) is None)
    chosen = _tuned(choose_recipe(recipe, options.out if resume else None, usual), options)
    if options.vectors is not None:
        chosen = _by_vectors(chosen, usual)
    reader.check_recipe(chosen, examples, ours=recipe in RECIPES)
    if source not in (None, chosen.input.kind):
        whose = "the run in --out" if recipe is None else "--recipe"
        raise ArgumentError(f"`--input` must be {chosen.input.kind}, as {whose} has it, but is {source}. Leave it out.")
    reasons = {
        "as --input says": source,
        "as --vectors says": options.vectors,
        "as --recipe says": recipe,
        "as --base says": options.base,
        "as the run in --out": resume,
    }
    because = next((reason for reason, given in reasons.items() if given), None)
    if options.seed is not None:
        chosen = dataclasses.replace(chosen, seed=options.seed)
    if options.ensemble is not None:
        chosen = dataclasses.replace(chosen, members=options.ensemble)
    # A label of the user's own recipe must be in the data; one of a bundled recipe is used if it is.
    must = recipe not in RECIPES if recipe else resume
    chosen, splits, lacking = reader.with_auxiliary(chosen, splits, must=must)
    for note in lacking:
        _tell(f"Note: {note}")
    _tell(reader.summary(examples, chosen.input.kind, because))
    if (division := reader.describe_splits()) is not None:
        _tell(division)
    with _stoppable(options.out), _naming_option():
        trained = Experiment(chosen, splits, options.out).run(
            resume=resume,
            search=bool(searches) and not options.no_search,
            final=options.final,
            progress=options.progress.value,
            device=options.device,
            threads=options.threads,
            devices=options.devices,
            context_parallel=options.context_parallel,
            matmul=None if options.matmul is None else options.matmul.value,
        )
    # The suggested commands would fail at the lines that were skipped here.
    alike = ["--skip-broken", str(broken.path)] if broken else []
    alike += [] if options.encoding is None else ["--encoding", options.encoding]
    return _page(trained, options.out, options.data, alike) if is_first() else None


def _tuned(recipe: Recipe, options: TrainOptions) -> Recipe:
    """The recipe with what --tune and --base say."""
    if options.base is not None and options.recipe is not None:
        raise ArgumentError("`--base` must be left out beside `--recipe`, whose input.base names one.")
    if options.base is not None and options.resume and Path(recipe.input.base) != Path(options.base):
        raise ArgumentError(
            f"`--base` must be that of the run in --out, {recipe.input.base}, but is {options.base}. Leave it out."
        )
    if options.tune is None:
        return recipe
    if options.base is None:
        raise ArgumentError("`--tune` says what of a base is trained, but there is no `--base`. Name its folder.")
    return dataclasses.replace(recipe, input=dataclasses.replace(recipe.input, tuned=options.tune.value))


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


def _by_vectors(chosen: Recipe, usual: Recipe) -> Recipe:
    """The recipe with the path of `--vectors`, which the usual one has.

    Raises:
        ArgumentError: it reads something else than static vectors.
    """
    if chosen.input.kind != usual.input.kind:
        raise ArgumentError(
            f"`--vectors` must be left out, as the recipe reads {chosen.input.kind}, or `--recipe` must read "
            f"{usual.input.kind}."
        )
    return dataclasses.replace(chosen, input=dataclasses.replace(chosen.input, path=usual.input.path))


@contextmanager
def _stoppable(out: Path) -> Iterator[None]:
    """After Ctrl-C, print how to resume the run."""
    try:
        yield
    except KeyboardInterrupt:
        if (out / "run.json").exists():
            _tell("\nStopped. The same command with --resume continues after the last complete epoch.")
        raise


@contextmanager
def _naming_option() -> Iterator[None]:
    """After a sound or picture that can't be read, name the option that leaves it out."""
    try:
        yield
    except DataError as error:
        if Path(str(error.path)).suffix.lower() not in (*SOUNDS, *PICTURES):
            raise
        raise with_option(error) from error


def _tell(text: str) -> None:
    """Write a note to standard error, in the first of torchrun's processes only."""
    if is_first():
        typer.echo(text, err=True)


def _page(trained: Trained, out: Path, data: str, alike: Sequence[str]) -> Page:
    model, scores, baseline = trained.model, trained.evaluations, trained.baseline
    # The last line says it.
    better = None if baseline is None else baseline.warning(scores["dev"])
    # Disambiguates a folder with the name of a bundled model.
    name = f"./{out}" if str(out) in bundled() else str(out)
    evaluate = ["regard", "evaluate", name, "--data", data, *alike]
    steps = [*_asking(trained, name, data), [*evaluate, "--split", "dev"]]
    unread = bool(trained.splits.test) and "test" not in model.about["scores"]
    return Page(
        f"{model.name}: {model.parameters:,} parameters, {model.target.description}",
        (
            _table(scores, model),
            *((Prose(describe_test_reads(model.about["test_reads"])),) if "test" in scores else ()),
            *(Prose(f"Warning: {warning}") for warning in trained.warnings if warning != better),
            Prose(f"Saved in {trained.folder}, with a card. What to do next:"),
            # A command that is broken at the end of a line would be another one.
            *(Code(shlex.join(step)) for step in steps),
            *((Prose(_UNREAD), Code(shlex.join(evaluate))) if unread else ()),
            *(() if baseline is None else (Prose(baseline.verdict(scores["dev"])),)),
        ),
    )


def _asking(trained: Trained, name: str, data: str) -> Iterator[list[str]]:
    """A command that predicts, if the command line can hold a source."""
    model, source = trained.model, trained.model.recipe.input
    example = model.about.get("example")
    if model.task.predicts_sound:
        yield ["regard", "say", name, example, "--out", "said.wav"]
    elif example:
        yield ["regard", "tag", "--model", name, "--", " ".join(example)]
    elif source.why_no_argument(model.encoder) is None:
        (first, _), *_ = as_pairs(trained.splits.dev or ())
        yield ["regard", "predict", name, _to_ask(first, data, source.argument)]


def _to_ask(source: Any, data: str, kind: str) -> str:
    """A source of the data for the command line, or a placeholder."""
    if kind == "folder" and Path(data).is_dir():
        return data
    shown = str(source) if isinstance(source, str | Path) else ""
    # A text that begins with a dash would be taken for an option.
    fit = shown.strip() and len(shown) <= _LONGEST_SHOWN and not shown.startswith("-")
    return shown if fit else kind.upper()


def _table(scores: Mapping[str, Any], model: Any) -> Table:
    """A table with a row for each split: its score, as training has shown it."""
    said = model.measure.format
    more: dict[str, list[str]] = {}
    # Which items don't occur in training is known for words only.
    new = [score.out_of_vocabulary_accuracy for score in scores.values()]
    if any(share is not None for share in new):
        more["accuracy on unknown words"] = ["" if share is None else ACCURACY.format(share) for share in new]
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
