"""Reading a user's own graph with labels of its nodes: an edge list and a table of profiles, in a folder or not."""

import dataclasses
from collections.abc import Hashable
from pathlib import Path

from regard.datasets.example import Example
from regard.datasets.splits import SPLITS, split_by_hash
from regard.errors import DataError, UnknownNameError
from regard.inputs import Graph, ProfileEncoder, graph_files
from regard.inputs.graph.profile_tables import column_values, read_profile_columns, read_profiles
from regard.inputs.graph.social_graph import read_edge_list, social_graph, social_graph_from_table

__all__ = ["read_graph_folder", "read_labelled_graph"]

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
    for name, node_split in zip(people, splits, strict=True):
        if node_split not in (*SPLITS, None):
            raise DataError(
                f"the {_SPLIT} of {name!r:.60} must be train, dev, test or empty, but is {node_split!r:.60}.",
                path=table,
            )
    if encoder is None:
        fitted = ProfileEncoder.fit_columns(columns, leave_out=[name for name in (_LABEL, _SPLIT) if name in columns])
        # Other folders may have a column of splits or not.
        encoder = dataclasses.replace(fitted, left_out=(_LABEL, _SPLIT))
    graph = social_graph_from_table(people, columns, edges, table, encoder=encoder)
    labels = tuple(
        label if node_split == split else None
        for label, node_split in zip(column_values(columns[_LABEL]), splits, strict=True)
    )
    if not any(label is not None for label in labels):
        raise DataError(f"no node of the split {split!r} has a label.", path=table)
    return Example(graph, labels)


def read_labelled_graph(
    friendships: str | Path,
    profiles: str | Path,
    label: str,
    split: str | None = None,
    *,
    directed: bool = False,
    encoder: ProfileEncoder | None = None,
) -> Example[Graph, tuple[str | None, ...]]:
    """Read the graph of people from two files, labelled by a column of the profiles that isn't in the vectors.

    Args:
        friendships: the edge list, as in `inputs.social_graph.read_edge_list`.
        profiles: the table of profiles, as in `inputs.profile_tables.read_profiles`.
        label: the column of the label; the label of a person with an empty cell is None.
        split: train, dev or test: the labels of people in other splits, by the hash of the name, are None; None for
            all labels.
        directed: whether a line is an edge from the first name to the second only.
        encoder: the encoder of the vectors; by default one that is fitted to all profiles, without the label.

    Raises:
        UnknownNameError: there is no column of that name.
        DataError: a broken file; names the file and the line.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     friendships, profiles = Path(folder, "friends.txt"), Path(folder, "people.csv")
        ...     _ = friendships.write_text("Ann Bob\\n")
        ...     _ = profiles.write_text("name,age,buys\\nAnn,31,yes\\nBob,33,\\n")
        ...     example = read_labelled_graph(friendships, profiles, "buys")
        >>> example.target, example.source.vectors.shape
        (('yes', None), torch.Size([2, 1]))
    """
    people = read_profiles(profiles)
    columns = dict.fromkeys(name for profile in people.values() for name in profile)
    if label not in columns:
        raise UnknownNameError("label", label, columns)
    known = {name: {key: value for key, value in profile.items() if key != label} for name, profile in people.items()}
    graph = social_graph(known, read_edge_list(friendships, people), directed=directed, encoder=encoder)
    return Example(graph, tuple(_label(name, profile[label], split) for name, profile in people.items()))


def _label(name: Hashable, value: object, split: str | None) -> str | None:
    if value is None or (split is not None and split_by_hash(str(name)) != split):
        return None
    # A column of 0 and 1 is read as numbers.
    return f"{value:g}" if isinstance(value, float) else str(value)
