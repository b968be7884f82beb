"""Data sets: a name to files, with checksums and terms, and to sentences."""

from regard.datasets.catalog import CATALOG, Dataset, DatasetFile
from regard.datasets.checking import Report, SplitReport, check
from regard.datasets.duplicates import Duplicates, count_duplicates
from regard.datasets.fetching import Progress, fetch, find
from regard.datasets.reading import SPLITS, Source, read, resolve
from regard.datasets.sentences import TaggedSentence
from regard.datasets.treebank import LABELS, read_treebank

__all__ = [
    "CATALOG",
    "LABELS",
    "SPLITS",
    "Dataset",
    "DatasetFile",
    "Duplicates",
    "Progress",
    "Report",
    "Source",
    "SplitReport",
    "TaggedSentence",
    "check",
    "count_duplicates",
    "fetch",
    "find",
    "read",
    "read_treebank",
    "resolve",
]
