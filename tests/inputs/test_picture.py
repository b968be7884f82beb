"""Every kind of picture becomes numbers from 0 to 1, upright and on white; no broken file gets through."""

import struct
import zlib

import numpy as np
import pytest
import torch

from regard.errors import DataError, MissingExtraError, UnknownNameError
from regard.inputs.picture import picture_size, read_picture

Image = pytest.importorskip("PIL.Image")

COLOURS = np.random.default_rng(5).integers(0, 256, (5, 7, 3), dtype=np.uint8)


def saved(path, image, **options):
    image.save(path, **options)
    return path


@pytest.mark.parametrize("name", ["a.png", "a.bmp", "a.tiff", "a.ppm"])
def test_colours_come_as_they_are(tmp_path, name):
    picture = read_picture(saved(tmp_path / name, Image.fromarray(COLOURS)))
    assert picture.shape == (5, 7, 3)
    assert torch.equal(picture, torch.from_numpy(COLOURS.astype(np.float32)) / 255)


def test_the_size_is_known_without_the_pixels(tmp_path):
    image = Image.fromarray(COLOURS)
    assert picture_size(saved(tmp_path / "a.png", image)) == (5, 7)
    # Half of the file is enough, and a camera that was held on its side is turned back.
    exif = Image.Exif()
    for orientation, size in ((1, (500, 700)), (3, (500, 700)), (6, (700, 500)), (8, (700, 500))):
        exif[0x0112] = orientation
        path = saved(tmp_path / "a.jpg", image.resize((700, 500)), exif=exif)
        assert picture_size(path) == size == tuple(read_picture(path).shape[:2])
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert picture_size(path) == (700, 500)
    with pytest.raises(DataError, match="can't be read as a picture"):
        read_picture(path)
    with pytest.raises(DataError, match="can't be opened"):
        picture_size(tmp_path / "none.jpg")


def test_a_large_jpeg_that_will_be_scaled_is_decoded_small(tmp_path):
    rows, columns = np.mgrid[0:1600, 0:2400] / 300
    levels = (127 + 120 * np.sin(rows + columns)).astype(np.uint8)
    path = saved(tmp_path / "a.jpg", Image.fromarray(levels), quality=95)
    whole, small = (read_picture(path, channels="grey", size=size) for size in (None, (64, 96)))
    assert whole.shape == (1600, 2400, 1)
    assert small.shape == (200, 300, 1)
    # As scaled, they are the same picture.
    both = [
        torch.nn.functional.interpolate(each.permute(2, 0, 1)[None], (64, 96), mode="area") for each in (whole, small)
    ]
    torch.testing.assert_close(*both, atol=0.02, rtol=0)
    # Never smaller than twice what it is scaled to; and what is no JPEG as it is.
    assert min(read_picture(path, size=(300, 300)).shape[:2]) >= 600
    assert read_picture(saved(tmp_path / "a.png", Image.fromarray(levels)), size=(64, 64)).shape == (1600, 2400, 3)


def test_grey_of_colours_is_how_bright_they_are(tmp_path):
    grey = read_picture(str(saved(tmp_path / "a.png", Image.fromarray(COLOURS))), channels="grey")
    assert grey.shape == (5, 7, 1)
    bright = torch.from_numpy(COLOURS @ np.array([0.299, 0.587, 0.114]) / 255).float()
    torch.testing.assert_close(grey[..., 0], bright, atol=0.51 / 255, rtol=0)


@pytest.mark.parametrize(
    ("mode", "colour", "name", "rgb"),
    [
        ("1", 1, "a.png", (255, 255, 255)),
        ("1", 0, "a.png", (0, 0, 0)),
        ("L", 51, "a.png", (51, 51, 51)),
        ("LA", (51, 255), "a.png", (51, 51, 51)),
        ("LA", (51, 0), "a.png", (255, 255, 255)),
        ("P", 3, "a.gif", (9, 10, 11)),
        ("RGB", (1, 2, 3), "a.webp", (1, 2, 3)),
        ("RGBA", (255, 0, 0, 255), "a.png", (255, 0, 0)),
        ("RGBA", (255, 0, 0, 0), "a.png", (255, 255, 255)),
        ("RGBA", (255, 0, 0, 51), "a.png", (255, 204, 204)),
        ("CMYK", (0, 255, 255, 0), "a.tiff", (255, 0, 0)),
        ("CMYK", (0, 0, 0, 255), "a.tiff", (0, 0, 0)),
        ("I;16", 65535, "a.png", (255, 255, 255)),
        ("I;16", 13107, "a.png", (51, 51, 51)),
        ("I", 13107, "a.pgm", (51, 51, 51)),
    ],
)
@pytest.mark.parametrize("channels", ["rgb", "grey"])
def test_every_mode(tmp_path, mode, colour, name, rgb, channels):
    image = Image.new(mode, (3, 2), colour)
    if mode == "P":
        image.putpalette([level % 256 for level in range(256 * 3)])
    picture = read_picture(
        saved(tmp_path / name, image, **({"lossless": True} if name == "a.webp" else {})), channels=channels
    )
    wanted = rgb if channels == "rgb" else [round(rgb @ np.array([0.299, 0.587, 0.114]))]
    assert picture.dtype == torch.float32
    torch.testing.assert_close(picture, (torch.tensor(wanted) / 255).expand(2, 3, -1))


