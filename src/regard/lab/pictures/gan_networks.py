"""A small class-conditional generator of 28 x 28 digits, and its discriminator, as in SAGAN."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import spectral_norm

from regard.attention.validation import check_count
from regard.errors import UnknownNameError
from regard.modules import SelfAttention2d

__all__ = ["BLOCKS", "BottleneckBlock", "ConditionalBatchNorm", "DigitDiscriminator", "DigitGenerator"]

CLASSES, NOISE = 10, 64
_SIDE = 7


class BottleneckBlock(nn.Module):
    """A residual block in place of `SelfAttention2d`, of about the same number of parameters: x + gamma f(x).

    f is a bottleneck of convolutions, 1 x 1 to 5 / 18 of the channels, 3 x 3, and 1 x 1 back: 2 C m + 9 m^2 parameters
    with m = 5 C / 18, which is 5 C^2 / 4, as the attention has. `gamma` starts at 0, as there.

    Source: He et al. 2016 (arXiv 1512.03385), figure 5; Zhang et al. 2019 (arXiv 1805.08318), section 5.2 and table 1,
        compare attention with residual blocks of as many parameters.

    Example:
        >>> for block in (BottleneckBlock, SelfAttention2d):
        ...     [sum(each.numel() for each in block(channels).parameters()) for channels in (72, 32)]
        [6481, 1306]
        [6481, 1281]
    """

    def __init__(self, channels: int):
        super().__init__()
        middle = max(round(5 * channels / 18), 1)
        self.layers = nn.Sequential(
            nn.Conv2d(channels, middle, 1, bias=False),
            nn.ReLU(),
            nn.Conv2d(middle, middle, 3, padding=1, bias=False),
            nn.ReLU(),
            nn.Conv2d(middle, channels, 1, bias=False),
        )
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, picture: Tensor) -> Tensor:
        return picture + self.gamma * self.layers(picture)


BLOCKS: Mapping[str, Callable[[int], nn.Module]] = {
    "attention": SelfAttention2d,
    "residual": BottleneckBlock,
    "none": lambda channels: nn.Identity(),
}
"""What stands in both networks where the feature map is 14 x 14, by name: a function of the number of channels."""


class ConditionalBatchNorm(nn.Module):
    """Batch normalisation of a feature map whose scale and shift depend on the class."""

    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels, affine=False)
        self.scale, self.shift = nn.Embedding(CLASSES, channels), nn.Embedding(CLASSES, channels)
        nn.init.ones_(self.scale.weight)
        nn.init.zeros_(self.shift.weight)

    def forward(self, picture: Tensor, digits: Tensor) -> Tensor:
        scale, shift = (table(digits)[:, :, None, None] for table in (self.scale, self.shift))
        return scale * self.norm(picture) + shift


class DigitGenerator(nn.Module):
    """Noise (batch, 64) and digits (batch,) to pictures (batch, 1, 28, 28) from -1, black, to 1.

    The digit chooses the scales and shifts of the normalisation, as in SAGAN; its one-hot vector is also an input of
    the first layer, beside the noise, which SAGAN doesn't have.

    Args:
        width: the number of channels at 14 x 14; there are twice as many at 7 x 7, and half as many at 28 x 28.
        block: a name in `BLOCKS`.

    Raises:
        ArgumentError: `width` isn't an integer of at least 2.
        UnknownNameError: there is no such block.
    """

    def __init__(self, width: int, block: str):
        super().__init__()
        check_count("width", width, "the number of channels at 14 x 14", 2)
        self.start = nn.Linear(NOISE + CLASSES, 2 * width * _SIDE**2)
        self.norms = nn.ModuleList(ConditionalBatchNorm(channels) for channels in (2 * width, width, width // 2))
        self.convolutions = nn.ModuleList(
            [
                nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1),
                nn.ConvTranspose2d(width, width // 2, 4, stride=2, padding=1),
                nn.Conv2d(width // 2, 1, 3, padding=1),
            ]
        )
        self.block = _block(block, width)
        _normalise(self)

    def forward(self, noise: Tensor, digits: Tensor) -> Tensor:
        given = torch.cat([noise, functional.one_hot(digits, CLASSES).to(noise)], dim=1)
        picture = self.start(given).unflatten(1, (-1, _SIDE, _SIDE))
        for stage, (norm, convolution) in enumerate(zip(self.norms, self.convolutions, strict=True)):
            if stage == 1:
                picture = self.block(picture)
            picture = convolution(functional.relu(norm(picture, digits)))
        return picture.tanh()


class DigitDiscriminator(nn.Module):
    """A score (batch,) for pictures (batch, 1, 28, 28) of digits (batch,): high for what it takes for real.

    The score is w . f + b + e_digit . f, where f is the sum of the last feature map over its positions.

    Args:
        width: the number of channels at 14 x 14; there are twice as many at 7 x 7, and four times as many at 4 x 4.
        block: a name in `BLOCKS`.

    Raises:
        UnknownNameError: there is no such block.

    Source: Miyato, Koyama 2018 (arXiv 1802.05637), equation 3: a projection discriminator.
    """

    def __init__(self, width: int, block: str):
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv2d(before, after, 4 if stage < 2 else 3, stride=2, padding=1)
            for stage, (before, after) in enumerate(((1, width), (width, 2 * width), (2 * width, 4 * width)))
        )
        self.block = _block(block, width)
        self.score = nn.Linear(4 * width, 1)
        self.digit = nn.Embedding(CLASSES, 4 * width)
        _normalise(self)

    def forward(self, picture: Tensor, digits: Tensor) -> Tensor:
        for stage, convolution in enumerate(self.convolutions):
            picture = functional.leaky_relu(convolution(picture), 0.1)
            if stage == 0:
                picture = self.block(picture)
        pooled = picture.sum((2, 3))
        return self.score(pooled).squeeze(1) + (self.digit(digits) * pooled).sum(1)


def _block(name: str, channels: int) -> nn.Module:
    if name not in BLOCKS:
        raise UnknownNameError("block", name, BLOCKS)
    return BLOCKS[name](channels)


def _normalise(network: nn.Module) -> None:
    """Divide each matrix of a network by its largest singular value, but the scales of its conditional norms."""
    norms = {
        table for module in network.modules() if isinstance(module, ConditionalBatchNorm) for table in module.modules()
    }
    for module in list(network.modules()):
        if isinstance(module, nn.Conv2d | nn.ConvTranspose2d | nn.Linear | nn.Embedding) and module not in norms:
            spectral_norm(module)
