"""Pictures: pixels or patches, each with its place."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inputs import CHANNELS, PictureVectors, picture_size, read_picture
from regard.page.numbers import counted
from regard.tasks.examples import spread
from regard.tasks.out_of_distribution import Statistic
from regard.tasks.settings import boolean, fraction, integer, one_of, real
from regard.tasks.sources.picture_embedding import PictureAugmentation, PictureEmbedding
from regard.tasks.sources.source import Source
from regard.tasks.sources.vectors import VectorEmbedding

__all__ = ["Pictures"]

_SIZES = 64
"""The sizes of this many pictures, evenly spread, are read before training."""
_MANY = 1024
"""More patches than this make training slow."""


@dataclass(frozen=True)
class Pictures(Source):
    """Sources that are pictures: the paths of picture files, or arrays (height, width) or (height, width, channel).

    A patch's vector is followed by waves over its row and its column, so that a net knows where it stands, in a picture
    of any size.

    Args:
        patch: the side of a patch in pixels; 1 for pixels.
        height, width: what every picture is scaled to first; 0 for both takes pictures as they are.
        channels: a name in `inputs.CHANNELS`.
        waves: how many lengths of waves over the rows, and as many over the columns; 0 for a set without places.
        patch_dropout: how often a patch is left blank during training.
        shift: in training each picture is shifted by up to so many pixels, in both directions; only for pictures of one
            size, which `height` and `width` say.
        zoom: in training each picture is made wider or narrower, and higher or lower, by up to so large a share.
        turn: in training each picture is turned by up to so many degrees, to either side.
        invert: how often, in training, light becomes dark and dark light; only for pictures that are normalised.
        stem: how many channels a few convolutions make of each patch, in place of its pixels; only for pictures of one
            size, too. 0: no convolutions. They learn from fewer pictures.
        normalise: whether each picture is shifted and scaled to mean 0 and variance 1, so that brightness and contrast
            play no part.

    Raises:
        ArgumentError: a value of the wrong type or outside its range, or a shift or a stem without a size.

    Source: waves over places: Vaswani et al. 2017 (arXiv 1706.03762), section 3.5, for each of the two directions; the
        stem: Xiao et al. 2021 (arXiv 2106.14881), section 4.
    """

    kind: ClassVar[str] = "pictures"
    noun: ClassVar[str] = "patch"
    called: ClassVar[str] = "picture"
    given: ClassVar[str] = "file"
    shorten: ClassVar[str] = "Scale it down first, or train a model whose input has a `height` and a `width`."

    patch: int = integer(4, 1, 1024)
    height: int = integer(0, 0, 8192)
    width: int = integer(0, 0, 8192)
    channels: str = one_of("grey", *CHANNELS)
    waves: int = integer(6, 0, 64)
    patch_dropout: float = fraction(0.0)
    shift: int = integer(0, 0, 64)
    zoom: float = fraction(0.0)
    turn: float = real(0.0, 0.0, 180.0)
    invert: float = fraction(0.0)
    stem: int = integer(0, 0, 4096)
    normalise: bool = boolean(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        # What can't be together is refused here.
        self._vectors()
        for name in ("shift", "zoom", "turn", "invert", "stem"):
            if getattr(self, name) and not self.height:
                raise ArgumentError(f"`{name}` must be 0 without `height` and `width`, but is {getattr(self, name)}.")

    def fit(self, sources: Iterable[Any]) -> PictureVectors:
        return self._vectors()

    def encoder(self, saved: Any) -> PictureVectors:
        return PictureVectors.from_json(saved)

    def item(self, encoder: PictureVectors, source: Any) -> Float[Tensor, "item width"]:
        picture = self._picture(source)
        # Around 0, as what is learned from has to be.
        levels = 2 * encoder.vectors(picture) - 1
        if self.normalise and len(levels):
            # A picture of one colour has no spread.
            levels = (levels - levels.mean()) / levels.std(correction=0).clamp(min=1e-2)
        if not self.waves:
            return levels
        rows, columns = encoder.grid(picture) if len(levels) else (0, 0)
        place = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).float().reshape(-1, 2, 1)
        # From two patches to ever longer waves, each half as long again as the one before.
        turns = place * (math.pi * 1.5 ** -torch.arange(self.waves))
        return torch.cat([levels, turns.sin().flatten(1), turns.cos().flatten(1)], dim=1)

    def preparation(self, sources: Sequence[Any]) -> str | None:
        height, width = map(max, zip(*map(_size, spread(sources, _SIZES)), strict=True))
        if self.height:
            patches = -(-self.height // self.patch) * -(-self.width // self.patch)
            if (height, width) == (self.height, self.width):
                return None
            return (
                f"Pictures (up to {height:,} x {width:,} pixels) are scaled to {self.height} x {self.width}: "
                f"{counted(patches, 'patch')} each."
            )
        patches = -(-height // self.patch) * -(-width // self.patch)
        if patches <= _MANY:
            return None
        return (
            f"Pictures (up to {height:,} x {width:,} pixels) are not scaled: {counted(patches, 'patch')} each. "
            "Training will take very long. Set `height` and `width` of the recipe's input to scale them, or a larger "
            "`patch`."
        )

    def ood_statistics(self, encoder: PictureVectors, source: Any) -> tuple[Statistic, ...]:
        levels = encoder.vectors(self._picture(source))
        if not len(levels):
            return ()
        mean, spread = float(levels.mean()), float(levels.std(correction=0))
        return (
            Statistic(
                "flatness", -math.log(spread + 1e-3), 1, f"its pixels differ by only {100 * spread:.0f}% on average"
            ),
            Statistic("lightness", mean, 1, f"its mean lightness is {100 * mean:.0f}%"),
            Statistic("darkness", -mean, 1, f"its mean lightness is {100 * mean:.0f}%"),
        )

    def embedding(self, encoder: PictureVectors, width: int) -> nn.Module:
        size, side = encoder.width + 4 * self.waves, self.patch
        augmentation = PictureAugmentation(self.shift, self.zoom, self.turn, self.invert)
        if augmentation == PictureAugmentation() and not self.stem:
            return VectorEmbedding(size, width, item_dropout=self.patch_dropout)
        grid = (-(-self.height // side), -(-self.width // side))
        return PictureEmbedding(
            size,
            width,
            item_dropout=self.patch_dropout,
            shape=(*grid, side, side, CHANNELS[self.channels]),
            augmentation=augmentation,
            stem=self.stem,
        )

    def names(self, encoder: PictureVectors, source: Any) -> list[str]:
        rows, columns = self.grid(encoder, source)
        return [f"{row},{column}" for row in range(1, rows + 1) for column in range(1, columns + 1)]

    def grid(self, encoder: PictureVectors, source: Any) -> tuple[int, int]:
        return encoder.grid(self._picture(source))

    def _picture(self, source: Any) -> Any:
        if not isinstance(source, str | Path):
            return source
        return read_picture(source, channels=self.channels, size=(self.height, self.width) if self.height else None)

    def _vectors(self) -> PictureVectors:
        size = (self.height, self.width) if self.height or self.width else None
        return PictureVectors(patch=self.patch, size=size, channels=self.channels)


def _size(source: Any) -> tuple[int, int]:
    return picture_size(source) if isinstance(source, str | Path) else tuple(source.shape[:2])
