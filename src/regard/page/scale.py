"""The scales of weights: the weight with the full colour or the longest bar, so that equal weights don't look large."""

__all__ = ["full_bar", "full_colour"]


def full_colour(largest: float, count: float) -> float:
    """The weight that has the full colour: the largest, but not less than four times what equal weights would be.

    Colours are drawn by the square root, so equal weights have half of the full colour at most.

    Args:
        largest: the largest weight that is drawn.
        count: how many items share the weight.

    Example:
        >>> full_colour(0.12, 10), full_colour(0.75, 10), full_colour(0.5, 2)
        (0.4, 0.75, 1.0)
    """
    return _full(largest, count, 4)


def full_bar(largest: float, count: float) -> float:
    """The weight that has the longest bar: the largest, but not less than twice what equal weights would be.

    Args:
        largest, count: as in `full_colour`.

    Example:
        >>> full_bar(0.12, 10), full_bar(0.75, 10), full_bar(0.5, 2)
        (0.2, 0.75, 1.0)
    """
    return _full(largest, count, 2)


def _full(largest: float, count: float, times: int) -> float:
    return max(largest, min(1.0, times / max(1.0, count)))
