"""Measures: the name of a score, its format, and which of two values is better."""

from dataclasses import dataclass

__all__ = ["ACCURACY", "Measure"]


@dataclass(frozen=True)
class Measure:
    """A figure that says how good a model is.

    Args:
        name: its name.
        share: whether it is a fraction, which is shown in percent.
        falls: whether lower is better, as for an error.
        digits: the number of decimal places, if it isn't a fraction.

    Example:
        >>> ACCURACY.format(0.9512), Measure("RMSE", falls=True).format(0.88)
        ('95.12 %', '0.8800')
        >>> Measure("RMSE", falls=True).better(0.8, than=0.9), ACCURACY.better(0.8, than=0.9)
        (True, False)
    """

    name: str
    share: bool = False
    falls: bool = False
    digits: int = 4

    def better(self, score: float, *, than: float) -> bool:
        """Whether one value is better than another."""
        return score < than if self.falls else score > than

    def format(self, score: float) -> str:
        """Format a value."""
        return f"{100 * score:.2f} %" if self.share else f"{score:.{self.digits}f}"


ACCURACY = Measure("accuracy", share=True)
