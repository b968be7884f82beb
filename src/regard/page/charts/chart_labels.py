"""The names of series beside what they name: at the ends of lines, and around single points, without collisions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from regard.page.marks import Alignment, Box, Place

__all__ = ["Label", "Sizes", "end_labels", "point_labels", "spread"]

_LINE, _GAP = 1.25, 0.45

Named = tuple[int, str, Place]


class Sizes(NamedTuple):
    """How large a chart and what is in it are.

    Args:
        width, height: the size of the drawing, without the names of the axes.
        letters: the height of letters.
        mark: the radius of a mark without a size.
        measure: gives the width of a text.
    """

    width: float
    height: float
    letters: float
    mark: float
    measure: Callable[[str], float]


@dataclass(frozen=True)
class Label:
    """The name of a series.

    Args:
        series: the index of the series.
        text: its name.
        x, y: where its middle line begins, has its middle, or ends.
        align: which of them.
        leader: a line from the series to the name, if it isn't next to it.
    """

    series: int
    text: str
    x: float
    y: float
    align: Alignment = "left"
    leader: tuple[Place, Place] | None = None


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float] | None:
    """Move numbers apart, and as little as possible, until any two differ by at least `gap`.

    The result is in the order of `wanted`, between `low` and `high`, and has the least sum of squared moves; None if
    there isn't room.

    Example:
        >>> spread([5.0, 5.0, 20.0], 4.0, 0.0, 30.0), spread([5.0, 5.0, 20.0], 4.0, 0.0, 7.0)
        ([3.0, 7.0, 20.0], None)
    """
    if (len(wanted) - 1) * gap > high - low:
        return None
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    # Without the gaps the numbers must only be sorted: neighbours in the wrong order share their mean.
    groups: list[tuple[float, int]] = []
    for number, index in enumerate(order):
        total, count = wanted[index] - number * gap, 1
        while groups and groups[-1][0] / groups[-1][1] > total / count:
            total, count = total + groups[-1][0], count + groups[-1][1]
            groups.pop()
        groups.append((total, count))
    last = high - (len(wanted) - 1) * gap
    places = [min(max(total / count, low), last) for total, count in groups for _ in range(count)]
    found = dict(zip(order, (place + number * gap for number, place in enumerate(places)), strict=True))
    return [found[index] for index in range(len(wanted))]


def end_labels(names: Sequence[Named], plot: Box, sizes: Sizes) -> list[Label] | None:
    """Names in a column to the right of a plot, each as near the height of the end of its line as the others let it.

    Args:
        names: of each line its index, its name and its last point.
        plot: the edges of the plot.
        sizes: those of the chart.
    """
    letters, mark = sizes.letters, sizes.mark
    places = spread([y for _, _, (_, y) in names], _LINE * letters, plot.top, plot.bottom)
    if places is None:
        return None
    labels = []
    for (index, text, (end, height)), y in zip(names, places, strict=True):
        start = plot.right + 1.1 * letters
        near = abs(y - height) < letters / 4 and start - end < mark + 1.5 * letters
        leader = None if near else ((end + mark + 1.0, height), (start - 0.25 * letters, y))
        labels.append(Label(index, text, start, y, leader=leader))
    return labels


def point_labels(
    names: Sequence[Named], reaches: Mapping[int, float], taken: Sequence[Box], room: Box, sizes: Sizes
) -> list[Label] | None:
    """A name beside each point, where it covers nothing; None if no order of placing them was found that allows it.

    Args:
        names: of each point its series' index, the name and the place.
        reaches: the radius of the disc, by the index.
        taken: what no name may cover.
        room: where names may stand.
        sizes: those of the chart.
    """
    forward = sorted(names, key=lambda name: (name[2], name[0]))
    for order in (forward, forward[::-1], sorted(names, key=lambda name: (name[2][1], name[0]))):
        labels, boxes = [], list(taken)
        for name in order:
            found = next(
                (
                    (label, box)
                    for label, box in _around(name, reaches[name[0]], sizes)
                    if room.holds(box) and not any(map(box.meets, boxes))
                ),
                None,
            )
            if found is None:
                break
            labels.append(found[0])
            boxes.append(found[1])
        else:
            return sorted(labels, key=lambda label: label.series)
    return None


def _around(name: Named, reach: float, sizes: Sizes) -> list[tuple[Label, Box]]:
    """The places for a name, the best first: to the right, to the left, above, below, and the corners."""
    index, text, (x, y) = name
    letters = sizes.letters
    wide, half, beside = sizes.measure(text), 0.55 * letters, reach + _GAP * letters
    above, below = y - reach - 0.75 * letters, y + reach + 0.75 * letters
    places: list[tuple[float, float, Alignment]] = [
        (x + beside, y, "left"),
        (x - beside, y, "right"),
        (x, above, "center"),
        (x, below, "center"),
    ]
    # Around a disc, a corner is nearer than its side.
    nearer, shift = 0.8 * reach + _GAP * letters, max(reach, letters)
    for up in (-0.5, 0.5, -0.9, 0.9):
        places.append((x + nearer, y + up * shift, "left"))
        places.append((x - nearer, y + up * shift, "right"))
    for height in (above, below):
        places.append((x - 0.3 * letters, height, "left"))
        places.append((x + 0.3 * letters, height, "right"))
    found = []
    for at, height, align in places:
        left = at - wide * {"left": 0.0, "center": 0.5, "right": 1.0}[align]
        label = Label(index, text, at, height, align)
        found.append((label, Box(left, height - half, left + wide, height + half)))
    return found
