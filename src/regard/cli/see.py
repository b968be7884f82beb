"""`regard see`: what a model says about one input, what it attended to, and what mattered."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from regard.cli.arguments.command import command_with
from regard.cli.arguments.options import (
    MOST_LISTED,
    ColourOption,
    FigureForceOption,
    FigureOption,
    Format,
    FormatOption,
    PlainOption,
    ViewOption,
    WidthOption,
)
from regard.cli.output.record_files import is_record
from regard.cli.output.standard_output import outliving_reader
from regard.cli.output.written_file import check_view
from regard.cli.startup import import_torch
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from rich.console import Console

    from regard.cli.answering.cases import Cases
    from regard.cli.output.html_page import HtmlPage
    from regard.inspection import Case, Record

__all__ = ["see"]


class AttributionName(StrEnum):
    """The methods of attribution: the names of `regard.inspection.ATTRIBUTIONS`, which would bring torch."""

    raw = "raw"
    rollout = "rollout"
    value_weighted = "value-weighted"
    gradient_weighted = "gradient-weighted"


# Fewer changes are measured before anybody could read a progress bar.
_WORTH_A_BAR = 64
# Characters of a title of two; more are cut.
_TITLE = 60


class SeeOptions(NamedTuple):
    """The options of `regard see`."""

    layer: Annotated[int | None, typer.Option(metavar="N", help="The weights' layer  [default: the last]")] = None
    head: Annotated[int | None, typer.Option(metavar="N", help="The weights' head  [default: their average]")] = None
    query: Annotated[
        int | None,
        typer.Option(metavar="N", help="The item whose answer is explained  [default: the one that changes most]"),
    ] = None
    effects: Annotated[
        bool | None,
        typer.Option(
            "--effects/--no-effects",
            help="Hide each item and remove each head, and measure  [default: up to 300]",
        ),
    ] = None
    noise: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Give each effect a noise floor, by N changes in random directions."),
    ] = 0
    attribution: Annotated[
        AttributionName | None,
        typer.Option(
            metavar="METHOD",
            help="Draw the first bars by raw, rollout, value-weighted or gradient-weighted  [default: the weights]",
        ),
    ] = None
    top: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            max=MOST_LISTED,
            help="List at most N items and heads, plus one item if only one is left.",
        ),
    ] = 12
    map: Annotated[bool, typer.Option("--map/--no-map", help="Show all weights as a heat map.")] = True
    compare: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Compare with another model on the same input, or with a saved record."),
    ] = None
    compare_input: Annotated[
        str | None,
        typer.Option(metavar="INPUT", help="Compare with another input, of the same model if not --compare."),
    ] = None
    without: Annotated[
        str | None,
        typer.Option(metavar="HEADS", help="Compare with the model without some heads: LAYER.HEAD, as 1.2 or 1.2,2.4."),
    ] = None
    save: Annotated[
        str | None, typer.Option(metavar="FILE", help="Save a record, which regard see, steps and check read.")
    ] = None
    format: FormatOption = Format.text
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Also write it as an offline page.")] = None
    figure: FigureOption = None
    view: ViewOption = None
    force: FigureForceOption = False
    plain: PlainOption = False
    width: WidthOption = None
    color: ColourOption = None

    @property
    def chosen(self) -> dict[str, int | None]:
        """What is shown first, as `live_page` takes it."""
        return {"layer": self.layer, "head": self.head, "query": self.query}


def _see(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A model of regard's, a folder of save_pretrained, FILE.py:FUNCTION, or a saved record.",
        ),
    ],
    source: Annotated[
        str | None, typer.Argument(metavar="[INPUT]", help="A text, or the name of a file, as the model takes.")
    ] = None,
    *,
    options: SeeOptions,
) -> None:
    """See what a model says about an input, what it attended to, and what mattered.

    Attended is the weight that an item got. Mattered is how the answer changes when the item is hidden from all
    queries, or a head is removed: the model runs again for each. The two often disagree. Layers, heads and items count
    from 1.

    A weight says where a head looked in one layer, not what it took from there. --attribution draws the first bars by
    another method, and the story says what its numbers mean and where they mislead. raw: the weights. rollout: weights
    followed through all layers, or up to --layer. value-weighted: weights times the lengths of the values.
    gradient-weighted: weights times their gradients, for which the model must run. The map stays that of the weights.

    A function in a Python file returns (model, inputs) or (model, inputs, items); it may take INPUT. A folder needs the
    tokenizer, image processor or feature extractor beside the model. A model that writes a text has an answer for each
    token of it. A saved record needs no model.

    --compare and --compare-input tell what differs between two records, A and B: two models on one input, one model
    on two inputs, or two saved records, as of a model before and after training. The page of --html shows both, with
    one cursor. --layer and --head are chosen in both, --query in A. --without compares with the same model and input,
    where heads are removed: what changes in the layers after them.

    --noise 19 compares each effect with those of 19 changes of the same size in random directions. What is no larger
    is marked as noise. --format json and --save have the floors.

    \b
    Examples:
      regard see english-pos "I saw a saw ."
      regard see english-pos "I saw a saw ." --query 2 --layer 1 --head 3
      regard see german-english "ein Mann in einem roten Hemd ." --save shirt.safetensors
      regard see shirt.safetensors --query 5 --no-map
      regard see my-bert/ "I saw a [MASK] ." --format json
      regard see my-t5/ "translate English to German: a saw" --query 2
      regard see my_model.py:build --effects --html page.html
      regard see english-pos "I saw a saw ." --figure saw.pdf --view compared
      regard see english-pos "I saw a saw ." --attribution rollout
      regard see english-pos "I saw a saw ." --compare my-tagger/
      regard see english-pos "I saw a saw ." --compare-input "I saw a cat ." --html both.html
      regard see english-pos "I saw a saw ." --without 1.1 --html without.html
      regard see before.safetensors --compare after.safetensors
    """
    check_view(options.figure, options.view, measured=True)
    if options.figure is not None and options.attribution is not None:
        raise ArgumentError("`--figure` draws the weights, and not what `--attribution` gives. Leave one of them out.")
    # Here and not above: these bring torch, for which --help and a mistyped option needn't wait.
    import_torch()
    from regard.cli.answering.cases import cases_of, check_attends
    from regard.cli.answering.showing import Show, as_json, facts_as_json, maps, weights_page, without_warnings
    from regard.cli.output.console import output_console
    from regard.cli.output.html_page import HtmlPage
    from regard.inspection import save_record, story_of
    from regard.inspection.views.attributed import attributed_of
    from regard.inspection.views.story import story_page
    from regard.page import Page, show

    if options.save is not None and Path(options.save).is_dir():
        raise ArgumentError(f"`--save` must be a file to write, but {options.save} is a folder.")
    other = _other_of(model, source, options)
    if other is not None:
        for name, given in (
            ("--save", options.save),
            ("--attribution", options.attribution),
            ("--figure", options.figure),
        ):
            if given is not None:
                raise ArgumentError(
                    f"`{name}` must be left out of a comparison. Give it to regard see for each record."
                )
    page_file = None if options.html is None else HtmlPage(options.html, force=options.force)
    figure_file = None
    if options.figure is not None:
        from regard.cli.output.figure_file import FigureFile

        figure_file = FigureFile(options.figure, options.view, force=options.force)
    console = output_console(width=options.width, colour=options.color)
    if other is not None:
        _compare((_Side(model, source), other), options, page_file, console)
        return
    record, case = _record(_Side(model, source), options, cases_of)
    check_attends(record)
    if record.outcomes is None and options.attribution is not None:
        raise ArgumentError(
            f"`--attribution` must be left out: {model} is a record without predictions. regard see --save keeps them."
        )
    method = None if options.attribution is None else options.attribution.value
    told = None if record.outcomes is None else story_of(record, **options.chosen, attribution=method, case=case)
    if options.save is not None:
        save_record(record, options.save)
        typer.echo(f"Wrote {options.save}.", err=True)
    if told is None:
        page = weights_page(record, options.layer, options.head, options.top)
        values = partial(as_json, record, Show(options.layer, options.head, options.top))
    else:
        page, values = story_page(record, told, options.top), partial(facts_as_json, record, told)
    if options.map:
        page = Page(page.title, (*page.blocks, *maps(record, options.layer, options.head).blocks))
    with outliving_reader(page_file is not None or figure_file is not None):
        if options.format is Format.json:
            typer.echo(json.dumps(values(), ensure_ascii=False, indent=2))
        else:
            show(page if case is None else without_warnings(page, record), console, plain=options.plain)
    # Last, so that the terminal ends with the file's name.
    if page_file is not None:
        page_file.add(page, heading=False, record=record)
        title = f"{record.model}: what it attended to, and what mattered"
        others = None if method in (None, "raw") else attributed_of(record, method, **options.chosen, case=case)
        page_file.write(title, model, "en", **options.chosen, attributed=others)
    if figure_file is not None:
        figure_file.add(record)
        figure_file.write(model, **options.chosen)


class _Side(NamedTuple):
    """One of the two that are compared: a model, or the file of a record, and the input, which a record has itself.

    Args:
        model, source: MODEL and INPUT.
        without: the heads, (layer, head) from 1, that are removed.
    """

    model: str
    source: str | None
    without: tuple[tuple[int, int], ...] = ()


def _other_of(model: str, source: str | None, options: SeeOptions) -> _Side | None:
    """What MODEL and INPUT are compared with; None if with nothing.

    Raises:
        ArgumentError: the options contradict each other.
    """
    compare, compare_input = options.compare, options.compare_input
    if options.without is not None:
        if compare is not None or compare_input is not None:
            raise ArgumentError("`--without` compares a model with itself. Leave --compare and --compare-input out.")
        if is_record(model):
            raise ArgumentError(f"`--without` needs a model, which runs without the heads, but {model} is a record.")
        return _Side(model, source, _heads(options.without))
    if compare is None and compare_input is None:
        return None
    if compare is None:
        if is_record(model):
            raise ArgumentError(
                f"`--compare-input` needs a model that reads it, but {model} is a record. Give one by --compare MODEL."
            )
        return _Side(model, compare_input)
    if is_record(compare):
        if compare_input is not None:
            raise ArgumentError(
                f"`--compare-input` must be left out: {compare} is a record, which holds its own input."
            )
        return _Side(compare, None)
    if compare_input is None and is_record(model):
        raise ArgumentError(
            f"`--compare-input` must be given: {compare} is a model, and the text or file of which the record {model} "
            "was made isn't known."
        )
    return _Side(compare, source if compare_input is None else compare_input)


def _heads(text: str) -> tuple[tuple[int, int], ...]:
    """The layers and heads of `--without`."""
    found = [re.fullmatch(r"\s*([1-9]\d*)\.([1-9]\d*)\s*", each) for each in text.split(",")]
    if None in found:
        raise ArgumentError(f"`--without` must be heads as LAYER.HEAD, such as 1.2 or 1.2,2.4, but is {text!r:.60}.")
    return tuple((int(each[1]), int(each[2])) for each in found if each is not None)


def _compare(sides: tuple[_Side, _Side], options: SeeOptions, page_file: "HtmlPage | None", console: "Console") -> None:
    """Print what differs between two records, and write the page of both."""
    from regard.cli.answering.cases import cases_of, check_attends
    from regard.cli.answering.showing import difference_as_json, without_warnings
    from regard.inspection import comparison_of
    from regard.inspection.views.comparison_page import comparison_page
    from regard.inspection.views.patched import patched_of
    from regard.page import show

    records, cases = [], []
    load = cache(cases_of)
    measures = not all(is_record(side.model) for side in sides)
    for side in sides:
        # A record holds what was measured; the option is for the model beside it.
        asked = options._replace(effects=None, noise=0) if measures and is_record(side.model) else options
        found, case = _record(side, asked, load)
        check_attends(found)
        records.append(found)
        cases.append(case)
    titles = _titles_of(sides, (records[0], records[1]))
    found = comparison_of(*records, **options.chosen)
    # Between two inputs of one model; heads that were removed can't be patched.
    between = options.effects is not False and not sides[1].without and None not in cases
    patched = patched_of(found, cases[0], cases[1]) if between else None
    with outliving_reader(page_file is not None):
        if options.format is Format.json:
            typer.echo(json.dumps(difference_as_json(found, titles), ensure_ascii=False, indent=2))
        else:
            read = [record for record, case in zip(records, cases, strict=True) if case is not None]
            page = without_warnings(comparison_page(found, titles, options.top, patched), *read)
            show(page, console, plain=options.plain)
    if page_file is not None:
        page_file.write_comparison(found.records, titles, **options.chosen, patched=patched)


def _titles_of(sides: tuple[_Side, _Side], records: tuple["Record", "Record"]) -> tuple[str, str]:
    """The names of both: the files of records, else models if they differ, and inputs if they differ."""
    from regard.cli.answering.path_titles import path_titles
    from regard.page.visible import clip

    models = [
        side.model if is_record(side.model) else record.model for side, record in zip(sides, records, strict=True)
    ]
    if without := ", ".join(f"{layer}.{head}" for layer, head in sides[1].without):
        models[1] = f"{path_titles(models[0], '')[0]} without {without}"
    if models[0] == models[1] and sides[0].model != sides[1].model:
        models = [side.model for side in sides]
    models = [*path_titles(*models)]
    other = models[0] != models[1], sides[0].source != sides[1].source
    found = []
    for model, side in zip(models, sides, strict=True):
        parts = [*([model] if other[0] or not other[1] else []), *([side.source or ""] if other[1] else [])]
        found.append(": ".join(clip(each, _TITLE) for each in parts if each))
    return found[0], found[1]


def _record(side: _Side, options: SeeOptions, load: "Callable[[str], Cases]") -> tuple["Record", "Case | None"]:
    """The record, and the case that it was made of; None where the record was read from a file."""
    from regard.inspection import load_record
    from regard.inspection import see as see_case
    from regard.inspection.cases.own_model import is_own_model, own_case
    from regard.inspection.explain.see import removal_of

    model, source = side.model, side.source
    with _progress() as progress:
        if is_own_model(model):
            case = own_case(model, source)
        elif is_record(model):
            options_of_models = {"INPUT": source, "--effects": options.effects, "--noise": options.noise or None}
            for name, given in options_of_models.items():
                if given is not None:
                    raise ArgumentError(
                        f"`{name}` must be left out: {model} is a record, which holds its input and what was measured."
                    )
            return load_record(model), None
        elif source is None and Path(model).is_file():
            raise ArgumentError(
                f"{model} must be a record, as --save writes it, but doesn't begin as one. It may be empty, cut off or "
                "of another kind. Save it anew, or give a model and an input."
            )
        elif source is None:
            raise ArgumentError("give a model and an input, as in regard see english-pos 'I saw a saw .'.")
        else:
            case = load(model).case(source)
        changes = [removal_of(case, *each) for each in side.without]
        return see_case(case, effects=options.effects, noise=options.noise, changes=changes, progress=progress), case


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import Progress

    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    with Progress(console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("measuring what mattered", total=None, visible=False)
        yield lambda done, total: progress.update(task, completed=done, total=total, visible=total >= _WORTH_A_BAR)


see = command_with(_see, SeeOptions)
