"""`regard jury`: an attention function, judged by the laws of the contract."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.arguments.options import ColourOption, Format, FormatOption, HtmlOption, PlainOption, WidthOption
from regard.cli.output.written_file import check_folder, check_new
from regard.cli.startup import import_torch
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.jury import Candidate, Claims, Judgement
    from regard.page import Page

__all__ = ["jury"]


def jury(
    function: Annotated[
        str | None, typer.Argument(metavar="[NAME|FILE:FUNCTION]", help="A known function, or one of your own file.")
    ] = None,
    *,
    list_: Annotated[bool, typer.Option("--list", help="List the laws and the known functions.")] = False,
    only: Annotated[
        list[str] | None, typer.Option(metavar="LAW,...", help="Judge these laws only; repeatable.")
    ] = None,
    claims: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT=ARGUMENT",
            help="What the function offers, by which argument: mask=attn_mask; repeatable  [default: found by trying]",
        ),
    ] = None,
    device: Annotated[str, typer.Option(metavar="DEVICE", help="Where it is judged, such as cuda.")] = "cpu",
    slopes: Annotated[bool, typer.Option("--slopes", help="Measure time and memory over the length, too.")] = False,
    scripts: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Write a program for each law that fails, LAW.py.")
    ] = None,
    html: HtmlOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Let --html and --scripts overwrite files that regard didn't write.")
    ] = False,
    format: FormatOption = Format.text,
    plain: PlainOption = False,
    width: WidthOption = None,
    color: ColourOption = None,
) -> None:
    """Judge an attention function: are its outputs and its gradients those of attention?

    The function is compared with a definition in float64, within what rounding explains: outputs; gradients of the
    first and the second order, and in forward mode; masks, rows without keys, and NaN in hidden places; lengths,
    strides, grouped heads, half precision, large scores, dropout. A law that fails comes with what it means for
    training and the smallest failing call, as a program that runs without regard.

    The function takes query, key and value of shape (batch, head, item, feature), or (batch, item, head, feature), and
    returns the output. What else it offers is found by trying the usual argument names, or stated by --claims. The file
    is run.

    The exit code is 0 if no law fails, 1 if one does, and 2 for an invalid command line.

    \b
    Examples:
      regard jury --list                            the laws, and the functions known by name
      regard jury sdpa                              PyTorch's scaled_dot_product_attention
      regard jury sdpa --only gradients,hidden      two laws only
      regard jury mine.py:attention                 a function of your own
      regard jury mine.py:attention --claims mask=bias_mask --claims causal=autoregressive
      regard jury sdpa --html sdpa.html --scripts failing
      regard jury sdpa-flash --device cuda          on a GPU
      regard jury sdpa --format json > sdpa.json
    """
    import_torch()
    from regard.cli.output.console import output_console
    from regard.cli.output.html_page import HtmlPage
    from regard.jury import check, laws_named, report
    from regard.page import show

    console = output_console(width=width, colour=color)
    if list_:
        show(_list(), console, plain=plain)
        return
    if function is None:
        raise ArgumentError("`NAME` is missing: regard jury --list names the functions that are known.")
    names = [name.strip() for each in only or [] for name in each.split(",")]
    laws_named(names)
    page_file = None if html is None else HtmlPage(html, force=force)
    if scripts is not None:
        _check_scripts(Path(scripts), names, force=force)
    _check_device(device)
    judgement = check(_chosen(function), _claims(claims), only=names, device=device, slopes=slopes)
    if scripts is not None:
        _write_scripts(judgement, Path(scripts))
    if page_file is not None:
        page = report(judgement, scripts=True)
        page_file.add(page, heading=False)
        page_file.write(page.title, judgement.name)
    if format is Format.json:
        typer.echo(json.dumps(judgement.as_json(), ensure_ascii=False, indent=2))
    else:
        show(report(judgement), console, plain=plain)
    if not judgement.holds:
        raise typer.Exit(1)


def _chosen(name: str) -> "Candidate | str":
    """The function of FILE:FUNCTION, or a name."""
    from regard.jury import CANDIDATES, Candidate

    file, colon, attribute = name.rpartition(":")
    if name in CANDIDATES:
        return name
    if not colon:
        if Path(name).is_file():
            raise ArgumentError(f"`NAME` must say which function of {name} is meant, as in {name}:attention.")
        return name
    path = Path(file)
    if not path.is_file():
        raise ArgumentError(f"`NAME` must be a known function, or FILE:FUNCTION, but there is no file {file}.")
    found = _run(path)
    function = found.get(attribute)
    if not callable(function):
        known = ", ".join(key for key, value in found.items() if callable(value) and not key.startswith("_"))
        has = f"It has: {known}" if known else "It has no function"
        raise ArgumentError(f"`NAME` must name a function of {file}, but {attribute!r} is none. {has}.")
    source = (
        f"import runpy\nimport sys\n\nsys.path.insert(0, {str(path.parent.resolve())!r})\n"
        f"attention = runpy.run_path({str(path.resolve())!r})[{attribute!r}]\n"
    )
    return Candidate(name, function, None, source)


def _run(path: Path) -> dict[str, Any]:
    """What a file of Python defines; it may import what stands beside it, as where Python runs it."""
    import runpy
    import sys

    sys.path.insert(0, str(path.parent.resolve()))
    try:
        return runpy.run_path(str(path))
    except Exception as error:
        raise ArgumentError(
            f"`NAME` must name a file of Python that can be run, but {path} raises {type(error).__name__}: {error}."
        ) from error


def _claims(given: list[str] | None) -> "Claims | None":
    if not given:
        return None
    from dataclasses import fields

    from regard.errors import UnknownNameError
    from regard.jury import Claims

    known = {field.name for field in fields(Claims)} - {"dtypes"}
    stated: dict[str, Any] = {}
    for each in given:
        what, equals, argument = each.partition("=")
        if what not in known:
            raise UnknownNameError("claims", what, sorted(known))
        if not equals:
            raise ArgumentError(f"`--claims` must be WHAT=ARGUMENT, but is {each}.")
        stated[what] = {"true": True, "false": False}.get(argument.lower(), argument)
    return Claims(**stated)


def _check_device(device: str) -> None:
    import torch

    try:
        torch.zeros(1, device=device)
    except Exception as error:
        reason = str(error).splitlines()[0]
        raise ArgumentError(f"`--device` must be one that PyTorch can use, but {device} isn't: {reason}") from error


def _check_scripts(folder: Path, names: list[str], *, force: bool) -> None:
    """Check before the laws are judged that their programs can be written."""
    from regard.jury import laws_named

    check_folder("--scripts", str(folder / "law.py"))
    for law in laws_named(names):
        check_new("--scripts", str(folder / f"{law.name}.py"), "program", _is_script, force=force)


def _is_script(path: Path) -> bool:
    """Whether the file is a program that shows how a law fails, which can be overwritten without --force."""
    return f'breaks the law "{path.stem}"' in path.read_text(encoding="utf-8", errors="replace")


def _write_scripts(judgement: "Judgement", folder: Path) -> None:
    from regard.files import write_text

    folder.mkdir(parents=True, exist_ok=True)
    for verdict in judgement.failed:
        path = folder / f"{verdict.law.name}.py"
        write_text(path, verdict.script)
        typer.echo(f"Wrote {path}.", err=True)


def _list() -> "Page":
    from regard.jury import CANDIDATES, LAWS
    from regard.page import Heading, Page, Prose, Table

    laws = Table(("law", "what it says"), tuple((law.name, law.says) for law in LAWS.values()))
    functions = Prose(f"{', '.join(CANDIDATES)}.")
    return Page("", (Heading("Laws"), laws, Heading("Functions"), functions))
