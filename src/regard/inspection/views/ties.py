"""What reads like the largest: items whose numbers are the same when they are rounded, of which none is the one."""

import math
from collections.abc import Sequence

from regard.page.messages import say

__all__ = ["MOST_NAMED", "listed", "printed", "tied"]

MOST_NAMED = 3
"""More tied items than that are counted, and not named."""


def tied(texts: Sequence[str], top: int) -> list[int]:
    """The items whose text is that of the item `top`, which is one of them.

    Example:
        >>> tied(["20%", "3%", "20%"], 2)
        [0, 2]
    """
    return [item for item, text in enumerate(texts) if text == texts[top]]


def listed(names: Sequence[str], last: str, language: str = "en") -> str:
    """Names as a list in a sentence.

    Args:
        names: the names, of which there is one at least.
        last: the message between the last two: "lastAnd" or "lastOr".
        language: "en" or "zh".

    Example:
        >>> listed(["a"], "lastAnd"), listed(["a", "b"], "lastOr"), listed(["a", "b", "c"], "lastAnd", "zh")
        ('a', 'a or b', 'a、b和c')
    """
    *first, end = names
    return say(last, language).join(filter(None, (say("listed", language).join(first), end)))


def printed(probability: float) -> float:
    """The percentage that is certain when a probability is read: >99% may be 99%, and <1% may be 1%; NaN is NaN.

    Example:
        >>> [printed(each) for each in (0.9999, 0.988, 0.5, 0.012, 0.0)]
        [99, 99, 50, 1, 1]
    """
    return probability if math.isnan(probability) else min(99, max(1, round(100 * probability)))
