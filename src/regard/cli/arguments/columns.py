"""`--column` and `--columns`: columns of users' tables that don't have the standard names, or no names at all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.datasets import ColumnNames

__all__ = ["column_names", "completed"]


def column_names(given: Sequence[str] | None, header: str | None = None) -> "ColumnNames | None":
    """Parse `--column`: for each standard name the column that has this role, or for labels the columns.

    Args:
        given: the values of `--column`.
        header: the value of `--columns`, the names of all columns.

    Raises:
        UnknownNameError: an unknown standard name.
        ArgumentError: it isn't USUAL=NAME, or gives one role to two columns.

    Example:
        >>> column_names(["text=review", "labels=toxic", "labels=bitter"])
        {'text': 'review', 'labels': ('toxic', 'bitter')}
        >>> column_names(None, "label,,text")
        {'header': ('label', '', 'text')}
    """
    from regard.datasets import HEADER, check_column_names

    found: dict[str, str | tuple[str, ...]] = {}
    questions: list[str] = []
    for each in given or ():
        usual, equals, name = each.partition("=")
        if not (usual and equals and name):
            raise ArgumentError(f"`--column` must be like text=review, but is {each!r:.60}.")
        if usual == "labels":
            questions.append(name)
            found[usual] = tuple(questions)
        elif usual in found:
            raise ArgumentError(f"`--column` must name one column for {usual}, but names {found[usual]} and {name}.")
        else:
            found[usual] = name
    option = "`--column`"
    try:
        check_column_names(found)
        option = "`--columns`"
        if header is not None:
            found[HEADER] = tuple(name.strip() for name in header.split(","))
            check_column_names(found)
    except ArgumentError as error:
        # Named as on the command line.
        error.args = (str(error).replace("`columns`", option, 1),)
        raise
    return found or None


def completed(given: "ColumnNames | None", remembered: "ColumnNames") -> "ColumnNames":
    """The given columns, completed by remembered ones for the side (source or target) that isn't given.

    Example:
        >>> completed({"text": "body"}, {"text": "review", "label": "stars"})
        {'text': 'body', 'label': 'stars'}
    """
    from regard.datasets import COLUMN_ROLES

    given = given or {}
    said = {name for side in COLUMN_ROLES.values() if {*side} & {*given} for name in side}
    return {**given, **{name: column for name, column in remembered.items() if name not in said}}
