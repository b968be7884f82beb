"""The picture of the detector's queries in the documents, and how it is drawn."""

import io

import numpy as np
import pytest

from regard.page import Page, Picture, Pictures, Prose


@pytest.fixture(scope="module")
def detector_picture(docs_module):
    pytest.importorskip("PIL.Image")
    return docs_module("detector_picture")


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