def test_one_colour_that_is_transparent_is_white(tmp_path):
    for mode, levels, transparent in [("L", [51, 102], 102), ("P", [3, 5], 5)]:
        image = Image.new(mode, (2, 1))
        if mode == "P":
            image.putpalette([17 * (place // 3) for place in range(48)])
        image.putdata(levels)
        picture = read_picture(saved(tmp_path / f"{mode}.png", image, transparency=transparent), channels="grey")
        assert picture.flatten().tolist() == [pytest.approx(0.2), 1.0]
    fine = Image.fromarray(np.array([[13107, 40000]], dtype=np.uint16))
    picture = read_picture(saved(tmp_path / "fine.png", fine, transparency=40000))
    assert picture[..., 0].flatten().tolist() == [pytest.approx(0.2), 1.0]


def test_grey_of_sixteen_bits_is_kept_as_fine_as_it_is(tmp_path):
    levels = np.array([[0, 1, 256, 65534, 65535]], dtype=np.uint16)
    for name in ("a.png", "a.tiff"):
        picture = read_picture(saved(tmp_path / name, Image.fromarray(levels)), channels="grey")
        assert torch.equal(picture[..., 0], torch.from_numpy((levels / 65535).astype(np.float32)))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_pictures_stand_upright(tmp_path, orientation):
    # What the camera saw, and how each orientation stores it (EXIF 2.3, tag 0x0112).
    seen = COLOURS
    stored = {
        1: seen,
        2: seen[:, ::-1],
        3: seen[::-1, ::-1],
        4: seen[::-1],
        5: seen.transpose(1, 0, 2),
        6: np.rot90(seen, 1),
        7: seen.transpose(1, 0, 2)[::-1, ::-1],
        8: np.rot90(seen, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = saved(tmp_path / "a.png", Image.fromarray(np.ascontiguousarray(stored)), exif=exif)
    assert torch.equal(read_picture(path), torch.from_numpy(seen.astype(np.float32)) / 255)


def test_the_first_picture_of_an_animation(tmp_path):
    first, second = Image.new("RGB", (3, 2), (255, 0, 0)), Image.new("RGB", (3, 2), (0, 0, 255))
    for name in ("a.gif", "a.png", "a.tiff"):
        first.save(tmp_path / name, save_all=True, append_images=[second])
        assert torch.equal(read_picture(tmp_path / name), torch.tensor([1.0, 0.0, 0.0]).expand(2, 3, -1))


@pytest.mark.parametrize("part", [0.02, 0.5, 0.9])
@pytest.mark.parametrize("name", ["a.png", "a.jpeg", "a.gif", "a.bmp", "a.tiff", "a.webp", "a.ppm"])
def test_a_file_that_breaks_off_is_refused(tmp_path, name, part):
    noise = np.random.default_rng(3).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    path = saved(tmp_path / name, Image.fromarray(noise))
    assert read_picture(path).shape == (64, 64, 3)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(DataError, match=rf"{name}: (it can't be read as a picture|its format is not known)"):
        read_picture(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"a\.png: it can't be read as a picture \(it is empty\)\."),
        (b"I saw a saw.", r"a\.png: its format is not known\. Save it as PNG or JPEG\."),
        (b"\x89PNG\r\n\x1a\n", "can't be read|not known"),
    ],
)
def test_what_is_no_picture_is_refused(tmp_path, content, message):
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_picture(tmp_path / "a.png")


def test_no_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"none\.png: it can't be opened \(No such file"):
        read_picture(tmp_path / "none.png")
    with pytest.raises(DataError, match=r"opened \(Is a directory"):
        read_picture(tmp_path)


@pytest.mark.parametrize(("mode", "colour"), [("F", 0.5), ("I", 70000), ("I", -1)])
def test_numbers_without_a_white_are_refused(tmp_path, mode, colour):
    path = saved(tmp_path / "a.tiff", Image.new(mode, (3, 2), colour))
    with pytest.raises(DataError, match="nothing says which is white"):
        read_picture(path)


@pytest.mark.filterwarnings("ignore")  # as a user may have it: Pillow only warns of the smaller one
@pytest.mark.parametrize("side", [10_000, 20_000])
def test_a_bomb_is_refused(tmp_path, side):
    # A few bytes that say they are a hundred million pixels, or four.
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b""))
    with pytest.raises(DataError, match=r"a\.png: .*exceeds limit"):
        read_picture(path)


@pytest.mark.filterwarnings("ignore")  # Pillow warns of much that it can still read
@pytest.mark.parametrize("name", ["a.png", "a.jpeg", "a.gif", "a.bmp", "a.tiff", "a.webp"])
def test_any_broken_byte_gives_a_picture_or_a_data_error(tmp_path, name):
    path = saved(tmp_path / name, Image.fromarray(COLOURS))
    content, chance = path.read_bytes(), np.random.default_rng(11)
    refused = 0
    for place in chance.integers(0, len(content), 100):
        path.write_bytes(content[:place] + bytes([chance.integers(256)]) + content[place + 1 :])
        try:
            picture = read_picture(path)
            assert picture.min() >= 0
            assert picture.max() <= 1
        except DataError:
            refused += 1
    assert refused > 0


def test_other_channels_and_a_missing_library_are_refused(tmp_path, monkeypatch):
    with pytest.raises(
        UnknownNameError, match=r"`channels` must be one of grey, rgb, but is 'gray'. Did you mean 'grey'"
    ):
        read_picture(tmp_path / "a.png", channels="gray")
    monkeypatch.setitem(__import__("sys").modules, "PIL.Image", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[image\]'"):
        read_picture(tmp_path / "a.png")
