"""`regard steps`: attention number by number, of the notes' examples, of one's own matrices or of a record."""

import json
import math
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from regard.cli.arguments.command import command_with
from regard.cli.arguments.options import (
    ColourOption,
    FigureForceOption,
    FigureOption,
    Format,
    FormatOption,
    PlainOption,
    WidthOption,
)
from regard.cli.output.record_files import check_number, is_record, layer_of, names_of, read_record
from regard.cli.output.standard_output import outliving_reader
from regard.cli.startup import import_torch
from regard.errors import ArgumentError, UnknownNameError
from regard.files import looks_like_path

if TYPE_CHECKING:
    from rich.console import Console

    from regard.inspection.steps import Blank, Matrices, Steps, WorkedExample
    from regard.page import Page

__all__ = ["steps"]

_FIRST = "000"


class _Score(StrEnum):
    dot = "dot"
    scaled_dot = "scaled_dot"
    additive = "additive"
    cosine = "cosine"


class _Weights(StrEnum):
    softmax = "softmax"
    relu = "relu"
    sigmoid = "sigmoid"
    sparsemax = "sparsemax"
    entmax = "entmax"
    budget = "budget"
    top_k = "top_k"
    hard = "hard"


class _Language(StrEnum):
    en = "en"
    zh = "zh"


class StepsOptions(NamedTuple):
    """The options of `regard steps`."""

    query: Annotated[int, typer.Option(metavar="N", help="The query whose row is shown, from 1.")] = 1
    key: Annotated[
        int | None,
        typer.Option(metavar="N", help="The key whose steps are shown  [default: that of the largest weight]"),
    ] = None
    layer: Annotated[int | None, typer.Option(metavar="N", help="The layer of a record, from 1  [default: 1]")] = None
    head: Annotated[int | None, typer.Option(metavar="N", help="The head of a record, from 1  [default: 1]")] = None
    item: Annotated[
        int | None, typer.Option(metavar="N", help="The item of a record's batch, from 1  [default: 1]")
    ] = None
    score: Annotated[
        _Score | None, typer.Option(help="The score; additive has a vector of ones  [default: the example's]")
    ] = None
    weights: Annotated[_Weights | None, typer.Option(help="How scores become weights  [default: softmax]")] = None
    temperature: Annotated[
        float | None,
        typer.Option(metavar="T", help="The temperature of softmax: 0 is hard, inf is uniform  [default: 1]"),
    ] = None
    causal: Annotated[bool, typer.Option("--causal", help="Hide the keys after the query.")] = False
    exercise: Annotated[bool, typer.Option("--exercise", help="Ask for the numbers, and name mistakes.")] = False
    lang: Annotated[_Language, typer.Option(help="The language.")] = _Language.en
    format: FormatOption = Format.text
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write it as an offline page instead.")] = None
    figure: FigureOption = None
    force: FigureForceOption = False
    plain: PlainOption = False
    width: WidthOption = None
    color: ColourOption = None


def _steps(
    example: Annotated[
        str, typer.Argument(metavar="[EXAMPLE]", help="000, 002 or 004, a file of your own, or a record.")
    ] = _FIRST,
    *,
    options: StepsOptions,
) -> None:
    """Follow attention number by number: products, sum, scale, mask, exp, normalise, weighted values, output.

    The examples are those of the lecture notes: 000, three inputs of four features, with and without sqrt(d), beside
    what the note prints; 002, 常威, 打, 来福 with Q = K = V; 004, a search in a shop, with temperatures from hard to
    uniform. A file of your own is JSON, {"query": [[1, 0]], "key": [[1, 1]], "value": [[2, 3]], "items": ["saw"]}, or
    {"x": [[1, 0], [0, 1]]} where all three are the same; or a CSV of such an x, whose first column may name the items.
    A record is a file that `Seen.save` or `regard see --save` wrote of a model; its layers say how scores become
    weights. On the page of --html the numbers of an example, or of your own matrices, can be edited; the rest follows.
    --figure draws all rows at once, in matrix form: I, Q, K, V, the scores, the weights and the output, with the row of
    --query framed.

    \b
    Examples:
      regard steps
      regard steps 002 --lang zh
      regard steps 004 --temperature 0.5
      regard steps mine.json --query 2 --key 1 --causal
      regard steps seen.safetensors --layer 2 --head 3 --query 5
      regard steps --score scaled_dot --exercise
      regard steps 000 --html steps.html
      regard steps mine.json --figure steps.pdf
    """
    of_record = is_record(example)
    _check_options(example, options, of_record)
    # Here and not above: this brings torch, for which --help and a mistyped option needn't wait.
    import_torch()
    outputs = _Outputs(example, options)
    if of_record:
        outputs.show(*_of_record(example, options))
    else:
        _follow_matrices(example, options, outputs)


