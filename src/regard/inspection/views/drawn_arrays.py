"""What a page draws of an input: the values and arrays of a drawn input, no more of them than can be seen."""

import io
import wave
from typing import Any

import numpy as np

from regard.inspection.record.drawn_inputs import (
    DrawnGraph,
    DrawnInput,
    DrawnMolecule,
    DrawnPicture,
    DrawnSound,
    DrawnTable,
)
from regard.page.arrays import Arrays
from regard.page.visible import visible

__all__ = ["MOST_SOUND", "drawn_values"]

MOST_SOUND = 2 * 2**20
"""The most bytes of a sound that a page can play."""

# Parts of time that are drawn apart: about as many as a screen has pixels.
_PARTS = 1200
_MOST_COLUMNS = 64
_MOST_VALUES = 2**18


def drawn_values(drawn: DrawnInput | None, arrays: Arrays) -> dict[str, Any] | None:
    """The values of an input that is drawn; its arrays are added to those of the page.

    Example:
        >>> arrays = Arrays()
        >>> drawn_values(DrawnTable(np.zeros((2, 1), np.float32), ("height",)), arrays)["columns"], arrays.size
        (['height'], 8)
    """
    match drawn:
        case DrawnPicture():
            found = {"pixels": arrays.add(drawn.pixels), "grid": list(drawn.grid), "first": drawn.first}
        case DrawnSound():
            found = _sound(drawn, arrays)
        case DrawnGraph():
            found = {
                "edges": arrays.add(drawn.edges),
                "positions": arrays.add(drawn.positions) if len(drawn.positions) else None,
            }
        case DrawnMolecule():
            found = {
                "positions": arrays.add(drawn.positions),
                "bonds": arrays.add(drawn.bonds),
                "symbols": list(map(visible, drawn.symbols)),
            }
        case DrawnTable():
            found = _table(drawn, arrays)
        case _:
            return None
    return {"kind": drawn.kind, **found}


def _sound(drawn: DrawnSound, arrays: Arrays) -> dict[str, Any]:
    samples = drawn.samples
    waves = np.zeros((2, 0), np.float32)
    if len(samples):
        begins = _begins(len(samples))
        peak = max(1, int(np.abs(samples.astype(np.int32)).max()))
        waves = np.stack([ends.reduceat(samples, begins) for ends in (np.minimum, np.maximum)]) / np.float32(peak)
    spectrogram = drawn.spectrogram
    if len(spectrogram):
        spectrogram = np.maximum.reduceat(spectrogram, _begins(len(spectrogram)), axis=0)
    playable = _wav(drawn)
    fits = len(playable) <= MOST_SOUND
    return {
        "seconds": drawn.seconds,
        "rate": drawn.rate,
        "step": drawn.step,
        "waves": arrays.add(waves.astype(np.float16)),
        "spectrogram": arrays.add(spectrogram),
        "wav": arrays.add(np.frombuffer(playable, np.uint8)) if fits else None,
        "bytes": len(playable),
    }


def _begins(count: int) -> np.ndarray:
    """The beginnings of equal parts, as many as are drawn apart."""
    parts = min(count, _PARTS)
    return np.arange(parts, dtype=np.int64) * count // parts


def _wav(drawn: DrawnSound) -> bytes:
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(drawn.rate)
        file.writeframes(drawn.samples.astype("<i2").tobytes())
    return content.getvalue()


def _table(drawn: DrawnTable, arrays: Arrays) -> dict[str, Any]:
    count, width = drawn.values.shape
    shown = min(width, _MOST_COLUMNS, max(1, _MOST_VALUES // max(count, 1)))
    names = drawn.columns or tuple(str(number) for number in range(1, width + 1))
    return {
        "values": arrays.add(drawn.values[:, :shown]),
        "columns": list(map(visible, names[:shown])),
        "width": width,
    }
