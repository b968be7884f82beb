"""The kinds of sources: the settings of each, its encoder, and its embedding."""

import typing
from collections.abc import Mapping

from regard import lazy

if typing.TYPE_CHECKING:
    from regard.tasks.sources.graphs import Graphs, Molecules
    from regard.tasks.sources.pictures import Pictures
    from regard.tasks.sources.pretrained import Pretrained
    from regard.tasks.sources.source import Source
    from regard.tasks.sources.speech import Speech
    from regard.tasks.sources.static_vectors import StaticVectors
    from regard.tasks.sources.texts import Texts
    from regard.tasks.sources.vectors import Vectors
    from regard.tasks.sources.words import Words

__all__ = [
    "INPUTS",
    "Graphs",
    "Molecules",
    "Pictures",
    "Pretrained",
    "Source",
    "Speech",
    "StaticVectors",
    "Texts",
    "Vectors",
    "Words",
]

lazy.export(
    __name__,
    {
        "graphs": "Graphs Molecules",
        "pictures": "Pictures",
        "pretrained": "Pretrained",
        "source": "Source",
        "speech": "Speech",
        "static_vectors": "StaticVectors",
        "texts": "Texts",
        "vectors": "Vectors",
        "words": "Words",
    },
)

INPUTS: "Mapping[str, type[Source]]" = lazy.Table(
    __name__,
    {
        "words": "Words",
        "texts": "Texts",
        "speech": "Speech",
        "pictures": "Pictures",
        "molecules": "Molecules",
        "graphs": "Graphs",
        "vectors": "Vectors",
        "static": "StaticVectors",
        "pretrained": "Pretrained",
    },
)
"""The kinds of sources by name."""
