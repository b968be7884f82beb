"""Looking a data set over before anything is learned from it."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from regard.datasets.duplicates import Duplicates, count_duplicates
from regard.datasets.fetching import Progress
from regard.datasets.reading import resolve
from regard.datasets.sentences import TaggedSentence
from regard.datasets.treebank import read_treebank
from regard.errors import DataError
from regard.inputs import FOLDS

__all__ = ["Report", "SplitReport", "check"]

_MOST_PROBLEMS = 1000  # a file of another kind has one a line


@dataclass(frozen=True)
class SplitReport:
    """What one split holds.

    Args:
        split: its name.
        path: its file.
        sentences: how many it has.
        words: how many it has.
        labels: how often each label stands in it, the most frequent first.
        unknown: the share of its words that the training split doesn't have; None for the training split itself.
    """

    split: str
    path: Path
    sentences: int
    words: int
    labels: dict[str, int]
    unknown: float | None


@dataclass(frozen=True)
class Report:
    """What a data set holds, and what is wrong with it.

    Args:
        name: of the data set.
        label: the column that labels the words.
        splits: what each split holds.
        duplicates: what stands in more than one split.
        problems: every broken line and whatever else is wrong, one sentence each; empty if all is well.
    """

    name: str
    label: str
    splits: tuple[SplitReport, ...]
    duplicates: Duplicates
    problems: tuple[str, ...]


def check(name_or_path: str | Path, label: str | None = None, *, progress: Progress | None = None) -> Report:
    """Read every split of a data set and report what it holds and what is wrong with it.

    Args:
        name_or_path: as `read` takes it.
        label: as `read` takes it.
        progress: as `fetch` takes it.

    Raises:
        UnknownNameError: a name or label that isn't known.
        DataError: there is nothing to read. A broken line is not raised but reported.
    """
    source = resolve(name_or_path, progress=progress)
    label = label or source.label
    problems: list[DataError] = []
    read: dict[str, list[TaggedSentence]] = {}
    # One file alone is one split, whatever it is used for.
    alone = len(set(source.files.values())) == 1
    for split, path in list(source.files.items())[: 1 if alone else None]:
        sentences = read_treebank(path, label, convert=source.convert(split), problem=problems.append)
        read["all" if alone else split] = list(sentences)
    found = [str(problem) for problem in problems[:_MOST_PROBLEMS]]
    if len(problems) > _MOST_PROBLEMS:
        found.append(f"and {len(problems) - _MOST_PROBLEMS:,} problems more.")
    fold = FOLDS[source.fold]
    known = {fold(word) for sentence in read.get("train", ()) for word in sentence.words}
    reports: list[SplitReport] = []
    for split, sentences in read.items():
        path = next(iter(source.files.values())) if alone else source.files[split]
        words = [fold(word) for sentence in sentences for word in sentence.words]
        labels = Counter(name for sentence in sentences for name in sentence.labels)
        against = bool(known) and split != "train" and bool(words)
        unknown = sum(word not in known for word in words) / len(words) if against else None
        reports.append(SplitReport(split, path, len(sentences), len(words), dict(labels.most_common()), unknown))
    trained = next((set(report.labels) for report in reports if report.split == "train"), None)
    for report in reports:
        new = sorted(set(report.labels) - trained) if trained else []
        if new:
            found.append(
                f"{report.path}: {len(new)} labels never stand in the training split, so no model can learn them: "
                f"{', '.join(new[:8])}."
            )
    return Report(source.name, label, tuple(reports), count_duplicates(read, fold=source.fold), tuple(found))
