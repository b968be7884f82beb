"""A sound in time: its waveform above its spectrogram, the frames as blue as their weights, and a ruler in seconds."""

import math

import numpy as np

from regard.inspection.figures.colours import INK, LINE, QUIET, WEIGHT, WEIGHT_INK, rgb
from regard.inspection.figures.inputs.below import Below
from regard.inspection.figures.sheet import SMALL, Sheet
from regard.inspection.figures.shown import Shown
from regard.inspection.figures.weighed import strengths
from regard.inspection.record.drawn_inputs import DrawnSound

__all__ = ["draw_sound"]

_WAVE, _SPECTROGRAM, _RULER = 44.0, 62.0, 16.0
_COVER = 0.62
_MARKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 3600.0)
_APART = 46.0
# Parts of time that are drawn apart: about as many as can be seen.
_PARTS = 800


def draw_sound(sheet: Sheet, shown: Shown, drawn: DrawnSound, weights: np.ndarray) -> Below:
    """Draw the sound, and the frame of the item for which is predicted."""
    seconds = max(drawn.seconds, len(weights) * drawn.step)
    low = _SPECTROGRAM if len(drawn.spectrogram) else 0.0
    width, deep = sheet.width, _WAVE + low
    ends = drawn.seconds / seconds * width
    if low:
        sheet.image(0, _WAVE, ends, low, _grey(drawn.spectrogram), smooth=len(drawn.spectrogram) > _PARTS)
    wide = drawn.step / seconds * width
    for item, x, part, strength in _lit(strengths(weights), wide):
        sheet.box(x, 0, part, deep, fill=WEIGHT, alpha=_COVER * strength, gid=f"frame-{item + 1}")
    if len(drawn.samples):
        sheet.polygon(_outline(drawn.samples, ends), fill=INK)
    sheet.box(0, 0, width, deep, edge=LINE, line=0.6)
    if shown.own is not None:
        sheet.box(shown.own * wide, 0, wide, deep, edge=WEIGHT_INK, line=1.4)
    step = next((each for each in _MARKS if each / seconds * width >= _APART), _MARKS[-1])
    for number in range(math.floor(seconds / step + 1e-9) + 1):
        x = number * step / seconds * width
        sheet.line([(x, deep), (x, deep + 3)], colour=QUIET, width=0.6)
        text = f"{number * step:g} s"
        at = min(max(x, sheet.size(text, SMALL)[0] / 2), width - sheet.size(text, SMALL)[0] / 2)
        sheet.text(at, deep + 8.5, text, SMALL, colour=QUIET, align="center")
    return Below(deep + _RULER, cover=_COVER)


def _lit(strength: np.ndarray, wide: float) -> list[tuple[int, float, float, float]]:
    """The first item of each part, where it is, how wide and how blue; frames that are too narrow are one part."""
    together = max(1, math.ceil(0.5 / wide))
    found = []
    for first in range(0, len(strength), together):
        most = float(strength[first : first + together].max())
        if most > 0:
            found.append((first, first * wide, min(together, len(strength) - first) * wide, most))
    return found


def _outline(samples: np.ndarray, width: float) -> np.ndarray:
    """The lowest and the highest sample of each part of time, as one polygon."""
    parts = min(len(samples), _PARTS)
    begins = np.arange(parts, dtype=np.int64) * len(samples) // parts
    peak = max(1, int(np.abs(samples.astype(np.int32)).max()))
    low, high = (ends.reduceat(samples, begins) / peak for ends in (np.minimum, np.maximum))
    x = (np.arange(parts) + 0.5) / parts * width
    half, middle = _WAVE / 2 - 3, _WAVE / 2
    top, bottom = middle - high * half - 0.2, middle - low * half + 0.2
    return np.concatenate([np.stack([x, top], 1), np.stack([x, bottom], 1)[::-1]])


def _grey(spectrogram: np.ndarray) -> np.ndarray:
    """Grey, the lowest band at the bottom."""
    share = 0.75 * spectrogram.T[::-1, :, None] / 255
    return np.round(255 + share * (np.array(rgb(INK)) - 255)).astype(np.uint8)
