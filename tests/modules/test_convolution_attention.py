"""Attention that equals a convolution: the oracle is PyTorch's conv2d, which shares no code with attention."""

import math

import pytest
import torch
from torch import nn

from regard.errors import ArgumentError, UnknownNameError
from regard.inspection import Seen, receptive_field_figure, receptive_fields, watch
from regard.modules import ConvolutionAttention
from regard.modules.vision.convolution_attention import SquaredDistance

DOUBLE = torch.float64


def random_case(seed: int, dtype: torch.dtype) -> tuple[nn.Conv2d, torch.Tensor]:
    """A convolution and a picture that it can take, of random sizes."""
    torch.manual_seed(seed)

    def number(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, ()))

    kernel, dilation = (number(1, 5), number(1, 4)), (number(1, 2), number(1, 3))
    padding, stride = [(number(0, 4), number(0, 3)), "same", "valid"][number(0, 2)], (number(1, 3), number(1, 2))
    stride = (1, 1) if padding == "same" or seed % 2 else stride
    channels = number(1, 4), number(1, 5)
    convolution = nn.Conv2d(
        *channels, kernel, stride=stride, padding=padding, dilation=dilation, bias=bool(seed % 3), dtype=dtype
    )
    extent = [step * (size - 1) + 1 for step, size in zip(dilation, kernel, strict=True)]
    zeros = [size - 1 for size in extent] if padding == "same" else [0, 0] if padding == "valid" else padding
    zeros = [2 * each for each in zeros] if isinstance(padding, tuple) else zeros
    # From the smallest picture that fits, which padding makes smaller than the kernel, to larger ones.
    height, width = (max(1, size - zero) + number(0, 6) for size, zero in zip(extent, zeros, strict=True))
    return convolution, 3.0 * torch.randn(number(1, 3), channels[0], height, width, dtype=dtype)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths:UserWarning")
@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_equals_conv2d_in_100_random_shapes(dtype, record_property):
    worst, smaller = 0.0, 0
    for seed in range(100):
        convolution, picture = random_case(seed, dtype)
        with torch.no_grad():
            expected, given = convolution(picture), ConvolutionAttention.from_conv2d(convolution)(picture)
        assert given.shape == expected.shape
        assert given.dtype == dtype
        worst = max(worst, float((given - expected).abs().max()))
        smaller += picture.shape[2] < convolution.kernel_size[0] or picture.shape[3] < convolution.kernel_size[1]
    record_property("largest difference", worst)
    print(f"largest difference, {dtype}: {worst:.1e}")
    assert smaller > 5
    # Sums of up to 80 products, of values around 3 with weights below 1, in another order.
    assert worst < 32 * torch.finfo(dtype).eps


