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
from regard.tasks.judging.out_of_distribution import Statistic, percent
from regard.tasks.settings import boolean, fraction, integer, one_of, real
from regard.tasks.sources.source import Source
from regard.tasks.sources.vectors import VectorEmbedding

if TYPE_CHECKING:
    from regard.inspection import DrawnPicture
    from regard.tasks.baselines import SimpleFeatures

__all__ = ["PictureAugmentation", "PictureEmbedding", "Pictures", "convolutions"]

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
    given: ClassVar[str] = "the path of a picture, or an array"
    vectors: ClassVar[str] = "pixels or patches, with sines of row and column"
    argument: ClassVar[str] = "file"
    shorten: ClassVar[str] = "Scale it down first, or train a model whose input has a `height` and a `width`."
    example: ClassVar[str] = '"picture.png"'
    limits: ClassVar[str] = "It knows pictures like those of its data: as large, as well centred, as light or as dark."
    encoding: ClassVar[str] = (
        "A picture has the height and width of the encoder; its pixels, from -1 to 1, are cut into patches row by row, "
        "and the waves of the place of each patch follow."
    )
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
        fitted = {
            "height": height,
            "width": width,
            "patch": 8 if max(height, width) > 32 else 4,
            "shift": max(height, width) // 8,
            "channels": "rgb" if coloured else "grey",
        }
        return {"input": fitted}

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
        light, lights = f"its mean lightness is {100 * mean:.0f}%", "their mean lightness is {}"
        return (
            Statistic(
                "flatness",
                -math.log(spread + 1e-3),
                1,
                f"its pixels differ by only {100 * spread:.0f}% on average",
                of_set="their pixels differ by only {} on average",
                shown=lambda rate: percent(math.exp(-rate)),
            ),
            Statistic("lightness", mean, 1, light, of_set=lights),
            Statistic("darkness", -mean, 1, light, of_set=lights, shown=lambda rate: percent(-rate)),
        )

    def random_items(self, encoder: PictureVectors, lengths: Sequence[int]) -> list[Float[Tensor, "item width"]]:
        draws = torch.Generator().manual_seed(0)
        channels = CHANNELS[self.channels]
        sizes = [(self.height, self.width) if self.height else (self.patch, self.patch * each) for each in lengths]
        return [self.item(encoder, torch.rand(*size, channels, generator=draws)) for size in sizes]

    def encoder_file(self, encoder: PictureVectors) -> str:
        return "pictures"

    def numpy_example(self, encoder: PictureVectors) -> str:
        height, width = (self.height, self.width) if self.height else (self.patch, 2 * self.patch)
        return f"np.zeros(({height}, {width}, {CHANNELS[self.channels]}), np.uint8)"

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


@dataclass(frozen=True)
class PictureAugmentation:
    """The random changes to a picture in training that leave its label as it is.

    Args:
        shift: the largest shift in pixels, in each direction.
        zoom: the largest relative change of the width, and of the height.
        turn: the largest rotation in degrees, to either side.
        invert: the probability that the levels change their sign.
    """

    shift: int = 0
    zoom: float = 0.0
    turn: float = 0.0
    invert: float = 0.0


