"""The picture of generated digits in the documents, and how it is drawn."""

import numpy as np
import pytest

from regard.page import Box, Page, Picture, Pictures, Prose


@pytest.fixture(scope="module")
def generator_picture(docs_module):
    pytest.importorskip("PIL.Image")
    return docs_module("generator_picture")


def test_it_is_there_and_small(generator_picture):
    content = generator_picture.PATH.read_bytes()
    assert content.startswith(b"\x89PNG\r\n")
    assert len(content) < 120_000


def test_samples_stand_above_weights_and_boxes(generator_picture):
    samples = Pictures("", (Picture.of(np.ones((4, 10))), Picture.of(np.zeros((4, 10)))))
    weights = np.zeros((2, 2))
    weights[1, 0] = 0.5
    looks = Pictures("", (Picture.of(np.zeros((4, 4)), "", weights, [Box(2, 0, 4, 2)]),))
    pixels = np.asarray(generator_picture.drawn(Page("", (samples, Prose("Between."), looks))))
    # Twice as large, 8 apart; with weights six times as large.
    assert pixels.shape == (8 + 8 + 24, 20 + 8 + 20, 3)
    assert (pixels[:8, :28] == 255).all()
    assert (pixels[:8, 28:] == 0).all()
    below = pixels[16:]
    assert (below[12:, :12] == np.round(0.72 * np.array([77, 148, 255]))).all()
    assert (below[12:, 12:24] == 0).all()
    assert (below[:12, 12:14] == np.array([255, 159, 64])).all()
    assert (below[2:10, 14:22] == 0).all()
    assert (below[:, 24:] == 255).all()
