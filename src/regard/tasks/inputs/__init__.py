"""What a model's sources may be: for each kind its settings, what reads a source, and the module that makes vectors."""

from regard.tasks.inputs.words import Words

__all__ = ["INPUTS", "Words"]

INPUTS = {"words": Words}
