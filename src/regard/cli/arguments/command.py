"""Commands for typer: uniform usage lines, and options that several commands share."""

import inspect
from collections.abc import Callable, Collection
from typing import Any

from typer.core import TyperCommand

__all__ = ["Command", "command_with"]


class Command(TyperCommand):
    """A typer command whose usage line doesn't depend on the version of typer."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The part of the usage line after the name of the command."""
        arguments = [each for each in self.get_params(ctx) if each.param_type_name == "argument"]
        return ["[OPTIONS]", *(each.metavar or str(each.name).upper() for each in arguments)]


def command_with(run: Callable[..., None], options: Any, *, without: Collection[str] = ()) -> Callable[..., None]:
    """A command whose last parameters are the fields of a NamedTuple, each annotated with its typer option.

    Args:
        run: the function of the command. Its parameters beside `options`, annotated likewise, come first; its docstring
            is the help.
        options: the NamedTuple, which `run` is given as `options`.
        without: fields that aren't options of this command; they have their defaults.
    """
    first = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for each in inspect.signature(run).parameters.values()
        if each.name != "options"
    ]

    def command(**given: Any) -> None:
        own = {each.name: given.pop(each.name) for each in first}
        run(**own, options=options(**given))

    shared = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=options._field_defaults.get(name, inspect.Parameter.empty),
            annotation=annotation,
        )
        for name, annotation in options.__annotations__.items()
        if name not in without
    ]
    command.__signature__ = inspect.Signature([*first, *shared])  # type: ignore[attr-defined]
    command.__doc__ = run.__doc__
    return command
