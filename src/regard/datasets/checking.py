"""Checking a data set before training: what its splits hold, duplicates, and problems."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from regard.datasets.dataset import Dataset
from regard.datasets.duplicates import Duplicates, canonical_smiles, count_duplicates, fold_spelling
from regard.datasets.example import SEGMENTATION, Example, TaggedSentence
from regard.datasets.fetching import Progress
from regard.datasets.formats.columns import ColumnNames
from regard.datasets.label_renaming import check_label_names, labels_of, rename_labels
from regard.datasets.media import readable
from regard.datasets.reading import check_columns
from regard.datasets.sources import DataSource, KnownDataset, find_source
from regard.errors import DataError, MissingExtraError, UnknownNameError
from regard.inputs import FOLDINGS
from regard.inputs.lines import ErrorHandler, parse_number, with_point
from regard.page.numbers import counted

__all__ = ["Report", "SplitReport", "TargetRange", "check"]

_MOST_PROBLEMS = 1000  # a file of another kind has one in each line


@dataclass(frozen=True)
class SplitReport:
    """What one split holds.

    Args:
        split: the name of the split.
        path: its file, or the folder of the data set.
        sentences: the number of sentences, or of examples.
        words: the number of words; 0 for examples.
        labels: the count of each label, the most frequent first; empty for texts and numbers.
        out_of_vocabulary: the fraction of its words that the training split doesn't have; None for the training split
            itself, and for examples.
        targets: what the targets are, if they are texts or numbers instead of labels.
    """

    split: str
    path: Path
    sentences: int
    words: int
    labels: dict[str, int]
    out_of_vocabulary: float | None
    targets: "TargetRange | None" = None


@dataclass(frozen=True)
class TargetRange:
    """What targets without labels are.

    Args:
        kind: "texts" or "numbers".
        least: the least number, or the number of characters in the shortest text.
        median: the median of these.
        most: the largest of these.
        numeric: whether the texts are all numbers, which may be meant as such.

    Example:
        >>> print(TargetRange("texts", 3, 5.5, 20))
        texts of 3 to 20 characters, median 5.5
    """

    kind: str
    least: float
    median: float
    most: float
    numeric: bool = False

    def __str__(self) -> str:
        of, ends = ("of", " characters") if self.kind == "texts" else ("from", "")
        return f"{self.kind} {of} {self.least:g} to {self.most:g}{ends}, median {self.median:g}"


@dataclass(frozen=True)
class Report:
    """What a data set holds, and its problems.

    Args:
        name: the name of the data set.
        label: the column of the words' labels, or the label of the examples.
        splits: what each split holds.
        duplicates: the duplicates within and between splits.
        problems: every broken line and all other problems, as sentences.
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
    encoding: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Read every split of a data set and report what it holds, with its problems.

    Sounds and pictures of a user's own are opened, as training will.

    Args:
        name_or_path: as in `read`.
        label: as in `read`.
        columns: as in `read`.
        names: new names of labels, as in `rename_labels`.
        encoding: as in `read`.
        progress: as in `fetch`.

    Raises:
        UnknownNameError: an unknown name or label.
        ArgumentError: columns for something that isn't a table, or a new name for a label that isn't there.
        DataError: there is nothing to read. A broken line isn't raised but reported.
    """
    check_columns(name_or_path, columns, encoding)
    source = find_source(name_or_path, encoding)
    if source.is_treebank and label is not None:
        known = [each for each in source.labels if each != SEGMENTATION]
        if label not in known:
            raise UnknownNameError("label", label, known)
    paths = _paths(source, progress)
    # A dict, because a file that several splits are made of gives the same problem for each.
    problems: dict[str, None] = {}

    def report(error: DataError) -> None:
        problems.setdefault(str(error))

    read = {name: source.read(split, label, columns=columns, on_error=report) for name, (split, _) in paths.items()}
    if source.dataset is None:
        read = _readable(read, report)
    read = _renamed(read, names, name_or_path)
    label = label or source.label
    if source.is_treebank:
        reports = _sentence_reports(read, paths, source.fold)
    else:
        reports = [
            SplitReport(split, paths[split][1], len(examples), 0, labels, None, None if labels else _range(examples))
            for split, examples in read.items()
            for labels in [_labels(examples, source.dataset, label)]
        ]
        for problem in _empty_texts(read, next(iter(paths.values()))[1]):
            problems.setdefault(problem)
    return Report(
        source.name,
        label or "",
        tuple(reports),
        _duplicates(read, source),
        (*_shortened([*problems]), *_single_label(reports), *_unseen_in_training(reports)),
        of_words=source.is_treebank,
    )


def _readable(read: Mapping[str, list[Any]], report: ErrorHandler) -> dict[str, list[Any]]:
    """The examples whose files can be opened; all of them, if the library that opens them isn't there."""
    try:
        return {split: list(readable(examples, report)) for split, examples in read.items()}
    except MissingExtraError as error:
        report(DataError(f"its files weren't opened: {error}"))
        return dict(read)


def _duplicates(read: Mapping[str, Sequence[Any]], source: DataSource) -> Duplicates:
    """The duplicates, however differently two files spell the same example."""
    known = source.dataset
    if known is not None:
        key = canonical_smiles if known.modality == "molecule" else None
        return count_duplicates(read, fold=source.fold, key=key)
    # Only molecules have a group in a user's own tables, their scaffold.
    molecules = any(
        getattr(example, "group", None) is not None for examples in read.values() for example in examples[:1]
    )
    return count_duplicates(read, fold=fold_spelling, key=canonical_smiles if molecules else None)


