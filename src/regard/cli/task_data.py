"""The data of `regard train` and `regard evaluate`, checked to hold targets for the task."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from regard.errors import ArgumentError, DataError, UnknownNameError
from regard.files import similar_paths
from regard.tasks.registry import TASKS

if TYPE_CHECKING:
    from regard.cli.broken_lines import BrokenLines
    from regard.datasets import ColumnNames, Dataset, DataSource
    from regard.tasks import Recipe

__all__ = ["ALL", "TaskData"]

ALL = "all"
"""The name of the split, for data that are read as a whole."""

# The types of targets (`Dataset.target_type`) in words.
_SAID = {
    "items": "a label for each item",
    "label": "one label",
    "number": "a number",
    "labels": "several labels",
    "text": "a text",
    "sound": "a sound",
}
_OTHER = "regard train {}"


@dataclass(frozen=True)
class TaskData:
    """A data set by name, or a user's own.

    Args:
        task: the kind of the task.
        given: the name or path that the user typed.
        name: the name for the model card.
        label: the label to predict; None if the files have only one.
        known: the data set, if it is known by name and isn't a treebank.
        columns: the columns of a user's tables that don't have the standard names.
        made: the splits that are made from the examples, because there are no files for them.
        names: new names of labels, as for `datasets.rename_labels`.
        broken: collects broken lines of a user's files, which are skipped; None: they raise errors.
        can_skip: whether such an error names `--skip-broken`, an option that not every command has.
        other: what to take instead, if the targets suit another kind of task, which stands for {}.
    """

    task: str
    given: str
    name: str
    label: str | None
    known: "Dataset | None"
    columns: "ColumnNames | None" = None
    made: tuple[str, ...] = ()
    names: "Mapping[str, str] | None" = None
    broken: "BrokenLines | None" = None
    can_skip: bool = True
    other: str = _OTHER

    @classmethod
    def find(
        cls,
        task: str,
        given: str,
        label: str | None = None,
        columns: "ColumnNames | None" = None,
        *,
        other: str = _OTHER,
    ) -> "TaskData":
        """Find data by name or path.

        Args:
            task: the kind of the task.
            given: the name of a data set, or a path.
            label: the label to predict, if there are several.
            columns: as in `datasets.read`.
            other: what to take instead, as in the class.

        Raises:
            UnknownNameError: an unknown name or label.
            ArgumentError: the targets don't suit this kind of task, or the data have no columns to name.
            DataError: the path doesn't exist, or there are no files in the folder.
        """
        from regard.datasets import check_columns, find_source

        check_columns(given, columns)
        try:
            source = find_source(given)
        except UnknownNameError:
            raise UnknownNameError("--data", given, [*_fitting(task), "a path"], similar_paths(given)) from None
        known = source.dataset
        if source.is_treebank:
            if known is not None:
                # Checked before anything is fetched.
                cls(task, given, given, label, None, other=other)._check("items")
            # Find or fetch the files now.
            _ = source.files
            found, gives = cls(task, given, source.name, label or source.label, None, other=other), "items"
        elif known is not None:
            if label is not None and label not in known.labels:
                raise UnknownNameError("label", label, known.labels)
            found = cls(task, given, given, label or known.label, known, other=other)
            gives = known.target_type_of(found.label or "")
        else:
            if TASKS[task].per_item and source.has_columns:
                has = "holds tables" if Path(given).is_dir() else "is a table"
                raise ArgumentError(
                    f"`--data` must have a label for each item of a source, to be for a tagger, but {given} {has}, "
                    f"with one target for each source. Take {other.format('classifier')}, or {other.format('seq2seq')}."
                )
            # The type of a user's targets is known only after reading.
            found, gives = cls(task, given, Path(given).name, label, None, columns, other=other), TASKS[task].targets[0]
        found._check(gives)
        return found

    @property
    def is_treebank(self) -> bool:
        """Whether it is a treebank: sentences whose words have labels in columns."""
        return self._source.is_treebank

    @cached_property
    def _source(self) -> "DataSource":
        from regard.datasets import find_source

        return find_source(self.given)

    def with_splits(self) -> "TaskData":
        """The same data, with the missing splits that training needs made from the examples.

        A single file or folder of classes is split into train, dev and test. If only dev is missing, it is taken from
        train.

        Raises:
            ArgumentError: there are files of splits, but none for train.
        """
        there = self._source.splits
        if there and "train" not in there:
            raise ArgumentError(
                f"`--data` must have examples to train on, but {self.given} has only {' and '.join(there)}. Name one "
                "file after train."
            )
        return dataclasses.replace(self, made=self.missing_splits)

    @property
    def missing_splits(self) -> tuple[str, ...]:
        """The splits that have to be made, because there are no files for them."""
        from regard.datasets import SPLITS

        there = self._source.splits
        if not there:
            return SPLITS
        return ("train", "dev") if "train" in there and "dev" not in there else ()

    @property
    def splits(self) -> tuple[str, ...]:
        """All splits, including those that are made."""
        from regard.datasets import SPLITS

        there = {*self._source.splits, *self.made}
        return tuple(split for split in SPLITS if split in there)

    @property
    def is_whole(self) -> bool:
        """Whether the data are read as a whole for any split: a single file, or a folder without splits."""
        return not self.made and not self._source.splits

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
                f"`--data` must hold enough examples to be split by a hash of their sources, but of the "
                f"{len(self._assigned)} in {self.given} none falls into {split}. Name a folder with files for train "
                "and dev."
            )
        return found

    @cached_property
    def _assigned(self) -> list[tuple[Any, str]]:
        """The examples from which splits are made, each with its split."""
        from regard.datasets import split_by_source
        from regard.tasks.sources import INPUTS

        # A single file is read for any split.
        examples = self._read("train")
        key = INPUTS[self.kinds(examples)[0]].split_key
        return list(zip(examples, split_by_source(examples, self.made, key=key), strict=True))

    def _read(self, split: str, profiles: Any = None) -> list[Any]:
        """The examples of a split that has files. They are cached, except with `profiles`."""
        if profiles is not None:
            return self._read_files(split, profiles)
        if split not in self._by_split:
            self._by_split[split] = self._read_files(split)
        return self._by_split[split]

    @cached_property
    def _by_split(self) -> dict[str, list[Any]]:
        """The cached examples of each split."""
        return {}

    def _read_files(self, split: str, profiles: Any = None) -> list[Any]:
        from regard.datasets import DATASETS, read, read_graph_folder, rename_labels
        from regard.inputs import is_graph_folder

        if profiles is not None and self.known is None and is_graph_folder(self.given):
            examples: list[Any] = [read_graph_folder(self.given, split, encoder=profiles)]
        else:
            # Broken lines in a data set that is known by name are expected.
            problem = None if self.given in DATASETS else self._tell
            examples = read(self.given, split, self.label, columns=self.columns, on_error=problem)
            if not examples and self.broken:
                # A treebank without any valid sentence has reported its broken lines already.
                self._tell(DataError("it holds no examples.", path=self.given))
        if examples and self.known is None and not self.is_treebank:
            kinds = _kinds_of(examples[0])
            if not {*kinds} & {*TASKS[self.task].targets}:
                self._refuse(kinds, self._step(*kinds))
        return rename_labels(examples, self._checked_names) if self.names else examples

    def _tell(self, error: DataError) -> None:
        """Skip a broken line if `--skip-broken` was given; else raise the error."""
        from regard.cli.broken_lines import with_option

        # An empty table or treebank has no line to skip.
        if error.line is None and (self._source.has_columns or self.is_treebank):
            if self.broken is not None and (first := self.broken.first(error.path)) is not None:
                raise DataError(
                    f"every line of it is broken. The first is line {first.line}: {first.reason}", path=error.path
                )
            raise error
        if self.broken is None:
            raise with_option(error) if self.can_skip else error
        self.broken.add(error)

    @cached_property
    def _checked_names(self) -> "Mapping[str, str]":
        """The renamed labels, each of which must occur in some split."""
        from regard.datasets import check_label_names

        names = self.names or {}
        check_label_names(names, self.labels, self.given)
        return names

    @cached_property
    def labels(self) -> list[str]:
        """The labels in all splits, before they are renamed; empty for texts and numbers."""
        from regard.datasets import labels_of

        if not {*TASKS[self.task].targets} & {"items", "label"}:
            return []
        plain = dataclasses.replace(self, names=None)
        return sorted({label for split in self._source.splits or ("train",) for label in labels_of(plain._read(split))})

    def auxiliary(self, name: str, examples: Sequence[Any]) -> list[Any]:
        """Another label of the training examples, for a recipe's `auxiliary`.

        Args:
            name: the name of the label.
            examples: the training examples.

        Raises:
            DataError: a treebank has no such column, or a word without a value in it.
            ArgumentError: the data set has no such label, or has it for other examples.
        """
        from regard.datasets import read
        from regard.tasks.examples import digest_pairs

        if self.is_treebank:
            other = dataclasses.replace(self, label=name, names=None, broken=None)
            sentences = other.read("train")
            if [each.words for each in sentences] != [each.words for each in examples]:
                # The sentences differ if broken ones were skipped.
                raise ArgumentError(f"`auxiliary` must be known of the same sentences as {self.label}, but isn't.")
            return [sentence.labels for sentence in sentences]
        others = [label for label in (self.known.labels if self.known else ()) if label != self.label]
        if name not in others:
            raise ArgumentError(
                f"`auxiliary` of `--recipe` must name other labels of {self.given} than what is learned "
                f"({', '.join(others) or 'it has none'}), but names {name!r:.60}. Use a recipe without it; for "
                "targets of your own, use Python: regard.train(..., auxiliary=...)."
            )
        found = read(self.given, "train", name)
        same = {digest_pairs((each.source, "") for each in known) for known in (found, examples)}
        if len(same) > 1:
            raise ArgumentError(
                f"`auxiliary` must be known of the same examples as {self.label}, but {self.given} has other examples "
                f"for {name}."
            )
        return [each.target for each in found]

    def about(self) -> dict[str, Any]:
        """The provenance of the data, for the model card."""
        import hashlib

        from regard.datasets import DATASETS

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
        if self.is_treebank:
            paths = self._source.files.values()
            about["files"] = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
        return about

    def usual_recipe(self, examples: list[Any], asked: str | None = None) -> "Recipe":
        """The recipe that was tuned on this data set, else the default recipe for its examples.

        Args:
            examples: the training examples.
            asked: the kind of source that the user chose.

        Raises:
            UnknownNameError: this kind can't read these sources.
        """
        from regard.tasks import RECIPES, default_recipe, recipe_for
        from regard.tasks.defaults import sized
        from regard.tasks.examples import as_pairs
        from regard.tasks.sources import INPUTS

        kinds = self.kinds(examples)
        if asked is not None and asked not in kinds:
            raise UnknownNameError("--input", asked, kinds)
        if (found := recipe_for(self.name, self.label or "", self.task)) and asked in (None, found.recipe.input.kind):
            return found.recipe
        if self.is_treebank:
            return sized(RECIPES["english-pos"], as_pairs(examples))
        # What is no text may look like one, as SMILES does. Which kind reads a text depends on the task.
        kind = kinds[0] if asked is None and not INPUTS[kinds[0]].is_text else asked
        return default_recipe(examples, task=self.task, input=kind)

    def kinds(self, examples: list[Any]) -> tuple[str, ...]:
        """The kinds of source that read the data, the default first.

        Args:
            examples: the training examples.
        """
        if self.is_treebank:
            return ("words",)
        from regard.tasks.defaults import inputs_of, inputs_of_modality

        if self.known is None:
            from regard.tasks.examples import as_pairs

            # Only molecules in tables have a group, their scaffold: the column was `smiles`, and all were parsed.
            molecules = bool(examples) and examples[0].group is not None
            return inputs_of_modality("molecule") if molecules else inputs_of(as_pairs(examples[:1]))
        # If the sound is the target, the source is the text.
        turned = self.known.target_type_of(self.label or "") == "sound"
        return inputs_of_modality("text" if turned else self.known.modality)

    def summary(self, examples: list[Any], kind: str, because: str | None = None) -> str:
        """One line on the training examples: their number, their targets and the kind of source.

        Args:
            examples: the training examples.
            kind: the kind of source.
            because: the reason for that kind; by default, it follows from the data.
        """
        from regard.page.numbers import counted
        from regard.tasks.sources import INPUTS

        noun = "sentence" if self.is_treebank else INPUTS[kind].source_noun
        what = f"{counted(len(examples), noun)} -> {_targets(self.task, examples)}"
        return f"{what}; input: {kind}, {because or self._reason(kind)}."

    def describe_splits(self) -> str | None:
        """One line on how the data are split; None if there are files for all splits."""
        from regard.datasets import SPLITS
        from regard.inputs import is_graph_folder
        from regard.page.numbers import counted

        if self.known is None and is_graph_folder(self.given):
            nodes = {split: self._read(split)[0].target for split in SPLITS}
            said = ", ".join(f"{sum(each is not None for each in own):,} {split}" for split, own in nodes.items())
            return f"{self.given}: nodes with a label: {said}."
        if not self.made:
            return None
        counts = [f"{sum(each == split for _, each in self._assigned):,} {split}" for split in self.made]
        noun = counted(len(self._assigned), "example")
        return f"{self.given}: {noun} split by a hash of each source, duplicates together: {', '.join(counts)}."

    def _reason(self, kind: str) -> str:
        if self.is_treebank or self.known is not None:
            return f"as usual for {self.name}"
        from regard.tasks.sources import INPUTS

        source = INPUTS[kind]
        column = (self.columns or {}).get(source.column, source.column)
        return f"because of {source.recognised_by.format(data=self.given, column=column)}"

    def _check(self, gives: str) -> None:
        if gives not in TASKS[self.task].targets:
            self._refuse((gives,), self._step(gives))

    def _refuse(self, gives: tuple[str, ...], step: str) -> NoReturn:
        wanted, found = (" or ".join(_SAID[kind] for kind in kinds) for kinds in (TASKS[self.task].targets, gives))
        raise ArgumentError(
            f"`--data` must have {wanted} as a source's target, to be for a {self.task}, but {self.given} has {found}."
            f"{step}"
        )

    def _step(self, *gives: str) -> str:
        """The option or command to use instead, if there is one."""
        labels = () if self.known is None else self.known.labels
        for label in labels:
            if self.known is not None and self.known.target_type_of(label) in TASKS[self.task].targets:
                return f" Take --label {label}."
        steps = [self.other.format(task.name) for task in TASKS.values() if {*gives} & {*task.targets}]
        # If only one data set suits the task, suggest it.
        fitting = _fitting(self.task)
        if len(fitting) == 1 and self.known is not None:
            steps += [f"--data {name} --label {label}" for name, label in fitting.items()]
        return f" Take {', or '.join(steps)}."


def _fitting(task: str) -> dict[str, str]:
    """The data sets that suit this kind of task: name -> the first suitable label."""
    from regard.datasets import DATASETS

    found: dict[str, str] = {}
    for name, known in DATASETS.items():
        labels = (known.label, *known.labels)
        label = next((label for label in labels if known.target_type_of(label) in TASKS[task].targets), None)
        if label is not None:
            found[name] = label
    return found


def _kinds_of(example: Any) -> tuple[str, ...]:
    """The types that a user's target may have, as in `Dataset.target_type`; a label may also be a text."""
    from regard.inputs import Graph

    if isinstance(example.source, Graph):
        return ("items",)
    if isinstance(example.target, Path):
        return ("sound",)
    if isinstance(example.target, tuple):
        return ("labels",)
    return ("label", "text") if isinstance(example.target, str) else ("number",)


def _targets(task: str, examples: list[Any]) -> str:
    """The targets in a few words."""
    from regard.page.numbers import counted

    if TASKS[task].decides_length:
        (target,) = TASKS[task].targets
        return f"{target}s"
    targets = [each.labels if hasattr(each, "labels") else each.target for each in examples]
    if TASKS[task].per_item:
        targets = [item for each in targets for item in each]
    known = [target for target in targets if target is not None]
    if known and isinstance(known[0], tuple | list):
        return counted(len(known[0]), "question")
    if known and not isinstance(known[0], str):
        return "numbers"
    return counted(len({*known}), "label")
