"""The training of a generator of digits and a discriminator against each other, by the hinge loss."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int64, UInt8
from torch import Tensor
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from regard.attention.validation import check_count
from regard.errors import ArgumentError, DivergedError
from regard.lab.pictures.gan_networks import CLASSES, NOISE, DigitDiscriminator, DigitGenerator
from regard.progress import progress_over
from regard.tasks.training.compute import choose_accelerator

__all__ = ["GeneratorTraining", "discriminator_loss", "generator_loss", "train_generator"]

_BETAS = (0.0, 0.9)


def discriminator_loss(real: Float[Tensor, " batch"], generated: Float[Tensor, " batch"]) -> Float[Tensor, ""]:
    """The hinge loss of scores: the mean of max(0, 1 - real) plus the mean of max(0, 1 + generated).

    Source: Zhang et al. 2019 (arXiv 1805.08318), equation 4.

    Example:
        >>> discriminator_loss(torch.tensor([2.0, 0.0]), torch.tensor([-2.0, 1.0]))
        tensor(1.5000)
    """
    return functional.relu(1 - real).mean() + functional.relu(1 + generated).mean()


def generator_loss(generated: Float[Tensor, " batch"]) -> Float[Tensor, ""]:
    """The mean score of generated pictures, negated.

    Source: Zhang et al. 2019 (arXiv 1805.08318), equation 4.
    """
    return -generated.mean()


@dataclass(frozen=True)
class GeneratorTraining:
    """The networks of a training, and its settings.

    Args:
        block: the block that both networks have at 14 x 14, a name in `BLOCKS`.
        width: the number of channels at 14 x 14.
        steps: the number of updates.
        batch: the number of real digits in a step.
        rates: the learning rates of the generator and of the discriminator.
        average: the decay, from 0 to 1, of the exponential moving average of the generator's weights. The mean and
            variance of its batch normalisation aren't averaged: they are those of the last generator.

    Raises:
        ArgumentError: `steps`, `batch`, `rates` or `average` isn't possible.
    """

    block: str
    width: int
    steps: int
    batch: int
    rates: Sequence[float]
    average: float

    def __post_init__(self) -> None:
        check_count("steps", self.steps, "the number of updates", 0)
        check_count("batch", self.batch, "the number of real digits in a step")
        if len(self.rates) != 2 or not all(rate >= 0 for rate in self.rates):
            raise ArgumentError(
                f"`rates` must be the learning rates of the generator and the discriminator, but are {self.rates}."
            )
        if not 0 <= self.average <= 1:
            raise ArgumentError(f"`average` must be a decay from 0 to 1, but is {self.average}.")


def train_generator(
    pictures: UInt8[Tensor, "example 28 28"],
    digits: Int64[Tensor, " example"],
    seed: int,
    *,
    device: str = "auto",
    progress: str = "none",
    **settings: Any,
) -> DigitGenerator:
    """Train a generator of digits.

    Each step updates the discriminator by a batch of real and one of generated digits, and the generator by the scores
    that the updated discriminator gives to the same generated digits. Adam has betas of 0.0 and 0.9.

    Args:
        pictures: pictures of real digits, with values from 0 (black) to 255.
        digits: the digit in each picture.
        seed: the seed of the weights, the noise and the batches.
        device: as in `regard.train`: "cpu", "gpu", or "auto": a GPU if there is one.
        progress: as in `regard.train`: "bar", "lines", "none", or "auto": a bar on a terminal, else lines.
        settings: the fields of `GeneratorTraining`.

    Returns:
        the generator with the averaged weights, on that device, in evaluation mode.

    Raises:
        ArgumentError: there are no pictures, or not one digit from 0 to 9 for each; or `width`, `steps`, `batch`,
            `rates` or `average` isn't possible.
        UnknownNameError: there is no such block or progress.
        DivergedError: a loss isn't finite.

    Source: Zhang et al. 2019 (arXiv 1805.08318): the losses, section 3; spectral normalisation in both networks and
        two learning rates, section 4; Yazıcı et al. 2019 (arXiv 1806.04498): the average.
    """
    _check(pictures, digits)
    training, device = GeneratorTraining(**settings), choose_accelerator(device)
    pictures, digits = pictures.to(device), digits.to(device)
    torch.manual_seed(seed)
    generator = DigitGenerator(training.width, training.block).to(device)
    discriminator = DigitDiscriminator(training.width, training.block).to(device)
    averaged = AveragedModel(generator, multi_avg_fn=get_ema_multi_avg_fn(training.average))
    generator_optimiser, discriminator_optimiser = (
        torch.optim.Adam(network.parameters(), lr=rate, betas=_BETAS)
        for network, rate in zip((generator, discriminator), training.rates, strict=True)
    )
    with progress_over(range(training.steps), training.steps, progress) as steps:
        for _ in steps:
            # Drawn on the CPU, so that all devices draw the same.
            chosen = torch.randint(len(digits), (training.batch,)).to(device)
            noise = torch.randn(training.batch, NOISE).to(device)
            drawn_digits = torch.randint(CLASSES, (training.batch,)).to(device)
            real, generated = pictures[chosen].unsqueeze(1) / 127.5 - 1, generator(noise, drawn_digits)
            scores = discriminator(torch.cat([real, generated.detach()]), torch.cat([digits[chosen], drawn_digits]))
            loss_of_discriminator = discriminator_loss(*scores.chunk(2))
            discriminator_optimiser.zero_grad()
            loss_of_discriminator.backward()
            discriminator_optimiser.step()
            loss_of_generator = generator_loss(discriminator(generated, drawn_digits))
            generator_optimiser.zero_grad()
            loss_of_generator.backward()
            generator_optimiser.step()
            averaged.update_parameters(generator)
            if not (loss_of_discriminator + loss_of_generator).isfinite():
                raise DivergedError("a loss isn't finite", "Try smaller `rates`.")
    generator.load_state_dict(averaged.module.state_dict())
    return generator.eval()


def _check(pictures: Tensor, digits: Tensor) -> None:
    if not len(pictures):
        raise ArgumentError("`pictures` must hold at least one picture, but holds none.")
    if len(digits) != len(pictures):
        raise ArgumentError(f"`digits` must be one for each of {len(pictures)} pictures, but are {len(digits)}.")
    if not 0 <= digits.min() <= digits.max() < CLASSES:
        raise ArgumentError(f"`digits` must be from 0 to 9, but are from {int(digits.min())} to {int(digits.max())}.")
