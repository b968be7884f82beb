"""`regard evaluate`: compare the predictions of a model with known targets."""

import dataclasses
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.arguments.options import (
    MOST_LISTED,
    ColourOption,
    ColumnOption,
    EncodingOption,
    Format,
    FormatOption,
    HeaderOption,
    LabelNamesOption,
    PlainOption,
    ScriptOption,
    SkipBrokenOption,
    SkipForceOption,
    WidthOption,
)
from regard.cli.arguments.trusted import load
from regard.cli.startup import import_torch

if TYPE_CHECKING:
    from regard.datasets import ColumnNames
    from regard.page import Block, Page
    from regard.tasks import Evaluation
    from regard.tasks.readers import SplitsReader

__all__ = ["converted", "evaluate"]

_ALL = "all"  # the name of the split, for data that are read as a whole


def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model's name, or its folder.")],
    *,
    data: Annotated[str, typer.Option(metavar="NAME|PATH", help="A data set, a file, or a folder of files.")],
    split: Annotated[str, typer.Option(help="Which split: train, dev or test.")] = "test",
    label: Annotated[str | None, typer.Option(help="The column with the true labels  [default: the model's]")] = None,
    column: ColumnOption = None,
    header: HeaderOption = None,
    encoding: EncodingOption = None,
    script: ScriptOption = None,
    renamed: LabelNamesOption = None,
    skip_broken: SkipBrokenOption = None,
    force: SkipForceOption = False,
    top: Annotated[
        int, typer.Option(metavar="N", min=0, max=MOST_LISTED, help="Number of labels and confusions to list.")
    ] = 8,
    format: FormatOption = Format.text,
    plain: PlainOption = False,
    width: WidthOption = None,
    color: ColourOption = None,
) -> None:
    """Compare a model's predictions with known targets: how often it is right, and where it goes wrong.

    Choose recipes and models with --split dev, and read test, the default, once at the end.

    A tagger gets the words of the data; it doesn't split the text itself. A single file is evaluated as a whole,
    whatever --split says (in JSON its split is "all"), unless the model was trained on it: then it is split in the same
    way again. Columns that --column doesn't name are those of the table that the model was trained on. The interval is
    a 95% confidence interval: it shows how much the score depends on the choice of examples.

    \b
    Examples:
      regard evaluate english-pos --data ud-english-ewt
      regard evaluate english-pos --data ud-english-ewt --split dev --format json
      regard evaluate my-run/ --data my-treebank/ --label xpos
      regard evaluate sentiment/ --data sst2
      regard evaluate frames/ --data fsdd-strings
    """
    # Here and not above: these bring torch, for which --help and a mistyped option needn't wait.
    import_torch()
    from regard.cli.answering.model_checks import check_script
    from regard.cli.arguments.broken_lines import BrokenLines, raise_with_option
    from regard.cli.arguments.columns import column_names
    from regard.cli.output.console import output_console
    from regard.page import Prose, show
    from regard.page.numbers import counted
    from regard.tasks.judging.whole_sets import describe_unlike
    from regard.tasks.readers import find_reader

    broken = None if skip_broken is None else BrokenLines(skip_broken, force=force, encoding=encoding)
    loaded = load(model)
    columns = _columns_of(loaded, data, column_names(column, header), encoding)
    if broken is not None:
        broken.columns = columns
    trained = loaded.about.get("data", {})
    # Of users' own tables, which have one label only, it is the columns that are remembered.
    usual = trained.get("label") or None
    reader = find_reader(
        data, loaded.kind, label, columns, encoding=encoding, usual_label=usual, other="regard train {}"
    )
    on_error = raise_with_option if broken is None else broken.add
    reader = dataclasses.replace(reader, on_error=on_error, opens=broken is not None)
    reader = dataclasses.replace(reader, names=_names_of(loaded, reader, renamed)).split_as(trained)
    if reader.made:
        typer.echo(f"Note: {data} is split by a hash of each source, as for training; this is {split}.", err=True)
    examples = reader.read(split, getattr(loaded.encoder, "profiles", None))
    check_script(loaded, script)
    if script is not None:
        examples = [converted(each, script) for each in examples]
    _tell_of_script(loaded, examples)
    if broken is not None:
        broken.write()
    reader.check_known(loaded.labels, examples)
    scores = loaded.evaluate(examples)
    if format is Format.json:
        named = _ALL if reader.is_whole else split
        about = {"model": loaded.name, "data": data, "split": named, "label": reader.label, "columns": reader.columns}
        if reader.names:
            about["renamed"] = dict(reader.names)
        about |= {**scores.to_json(), "seconds": round(scores.seconds or 0.0, 3)}
        typer.echo(json.dumps(about, ensure_ascii=False, indent=2))
        return
    what = f"all {counted(len(examples), reader.noun)} of {data}" if reader.is_whole else f"{data}, {split}"
    title = f"{loaded.name} on {what}"
    page = _labels_page(title, scores, reader.counts, top) if scores.labels else _page(title, loaded, scores, top)
    if said := describe_unlike(scores.unlike, len(examples) - scores.empty, loaded.name):
        first, *others = page.blocks
        page = dataclasses.replace(page, blocks=(first, Prose(f"Warning: {said}"), *others))
    show(page, output_console(width=width, colour=color), plain=plain)


