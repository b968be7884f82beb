"""Reading pictures from files as numbers from 0 to 1."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import DataError, UnknownNameError
from regard.extras import require
from regard.files import open_regular
from regard.inputs.contents import why_unreadable

__all__ = ["CHANNELS", "picture_size", "read_picture"]

_ORIENTATION = 0x0112  # the EXIF tag
_Read = TypeVar("_Read")

CHANNELS = {"grey": 1, "rgb": 3}
"""The kinds of channels, and the number of channels of each."""


def picture_size(path: str | Path) -> tuple[int, int]:
    """The height and width in pixels of the picture in a file, as displayed; the pixels aren't decoded.

    Args:
        path: the file.

    Raises:
        DataError: the file doesn't exist or isn't a picture.
        MissingExtraError: the library `pillow` is not installed.
    """
    return _opened(path, _size)


def read_picture(
    path: str | Path, *, channels: str = "rgb", size: tuple[int, int] | None = None
) -> Float[Tensor, "height width channel"]:
    """Read the picture in a file, from 0 (black) to 1: PNG, JPEG, GIF, WebP, TIFF, BMP and all other formats of Pillow.

    The orientation (EXIF) is applied, transparent pixels are put on white, and of an animation the first picture is
    read. Grey pictures of 16 bits keep their precision; colours are read with 8 bits.

    Args:
        path: the file.
        channels: "rgb", or "grey" for the luminance (ITU-R BT.601: 0.299 R + 0.587 G + 0.114 B).
        size: the (height, width) that the picture will be resized to. A large JPEG is then decoded at a half, a quarter
            or an eighth of its size, at least twice this size, which takes a fraction of the time and memory.

    Raises:
        DataError: the file doesn't exist, isn't a picture, is broken, or exceeds Pillow's limit of pixels.
        MissingExtraError: the library `pillow` is not installed.
        UnknownNameError: unknown channels.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile(suffix=".pgm") as file:
        ...     _ = file.write(b"P2 3 1 255 0 51 255")
        ...     file.flush()
        ...     read_picture(file.name, channels="grey")[..., 0]
        tensor([[0.0000, 0.2000, 1.0000]])
    """
    if channels not in CHANNELS:
        raise UnknownNameError("channels", channels, CHANNELS)
    return torch.from_numpy(_opened(path, lambda image: _levels(image, channels, size)))


def _opened(path: str | Path, read: Callable[[Any], _Read]) -> _Read:
    """Open the picture in a file and read from it.

    Raises:
        DataError: the file doesn't exist, isn't a picture, is broken, or exceeds Pillow's limit of pixels.
    """
    pillow = require("PIL.Image", extra="image")
    try:
        with warnings.catch_warnings(), open_regular(path) as file:
            # Pillow only warns of pictures up to twice its limit of pixels.
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            if not file.read(1):
                raise ValueError("it is empty")
            file.seek(0)
            with pillow.open(file) as image:
                return read(image)
    except pillow.UnidentifiedImageError as error:
        if (other := why_unreadable(path, "picture", "PNG or JPEG")) is not None:
            raise DataError(other, path=path) from error
        raise DataError("its format is not known. Save it as PNG or JPEG.", path=path) from error
    # Decoders raise all kinds of errors for broken files.
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:
            step = " Name the files in it." if Path(path).is_dir() else ""
            raise DataError(f"it can't be opened ({error.strerror}).{step}", path=path) from error
        why = (str(error) or type(error).__name__).rstrip(".")
        raise DataError(f"it can't be read as a picture ({why}). Save it again as PNG or JPEG.", path=path) from error


def _size(image: Any) -> tuple[int, int]:
    # Orientations from 5 on are rotated by 90 degrees.
    turned = image.getexif().get(_ORIENTATION, 1) >= 5
    return (image.width, image.height) if turned else (image.height, image.width)


def _levels(image: Any, channels: str, size: tuple[int, int] | None) -> np.ndarray:
    """The pixels of a Pillow image, (height, width, channel)."""
    if size is not None:
        # For JPEG, Pillow takes the smallest scale whose sides (before rotation) are at least these.
        side = 2 * max(size)
        image.draft(None, (side, side))
    pillow = require("PIL.Image", extra="image")
    image = require("PIL.ImageOps", extra="image").exif_transpose(image)
    if image.mode == "F":
        raise ValueError("its pixels are floats, and nothing says which is white")
    if image.mode.startswith("I"):
        # Pillow would clip 16 bits at 255.
        grey = np.array(image, dtype=np.int64)
        if grey.min() < 0 or grey.max() > 65535:
            raise ValueError("its pixels are numbers of 32 bits, and nothing says which is white")
        grey[grey == image.info.get("transparency")] = 65535
        return (grey / 65535).astype(np.float32)[..., None].repeat(CHANNELS[channels], axis=2)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = pillow.alpha_composite(pillow.new("RGBA", image.size, "white"), image)
    pixels = np.asarray(image.convert({"grey": "L", "rgb": "RGB"}[channels]), dtype=np.float32)
    return pixels.reshape(image.height, image.width, CHANNELS[channels]) / 255
