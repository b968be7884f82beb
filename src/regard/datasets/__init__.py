"""Data sets: known ones by name, with files, checksums and terms, and a user's own files; read as examples."""

import typing

from regard import lazy

if typing.TYPE_CHECKING:
    from regard.datasets.checking import Report, SplitReport, TargetRange, check
    from regard.datasets.dataset import Dataset, DatasetFile
    from regard.datasets.duplicates import Duplicates, canonical_smiles, count_duplicates
    from regard.datasets.example import BEGINS, INSIDE, SEGMENTATION, BinaryLabels, Example, TaggedSentence, segmented
    from regard.datasets.fetching import Progress, fetch, find
    from regard.datasets.formats.class_folders import PICTURES, SOUNDS, read_class_folders
    from regard.datasets.formats.columns import COLUMN_ROLES, HEADER, ColumnNames, Columns, check_column_names
    from regard.datasets.formats.idx import read_idx
    from regard.datasets.formats.labelled_graph import read_graph_folder, read_labelled_graph
    from regard.datasets.formats.pairs import read_aligned, read_pairs
    from regard.datasets.formats.planetoid import read_planetoid
    from regard.datasets.formats.sentiment_trees import DEGREES, read_phrases
    from regard.datasets.formats.series_tables import find_series_table
    from regard.datasets.formats.tables import has_source_column, read_sources, read_table
    from regard.datasets.formats.tagged_text import read_columns, read_tagged
    from regard.datasets.formats.treebank import LABELS, read_treebank
    from regard.datasets.formats.vectors import read_labelled_vectors
    from regard.datasets.known.digit_strings import make_digit_strings
    from regard.datasets.known.pronunciations import read_pronunciations
    from regard.datasets.known.purchases import make_purchases
    from regard.datasets.known.registry import DATASETS
    from regard.datasets.known.spoken_digits import read_spoken_digits
    from regard.datasets.label_renaming import check_label_names, labels_of, parse_label_names, rename_labels
    from regard.datasets.reading import check_columns, read
    from regard.datasets.sources import DataSource, find_source, match_source
    from regard.datasets.splits import SPLITS, split_by_group, split_by_hash, split_by_scaffold, split_by_source

__all__ = [
    "BEGINS",
    "COLUMN_ROLES",
    "DATASETS",
    "DEGREES",
    "HEADER",
    "INSIDE",
    "LABELS",
    "PICTURES",
    "SEGMENTATION",
    "SOUNDS",
    "SPLITS",
    "BinaryLabels",
    "ColumnNames",
    "Columns",
    "DataSource",
    "Dataset",
    "DatasetFile",
    "Duplicates",
    "Example",
    "Progress",
    "Report",
    "SplitReport",
    "TaggedSentence",
    "TargetRange",
    "canonical_smiles",
    "check",
    "check_column_names",
    "check_columns",
    "check_label_names",
    "count_duplicates",
    "fetch",
    "find",
    "find_series_table",
    "find_source",
    "has_source_column",
    "labels_of",
    "make_digit_strings",
    "make_purchases",
    "match_source",
    "parse_label_names",
    "read",
    "read_aligned",
    "read_class_folders",
    "read_columns",
    "read_graph_folder",
    "read_idx",
    "read_labelled_graph",
    "read_labelled_vectors",
    "read_pairs",
    "read_phrases",
    "read_planetoid",
    "read_pronunciations",
    "read_sources",
    "read_spoken_digits",
    "read_table",
    "read_tagged",
    "read_treebank",
    "rename_labels",
    "segmented",
    "split_by_group",
    "split_by_hash",
    "split_by_scaffold",
    "split_by_source",
]

lazy.export(
    __name__,
    {
        "checking": "Report SplitReport TargetRange check",
        "dataset": "Dataset DatasetFile",
        "duplicates": "Duplicates canonical_smiles count_duplicates",
        "example": "BEGINS INSIDE SEGMENTATION BinaryLabels Example TaggedSentence segmented",
        "fetching": "Progress fetch find",
        "formats.class_folders": "PICTURES SOUNDS read_class_folders",
        "formats.columns": "COLUMN_ROLES HEADER ColumnNames Columns check_column_names",
        "formats.idx": "read_idx",
        "formats.labelled_graph": "read_graph_folder read_labelled_graph",
        "formats.pairs": "read_aligned read_pairs",
        "formats.planetoid": "read_planetoid",
        "formats.sentiment_trees": "DEGREES read_phrases",
        "formats.series_tables": "find_series_table",
        "formats.tables": "has_source_column read_sources read_table",
        "formats.tagged_text": "read_columns read_tagged",
        "formats.treebank": "LABELS read_treebank",
        "formats.vectors": "read_labelled_vectors",
        "known.digit_strings": "make_digit_strings",
        "known.pronunciations": "read_pronunciations",
        "known.purchases": "make_purchases",
        "known.registry": "DATASETS",
        "known.spoken_digits": "read_spoken_digits",
        "label_renaming": "check_label_names labels_of parse_label_names rename_labels",
        "reading": "check_columns read",
        "sources": "DataSource find_source match_source",
        "splits": "SPLITS split_by_group split_by_hash split_by_scaffold split_by_source",
    },
)
