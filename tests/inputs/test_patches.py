"""A picture is a set of vectors, and the vectors are the picture again."""

import gzip
import json

import numpy as np
import pytest
import torch

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs import Batch
from regard.inputs.patches import PictureVectors

RGB = PictureVectors(channels="rgb")


def picture(height, width, channels=3, seed=0):
    return torch.rand(height, width, channels, generator=torch.Generator().manual_seed(seed))


def test_five_by_ten_pixels_in_three_colours_are_fifty_vectors_of_three():
    # Note 001's picture.
    seen = picture(5, 10)
    vectors = RGB.vectors(seen)
    assert vectors.shape == (50, 3)
    assert RGB.width == 3
    assert RGB.grid(seen) == (5, 10)
    for vector, (row, column) in zip(vectors, RGB.positions(seen).tolist(), strict=True):
        assert torch.equal(vector, seen[row, column])
    assert RGB.positions(seen)[:12, 0].tolist() == [0] * 10 + [1] * 2


def test_patches_by_hand():
    #  0  1  2  3
    #  4  5  6  7
    #  8  9 10 11
    seen = torch.arange(12).reshape(3, 4) / 16
    patches = PictureVectors(patch=2)
    # The third row is repeated to fill the lower patches.
    assert (patches.vectors(seen) * 16).tolist() == [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 8, 9], [10, 11, 10, 11]]
    assert patches.grid(seen) == (2, 2)
    assert patches.positions(seen).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    # In colours, the channels of a pixel stand side by side.
    coloured = torch.stack([seen, seen + 0.125], dim=2).repeat(1, 1, 2)[..., :3]
    assert (PictureVectors(patch=2, channels="rgb").vectors(coloured) * 16)[0].tolist() == [
        *(0, 2, 0),
        *(1, 3, 1),
        *(4, 6, 4),
        *(5, 7, 5),
    ]


@pytest.mark.parametrize("patch", [1, 2, 3, 5, 16])
@pytest.mark.parametrize("shape", [(1, 1, 3), (5, 10, 3), (16, 16, 3), (7, 13, 3), (17, 1, 3)])
def test_vectors_are_the_picture_again(patch, shape):
    settings, seen = PictureVectors(patch=patch, channels="rgb"), picture(*shape)
    vectors, grid = settings.vectors(seen), settings.grid(seen)
    assert vectors.shape == (grid[0] * grid[1], settings.width)
    back = settings.to_picture(vectors, grid)
    # Nothing is cut off, less than a patch is added, and what is added is the edge.
    assert torch.equal(back[: shape[0], : shape[1]], seen)
    for side in (0, 1):
        assert back.shape[side] % patch == 0
        assert 0 <= back.shape[side] - shape[side] < patch
    assert torch.equal(back[shape[0] :, : shape[1]], seen[-1:].expand(back.shape[0] - shape[0], -1, -1))
    assert torch.equal(back[: shape[0], shape[1] :], seen[:, -1:].expand(-1, back.shape[1] - shape[1], -1))
    assert torch.equal(settings.vectors(back), vectors)


def test_pictures_are_scaled_to_the_size_asked_for():
    settings = PictureVectors(patch=4, size=(8, 12))
    for shape in [(5, 10), (8, 12), (100, 3), (1, 1)]:
        seen = picture(*shape, 1)
        assert settings.vectors(seen).shape == (6, 16)
        assert settings.grid(seen) == (2, 3)
        assert settings.positions(seen).shape == (6, 2)
    same = picture(8, 12, 1)
    assert torch.equal(settings.vectors(same), PictureVectors(patch=4).vectors(same))
    # Half the size is the mean of its surroundings, not every other pixel.
    stripes = torch.tensor([0.0, 1.0]).repeat(40, 20)
    small = PictureVectors(size=(20, 20))
    inside = small.to_picture(small.vectors(stripes), (20, 20))[2:-2, 2:-2]
    torch.testing.assert_close(inside, torch.full_like(inside, 0.5), atol=0.13, rtol=0)
    assert PictureVectors(size=(50, 60)).vectors(torch.ones(7, 3)).unique().tolist() == [1.0]


def test_arrays_and_tensors_of_every_kind_are_the_same():
    levels = np.random.default_rng(2).integers(0, 256, (5, 7), dtype=np.uint8)
    wanted = PictureVectors().vectors(torch.from_numpy(levels) / 255)
    fixed = levels.copy()
    fixed.flags.writeable = False
    for given in (
        levels,
        fixed,
        levels[:, :, None],
        np.asfortranarray(levels),
        levels[:, ::-1][:, ::-1],
        levels.astype(np.float32) / 255,
        (levels / 255).astype(">f8"),
        torch.from_numpy(levels),
        torch.from_numpy(levels).double() / 255,
    ):
        vectors = PictureVectors().vectors(given)
        assert vectors.dtype == torch.float32
        torch.testing.assert_close(vectors, wanted, atol=1e-7, rtol=0)


