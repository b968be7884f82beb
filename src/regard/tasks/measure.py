"""Measures: the name of a score, how it is shown, and which of two values is better."""

from dataclasses import dataclass

__all__ = ["ACCURACY", "Measure"]


@dataclass(frozen=True)
class Measure:
    """A figure that says how good a model is.

    Args:
        name: what it is called.
        share: whether it is a share of something, shown in percent.
        falls: whether lower is better, as with an error.
        digits: behind the point, where it is no share.

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
        """Whether a figure is better than another."""
        return score < than if self.falls else score > than

    def format(self, score: float) -> str:
        """The figure, for people."""
        return f"{100 * score:.2f} %" if self.share else f"{score:.{self.digits}f}"


ACCURACY = Measure("accuracy", share=True)
