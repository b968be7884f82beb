"""The nearest of the 256 colours that most terminals show; the choice of rich turns the middle of a scale grey."""

from functools import cache

from regard.page.colours import Colour, linear

__all__ = ["nearest_256"]

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
