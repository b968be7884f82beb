"""Data sets that are known by name, but for treebanks."""

from collections.abc import Sequence
from typing import Any, Self

from regard.datasets import Dataset, DataSource, read
from regard.errors import ArgumentError, UnknownNameError
from regard.tasks.defaults import inputs_of_modality
from regard.tasks.examples import as_pairs, digest_pairs
from regard.tasks.readers.reader import SplitsReader
from regard.tasks.task import Task

__all__ = ["DatasetReader"]


class DatasetReader(SplitsReader):
    """Reads a data set of `DATASETS`. What is broken in its files is known, and skipped."""

    @classmethod
    def of(cls, source: DataSource, given: str, task: Task, label: str | None, usual: str | None, **more: Any) -> Self:
        known: Dataset = source.dataset  # pyright: ignore[reportAssignmentType]  # `find_reader` has asked
        if label is not None and label not in known.labels:
            raise UnknownNameError("label", label, known.labels)
        found = cls(source, given, task, label or (usual if usual in known.labels else known.label), **more)
        types = {each: known.target_type_of(each) for each in known.labels}
        found._check_types((known.target_type_of(found.label or ""),), types)
        return found

    @property
    def known(self) -> Dataset:
        """Its entry in `DATASETS`."""
        return self.source.dataset  # pyright: ignore[reportReturnType]  # as above

    def kinds(self, examples: list[Any]) -> tuple[str, ...]:
        # If the sound is the target, the source is the text.
        turned = self.known.target_type_of(self.label or "") == "sound"
        return inputs_of_modality("text" if turned else self.known.modality)

    def auxiliary(self, name: str, examples: Sequence[Any]) -> list[Any]:
        others = [label for label in self.known.labels if label != self.label]
        if name not in others:
            raise self._no_auxiliary(name, others)
        found = read(self.given, "train", name)
        same = {digest_pairs((source, "") for source, _ in as_pairs(known)) for known in (found, examples)}
        if len(same) > 1:
            raise ArgumentError(
                f"`auxiliary` must be known of the same examples as {self.label}, but {self.given} has other examples "
                f"for {name}."
            )
        return [each.target for each in found]