def _check_options(example: str, options: StepsOptions, of_record: bool) -> None:
    """Check that the options go together, and with what is shown.

    Raises:
        ArgumentError: they don't.
    """
    if of_record:
        _refuse_for_record(example, options)
    for option, value in (("--layer", options.layer), ("--head", options.head), ("--item", options.item)):
        if value is not None and not of_record:
            raise ArgumentError(
                f"`{option}` is for a record, a file that Seen.save wrote, but {example} is none. Leave it out."
            )
    weights = options.weights or _Weights.softmax
    if options.temperature is not None and weights is not _Weights.softmax:
        raise ArgumentError(f"`--temperature` is for softmax, but --weights is {weights}. Leave one of them out.")
    if options.temperature is not None and not options.temperature >= 0:
        raise ArgumentError(f"`--temperature` must be 0 or more, but is {options.temperature}.")
    shows_numbers = {
        "--html": options.html is not None,
        "--figure": options.figure is not None,
        "--format json": options.format is Format.json,
    }
    for option, given in shows_numbers.items():
        if options.exercise and given:
            raise ArgumentError(
                f"`--exercise` asks for the numbers, which `{option}` would show. Leave one of them out."
            )


def _refuse_for_record(record: str, options: StepsOptions) -> None:
    """Refuse what only an example or matrices of one's own can have.

    Raises:
        ArgumentError: such an option is given.
    """
    of_matrices = {
        "--score": options.score is not None,
        "--weights": options.weights is not None,
        "--temperature": options.temperature is not None,
        "--causal": options.causal,
    }
    for option, given in of_matrices.items():
        if given:
            raise ArgumentError(
                f"`{option}` is for an example or your own matrices, but {record} is a record, whose layers have "
                "their own. Leave it out."
            )
    if options.figure is not None:
        raise ArgumentError(
            f"`--figure` draws an example or your own matrices, but {record} is a record. Leave it out, or draw the "
            "record by `regard see MODEL INPUT --figure`."
        )
    if options.exercise:
        raise ArgumentError(
            f"`--exercise` asks for the numbers of an example or of your own matrices, but {record} is a record. "
            "Leave it out."
        )


class _Outputs:
    """Where the steps go: to the terminal as text or as JSON, to a page, to a figure.

    Args:
        example: the argument of the command.
        options: its options.

    Raises:
        ArgumentError: a file can't be written.
    """

    def __init__(self, example: str, options: StepsOptions):
        from regard.cli.output.console import output_console
        from regard.cli.output.figure_file import FigureFile
        from regard.cli.output.html_page import HtmlPage

        self._example, self._options = example, options
        self.console = output_console(width=options.width, colour=options.color)
        self.html = None if options.html is None else HtmlPage(options.html, force=options.force)
        self.figure = None if options.figure is None else FigureFile(options.figure, None, force=options.force)

    def show(self, page: "Page", result: dict[str, Any], editable: str | None = None) -> None:
        """Print the steps, or write their page.

        Args:
            page: the steps.
            result: the same for `--format json`.
            editable: the document of a page whose numbers can be edited, which is written instead of `page`.
        """
        from regard.page import show

        if self._options.format is Format.json:
            with outliving_reader(self.html is not None or self.figure is not None):
                typer.echo(json.dumps(result, ensure_ascii=False, indent=2))
        elif self.html is None:
            with outliving_reader(self.figure is not None):
                show(page, self.console, plain=self._options.plain)
        if self.html is not None and editable is not None:
            self.html.save(editable)
        elif self.html is not None:
            self.html.add(page, heading=False)
            self.html.write(page.title, self._example, self._options.lang)


