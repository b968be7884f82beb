"""A social network as a graph: people with profiles, and a list of edges between them, as two files of a folder."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError, DataError
from regard.extras import require
from regard.inputs.graph.graph import Graph
from regard.inputs.graph.profile_columns import ProfileColumns
from regard.inputs.graph.profile_encoder import Profile, ProfileEncoder
from regard.inputs.graph.profile_tables import read_profile_columns
from regard.inputs.lines import read_lines

__all__ = [
    "from_networkx",
    "graph_files",
    "is_graph_folder",
    "read_edge_list",
    "read_social_graph",
    "social_graph",
    "social_graph_from_table",
]


def is_graph_folder(folder: str | Path) -> bool:
    """Whether a folder has a file of profiles and a file of edges, by their names."""
    folder = Path(folder)
    return folder.is_dir() and all(_named(folder, name) for name in ("profiles", "edges"))


def graph_files(folder: str | Path) -> tuple[Path, Path]:
    """The files `profiles` and `edges` of a folder, each .csv, .tsv or .txt.

    Raises:
        DataError: the folder doesn't exist, or doesn't have one file of each name; the error names the folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Path(folder, "profiles.csv").touch()
        ...     Path(folder, "edges.txt").touch()
        ...     [path.name for path in graph_files(folder)]
        ['profiles.csv', 'edges.txt']
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(
            "it must be a folder with profiles.csv and edges.csv, but there is no such folder.", path=folder
        )
    for name in ("profiles", "edges"):
        if len(paths := _named(folder, name)) != 1:
            files = " and ".join(path.name for path in paths) or "none"
            raise DataError(
                f"it must hold one of {name}.csv, {name}.tsv and {name}.txt, but holds {files}.", path=folder
            )
    return _named(folder, "profiles")[0], _named(folder, "edges")[0]


def _named(folder: Path, name: str) -> list[Path]:
    return [path for suffix in (".csv", ".tsv", ".txt") if (path := folder / f"{name}{suffix}").is_file()]


_HEADERS = {
    ("from", "to"),
    ("source", "target"),
    ("src", "dst"),
    ("person", "friend"),
    ("name", "friend"),
    ("a", "b"),
    ("node1", "node2"),
    ("person1", "person2"),
}
"""The headers that the first line of an edge list may have, in upper or lower case."""


def read_edge_list(path: str | Path, people: Iterable[str]) -> list[tuple[str, str]]:
    """Read an edge list: a line for each pair of names, separated by a tab, a comma or spaces, as in the first line.

    The first line may be a header, such as "from,to" or "source target". Empty lines and comments (#) are skipped.

    Args:
        path: the file.
        people: the known names.

    Raises:
        DataError: a line that doesn't have two names, or has an unknown name.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w") as file:
        ...     _ = file.write("# friends\\nAnn Bob\\nBob Cleo\\n")
        ...     file.flush()
        ...     read_edge_list(file.name, ["Ann", "Bob", "Cleo"])
        [('Ann', 'Bob'), ('Bob', 'Cleo')]
    """
    known = set(people)
    pairs: list[tuple[str, str]] = []
    separator = None
    for number, line in read_lines(path):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        first = separator is None
        if separator is None:
            separator = "\t" if "\t" in line else "," if "," in line else " "
        try:
            cells = line.split() if separator == " " else next(csv.reader([line], delimiter=separator, strict=True))
        except csv.Error as error:
            raise DataError(f"the names can't be told apart ({error}).", path=path, line=number) from error
        names = tuple(cell.strip() for cell in cells)
        if len(names) != 2:
            raise DataError(
                f"a line must have two names, those of the source and the target, but has {len(names)} columns.",
                path=path,
                line=number,
            )
        if first and not known.intersection(names) and tuple(name.lower() for name in names) in _HEADERS:
            continue
        for name in names:
            if name not in known:
                raise DataError(
                    f"the name {name!r:.60} isn't in the table of profiles. Add a profile, or remove the line.",
                    path=path,
                    line=number,
                )
        pairs.append(names)
    return pairs


def social_graph(
    profiles: Mapping[str, Profile],
    friendships: Iterable[tuple[str, str]],
    *,
    directed: bool = False,
    encoder: ProfileEncoder | None = None,
) -> Graph:
    """The graph of people: a vector for each person, in the order of `profiles`, and an edge for each pair.

    Args:
        profiles: the profile of each person, by name.
        friendships: pairs of names; duplicates count once.
        directed: whether (Ann, Bob) is only an edge from Ann to Bob, so that Bob attends to Ann; by default edges have
            both directions.
        encoder: the encoder of the vectors; by default one that is fitted to `profiles`.

    Raises:
        ArgumentError: a name without a profile, or empty profiles, of which no vectors can be made.

    Example:
        >>> people = {"Ann": {"age": 31}, "Bob": {"age": 33}, "Cleo": {"age": 35}}
        >>> graph = social_graph(people, [("Ann", "Bob")])
        >>> graph.names, graph.edges.tolist()
        (('Ann', 'Bob', 'Cleo'), [[0, 1], [1, 0]])
    """
    encoder = encoder or ProfileEncoder.fit(list(profiles.values()))
    vectors = encoder.encode(list(profiles.values()))
    return _graph([*profiles], vectors, friendships, directed, encoder)


