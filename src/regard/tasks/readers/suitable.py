"""Which targets suit a task, and what to take instead of those that don't."""

from collections.abc import Mapping

from regard.datasets import DATASETS
from regard.errors import ArgumentError
from regard.tasks.registry import TASKS
from regard.tasks.task import Task

__all__ = ["check_types", "fitting_data"]

# The types of targets (`Dataset.target_type`) in words.
_SAID = {
    "items": "a label for each item",
    "label": "one label",
    "number": "a number",
    "labels": "several labels",
    "text": "a text",
    "sound": "a sound",
}


def check_types(task: Task, types: tuple[str, ...], given: str, *, other: str, labels: Mapping[str, str]) -> None:
    """Refuse targets of other types than the task's.

    Args:
        task: what is to be learned.
        types: what the targets are: a label may also be a text.
        given: the name or path of the data.
        other: how another task is chosen, with {} for its name.
        labels: of data that are known by name, the type of each of their labels.

    Raises:
        ArgumentError: they are; says which label, task or data to take.

    Example:
        >>> check_types(TASKS["seq2seq"], ("number",), "m.csv", other="task={!r}", labels={})
        Traceback (most recent call last):
        regard.errors.ArgumentError: `data` must have a text as a source's target, to be for a seq2seq, but m.csv has \
a number. Take task='classifier'.
    """
    if task.accepts(types):
        return
    wanted, found = (" or ".join(_SAID[kind] for kind in kinds) for kinds in (task.targets, types))
    raise ArgumentError(
        f"`data` must have {wanted} as a source's target, to be for a {task.name}, but {given} has {found}. Take "
        f"{', or '.join(_steps(task, types, other, labels))}."
    )


def _steps(task: Task, types: tuple[str, ...], other: str, labels: Mapping[str, str]) -> list[str]:
    for label, kind in labels.items():
        if task.accepts((kind,)):
            return [f"--label {label}"]
    steps = [other.format(each.name) for each in TASKS.values() if each.accepts(types)]
    # If only one data set suits the task, suggest it.
    fitting = fitting_data(task)
    if len(fitting) == 1 and labels:
        steps += [f"--data {name} --label {label}" for name, label in fitting.items()]
    return steps


def fitting_data(task: Task) -> dict[str, str]:
    """The data sets that suit this kind of task: name -> the first suitable label.

    Example:
        >>> fitting_data(TASKS["synthesis"])
        {'fsdd-strings': 'speech'}
    """
    found: dict[str, str] = {}
    for name, known in DATASETS.items():
        labels = (known.label, *known.labels)
        label = next((label for label in labels if task.accepts((known.target_type_of(label),))), None)
        if label is not None:
            found[name] = label
    return found
