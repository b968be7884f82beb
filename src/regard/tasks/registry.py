"""The kinds of tasks. To add one, write its folder and name its `TASK` here."""

from regard.tasks import classifier, seq2seq, synthesis, tagger
from regard.tasks.task import Task

__all__ = ["TASKS"]

TASKS: dict[str, Task] = {each.TASK.name: each.TASK for each in (tagger, classifier, seq2seq, synthesis)}
"""The kinds of tasks by name."""
