"""What a model's sources may be: for each kind its settings, what reads a source, and the module that makes vectors."""

from regard.tasks.inputs.graphs import Graphs, Molecules
from regard.tasks.inputs.pictures import Pictures
from regard.tasks.inputs.source import Source
from regard.tasks.inputs.speech import Speech
from regard.tasks.inputs.texts import Texts
from regard.tasks.inputs.vectors import Vectors
from regard.tasks.inputs.words import Words

__all__ = ["INPUTS", "Graphs", "Molecules", "Pictures", "Source", "Speech", "Texts", "Vectors", "Words"]

INPUTS: dict[str, type[Source]] = {
    source.kind: source for source in (Words, Texts, Speech, Pictures, Molecules, Graphs, Vectors)
}
"""The kinds of sources by name."""
