"""The kinds of tasks and of sources, in Markdown: what their classes say of themselves."""

from collections.abc import Callable

from regard.tasks import TASKS
from regard.tasks.sources import INPUTS

__all__ = ["TABLES", "table"]


def tasks() -> str:
    """A row for each kind of task: how its models are asked, and what they answer."""
    rows = [
        (name, f"`{task.verb}`", task.value, ", ".join(f"`{each}`" for each in task.commands))
        for name, task in TASKS.items()
    ]
    return _table(("kind", "its own method", "a value", "`regard`"), rows)


def sources() -> str:
    """A row for each kind of source: what may be given, and what it becomes."""
    return _table(
        ("kind", "a source", "its vectors"), [(name, each.given, each.vectors) for name, each in INPUTS.items()]
    )


TABLES: dict[str, Callable[[], str]] = {"tasks": tasks, "sources": sources}


def table(name: str) -> str:
    """One of `TABLES`."""
    return TABLES[name]()


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [columns, ("---",) * len(columns), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
