"""The axes of a chart: where a number lies, round numbers to mark, and numbers as text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from regard.page.charts.chart import Chart

__all__ = ["Axis", "linear_ticks", "log_ticks", "written", "x_axis", "y_axis"]

# Numbers that differ by less than this share of their size count as one: the ticks between them couldn't be written.
_EQUAL = 1e-9
_SMALLEST = 1e-110
# From here on numbers are written with an exponent, and below the second.
_LONGEST, _SHORTEST = 1e7, 1e-4
_LOG_DIGITS = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3), (1,))


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high`.

    Args:
        low, high: the numbers at its ends.
        log: whether it is logarithmic.
        share: whether its numbers are fractions, which are written in percent.
        binary: whether its numbers are powers of two, which are marked then instead of round numbers.
        marked: the least and the largest number that may be marked; None: the ends.

    Example:
        >>> axis = Axis(1.0, 100.0, log=True)
        >>> axis.place(10.0), axis.ticks(3)
        (0.5, ((1.0, '1'), (10.0, '10'), (100.0, '100')))
    """

    low: float
    high: float
    log: bool = False
    share: bool = False
    binary: bool = False
    marked: tuple[float, float] | None = None

    def place(self, value: float) -> float:
        """Where a number lies: 0 at the low end, 1 at the high end."""
        if self.log:
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> tuple[tuple[float, str], ...]:
        """At most so many numbers to mark (at least one), and their texts."""
        if self.log:
            values = log_ticks(self.low, self.high, most, binary=self.binary)
            if len(values) > 1:
                texts = (_percentage(value) if self.share else written(value) for value in values)
                return tuple(zip(values, texts, strict=True))
        values = linear_ticks(*(self.marked or (self.low, self.high)), most)
        return tuple(zip(values, _tick_texts(values, self.share), strict=True))


def x_axis(chart: Chart, pad: float = 0.04) -> Axis:
    """The horizontal axis of a chart.

    Args:
        chart: the chart.
        pad: the share of the axis that is left free at each end; where that would cross 0, only for discs.
    """
    values = [point.x for point in chart.points]
    return _axis(chart, values, pad, log=chart.log_x, share=False)


def y_axis(chart: Chart, pad: float = 0.06) -> Axis:
    """The vertical axis of a chart, on which the intervals fit too; `pad` as of the other."""
    values = [value for point in chart.points for value in (point.y, *point.extent)]
    return _axis(chart, values, pad, log=chart.log_y, share=chart.share)


def _axis(chart: Chart, values: Sequence[float], pad: float, *, log: bool, share: bool) -> Axis:
    low, high = float(min(values)), float(max(values))
    pad /= 1 - 2 * pad
    if log:
        binary = not share and all(math.frexp(value)[0] == 0.5 for value in values)
        factor = math.exp(pad * (math.log(high) - math.log(low))) if high > low * (1 + _EQUAL) else 2.0
        return Axis(low / factor, high * factor, log=True, share=share, binary=binary)
    span = high - low
    if span <= max(_EQUAL * max(abs(low), abs(high)), _SMALLEST):
        grown = max(0.1 * max(abs(low), abs(high)), _SMALLEST) if low else 1.0
        first, last = low - grown, high + grown
    else:
        # 0 is shown where that costs at most a third of the axis.
        first = min(0.0, low) - pad * span if 0.0 <= low <= span / 2 else low - pad * span
        last = max(0.0, high) + pad * span if -span / 2 <= high <= 0.0 else high + pad * span
    # What no number of the chart can be isn't marked, and has no room except for discs.
    ends = max(first, 0.0) if low >= 0.0 else first, min(last, 0.0) if high <= 0.0 > low else last
    ends = ends[0], min(ends[1], 1.0) if share and high <= 1.0 else ends[1]
    if any(point.size is not None for point in chart.points):
        return Axis(first, last, share=share, marked=ends)
    return Axis(*ends, share=share)


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """The multiples from `low` to `high` of the smallest of 1, 2, 5 times a power of ten of which at most `most` fit.

    Example:
        >>> linear_ticks(0.0, 1.0, 6), linear_ticks(812.0, 4100.0, 4)
        ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [1000.0, 2000.0, 3000.0, 4000.0])
    """
    power = math.floor(math.log10((high - low) / max(most, 1))) - 1
    while True:
        for digit in (1, 2, 5):
            # Divided by a power above 1, 3 * 0.1 would be 0.30000000000000004.
            scale = digit * 10.0**power if power >= 0 else digit / 10.0**-power
            first, last = math.ceil(low / scale - 1e-6), math.floor(high / scale + 1e-6)
            if last - first < most:
                return [_multiple(number * digit, power) for number in range(first, last + 1)]
        power += 1