def _paths(source: DataSource, progress: Progress | None) -> dict[str, tuple[str, Path]]:
    """For each name in the report, the split to read and its path; a single file is "all", whatever it is used for."""
    folder = source.fetch(progress) if isinstance(source, KnownDataset) else None
    splits = source.splits
    if source.is_treebank:
        files = source.files
        if len({*files.values()}) == 1:
            return {"all": next(iter(files.items()))}
        return {split: (split, path) for split, path in files.items()}
    path = source.path if folder is None else folder
    return {split: (split, path) for split in splits} or {"all": ("train", path)}


def _sentence_reports(
    read: Mapping[str, Sequence[TaggedSentence]], paths: Mapping[str, tuple[str, Path]], folding: str
) -> list[SplitReport]:
    fold = FOLDINGS[folding]
    known = {fold(word) for sentence in read.get("train", ()) for word in sentence.words}
    reports: list[SplitReport] = []
    for split, sentences in read.items():
        words = [fold(word) for sentence in sentences for word in sentence.words]
        labels = Counter(name for sentence in sentences for name in sentence.labels)
        unknown = None
        if known and words and split != "train":
            unknown = sum(word not in known for word in words) / len(words)
        reports.append(
            SplitReport(split, paths[split][1], len(sentences), len(words), dict(labels.most_common()), unknown)
        )
    return reports


def _renamed(read: dict[str, list[Any]], names: Mapping[str, str] | None, given: str | Path) -> dict[str, list[Any]]:
    if not names:
        return read
    check_label_names(names, labels_of(example for examples in read.values() for example in examples), given)
    return {split: rename_labels(examples, names) for split, examples in read.items()}


def _labels(examples: list[Example[Any, Any]], dataset: Dataset | None, label: str | None) -> dict[str, int]:
    """The count of each label."""
    if dataset is None or label is None:
        return _own_labels(examples)
    return dict(Counter(_known_labels(examples, dataset, label)).most_common())


def _own_labels(examples: list[Example[Any, Any]]) -> dict[str, int]:
    """The count of each label in a user's own data; empty for numbers, and for so many labels that they are texts."""
    targets = [example.target for example in examples]
    if any(isinstance(target, tuple) for target in targets):
        targets = [item for target in targets for item in target]
    labels = Counter(target for target in targets if isinstance(target, str))
    return {} if 2 * len(labels) > labels.total() > 20 else dict(labels.most_common())


def _known_labels(examples: list[Example[Any, Any]], dataset: Dataset, label: str) -> Iterator[str]:
    kind = dataset.target_type_of(label)
    questions = (label,) if label in dataset.questions else dataset.questions
    for example in examples:
        if kind == "label":
            yield from [] if example.target is None else [example.target]
        elif kind == "items":
            yield from (item for item in example.target if item is not None)
        elif kind == "labels":
            answers = zip(questions, example.target, strict=True)
            yield from (f"{question}: {answer}" for question, answer in answers if answer is not None)


def _range(examples: list[Example[Any, Any]]) -> TargetRange | None:
    """The lengths of texts, or the numbers; None for anything else, such as sounds."""
    targets = [example.target for example in examples if example.target is not None]
    for kind, types, size in (("texts", str, len), ("numbers", int | float, float)):
        if targets and all(isinstance(target, types) for target in targets):
            sizes = [size(target) for target in targets]
            numeric = kind == "texts" and all(parse_number(with_point(text)) is not None for text in targets)
            return TargetRange(kind, min(sizes), median(sizes), max(sizes), numeric)
    return None


def _empty_texts(read: dict[str, list[Example[Any, Any]]], path: Path) -> list[str]:
    counts = {
        split: sum(isinstance(example.source, str) and not example.source.strip() for example in examples)
        for split, examples in read.items()
    }
    return [
        f"{path}: {count} of the texts in {split} {'is' if count == 1 else 'are'} empty."
        for split, count in counts.items()
        if count
    ]


def _shortened(problems: list[str]) -> list[str]:
    more = len(problems) - _MOST_PROBLEMS
    return problems[:_MOST_PROBLEMS] + ([f"and {counted(more, 'problem')} more."] if more > 0 else [])


def _single_label(reports: Sequence[SplitReport]) -> list[str]:
    """Whether all that is trained on has one label."""
    return [
        f"{report.path}: every {'word' if report.words else 'example'} has the label {label:.60}, so there is nothing "
        "to learn."
        for report in reports
        for label, count in report.labels.items()
        if report.split in ("train", "all") and len(report.labels) == 1 and count > 1
    ]


def _unseen_in_training(reports: Sequence[SplitReport]) -> list[str]:
    trained = next((set(report.labels) for report in reports if report.split == "train"), set())
    return [
        f"{report.path}: {counted(len(new), 'label')} never {'stands' if len(new) == 1 else 'stand'} in the training "
        f"split, so no model can learn {'it' if len(new) == 1 else 'them'}: {', '.join(new[:8])}."
        for report in reports
        if trained and (new := sorted(set(report.labels) - trained))
    ]
