"""Data sets: a name to files, with checksums and terms, and to sentences or examples; and a user's own files."""

from regard.datasets.catalog import CATALOG, Dataset, DatasetFile
from regard.datasets.checking import Report, SplitReport, check
from regard.datasets.class_folders import PICTURES, SOUNDS, read_class_folders
from regard.datasets.columns import SIDES, ColumnNames, Columns, check_names
from regard.datasets.duplicates import Duplicates, count_duplicates, in_one_spelling
from regard.datasets.example import Answers, Example
from regard.datasets.example_set import ExampleSet
from regard.datasets.example_sets import DATASETS, EXAMPLE_SETS
from regard.datasets.fetching import Progress, fetch, find
from regard.datasets.idx import read_idx
from regard.datasets.pairs import read_aligned, read_pairs
from regard.datasets.people import read_people
from regard.datasets.planetoid import read_planetoid
from regard.datasets.pronunciations import read_pronunciations
from regard.datasets.purchases import make_purchases
from regard.datasets.reading import (
    SPLITS,
    Source,
    check_columns,
    is_tables,
    is_treebank,
    read,
    read_examples,
    resolve,
    splits_of,
)
from regard.datasets.renaming import check_renaming, label_names, labels_of, rename_labels
from regard.datasets.segmentation import BEGINS, INSIDE, SEGMENTATION, segmented
from regard.datasets.sentences import TaggedSentence
from regard.datasets.sentiment_trees import DEGREES, read_phrases
from regard.datasets.social_folders import read_social_folder
from regard.datasets.speech_strings import speech_strings
from regard.datasets.splits import split_by_group, split_by_hash, split_by_scaffold, split_by_source
from regard.datasets.spoken_digits import read_spoken_digits
from regard.datasets.tables import read_table
from regard.datasets.treebank import LABELS, read_treebank
from regard.datasets.vectors import read_labelled_vectors

__all__ = [
    "BEGINS",
    "CATALOG",
    "DATASETS",
    "DEGREES",
    "EXAMPLE_SETS",
    "INSIDE",
    "LABELS",
    "PICTURES",
    "SEGMENTATION",
    "SIDES",
    "SOUNDS",
    "SPLITS",
    "Answers",
    "ColumnNames",
    "Columns",
    "Dataset",
    "DatasetFile",
    "Duplicates",
    "Example",
    "ExampleSet",
    "Progress",
    "Report",
    "Source",
    "SplitReport",
    "TaggedSentence",
    "check",
    "check_columns",
    "check_names",
    "check_renaming",
    "count_duplicates",
    "fetch",
    "find",
    "in_one_spelling",
    "is_tables",
    "is_treebank",
    "label_names",
    "labels_of",
    "make_purchases",
    "read",
    "read_aligned",
    "read_class_folders",
    "read_examples",
    "read_idx",
    "read_labelled_vectors",
    "read_pairs",
    "read_people",
    "read_phrases",
    "read_planetoid",
    "read_pronunciations",
    "read_social_folder",
    "read_spoken_digits",
    "read_table",
    "read_treebank",
    "rename_labels",
    "resolve",
    "segmented",
    "speech_strings",
    "split_by_group",
    "split_by_hash",
    "split_by_scaffold",
    "split_by_source",
    "splits_of",
]
