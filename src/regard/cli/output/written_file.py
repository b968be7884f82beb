"""The checks of a file that a command is to write, before the work, which would otherwise be lost."""

import os
from collections.abc import Callable
from pathlib import Path

from regard.cli.arguments.options import FigureViewName
from regard.errors import ArgumentError

__all__ = ["check_folder", "check_new", "check_view"]


def check_new(option: str, path: str, kind: str, is_own: Callable[[Path], bool], *, force: bool) -> None:
    """Check that a file may be written over, if it is there.

    Args:
        option: the option that names it.
        path: its name.
        kind: what regard writes there, such as "page".
        is_own: whether a file is one that regard wrote.
        force: whether others may be written over.

    Raises:
        ArgumentError: it is a folder, no regular file, or another file.
    """
    file = Path(path)
    if file.is_dir():
        raise ArgumentError(f"`{option}` must be a file to write, but {path} is a folder.")
    if file.exists() and not file.is_file():
        raise ArgumentError(f"`{option}` must be a file to write, but {path} is no regular file.")
    if file.exists() and not (force or is_own(file)):
        raise ArgumentError(
            f"`{option}` must be a new file, or a {kind} that regard wrote, but {path} is neither. Give another name, "
            "or --force to write over it."
        )


def check_folder(option: str, path: str) -> None:
    """Check that a file can be written where it is to be.

    Raises:
        ArgumentError: it can't.
    """
    above = next(folder for folder in Path(path).absolute().parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        wrong = "can't be written to" if above.is_dir() else "is no folder"
        raise ArgumentError(f"`{option}` must be a file to write, but of {path} {above} {wrong}.")


def check_view(figure: str | None, view: FigureViewName | None, *, measured: bool) -> None:
    """Check that a view is one of a figure, and that it can be drawn.

    Raises:
        ArgumentError: there is no figure, or it needs effects, which the command doesn't measure.
    """
    if view is not None and figure is None:
        raise ArgumentError("`--view` says what `--figure` draws, but there is none. Give --figure FILE.")
    if view is FigureViewName.compared and not measured:
        raise ArgumentError(
            "`--view` must not be compared here: what mattered isn't measured. regard see --figure measures it."
        )
