"""The capabilities of the terminal, pipe or file that text is written to."""

from dataclasses import dataclass

from rich.color import Color
from rich.console import Console

from regard.errors import ArgumentError
from regard.page.colours import Colour
from regard.page.palette import nearest_256

__all__ = ["NARROWEST", "Terminal"]

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
