"""The generator of digits: its losses and parts by hand, and a training of a few steps."""

import pytest
import torch
from torch import nn

from regard.errors import ArgumentError, DivergedError, UnknownNameError
from regard.lab.pictures.gan_networks import (
    BLOCKS,
    BottleneckBlock,
    ConditionalBatchNorm,
    DigitDiscriminator,
    DigitGenerator,
)
from regard.lab.pictures.gan_training import discriminator_loss, generator_loss, train_generator
from regard.lab.pictures.generated_digits import digit_quality, digits_page, generated_digits
from regard.modules import SelfAttention2d
from regard.page import Pictures, Prose

SMALL = {"width": 8, "steps": 3, "batch": 4, "rates": (1e-3, 2e-3), "average": 0.5}
EACH_BLOCK = pytest.mark.parametrize("block", BLOCKS)


REAL = torch.randint(256, (20, 28, 28), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
DIGITS = torch.arange(20) % 10


def trained(seed=1, **changes):
    return train_generator(REAL, DIGITS, seed, **{"block": "attention", "device": "cpu", **SMALL, **changes})


def test_hinge_losses_by_hand():
    real, generated = torch.tensor([2.0, 0.5, -1.0, 1.0]), torch.tensor([-3.0, -0.5, 1.0, -1.0])
    # (0 + 0.5 + 2 + 0) / 4 and (0 + 0.5 + 2 + 0) / 4
    assert discriminator_loss(real, generated).item() == 1.25
    assert discriminator_loss(real, torch.full((4,), -5.0)).item() == 0.625
    assert discriminator_loss(torch.full((4,), 5.0), torch.tensor([0.0, 0.0, 4.0, 0.0])).item() == 2.0
    assert generator_loss(generated).item() == 0.875


@EACH_BLOCK
def test_shapes_and_ranges(block):
    digits = torch.tensor([0, 9, 4])
    pictures = DigitGenerator(8, block)(torch.randn(3, 64), digits)
    assert pictures.shape == (3, 1, 28, 28)
    assert pictures.abs().max() <= 1
    assert DigitDiscriminator(8, block)(pictures, digits).shape == (3,)


def test_what_stands_in_the_middle():
    for network in (DigitGenerator, DigitDiscriminator):
        assert isinstance(network(8, "attention").block, SelfAttention2d)
        assert isinstance(network(8, "residual").block, BottleneckBlock)
        assert isinstance(network(8, "none").block, nn.Identity)
        with pytest.raises(UnknownNameError, match="block"):
            network(8, "atention")


@EACH_BLOCK
def test_every_block_sees_a_map_of_14_x_14(block):
    for network, arguments in (
        (DigitGenerator(8, block), (torch.randn(2, 64), torch.tensor([1, 2]))),
        (DigitDiscriminator(8, block), (torch.randn(2, 1, 28, 28), torch.tensor([1, 2]))),
    ):
        sizes = []
        network.block.register_forward_hook(lambda module, given, found, sizes=sizes: sizes.append(given[0].shape))
        network(*arguments)
        assert sizes == [(2, 8, 14, 14)]


@pytest.mark.parametrize("channels", [32, 48, 64, 72, 128])
def test_the_residual_block_has_about_as_many_parameters(channels):
    count = [sum(each.numel() for each in block(channels).parameters()) for block in (BottleneckBlock, SelfAttention2d)]
    assert abs(count[0] / count[1] - 1) < 0.05
    x = torch.randn(2, channels, 3, 5)
    assert torch.equal(BottleneckBlock(channels)(x), x)


@pytest.mark.parametrize("network", [DigitGenerator, DigitDiscriminator])
def test_every_matrix_has_a_largest_singular_value_of_1(network):
    torch.manual_seed(0)
    made = network(8, "attention")
    noise, digits = torch.randn(4, 64), torch.arange(4)
    given = noise if network is DigitGenerator else torch.randn(4, 1, 28, 28)
    for _ in range(100):  # each pass iterates the power method once
        made(given, digits)
    kinds = nn.Conv2d | nn.ConvTranspose2d | nn.Linear | nn.Embedding
    found = {
        # A matrix has a row for each output: the second dimension of a transposed convolution.
        name: each.weight.transpose(0, 1) if isinstance(each, nn.ConvTranspose2d) else each.weight
        for name, each in made.eval().named_modules()
        if isinstance(each, kinds) and "norms" not in name
    }
    assert len(found) == {DigitGenerator: 1 + 3 + 4, DigitDiscriminator: 3 + 4 + 2}[network]
    # The scales of the norms are as they were made.
    assert all(
        torch.equal(norm.scale.weight, torch.ones(10, norm.scale.embedding_dim)) for norm in getattr(made, "norms", ())
    )
    for name, weight in found.items():
        largest = torch.linalg.matrix_norm(weight.detach().flatten(1), 2).item()
        assert largest == pytest.approx(1, abs=0.02), name


def test_each_digit_has_its_own_scale_and_shift_of_normalised_channels():
    norm = ConditionalBatchNorm(2)
    with torch.no_grad():
        norm.scale.weight[3], norm.shift.weight[3] = torch.tensor([2.0, 1.0]), torch.tensor([5.0, 0.0])
    # The mean of both items is 1 in the first channel, the standard deviation 1; in the second one 6 and 4.
    picture = torch.tensor([[0.0, 2.0], [2.0, 10.0]])[:, :, None, None]
    found = norm(picture, torch.tensor([3, 7])).flatten(1)
    torch.testing.assert_close(found, torch.tensor([[3.0, -1.0], [1.0, 1.0]]), atol=1e-4, rtol=0)


def test_the_digit_changes_the_picture_and_the_score():
    torch.manual_seed(0)
    generator, discriminator = DigitGenerator(8, "none").eval(), DigitDiscriminator(8, "none").eval()
    with torch.no_grad():
        for scale in generator.norms:
            scale.scale.weight.normal_()
        noise = torch.randn(1, 64).expand(2, -1)
        pictures = generator(noise, torch.tensor([3, 8]))
        assert not torch.allclose(pictures[0], pictures[1])
        scores = discriminator(pictures[:1].expand(2, -1, -1, -1), torch.tensor([3, 8]))
        assert scores[0] != scores[1]


def test_a_training_depends_on_its_seed_alone():
    torch.manual_seed(5)
    first = generated_digits(trained(1), torch.arange(10), 5)
    torch.manual_seed(6)
    again, other = (generated_digits(trained(seed), torch.arange(10), 5) for seed in (1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.dtype == torch.uint8
    assert first.shape == (10, 28, 28)


def test_without_steps_nothing_is_trained_and_the_average_follows_the_decay():
    start, (once, still) = trained(steps=0), (trained(steps=1, average=decay) for decay in (0.0, 1.0))
    weights = [each.start.parametrizations.weight.original for each in (start, once, still)]
    assert not torch.equal(weights[0], weights[1])
    # The first update copies the weights whatever the decay; the second one follows it.
    assert torch.equal(weights[1], weights[2])
    last, fixed = (trained(steps=2, average=decay).start.parametrizations.weight.original for decay in (0.0, 1.0))
    assert torch.equal(fixed, weights[1])
    assert not torch.equal(last, weights[1])
    half = trained(steps=2, average=0.5).start.parametrizations.weight.original
    torch.testing.assert_close(half, (last + fixed) / 2)


def by_hand(steps: int, seed: int) -> DigitGenerator:
    """The generator after some steps of Adam without momentum, written out."""
    torch.manual_seed(seed)
    networks = DigitGenerator(SMALL["width"], "attention"), DigitDiscriminator(SMALL["width"], "attention")
    generator, discriminator = networks
    squares = {each: torch.zeros_like(each) for network in networks for each in network.parameters()}
    for step in range(1, steps + 1):
        which = torch.randint(20, (SMALL["batch"],))
        noise, wanted = torch.randn(SMALL["batch"], 64), torch.randint(10, (SMALL["batch"],))
        generated = generator(noise, wanted)
        pictures = torch.cat([REAL[which][:, None] / 127.5 - 1, generated.detach()])
        # The picture with the number n shows the digit n modulo 10.
        real, fake = discriminator(pictures, torch.cat([which % 10, wanted])).split(SMALL["batch"])
        update(discriminator, (1 - real).clamp(min=0).mean() + (1 + fake).clamp(min=0).mean(), 2e-3, squares, step)
        update(generator, -discriminator(generated, wanted).mean(), 1e-3, squares, step)
    return generator


def update(network: nn.Module, loss: torch.Tensor, rate: float, squares: dict, step: int) -> None:
    parameters = list(network.parameters())
    for each, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
        squares[each] = 0.9 * squares[each] + 0.1 * gradient**2
        with torch.no_grad():
            each -= rate * gradient / ((squares[each] / (1 - 0.9**step)).sqrt() + 1e-8)


def test_a_training_is_that_written_out_by_hand():
    found, expected = trained(4, average=0.0), by_hand(SMALL["steps"], 4)
    start = dict(trained(4, steps=0).named_parameters())
    # Normalisation removes these biases: their gradients are rounding errors, which Adam makes as large as any.
    removed = {"convolutions.0.bias", "convolutions.1.bias"}
    for name, each in found.named_parameters():
        if name not in removed:
            assert not torch.equal(each, start[name]), name
            right = dict(expected.named_parameters())[name]
            torch.testing.assert_close(each, right, rtol=1e-3, atol=1e-5, msg=name)


@pytest.mark.parametrize(
    ("pictures", "digits", "changes", "said"),
    [
        (REAL[:0], DIGITS[:0], {}, "`pictures` must hold at least one picture"),
        (REAL[:3], DIGITS + 1, {}, "`digits` must be one for each of 3 pictures, but are 20"),
        (REAL, DIGITS + 1, {}, "`digits` must be from 0 to 9, but are from 1 to 10"),
        (REAL, DIGITS - 1, {}, "`digits` must be from 0 to 9, but are from -1 to 8"),
        (REAL, DIGITS, {"rates": (1e-3,)}, r"`rates` must be the learning rates of .*, but are \(0.001,\)"),
        (REAL, DIGITS, {"rates": (1e-3, -1.0)}, "`rates` must be the learning rates of"),
        (REAL, DIGITS, {"width": 1}, "`width` must be the number of channels at 14 x 14, 2 or more, but is 1"),
        (REAL, DIGITS, {"steps": -1}, "`steps` must be the number of updates, 0 or more, but is -1"),
        (REAL, DIGITS, {"batch": 0}, "`batch` must be the number of real digits in a step, 1 or more, but is 0"),
        (REAL, DIGITS, {"average": 1.5}, "`average` must be a decay from 0 to 1, but is 1.5"),
    ],
)
def test_a_training_that_is_impossible_is_refused(pictures, digits, changes, said):
    # Tests check shapes first, which a user doesn't.
    train = getattr(train_generator, "__wrapped__", train_generator)
    with pytest.raises(ArgumentError, match=said):
        train(pictures, digits, 1, **{"block": "none", "device": "cpu", **SMALL, **changes})


def test_a_training_that_diverges_says_so():
    with pytest.raises(DivergedError, match=r"A loss isn't finite. Try smaller `rates`."):
        trained(rates=(float("inf"), 1e-3))


class Copying(nn.Module):
    """A generator that returns real pictures."""

    def __init__(self, pictures):
        super().__init__()
        self.pictures = nn.Parameter(pictures / 127.5 - 1)

    def forward(self, noise, digits):
        return self.pictures[: len(digits), None]


def test_the_quality_of_copies_and_of_copies_of_the_wrong_digits():
    bars = torch.zeros(20, 28, 28, dtype=torch.uint8)
    for number, each in enumerate(bars):
        each[4:24, 10 + number % 4 : 13 + number % 5] = 255  # the digit 1
    same = digit_quality(Copying(bars), bars, torch.ones(20, dtype=torch.int64), 0)
    assert same["Fréchet distance"] == pytest.approx(0, abs=1e-3)
    assert same["right digit"] > 0.9
    assert same["coverage"] == 1
    wrong = digit_quality(Copying(bars.flip(0)), bars, torch.full((20,), 8), 0)
    assert wrong["right digit"] < 0.1
    assert digit_quality(Copying(255 - bars), bars, torch.ones(20, dtype=torch.int64), 0)["Fréchet distance"] > 1


def test_the_page_shows_samples_and_where_the_generator_looks():
    generator = trained()
    page = digits_page(generator, 3, each=2, watched=(4, 7))
    samples, prose, looks = page.blocks
    assert isinstance(samples, Pictures)
    assert [picture.size for picture in samples.pictures] == [(140, 56), (140, 56)]
    digits = torch.arange(10).repeat_interleave(2)
    right = generated_digits(generator, digits, 3)
    # The second sample of 6 is in the second row and column of the second half.
    shown = torch.tensor(samples.pictures[1].pixels)[28:56, 28:56]
    torch.testing.assert_close(shown, right[13].float() / 255, check_dtype=False)
    assert isinstance(prose, Prose)
    assert "196 positions" in prose.text
    assert isinstance(looks, Pictures)
    assert len(looks.pictures) == 4
    for number, picture in zip((8, 8, 14, 14), looks.pictures, strict=True):
        torch.testing.assert_close(torch.tensor(picture.pixels), right[number].float() / 255, check_dtype=False)
        weights = torch.tensor(picture.weights)
        assert weights.shape == (14, 14)
        assert weights.sum() == pytest.approx(1, abs=1e-4)
    assert [each.caption for each in looks.pictures[1:3]] == [
        "a 4, from its last white position",
        "a 7, from its first white position",
    ]
    first, last = (each.boxes[0] for each in looks.pictures[:2])
    assert first.top <= last.top
    assert (first.right - first.left, first.bottom - first.top) == (2, 2)


def test_the_weights_on_the_page_are_those_of_the_position_in_the_box():
    generator = trained()
    # Of large scores, so that weights are far from uniform: normalised matrices can't give them.
    generator.block.query = nn.Conv2d(8, 1, 1, bias=False)
    nn.init.constant_(generator.block.query.weight, 300.0)
    digits, maps = torch.arange(10), []
    generator.block.register_forward_hook(lambda module, given, found: maps.append(given[0]))
    pictures = digits_page(generator, 3, each=1, watched=(6,)).blocks[2].pictures
    generated_digits(generator, digits, 3)
    flat, block = maps[-1][6].flatten(1), generator.block
    query, key = (each.weight[:, :, 0, 0] @ flat for each in (block.query, block.key))
    places = [int(each.boxes[0].top // 2 * 14 + each.boxes[0].left // 2) for each in pictures]
    assert places[0] < places[1]
    for place, picture in zip(places, pictures, strict=True):
        right = (query[:, place] @ key).softmax(0).view(14, 14)
        assert right.max() > 0.02
        torch.testing.assert_close(torch.tensor(picture.weights), right, check_dtype=False, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"each": 0}, "`each` must be the number of samples of each digit, at most 9, 1 or more, but is 0"),
        ({"each": 10}, "`each` must be the number of samples of each digit, at most 9, but is 10"),
        ({"watched": (3, 10)}, "`watched` must be digits from 0 to 9, but one is 10"),
        ({"watched": (-1,)}, "`watched` must be digits from 0 to 9, but one is -1"),
    ],
)
def test_a_page_that_is_impossible_is_refused(changes, said):
    with pytest.raises(ArgumentError, match=said):
        digits_page(DigitGenerator(8, "attention").eval(), 3, **changes)


def test_a_page_without_watched_digits_shows_samples():
    assert len(digits_page(DigitGenerator(8, "attention").eval(), 3, each=9, watched=()).blocks) == 1


@pytest.mark.parametrize("block", ["residual", "none"])
def test_the_page_of_a_generator_without_attention_shows_samples(block):
    (samples,) = digits_page(trained(block=block), 3, each=1).blocks
    assert isinstance(samples, Pictures)
