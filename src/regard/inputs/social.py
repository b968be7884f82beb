"""A social network as a graph: people with profiles, and who knows whom."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError, DataError
from regard.extras import require
from regard.inputs.graph import Graph
from regard.inputs.lines import read_lines
from regard.inputs.profile_columns import ProfileColumns
from regard.inputs.profile_tables import read_profile_columns
from regard.inputs.profiles import Profile, ProfileEncoder

__all__ = ["from_networkx", "graph_of_table", "read_friendships", "read_social", "social_graph"]

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
"""What the first line of a list of edges may say instead of an edge, in any case."""


def read_friendships(path: str | Path, people: Iterable[str]) -> list[tuple[str, str]]:
    """Who knows whom: a line for each pair of names, separated by a tab, a comma or spaces (which, the first says).

    The first line may be a header, such as "from,to" or "source target". Empty lines and those that begin with # are
    skipped.

    Args:
        path: the file.
        people: the names that there are.

    Raises:
        DataError: a line that isn't two names, or names somebody who isn't there.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w") as file:
        ...     _ = file.write("# friends\\nAnn Bob\\nBob Cleo\\n")
        ...     file.flush()
        ...     read_friendships(file.name, ["Ann", "Bob", "Cleo"])
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
                f"a line must have two names, from whom and to whom, but has {len(names)} columns.",
                path=path,
                line=number,
            )
        if first and not known.intersection(names) and tuple(name.lower() for name in names) in _HEADERS:
            continue
        for name in names:
            if name not in known:
                raise DataError(
                    f"{name!r:.60} is nobody in the table of profiles. Add a profile, or take the line out.",
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
    """The graph of people: a vector for each, in the order of `profiles`, and an edge for each pair.

    Args:
        profiles: what is known of each person, under the name.
        friendships: pairs of names; a pair that stands twice counts once.
        directed: whether (Ann, Bob) is only an edge from Ann to Bob, so that Bob looks at Ann; else both ways.
        encoder: makes the vectors; by default one that is learned from `profiles`.

    Raises:
        ArgumentError: a pair names somebody without a profile, or the profiles are empty, so that there is no vector.

    Example:
        >>> people = {"Ann": {"age": 31}, "Bob": {"age": 33}, "Cleo": {"age": 35}}
        >>> graph = social_graph(people, [("Ann", "Bob")])
        >>> graph.names, graph.edges.tolist()
        (('Ann', 'Bob', 'Cleo'), [[0, 1], [1, 0]])
    """
    encoder = encoder or ProfileEncoder.fit(list(profiles.values()))
    vectors = encoder.encode(list(profiles.values()))
    return _graph([*profiles], vectors, friendships, directed, encoder)


def read_social(
    friendships: str | Path,
    profiles: str | Path,
    *,
    directed: bool = False,
    encoder: ProfileEncoder | None = None,
) -> Graph:
    """The graph of people in two files; see `read_friendships`, `read_profiles` and `social_graph`.

    Raises:
        DataError: a file that is broken, or profiles of which `encoder` makes no vectors, for a column is missing or
            one too many; names it.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     friendships, profiles = pathlib.Path(folder, "friends.txt"), pathlib.Path(folder, "people.csv")
        ...     _ = friendships.write_text("Ann Bob\\n")
        ...     _ = profiles.write_text("name,sex,age\\nAnn,f,31\\nBob,m,33\\n")
        ...     read_social(friendships, profiles).vectors
        tensor([[-1.,  1.,  0.],
                [ 1.,  0.,  1.]])
    """
    people, columns = read_profile_columns(profiles)
    return graph_of_table(people, columns, friendships, profiles, directed=directed, encoder=encoder)


def graph_of_table(
    people: Sequence[str],
    columns: ProfileColumns,
    friendships: str | Path,
    profiles: str | Path,
    *,
    directed: bool = False,
    encoder: ProfileEncoder | None = None,
) -> Graph:
    """The graph that `read_social` reads, of a table of profiles that has been read.

    Args:
        people, columns: what `read_profile_columns` gave.
        friendships: the file of edges.
        profiles: the file that the table was read from, for messages.
        directed, encoder: as `read_social` takes them.

    Raises:
        DataError: as `read_social` raises it.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w") as file:
        ...     _ = file.write("Ann Bob\\n")
        ...     file.flush()
        ...     graph_of_table(["Ann", "Bob"], {"age": [31, 33]}, file.name, "people.csv").vectors.tolist()
        [[-1.0], [1.0]]
    """
    if encoder is not None and people:
        for name in (*encoder.numbers, *(name for name, _ in encoder.words)):
            if name not in columns:
                raise DataError(
                    f"it must have a column {name!r}, which the encoder learned from; what isn't known is left empty.",
                    path=profiles,
                    line=1,
                )
    pairs = read_friendships(friendships, people)
    try:
        encoder = encoder or ProfileEncoder.fit_columns(columns)
        return _graph(people, encoder.encode_columns(columns, len(people)), pairs, directed, encoder)
    except ArgumentError as error:
        raise DataError(str(error), path=profiles) from error


def from_networkx(graph: Any, *, encoder: ProfileEncoder | None = None) -> Graph:
    """The graph of a networkx graph, whose nodes' attributes are their profiles.

    A directed graph stays directed; an undirected one has every edge both ways. Attributes of edges are left out.

    Args:
        graph: the networkx graph.
        encoder: makes the vectors; by default one that is learned from the attributes.

    Raises:
        MissingExtraError: networkx is not installed.
        ArgumentError: it is no networkx graph, or its nodes have no attributes.

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
            "`profiles` must hold something to make vectors of, but is empty for everybody. Who knows how many is "
            "something: add a column with that."
        )
    places = {name: place for place, name in enumerate(people)}
    # dict.fromkeys: each pair once, in the order in which they come.
    pairs = list(dict.fromkeys(friendships))
    for pair in pairs:
        if len(pair) != 2:
            raise ArgumentError(f"`friendships` must be pairs of names, but one is {pair!r:.60}.")
    for name in (name for pair in pairs for name in pair):
        if name not in places:
            raise ArgumentError(f"`friendships` must be between people in `profiles`, but names {name!r:.60}.")
    edges = torch.tensor([[places[name] for name in pair] for pair in pairs], dtype=torch.int64).reshape(-1, 2).T
    graph = Graph(vectors, edges, tuple(str(name) for name in people), encoder=encoder)
    return graph if directed else graph.both_ways()
