"""A user's own tables, vectors, folders of classes and graphs."""

from pathlib import Path
from typing import Any, ClassVar, Self

from regard.datasets import SPLITS, DataSource, read_graph_folder
from regard.errors import ArgumentError
from regard.inputs import Graph, is_graph_folder
from regard.tasks.defaults import inputs_of, inputs_of_modality, task_of
from regard.tasks.examples import as_pairs
from regard.tasks.readers.reader import SplitsReader
from regard.tasks.registry import TASKS
from regard.tasks.sources import INPUTS
from regard.tasks.task import Task

__all__ = ["OwnFilesReader"]


class OwnFilesReader(SplitsReader):
    """Reads a user's own files. The type of their targets is known only after reading."""

    chooses_label: ClassVar[bool] = False

    @classmethod
    def of(cls, source: DataSource, given: str, task: Task, label: str | None, usual: str | None, **more: Any) -> Self:
        found = cls(source, given, task, label, **more)
        if task.per_item and source.has_columns:
            has = "holds tables" if Path(given).is_dir() else "is a table"
            others = [found.other.format(each.name) for each in TASKS.values() if each.accepts(("label", "text"))]
            raise ArgumentError(
                f"`data` must have a label for each item of a source, to be for a {task.name}, but {given} {has}, "
                f"with one target for each source. Take {', or '.join(others)}."
            )
        return found

    @property
    def has_lines(self) -> bool:
        return self.source.has_columns

    def _read_files(self, split: str, profiles: Any = None) -> list[Any]:
        examples = (
            super()._read_files(split)
            if profiles is None or not is_graph_folder(self.given)
            else [read_graph_folder(self.given, split, encoder=profiles)]
        )
        if examples:
            self._check_types(_types_of(examples[0]))
        return examples

    def kinds(self, examples: list[Any]) -> tuple[str, ...]:
        # Only molecules in tables have a group, their scaffold: the column was `smiles`, and all were parsed.
        if examples and examples[0].group is not None:
            return inputs_of_modality("molecule")
        return inputs_of(as_pairs(examples[:1]))

    def meant_task(self, examples: list[Any]) -> str:
        return task_of(as_pairs(examples))

    def describe_splits(self) -> str | None:
        if not is_graph_folder(self.given):
            return super().describe_splits()
        nodes = {split: self._read(split)[0].target for split in SPLITS}
        said = ", ".join(f"{sum(each is not None for each in own):,} {split}" for split, own in nodes.items())
        return f"{self.given}: nodes with a label: {said}."

    def _reason(self, kind: str) -> str:
        source = INPUTS[kind]
        column = (self.columns or {}).get(source.column, source.column)
        return f"because of {source.recognised_by.format(data=self.given, column=column)}"


def _types_of(example: Any) -> tuple[str, ...]:
    """The types that a user's target may have, as in `Dataset.target_type`; a label may also be a text."""
    if isinstance(example.source, Graph):
        return ("items",)
    if isinstance(example.target, Path):
        return ("sound",)
    if isinstance(example.target, tuple):
        return ("labels",)
    return ("label", "text") if isinstance(example.target, str) else ("number",)