def _columns_of(model: Any, data: str, given: "ColumnNames | None", encoding: str | None) -> "ColumnNames | None":
    """The given columns, completed by those that the model was trained on, if the data are tables."""
    from regard.cli.arguments.columns import completed
    from regard.datasets import HEADER, check_column_names, match_source

    trained = model.about.get("data", {})
    remembered = trained.get("columns")
    source = match_source(data, encoding)
    if not remembered or source is None or not source.has_columns:
        return given
    check_column_names(remembered)
    if HEADER in (given or {}):
        return given
    # Another table may have a header.
    if trained.get("name") != source.name:
        remembered = {name: column for name, column in remembered.items() if name != HEADER}
    columns = completed(given, remembered)
    if kept := {name: column for name, column in columns.items() if name not in (given or {})}:
        words = [
            word
            for name, column in kept.items()
            for each in ([column] if isinstance(column, str) else column)
            for word in ("--column", f"{name}={each}")
            if name != HEADER
        ]
        if HEADER in kept:
            words += ["--columns", ",".join(kept[HEADER])]
        said = f"Note: the columns are those of the data that {model.name} was trained on: {shlex.join(words)}"
        typer.echo(said, err=True)
    return columns


def converted(example: Any, script: str) -> Any:
    """Convert the source of an example to this script; a list of words is converted word by word."""
    from regard.inputs import convert_script

    if hasattr(example, "words"):
        return dataclasses.replace(example, words=tuple(convert_script(word, script) for word in example.words))
    if isinstance(example.source, str):
        return dataclasses.replace(example, source=convert_script(example.source, script))
    return dataclasses.replace(example, source=[convert_script(word, script) for word in example.source])


def _tell_of_script(model: Any, examples: Sequence[Any]) -> None:
    """Print the number of sources that are Chinese in another script than the training data: they lower the score."""
    from regard.page.numbers import counted

    scripts = [model.other_script(each.words if hasattr(each, "words") else each.source) for each in examples]
    if others := [script for script in scripts if script is not None]:
        typer.echo(
            f"Note: {len(others):,} of {counted(len(scripts), 'source')} {'is' if len(others) == 1 else 'are'} in "
            f"{others[0]} characters, but {model.name} was trained on {model.script} ones, and is wrong more often on "
            f"others. Convert them by --script {model.script}.",
            err=True,
        )


def _names_of(model: Any, data: "SplitsReader", given: str | None) -> "Mapping[str, str] | None":
    """The renamed labels that were given, else those of the model's training, if they occur in the data."""
    from regard.datasets import parse_label_names

    if given is not None:
        return parse_label_names(given)
    remembered = model.about.get("data", {}).get("renamed")
    if not remembered or data.source.dataset is not None:
        return None
    names = {label: name for label, name in remembered.items() if label in data.labels}
    if names:
        said = ",".join(f"{label}={name}" for label, name in names.items())
        typer.echo(
            f"Note: labels are renamed as in the data that {model.name} was trained on: --labels {shlex.quote(said)}",
            err=True,
        )
    return names or None


