"""The kinds of readers: of data sets by name, of treebanks, and of a user's own files."""

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from regard.datasets import SPLITS, Dataset, DataSource, read, read_graph_folder, read_treebank
from regard.errors import ArgumentError, UnknownNameError
from regard.inputs import Graph, is_graph_folder
from regard.tasks.defaults import inputs_of, inputs_of_modality, task_of
from regard.tasks.examples import as_pairs, digest_pairs
from regard.tasks.named_recipes import RECIPES
from regard.tasks.readers.reader import SplitsReader
from regard.tasks.recipe import Recipe
from regard.tasks.registry import TASKS
from regard.tasks.sources import INPUTS
from regard.tasks.task import Task
from regard.tasks.training.pairs_data import auxiliary_weights

__all__ = ["DatasetReader", "OwnFilesReader", "TreebankReader"]


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


class TreebankReader(SplitsReader):
    """Reads sentences. A label is a column of the files."""

    noun: ClassVar[str] = "sentence"
    counts: ClassVar[tuple[str, str]] = ("words", "sentences")

    @classmethod
    def of(cls, source: DataSource, given: str, task: Task, label: str | None, usual: str | None, **more: Any) -> Self:
        found = cls(source, given, task, label or (usual if usual in source.labels else source.label), **more)
        # Before the files are found or fetched.
        found._check_types(("items",))
        _ = source.files
        return found

    @property
    def title(self) -> str:
        return f"{self.name}: {(self.label or '').upper()}"

    @property
    def has_lines(self) -> bool:
        return True

    def kinds(self, examples: list[Any]) -> tuple[str, ...]:
        return inputs_of(as_pairs(examples[:1]))

    def source_noun(self, kind: str) -> str:
        return self.noun

    def auxiliary(self, name: str, examples: Sequence[Any]) -> list[Any]:
        # What was skipped is skipped again. Without that a broken line is an error, which no option can skip.
        skip = (lambda _: None) if self._skipped else None
        other = dataclasses.replace(self, label=name, names=None, on_error=skip)
        sentences = other.read("train")
        if [each.words for each in sentences] != [each.words for each in examples]:
            # The sentences differ if broken ones were skipped.
            raise ArgumentError(f"`auxiliary` must be known of the same sentences as {self.label}, but isn't.")
        return [sentence.labels for sentence in sentences]

    def _lacks(self, name: str) -> str:
        if name not in self.source.labels:
            return f"{self.given} has no {name.upper()}"
        # Distinguish a column with missing values from a missing column.
        path = self.source.files["train"]
        some = any(True for _ in read_treebank(path, name, on_error=lambda _: None))
        return f"{'a word of ' if some else ''}{self.given} has no {name.upper()}"

    def about(self) -> dict[str, Any]:
        paths = self.source.files.values()
        return super().about() | {"files": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}}

    def _default_recipe(self, examples: list[Any], asked: str | None) -> Recipe:
        recipe = super()._default_recipe(examples, asked)
        if recipe.input.linear:
            return recipe
        # Without a linear part a network is better that learns other labels, too; beside one it is slightly worse.
        beside = auxiliary_weights(RECIPES["english-pos"])
        known = {name: weight for name, weight in beside.items() if name in self.source.labels and name != self.label}
        return dataclasses.replace(recipe, task=dataclasses.replace(recipe.task, auxiliary=known))


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
                f"with one target for each source. Take {', or '.join(others)}. Words with labels are read from CoNLL "
                "(a word and its label on each line) and from lines of word/TAG."
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
