"""Looking a data set over before anything is learned from it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.datasets.columns import ColumnNames
from regard.datasets.duplicates import Duplicates, canonical_smiles, count_duplicates
from regard.datasets.example import Example
from regard.datasets.example_set import ExampleSet
from regard.datasets.example_sets import EXAMPLE_SETS
from regard.datasets.fetching import Progress, fetch
from regard.datasets.label_renaming import check_label_names, labels_of, rename_labels
from regard.datasets.reading import SPLITS, check_columns, is_treebank, read_examples, resolve, splits_of
from regard.datasets.tagged_sentence import TaggedSentence
from regard.datasets.treebank import read_treebank
from regard.errors import DataError
from regard.inputs import FOLDINGS

__all__ = ["Report", "SplitReport", "check"]

_MOST_PROBLEMS = 1000  # a file of another kind has one a line


@dataclass(frozen=True)
class SplitReport:
    """What one split holds.

    Args:
        split: its name.
        path: its file.
        sentences: how many it has; of a data set of examples, how many of those.
        words: how many it has; 0 for examples.
        labels: how often each label stands in it, the most frequent first; none for texts and numbers.
        out_of_vocabulary: the fraction of its words that the training split doesn't have; None for the training split
            itself, and for examples.
    """

    split: str
    path: Path
    sentences: int
    words: int
    labels: dict[str, int]
    out_of_vocabulary: float | None


@dataclass(frozen=True)
class Report:
    """What a data set holds, and what is wrong with it.

    Args:
        name: of the data set.
        label: the column that labels the words, or what the examples are labelled with.
        splits: what each split holds.
        duplicates: what stands in more than one split.
        problems: every broken line and whatever else is wrong, one sentence each; empty if all is well.
        of_words: whether it is a treebank, whose words are labelled.
    """

    name: str
    label: str
    splits: tuple[SplitReport, ...]
    duplicates: Duplicates
    problems: tuple[str, ...]
    of_words: bool = False


def check(
    name_or_path: str | Path,
    label: str | None = None,
    *,
    columns: ColumnNames | None = None,
    names: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Read every split of a data set and report what it holds and what is wrong with it.

    Args:
        name_or_path: as `read` takes it.
        label: as `read` takes it.
        columns: as `read` takes them.
        names: other names for labels, as `rename_labels` takes them.
        progress: as `fetch` takes it.

    Raises:
        UnknownNameError: a name or label that isn't known.
        ArgumentError: columns of what is no table, or a name for a label that isn't there.
        DataError: there is nothing to read. A broken line is not raise_error but reported.
    """
    check_columns(name_or_path, columns)
    if str(name_or_path) in EXAMPLE_SETS:
        return _check_examples(EXAMPLE_SETS[str(name_or_path)], label, names, progress)
    if not is_treebank(name_or_path):
        return _check_own(Path(name_or_path), label, columns, names)
    source = resolve(name_or_path, progress=progress)
    label = label or source.label
    problems: list[DataError] = []
    read: dict[str, list[TaggedSentence]] = {}
    # One file alone is one split, whatever it is used for.
    alone = len(set(source.files.values())) == 1
    for split, path in list(source.files.items())[: 1 if alone else None]:
        sentences = read_treebank(path, label, convert=source.convert(split), on_error=problems.append)
        read["all" if alone else split] = list(sentences)
    read = _renamed(read, names, name_or_path)
    found = _said([str(problem) for problem in problems])
    fold = FOLDINGS[source.fold]
    known = {fold(word) for sentence in read.get("train", ()) for word in sentence.words}
    reports: list[SplitReport] = []
    for split, sentences in read.items():
        path = next(iter(source.files.values())) if alone else source.files[split]
        words = [fold(word) for sentence in sentences for word in sentence.words]
        labels = Counter(name for sentence in sentences for name in sentence.labels)
        against = bool(known) and split != "train" and bool(words)
        unknown = sum(word not in known for word in words) / len(words) if against else None
        reports.append(SplitReport(split, path, len(sentences), len(words), dict(labels.most_common()), unknown))
    found += _never_learned(reports)
    duplicates = count_duplicates(read, fold=source.fold)
    return Report(source.name, label, tuple(reports), duplicates, tuple(found), of_words=True)


