"""The capabilities of the terminal, pipe or file that text is written to, and the nearest colours that it can show."""

from dataclasses import dataclass
from functools import cache

from rich.color import Color
from rich.console import Console

from regard.errors import ArgumentError
from regard.page.colours import Colour, linear

__all__ = ["NARROWEST", "Terminal", "nearest_256"]

# In a narrower terminal there is no room for a bar between the words and the numbers.
NARROWEST = 32

_COLOURS = {"256": 256, "truecolor": 2**24}


@dataclass(frozen=True)
class Terminal:
    """The width in cells, the number of colours (0, 256 or 2 ** 24), and whether only ASCII can be shown.

    Raises:
        ArgumentError: `width` is less than 32 cells.

    Example:
        >>> from rich.console import Console
        >>> Terminal.of(Console(width=40, color_system=None)).width
        40
    """

    width: int = 80
    colours: int = 0
    ascii: bool = False

    def __post_init__(self) -> None:
        if self.width < NARROWEST:
            raise ArgumentError(f"`width` must be at least {NARROWEST}, but is {self.width}.")

    def paint(self, colour: Colour) -> Color:
        """The nearest colour that this terminal can show."""
        return Color.from_ansi(nearest_256(colour)) if self.colours == 256 else Color.from_rgb(*colour)

    @classmethod
    def of(cls, console: Console) -> "Terminal":
        """The capabilities of a console. Sixteen colours are too few for a scale and count as none."""
        return cls(
            width=max(console.width, NARROWEST),
            colours=0 if console.no_color else _COLOURS.get(console.color_system or "", 0),
            ascii=not console.encoding.lower().startswith("utf"),
        )


_LEVELS = (0, 95, 135, 175, 215, 255)


@cache
def nearest_256(colour: Colour) -> int:
    """The number of the most similar colour among the cube and the greys of a 256-colour terminal.

    A grey is mapped to a grey and other colours to no grey, so that a masked cell isn't mistaken for a value.

    Example:
        >>> nearest_256((255, 0, 0)), nearest_256((128, 128, 128))
        (196, 244)
    """
    is_grey = max(colour) - min(colour) < 10
    wanted = _oklab(colour)
    return min(
        (number for number, entry in _PALETTE.items() if (max(entry) == min(entry)) == is_grey),
        key=lambda number: sum((a - b) ** 2 for a, b in zip(wanted, _oklab(_PALETTE[number]), strict=True)),
    )


@cache
def _oklab(colour: Colour) -> tuple[float, float, float]:
    """The colour in Oklab, where colours that look alike lie close together."""
    red, green, blue = linear(colour)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


_PALETTE: dict[int, Colour] = {
    **{16 + index: (_LEVELS[index // 36], _LEVELS[index // 6 % 6], _LEVELS[index % 6]) for index in range(216)},
    **{232 + step: (8 + 10 * step, 8 + 10 * step, 8 + 10 * step) for step in range(24)},
}
