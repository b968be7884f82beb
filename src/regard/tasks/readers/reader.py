"""What all readers of splits share: missing splits are made, targets are checked, and broken lines are told."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

from regard.datasets import (
    DATASETS,
    SPLITS,
    ColumnNames,
    DataSource,
    check_label_names,
    labels_of,
    read,
    rename_labels,
    split_by_source,
)
from regard.datasets.media import readable
from regard.errors import ArgumentError, DataError, UnknownNameError
from regard.inputs.lines import ErrorHandler, raise_error
from regard.page.numbers import counted
from regard.tasks.defaults import default_recipe
from regard.tasks.named_recipes import recipe_for
from regard.tasks.readers.suitable import check_types
from regard.tasks.recipe import Recipe
from regard.tasks.sources import INPUTS
from regard.tasks.splits import Splits
from regard.tasks.task import Task
from regard.tasks.training.pairs_data import auxiliary_weights

__all__ = ["SplitsReader"]


@dataclass(frozen=True)
class SplitsReader:
    """Reads the splits of data that are found by name or path; `find_reader` chooses the class by what they are.

    Args:
        source: the files.
        given: the name or path that the user typed.
        task: what is learned from them.
        label: the label to predict; None if the files have only one.
        columns: the columns of a user's tables that don't have the standard names.
        names: new names of labels, as for `datasets.rename_labels`.
        made: the splits that are made from the examples, because there are no files for them.
        on_error: called for a broken line of a user's files, which is then skipped; None: it is an error.
        opens: whether the sounds and pictures of a user's files are opened when the examples are read, so that
            `on_error` is called for each that is broken, too.
        other: what to take instead, if the targets suit another kind of task, which stands for {}.
    """

    source: DataSource
    given: str
    task: Task
    label: str | None
    columns: ColumnNames | None = None
    names: Mapping[str, str] | None = None
    made: tuple[str, ...] = ()
    on_error: ErrorHandler | None = None
    opens: bool = False
    other: str = "task={!r}"

    chooses_label: ClassVar[bool] = True
    """Whether its examples may have several labels, one of which is to be learned."""
    noun: ClassVar[str] = "example"
    """What an example is."""
    counts: ClassVar[tuple[str, str]] = ("items", "sources")
    """What targets are of, and what those are in, of a task with a target for each item."""

    @classmethod
    def of(cls, source: DataSource, given: str, task: Task, label: str | None, usual: str | None, **more: Any) -> Self:
        """The reader of a source, after the checks that need no file to be read; `usual`: as in `find_reader`.

        Raises:
            UnknownNameError: there is no such label.
            ArgumentError: the targets don't suit the task.
        """
        raise NotImplementedError(f"{cls.__name__} must say which label it reads")

    @property
    def name(self) -> str:
        """The name for the card."""
        return self.source.name

    @property
    def title(self) -> str:
        """What is learned, for the title of the card."""
        return f"{self.name}: {self.label}" if self.label else self.name

    def with_splits(self) -> Self:
        """The same data, with the missing splits that training needs made from the examples.

        A single file or folder of classes is split into train, dev and test. If only dev is missing, it is taken from
        train.

        Raises:
            ArgumentError: there are files of splits, but none for train.
        """
        there = self.source.splits
        if there and "train" not in there:
            raise ArgumentError(
                f"`data` must have examples to train on, but {self.given} has only {' and '.join(there)}. Name one "
                "file after train."
            )
        return dataclasses.replace(self, made=self.missing_splits)

    def split_as(self, about: Mapping[str, Any]) -> Self:
        """The same data, with the splits that were made of them when a model was trained: it learned from one of them.

        Args:
            about: the provenance of the model's data, as `about` returned it.
        """
        missing = self.missing_splits
        same = bool(missing) and (about.get("made"), about.get("name")) == (list(missing), self.name)
        return dataclasses.replace(self, made=missing) if same else self

    @property
    def missing_splits(self) -> tuple[str, ...]:
        """The splits that have to be made, because there are no files for them."""
        there = self.source.splits
        if not there:
            return SPLITS
        return ("train", "dev") if "train" in there and "dev" not in there else ()

    @property
    def splits(self) -> tuple[str, ...]:
        """All splits, including those that are made."""
        there = {*self.source.splits, *self.made}
        return tuple(split for split in SPLITS if split in there)

    @property
    def is_whole(self) -> bool:
        """Whether the data are read as a whole for any split: a single file, or a folder without splits."""
        return not self.made and not self.source.splits

    def read_all(self) -> Splits:
        """Read all splits for training. Test is read, too, so that a broken line is reported before hours of training.

        Raises:
            ArgumentError, DataError: as in `read`; or the targets of train mean something else.
        """
        examples, dev = self.read("train"), self.read("dev")
        self.task.check_labels(examples, self.given)
        test = self.read("test") if "test" in self.splits else []
        return Splits(examples, dev, test, about=self.about(), name=self.given, title=self.title)

    def read(self, split: str, profiles: Any = None) -> list[Any]:
        """The examples of a split.

        Args:
            split: "train", "dev" or "test".
            profiles: a model's encoder of the profiles in a social graph.

        Raises:
            ArgumentError: the targets don't suit this kind of task, or there are so few examples that a split that is
                made from them is empty.
            DataError: there is no such split, or a file is broken.
        """
        if split not in self.made:
            return self._read(split, profiles)
        found = [example for example, each in self._assigned if each == split]
        if not found and split != "test":
            raise ArgumentError(
                f"`data` must hold enough examples to be split by a hash of their sources, but of the "
                f"{len(self._assigned)} in {self.given} none falls into {split}. Name a folder with files for train "
                "and dev."
            )
        return found

    @cached_property
    def _assigned(self) -> list[tuple[Any, str]]:
        """The examples from which splits are made, each with its split."""
        # A single file is read for any split.
        examples = self._read("train")
        key = INPUTS[self.kinds(examples)[0]].split_key
        return list(zip(examples, split_by_source(examples, self.made, key=key), strict=True))

    def _read(self, split: str, profiles: Any = None) -> list[Any]:
        """The examples of a split that has files. They are cached, except with `profiles`."""
        if profiles is not None:
            return self._checked(self._read_files(split, profiles))
        if split not in self._by_split:
            self._by_split[split] = self._checked(self._read_files(split))
        return self._by_split[split]

    @cached_property
    def _by_split(self) -> dict[str, list[Any]]:
        """The cached examples of each split."""
        return {}

    def _checked(self, examples: list[Any]) -> list[Any]:
        return rename_labels(examples, self._checked_names) if self.names else examples

    def _read_files(self, split: str, profiles: Any = None) -> list[Any]:
        # What is broken in a data set that is known by name is known, and skipped.
        problem = self._skip if self.source.dataset is None else None
        encoding = self.source.encoding
        examples = read(self.given, split, self.label, columns=self.columns, encoding=encoding, on_error=problem)
        if not examples and self._skipped:
            # A treebank without any valid sentence has reported its broken lines already.
            self._skip(DataError("it holds no examples.", path=self.given))
        return self._readable(examples) if self.opens and self.source.dataset is None else examples

    def _readable(self, examples: list[Any]) -> list[Any]:
        """The examples whose files can be opened."""
        broken: list[DataError] = []
        whole = list(readable(examples, broken.append))
        if broken and not whole:
            raise DataError(f"every file of it is broken. The first: {broken[0]}", path=self.given)
        for error in broken:
            (self.on_error or raise_error)(error)
        return whole

    def _skip(self, error: DataError) -> None:
        """Let a broken line be skipped; an empty file has none."""
        if error.line is None and self.has_lines:
            if (first := self._skipped.get(str(error.path))) is not None:
                raise DataError(
                    f"every line of it is broken. The first is line {first.line}: {first.reason}", path=error.path
                )
            raise error
        (self.on_error or raise_error)(error)
        self._skipped.setdefault(str(error.path), error)

    @cached_property
    def _skipped(self) -> dict[str, DataError]:
        """The first broken line of each file that was skipped."""
        return {}

    @property
    def has_lines(self) -> bool:
        """Whether it has a line for an example or a word, so that a file without any is an error."""
        return False

    @cached_property
    def _checked_names(self) -> Mapping[str, str]:
        """The renamed labels, each of which must occur in some split."""
        names = self.names or {}
        check_label_names(names, self.labels, self.given)
        return names

    @cached_property
    def labels(self) -> list[str]:
        """The labels in all splits, before they are renamed; empty for texts and numbers."""
        if not self.task.accepts(("items", "label")):
            return []
        plain = dataclasses.replace(self, names=None)
        return sorted({label for split in self.source.splits or ("train",) for label in labels_of(plain._read(split))})

    def check_known(self, labels: Sequence[str], examples: Sequence[Any]) -> None:
        """Refuse a column if fewer than half of its labels are a model's; two columns may share a few, such as SYM.

        Of data with one column of labels nothing is refused: the model itself refuses labels that it doesn't know.

        Args:
            labels: the model's labels; empty if it predicts something else.
            examples: the examples that it is to be evaluated on.

        Raises:
            ArgumentError: they are of another column.
        """
        if not self.chooses_label or not labels:
            return
        given = self.task.known_targets(examples)
        given, what = (given, self.counts[0]) if self.task.per_item else (sorted({*given}), "labels")
        known = sum(target in labels for target in given)
        if known < len(given) / 2:
            raise ArgumentError(
                f"`label` must be the column with the model's labels ({', '.join(labels[:8])}, ...), but only "
                f"{known:,} of {len(given):,} {what} of {self.given} "
                f"{'has' if known == 1 else 'have'} one of them in the column {self.label}."
                f"{'' if self.names else ' Rename labels by --labels OLD=NEW,...'}"
            )

    def with_auxiliary(self, recipe: Recipe, splits: Splits, *, must: bool) -> tuple[Recipe, Splits, list[str]]:
        """The splits with the auxiliary targets that a recipe names, and the recipe without those that the data lack.

        Args:
            recipe: the recipe.
            splits: what `read_all` returned.
            must: whether a target that is lacking is an error.

        Returns:
            both, and a sentence on each target that is lacking.

        Raises:
            DataError, ArgumentError: as in `auxiliary`, if they must be there.
        """
        wanted = auxiliary_weights(recipe)
        if not wanted:
            return recipe, splits, []
        found: dict[str, list[Any]] = {}
        notes: list[str] = []
        for name in wanted:
            try:
                found[name] = self.auxiliary(name, splits.train)
            except (DataError, ArgumentError):
                if must:
                    raise
                notes.append(f"{self._lacks(name)}, so the recipe is used without it.")
        task = dataclasses.replace(recipe.task, auxiliary={name: wanted[name] for name in found})
        return dataclasses.replace(recipe, task=task), dataclasses.replace(splits, auxiliary=found), notes

    def auxiliary(self, name: str, examples: Sequence[Any]) -> list[Any]:
        """Another label of the training examples, for a recipe's `auxiliary`.

        Args:
            name: the name of the label.
            examples: the training examples.

        Raises:
            DataError: a treebank has no such column, or a word without a value in it.
            ArgumentError: the data set has no such label, or has it for other examples.
        """
        raise self._no_auxiliary(name, [])

    def _no_auxiliary(self, name: str, others: Sequence[str]) -> ArgumentError:
        return ArgumentError(
            f"`auxiliary` of `recipe` must name other labels of {self.given} than what is learned "
            f"({', '.join(others) or 'it has none'}), but names {name!r:.60}. Use a recipe without it; for "
            "targets of your own, use Python: regard.train(..., auxiliary=...)."
        )

    def _lacks(self, name: str) -> str:
        return f"{self.given} has no auxiliary label {name}"

    def about(self) -> dict[str, Any]:
        """The provenance of the data, for the model card."""
        about: dict[str, Any] = {"name": self.name, "label": self.label or ""}
        if self.name in DATASETS:
            known = DATASETS[self.name]
            about |= {
                "title": known.title,
                "licence": known.licence,
                "source": known.source,
                "citation": known.citation,
            }
        if self.columns:
            about["columns"] = dict(self.columns)
        if self.names:
            about["renamed"] = dict(self.names)
        if self.made:
            about["made"] = list(self.made)
        return about

    def usual_recipe(
        self,
        examples: list[Any],
        asked: str | None = None,
        *,
        base: str | None = None,
        tune: str | None = None,
        vectors: str | None = None,
    ) -> Recipe:
        """The recipe that was tuned on this data set, else the default recipe for its examples.

        Args:
            examples: the training examples.
            asked: the kind of source that the user chose.
            base, tune, vectors: as in `default_recipe`.

        Raises:
            UnknownNameError: this kind can't read these sources.
            ArgumentError: `base` is no such folder.
        """
        if base is not None or vectors is not None:
            return default_recipe(
                examples, task=self.task.name, input=asked, base=base, tune=tune if base else None, vectors=vectors
            )
        kinds = self.kinds(examples)
        if asked is not None and asked not in kinds:
            raise UnknownNameError("input", asked, kinds)
        return self.own_recipe(asked) or self._default_recipe(examples, asked)

    def own_recipe(self, asked: str | None = None) -> Recipe | None:
        """The recipe that was tuned on this data set, if there is one that reads the kind of source asked for."""
        named = recipe_for(self.name, self.label or "", self.task.name)
        return named.recipe if named is not None and asked in (None, named.recipe.input.kind) else None

    def _default_recipe(self, examples: list[Any], asked: str | None) -> Recipe:
        first = self.kinds(examples)[0]
        # What is no text may look like one, as SMILES does. Which kind reads a text depends on the task.
        kind = first if asked is None and not INPUTS[first].is_text else asked
        return default_recipe(examples, task=self.task.name, input=kind)

    def check_recipe(self, recipe: Recipe, examples: list[Any], *, ours: bool) -> None:
        """Refuse a recipe that is for another task, or that can't read these sources.

        Args:
            recipe: the recipe.
            examples: the training examples.
            ours: whether it comes with regard, so that the user can't change it.

        Raises:
            ArgumentError: it is.
        """
        usual = "Leave it out for the default one."
        if recipe.task.kind != self.task.name:
            step = usual if ours else "Set its task."
            raise ArgumentError(f"`recipe` must be a {self.task.name}'s, but is a {recipe.task.kind}'s. {step}")
        kinds = self.kinds(examples)
        if recipe.input.kind not in kinds:
            said = " or ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)
            step = usual if ours else "Set its input."
            raise ArgumentError(
                f"`recipe` must read {said}, which {self.given} holds, but reads {recipe.input.kind}. {step}"
            )

    def kinds(self, examples: list[Any]) -> tuple[str, ...]:
        """The kinds of source that read the data, the default first.

        Args:
            examples: the training examples.
        """
        raise NotImplementedError(f"{type(self).__name__} must say what its sources are")

    def meant_task(self, examples: list[Any]) -> str:
        """The kind of task that the data are for, as far as their targets tell."""
        return self.usual_recipe(examples).task.kind

    def source_noun(self, kind: str) -> str:
        """What one of the sources is, read as this kind."""
        return INPUTS[kind].source_noun

    def summary(self, examples: list[Any], kind: str, because: str | None = None) -> str:
        """One line on the training examples: their number, their targets and the kind of source.

        Args:
            examples: the training examples.
            kind: the kind of source.
            because: the reason for that kind; by default, it follows from the data.
        """
        what = f"{counted(len(examples), self.source_noun(kind))} -> {self.task.describe_targets(examples)}"
        return f"{what}; input: {kind}, {because or self._reason(kind)}."

    def describe_splits(self) -> str | None:
        """One line on how the data are split; None if there are files for all splits."""
        if not self.made:
            return None
        splits = [split for _, split in self._assigned]
        counts = [f"{splits.count(split):,} {split}" for split in self.made]
        noun = counted(len(splits), "example")
        return f"{self.given}: {noun} split by a hash of each source, duplicates together: {', '.join(counts)}."

    def _reason(self, kind: str) -> str:
        return f"as usual for {self.name}"

    def _check_types(self, types: tuple[str, ...], labels: Mapping[str, str] | None = None) -> None:
        """Refuse targets of other types than the task's, as `check_types`."""
        check_types(self.task, types, self.given, other=self.other, labels=labels or {})
