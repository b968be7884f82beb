"""The colours of a figure, which are those of the page in the light: one blue for weights, one orange for effects."""

from typing import Any

from regard.extras import require

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
    "shade",
    "weight_norm",
    "weight_scale",
]

INK, QUIET, PAPER, RAISED, LINE = "#1a1d21", "#5c6670", "#ffffff", "#f5f7fa", "#d9dee4"
WEIGHT, WEIGHT_INK, EFFECT, EFFECT_INK = "#1f5fbf", "#1b57b0", "#b4500a", "#a34708"
MASKED, BROKEN = "#e4e7eb", "#7a7a7a"

_LOW, _HIGH = "#f7f9fc", "#1f5fbf"
_STEPS = 1024


def weight_scale() -> Any:
    """The colours from weight 0 to the largest one; NaN has a grey of its own."""
    colours = require("matplotlib.colors", extra="figures")
    return colours.LinearSegmentedColormap.from_list("weight", [_LOW, _HIGH], N=_STEPS).with_extremes(bad=BROKEN)


def weight_norm(high: float) -> Any:
    """From 0 to `high`. The square root is drawn, as on the page, so that small weights can be told from 0."""
    return require("matplotlib.colors", extra="figures").PowerNorm(0.5, vmin=0.0, vmax=high, clip=True)


def ink_on_blue(share: float) -> str:
    """The colour of text on a cell, given how far along the scale its colour is."""
    return PAPER if share > 0.6 else INK


def shade(share: float) -> str:
    """Blue mixed into the paper.

    Example:
        >>> shade(0.0), shade(1.0)
        ('#ffffff', '#1f5fbf')
    """
    parts = [(int(PAPER[at : at + 2], 16), int(WEIGHT[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(low + share * (high - low)):02x}" for low, high in parts)
