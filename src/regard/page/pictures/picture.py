"""Grey pictures, with boxes on them and weights over them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from regard.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["MOST_PIXELS", "Box", "Picture", "Pictures"]

MOST_PIXELS = 256
"""The most pixels on a side of a picture: each one is drawn as a rectangle."""

Grid = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Box:
    """A rectangle on a picture.

    Args:
        left, top, right, bottom: its edges in pixels; 0 is the left or upper edge of the picture. What lies outside of
            the picture isn't drawn.
        label: what is in it.

    Raises:
        ArgumentError: an edge isn't a finite number, or the left or upper edge lies beyond the opposite one.

    Example:
        >>> Box(4, 8, 20, 32, "a 7").right
        20
    """

    left: float
    top: float
    right: float
    bottom: float
    label: str = ""

    def __post_init__(self) -> None:
        import numpy as np

        edges = self.left, self.top, self.right, self.bottom
        array = _numbers(edges)
        if array is None or not np.isfinite(array).all():
            raise ArgumentError(f"a box must have finite edges in pixels, but has {edges!r:.80}.")
        if self.left > self.right or self.top > self.bottom:
            raise ArgumentError(f"a box must be left, top, right, bottom in this order, but is {edges}.")


@dataclass(frozen=True)
class Picture:
    """A grey picture.

    Args:
        pixels: its rows from the top, of values from 0, black, to 1, white; values outside are clipped.
        caption: what it shows.
        weights: rows of numbers of at least 0 that lie over the picture, the largest the bluest. Their grid, such as
            that of the patches, is stretched to the size of the picture. Empty: there are none.
        boxes: rectangles on the picture.
        quantity: what the weights are, as a singular noun.

    Raises:
        ArgumentError: there are no pixels or more than 256 on a side, rows differ in length, a value isn't finite, or a
            weight is negative.

    Example:
        >>> Picture(((0.0, 1.0), (0.5, 0.0)), "a line", weights=((0.25, 0.75),)).highest
        0.75
    """

    pixels: Grid = field(repr=False)
    caption: str = ""
    weights: Grid = field(default=(), repr=False)
    boxes: tuple[Box, ...] = ()
    quantity: str = "weight"

    def __post_init__(self) -> None:
        _check_grid("pixels", self.pixels)
        if self.weights:
            _check_grid("weights", self.weights)
            if min(map(min, self.weights)) < 0:
                raise ArgumentError(f"`weights` must be at least 0, but one is {min(map(min, self.weights)):g}.")

    @classmethod
    def of(
        cls, pixels: Any, caption: str = "", weights: Any = None, boxes: Sequence[Box] = (), quantity: str = "weight"
    ) -> "Picture":
        """A picture of arrays or tensors (row, column).

        Raises:
            ArgumentError: something isn't an array (row, column) of real numbers, or as above.

        Example:
            >>> import numpy as np
            >>> Picture.of(np.zeros((4, 6)), weights=np.ones((2, 3))).size
            (4, 6)
        """
        grid = () if weights is None else _grid("weights", weights)
        return cls(_grid("pixels", pixels), caption, grid, tuple(boxes), quantity)

    @property
    def size(self) -> tuple[int, int]:
        """The number of rows and columns."""
        return len(self.pixels), len(self.pixels[0])

    @property
    def boxes_inside(self) -> tuple[Box, ...]:
        """The boxes that lie inside at least in part."""
        height, width = self.size
        return tuple(
            box for box in self.boxes if _meets(box.left, box.right, width) and _meets(box.top, box.bottom, height)
        )

    @property
    def highest(self) -> float:
        """The largest weight; 0 without weights."""
        return max(map(max, self.weights), default=0.0)

    @property
    def strengths(self) -> "np.ndarray":
        """How blue each weight is, from 0 to 1: the root of its share of the largest, as in a heat map."""
        import numpy as np

        return np.sqrt(np.asarray(self.weights, dtype=float) / (self.highest or 1.0))


@dataclass(frozen=True)
class Pictures:
    """Pictures beside each other.

    Args:
        title: what they show.
        pictures: at least one.

    Raises:
        ArgumentError: there are no pictures.

    Example:
        >>> len(Pictures("Two dots", (Picture(((1.0,),)), Picture(((0.5,),)))).pictures)
        2
    """

    title: str
    pictures: tuple[Picture, ...]

    def __post_init__(self) -> None:
        if not self.pictures:
            raise ArgumentError("`pictures` must hold at least one picture, but holds none.")


def _meets(low: float, high: float, size: int) -> bool:
    """Whether a part of the interval lies between 0 and the size; one without a length may begin at 0."""
    return low < size and (high > 0 or low >= 0)


def _numbers(values: Any) -> "np.ndarray | None":
    """An array of real numbers; None if they aren't."""
    import numpy as np

    if hasattr(values, "detach"):
        values = values.detach().cpu()
        # NumPy has no bfloat16.
        values = values.double() if values.is_floating_point() else values
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        return None
    return array.astype(float) if array.dtype.kind in "biuf" else None


def _grid(name: str, values: Any) -> Grid:
    array = _numbers(values)
    if array is None:
        raise ArgumentError(
            f"`{name}` must be an array (row, column) of real numbers, but is {type(values).__name__} with other "
            "items or with rows of different lengths."
        )
    if array.ndim != 2:
        raise ArgumentError(f"`{name}` must be an array (row, column), but has the shape {array.shape}.")
    if not len(array):
        raise ArgumentError(f"`{name}` must have 1 to {MOST_PIXELS} rows, but has none.")
    return tuple(map(tuple, array.tolist()))


def _check_grid(name: str, rows: Grid) -> None:
    import numpy as np

    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise ArgumentError(f"`{name}` must have rows of one length, but has {sorted(widths) or 'no rows'}.")
    if not 0 < max(len(rows), *widths) <= MOST_PIXELS or not min(widths):
        raise ArgumentError(
            f"`{name}` must have 1 to {MOST_PIXELS} rows and columns, but has {len(rows)} x {min(widths)}. Average or "
            "cut it."
        )
    if not np.isfinite(rows).all():
        raise ArgumentError(f"`{name}` must be finite, but holds a number that isn't.")
