"""Masks: which query may attend to which key. True = may attend. They compose with `&`, `|` and `~`."""

from regard.attention.masks.blocks import Blocks
from regard.attention.masks.documents import Documents
from regard.attention.masks.edges import Edges
from regard.attention.masks.intervals import Guided, Prefix, Window
from regard.attention.masks.mask import And, Causal, Dense, Lengths, Mask, NoSelf, Not, Or, Predicate, allows, as_mask

__all__ = [
    "MASKS",
    "And",
    "Blocks",
    "Causal",
    "Dense",
    "Documents",
    "Edges",
    "Guided",
    "Lengths",
    "Mask",
    "NoSelf",
    "Not",
    "Or",
    "Predicate",
    "Prefix",
    "Window",
    "allows",
    "as_mask",
]

MASKS: dict[str, type[Mask]] = {
    "dense": Dense,
    "causal": Causal,
    "window": Window,
    "lengths": Lengths,
    "documents": Documents,
    "prefix": Prefix,
    "guided": Guided,
    "edges": Edges,
    "blocks": Blocks,
    "no_self": NoSelf,
}
