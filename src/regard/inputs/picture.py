"""Pictures, read from a file into numbers from 0 to 1."""

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

__all__ = ["CHANNELS", "picture_size", "read_picture"]

_ORIENTATION = 0x0112  # the EXIF tag
_Read = TypeVar("_Read")

CHANNELS = {"grey": 1, "rgb": 3}
"""What a pixel is made of, and how many numbers that is."""


def picture_size(path: str | Path) -> tuple[int, int]:
    """The height and the width in pixels of the picture in a file, as it is shown; its pixels aren't decoded.

    Args:
        path: the file.

    Raises:
        DataError: the file isn't there or is no picture.
        MissingExtraError: the library `pillow` is not installed.
    """
    return _opened(path, _size)


def read_picture(
    path: str | Path, *, channels: str = "rgb", size: tuple[int, int] | None = None
) -> Float[Tensor, "height width channel"]:
    """The picture in a file: PNG, JPEG, GIF, WebP, TIFF, BMP and whatever else Pillow reads, from 0 (black) to 1.

    The way a camera was held (EXIF) is obeyed, what is transparent lies on white, and of an animation the first
    picture is taken. Grey of 16 bits is kept as fine as it is; colours are read with 8 bits.

    Args:
        path: the file.
        channels: "rgb", or "grey" for how bright a pixel is (ITU-R BT.601: 0.299 R + 0.587 G + 0.114 B).
        size: (height, width) that it will be scaled to. A large JPEG is then decoded at a half, a quarter or an eighth
            of its size, at least twice this, which takes a fraction of the time and the memory.

    Raises:
        DataError: the file isn't there, is no picture, is broken, or has more pixels than Pillow takes for sane.
        MissingExtraError: the library `pillow` is not installed.
        UnknownNameError: other channels.

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
    """What is read of the picture in a file.

    Raises:
        DataError: it isn't there, is no picture, is broken, or has more pixels than Pillow takes for sane.
    """
    pillow = require("PIL.Image", extra="image")
    try:
        with warnings.catch_warnings(), Path(path).open("rb") as file:
            # Pillow only warns of a picture of up to twice as many pixels as it allows.
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            if not file.read(1):
                raise ValueError("it is empty")
            file.seek(0)
            with pillow.open(file) as image:
                return read(image)
    except pillow.UnidentifiedImageError as error:
        raise DataError("its format is not known as one of a picture. Save it as PNG or JPEG.", path=path) from error
    # Decoders raise all kinds of errors at a broken file.
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:
            step = " Name the files in it." if Path(path).is_dir() else ""
            raise DataError(f"it can't be opened ({error.strerror}).{step}", path=path) from error
        why = (str(error) or type(error).__name__).rstrip(".")
        raise DataError(f"it can't be read as a picture ({why}). Save it again as PNG or JPEG.", path=path) from error


def _size(image: Any) -> tuple[int, int]:
    # From 5 on, a camera was held on its side.
    turned = image.getexif().get(_ORIENTATION, 1) >= 5
    return (image.width, image.height) if turned else (image.height, image.width)


def _levels(image: Any, channels: str, size: tuple[int, int] | None) -> np.ndarray:
    """The pixels of an image of Pillow's, (height, width, channel)."""
    if size is not None:
        # Pillow takes the smallest scale whose sides are at least these, before a camera's turn; of other formats none.
        side = 2 * max(size)
        image.draft(None, (side, side))
    pillow = require("PIL.Image", extra="image")
    image = require("PIL.ImageOps", extra="image").exif_transpose(image)
    if image.mode == "F":
        raise ValueError("its pixels are floats, and nothing says which is white")
    if image.mode.startswith("I"):
        # Pillow would cut 16 bits off at 255.
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
