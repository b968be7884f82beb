"""Formatting fractions as percentages that are never rounded to 0% or 100%, and counts of things."""

import math
import re

from regard.page.messages import say

__all__ = [
    "brief_change",
    "counted",
    "decimals_of",
    "four_digits",
    "in_decimals",
    "in_points",
    "percent",
    "percent_change",
    "plural",
    "probability",
    "rounded_text",
]

_NUMBER = re.compile(r"[+-]?\d+(?:\.(\d+))?(?:e([+-]\d+))?")


def counted(count: int, noun: str) -> str:
    """A count with its noun, in the singular or plural.

    Example:
        >>> counted(1, "word"), counted(3000, "patch")
        ('1 word', '3,000 patches')
    """
    return f"{count:,} {noun if count == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """The plural of a noun.

    Example:
        >>> plural("atom"), plural("patch"), plural("epoch"), plural("series")
        ('atoms', 'patches', 'epochs', 'series')
    """
    if noun.endswith("series"):
        return noun
    # The ch of epoch is a k.
    return f"{noun}es" if noun.endswith(("ch", "s", "x")) and not noun.endswith("epoch") else f"{noun}s"


def percent(value: float | None) -> str:
    """Format a fraction as an integer percentage. 0% and 100% are exact; fractions near them become <1% and >99%.

    Example:
        >>> [percent(value) for value in (0.0, 0.001, 0.52, 0.999, 1.0, None, float("nan"))]
        ['0%', '<1%', '52%', '>99%', '100%', 'masked', 'NaN']
    """
    if value is None:
        return "masked"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    # Sums of float32 weights differ from 1 in the seventh decimal by rounding.
    if abs(value - 1.0) < 1e-6:
        return "100%"
    if 0.0 < value < 0.005:
        return "<1%"
    if 0.995 <= value < 1.0:
        return ">99%"
    return f"{100 * value:.0f}%"


def percent_change(before: float, after: float, change: float | None = None) -> str:
    """The difference of two fractions as that of their percentages: 4% and 6% differ by +2%, which `in_points` tells.

    Fractions that differ by less than their percentages can say differ by +<1% or -<1%.

    Args:
        before, after: the fractions.
        change: their difference, where it is known better; None: what they say.

    Example:
        >>> [percent_change(*pair) for pair in ((0.036, 0.064), (0.806, 0.814), (0.5, 0.25), (0.5, 0.5), (0.0, 1.0))]
        ['+2%', '+<1%', '-25%', '0%', '+100%']
    """
    change = after - before if change is None else change
    if not (math.isfinite(before) and math.isfinite(after)):
        return percent(change)
    # To even where a half is left, as in formatting.
    points = round(100 * after) - round(100 * before)
    if not points and change == 0:
        return "0%"
    size = ">99" if abs(points) == 100 and abs(change) < 1.0 - 1e-6 else abs(points) or "<1"
    return f"{'-' if (points or change) < 0 else '+'}{size}%"


def brief_change(before: float, after: float) -> str:
    """The difference of two fractions as a number of points where there is no room for words.

    Less than one has no sign, which nobody reads before "<".

    Example:
        >>> [brief_change(*pair) for pair in ((0.036, 0.064), (0.814, 0.806), (0.5, 0.25), (0.5, 0.5))]
        ['+2', '<1', '-25', '0']
    """
    size = percent_change(before, after).removesuffix("%")
    return size[1:] if size[1:].startswith("<") else size


def in_points(text: str, language: str = "en") -> str:
    """A percentage that is the difference of two percentages, in percentage points; other texts stay as they are.

    Which way a difference goes that isn't a number itself, as <1, is said in words.

    Example:
        >>> in_points("+28%"), in_points("-<1%"), in_points("28%", "zh"), in_points("NaN")
        ('+28 points', '<1 lower', '28 个百分点', 'NaN')
    """
    if not text.endswith("%"):
        return text
    size = text.removesuffix("%")
    bare = size.lstrip("+-")
    if bare == size or bare[0].isdigit():
        return say("points", language, size=size, count=1 if bare in ("1", "<1") else 2)
    return say("pointsLower" if size.startswith("-") else "pointsHigher", language, size=bare)


def four_digits(value: float) -> str:
    """A number with four significant digits, zeros at its end too, so that numbers beside each other agree.

    Example:
        >>> four_digits(-1.9), four_digits(1234.0), four_digits(0.5), four_digits(123456.0)
        ('-1.900', '1234', '0.5000', '1.235e+05')
    """
    return f"{value:#.4g}".removesuffix(".")


def decimals_of(error: float) -> int | None:
    """How many decimals a number has whose error is known: those of the two significant digits of the error.

    Returns:
        The decimals; None of an error of 0, which doesn't say it.

    Example:
        >>> [decimals_of(error) for error in (0.8145, 12.3, 345.0, 0.0998, 0.0)]
        [2, 0, 0, 2, None]
    """
    return max(0, 1 - int(f"{error:.1e}".partition("e")[2])) if error > 0 and math.isfinite(error) else None


def in_decimals(value: float, decimals: int) -> str:
    """A number with so many decimals; what rounds to 0 has no sign.

    Example:
        >>> in_decimals(-5.2264, 2), in_decimals(-0.001, 2)
        ('-5.23', '0.00')
    """
    text = f"{value:.{decimals}f}"
    return text if float(text) else text.removeprefix("-")


def rounded_text(text: str, decimals: int) -> str:
    """A number as text, with so many decimals if it has more; it keeps those that it has if they are fewer.

    Example:
        >>> rounded_text("-5.226", 2), rounded_text("1234", 2), rounded_text("1.235e+05", 0), rounded_text("nan", 2)
        ('-5.23', '1234', '1.235e+05', 'nan')
    """
    found = _NUMBER.fullmatch(text)
    if found is None or len(found[1] or "") - int(found[2] or 0) <= decimals:
        return text
    return in_decimals(float(text), decimals)


def probability(value: float) -> str:
    """Format the probability of a softmax or sigmoid: never 0% or 100%, which only rounding could give.

    Example:
        >>> [probability(value) for value in (0.0, 0.123, 0.9949, 1.0)]
        ['<1%', '12%', '99%', '>99%']
    """
    return ">99%" if value >= 0.995 else "<1%" if value < 0.005 else percent(value)
