"""People with profiles, who knows whom, and what is to be known of each: will this person buy?"""

from collections.abc import Hashable
from pathlib import Path

from regard.datasets.example import Example
from regard.datasets.splits import split_by_hash
from regard.errors import UnknownNameError
from regard.inputs.graph import Graph
from regard.inputs.profile_encoder import ProfileEncoder
from regard.inputs.profile_tables import read_profiles
from regard.inputs.social_graph import read_edge_list, social_graph

__all__ = ["read_people"]


def read_people(
    friendships: str | Path,
    profiles: str | Path,
    label: str,
    split: str | None = None,
    *,
    directed: bool = False,
    encoder: ProfileEncoder | None = None,
) -> Example[Graph, tuple[str | None, ...]]:
    """The graph of people in two files, and a label of each: a column of their profiles, which isn't in the vectors.

    Args:
        friendships: the file of who knows whom, as `inputs.social.read_edge_list` reads it.
        profiles: the table of profiles, as `inputs.profile_tables.read_profiles` reads it.
        label: the column that is the label; who has none there has the label None, and may be asked about.
        split: train, dev or test: the labels of all others, by the hash of the names, are None; None for every label.
        directed: whether a line leads from the first to the second only.
        encoder: makes the vectors; by default one that is learned from all profiles, without the label.

    Raises:
        UnknownNameError: no column of that name.
        DataError: a broken file; names the file and the line.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     friendships, profiles = Path(folder, "friends.txt"), Path(folder, "people.csv")
        ...     _ = friendships.write_text("Ann Bob\\n")
        ...     _ = profiles.write_text("name,age,buys\\nAnn,31,yes\\nBob,33,\\n")
        ...     example = read_people(friendships, profiles, "buys")
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
    # A column of 0 and 1 was read as numbers.
    return f"{value:g}" if isinstance(value, float) else str(value)