def _labels_page(title: str, scores: "Evaluation", called: tuple[str, str], top: int) -> "Page":
    from regard.page import Block, Page, Prose, Table

    seconds = scores.seconds or 0.0
    words, sentences = called
    counts = f"{_counted(scores.examples, words)} in {_counted(scores.sources or 0, sentences)}"
    said = [
        f"{100 * scores.accuracy:.2f}% of {counts} {'is' if scores.examples == 1 else 'are'} right "
        f"({_interval(scores, lambda share: f'{100 * share:.2f}')}).",
        f"The mean F1 of {len(scores.labels)} labels is {100 * (scores.macro_f1 or 0.0):.2f}%.",
    ]
    if scores.roc_auc is not None:
        said.append(f"The area under the ROC curve is {scores.roc_auc:.4f}.")
    if scores.out_of_vocabulary_accuracy is not None:
        verb = "doesn't" if scores.out_of_vocabulary == 1 else "don't"
        said.append(
            f"Of {_counted(scores.out_of_vocabulary or 0, 'out-of-vocabulary words')}, which {verb} occur in training, "
            f"{100 * scores.out_of_vocabulary_accuracy:.2f}% are right."
        )
    said += [*_calibration(scores), *_left_out(scores.empty)]
    said.append(f"Tagging took {seconds:.2f} s, {scores.examples / seconds:,.0f} {words} a second.")
    hardest = sorted(scores.labels.items(), key=lambda item: item[1].f1)[:top]
    numbers = tuple(
        (name, f"{100 * s.f1:.1f}%", f"{100 * s.precision:.1f}%", f"{100 * s.recall:.1f}%", f"{s.examples:,}")
        for name, s in hardest
    )
    columns = ("hardest labels", "F1", "precision", "recall", words)
    blocks: list[Block] = [Prose(" ".join(said))]
    if numbers:
        blocks += [Table(columns, numbers, ("left", "right", "right", "right", "right"))]
    return Page(title, (*blocks, *_confusions(scores, words, top)))


def _counted(count: int, nouns: str) -> str:
    """A count with its noun, given in the plural."""
    from regard.page.numbers import counted

    return counted(count, nouns.removesuffix("s"))


def _interval(scores: "Evaluation", said: Callable[[float], str]) -> str:
    from regard.tasks.judging.intervals import format_interval

    if scores.interval is None:
        return f"no 95% interval: {scores.method}"
    return f"95% interval {format_interval(scores.interval, said)}; {scores.method}"


def _calibration(scores: "Evaluation") -> list[str]:
    """What is said of the calibration of the probabilities."""
    return [] if scores.calibration is None else [scores.calibration.describe()]


def _left_out(empty: int) -> list[str]:
    from regard.page.numbers import counted

    if not empty:
        return []
    return [f"{counted(empty, 'source')} {'was' if empty == 1 else 'were'} empty and left out."]


def _page(title: str, model: Any, scores: "Evaluation", top: int) -> "Page":
    from regard.page import Page, Prose
    from regard.page.numbers import counted
    from regard.tasks.saving.card import describe_spearman

    said = model.measure.format
    seconds = scores.seconds or 0.0
    called = "item" if model.task.per_item else "example"
    text = (
        f"The {scores.measure} on {counted(scores.examples, called)} is {said(scores.score)} "
        f"({_interval(scores, said)})."
    )
    if scores.macro_f1 is not None:
        text += f" The mean F1 of the labels is {100 * scores.macro_f1:.2f}%."
    text += "".join(
        f" {name[0].upper()}{name[1:]}: {value if isinstance(value, str) else f'{value:.4f}'}."
        for name, value in scores.more.items()
    )
    if scores.r2 is not None:
        text += f" The share of the variance that is explained (R2) is {scores.r2:.4f}."
    if model.measure.name == "RMSE":
        text += f" {describe_spearman(scores.spearman, scores.examples)}."
    text += "".join(f" {each}" for each in (*_calibration(scores), *_left_out(scores.empty)))
    text += f" Prediction took {seconds:.2f} s."
    return Page(title, (Prose(text), *_confusions(scores, "examples", top)))


def _confusions(scores: "Evaluation", counted: str, top: int) -> "list[Block]":
    """The pairs of labels that are confused most often; `counted` says what is counted."""
    from regard.page import Heading, Table

    if not top or not scores.confusions:
        return []
    rows = tuple((true, given, f"{count:,}") for true, given, count in scores.confusions[:top])
    columns = ("true label", "label given", counted)
    return [Heading("Most frequent confusions"), Table(columns, rows, ("left", "left", "right"))]
