"""The picture of the detector's queries in the documents, and how it is drawn."""

import importlib
import io
from pathlib import Path

import numpy as np
import pytest

from regard.page import Page, Picture, Pictures, Prose

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def detector_picture():
    pytest.importorskip("PIL.Image")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        yield importlib.import_module("detector_picture")


def test_it_is_there_and_says_what_was_found(detector_picture):
    from PIL import Image

    assert detector_picture.PATH.stat().st_size < 120_000
    with Image.open(detector_picture.PATH) as image:
        assert " of its weight in the cells of its own box" in image.text["Description"]


def test_only_the_named_part_of_a_page_is_drawn(detector_picture, chromium):
    from PIL import Image

    black, grey = Picture.of(np.zeros((8, 8))), Picture.of(np.full((8, 8), 0.5))
    page = Page("A page", (Prose("What it found."), Pictures("Others", (black,) * 9), Pictures("Queries", (grey,))))
    with Image.open(io.BytesIO(detector_picture.screenshot(chromium, page, "Queries"))) as image:
        assert image.text["Description"] == "What it found."
        colours = {colour for _, colour in image.convert("RGB").getcolors(10_000)}
        assert image.width <= detector_picture.WIDTH
    assert (128, 128, 128) in colours
    assert (0, 0, 0) not in colours