def read_social_graph(
    friendships: str | Path,
    profiles: str | Path,
    *,
    directed: bool = False,
    encoder: ProfileEncoder | None = None,
) -> Graph:
    """Read the graph of people from two files; see `read_edge_list`, `read_profiles` and `social_graph`.

    Raises:
        DataError: a broken file, or a column that is missing in the profiles or unknown to `encoder`.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     friendships, profiles = pathlib.Path(folder, "friends.txt"), pathlib.Path(folder, "people.csv")
        ...     _ = friendships.write_text("Ann Bob\\n")
        ...     _ = profiles.write_text("name,sex,age\\nAnn,f,31\\nBob,m,33\\n")
        ...     read_social_graph(friendships, profiles).vectors
        tensor([[-1.,  1.,  0.],
                [ 1.,  0.,  1.]])
    """
    people, columns = read_profile_columns(profiles)
    return social_graph_from_table(people, columns, friendships, profiles, directed=directed, encoder=encoder)


def social_graph_from_table(
    people: Sequence[str],
    columns: ProfileColumns,
    friendships: str | Path,
    profiles: str | Path,
    *,
    directed: bool = False,
    encoder: ProfileEncoder | None = None,
) -> Graph:
    """Like `read_social_graph`, for a table of profiles that is already read.

    Args:
        people, columns: the result of `read_profile_columns`.
        friendships: the file of edges.
        profiles: the file that the table was read from, for messages.
        directed, encoder: as in `read_social_graph`.

    Raises:
        DataError: as in `read_social_graph`.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w") as file:
        ...     _ = file.write("Ann Bob\\n")
        ...     file.flush()
        ...     social_graph_from_table(["Ann", "Bob"], {"age": [31, 33]}, file.name, "people.csv").vectors.tolist()
        [[-1.0], [1.0]]
    """
    if encoder is not None and people:
        for name in (*encoder.numbers, *(name for name, _ in encoder.words)):
            if name not in columns:
                raise DataError(
                    f"it must have a column {name!r}, which the encoder was fitted to; missing values are left empty.",
                    path=profiles,
                    line=1,
                )
    pairs = read_edge_list(friendships, people)
    try:
        encoder = encoder or ProfileEncoder.fit_columns(columns)
        return _graph(people, encoder.encode_columns(columns, len(people)), pairs, directed, encoder)
    except ArgumentError as error:
        raise DataError(str(error), path=profiles) from error


def from_networkx(graph: Any, *, encoder: ProfileEncoder | None = None) -> Graph:
    """Convert a networkx graph, whose node attributes are the profiles.

    A directed graph stays directed; an undirected one has every edge in both directions. Edge attributes are ignored.

    Args:
        graph: the networkx graph.
        encoder: the encoder of the vectors; by default one that is fitted to the attributes.

    Raises:
        MissingExtraError: networkx is not installed.
        ArgumentError: it isn't a networkx graph, or its nodes have no attributes.

    Example:
        >>> import networkx
        >>> karate = from_networkx(networkx.karate_club_graph())
        >>> len(karate), karate.edges.shape, karate.vectors[0]
        (34, torch.Size([2, 156]), tensor([1., 0.]))
    """
    networkx = require("networkx", extra="graph")
    if not isinstance(graph, networkx.Graph):
        raise ArgumentError(f"`graph` must be a networkx graph, but is {type(graph).__name__}.")
    profiles = {node: dict(attributes) for node, attributes in graph.nodes(data=True)}
    return social_graph(profiles, graph.edges(), directed=graph.is_directed(), encoder=encoder)


def _graph(
    people: Sequence[Any],
    vectors: Tensor,
    friendships: Iterable[tuple[str, str]],
    directed: bool,
    encoder: ProfileEncoder,
) -> Graph:
    if len(people) and not encoder.width:
        raise ArgumentError(
            "`profiles` must have attributes to make vectors of, but is empty for all people. Add a column, such as "
            "the number of friends."
        )
    indices = {name: index for index, name in enumerate(people)}
    # dict.fromkeys removes duplicates and keeps the order.
    pairs = list(dict.fromkeys(friendships))
    for pair in pairs:
        if len(pair) != 2:
            raise ArgumentError(f"`friendships` must be pairs of names, but one is {pair!r:.60}.")
    for name in (name for pair in pairs for name in pair):
        if name not in indices:
            raise ArgumentError(f"`friendships` must be between people in `profiles`, but names {name!r:.60}.")
    numbers = [[indices[name] for name in pair] for pair in pairs]
    edges = torch.tensor(numbers, dtype=torch.int64, device="cpu").reshape(-1, 2).T
    graph = Graph(vectors, edges, tuple(str(name) for name in people), encoder=encoder)
    return graph if directed else graph.undirected()
