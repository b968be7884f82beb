"""What a drawing consists of, whoever draws it: lines, polygons, discs and texts.

Places are to the right and down from the upper left corner, in the unit of the drawing. A mark has no colour and no
width but a role, such as "grid" or "tick", to which the style sheet of a page and the table of a figure give both.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

__all__ = ["Alignment", "Box", "Disc", "Drawing", "Group", "Line", "Mark", "Place", "Polygon", "Strokes", "Text"]

Alignment = Literal["left", "center", "right"]
Place = tuple[float, float]


class Box(NamedTuple):
    """The edges of a rectangle."""

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
class Line:
    """A line of straight parts.

    Args:
        points: where it begins, bends and ends.
        role: what it is.
        dashes: the lengths of dashes and gaps, in widths of a narrow line; () for a solid one.
        name: what it is called in the files of figures; "" for nothing.
    """

    points: tuple[Place, ...]
    role: str
    dashes: tuple[float, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Strokes:
    """Straight lines that belong together, each from one place to another; `dashes` as of a line."""

    ends: tuple[tuple[Place, Place], ...]
    role: str
    dashes: tuple[float, ...] = ()


@dataclass(frozen=True)
class Polygon:
    """A filled polygon; `name` as of a line."""

    points: tuple[Place, ...]
    role: str
    name: str = ""


@dataclass(frozen=True)
class Disc:
    """A disc around `x` and `y`; `name` as of a line."""

    x: float
    y: float
    radius: float
    role: str
    name: str = ""


@dataclass(frozen=True)
class Text:
    """A text whose middle line is at `y`, and which begins, has its middle or ends at `x`."""

    x: float
    y: float
    text: str
    role: str
    align: Alignment = "left"


@dataclass(frozen=True)
class Group:
    """Marks that belong together.

    Args:
        marks: the marks.
        series: the index of the series of a chart whose colour they have; None for that of the group around them.
        title: what a reader is told who points at them.
    """

    marks: "tuple[Mark, ...]"
    series: int | None = None
    title: str = ""


Mark = Line | Strokes | Polygon | Disc | Text | Group


@dataclass(frozen=True)
class Drawing:
    """Marks on a sheet; later ones lie on top.

    Args:
        width, height: its size.
        letters: the height of letters.
        marks: what is drawn.

    Example:
        >>> drawing = Drawing(40, 12, 10, (Group((Disc(6, 6, 5, "area"), Text(14, 6, "64", "tick"))),))
        >>> [text.text for text in drawing.texts]
        ['64']
    """

    width: float
    height: float
    letters: float
    marks: tuple[Mark, ...]

    @property
    def texts(self) -> tuple[Text, ...]:
        """All texts, in order."""
        return tuple(_texts(self.marks))


def _texts(marks: tuple[Mark, ...]) -> Iterator[Text]:
    for mark in marks:
        if isinstance(mark, Group):
            yield from _texts(mark.marks)
        elif isinstance(mark, Text):
            yield mark
