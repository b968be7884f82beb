"""What the place that a text is written to can show."""

from dataclasses import dataclass

from rich.color import Color
from rich.console import Console

from regard.errors import ArgumentError
from regard.page.colours import Colour
from regard.page.palette import nearest_256

__all__ = ["NARROWEST", "Medium"]

# Narrower than this no bar is left between the words and the numbers.
NARROWEST = 32

_COLOURS = {"256": 256, "truecolor": 2**24}


@dataclass(frozen=True)
class Medium:
    """The width in cells, how many colours there are (0, 256 or 2 ** 24), and whether only ASCII may be drawn.

    Raises:
        ArgumentError: `width` is less than 32 cells.

    Example:
        >>> from rich.console import Console
        >>> Medium.of(Console(width=40, color_system=None)).width
        40
    """

    width: int = 80
    colours: int = 0
    ascii: bool = False

    def __post_init__(self) -> None:
        if self.width < NARROWEST:
            raise ArgumentError(f"`width` must be at least {NARROWEST}, but is {self.width}.")

    def paint(self, colour: Colour) -> Color:
        """A colour as this place shows it."""
        return Color.from_ansi(nearest_256(colour)) if self.colours == 256 else Color.from_rgb(*colour)

    @classmethod
    def of(cls, console: Console) -> "Medium":
        """Read it off a console. Sixteen colours are too few for a scale and count as none."""
        return cls(
            width=max(console.width, NARROWEST),
            colours=0 if console.no_color else _COLOURS.get(console.color_system or "", 0),
            ascii=not console.encoding.lower().startswith("utf"),
        )
