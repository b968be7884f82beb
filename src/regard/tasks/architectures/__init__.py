"""Networks as recipes describe them: one class for each, which says what it reads of a recipe and builds the network.

A recipe is flat: it has the fields of all networks. `Recipe.architecture` is one of these classes, with the fields that
its network depends on, so equal values are equal networks. What a network can't have is refused with the recipe.
"""

from regard.tasks.architectures.encoder_decoders import SOUND_NETWORKS, TEXT_NETWORKS
from regard.tasks.architectures.item_networks import ITEM_NETWORKS

__all__ = ["ITEM_NETWORKS", "NETWORK_FIELDS", "SOUND_NETWORKS", "TEXT_NETWORKS"]

_ALL = (ITEM_NETWORKS, TEXT_NETWORKS, SOUND_NETWORKS)

NETWORK_FIELDS = frozenset(
    {each.field for each in _ALL}.union(*(kind.names() for each in _ALL for kind in each.kinds.values()))
)
"""The fields of a recipe that describe a network; each architecture reads some of them."""
