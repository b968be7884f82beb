"""What is shown first of a record."""

from typing import NamedTuple

__all__ = ["Chosen"]


class Chosen(NamedTuple):
    """Whose weights, and which prediction, by numbers from 1.

    Args:
        layer, head: whose weights; None: the last layer, the average of its heads.
        query: the number of the prediction; None: the one that changes most if an item is hidden.
    """

    layer: int | None = None
    head: int | None = None
    query: int | None = None