def test_what_was_given_is_not_changed():
    seen = picture(5, 7)
    before = seen.clone()
    RGB.vectors(seen).mul_(0)
    levels = np.full((2, 2), 7, dtype=np.uint8)
    PictureVectors().vectors(levels).mul_(0)
    assert (levels == 7).all()
    assert torch.equal(seen, before)


def test_gradients_reach_the_picture():
    seen = picture(5, 7).requires_grad_()
    PictureVectors(patch=2, channels="rgb").vectors(seen).sum().backward()
    assert seen.grad is not None
    # The last row and column stand twice, the corner four times.
    assert seen.grad[:, :, 0].tolist() == [[1.0] * 6 + [2.0]] * 4 + [[2.0] * 6 + [4.0]]


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        (RGB, torch.zeros(5, 10), r"must be \(height, width, 3\) for channels='rgb', but its shape is \(5, 10\)"),
        (RGB, torch.zeros(3, 5, 10), r"shape is \(3, 5, 10\)\. .* permute\(1, 2, 0\)"),
        (PictureVectors(), torch.zeros(5, 10, 3), r"\(height, width, 1\) or \(height, width\) for channels='grey'"),
        (PictureVectors(), torch.zeros(5), r"shape is \(5,\)"),
        (PictureVectors(), torch.zeros(2, 5, 5, 1), r"shape is \(2, 5, 5, 1\)"),
        (PictureVectors(), torch.zeros(0, 5), r"shape is \(0, 5\)"),
        (RGB, torch.zeros(5, 5, 0), r"shape is \(5, 5, 0\)"),
        (
            PictureVectors(),
            torch.zeros(5, 5, dtype=torch.int64),
            "must be floats from 0 to 1, or uint8, but is torch.int64",
        ),
        (PictureVectors(), np.zeros((5, 5), dtype=">u2"), "must be floats from 0 to 1, or uint8, but is >u2"),
        (PictureVectors(), np.array([["a", "b"]]), "must be floats from 0 to 1, or uint8, but is <U1"),
        (PictureVectors(), torch.full((2, 2), 255.0), "reaches from 255 to 255. Divide levels up to 255 by 255"),
        (PictureVectors(), torch.full((2, 2), -0.1), "must lie between 0 and 1"),
        (PictureVectors(), torch.tensor([[0.0, torch.nan]]), "must lie between 0 and 1"),
    ],
)
def test_what_is_no_picture_is_refused(settings, given, message):
    for method in (settings.vectors, settings.grid, settings.positions):
        with pytest.raises(ArgumentError, match=message):
            method(given)


def test_the_way_back_refuses_what_does_not_fit():
    for vectors, grid in [(torch.zeros(5, 3), (2, 3)), (torch.zeros(6, 1), (2, 3)), (torch.zeros(6, 3), (-2, -3))]:
        with pytest.raises(ArgumentError, match="`vectors` must be one of 3 numbers for each patch of the grid"):
            RGB.to_picture(vectors, grid)


def test_settings_go_through_json():
    for settings in (PictureVectors(), PictureVectors(patch=4, size=(28, 32), channels="rgb")):
        again = PictureVectors.from_json(json.loads(json.dumps(settings.to_json())))
        assert again == settings
        assert hash(again) == hash(settings)
    with pytest.raises(UnknownNameError, match=r"`field` must be one of patch, size, channels, .* 'patch'"):
        PictureVectors.from_json({"pach": 3})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"patch": 0}, "`patch` must be an integer from 1 to 1,024, but is 0"),
        ({"patch": 10**9}, "but is 1000000000"),
        ({"patch": True}, "but is True"),
        (
            {"size": (0, 5)},
            r"`size` must be \(height, width\), integers from 1 to 8,192, or None, but is \(0, 5\)",
        ),
        ({"size": [5, 10**9]}, r"but is \(5, 1000000000\)"),
        ({"channels": "gray"}, "`channels` must be one of grey, rgb, but is 'gray'. Did you mean 'grey'"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ArgumentError, match=message):
        PictureVectors.from_json(changes)


def test_written_digits(real_data):
    with gzip.open(real_data / "mnist" / "t10k-images-idx3-ubyte.gz") as file:
        digits = np.frombuffer(file.read(16 + 7 * 784), dtype=np.uint8, offset=16).reshape(7, 28, 28)
    pixels, patches = PictureVectors(), PictureVectors(patch=7)
    batch = Batch.pad([pixels.vectors(digit) for digit in digits])
    assert batch.vectors.shape == (7, 784, 1)
    assert torch.equal(batch.vectors[3].reshape(28, 28) * 255, torch.from_numpy(digits[3].copy()).float())
    assert Batch.pad([patches.vectors(digit) for digit in digits]).vectors.shape == (7, 16, 49)