def _of_record(path: str, options: StepsOptions) -> tuple["Page", dict[str, Any]]:
    """The page of one query of a record, and the same content as JSON."""
    from regard.inspection.steps import phrase, steps_page
    from regard.page import Page, Prose

    layer, head, item = (1 if number is None else number for number in (options.layer, options.head, options.item))
    query, key, lang = options.query, options.key, options.lang
    record, seen = read_record(path)
    record_layer = layer_of(seen, layer, head, item)
    check_number("--query", query, record_layer.query.shape[2])
    if key is not None:
        check_number("--key", key, record_layer.key.shape[2])
    walk = record_layer.steps(query - 1, None if key is None else key - 1, head=head - 1, item=item - 1)
    items, queries = names_of(record, record_layer, item - 1)
    query_item = queries[query - 1] if query <= len(queries) else ""
    place = {"layer": layer, "head": head, "item": item}
    heading = Prose(phrase("of a record", lang, heads=record_layer.heads, **place))
    rule = Prose(f"{record_layer.function}: {record_layer.shape_text}; {record_layer.rule_text}")
    notes = map(Prose, record_layer.notes)
    walk_page = steps_page(walk, lang, items=items, query_item=query_item)
    page = Page(record_layer.name or record_layer.function, (heading, rule, *notes, *walk_page.blocks))
    header = {
        **place,
        "name": record_layer.name,
        "function": record_layer.function,
        "query": query,
        "key": walk.column + 1,
    }
    item_names = {"query_item": query_item, "items": items} if items else {}
    return page, {**header, **item_names, "notes": record_layer.notes, **_numbers(walk)}


def _follow_matrices(name: str, options: StepsOptions, outputs: _Outputs) -> None:
    """Show the steps of an example, or of a file of one's own; or ask for their numbers.

    Raises:
        UnknownNameError: there is neither such an example nor such a file.
        ArgumentError: there is no such query or key, or the figure would be too large.
        DataError: the file can't be used.
    """
    from regard.inspection.figures.matrix_form import MOST_ROWS, is_drawable, matrix_form
    from regard.inspection.steps import EXAMPLES, is_editable, live_steps, named_parts, phrase, read_matrices
    from regard.inspection.steps import steps as steps_of
    from regard.page import Page, Prose

    example = EXAMPLES.get(name)
    if example is None and not (Path(name).exists() or looks_like_path(name)):
        raise UnknownNameError("EXAMPLE", name, EXAMPLES)
    matrices = read_matrices(name) if example is None else example.matrices
    check_number("--query", options.query, len(matrices.query))
    if options.key is not None:
        check_number("--key", options.key, len(matrices.key))
    row, column = options.query - 1, None if options.key is None else options.key - 1
    names: dict[str, Any] = {
        "score": str(options.score or (example.score if example else "scaled_dot")),
        "weights": str(options.weights or _Weights.softmax),
        "temperature": 1.0 if options.temperature is None else options.temperature,
        "mask": "causal" if options.causal else None,
    }
    parts = named_parts(matrices, **names)
    walk = steps_of(*matrices.tensors, **parts, row=row, column=column)
    if options.exercise:
        _exercise(matrices, walk, parts, options, outputs.console)
        return
    page = _page_of(name, example, matrices, walk, options.lang)
    editable = None
    if outputs.html is not None:
        if is_editable(matrices):
            shown = {"title": name, "language": options.lang, "row": row, "column": column}
            editable = live_steps(example or matrices, **shown, **names)
        else:
            page = Page(page.title, (*page.blocks, Prose(phrase("too large", options.lang))))
    # The figure is drawn before anything is printed, because the matrices may be too large for it.
    figure = None
    if outputs.figure is not None:
        if not is_drawable(matrices):
            raise ArgumentError(
                f"`--figure` draws matrices of up to {MOST_ROWS} rows and columns, but {name} has larger ones. "
                "Leave it out, or give fewer rows."
            )
        figure = matrix_form(example or matrices, row=row, **names)
    outputs.show(page, _as_json(matrices, walk), editable)
    if outputs.figure is not None:
        outputs.figure.save(figure)


