"""What a model's sources may be: for each kind its settings, what reads a source, and the module that makes vectors."""

from regard.tasks.inputs.source import Source
from regard.tasks.inputs.texts import Texts
from regard.tasks.inputs.words import Words

__all__ = ["INPUTS", "Source", "Texts", "Words"]

INPUTS: dict[str, type[Source]] = {source.kind: source for source in (Words, Texts)}
