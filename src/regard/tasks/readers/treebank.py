"""Treebanks, known by name or a user's own: sentences whose words have labels in columns."""

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from regard.datasets import DataSource, read_treebank
from regard.errors import ArgumentError
from regard.tasks.defaults import sized
from regard.tasks.examples import as_pairs
from regard.tasks.named_recipes import RECIPES
from regard.tasks.readers.reader import SplitsReader
from regard.tasks.recipe import Recipe
from regard.tasks.task import Task

__all__ = ["TreebankReader"]


class TreebankReader(SplitsReader):
    """Reads sentences. A label is a column of the files."""

    noun: ClassVar[str] = "sentence"
    counts: ClassVar[tuple[str, str]] = ("words", "sentences")

    @classmethod
    def of(cls, source: DataSource, given: str, task: Task, label: str | None, usual: str | None, **more: Any) -> Self:
        found = cls(source, given, task, label or usual or source.label, **more)
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
        return ("words",)

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
        # Distinguish a column with missing values from a missing column.
        path = self.source.files["train"]
        some = any(True for _ in read_treebank(path, name, on_error=lambda _: None))
        return f"{'a word of ' if some else ''}{self.given} has no {name.upper()}"

    def about(self) -> dict[str, Any]:
        paths = self.source.files.values()
        return super().about() | {"files": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}}

    def _default_recipe(self, examples: list[Any], asked: str | None) -> Recipe:
        return sized(RECIPES["english-pos"], as_pairs(examples))