def _multiple(number: int, power: int) -> float:
    return number * 10.0**power if power >= 0 else number / 10.0**-power


def log_ticks(low: float, high: float, most: int, *, binary: bool = False) -> list[float]:
    """Round numbers of a logarithmic axis, at most `most`: the closest of 1 to 9, of 1, 2, 5, of 1, 3 or of 1 times
    each power of ten, or every second, third or later power; of two if `binary`.

    Example:
        >>> log_ticks(80.0, 6000.0, 6), log_ticks(500.0, 9000.0, 6, binary=True)
        ([100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0], [512.0, 1024.0, 2048.0, 4096.0, 8192.0])
    """
    base = 2 if binary else 10
    first, last = math.floor(math.log(low, base)) - 1, math.ceil(math.log(high, base)) + 1
    sets = [] if binary else [(digits, 1) for digits in _LOG_DIGITS[:-1]]
    for digits, step in (*sets, *(((1,), step) for step in range(1, last - first + 2))):
        exponents = [each for each in range(first, last + 1) if each % step == 0]
        values = [_power(digit, base, each) for each in exponents for digit in digits]
        values = [value for value in values if low * (1 - _EQUAL) <= value <= high * (1 + _EQUAL)]
        if len(values) <= most:
            return values
    return []


def _power(digit: int, base: int, exponent: int) -> float:
    return digit * float(base) ** exponent if exponent >= 0 else digit / float(base) ** -exponent


def written(value: float, share: bool = False) -> str:
    """A number of a chart as text: whole, or with four significant digits; a fraction in percent with one decimal.

    0% and 100% are exact.

    Example:
        >>> [written(value) for value in (8192, 0.123456, -12.5, 131072.0, 3e9, 0.0)]
        ['8,192', '0.1235', '-12.5', '131,072', '3e9', '0']
        >>> [written(value, share=True) for value in (0.873, 1.0, 0.9999, 0.0001, 0.5)]
        ['87.3%', '100%', '>99.9%', '<0.1%', '50%']
    """
    value = float(value)
    if share:
        if 0.0 < value < 0.0005:
            return "<0.1%"
        if 0.9995 <= value < 1.0:
            return ">99.9%"
        return f"{_trimmed(f'{100 * value:.1f}')}%" if abs(value) < _LONGEST else f"{_exponential(100 * value, 3)}%"
    if value == 0:
        return "0"
    if not _SHORTEST <= abs(value) < _LONGEST:
        return _exponential(value, 3)
    return _trimmed(f"{value:,.{max(0, 3 - math.floor(math.log10(abs(value))))}f}")


def _percentage(value: float) -> str:
    """A round fraction in percent, with as many digits as it takes."""
    return f"{written(100 * value)}%"


def _tick_texts(values: Sequence[float], share: bool) -> list[str]:
    """Multiples of one step, all with the decimals of the step."""
    unit = "%" if share else ""
    values = [100 * value for value in values] if share else list(values)
    largest = max(map(abs, values), default=0.0)
    step = min((other - one for one, other in pairwise(values)), default=largest) or 1.0
    digit = math.floor(math.log10(step) + 1e-6)
    if largest and not _SHORTEST <= largest < _LONGEST:
        digits = max(0, math.floor(math.log10(largest) + 1e-6) - digit)
        return [(_exponential(value, digits) if value else "0") + unit for value in values]
    texts = [f"{value:,.{max(0, -digit)}f}" for value in values]
    # A single number isn't a multiple of its size.
    return [f"{written(value) if len(values) == 1 else text}{unit}" for value, text in zip(values, texts, strict=True)]


def _exponential(value: float, digits: int) -> str:
    number, _, exponent = f"{value:.{digits}e}".partition("e")
    return f"{_trimmed(number)}e{int(exponent)}"


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
