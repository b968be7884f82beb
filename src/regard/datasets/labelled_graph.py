"""Reading a social network with node labels from a table of profiles and an edge list."""

from collections.abc import Hashable
from pathlib import Path

from regard.datasets.example import Example
from regard.datasets.splits import split_by_hash
from regard.errors import UnknownNameError
from regard.inputs.graph import Graph
from regard.inputs.profile_encoder import ProfileEncoder
from regard.inputs.profile_tables import read_profiles
from regard.inputs.social_graph import read_edge_list, social_graph

__all__ = ["read_labelled_graph"]


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
