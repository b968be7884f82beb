"""`regard predict`: what a model says of texts, recordings, pictures, molecules."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any

import typer

from regard.cli.reading import Line, read_file
from regard.errors import ArgumentError, DataError, RegardError

__all__ = ["predict"]

_TOGETHER = 256
# Sources of these kinds are files, which the command line names.
_FILES = {"speech": "a recording", "pictures": "a picture"}
_TEXTS = {"words": "a text", "texts": "a text", "molecules": "a molecule as SMILES"}


class Written(StrEnum):
    """How the answers are written."""

    text = "text"
    json = "json"
    csv = "csv"


def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model's name, or its folder.")],
    sources: Annotated[
        list[str] | None, typer.Argument(metavar="[SOURCE]...", help="Texts, or names of sound or picture files.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", "-f", metavar="FILE", help="A file, one source on a line; - for standard input."),
    ] = None,
    format: Annotated[
        Written, typer.Option(help="How to write it: json and csv have a line for each source.")
    ] = Written.text,
) -> None:
    """Say what a model answers for each source: a label and how sure it is, several yes or no, or a number.

    What a source is depends on the model: a text, the name of a sound or picture file, or a molecule as SMILES. A
    source that holds nothing has no answer. Answers come in the order of the sources, while the rest is still read.

    \b
    Examples:
      regard predict sentiment/ "a warm , funny , engaging film ." "it never comes alive"
      regard predict digits/ recordings/*.wav
      regard predict sentiment/ -f reviews.txt --format csv > answers.csv
    """
    if bool(sources) == (file is not None):
        raise ArgumentError("give either sources or -f FILE. See regard predict --help.")
    # Here and not above: it brings torch, for which --help and a mistyped option needn't wait.
    from regard.tasks import load

    loaded = load(model)
    kind = loaded.recipe.input.kind
    if kind not in _FILES and kind not in _TEXTS:
        raise ArgumentError(f"`MODEL` must read texts or files, but {model} reads {kind}: use it from Python.")
    lines = (
        read_file(file) if file is not None else (Line(text, number) for number, text in enumerate(sources or (), 1))
    )
    name = "" if file is None else "standard input" if file == "-" else file
    write = {Written.text: _text, Written.json: _json, Written.csv: _csv}[format]
    for place, (source, answer) in enumerate(_answers(loaded, lines, name)):
        for line in write(loaded, source, answer, first=place == 0):
            typer.echo(line)


def _answers(model: Any, lines: Iterable[Line], name: str) -> Iterator[tuple[str, Any]]:
    """Each source with its answer, some at a time; what can't be read is named by its line."""
    ask = (
        model.classify
        if model.kind == "classifier"
        else lambda given: model.tag([_split(model, each) for each in given])
    )
    rest = iter(lines)
    while group := list(islice(rest, _TOGETHER)):
        try:
            answers = ask([line.text for line in group])
        except RegardError:
            # One of them is broken: asked one by one, it shows which.
            answers = []
            for line in group:
                try:
                    answers += ask([line.text])
                except RegardError as error:
                    if not name:
                        raise
                    raise DataError(str(error), path=name, line=line.number) from error
        yield from zip((line.text for line in group), answers, strict=True)


def _split(model: Any, text: str) -> Any:
    return model.recipe.input.names(model.reader, text) if model.recipe.input.kind == "words" else text


def _plain(answer: Any) -> dict[str, Any]:
    """An answer as names and plain values."""
    if answer is None:
        return {"label": None}
    if isinstance(answer, dict):
        return dict(answer)
    if isinstance(answer, list):
        return {"items": [item._asdict() for item in answer]}
    return {"number": answer} if isinstance(answer, float) else {"label": answer[0], "score": round(answer[1], 6)}


def _json(model: Any, source: str, answer: Any, *, first: bool) -> Iterator[str]:
    yield json.dumps({"source": source, **_plain(answer)}, ensure_ascii=False)


def _csv(model: Any, source: str, answer: Any, *, first: bool) -> Iterator[str]:
    rows = [{"source": source, **row} for row in _plain(answer).get("items", [_plain(answer)])]
    for place, row in enumerate(rows):
        held = io.StringIO()
        writer = csv.DictWriter(held, _columns(model), lineterminator="", restval="")
        if first and place == 0:
            writer.writeheader()
            yield held.getvalue()
            held.seek(0)
            held.truncate()
        writer.writerow(row)
        yield held.getvalue()


def _columns(model: Any) -> list[str]:
    items = ["text"] if model.kind == "tagger" else []
    answer = {"label": ["label", "score"], "number": ["number"], "several": list(getattr(model.answer, "names", ()))}
    return ["source", *items, *answer[model.answer.kind]]


def _text(model: Any, source: str, answer: Any, *, first: bool) -> Iterator[str]:
    from regard.page.visible import visible

    shown = visible(source)
    if answer is None:
        yield f"{'nothing':>24}  {shown}"
    elif isinstance(answer, dict):
        yield shown
        for question, share in answer.items():
            yield f"  {share:6.1%}  {visible(question)}"
    elif isinstance(answer, list):
        yield " ".join(f"{visible(item.text)}/{_said(item[1])}" for item in answer)
    elif isinstance(answer, float):
        yield f"{answer:>12.4f}  {shown}"
    else:
        yield f"{visible(answer[0]):>16}  {answer[1]:6.1%}  {shown}"


def _said(value: Any) -> str:
    from regard.page.visible import visible

    return visible(value) if isinstance(value, str) else f"{value:.4g}"