def _page_of(name: str, example: "WorkedExample | None", matrices: "Matrices", walk: "Steps", language: str) -> "Page":
    from regard.inspection.steps import example_page, matrices_blocks, steps_page
    from regard.page import Page

    if example is not None:
        return example_page(example, walk, language)
    steps = steps_page(walk, language, items=matrices.items, query_item=matrices.query_items[walk.row])
    return Page(name, (*matrices_blocks(matrices, language), *steps.blocks))


def _as_json(matrices: "Matrices", walk: "Steps") -> dict[str, Any]:
    return {
        "query": matrices.query_items[walk.row],
        "key": matrices.items[walk.column],
        "items": matrices.items,
        **_numbers(walk),
    }


def _numbers(walk: "Steps") -> dict[str, Any]:
    return {
        "allowed": walk.allowed.tolist(),
        "steps": [
            {"name": step.name, "formula": step.formula, "axes": step.axes, "values": _finite(step.values.tolist())}
            for step in walk.steps
        ],
    }


def _finite(values: Any) -> Any:
    """The numbers, with null for infinity, which JSON lacks: the score of a hidden key is minus infinity."""
    if isinstance(values, list):
        return [_finite(value) for value in values]
    return values if math.isfinite(values) else None


def _exercise(
    matrices: "Matrices", walk: "Steps", parts: dict[str, Any], options: StepsOptions, console: "Console"
) -> None:
    """Ask for one number of the steps after the other, until all are given or the user ends it."""
    from regard.inspection.steps import blanks, matrices_blocks, phrase
    from regard.inspection.steps.numbers import number
    from regard.page import Page, Prose, show

    lang, names = options.lang, {"query": matrices.query_items[walk.row], "key": matrices.items[walk.column]}
    numbers = matrices_blocks(matrices, lang, whole=True)
    show(Page("", (*numbers, Prose(phrase("intro", lang, **names)))), console, plain=options.plain)
    all_blanks = blanks(matrices, walk, **parts)
    count, right, right_at_once, revealed = len(all_blanks), 0, 0, 0
    for position, blank in enumerate(all_blanks, start=1):
        name = phrase(blank.name, lang)
        typer.echo("\n" + phrase("ask", lang, number=position, count=count, name=name, formula=blank.formula))
        answer, tries = _last_answer(blank, names, lang)
        if answer == "q":
            break
        if answer == "?":
            revealed += 1
            typer.echo(phrase("answer", lang, value=number(blank.value)))
        else:
            right += 1
            right_at_once += tries == 1
    typer.echo("\n" + phrase("summary", lang, right=right, count=count, first=right_at_once, shown=revealed))


def _last_answer(blank: "Blank", names: dict[str, str], lang: str) -> tuple[str, int]:
    """The answer that is right, or "?" to be shown it, or "q" to end; and how many numbers were tried."""
    from regard.inspection.steps import phrase
    from regard.page.visible import visible

    tries = 0
    while (answer := _answer()) not in ("q", "?"):
        tries += 1
        verdict = blank.check(answer)
        typer.echo(visible(phrase(verdict, lang, **names)))
        if verdict == "right":
            break
    return answer, tries


def _answer() -> str:
    """The next answer; "q" at the end of standard input."""
    line = "" if sys.stdin is None else sys.stdin.readline()
    return {"Q": "q", "？": "?"}.get(line.strip(), line.strip()) if line else "q"


steps = command_with(_steps, StepsOptions)
