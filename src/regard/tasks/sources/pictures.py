"""Pictures: pixels or patches, each with its position."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.datasets import PICTURES, SOUNDS
from regard.errors import ArgumentError
from regard.inputs import CHANNELS, PictureVectors, picture_size, read_picture
from regard.page.numbers import counted
from regard.tasks.examples import spread
from regard.tasks.judging.out_of_distribution import Statistic
from regard.tasks.settings import boolean, fraction, integer, one_of, real
from regard.tasks.sources.picture_embedding import PictureAugmentation, PictureEmbedding
from regard.tasks.sources.source import Source
from regard.tasks.sources.vectors import VectorEmbedding

if TYPE_CHECKING:
    from regard.inspection import DrawnPicture
    from regard.tasks.baselines import SimpleFeatures

__all__ = ["Pictures"]

_SIZES = 64
"""The number of pictures, evenly spread, whose sizes are read before training."""
_MANY = 1024
"""More patches than this make training slow."""
_FITTED = 16
"""The number of pictures, evenly spread, from which a default recipe follows."""
_LONGEST_SIDE = 64
"""The longer side of a picture in a default recipe, in pixels."""
_COLOURED = 0.01
"""The mean spread of the channels, from 0 to 1, above which a picture has colours."""


@dataclass(frozen=True)
class Pictures(Source):
    """Sources that are pictures: the paths of picture files, or arrays (height, width) or (height, width, channel).

    Sines and cosines of its row and column are appended to the pixels of a patch, so that the network knows its
    position in a picture of any size.

    Args:
        patch: the side of a patch in pixels; 1 for pixels.
        height, width: the size to which every picture is scaled; 0 for both: no scaling.
        channels: a name in `inputs.CHANNELS`.
        waves: the number of wavelengths for the rows, and for the columns; 0: no positions.
        patch_dropout: the probability that a patch is replaced by zeros in training.
        shift: augmentation: the largest shift in pixels, in each direction; needs `height` and `width`.
        zoom: augmentation: the largest relative change of the width, and of the height; needs `height` and `width`.
        turn: augmentation: the largest rotation in degrees, to either side; needs `height` and `width`.
        invert: augmentation: the probability that light and dark are swapped; needs `height`, `width` and
            `normalise`.
        stem: the number of channels that a few convolutions make of each patch; needs `height` and `width`. They learn
            from fewer pictures. 0: no convolutions.
        normalise: whether each picture is normalised to mean 0 and variance 1, so that brightness and contrast have no
            effect.

    Raises:
        ArgumentError: a value of the wrong type or outside its range, or augmentation or a stem without a size.

    Source: positions: Vaswani et al. 2017 (arXiv 1706.03762), section 3.5, for each of the two directions; the
        stem: Xiao et al. 2021 (arXiv 2106.14881), section 4.
    """

    kind: ClassVar[str] = "pictures"
    noun: ClassVar[str] = "patch"
    source_noun: ClassVar[str] = "picture"
    argument: ClassVar[str] = "file"
    shorten: ClassVar[str] = "Scale it down first, or train a model whose input has a `height` and a `width`."
    example: ClassVar[str] = '"picture.png"'
    limits: ClassVar[str] = "It knows pictures like those of its data: as large, as well centred, as light or as dark."
    modalities: ClassVar[Mapping[str, int]] = {"picture": 3}
    recognised_by: ClassVar[str] = "the endings of the file names"
    defaults: ClassVar[Mapping[str, Any]] = {
        # Augmentation that keeps the class: each picture is seen a hundred times, differently each time.
        "input": {"stem": 64, "normalise": True, "zoom": 0.25, "turn": 15, "invert": 0.5},
        "optimizer": "muon",
        "width": 96,
        "hidden": 192,
        "layers": 3,
        "position": "none",
        "attention_dropout": 0.0,
        "dropout": 0.1,
        "learning_rate": 2e-3,
    }

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
        # Invalid combinations are refused here.
        self._vectors()
        for name in ("shift", "zoom", "turn", "invert", "stem"):
            if getattr(self, name) and not self.height:
                raise ArgumentError(f"`{name}` must be 0 without `height` and `width`, but is {getattr(self, name)}.")

    @classmethod
    def suits(cls, source: Any) -> int:
        if isinstance(source, Path):
            # The library reads more file formats than those listed.
            ending = source.suffix.lower()
            return 3 if ending in PICTURES else 0 if ending in SOUNDS else 1
        if isinstance(source, Tensor | np.ndarray):
            # A two-dimensional array may be vectors (length, width) or a grey picture (height, width).
            return 3 if source.ndim == 3 else 1
        return 0

    @classmethod
    def fitted(cls, pairs: Sequence[tuple[Any, Any]]) -> Mapping[str, Any]:
        """Scale pictures to one size, small enough to train a few hundred in minutes; keep colours if they have any."""
        sources = [source for source, _ in spread(pairs, _FITTED)]
        pictures = [np.asarray(read_picture(each) if isinstance(each, str | Path) else each) for each in sources]
        for picture in pictures:
            if picture.ndim not in (2, 3):
                raise ArgumentError(
                    "a source must be a picture (height, width) or (height, width, channel), but is an array "
                    f"{picture.shape}."
                )
        sides = [max(picture.shape[axis] for picture in pictures) for axis in (0, 1)]
        alike = len({tuple(picture.shape[:2]) for picture in pictures}) == 1
        scale = min(1.0, _LONGEST_SIDE / max(sides))
        height, width = (max(4, round(scale * side)) for side in (sides if alike else [max(sides)] * 2))
        coloured = any(picture.ndim == 3 and np.ptp(picture, axis=-1).mean() > _COLOURED for picture in pictures)
        return {
            "height": height,
            "width": width,
            "patch": 8 if max(height, width) > 32 else 4,
            "shift": max(height, width) // 8,
            "channels": "rgb" if coloured else "grey",
        }

    def fit(self, sources: Iterable[Any]) -> PictureVectors:
        return self._vectors()

    def encoder(self, saved: Any) -> PictureVectors:
        return PictureVectors.from_json(saved)

    def item(self, encoder: PictureVectors, source: Any) -> Float[Tensor, "item width"]:
        picture = self._picture(source)
        # Centred around 0, which training needs.
        levels = 2 * encoder.vectors(picture) - 1
        if self.normalise and len(levels):
            # The levels of a picture of one colour have no spread.
            levels = (levels - levels.mean()) / levels.std(correction=0).clamp(min=1e-2)
        if not self.waves:
            return levels
        rows, columns = encoder.grid(picture) if len(levels) else (0, 0)
        place = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).float().reshape(-1, 2, 1)
        # The shortest wave spans two patches; each next one is 1.5 times as long.
        turns = place * (math.pi * 1.5 ** -torch.arange(self.waves))
        return torch.cat([levels, turns.sin().flatten(1), turns.cos().flatten(1)], dim=1)

    def simple_features(self, encoder: PictureVectors) -> "SimpleFeatures":
        from regard.tasks.baselines.features import Pixels

        return Pixels(self._picture, self.channels)

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

    def drawn(self, encoder: PictureVectors, source: Any) -> "DrawnPicture":
        from regard.inspection import DrawnPicture

        picture = self._picture(source)
        grid = encoder.grid(picture)
        return DrawnPicture.of_levels(encoder.to_picture(encoder.vectors(picture), grid), grid)

    def _picture(self, source: Any) -> Any:
        if not isinstance(source, str | Path):
            return source
        return read_picture(source, channels=self.channels, size=(self.height, self.width) if self.height else None)

    def _vectors(self) -> PictureVectors:
        size = (self.height, self.width) if self.height or self.width else None
        return PictureVectors(patch=self.patch, size=size, channels=self.channels)


def _size(source: Any) -> tuple[int, int]:
    return picture_size(source) if isinstance(source, str | Path) else tuple(source.shape[:2])
