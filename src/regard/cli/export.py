"""`regard export`: a model as an ONNX file, to be used without regard."""

import dataclasses
import json
from typing import Annotated, Any

import typer

from regard.cli.arguments.options import (
    ColourOption,
    ColumnOption,
    EncodingOption,
    Format,
    FormatOption,
    HeaderOption,
    PlainOption,
    WidthOption,
)
from regard.cli.arguments.trusted import load
from regard.cli.output.written_file import check_folder
from regard.cli.startup import import_torch
from regard.errors import ArgumentError

__all__ = ["export"]


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model's name, or its folder.")],
    *,
    onnx: Annotated[str, typer.Option(metavar="FILE", help="The file to write, which ends in .onnx.")],
    int8: Annotated[bool, typer.Option("--int8", help="Store weights in eight bits, a quarter of the size.")] = False,
    data: Annotated[
        str | None,
        typer.Option(metavar="NAME|PATH", help="With --int8: measure its cost on dev of a data set, file or folder."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="The column with the true labels  [default: the model's]")] = None,
    column: ColumnOption = None,
    header: HeaderOption = None,
    encoding: EncodingOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE and the files beside it.")] = False,
    format: FormatOption = Format.text,
    plain: PlainOption = False,
    width: WidthOption = None,
    color: ColourOption = None,
) -> None:
    """Write a model as an ONNX file, which needs neither regard nor PyTorch.

    Taggers and classifiers of all kinds of sources can be exported, and recognisers with a CTC head. The file gives
    probabilities, with the temperature that was fitted on dev, or numbers in their unit. Before it is written, it is
    run and compared with the model.

    Beside FILE.onnx stand FILE.json, with its inputs, labels and encoder; FILE.py, which encodes sources with NumPy
    alone (for molecules and graphs regard encodes); and FILE.md, the model's card. With --int8 and --data, the score on
    dev is measured before and after, and stands in the card.

    \b
    Examples:
      regard export english-pos --onnx pos.onnx
      regard export my-run/ --onnx mine.onnx --int8 --data reviews.csv
      regard export spoken-digit --onnx digit.onnx --force
    """
    from regard.tasks.exporting.file_names import checked_files

    if data is not None and not int8:
        raise ArgumentError("`data` measures what `int8` costs, but that isn't given. Leave one out, or give both.")
    for name, given in (("label", label), ("column", column), ("header", header), ("encoding", encoding)):
        if given is not None and data is None:
            raise ArgumentError(f"`{name}` is about `data`, but none is given. Leave it out.")
    checked_files(onnx, force=force, argument="onnx")
    check_folder("--onnx", onnx)
    import_torch()
    from regard.cli.output.console import output_console
    from regard.page import show
    from regard.tasks import export_onnx

    loaded = load(model)
    examples = None if data is None else _dev(loaded, data, label, column, header, encoding)
    exported = export_onnx(loaded, onnx, int8=int8, examples=examples, force=force)
    if format is Format.json:
        kept = {name: value for name, value in exported.description.items() if name != "encoder"}
        typer.echo(json.dumps(kept, ensure_ascii=False, indent=2))
        return
    show(_page(exported), output_console(width=width, colour=color), plain=plain)


def _dev(
    model: Any, data: str, label: str | None, column: list[str] | None, header: str | None, encoding: str | None
) -> Any:
    """The dev examples of the data, or all of a file that isn't split."""
    from regard.cli.arguments.columns import column_names
    from regard.tasks.readers import find_reader

    trained = model.about.get("data", {})
    reader = find_reader(
        data,
        model.kind,
        label,
        column_names(column, header),
        encoding=encoding,
        usual_label=trained.get("label") or None,
        other="regard train {}",
    )
    if names := trained.get("names"):
        reader = dataclasses.replace(reader, names=names)
    examples = reader.split_as(trained).read("dev", getattr(model.encoder, "profiles", None))
    reader.check_known(model.labels, examples)
    return examples


def _page(exported: Any) -> Any:
    """What was written, how exact it is, and how it is used."""
    from regard.page import Code, Heading, Page, Prose, Table
    from regard.tasks.exporting.exported_card import exported_sentences

    description = exported.description
    rows = tuple((path.name, f"{path.stat().st_size / 1e3:,.0f} kB") for path in exported.files)
    blocks: list[Any] = [Table(("file", "size"), rows, ("left", "right"))]
    blocks += [Prose(said) for said in exported_sentences(description)]
    blocks.append(Prose(description["encoding"]))
    if licence := description["model"]["data"].get("licence"):
        blocks.append(Prose(f"Licence of the data that it was trained on: {licence}."))
    usage = description["usage"]
    for name, library in (("python", "Python, with onnxruntime and NumPy"), ("javascript", "JavaScript")):
        blocks += [Heading(library), Code(usage[name].rstrip("\n"))]
    return Page(f"{description['model']['name']}, exported", tuple(blocks))
