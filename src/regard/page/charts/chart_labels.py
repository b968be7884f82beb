"""The names of series beside what they name: at the ends of lines, and around single points, without collisions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

__all__ = ["Box", "Label", "end_labels", "point_labels", "spread"]

_LINE, _GAP = 1.25, 0.45

Alignment = Literal["left", "center", "right"]
Place = tuple[float, float]
Named = tuple[int, str, Place]


class Box(NamedTuple):
    """A rectangle; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        """Whether the two overlap.

        Example:
            >>> Box(0, 0, 2, 2).meets(Box(1, 1, 3, 3)), Box(0, 0, 2, 2).meets(Box(2, 0, 3, 2))
            (True, False)
        """
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def holds(self, other: "Box") -> bool:
        """Whether the other lies inside this one."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom


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


def end_labels(
    names: Sequence[Named], x: float, top: float, bottom: float, letters: float, mark: float
) -> list[Label] | None:
    """Names in a column to the right of `x`, each as near the height of the end of its line as the others let it.

    Args:
        names: of each line its index, its name and its last point.
        x: the right edge of the plot.
        top, bottom: the range of the column.
        letters, mark: the height of letters, and the radius of a mark.
    """
    places = spread([y for _, _, (_, y) in names], _LINE * letters, top, bottom)
    if places is None:
        return None
    labels = []
    for (index, text, (end, height)), y in zip(names, places, strict=True):
        start = x + 1.1 * letters
        near = abs(y - height) < letters / 4 and start - end < mark + 1.5 * letters
        leader = None if near else ((end + mark + 1.0, height), (start - 0.25 * letters, y))
        labels.append(Label(index, text, start, y, leader=leader))
    return labels


def point_labels(
    names: Sequence[Named],
    reaches: Mapping[int, float],
    taken: Sequence[Box],
    room: Box,
    letters: float,
    measure: Callable[[str], float],
) -> list[Label] | None:
    """A name beside each point, where it covers nothing; None if no order of placing them was found that allows it.

    Args:
        names: of each point its series' index, the name and the place.
        reaches: the radius of the disc, by the index.
        taken: what no name may cover.
        room: where names may stand.
        letters: the height of letters.
        measure: gives the width of a text.
    """
    forward = sorted(names, key=lambda name: (name[2], name[0]))
    for order in (forward, forward[::-1], sorted(names, key=lambda name: (name[2][1], name[0]))):
        labels, boxes = [], list(taken)
        for name in order:
            found = next(
                (
                    (label, box)
                    for label, box in _around(name, reaches[name[0]], letters, measure)
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


def _around(name: Named, reach: float, letters: float, measure: Callable[[str], float]) -> list[tuple[Label, Box]]:
    """The places for a name, the best first: to the right, to the left, above, below, and the corners."""
    index, text, (x, y) = name
    wide, half, beside = measure(text), 0.55 * letters, reach + _GAP * letters
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
