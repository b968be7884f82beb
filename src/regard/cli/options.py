"""Options that several commands share: they look and read the same everywhere."""

from enum import StrEnum
from typing import Annotated

import typer

__all__ = ["ColourOption", "Format", "FormatOption", "PlainOption", "WidthOption"]


class Format(StrEnum):
    """How the result is written."""

    text = "text"
    json = "json"


FormatOption = Annotated[Format, typer.Option(help="How to write it.")]
PlainOption = Annotated[bool, typer.Option("--plain", help="Sentences only, for a screen reader.")]
WidthOption = Annotated[
    int | None, typer.Option(metavar="N", help="Columns to use, 32 or more  [default: the terminal's]")
]
ColourOption = Annotated[bool | None, typer.Option("--color/--no-color", help="Insist on colours, or on none.")]
