"""Masks: which query may attend to which key. True = may attend. They compose with `&`, `|` and `~`."""

from regard.attention.masks.blocks import Blocks
from regard.attention.masks.documents import Documents
from regard.attention.masks.edges import Edges
from regard.attention.masks.extra_keys import ExtraKeysMask
from regard.attention.masks.intervals import Guided, KeyRange, Prefix, Window
from regard.attention.masks.lengths import Lengths
from regard.attention.masks.mask import (
    And,
    Causal,
    Dense,
    Mask,
    NoSelf,
    Not,
    Or,
    Predicate,
    allows,
    as_mask,
    conjuncts,
    know_names,
    spans_of,
)
from regard.attention.masks.pairs import Pairs
from regard.attention.masks.slice import Reach, Slice, slice_of

__all__ = [
    "MASKS",
    "And",
    "Blocks",
    "Causal",
    "Dense",
    "Documents",
    "Edges",
    "ExtraKeysMask",
    "Guided",
    "KeyRange",
    "Lengths",
    "Mask",
    "NoSelf",
    "Not",
    "Or",
    "Pairs",
    "Predicate",
    "Prefix",
    "Reach",
    "Slice",
    "Window",
    "allows",
    "as_mask",
    "conjuncts",
    "slice_of",
    "spans_of",
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
know_names(MASKS)
