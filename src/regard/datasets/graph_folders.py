"""Reading a user's own graph: a folder with a table of profiles, some of them labelled, and an edge list."""

import dataclasses
from pathlib import Path

from regard.datasets.example import Example
from regard.datasets.splits import SPLITS, split_by_hash
from regard.errors import DataError
from regard.inputs import Graph, ProfileEncoder, graph_files
from regard.inputs.profile_tables import column_values, read_profile_columns
from regard.inputs.social_graph import social_graph_from_table

__all__ = ["read_graph_folder"]

_LABEL, _SPLIT = "label", "split"


def read_graph_folder(
    folder: str | Path, split: str, *, encoder: ProfileEncoder | None = None
) -> Example[Graph, tuple[str | float | None, ...]]:
    """Read the whole graph, and the labels of the nodes of a split; the labels of other nodes are None.

    The folder has a file `profiles.csv` (or .tsv, .txt) with a line for each node: its name in the first column, its
    attributes, and in the column `label` a word or a number; and a file `edges.csv` (or .tsv, .txt) with a line for
    each pair of names. A column `split` has train, dev, test or nothing for each node; without it, the hash of a node's
    name determines its split. Neither column is part of a node's vector.

    Args:
        folder: the folder.
        split: "train", "dev" or "test".
        encoder: the encoder of the vectors, such as that of a trained model; by default one that is fitted to the
            profiles.

    Raises:
        DataError: a missing or broken file, no column `label`, an unknown split, or no node of this split with a label;
            names the file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "profiles.csv").write_text("name,job,label,split\\nAnn,cook,yes,train\\nBob,,,\\n")
        ...     _ = Path(folder, "edges.csv").write_text("Ann,Bob\\n")
        ...     read_graph_folder(folder, "train").target
        ('yes', None)
    """
    table, edges = graph_files(folder)
    people, columns = read_profile_columns(table)
    if _LABEL not in columns:
        raise DataError(
            f"one column must be called {_LABEL}, but the columns are {', '.join(columns) or 'none'}.",
            path=table,
            line=1,
        )
    splits = column_values(columns[_SPLIT]) if _SPLIT in columns else [split_by_hash(name) for name in people]
    for name, own in zip(people, splits, strict=True):
        if own not in (*SPLITS, None):
            raise DataError(
                f"the {_SPLIT} of {name!r:.60} must be train, dev, test or empty, but is {own!r:.60}.", path=table
            )
    if encoder is None:
        fitted = ProfileEncoder.fit_columns(columns, leave_out=[name for name in (_LABEL, _SPLIT) if name in columns])
        # Other folders may have a column of splits or not.
        encoder = dataclasses.replace(fitted, left_out=(_LABEL, _SPLIT))
    graph = social_graph_from_table(people, columns, edges, table, encoder=encoder)
    labels = tuple(
        label if own == split else None for label, own in zip(column_values(columns[_LABEL]), splits, strict=True)
    )
    if not any(label is not None for label in labels):
        raise DataError(f"no node of the split {split!r} has a label.", path=table)
    return Example(graph, labels)
