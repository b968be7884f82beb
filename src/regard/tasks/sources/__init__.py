"""The kinds of sources: the settings of each, its encoder, and its embedding."""

from regard.tasks.sources.graphs import Graphs, Molecules
from regard.tasks.sources.pictures import Pictures
from regard.tasks.sources.source import Source
from regard.tasks.sources.speech import Speech
from regard.tasks.sources.texts import Texts
from regard.tasks.sources.vectors import Vectors
from regard.tasks.sources.words import Words

__all__ = ["INPUTS", "Graphs", "Molecules", "Pictures", "Source", "Speech", "Texts", "Vectors", "Words"]

INPUTS: dict[str, type[Source]] = {
    source.kind: source for source in (Words, Texts, Speech, Pictures, Molecules, Graphs, Vectors)
}
"""The kinds of sources by name."""