def _renamed(read: dict[str, list[Any]], names: Mapping[str, str] | None, given: str | Path) -> dict[str, list[Any]]:
    if not names:
        return read
    check_label_names(names, labels_of(each for examples in read.values() for each in examples), given)
    return {split: rename_labels(examples, names) for split, examples in read.items()}


def _check_own(path: Path, label: str | None, columns: ColumnNames | None, names: Mapping[str, str] | None) -> Report:
    """A user's own tables, folders or graph, which say themselves what they are labelled with."""
    problems: dict[str, None] = {}
    splits = splits_of(path)
    read = {
        split: read_examples(
            path, split, label, columns=columns, on_error=lambda error: problems.setdefault(str(error))
        )
        for split in splits or ("train",)
    }
    read = _renamed(read, names, path)
    reports = [
        SplitReport(split if splits else "all", path, len(examples), 0, _own_labels(examples), None)
        for split, examples in read.items()
    ]
    read = {report.split: examples for report, examples in zip(reports, read.values(), strict=True)}
    found = _said([*problems, *_empty(read, path)]) + _never_learned(reports)
    return Report(path.name, label or "", tuple(reports), count_duplicates(read), tuple(found))


def _own_labels(examples: list[Example[Any, Any]]) -> dict[str, int]:
    """How often each label stands there; none if the targets are numbers, or so often new that they are texts."""
    targets = [each.target for each in examples]
    if any(isinstance(target, tuple) for target in targets):
        targets = [each for target in targets for each in target]
    labels = Counter(each for each in targets if isinstance(each, str))
    return {} if 2 * len(labels) > labels.total() > 20 else dict(labels.most_common())


def _empty(read: dict[str, list[Example[Any, Any]]], path: Path) -> list[str]:
    counts = {
        split: sum(isinstance(each.source, str) and not each.source.strip() for each in examples)
        for split, examples in read.items()
    }
    return [f"{path}: {count} of the texts in {split} are empty." for split, count in counts.items() if count]


def _check_examples(
    known: ExampleSet, label: str | None, names: Mapping[str, str] | None, progress: Progress | None
) -> Report:
    folder = fetch(known.name, progress=progress)
    label = label or known.label
    # A file that all splits are made of says the same of each.
    problems: dict[str, None] = {}
    read = {
        split: read_examples(known.name, split, label, on_error=lambda error: problems.setdefault(str(error)))
        for split in SPLITS
    }
    read = _renamed(read, names, known.name)
    reports = [
        SplitReport(split, folder, len(examples), 0, dict(Counter(_labels(examples, known, label)).most_common()), None)
        for split, examples in read.items()
    ]
    found = _said([*problems, *_empty(read, folder)]) + _never_learned(reports)
    same = canonical_smiles if known.reads == "molecule" else None
    return Report(known.name, label, tuple(reports), count_duplicates(read, fold=known.fold, key=same), tuple(found))


def _labels(examples: list[Example[Any, Any]], known: ExampleSet, label: str) -> Iterator[str]:
    kind = known.target(label)
    questions = (label,) if label in known.questions else known.questions
    for example in examples:
        if kind == "label":
            yield from [] if example.target is None else [example.target]
        elif kind == "items":
            yield from (each for each in example.target if each is not None)
        elif kind == "labels":
            answers = zip(questions, example.target, strict=True)
            yield from (f"{question}: {answer}" for question, answer in answers if answer is not None)


def _said(problems: list[str]) -> list[str]:
    more = len(problems) - _MOST_PROBLEMS
    return problems[:_MOST_PROBLEMS] + ([f"and {more:,} problems more."] if more > 0 else [])


def _never_learned(reports: list[SplitReport]) -> list[str]:
    trained = next((set(report.labels) for report in reports if report.split == "train"), set())
    return [
        f"{report.path}: {len(new)} labels never stand in the training split, so no model can learn them: "
        f"{', '.join(new[:8])}."
        for report in reports
        if trained and (new := sorted(set(report.labels) - trained))
    ]