def test_a_hand_written_kernel():
    """The difference of the pixel to the right and the pixel above."""
    convolution = nn.Conv2d(1, 1, 3, padding=1, bias=False)
    with torch.no_grad():
        convolution.weight.copy_(torch.tensor([[0.0, -1, 0], [0, 0, 1], [0, 0, 0]]))
    layer = ConvolutionAttention.from_conv2d(convolution)
    picture = torch.tensor([[1.0, 2, 3], [10, 20, 40]])[None, None]
    assert layer(picture)[0, 0].tolist() == [[2.0, 3.0, 0.0], [19.0, 38.0, -3.0]]


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_each_head_gives_all_its_weight_to_one_pixel(dtype):
    """Seen by `watch`: of 3 x 2 heads, head (i, j) copies the pixel at i - 1 rows and j columns from the query."""
    layer = ConvolutionAttention.from_conv2d(nn.Conv2d(2, 1, (3, 2), padding=(2, 1), dtype=dtype))
    with watch(layer) as seen, torch.no_grad():
        layer(torch.randn(5, 2, 4, 3, dtype=dtype))
    weights = seen[0].weights()[0]
    query, key = layer.pixels(4, 3)
    assert weights.shape == (6, len(query), len(key))
    for head in range(6):
        for number, (row, column) in enumerate(query.tolist()):
            at = [row + head // 2 - 1, column + head % 2]
            expected = [float(each == at) for each in key.tolist()]
            assert weights[head, number].tolist() == expected


def test_scores_are_the_quadratic_form_of_the_relative_position():
    """The weights are softmax(v . r_delta) of equation 9, computed here pixel by pixel."""
    layer = ConvolutionAttention(1, 1, (2, 2), dilation=2, padding=1).double()
    torch.manual_seed(0)
    with torch.no_grad():
        layer.centres.add_(torch.randn(4, 2))
        layer.log_alpha.copy_(torch.tensor([0.3, 0.7, 1.0, 2.0]).log())
        with watch(layer) as seen:
            layer(torch.randn(1, 1, 4, 5, dtype=DOUBLE))
    weights = seen[0].weights()[0]
    query, key = (pixels.tolist() for pixels in layer.pixels(4, 5))
    for head in range(4):
        alpha, (down, right) = math.exp(layer.log_alpha.tolist()[head]), layer.centres[head].tolist()
        v = [-alpha, 2 * alpha * down, 2 * alpha * right]
        for row, q in enumerate(query):
            deltas = [(k[0] - q[0], k[1] - q[1]) for k in key]
            terms = [math.exp(v[0] * (y * y + x * x) + v[1] * y + v[2] * x) for y, x in deltas]
            expected = torch.tensor(terms, dtype=DOUBLE) / sum(terms)
            torch.testing.assert_close(weights[head, row], expected)


def test_scores_are_as_exact_far_from_the_corner():
    """|q|^2 - 2 q.k + |k|^2 would round terms of 16 million, by as much as the scores themselves."""
    score = SquaredDistance(torch.tensor([2.0]))
    query, key = torch.tensor([[[0.25, 0.0]]]), torch.tensor([[[-1.0, 0.0], [0.0, 0.0], [1.0, 2.0]]])
    expected = torch.tensor([[[-2 * 1.25**2, -2 * 0.25**2, -2 * (0.75**2 + 4)]]])
    assert torch.equal(score(query, key), expected)
    assert torch.equal(score(query + 4096, key + 4096), expected)


def test_gradients_reach_centres_alpha_and_values():
    torch.manual_seed(0)
    layer = ConvolutionAttention.from_conv2d(nn.Conv2d(2, 3, 3, padding=1), alpha=1.0)
    picture = torch.randn(2, 2, 5, 4, requires_grad=True)
    layer(picture).square().sum().backward()
    for each in (layer.centres, layer.log_alpha, layer.output.weight, layer.output.bias, picture):
        # No head, no channel and no pixel is left out.
        assert each.grad.flatten(1).abs().sum(1).min() > 0 if each.ndim > 1 else each.grad.abs().min() > 0


def test_gradcheck():
    torch.manual_seed(0)
    layer = ConvolutionAttention(2, 2, (1, 2), padding=1, alpha=0.5).double()
    names, parameters = zip(*layer.named_parameters(), strict=True)
    inputs = [each.detach() + 0.1 * torch.randn_like(each) for each in parameters]
    inputs = [each.requires_grad_() for each in (torch.randn(2, 2, 2, 3, dtype=DOUBLE), *inputs)]

    def output(picture, *changed):
        return torch.func.functional_call(layer, dict(zip(names, changed, strict=True)), (picture,))

    assert torch.autograd.gradcheck(output, inputs)


def test_where_weights_are_hard_gradients_are_those_of_the_convolution():
    convolution = nn.Conv2d(2, 3, (3, 2), padding=1, dtype=DOUBLE)
    layer = ConvolutionAttention.from_conv2d(convolution)
    pictures = [torch.ones(1, 2, 4, 5, dtype=DOUBLE).cumsum(3).requires_grad_() for _ in range(2)]
    for module, picture in zip((convolution, layer), pictures, strict=True):
        module(picture).square().sum().backward()
    torch.testing.assert_close(pictures[1].grad, pictures[0].grad)
    kernel = layer.output.weight.grad.unflatten(1, (3, 2, 2)).permute(0, 3, 1, 2)
    torch.testing.assert_close(kernel, convolution.weight.grad)
    assert not layer.centres.grad.any()
    assert not layer.log_alpha.grad.any()


def test_a_softer_start_gives_neighbours_the_documented_share():
    layer = ConvolutionAttention.from_conv2d(nn.Conv2d(1, 1, 3), alpha=4.0)
    with watch(layer) as seen, torch.no_grad():
        layer(torch.randn(1, 1, 5, 5))
    # The head of the kernel's middle pixel, and the query in the middle, at row 2 and column 2 of 5.
    weights = seen[0].weights()[0, 4, 4].unflatten(0, (5, 5))
    shares = [float(weights[row, column] / weights[2, 2]) for row, column in ((1, 2), (3, 2), (2, 1), (2, 3), (1, 1))]
    assert shares == pytest.approx([math.exp(-4.0)] * 4 + [math.exp(-8.0)], rel=1e-4)


def test_training_moves_heads_to_where_the_pixels_are():
    """The target is a picture shifted by two rows: the only head must leave its place for that of the pixels."""
    torch.manual_seed(0)
    layer = ConvolutionAttention(1, 1, 1, padding=3, alpha=0.5)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    picture = torch.randn(32, 1, 7, 7)
    target = torch.zeros_like(picture)
    target[:, :, :-2] = picture[:, :, 2:]
    for _ in range(120):
        optimizer.zero_grad()
        # Queries on the padding have nothing to predict.
        ((layer(picture)[:, :, 3:-3, 3:-3] - target) ** 2).mean().backward()
        optimizer.step()
    assert layer.centres.tolist() == [[pytest.approx(2.0, abs=0.1), pytest.approx(0.0, abs=0.1)]]
    assert layer.log_alpha.exp() > 1.5


def test_pictures_do_not_meet():
    """All pictures are values of one attention; a broken one leaves the others alone."""
    layer = ConvolutionAttention(2, 3, 3)
    pictures = torch.randn(3, 2, 4, 5)
    alone = torch.cat([layer(pictures[number : number + 1]) for number in range(3)])
    torch.testing.assert_close(layer(pictures), alone)
    pictures[1, 0, 2, 2] = math.nan
    torch.testing.assert_close(layer(pictures)[::2], alone[::2])
    assert layer(pictures[:0]).shape == (0, 3, 4, 5)


def test_large_pictures_take_linear_memory():
    """4,900 pixels: each head has 24 million weights, of which only a tile is held at a time."""
    largest = 0

    class Largest(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), options=None):
            nonlocal largest
            result = function(*arguments, **(options or {}))
            if isinstance(result, torch.Tensor):
                largest = max(largest, result.numel())
            return result

    layer = ConvolutionAttention.from_conv2d(convolution := nn.Conv2d(1, 1, (1, 3), padding="same"))
    picture = torch.randn(1, 1, 70, 70)
    with Largest(), torch.no_grad():
        given = layer(picture)
    torch.testing.assert_close(given, convolution(picture))
    assert largest < 4900**2 / 4


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rows_beyond_the_precision_of_half_floats_are_told_apart(dtype):
    convolution = nn.Conv2d(1, 1, (2, 1), bias=False, dtype=dtype)
    with torch.no_grad():
        convolution.weight.copy_(torch.tensor([0.0, 1.0]).view(1, 1, 2, 1))
    picture = torch.randn(1, 1, 2100, 1, dtype=dtype)
    assert torch.equal(ConvolutionAttention.from_conv2d(convolution)(picture), picture[:, :, 1:])


