"""The colours of a heat map in a terminal: a perceptually uniform scale from dark blue to light yellow.

The scale is a straight line in OKLab, a space in which equal distances look equally different. Lightness increases
monotonically, and the hue runs from blue to yellow, which people with any kind of colour-vision deficiency can tell
apart; it passes through green, so that no colour of the scale is grey.

Source: Björn Ottosson, "A perceptual color space for image processing" (2020), the matrices and the cube root.
"""

import math

__all__ = [
    "BOX",
    "COVER",
    "MASKED",
    "NOT_A_NUMBER",
    "SCALE",
    "WEIGHT",
    "ZERO",
    "Colour",
    "colour_of",
    "hexadecimal",
    "ink_on",
    "linear",
]

Colour = tuple[int, int, int]

_DARK = (0.26, -0.010, -0.100)
_LIGHT = (0.935, -0.105, 0.150)
_STEPS = 64

# These differ from all colours of the scale: exact zero is almost black, masked a middle grey, and NaN red.
ZERO: Colour = (18, 18, 18)
MASKED: Colour = (110, 110, 110)
NOT_A_NUMBER: Colour = (230, 20, 60)

# What lies on a grey picture: weights, of which the largest hides so much of it, and the edges of boxes.
WEIGHT: Colour = (77, 148, 255)
COVER = 0.72
BOX: Colour = (255, 159, 64)


def _srgb(lightness: float, green_red: float, blue_yellow: float) -> Colour:
    long = (lightness + 0.3963377774 * green_red + 0.2158037573 * blue_yellow) ** 3
    middle = (lightness - 0.1055613458 * green_red - 0.0638541728 * blue_yellow) ** 3
    short = (lightness - 0.0894841775 * green_red - 1.2914855480 * blue_yellow) ** 3
    red = 4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short
    green = -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short
    blue = -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short
    return _byte(red), _byte(green), _byte(blue)


def _byte(linear: float) -> int:
    linear = min(max(linear, 0.0), 1.0)
    encoded = 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055
    return round(255 * encoded)


def _between(fraction: float) -> Colour:
    lightness, green_red, blue_yellow = (
        start + fraction * (end - start) for start, end in zip(_DARK, _LIGHT, strict=True)
    )
    return _srgb(lightness, green_red, blue_yellow)


SCALE: tuple[Colour, ...] = tuple(_between(step / (_STEPS - 1)) for step in range(_STEPS))


def colour_of(value: float | None, high: float = 1.0) -> Colour:
    """The colour of a value on a scale that runs from 0 to `high`.

    Example:
        >>> colour_of(0.0) == ZERO, colour_of(None) == MASKED, colour_of(2.0, high=2.0) == SCALE[-1]
        (True, True, True)
    """
    if value is None:
        return MASKED
    if math.isnan(value):
        return NOT_A_NUMBER
    if value == 0.0:
        return ZERO
    return SCALE[round(min(max(value / high, 0.0), 1.0) * (_STEPS - 1))]


def linear(colour: Colour) -> tuple[float, float, float]:
    """The light of each channel of an sRGB colour, from 0 to 1.

    Example:
        >>> [round(each, 3) for each in linear((0, 128, 255))]
        [0.0, 0.216, 1.0]
    """
    red, green, blue = (
        channel / 255 / 12.92 if channel <= 10 else ((channel / 255 + 0.055) / 1.055) ** 2.4 for channel in colour
    )
    return red, green, blue


def ink_on(colour: Colour) -> Colour:
    """Black or white, whichever has more contrast with this colour."""
    red, green, blue = linear(colour)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    # The contrast with white is 1.05 / (L + 0.05), with black (L + 0.05) / 0.05: equal at L = 0.179.
    return (0, 0, 0) if luminance > 0.179 else (255, 255, 255)


def hexadecimal(colour: Colour) -> str:
    """The colour in HTML notation.

    Example:
        >>> hexadecimal((255, 0, 16))
        '#ff0010'
    """
    return "#{:02x}{:02x}{:02x}".format(*colour)
