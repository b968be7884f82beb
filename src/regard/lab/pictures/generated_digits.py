"""Digits of a generator: how good they are, by the bundled classifier of handwritten digits, and what it attends to."""

from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Float, Int64, UInt8
from torch import Tensor
from torch.nn import functional

from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.inspection import watch
from regard.lab.pictures.gan_networks import CLASSES, NOISE, DigitGenerator
from regard.lab.pictures.sample_quality import coverage, frechet_distance
from regard.modules import SelfAttention2d
from regard.page import Box, Page, Picture, Pictures, Prose
from regard.page.pictures.picture import MOST_PIXELS
from regard.tasks import load
from regard.tasks.targets import Label

__all__ = ["digit_quality", "digits_page", "generated_digits"]

_BATCH = 500
# So many digits of 28 pixels beside each other are a picture of the greatest width.
_MOST = MOST_PIXELS // 28


@torch.no_grad()
def generated_digits(
    generator: DigitGenerator, digits: Int64[Tensor, " picture"], seed: int
) -> UInt8[Tensor, "picture 28 28"]:
    """Pictures of these digits, from 0, black, to 255, on the CPU."""
    device = next(generator.parameters()).device
    noise = torch.randn(len(digits), NOISE, generator=torch.Generator().manual_seed(seed))
    pictures = [
        generator(some.to(device), wanted.to(device)).squeeze(1).cpu()
        for some, wanted in zip(noise.split(_BATCH), digits.split(_BATCH), strict=True)
    ]
    return ((torch.cat(pictures) + 1) * 127.5).round().to(torch.uint8)


def digit_quality(
    generator: DigitGenerator,
    pictures: UInt8[Tensor, "picture 28 28"],
    digits: Int64[Tensor, " picture"],
    seed: int,
) -> dict[str, float]:
    """Compare generated digits with as many real ones, between the vectors that the classifier pools of each picture.

    Args:
        generator: the generator.
        pictures: real pictures.
        digits: what they show; the generator is asked for the same digits.
        seed: of the noise.

    Returns:
        the Fréchet distance, the fraction of generated pictures that the classifier takes for the digit that was asked
        for, and the coverage.
    """
    real, _ = _pooled(pictures)
    vectors, predicted = _pooled(generated_digits(generator, digits, seed))
    return {
        "Fréchet distance": frechet_distance(real, vectors),
        "right digit": float((predicted == digits).double().mean()),
        "coverage": coverage(real, vectors),
    }


def digits_page(generator: DigitGenerator, seed: int, *, each: int = 9, watched: Sequence[int] = (0, 2, 8)) -> Page:
    """Show samples of each digit, and, if the generator has attention, what two positions of some of them attend to.

    The two positions are the first and the last one, from the top, at which the digit is white.

    Args:
        generator: the generator.
        seed: of the noise.
        each: the number of samples of each digit, from 1 to 9.
        watched: the digits whose first sample is shown with its attention.

    Raises:
        ArgumentError: `each` isn't from 1 to 9, or a number of `watched` isn't a digit.
    """
    check_count("each", each, f"the number of samples of each digit, at most {_MOST}")
    if each > _MOST:
        raise ArgumentError(f"`each` must be the number of samples of each digit, at most {_MOST}, but is {each}.")
    if wrong := [digit for digit in watched if digit not in range(CLASSES)]:
        raise ArgumentError(f"`watched` must be digits from 0 to 9, but one is {wrong[0]!r:.60}.")
    digits = torch.arange(CLASSES).repeat_interleave(each)
    pictures = generated_digits(generator, digits, seed).float() / 255
    # (digit sample) rows columns -> (digit rows) (sample columns)
    rows = pictures.unflatten(0, (CLASSES, each)).transpose(1, 2).flatten(2)
    halves = zip(rows.split(CLASSES // 2), ("0 to 4", "5 to 9"), strict=True)
    samples = Pictures("Samples", tuple(Picture.of(half.flatten(0, 1), f"the digits {name}") for half, name in halves))
    if not isinstance(generator.block, SelfAttention2d) or not watched:
        return Page("Generated digits", (samples,))
    with watch(generator) as seen:
        shown = generated_digits(generator, digits, seed)[[each * digit for digit in watched]].float() / 255
    attended = [
        picture_of_weights
        for digit, picture in zip(watched, shown, strict=True)
        for picture_of_weights in _attended(digit, picture, seen[0].weights()[each * digit, 0])
    ]
    text = (
        f"The attention is between the {seen[0].query.shape[2]} positions of the feature map, each of which becomes "
        "2 x 2 pixels. The box is the position that attends, and blue is what it attends to: the bluer, the larger "
        "the weight. gamma, by which the attention is multiplied before it is added to the map, is "
        f"{generator.block.gamma.item():.3f}."
    )
    return Page("Generated digits", (samples, Prose(text), Pictures("What the generator attends to", tuple(attended))))


def _attended(digit: int, picture: Tensor, weights: Float[Tensor, "query key"]) -> list[Picture]:
    """The weights of the first and of the last white position over a picture."""
    side = round(len(weights) ** 0.5)
    pixels = len(picture) // side
    bright = functional.avg_pool2d(picture[None], pixels)[0].flatten()
    white = (bright >= 0.8 * bright.max()).nonzero().flatten()
    shown = []
    for name, position in (("first", int(white[0])), ("last", int(white[-1]))):
        row, column = (pixels * at for at in divmod(position, side))
        box = Box(column, row, column + pixels, row + pixels)
        caption = f"a{'n' if digit == 8 else ''} {digit}, from its {name} white position"
        shown.append(Picture.of(picture, caption, weights[position].view(side, side), [box]))
    return shown


@torch.inference_mode()
def _pooled(
    pictures: UInt8[Tensor, "picture 28 28"],
) -> tuple[Float[Tensor, "picture feature"], Int64[Tensor, " picture"]]:
    """What the classifier pools of each picture, and the digit that it takes it for."""
    model = load("written-digit")
    names = torch.tensor([int(name) for name in cast(Label, model.target).names])
    vectors, predicted = [], []
    for some in pictures.split(_BATCH):
        batch = model.recipe.input.batch(
            model.encoder, [model.recipe.input.item(model.encoder, picture) for picture in some]
        )
        vectors.append(model.network.features(batch))
        predicted.append(names[model.network.output(vectors[-1]).argmax(1)])
    return torch.cat(vectors), torch.cat(predicted)