def test_under_autocast_the_output_is_narrow():
    layer = ConvolutionAttention(2, 3, 3)
    picture = torch.randn(1, 2, 4, 5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        narrow = layer(picture.bfloat16())
    assert narrow.dtype == torch.bfloat16
    torch.testing.assert_close(narrow.float(), layer(picture), atol=0.03, rtol=0.03)


def test_a_record_of_it_can_be_saved(tmp_path):
    layer = ConvolutionAttention(1, 1, 2)
    with watch(layer) as seen, torch.no_grad():
        layer(torch.randn(1, 1, 2, 3))
    seen.save(tmp_path / "seen.safetensors")
    again = Seen.load(tmp_path / "seen.safetensors")
    assert torch.equal(again[0].weights(), seen[0].weights())


def test_receptive_fields_are_means_by_offset():
    """A row of three pixels; queries 0 to 2 attend to keys 0 to 2 with these weights."""
    weights = torch.tensor([[[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.0, 0.6, 0.4]]])
    row = torch.tensor([[0, 0], [0, 1], [0, 2]])
    field = receptive_fields(weights, row, row, reach=1)
    expected = torch.tensor([[0, 0, 0], [(0.1 + 0.6) / 2, (0.5 + 0.8 + 0.4) / 3, (0.3 + 0.1) / 2], [0, 0, 0]])
    torch.testing.assert_close(field, expected[None])
    wider = receptive_fields(weights, row, row, reach=2)[0, 2].tolist()
    assert wider == pytest.approx([0.0, 0.35, 1.7 / 3, 0.2, 0.2])
    down = receptive_fields(weights, row.flip(1), row.flip(1), reach=1)
    torch.testing.assert_close(down, expected.mT[None])


def test_receptive_fields_of_a_convolution_are_its_kernel():
    """Mean over queries on the edge, too: zeros around the picture are pixels."""
    layer = ConvolutionAttention.from_conv2d(nn.Conv2d(1, 1, (3, 2), padding="same"))
    with watch(layer) as seen, torch.no_grad():
        layer(torch.randn(1, 1, 3, 4))
    fields = receptive_fields(seen[0].weights()[0], *layer.pixels(3, 4), reach=2)
    expected = torch.zeros(6, 5, 5)
    for head in range(6):
        expected[head, 2 + head // 2 - 1, 2 + head % 2] = 1.0
    assert torch.equal(fields, expected)


def test_a_figure_draws_each_head_in_each_state():
    before, after = torch.rand(6, 5, 5), torch.rand(6, 5, 5)
    after[4, 1, 3] = 2.0
    drawn = receptive_field_figure({"before $x": before, "after": after}, columns=2)
    words = [text.get_text() for text in drawn.axes[0].texts]
    assert words[:7] == ["before $x", "1", "2", "3", "4", "5", "6"]
    assert "200%" in words
    cells = {each.get_gid(): each for each in drawn.axes[0].collections if each.get_gid()}
    assert sorted(cells) == sorted([f"head-{state}.{head}" for state in (1, 2) for head in range(1, 7)] + ["legend"])
    full = (0x1F / 255, 0x5F / 255, 0xBF / 255)
    assert cells["head-2.5"].get_facecolors()[1 * 5 + 3][:3].tolist() == pytest.approx(full)
    # Head 4 of the left state is in the second row and the second column, head 1 of the right state is to its right.
    place = {name: each.get_paths()[0].vertices.min(0) for name, each in cells.items()}
    assert place["head-1.1"][0] < place["head-1.2"][0] < place["head-2.1"][0]
    assert place["head-1.2"][1] < place["head-1.4"][1]
    assert drawn.get_size_inches()[0] <= 5.5


PICTURE = torch.zeros(1, 3, 4, 5)
PIXELS = torch.zeros(2, 2, dtype=torch.long)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ConvolutionAttention(0, 1, 3), "`in_channels` must be the number of channels of the input, 1 or more"),
        (lambda: ConvolutionAttention(1, 2.5, 3), "`out_channels` must be the number .* but is 2.5"),
        (lambda: ConvolutionAttention(1, 1, 0), "`kernel_size` must be a number of pixels, or two, 1 or more"),
        (lambda: ConvolutionAttention(1, 1, (1, 2, 3)), r"`kernel_size` must be a number or two, .* \(1, 2, 3\)"),
        (lambda: ConvolutionAttention(1, 1, 3, dilation=0), "`dilation` must be"),
        (lambda: ConvolutionAttention(1, 1, 3, stride=2), '`stride` must be 1 where `padding` is "same"'),
        (lambda: ConvolutionAttention(1, 1, 3, padding=-1), "`padding` must be a number of pixels, or two, 0 or more"),
        (lambda: ConvolutionAttention(1, 1, 3, padding=None), "`padding` must be .* but is None"),
        (lambda: ConvolutionAttention(1, 1, 3, alpha=0.0), "`alpha` must be a finite number above 0, but is 0.0"),
        (lambda: ConvolutionAttention(1, 1, 3, alpha=math.nan), "`alpha` must be a finite number above 0, but is nan"),
        (lambda: ConvolutionAttention(1, 1, 3, alpha=math.inf), "`alpha` must be a finite number above 0, but is inf"),
        (lambda: ConvolutionAttention(1, 1, 3, alpha=torch.ones(9)), "`alpha` must be a number, but is a tensor"),
        (lambda: ConvolutionAttention(3, 1, 3)(PICTURE[0]), r"`picture` must be \(batch, 3 channels, height, width\)"),
        (lambda: ConvolutionAttention(2, 1, 3)(PICTURE), r"`picture` must be \(batch, 2 channels, .* \(1, 3, 4, 5\)"),
        (lambda: ConvolutionAttention(3, 1, (5, 1), padding=0)(PICTURE), "`picture` must have at least 5 rows .* 4"),
        (lambda: ConvolutionAttention(3, 1, (1, 6), padding=0)(PICTURE), "`picture` must have at least 6 columns .* 5"),
        (lambda: ConvolutionAttention.from_conv2d(nn.Conv1d(1, 1, 1)), "must be a torch.nn.Conv2d, but is Conv1d"),
        (
            lambda: ConvolutionAttention.from_conv2d(nn.Conv2d(4, 4, 1, groups=2)),
            "must have groups=1, but has groups=2",
        ),
        (
            lambda: ConvolutionAttention.from_conv2d(nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect")),
            "must have padding_mode='zeros', but has padding_mode='reflect'",
        ),
        (lambda: ConvolutionAttention.from_conv2d(nn.Conv2d(1, 1, 3), alpha=-1.0), "`alpha` must be a finite number"),
        (lambda: receptive_fields(torch.zeros(2, 2), PIXELS, PIXELS), r"`weights` must be \(head, query, key\)"),
        (lambda: receptive_fields(torch.zeros(1, 3, 2), PIXELS, PIXELS), r"`query` must be .* integers \(3, 2\)"),
        (lambda: receptive_fields(torch.zeros(1, 2, 2), PIXELS, PIXELS * 1.0), "`key` must be .* but is torch.float32"),
        (lambda: receptive_fields(torch.zeros(1, 2, 2), PIXELS, PIXELS, reach=-1), "`reach` must be"),
        (lambda: receptive_field_figure({}), "`fields` must be receptive fields by title, at least one"),
        (lambda: receptive_field_figure({"a": torch.zeros(2, 4, 4)}), "with an odd side"),
        (lambda: receptive_field_figure({"a": torch.zeros(1, 3, 3), "b": torch.zeros(2, 3, 3)}), "of one shape"),
        (lambda: receptive_field_figure({"a": torch.zeros(1, 3, 3)}, columns=0), "`columns` must be a number of heads"),
        (lambda: receptive_field_figure({"a": torch.zeros(1, 3, 3)}, width=1.0), "`width` must be from 2.5"),
        (lambda: receptive_field_figure({"a": torch.zeros(99, 9, 9)}, columns=99), "`columns` must leave each cell"),
    ],
)
def test_errors(call, says):
    with pytest.raises(ArgumentError, match=says):
        call()


def test_an_unknown_padding_suggests_the_known_one():
    with pytest.raises(UnknownNameError, match="Did you mean 'same'"):
        ConvolutionAttention(1, 1, 3, padding="sam")
