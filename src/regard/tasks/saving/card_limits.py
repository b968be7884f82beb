"""The limits on the cards of classifiers and taggers; `Task.limits` explains the braces."""

__all__ = ["CALIBRATED", "NUMBERS"]

CALIBRATED = (
    "{knows} Its probabilities are calibrated on dev; on sources unlike its data it is wrong more often than they say. "
    "{attention}"
)
"""Of models whose predictions are labels with probabilities."""

NUMBERS = "{knows} For sources unlike its data, its errors are larger than the scores say. {attention}"
"""Of models whose predictions are numbers."""
