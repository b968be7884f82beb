"""What the cards of several kinds of models warn of; `Task.limits` says what the braces stand for."""

__all__ = ["CALIBRATED", "NUMBERS"]

CALIBRATED = (
    "{knows} Its probabilities fit dev: on sources unlike its data it is wrong more often than they say. {attention}"
)
"""Of models whose predictions are labels with probabilities."""

NUMBERS = "{knows} Of sources unlike its data its numbers are further off than the scores say. {attention}"
"""Of models whose predictions are numbers."""
