"""Durations on the command line, such as 30m."""

import re

from regard.errors import ArgumentError

__all__ = ["parse_minutes"]

_MOST_HOURS = 10_000

_FORM = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?")


def parse_minutes(option: str, text: str) -> float:
    """The minutes of a duration of hours, minutes and seconds.

    Raises:
        ArgumentError: it has another form, or is no time at all.

    Example:
        >>> parse_minutes("--budget", "1h30m"), parse_minutes("--budget", "45s")
        (90.0, 0.75)
    """
    found = _FORM.fullmatch(text.strip())
    hours, minutes, seconds = (float(each or 0) for each in (found.groups() if found else ("", "", "")))
    total = 60 * hours + minutes + seconds / 60
    if not total:
        raise ArgumentError(f"`{option}` must be a time such as 30m, 1h30m or 90s, but is {text!r:.60}.")
    if total > 60 * _MOST_HOURS:
        raise ArgumentError(f"`{option}` must be {_MOST_HOURS:,} hours at most, but is {text!r:.60}.")
    return total
