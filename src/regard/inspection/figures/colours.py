"""The colours of a figure, which are those of the page in the light: one blue for weights, one orange for effects."""

import numpy as np

from regard.page.colours import hexadecimal

__all__ = [
    "BROKEN",
    "EFFECT",
    "EFFECT_INK",
    "INK",
    "LINE",
    "MASKED",
    "PAPER",
    "QUIET",
    "RAISED",
    "WEIGHT",
    "WEIGHT_INK",
    "ink_on_blue",
    "rgb",
    "shade",
    "weight_colours",
    "weight_pixels",
]

INK, QUIET, PAPER, RAISED, LINE = "#1a1d21", "#5c6670", "#ffffff", "#f5f7fa", "#d9dee4"
WEIGHT, WEIGHT_INK, EFFECT, EFFECT_INK = "#1f5fbf", "#1b57b0", "#b4500a", "#a34708"
MASKED, BROKEN = "#e4e7eb", "#7a7a7a"

# The colour of weight 0.
_LOW = "#f7f9fc"


def weight_pixels(weights: np.ndarray, high: float) -> np.ndarray:
    """The colours (..., RGB) of weights, as bytes: from the paper at 0 to blue at `high`.

    The square root is drawn, as on the page, so that small weights can be told from 0. NaN has a grey of its own.

    Example:
        >>> weight_pixels(np.array([0.0, 0.5, np.nan]), 0.5).tolist()
        [[247, 249, 252], [31, 95, 191], [122, 122, 122]]
    """
    low, full = np.array(rgb(_LOW)), np.array(rgb(WEIGHT))
    share = np.sqrt(np.clip(np.nan_to_num(weights, nan=0.0, posinf=high) / high, 0.0, 1.0))
    pixels = np.round(low + share[..., None] * (full - low)).astype(np.uint8)
    pixels[np.isnan(weights)] = rgb(BROKEN)
    return pixels


def weight_colours(weights: np.ndarray, high: float) -> list[str]:
    """The colours of `weight_pixels`, each by its name.

    Example:
        >>> weight_colours(np.array([0.0, 0.5]), 0.5) == [_LOW, WEIGHT]
        True
    """
    return [hexadecimal(tuple(each)) for each in weight_pixels(weights, high).tolist()]


def rgb(colour: str) -> tuple[int, int, int]:
    """A colour as three numbers.

    Example:
        >>> rgb(MASKED)
        (228, 231, 235)
    """
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def ink_on_blue(share: float) -> str:
    """The colour of text on a cell, given how far along the scale its colour is."""
    # Beyond this, white has the higher contrast.
    return PAPER if share > 0.8 else INK


def shade(share: float) -> str:
    """Blue mixed into the paper.

    Example:
        >>> shade(0.0), shade(1.0)
        ('#ffffff', '#1f5fbf')
    """
    low, full = np.array(rgb(PAPER)), np.array(rgb(WEIGHT))
    red, green, blue = np.round(low + share * (full - low)).astype(int).tolist()
    return hexadecimal((red, green, blue))