class PictureEmbedding(VectorEmbedding):
    """A linear map of patches, after augmentation of the pictures and optional convolutions.

    Args:
        size, width, item_dropout: as in `VectorEmbedding`. A vector holds the pixels of a patch, then its position,
            which isn't augmented.
        shape: the rows and columns of patches, the rows and columns of pixels in a patch, and the channels.
        augmentation: how the pictures are augmented in training.
        stem: the number of channels that convolutions make of a patch; 0: the pixels are mapped directly.
    """

    def __init__(
        self,
        size: int,
        width: int,
        *,
        item_dropout: float,
        shape: tuple[int, int, int, int, int],
        augmentation: PictureAugmentation,
        stem: int = 0,
    ):
        _, _, high, wide, channels = shape
        places = size - high * wide * channels
        super().__init__(places + stem if stem else size, width, item_dropout=item_dropout)
        self.shape, self.augmentation = shape, augmentation
        self.stem = convolutions(channels, stem, high) if stem else None

    def forward(self, vectors: Float[Tensor, "batch length size"]) -> Float[Tensor, "batch length width"]:
        if self.stem is None:
            return super().forward(vectors)
        levels, places = self.split(vectors)
        pictures = self.pictures(levels)
        if self.training:
            pictures = self.changed(pictures)
        # (b c rows columns) -> (b (rows columns) c)
        found = self.stem(pictures).flatten(2).transpose(1, 2)
        vectors = torch.cat([found, places], dim=2)
        return self.linear(super().blanked(vectors) if self.training else vectors)

    def split(self, vectors: Float[Tensor, "batch length size"]) -> tuple[Tensor, Tensor]:
        """The pixels, and the positions."""
        _, _, high, wide, channels = self.shape
        pixels = high * wide * channels
        return vectors[..., :pixels], vectors[..., pixels:]

    def pictures(self, levels: Float[Tensor, "batch length pixel"]) -> Float[Tensor, "batch channel height width"]:
        """Join patches to pictures."""
        rows, columns, high, wide, channels = self.shape
        # (b (rows columns) (high wide c)) -> (b c (rows high) (columns wide))
        split = levels.reshape(levels.shape[0], rows, columns, high, wide, channels)
        return split.permute(0, 5, 1, 3, 2, 4).reshape(levels.shape[0], channels, rows * high, columns * wide)

    def changed(
        self, pictures: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Augment each picture at random; pixels from outside repeat the edge."""
        batch, device = len(pictures), pictures.device
        most = self.augmentation.shift
        if self.augmentation.zoom or self.augmentation.turn:
            pictures = self._warped(pictures)
        elif most:
            padded = nn.functional.pad(pictures, (most, most, most, most), mode="replicate")
            down, across = (
                torch.randint(2 * most + 1, (batch, 1), device=device) + torch.arange(count, device=device)
                for count in pictures.shape[2:]
            )
            each = torch.arange(batch, device=device)[:, None, None]
            # (b h w c) -> (b c h w)
            pictures = padded[each, :, down[:, :, None], across[:, None, :]].permute(0, 3, 1, 2)
        if self.augmentation.invert:
            signs = 1 - 2 * (torch.rand(batch, 1, 1, 1, device=device) < self.augmentation.invert).to(pictures)
            pictures = pictures * signs
        return pictures

    def _warped(
        self, pictures: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Shift, zoom and rotate in one step."""
        height, width = pictures.shape[2:]
        shift, zoom = self.augmentation.shift, self.augmentation.zoom
        drawn = 2 * torch.rand(5, len(pictures), device=pictures.device) - 1
        angle = drawn[0] * (self.augmentation.turn * math.pi / 180)
        high, wide = 1 + zoom * drawn[1], 1 + zoom * drawn[2]
        # Maps positions in the new picture to positions in the old one; coordinates run from -1 to 1.
        rows = torch.stack(
            [
                torch.stack([angle.cos() / wide, angle.sin() / wide * (height / width), 2 * shift / width * drawn[3]]),
                torch.stack(
                    [-angle.sin() / high * (width / height), angle.cos() / high, 2 * shift / height * drawn[4]]
                ),
            ]
        )
        grid = nn.functional.affine_grid(rows.permute(2, 0, 1), list(pictures.shape), align_corners=False)
        return nn.functional.grid_sample(pictures, grid, padding_mode="border", align_corners=False)

    def blanked(self, vectors: Float[Tensor, "batch length size"]) -> Float[Tensor, "batch length size"]:
        """The patches of the augmented pictures."""
        rows, columns, high, wide, channels = self.shape
        levels, places = self.split(vectors)
        changed = self.changed(self.pictures(levels))
        # (b c (rows high) (columns wide)) -> (b (rows columns) (high wide c))
        split = changed.reshape(len(vectors), channels, rows, high, columns, wide).permute(0, 2, 4, 3, 5, 1)
        return super().blanked(torch.cat([split.reshape(levels.shape), places], dim=2))


def convolutions(channels: int, made: int, patch: int) -> nn.Module:
    """Strided convolutions that map each patch to one vector.

    Args:
        channels: the channels of the picture.
        made: the channels of the result.
        patch: the side of a patch in pixels.

    Example:
        >>> convolutions(3, 64, patch=4)(torch.zeros(1, 3, 32, 32)).shape
        torch.Size([1, 64, 8, 8])

    Source: Xiao et al. 2021 (arXiv 2106.14881), section 4.
    """
    steps = []
    while patch > 1:
        # Each step halves the size; an odd rest is done in one step.
        steps.append(2 if patch % 2 == 0 else patch)
        patch //= steps[-1]
    widths = [channels, *(made // 2 or 1 for _ in steps[:1]), *(made for _ in steps)]
    layers: list[nn.Module] = []
    for step, have, width in zip(steps, widths, widths[1:], strict=False):
        layers.append(nn.Conv2d(have, width, step + (step == 2), stride=step, padding=int(step == 2)))
        # Without normalisation, pictures that vary in much besides their class aren't learned at all.
        layers += [nn.GroupNorm(1, width), nn.GELU()]
    return nn.Sequential(*layers, nn.Conv2d(widths[len(steps)], made, 3, padding=1), nn.GELU())
